// Writing past the caches: a line that is written as a whole need not be read from memory first, nor drive out what is of
// use. Included only by files compiled per instruction set, inside their namespace.

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

// Whole lines go past the caches; their neighbours share the others, which are written as usual.
template <class T> void stream(const T *values, int64_t count, T *out) {
    const char *from = reinterpret_cast<const char *>(values), *const end = from + count * sizeof(T);
    char *to = reinterpret_cast<char *>(out);
    const int64_t ragged = -reinterpret_cast<uintptr_t>(to) % LINE, head = ragged < end - from ? ragged : end - from;
    memcpy(to, from, head);
    for (from += head, to += head; end - from >= LINE; from += LINE, to += LINE) stream_line(from, to);
    memcpy(to, from, end - from);
}
