// Vectors as wide as the instruction set has them, by the vector types of GCC and Clang; only what these
// leave slow (masks) is spelled out. Included only by files compiled per instruction set, inside their
// namespace, after numbers.hpp.

#if defined(__AVX512F__)
#define INFOCAL_WIDTH 64
#elif defined(__AVX2__)
#define INFOCAL_WIDTH 32
#else
#define INFOCAL_WIDTH 16
#endif

template <class T> struct Lanes;
template <> struct Lanes<float> {
    typedef float V __attribute__((vector_size(INFOCAL_WIDTH)));
    typedef uint32_t U __attribute__((vector_size(INFOCAL_WIDTH)));
    static V exp(V x) { return exp_single<V, U>(x); }
    static V exp_rough(V x) { return exp_short<V, U>(x); }
    static V exp_scaled(V x, double scale) { return power_short<V, U>(x * float(scale * 1.4426950408889634)); }
    static constexpr double rounding = 6e-8;  // half an ulp
};
template <> struct Lanes<double> {
    typedef double V __attribute__((vector_size(INFOCAL_WIDTH)));
    typedef uint64_t U __attribute__((vector_size(INFOCAL_WIDTH)));
    static V exp(V x) { return exp_double<V, U>(x); }
    static V exp_rough(V x) { return exp(x); }
    static V exp_scaled(V x, double scale) { return exp(x * scale); }
    static constexpr double rounding = 1.2e-16;
};
template <class T> using V = typename Lanes<T>::V;

const int64_t VECTORS = 4;  // at work at a time
template <class T> constexpr int64_t lanes = INFOCAL_WIDTH / sizeof(T);
template <class T> constexpr int64_t tile = VECTORS * lanes<T>;  // divides BLOCK

template <class T> inline V<T> load(const T *from) {
    V<T> v;
    memcpy(&v, from, sizeof(v));
    return v;
}

template <class T> inline void store(V<T> v, T *to) { memcpy(to, &v, sizeof(v)); }
template <class T> inline void store_some(V<T> v, T *to, int64_t count) { memcpy(to, &v, sizeof(T) * count); }

typedef int32_t Whole __attribute__((vector_size(INFOCAL_WIDTH)));

inline Whole to_whole(V<float> x) { return __builtin_convertvector(x, Whole); }

// Where one vector is at least, or below, another: a mask that two selections can share.
#if defined(__AVX512F__)
template <class T> struct Mask;
template <> struct Mask<float> {
    __mmask16 bits;
    static Mask at_least(V<float> a, V<float> b) { return {_mm512_cmp_ps_mask(a, b, _CMP_GE_OQ)}; }
    static Mask below(V<float> a, V<float> b) { return {_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ)}; }
    V<float> pick(V<float> yes, V<float> no) const { return _mm512_mask_blend_ps(bits, no, yes); }
};
template <> struct Mask<double> {
    __mmask8 bits;
    static Mask at_least(V<double> a, V<double> b) { return {_mm512_cmp_pd_mask(a, b, _CMP_GE_OQ)}; }
    static Mask below(V<double> a, V<double> b) { return {_mm512_cmp_pd_mask(a, b, _CMP_LT_OQ)}; }
    V<double> pick(V<double> yes, V<double> no) const { return _mm512_mask_blend_pd(bits, no, yes); }
};
template <class T> inline bool any(Mask<T> mask) { return mask.bits != 0; }
template <class T> inline Mask<T> either(Mask<T> a, Mask<T> b) { return {decltype(a.bits)(a.bits | b.bits)}; }
#else
// All bits of a lane are set, or none; `bits ? yes : no` would ask again which.
#if defined(__AVX2__)
inline V<float> blend(Lanes<float>::U bits, V<float> yes, V<float> no) {
    return _mm256_blendv_ps(no, yes, (V<float>)bits);
}
inline V<double> blend(Lanes<double>::U bits, V<double> yes, V<double> no) {
    return _mm256_blendv_pd(no, yes, (V<double>)bits);
}
#else
template <class U, class V> inline V blend(U bits, V yes, V no) { return (V)(((U)yes & bits) | ((U)no & ~bits)); }
#endif

template <class T> struct Mask {
    typename Lanes<T>::U bits;
    static Mask at_least(V<T> a, V<T> b) { return {(typename Lanes<T>::U)(a >= b)}; }
    static Mask below(V<T> a, V<T> b) { return {(typename Lanes<T>::U)(a < b)}; }
    V<T> pick(V<T> yes, V<T> no) const { return blend(bits, yes, no); }
};
#if defined(__AVX2__)
template <class T> inline bool any(Mask<T> mask) {
    return !_mm256_testz_si256((__m256i)mask.bits, (__m256i)mask.bits);
}
#elif defined(__SSE2__)
template <class T> inline bool any(Mask<T> mask) { return _mm_movemask_epi8((__m128i)mask.bits) != 0; }
#else
template <class T> inline bool any(Mask<T> mask) {
    uint64_t words[INFOCAL_WIDTH / 8], all = 0;
    memcpy(words, &mask.bits, sizeof(words));
    for (uint64_t word : words) all |= word;
    return all != 0;
}
#endif
template <class T> inline Mask<T> either(Mask<T> a, Mask<T> b) { return {a.bits | b.bits}; }
#endif
