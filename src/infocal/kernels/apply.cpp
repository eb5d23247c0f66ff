// Compiled once per instruction set, with vectors of the width it has. Fused multiply-adds are welcome
// here: what is too close to call is not decided here.
#include "apply.hpp"

#include <math.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace infocal {
namespace {

#include "numbers.hpp"

#include "lanes.hpp"

#include "stream.hpp"

// A row at hand: its values padded with -inf, its maximum and the first index of it, and the sum of
// e^(z - max) over all other columns.
const int64_t ROWS = 8;  // at work in turns: one need not wait for the sums of another

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
            sums[v] += Lanes<T>::exp_rough(load(z + at) - max);
        }
    const V<T> all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    double total = 0;
    for (int64_t lane = 0; lane < lanes<T>; ++lane) total += double(all[lane]);
    return total;
}

template <class T> Sums<T> sum_row(T *z, int64_t columns, T max, double error, const T *next, const T *to) {
    const int64_t length = padded(columns), top = find(z, length, max);
    z[top] = T(-HUGE_VAL);  // no cancellation: the top class is left out, not subtracted
    const double others = sum_exp(z, length, max, next, to);
    z[top] = max;
    return {z, columns, length, top, double(max), others, error};
}

// Of log `others`, at most: of additions, and of powers, which are off by a few roundings and a few more for each unit
// of their exponents, whose mean is within log(columns) of log `others`.
template <class T> double error_of(int64_t columns) {
    return Lanes<T>::rounding * (24 + double(padded(columns) / tile<T>) + 4 * log(double(columns)));
}

template <class T> bool is_bad(const Sums<T> &row) {
    return !(row.max > -HUGE_VAL && row.max < HUGE_VAL && row.others == row.others);
}

// Room for rows at hand, each padded(columns) long.
template <class T> struct Room {
    int64_t length;
    T *z;            // (ROWS, length)
    T *answers;      // (ROWS, length) or less, before they go past the caches
    int64_t *close;  // (ROWS, length)
    double *exact, *spare;
    Room(double *scratch, int64_t length)
        : length(length), z(reinterpret_cast<T *>(scratch)), answers(z + ROWS * length),
          close(reinterpret_cast<int64_t *>(scratch + 2 * ROWS * length)), exact(scratch + 3 * ROWS * length),
          spare(scratch + (3 * ROWS + 1) * length) {}
};

// What a tile of columns is answered with, and which of them are too near a bound to tell.
template <class T> struct Answer {
    V<T> value[VECTORS];
    Mask<T> near[VECTORS];
};

template <class T> void put(const Answer<T> &found, const Sums<T> &row, int64_t start, T *out) {
    if (start + tile<T> <= row.columns) {
        memcpy(out + start, found.value, sizeof(found.value));
    } else {
        memcpy(out + start, found.value, sizeof(T) * (row.columns - start));
    }
}

