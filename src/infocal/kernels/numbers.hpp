// exp and log as straight-line code, so that loops over them become vector code on every
// instruction set, with the same bits everywhere. Included only by the files compiled per instruction
// set, inside their namespace.

template <class To, class From> static inline To bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From), "same size");
    To to;
    memcpy(&to, &from, sizeof(To));
    return to;
}

// e^x for x <= 0 (NaN stays NaN, below the smallest normal number: 0). V is a float or a vector of
// floats, U the unsigned integers of its size. Relative error < 2e-7.
template <class V, class U> static inline V exp_single(V x) {
    const float magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer in the low bits
    V t = x * 1.44269504f + magic;
    V n = t - magic;
    V r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
    V p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    U scale = (bits_as<U>(t) << 23) + (127u << 23);
    return x < -87.0f ? V{} : p * bits_as<V>(scale);
}

// 2^y for y <= 0 in few steps, below the smallest normal number 0: on [-1/2, 1/2] a polynomial of least relative error,
// 2e-7.
template <class V, class U> static inline V power_short(V y) {
    const float magic = 12582912.0f;
    V t = y + magic;
    V f = y - (t - magic);
    V p = f * 1.3276472168e-3f + 9.6755413310e-3f;
    p = p * f + 5.5507132729e-2f;
    p = p * f + 2.4022119724e-1f;
    p = p * f + 6.9314696707e-1f;
    p = p * f + 1.0f;
    U scale = (bits_as<U>(t) << 23) + (127u << 23);
    return y < -125.5f ? V{} : p * bits_as<V>(scale);
}

// e^x with a relative error up to 2e-7 (1 + |x|): no more than x itself has from rounding.
template <class V, class U> static inline V exp_short(V x) { return power_short<V, U>(x * 1.44269504f); }

// e^x in double precision; Taylor to degree 13 on |r| < 0.35. Relative error < 4e-16.
template <class V, class U> static inline V exp_double(V x) {
    const double magic = 6755399441055744.0;  // 1.5 * 2^52
    V t = x * 1.4426950408889634 + magic;
    V n = t - magic;
    V r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
    V p = r * 1.6059043836821613e-10 + 2.08767569878681e-09;
    p = p * r + 2.505210838544172e-08;
    p = p * r + 2.755731922398589e-07;
    p = p * r + 2.7557319223985893e-06;
    p = p * r + 2.48015873015873e-05;
    p = p * r + 0.0001984126984126984;
    p = p * r + 0.001388888888888889;
    p = p * r + 0.008333333333333333;
    p = p * r + 0.041666666666666664;
    p = p * r + 0.16666666666666666;
    p = p * r + 0.5;
    p = p * r * r + r + 1.0;
    U scale = (bits_as<U>(t) << 52) + (1023ULL << 52);
    return x < -708.0 ? V{} : p * bits_as<V>(scale);
}

static inline float exp_(float x) { return exp_single<float, uint32_t>(x); }
static inline double exp_(double x) { return exp_double<double, uint64_t>(x); }

// log x for normal x > 0 (NaN stays NaN): x = 2^e m with m in [1/sqrt 2, sqrt 2), then the series of
// log((1+s)/(1-s)). Absolute error near x = 1 below 2e-16.
template <class V, class U> static inline V log_any(V x) {
    const U bits = bits_as<U>(x);
    const double magic = 4503599627370496.0;  // 2^52, to turn the exponent into a double without a cast
    V e = bits_as<V>((bits >> 52) | bits_as<uint64_t>(magic)) - (magic + 1023.0);
    V m = bits_as<V>((bits & 0x000fffffffffffffULL) | 0x3ff0000000000000ULL);
    const auto big = m > 1.4142135623730951;
    m = big ? m * 0.5 : m;
    e = big ? e + 1.0 : e;
    V f = m - 1.0;
    V s = f / (2.0 + f);
    V z = s * s;
    V p = z * (1.0 / 23) + 1.0 / 21;
    p = p * z + 1.0 / 19;
    p = p * z + 1.0 / 17;
    p = p * z + 1.0 / 15;
    p = p * z + 1.0 / 13;
    p = p * z + 1.0 / 11;
    p = p * z + 1.0 / 9;
    p = p * z + 1.0 / 7;
    p = p * z + 1.0 / 5;
    p = p * z + 1.0 / 3;
    // log m = 2s + 2s z p, with 2s = f - s f kept exact in f
    V log_m = f - (s * f - 2.0 * s * z * p);
    V value = e * 6.93147180369123816490e-01 + (log_m + e * 1.90821492927058770002e-10);
    return x == x ? value : x;
}

static inline double log_(double x) { return log_any<double, uint64_t>(x); }
