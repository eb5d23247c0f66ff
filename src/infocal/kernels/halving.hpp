// The bins of columns, found by halving few bounds with permutations of what registers hold, where there are such.
// Included only by apply.cpp.

#if defined(__AVX2__)
#define INFOCAL_HALVING 1

typedef Lanes<float>::U Places;

// Sixteen numbers that a vector of places picks from; all places are in the first half, in the last, or anywhere.
struct Sixteen {
#if defined(__AVX512F__)
    V<float> all;
    explicit Sixteen(const float *from) : all(load(from)) {}
    V<float> in_first(Places at) const { return _mm512_permutexvar_ps((__m512i)at, all); }
    V<float> in_last(Places at) const { return in_first(at); }
    V<float> anywhere(Places at, Mask<float>) const { return in_first(at); }
#else
    V<float> first, last;
    explicit Sixteen(const float *from) : first(load(from)), last(load(from + 8)) {}
    V<float> in_first(Places at) const { return _mm256_permutevar8x32_ps(first, (__m256i)at); }
    V<float> in_last(Places at) const { return _mm256_permutevar8x32_ps(last, (__m256i)at); }
    V<float> anywhere(Places at, Mask<float> last) const { return last.pick(in_last(at), in_first(at)); }
#endif
};

#if defined(__AVX512F__)
inline Places add_one(Places at, Mask<float> where) {
    return (Places)_mm512_mask_add_epi32((__m512i)at, where.bits, (__m512i)at, _mm512_set1_epi32(1));
}
#else
inline Places add_one(Places at, Mask<float> where) { return at - where.bits; }
#endif

// Up to 15 bounds in the order in which they are asked for: the one in the middle is the first, and after the bound at
// j comes the one at 2 j, or at 2 j + 1 where j's is reached; what comes after four of them is 16 plus the bin.
struct Halves {
    static constexpr int64_t MOST = 15;
    float bounds[16], values[16];

    void lay_out(const double *sorted, const double *of_bins, int64_t n) {
        bounds[0] = HUGE_VALF;
        for (int64_t depth = 0; depth < 4; ++depth)
            for (int64_t i = 0; i < 1 << depth; ++i) {
                const int64_t before = (2 * i + 1) * (8 >> depth) - 1;
                bounds[(1 << depth) + i] = before < n ? float(sorted[before]) : HUGE_VALF;
            }
        for (int64_t m = 0; m < 16; ++m) values[m] = float(of_bins[m < n ? m : n]);
    }
};

// The value of a column's bin, and how far the column is above the bound that the bin begins with.
struct Place {
    V<float> value, above;
};

struct Halving {
    Sixteen bounds, values;
    V<float> middle;

    explicit Halving(const Halves &of) : bounds(of.bounds), values(of.values), middle(of.bounds[1] - V<float>{}) {}

    Place operator()(V<float> here) const {
        const Mask<float> upper = Mask<float>::at_least(here, middle);
        V<float> reached = upper.pick(middle, V<float>{} - HUGE_VALF);
        Places at = add_one(Places{} + 2, upper);
#pragma GCC unroll 3
        for (int64_t asked = 1; asked < 4; ++asked) {
            const V<float> bound = asked < 3 ? bounds.in_first(at) : bounds.in_last(at);
            const Mask<float> reaches = Mask<float>::at_least(here, bound);
            reached = reaches.pick(bound, reached);
            at = add_one(at + at, reaches);
        }
        return {values.anywhere(at, upper), here - reached};
    }
};

// Rows of a square become its columns: first within squares of four by four, then these change places.
#if defined(__AVX512F__)
inline V<float> low_pairs(V<float> a, V<float> b) { return _mm512_unpacklo_ps(a, b); }
inline V<float> high_pairs(V<float> a, V<float> b) { return _mm512_unpackhi_ps(a, b); }
inline V<float> low_halves(V<float> a, V<float> b) {
    return (V<float>)_mm512_unpacklo_pd((__m512d)a, (__m512d)b);
}
inline V<float> high_halves(V<float> a, V<float> b) {
    return (V<float>)_mm512_unpackhi_pd((__m512d)a, (__m512d)b);
}
inline V<float> even_fours(V<float> a, V<float> b) { return _mm512_shuffle_f32x4(a, b, 0x88); }
inline V<float> odd_fours(V<float> a, V<float> b) { return _mm512_shuffle_f32x4(a, b, 0xdd); }
#else
inline V<float> low_pairs(V<float> a, V<float> b) { return _mm256_unpacklo_ps(a, b); }
inline V<float> high_pairs(V<float> a, V<float> b) { return _mm256_unpackhi_ps(a, b); }
inline V<float> low_halves(V<float> a, V<float> b) {
    return (V<float>)_mm256_unpacklo_pd((__m256d)a, (__m256d)b);
}
inline V<float> high_halves(V<float> a, V<float> b) {
    return (V<float>)_mm256_unpackhi_pd((__m256d)a, (__m256d)b);
}
inline V<float> even_fours(V<float> a, V<float> b) { return _mm256_permute2f128_ps(a, b, 0x20); }
inline V<float> odd_fours(V<float> a, V<float> b) { return _mm256_permute2f128_ps(a, b, 0x31); }
#endif

