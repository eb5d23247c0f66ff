// exp and log as straight-line code, so that loops over them become vector code on every
// instruction set, with the same bits everywhere. Included only by the files compiled per instruction
// set, inside their namespace.

template <class To, class From> static inline To bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From), "same size");
    To to;
    memcpy(&to, &from, sizeof(To));
    return to;
}

// e^x for x <= 0 (NaN stays NaN, below the smallest normal number: 0). Relative error < 2e-7.
static inline float exp_(float x) {
    const float magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer in the low bits
    float t = x * 1.44269504f + magic;
    float n = t - magic;
    float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    uint32_t scale = (bits_as<uint32_t>(t) << 23) + (127u << 23);
    return x < -87.0f ? 0.0f : p * bits_as<float>(scale);
}

// The same in double precision; Taylor to degree 13 on |r| < 0.35. Relative error < 4e-16.
static inline double exp_(double x) {
    const double magic = 6755399441055744.0;  // 1.5 * 2^52
    double t = x * 1.4426950408889634 + magic;
    double n = t - magic;
    double r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
    double p = 1.6059043836821613e-10;
    p = p * r + 2.08767569878681e-09;
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
    uint64_t scale = (bits_as<uint64_t>(t) << 52) + (1023ULL << 52);
    return x < -708.0 ? 0.0 : p * bits_as<double>(scale);
}

// log x for normal x > 0 (NaN stays NaN): x = 2^e m with m in [1/sqrt 2, sqrt 2), then the series of
// log((1+s)/(1-s)). Absolute error near x = 1 below 2e-16.
static inline double log_(double x) {
    const uint64_t bits = bits_as<uint64_t>(x);
    const double magic = 4503599627370496.0;  // 2^52, to turn the exponent into a double without a cast
    double e = bits_as<double>((bits >> 52) | bits_as<uint64_t>(magic)) - (magic + 1023.0);
    double m = bits_as<double>((bits & 0x000fffffffffffffULL) | 0x3ff0000000000000ULL);
    const bool big = m > 1.4142135623730951;
    m = big ? m * 0.5 : m;
    e = big ? e + 1.0 : e;
    double f = m - 1.0;
    double s = f / (2.0 + f);
    double z = s * s;
    double p = 1.0 / 23;
    p = p * z + 1.0 / 21;
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
    double log_m = f - (s * f - 2.0 * s * z * p);
    double value = e * 6.93147180369123816490e-01 + (log_m + e * 1.90821492927058770002e-10);
    return x == x ? value : x;
}
