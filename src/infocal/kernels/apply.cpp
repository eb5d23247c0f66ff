// Compiled once per instruction set, with vectors of the width it has. Fused multiply-adds are welcome
// here: what is too close to call is not decided here.
#include "apply.hpp"

#include <math.h>
#include <string.h>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace infocal {
namespace {

#include "numbers.hpp"

#include "lanes.hpp"

// A row at hand: its values padded with -inf, its maximum and the first index of it, and the sum of
// e^(z - max) over all other columns.
template <class T> struct Sums {
    T *z;
    int64_t columns, length, top;
    double max, others, error;  // error: of log `others`, at most
};

// Copies a row and returns its maximum.
template <class T> T copy_row(const Matrix<T> &x, int64_t i, T *z, int64_t length) {
    const T *from = x.row(i);
    const int64_t full = x.column_stride == 1 ? x.columns / tile<T> * tile<T> : 0;
    for (int64_t k = full; k < length; ++k) z[k] = k < x.columns ? from[k * x.column_stride] : T(-HUGE_VAL);
    V<T> most[VECTORS];
    for (V<T> &m : most) m = V<T>{} - T(HUGE_VAL);
    for (int64_t k = 0; k < full; k += tile<T>)
        for (int64_t v = 0; v < VECTORS; ++v) {
            const V<T> here = load(from + k + v * lanes<T>);
            memcpy(z + k + v * lanes<T>, &here, sizeof(here));
            most[v] = here > most[v] ? here : most[v];
        }
    for (const V<T> &m : most) most[0] = m > most[0] ? m : most[0];
    T max = most[0][0];
    for (int64_t lane = 1; lane < lanes<T>; ++lane) max = most[0][lane] > max ? most[0][lane] : max;
    for (int64_t k = full; k < x.columns; ++k) max = z[k] > max ? z[k] : max;
    return max;
}

// First place of the maximum, which NaN may hide.
template <class T> int64_t find(const T *z, int64_t length, T max) {
    for (int64_t start = 0; start < length; start += tile<T>) {
        Mask<T> found = {};
        for (int64_t v = 0; v < VECTORS; ++v)
            found = either<T>(found, Mask<T>::at_least(load(z + start + v * lanes<T>), V<T>{} + max));
        if (any<T>(found))
            for (int64_t k = start; k < start + tile<T>; ++k)
                if (z[k] == max) return k;
    }
    return 0;
}

// Sum of e^(z - max). Meanwhile the row to read next and the one to write are called for: rows are about
// as long as a page of memory, beyond which no processor looks ahead by itself.
template <class T> double sum_exp(const T *z, int64_t length, T max, const T *next, const T *to) {
    V<T> sums[VECTORS] = {};
    for (int64_t k = 0; k < length; k += tile<T>)
        for (int64_t v = 0; v < VECTORS; ++v) {
            const int64_t at = k + v * lanes<T>;
            __builtin_prefetch(next + at);
            __builtin_prefetch(to + at, 1);
            sums[v] += Lanes<T>::exp(load(z + at) - max);
        }
    const V<T> all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    double total = 0;
    for (int64_t lane = 0; lane < lanes<T>; ++lane) total += double(all[lane]);
    return total;
}

template <class T> Sums<T> read_row(const Matrix<T> &x, int64_t i, T *z, const T *out) {
    const int64_t length = padded(x.columns);
    const T max = copy_row(x, i, z, length);
    const int64_t top = find(z, length, max);
    z[top] = T(-HUGE_VAL);  // no cancellation: the top class is left out, not subtracted
    const double others = sum_exp(z, length, max, x.row(i + 1), out);
    z[top] = max;
    return {z, x.columns, length, top, double(max), others, Lanes<T>::rounding * (24 + double(length / tile<T>))};
}

template <class T> bool is_bad(const Sums<T> &row) {
    return !(row.max > -HUGE_VAL && row.max < HUGE_VAL && row.others == row.others);
}

// What a tile of columns is answered with, and whether one of them is too near a bound to tell.
template <class T> struct Answer {
    V<T> value[VECTORS];
    Mask<T> near;
};

// A column is answered with the value of the last bound that z - shift reaches, and is near where it
// exceeds that bound by less than `gap`. Bounds of one binning are the same for all columns ...
template <class T> struct Shared {
    const T *bounds, *values;  // (n_edges,), (n_edges + 1,)
    static constexpr double origin = 0;
    V<T> bound(int64_t m, int64_t) const { return V<T>{} + bounds[m]; }
    V<T> value(int64_t m, int64_t) const { return V<T>{} + values[m]; }
};

// ... those of several are laid out column by column.
template <class T> struct Own {
    const T *bounds, *values;  // (length / lanes, n_edges, lanes) and (length / lanes, n_edges + 1, lanes)
    int64_t n_edges;
    static constexpr double origin = 0;
    V<T> bound(int64_t m, int64_t k) const { return load(bounds + k * n_edges + m * lanes<T>); }
    V<T> value(int64_t m, int64_t k) const { return load(values + k * (n_edges + 1) + m * lanes<T>); }
};

template <class T, class Bounds>
Answer<T> answer(const Bounds &at, int64_t n_edges, const T *z, int64_t column, T shift, T gap) {
    V<T> place[VECTORS], reached[VECTORS];
    Answer<T> found;
    for (int64_t v = 0; v < VECTORS; ++v) {
        place[v] = load(z + v * lanes<T>) - shift;
        found.value[v] = at.value(0, column + v * lanes<T>);
        reached[v] = V<T>{} - T(HUGE_VAL);
    }
    for (int64_t m = 0; m < n_edges; ++m)
        for (int64_t v = 0; v < VECTORS; ++v) {
            const V<T> bound = at.bound(m, column + v * lanes<T>);
            const Mask<T> above = Mask<T>::at_least(place[v], bound);
            found.value[v] = above.pick(at.value(m + 1, column + v * lanes<T>), found.value[v]);
            reached[v] = above.pick(bound, reached[v]);
        }
    found.near = Mask<T>{};
    for (int64_t v = 0; v < VECTORS; ++v)
        found.near = either<T>(found.near, Mask<T>::below(place[v] - reached[v], V<T>{} + gap));
    return found;
}

#if defined(__AVX512F__)
// Where no two bounds are close, a line cut into as many cells as two registers have lanes holds at most
// one bound a cell: the cell of a column tells its bound and the values on both sides, by permutation.
struct Cells {
    static constexpr int64_t N = 32;
    float bounds[N], values[N];  // bound in a cell, measured from the origin, or infinity; value at its start
    float per_unit;
    double origin;  // the middle of cell 0