inline void transpose(V<float> *x) {
    const int64_t n = lanes<float>;
    V<float> y[n];
#pragma GCC unroll 4
    for (int64_t i = 0; i < n; i += 4) {
        const V<float> a = low_pairs(x[i], x[i + 1]), b = high_pairs(x[i], x[i + 1]);
        const V<float> c = low_pairs(x[i + 2], x[i + 3]), d = high_pairs(x[i + 2], x[i + 3]);
        y[i] = low_halves(a, c);
        y[i + 1] = high_halves(a, c);
        y[i + 2] = low_halves(b, d);
        y[i + 3] = high_halves(b, d);
    }
#pragma GCC unroll 4
    for (int64_t i = 0; i < 4; ++i) {
#if defined(__AVX512F__)
        const V<float> a = even_fours(y[i], y[4 + i]), b = even_fours(y[8 + i], y[12 + i]);
        const V<float> c = odd_fours(y[i], y[4 + i]), d = odd_fours(y[8 + i], y[12 + i]);
        x[i] = even_fours(a, b);
        x[4 + i] = even_fours(c, d);
        x[8 + i] = odd_fours(a, b);
        x[12 + i] = odd_fours(c, d);
#else
        x[i] = even_fours(y[i], y[4 + i]);
        x[4 + i] = odd_fours(y[i], y[4 + i]);
#endif
    }
}

inline void lay_out(const Binnings &bins, int64_t n_low, int64_t columns, Halves *halves) {
    for (int64_t k = 0; k < (bins.groups == 1 ? 1 : padded(columns)); ++k) {
        const int64_t g = bins.groups == 1 ? 0 : bins.group_of[k < columns ? k : 0];
        halves[k].lay_out(bins.bounds + g * bins.n_edges, bins.values + g * (bins.n_edges + 1), n_low);
    }
}

inline V<float> lesser(V<float> found, V<float> least) { return found < least ? found : least; }  // NaN is not found

// The same bounds for all columns.
struct Halved {
    static constexpr double origin = 0;
    const Halves *of;
};

int64_t pick(const Sums<float> &row, const Halved &at, int64_t, float shift, float gap, int64_t *close, float *out) {
    const Halving halving(*at.of);
    const int64_t n = lanes<float>;
    V<float> least = V<float>{} + HUGE_VALF;
    const auto value_at = [&](int64_t k) {
        const Place place = halving(load(row.z + k) - shift);
        least = lesser(place.above, least);
        return place.value;
    };
    const int64_t full = row.columns / n * n;
    for (int64_t k = 0; k < full; k += n) store(value_at(k), out + k);
    if (full < row.columns) store_some(value_at(full), out + full, row.columns - full);
    if (!any<float>(Mask<float>::below(least, V<float>{} + gap))) return 0;
    int64_t count = 0;
    for (int64_t k = 0; k < row.columns; k += n) {
        const V<float> above = halving(load(row.z + k) - shift).above;
        for (int64_t lane = 0; lane < n && k + lane < row.columns; ++lane)
            if (above[lane] < gap) close[count++] = k + lane;
    }
    return count;
}

inline void answer_rows(const Sums<float> *rows, const Reach<float> *reach, int64_t count, const Halved &at,
                        int64_t n_edges, const Room<float> &room, int64_t *n_close, float *out) {
    pick_rows(rows, reach, count, at, n_edges, room, n_close, out);
}

// Bounds of the columns' own: as many rows as a vector has lanes are answered together, column by column.
struct OwnHalves {
    static constexpr double origin = 0;
    const Halves *of;  // (length,)
};

struct Band {  // of rows
    int64_t first, count;
    V<float> shift, gap;

    Band(const Reach<float> *reach, int64_t first, int64_t left)
        : first(first), count(left < lanes<float> ? left : lanes<float>) {
        for (int64_t r = 0; r < lanes<float>; ++r) {
            shift[r] = reach[first + (r < count ? r : 0)].shift;
            gap[r] = reach[first + (r < count ? r : 0)].gap;
        }
    }
};

// Answers as many columns as the band has rows; what is beyond its rows or columns comes to nothing.
inline void answer_square(const Band &band, const Halves *of, int64_t start, int64_t columns, const Room<float> &room,
                          int64_t *n_close, float *out) {
    const int64_t n = lanes<float>, width = columns - start < n ? columns - start : n;
    V<float> x[n], above[n], least = V<float>{} + HUGE_VALF;
#pragma GCC unroll 16
    for (int64_t r = 0; r < n; ++r) x[r] = load(room.z + (band.first + r) * room.length + start);
    transpose(x);
#pragma GCC unroll 16
    for (int64_t k = 0; k < n; ++k) {
        const Place place = Halving(of[start + k])(x[k] - band.shift);
        x[k] = place.value;
        above[k] = place.above;
        least = lesser(place.above, least);
    }
    transpose(x);
    out += band.first * columns + start;
    if (width == n && band.count == n) {
#pragma GCC unroll 16
        for (int64_t r = 0; r < n; ++r) store(x[r], out + r * columns);
    } else {
        for (int64_t r = 0; r < band.count; ++r) store_some(x[r], out + r * columns, width);
    }
    if (!any<float>(Mask<float>::below(least, band.gap))) return;
    for (int64_t r = 0; r < band.count; ++r)
        for (int64_t k = 0, i = band.first + r; k < width; ++k)
            if (above[k][r] < band.gap[r]) room.close[i * room.length + n_close[i]++] = start + k;
}

void answer_rows(const Sums<float> *rows, const Reach<float> *reach, int64_t count, const OwnHalves &at, int64_t,
                 const Room<float> &room, int64_t *n_close, float *out) {
    for (int64_t r = 0; r < count; ++r) n_close[r] = 0;
    for (int64_t first = 0; first < count; first += lanes<float>) {
        const Band band(reach, first, count - first);
        for (int64_t start = 0; start < rows[0].columns; start += lanes<float>)
            answer_square(band, at.of, start, rows[0].columns, room, n_close, out);
    }
}
#endif
