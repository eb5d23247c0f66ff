// Writing past the caches: a line that is written as a whole need not be read from memory first, nor drive out what is
// of use. Included only by files compiled per instruction set, inside their namespace.

const int64_t LINE = 64;  // bytes that go to memory together

#if defined(__SSE2__)
inline void stream_line(const char *from, char *to) {
#if defined(__AVX512F__)
    _mm512_stream_si512((__m512i *)to, _mm512_loadu_si512(from));
#elif defined(__AVX2__)
    for (int64_t b = 0; b < LINE; b += 32)
        _mm256_stream_si256((__m256i *)(to + b), _mm256_loadu_si256((const __m256i *)(from + b)));
#else
    for (int64_t b = 0; b < LINE; b += 16)
        _mm_stream_si128((__m128i *)(to + b), _mm_loadu_si128((const __m128i *)(from + b)));
#endif
}

inline void finish_streams() { _mm_sfence(); }
#else
inline void stream_line(const char *from, char *to) { memcpy(to, from, LINE); }

inline void finish_streams() {}
#endif

// Values on their way past the caches, a few lines at a time between other work: memory would hold up a burst of them.
// Their neighbours share the lines at both ends, which are written as usual.
class Stream {
  public:
    template <class T> void begin(const T *values, int64_t count, T *out) {
        from = reinterpret_cast<const char *>(values);
        to = reinterpret_cast<char *>(out);
        const int64_t bytes = count * sizeof(T), ragged = -reinterpret_cast<uintptr_t>(to) % LINE;
        const int64_t head = ragged < bytes ? ragged : bytes;
        memcpy(to, from, head);
        lines = (bytes - head) / LINE;
        const int64_t tail = head + lines * LINE;
        memcpy(to + tail, from + tail, bytes - tail);
        from += head;
        to += head;
    }

    void send(int64_t most) {
        const int64_t bytes = LINE * (most < lines ? most : lines);
        const char *const source = from;
        char *const target = to;
        for (int64_t b = 0; b < bytes; b += LINE) stream_line(source + b, target + b);
        from += bytes;
        to += bytes;
        lines -= bytes / LINE;
    }

    void send_all() { send(lines); }

  private:
    const char *from = nullptr;
    char *to = nullptr;
    int64_t lines = 0;
};