    // Lays out the cells; false where bounds are too close to each other or to a cell's boundary.
    bool lay_out(const Binnings &bins, int64_t n_low) {
        if (n_low == 0) return false;
        const double first = bins.bounds[0], last = bins.bounds[n_low - 1];
        for (int64_t attempt = 0; attempt < 16; ++attempt)
            if (fits(bins, n_low, (last - first) / (N - 3.0 - attempt / 8.0), first)) return true;
        return false;
    }

    bool fits(const Binnings &bins, int64_t n_low, double width, double first) {
        if (!(width > 1e-3)) return false;
        per_unit = float(1 / width);
        origin = first - width / 4;
        int64_t cell = -1;
        for (int64_t m = 0; m < n_low; ++m) {
            const double place = (bins.bounds[m] - origin) * per_unit, next = nearbyint(place);
            if (int64_t(next) <= cell || fabs(fabs(place - next) - 0.5) < 0.02 || next > N - 2) return false;
            for (++cell; cell < int64_t(next); ++cell) fill(cell, HUGE_VALF, float(bins.values[m]));
            fill(cell, float(bins.bounds[m] - origin), float(bins.values[m]));
        }
        while (++cell < N) fill(cell, HUGE_VALF, float(bins.values[n_low]));
        return true;
    }

    void fill(int64_t cell, float bound, float value) {
        bounds[cell] = bound;
        values[cell] = value;
    }
};

template <class T>
Answer<T> answer(const Cells &at, int64_t, const float *z, int64_t, float shift, float gap) {
    const V<float> low = load(at.bounds), high = load(at.bounds + 16);
    const V<float> first = load(at.values), second = load(at.values + 16);
    const V<float> end = V<float>{} + float(Cells::N - 1) / at.per_unit;
    Answer<float> found;
    found.near = {};
    for (int64_t v = 0; v < VECTORS; ++v) {
        const V<float> place = load(z + v * 16) - shift;
        const V<float> above_first = place > V<float>{} ? place : V<float>{};
        const V<float> inside = above_first < end ? above_first : end;
        const V<float> rounded = inside * at.per_unit + 8388608.0f;  // 2^23: the cell is in the low bits
        const __m512i cell = _mm512_castps_si512(rounded);
        const V<float> bound = _mm512_permutex2var_ps(low, cell, high);
        const Mask<float> above = Mask<float>::at_least(place, bound);
        const __m512i side = _mm512_mask_add_epi32(cell, above.bits, cell, _mm512_set1_epi32(1));
        found.value[v] = _mm512_permutex2var_ps(first, side, second);
        found.near.bits |= _mm512_mask_cmp_ps_mask(above.bits, place - bound, V<float>{} + gap, _CMP_LT_OQ);
    }
    return found;
}
#endif

// Answers a row. Returns how many tiles of columns hold one that is near a bound; `close` takes where
// they start.
template <class T, class Bounds>
int64_t pick(const Sums<T> &row, const Bounds &at, int64_t n_edges, T shift, T gap, int64_t *close, T *out) {
    int64_t count = 0;
    for (int64_t start = 0; start < row.columns; start += tile<T>) {
        const Answer<T> found = answer<T>(at, n_edges, row.z + start, start, shift, gap);
        if (start + tile<T> <= row.columns) {
            memcpy(out + start, found.value, sizeof(found.value));
        } else {
            memcpy(out + start, found.value, sizeof(T) * (row.columns - start));
        }
        if (any<T>(found.near)) close[count++] = start;
    }
    return count;
}

int64_t bin_of(const double *edges, int64_t n_edges, double logodds) {
    int64_t bin = 0;
    while (bin < n_edges && logodds >= edges[bin]) ++bin;
    return bin;
}

double value_at(const Binnings &bins, int64_t column, double logodds) {
    const int64_t g = bins.groups == 1 ? 0 : bins.group_of[column];
    return bins.values[g * (bins.n_edges + 1) + bin_of(bins.edges + g * bins.n_edges, bins.n_edges, logodds)];
}

// Whether the log-odds of the top class is too near an edge, or too large, for the fast sum of the others.
template <class T> bool top_is_close(const Sums<T> &row, const Binnings &bins) {
    if (row.others < 1e-30) return true;
    const double logodds = -log(row.others), margin = row.error + 2 * Lanes<T>::rounding * fabs(logodds);
    const double *edges = bins.edges + (bins.groups == 1 ? 0 : bins.group_of[row.top]) * bins.n_edges;
    for (int64_t m = 0; m < bins.n_edges; ++m)
        if (fabs(edges[m] - logodds) <= margin) return true;
    return false;
}

// The top class is alone in being able to exceed even odds, so the others meet only these edges.
int64_t edges_below_even(const Binnings &bins) {
    int64_t most = 0;
    for (int64_t g = 0; g < bins.groups; ++g) {
        int64_t m = 0;
        while (m < bins.n_edges && bins.edges[g * bins.n_edges + m] <= 0) ++m;
        most = m > most ? m : most;
    }
    return most;
}

double largest_bound(const Binnings &bins, int64_t n_low) {
    double largest = 0;
    for (int64_t g = 0; g < bins.groups; ++g)
        for (int64_t m = 0; m < n_low; ++m) {
            const double size = fabs(bins.bounds[g * bins.n_edges + m]);
            if (size < HUGE_VAL && size > largest) largest = size;
        }
    return largest;
}

template <class T> void lay_out(const Binnings &bins, int64_t n_low, int64_t columns, T *bounds, T *values) {
    for (int64_t k = 0; k < padded(columns); ++k) {
        const int64_t g = bins.group_of[k < columns ? k : 0];
        const int64_t vector = k / lanes<T> * lanes<T>, lane = k % lanes<T>;
        for (int64_t m = 0; m < n_low; ++m)
            bounds[vector * n_low + m * lanes<T> + lane] = T(bins.bounds[g * bins.n_edges + m]);
        for (int64_t m = 0; m <= n_low; ++m)
            values[vector * (n_low + 1) + m * lanes<T> + lane] = T(bins.values[g * (bins.n_edges + 1) + m]);
    }
}

// Rows of scratch, each padded(columns) doubles long.
template <class T> struct Room {
    T *z;
    int64_t *close;
    double *exact, *spare;
    Room(double *scratch, int64_t length)
        : z(reinterpret_cast<T *>(scratch)), close(reinterpret_cast<int64_t *>(scratch + length)),
          exact(scratch + 2 * length), spare(scratch + 3 * length) {}
};

template <class T> using Logodds = decltype(Rows<T>::logodds);

template <class T, class Bounds>
int64_t apply_rows(const Matrix<T> &x, const Binnings &bins, const Bounds &at, int64_t n_low, Logodds<T> logodds,
                   const Room<T> &room, T *out) {
    const double largest = largest_bound(bins, n_low);
    for (int64_t i = 0; i < x.rows; ++i, out += x.columns) {
        const Sums<T> row = read_row(x, i, room.z, out);
        if (is_bad(row)) return i;
        const double log_sum = row.max + log1p(row.others);
        const double margin = row.error * (row.others < 1 ? row.others : 1) +
                              1.25 * Lanes<T>::rounding * (fabs(log_sum) + 2 * largest + 1);
        const T shift = T(log_sum - margin + at.origin), gap = T(2 * margin);
        const int64_t n_close = pick<T>(row, at, n_low, shift, gap, room.close, out);
        if (n_close == 0 && !top_is_close(row, bins)) {
            out[row.top] = T(value_at(bins, row.top, -log(row.others)));
            continue;
        }
        logodds({x.row(i), 1, x.columns, x.row_stride, x.column_stride}, room.exact, room.spare);
        for (int64_t c = 0; c < n_close; ++c)
            for (int64_t k = room.close[c]; k < room.close[c] + tile<T> && k < x.columns; ++k)
                out[k] = T(value_at(bins, k, room.exact[k]));
        out[row.top] = T(value_at(bins, row.top, room.exact[row.top]));
    }
    return -1;
}

template <class T>
int64_t apply_shared(const Matrix<T> &x, const Binnings &bins, const Shared<T> &at, int64_t n_low, Logodds<T> logodds,
                     const Room<T> &room, T *out) {
    return apply_rows<T>(x, bins, at, n_low, logodds, room, out);
}

#if defined(__AVX512F__)
template <>
int64_t apply_shared(const Matrix<float> &x, const Binnings &bins, const Shared<float> &at, int64_t n_low,
                     Logodds<float> logodds, const Room<float> &room, float *out) {
    Cells cells;
    if (cells.lay_out(bins, n_low)) return apply_rows<float>(x, bins, cells, n_low, logodds, room, out);
    return apply_rows<float>(x, bins, at, n_low, logodds, room, out);
}
#endif

template <class T>
int64_t apply(const Matrix<T> &x, const Binnings &bins, Logodds<T> logodds, T *out, double *scratch) {
    const int64_t length = padded(x.columns), n_low = edges_below_even(bins);
    const Room<T> room(scratch, length);
    const int64_t width = bins.groups == 1 ? 1 : length;
    T *bounds = new T[n_low * width], *values = new T[(n_low + 1) * width];
    int64_t bad;
    if (bins.groups == 1) {
        for (int64_t m = 0; m < n_low; ++m) bounds[m] = T(bins.bounds[m]);
        for (int64_t m = 0; m <= n_low; ++m) values[m] = T(bins.values[m]);
        bad = apply_shared<T>(x, bins, {bounds, values}, n_low, logodds, room, out);
    } else {
        lay_out(bins, n_low, x.columns, bounds, values);
        bad = apply_rows<T>(x, bins, Own<T>{bounds, values, n_low}, n_low, logodds, room, out);
    }
    delete[] bounds;
    delete[] values;
    return bad;
}

}  // namespace

namespace applies {
extern const Applies INFOCAL_ISA = {apply<float>, apply<double>};
}

}  // namespace infocal