// Notes the columns near a bound.
template <class T>
int64_t note(const Answer<T> &found, const Sums<T> &row, int64_t start, int64_t *close, int64_t count) {
    Mask<T> some = found.near[0];
    for (int64_t v = 1; v < VECTORS; ++v) some = either<T>(some, found.near[v]);
    if (!any<T>(some)) return count;
    for (int64_t v = 0; v < VECTORS; ++v) {
        const V<T> flags = found.near[v].pick(V<T>{} + T(1), V<T>{});
        for (int64_t lane = 0; lane < lanes<T>; ++lane) {
            const int64_t k = start + v * lanes<T> + lane;
            if (flags[lane] == 1 && k < row.columns) close[count++] = k;
        }
    }
    return count;
}

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
inline Answer<T> answer(const Bounds &at, int64_t n_edges, const T *z, int64_t column, T shift, T gap) {
    V<T> place[VECTORS], reached[VECTORS], value[VECTORS];  // in registers: all loops over them are unrolled
#pragma GCC unroll 4
    for (int64_t v = 0; v < VECTORS; ++v) {
        place[v] = load(z + v * lanes<T>) - shift;
        value[v] = at.value(0, column + v * lanes<T>);
        reached[v] = V<T>{} - T(HUGE_VAL);
    }
    bool higher = true;  // bounds increase: where no column reaches one, none reaches the next
    for (int64_t m = 0; m < n_edges && higher; ++m) {
        Mask<T> some = {};
#pragma GCC unroll 4
        for (int64_t v = 0; v < VECTORS; ++v) {
            const V<T> bound = at.bound(m, column + v * lanes<T>);
            const Mask<T> above = Mask<T>::at_least(place[v], bound);
            value[v] = above.pick(at.value(m + 1, column + v * lanes<T>), value[v]);
            reached[v] = above.pick(bound, reached[v]);
            some = either<T>(some, above);
        }
        higher = any<T>(some);
    }
    Answer<T> found;
#pragma GCC unroll 4
    for (int64_t v = 0; v < VECTORS; ++v) {
        found.value[v] = value[v];
        found.near[v] = Mask<T>::below(place[v] - reached[v], V<T>{} + gap);
    }
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

// How far a vector of columns is above the bounds of their cells; `cell` takes the cells.
struct Over {
    V<float> low, high, last;
    float per_unit, shift;

    Over(const Cells &at, float shift)
        : low(load(at.bounds) + shift), high(load(at.bounds + 16) + shift), last(V<float>{} + float(Cells::N - 1)),
          per_unit(at.per_unit), shift(shift * at.per_unit) {}

    V<float> operator()(V<float> here, __m512i *cell) const {
        const V<float> place = here * per_unit - shift;
        *cell = _mm512_cvtps_epi32(_mm512_min_ps(last, _mm512_max_ps(V<float>{}, place)));
        return here - _mm512_permutex2var_ps(low, *cell, high);
    }
};

int64_t pick(const Sums<float> &row, const Cells &at, int64_t, float shift, float gap, int64_t *close, float *out) {
    const V<float> first = load(at.values), second = load(at.values + 16);
    const Over over(at, shift);
    const __m512i one = _mm512_set1_epi32(1), reach = _mm512_castps_si512(V<float>{} + gap);
    __m512i cell, nearest = _mm512_set1_epi32(-1);
    for (int64_t k = 0; k < row.columns; k += 16) {
        const V<float> above = over(load(row.z + k), &cell);
        const __mmask16 reached = _mm512_cmp_ps_mask(above, V<float>{}, _CMP_GE_OQ);
        nearest = _mm512_min_epu32(nearest, _mm512_castps_si512(above));  // below 0 is far as an unsigned number
        const __m512i side = _mm512_mask_add_epi32(cell, reached, cell, one);
        const V<float> value = _mm512_permutex2var_ps(first, side, second);
        if (k + 16 <= row.columns) _mm512_storeu_ps(out + k, value);
        else _mm512_mask_storeu_ps(out + k, __mmask16((1u << (row.columns - k)) - 1), value);
    }
    if (!_mm512_cmplt_epu32_mask(nearest, reach)) return 0;
    int64_t count = 0;
    for (int64_t k = 0; k < row.columns; k += 16) {
        const __m512i above = _mm512_castps_si512(over(load(row.z + k), &cell));
        for (uint32_t left = _mm512_cmplt_epu32_mask(above, reach); left; left &= left - 1) {
            const int64_t column = k + __builtin_ctz(left);
            if (column < row.columns) close[count++] = column;
        }
    }
    return count;
}
#endif

// A line cut into many cells, of which few hold a bound, tells the value of all columns in the others. Cells that a
// bound is in, or nearly, are marked; a column in one of these is compared with every bound.
struct Table {
    static constexpr int64_t N = 4096;
    static constexpr float MARK = -1;
    const float *bounds, *values;
    float cell[N];
    float per_unit, slack;  // slack: how near a cell's end a bound marks it
    double start;           // lower end of cell 0
    static constexpr double origin = 0;

    Table(const Binnings &bins, int64_t n_low, const float *bounds, const float *values)
        : bounds(bounds), values(values), per_unit(0), slack(HUGE_VALF), start(0) {
        for (float &value : cell) value = values[0];
        if (n_low == 0) return;
        const double first = bins.bounds[0], range = bins.bounds[n_low - 1] - first;
        const double width = (range > 1e-3 ? range : 1e-3) / double(N - 4);
        per_unit = float(1 / width);
        slack = float(width / 8);
        start = first - 1.5 * width;
        for (int64_t m = 0; m < n_low && bins.bounds[m] < HUGE_VAL; ++m) {
            const double place = (bins.bounds[m] - start) * double(per_unit);
            for (int64_t c = int64_t(place + 0.25); c < N; ++c) cell[c] = values[m + 1];
        }
        for (int64_t m = 0; m < n_low && bins.bounds[m] < HUGE_VAL; ++m) {
            const double place = (bins.bounds[m] - start) * double(per_unit);
            cell[int64_t(place - 0.25)] = cell[int64_t(place + 0.25)] = MARK;
        }
    }
};

// Answers one column by comparing it with every bound; tells whether it is near one.
inline bool answer_one(const Table &at, int64_t n_edges, float place, float gap, float *out) {
    float reached = -HUGE_VALF;
    *out = at.values[0];
    for (int64_t m = 0; m < n_edges && place >= at.bounds[m]; ++m) {
        reached = at.bounds[m];
        *out = at.values[m + 1];
    }
    return place - reached < gap;
}

int64_t pick(const Sums<float> &row, const Table &at, int64_t n_edges, float shift, float gap, int64_t *close,
             float *out) {
    const bool told = 2 * gap < at.slack && fabsf(shift) * 2e-7f < at.slack;
    const float offset = -(shift + float(at.start)) * at.per_unit;
    int64_t count = 0;
    for (int64_t start = 0; start < row.columns; start += tile<float>) {
        int32_t cell[tile<float>];
        float found[tile<float>];
        for (int64_t v = 0; v < VECTORS; ++v) {
            const V<float> place = load(row.z + start + v * lanes<float>) * at.per_unit + offset;
            const V<float> inside = place > 0.0f ? place : V<float>{};
            const V<float> last = V<float>{} + float(Table::N - 1);
            const auto whole = to_whole(inside < last ? inside : last);
            memcpy(cell + v * lanes<float>, &whole, sizeof(whole));
        }
        for (int64_t b = 0; b < tile<float>; ++b) found[b] = at.cell[cell[b]];
        bool marked = !told;
        for (int64_t v = 0; v < VECTORS; ++v)
            marked |= any<float>(Mask<float>::below(load(found + v * lanes<float>), V<float>{}));
        const int64_t width = row.columns - start < tile<float> ? row.columns - start : tile<float>;
        for (int64_t b = 0; marked && b < width; ++b)
            if (!told || found[b] == Table::MARK)
                if (answer_one(at, n_edges, row.z[start + b] - shift, gap, found + b)) close[count++] = start + b;
        memcpy(out + start, found, sizeof(float) * width);
    }
    return count;
}

// Where a row's bounds are: z - shift reaches one that it exceeds by less than `gap` only perhaps.
template <class T> struct Reach {
    T shift, gap;

    Reach() {}
    Reach(const Sums<T> &row, double largest, double origin) {
        const double log_sum = row.max + log1p(row.others);
        const double margin = row.error * (row.others < 1 ? row.others : 1) +
                              Lanes<T>::rounding * (1.25 * (fabs(log_sum) + 2 * largest + 1) + 1.5);
        shift = T(log_sum - margin + origin);
        gap = T(2 * margin);
    }
};

// Answers rows, and notes how many columns of each are near a bound, and which; tile by tile, so that bounds of the
// columns' own are at hand for all rows ...
template <class T, class Bounds>
void answer_rows(const Sums<T> *rows, const Reach<T> *reach, int64_t count, const Bounds &at, int64_t n_edges,
                 const Room<T> &room, int64_t *n_close, T *out) {
    for (int64_t r = 0; r < count; ++r) n_close[r] = 0;
    for (int64_t start = 0; start < rows[0].columns; start += tile<T>)
        for (int64_t r = 0; r < count; ++r) {
            const Answer<T> found =
                answer<T>(at, n_edges, rows[r].z + start, start, reach[r].shift, reach[r].gap);
            put(found, rows[r], start, out + r * rows[r].columns);
            n_close[r] = note(found, rows[r], start, room.close + r * room.length, n_close[r]);
        }
}

// ... or row by row.
template <class Bounds>
void pick_rows(const Sums<float> *rows, const Reach<float> *reach, int64_t count, const Bounds &at, int64_t n_edges,
               const Room<float> &room, int64_t *n_close, float *out) {
    for (int64_t r = 0; r < count; ++r)
        n_close[r] = pick(rows[r], at, n_edges, reach[r].shift, reach[r].gap, room.close + r * room.length,
                          out + r * rows[r].columns);
}

inline void answer_rows(const Sums<float> *rows, const Reach<float> *reach, int64_t count, const Table &at,
                        int64_t n_edges, const Room<float> &room, int64_t *n_close, float *out) {
    pick_rows(rows, reach, count, at, n_edges, room, n_close, out);
}

#if defined(__AVX512F__)
inline void answer_rows(const Sums<float> *rows, const Reach<float> *reach, int64_t count, const Cells &at,
                        int64_t n_edges, const Room<float> &room, int64_t *n_close, float *out) {
    pick_rows(rows, reach, count, at, n_edges, room, n_close, out);
}
#endif

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
    const double logodds = -log(row.others), margin = row.error + 8 * Lanes<T>::rounding * fabs(logodds);
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

// Decides, by their exact log-odds, the columns too near a bound, and the top one.
template <class T>
void settle(const Matrix<T> &x, int64_t i, const Sums<T> &row, const Binnings &bins, LogoddsAt<T> logodds_at,
            int64_t *close, int64_t n_close, const Room<T> &room, T *out) {
    if (n_close == 0 && !top_is_close(row, bins)) {
        out[row.top] = T(value_at(bins, row.top, -log(row.others)));
        return;
    }
    close[n_close] = row.top;
    logodds_at({x.row(i), 1, x.columns, x.row_stride, x.column_stride}, close, n_close + 1, room.exact, room.spare);
    for (int64_t c = 0; c <= n_close; ++c) out[close[c]] = T(value_at(bins, close[c], room.exact[c]));
}

// Reads rows `start` on; returns the first bad one of them, or `count`.
template <class T>
int64_t read_rows(const Matrix<T> &x, int64_t start, int64_t count, const Room<T> &room, Sums<T> *rows, const T *out) {
    T max[ROWS];
    const double error = error_of<T>(x.columns);
    for (int64_t r = 0; r < count; ++r) max[r] = copy_row(x, start + r, room.z + r * room.length, room.length);
    for (int64_t r = 0; r < count; ++r)
        rows[r] = sum_row(room.z + r * room.length, x.columns, max[r], error, x.row(start + r + ROWS),
                          out + r * x.columns);
    for (int64_t r = 0; r < count; ++r)
        if (is_bad(rows[r])) return r;
    return count;
}

template <class T, class Bounds>
int64_t apply_rows(const Matrix<T> &x, const Binnings &bins, const Bounds &at, int64_t n_low, LogoddsAt<T> logodds_at,
                   const Room<T> &room, const Result<T> &out) {
    const double largest = largest_bound(bins, n_low);
    Sums<T> rows[ROWS];
    Reach<T> reach[ROWS];
    int64_t n_close[ROWS];
    for (int64_t start = 0; start < x.rows; start += ROWS) {
        const int64_t count = x.rows - start < ROWS ? x.rows - start : ROWS;
        T *const place = out.data + start * x.columns, *const to = out.past_caches ? room.answers : place;
        const int64_t fine = read_rows(x, start, count, room, rows, to);
        if (fine < count) return start + fine;
        for (int64_t r = 0; r < count; ++r) reach[r] = Reach<T>(rows[r], largest, at.origin);
        answer_rows(rows, reach, count, at, n_low, room, n_close, to);
        for (int64_t r = 0; r < count; ++r)
            settle(x, start + r, rows[r], bins, logodds_at, room.close + r * room.length, n_close[r], room,
                   to + r * x.columns);
        if (out.past_caches) stream(to, count * x.columns, place);
    }
    finish_streams();
    return -1;
}

template <class T>
int64_t apply_shared(const Matrix<T> &x, const Binnings &bins, const Shared<T> &at, int64_t n_low, LogoddsAt<T> exactly,
                     const Room<T> &room, const Result<T> &out) {
    return apply_rows<T>(x, bins, at, n_low, exactly, room, out);
}

template <>
int64_t apply_shared(const Matrix<float> &x, const Binnings &bins, const Shared<float> &at, int64_t n_low,
                     LogoddsAt<float> exactly, const Room<float> &room, const Result<float> &out) {
#if defined(__AVX512F__)
    Cells cells;
    if (cells.lay_out(bins, n_low)) return apply_rows<float>(x, bins, cells, n_low, exactly, room, out);
#endif
    const Table table(bins, n_low, at.bounds, at.values);
    return apply_rows<float>(x, bins, table, n_low, exactly, room, out);
}

template <class T>
int64_t apply(const Matrix<T> &x, const Binnings &bins, LogoddsAt<T> exactly, const Result<T> &out, double *scratch) {
    const int64_t length = padded(x.columns), n_low = edges_below_even(bins);
    const Room<T> room(scratch, length);
    const int64_t width = bins.groups == 1 ? 1 : length;
    // whole vectors begin where lines of the cache do
    char *tables = new char[(2 * n_low + 1) * width * sizeof(T) + 64];
    T *bounds = reinterpret_cast<T *>((reinterpret_cast<uintptr_t>(tables) + 63) / 64 * 64);
    T *values = bounds + n_low * width;
    int64_t bad;
    if (bins.groups == 1) {
        for (int64_t m = 0; m < n_low; ++m) bounds[m] = T(bins.bounds[m]);
        for (int64_t m = 0; m <= n_low; ++m) values[m] = T(bins.values[m]);
        bad = apply_shared<T>(x, bins, {bounds, values}, n_low, exactly, room, out);
    } else {
        lay_out(bins, n_low, x.columns, bounds, values);
        bad = apply_rows<T>(x, bins, Own<T>{bounds, values, n_low}, n_low, exactly, room, out);
    }
    delete[] tables;
    return bad;
}

}  // namespace

namespace applies {
extern const Applies INFOCAL_ISA = {apply<float>, apply<double>};
}

}  // namespace infocal
