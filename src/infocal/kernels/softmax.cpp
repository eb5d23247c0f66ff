// The softmax loops, compiled once per instruction set as rows.cpp is.
#include "softmax.hpp"

#include <math.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace infocal {
namespace {

#include "numbers.hpp"
#include "row.hpp"

#include "lanes.hpp"

#include "wide.hpp"

#include "stream.hpp"

template <class T> struct Lowest;  // stands in for -inf where 0 * -inf would be NaN
template <> struct Lowest<float> {
    static constexpr float value = -3e38f;
};
template <> struct Lowest<double> {
    static constexpr double value = -1e308;
};

template <class T> bool is_bad(T max, double total) { return !(max > T(-INF) && max < T(INF) && total == total); }

template <class T> inline T below(T z, T max) {
    const T u = z - max;
    return u < Lowest<T>::value ? Lowest<T>::value : u;
}

// e^(t u), 0 for a masked class at any t.
template <class T> inline T tempered_exp(T z, T max, T inverse) {
    const T e = exp_(inverse * below(z, max));
    return z == T(-INF) ? T(0) : e;
}

// e^(t (z - max)) of a row, left in e, and their sum; at an inverse temperature of 0 a masked class is still masked.
template <class T> double sum_tempered(const T *z, int64_t length, T max, double inverse, T *e) {
    if (T(inverse) > 0)
        return sum_powers(z, length, [=](V<T> here) { return Lanes<T>::exp_scaled(here - max, inverse); }, e);
    for (int64_t k = 0; k < length; ++k) e[k] = tempered_exp(z[k], max, T(inverse));
    return sum(e, length);
}

template <class T> int64_t apply(const Matrix<T> &x, double inverse, const Result<T> &out, double *scratch) {
    const int64_t length = padded(x.columns);
    T *z = reinterpret_cast<T *>(scratch), *e = z + ROWS * length, *const answers = e + ROWS * length;
    Stream stream;
    for (int64_t start = 0; start < x.rows; start += ROWS) {
        const int64_t count = x.rows - start < ROWS ? x.rows - start : ROWS;
        T max[ROWS];
        double total[ROWS];
        for (int64_t r = 0; r < count; ++r) max[r] = copy_row(x, start + r, length, z + r * length);
        for (int64_t r = 0; r < count; ++r) {
            total[r] = sum_tempered(z + r * length, length, max[r], inverse, e + r * length);
            stream.send(x.columns * sizeof(T) / LINE + 1);
        }
        stream.send_all();
        T *const place = out.data + start * x.columns, *const to = out.past_caches ? answers : place;
        for (int64_t r = 0; r < count; ++r) {
            if (is_bad(max[r], total[r])) return start + r;
            const T share = T(1.0 / total[r]), *from = e + r * length;
            for (int64_t k = 0; k < x.columns; ++k) to[r * x.columns + k] = from[k] * share;
        }
        if (out.past_caches) stream.begin(to, count * x.columns, place);
    }
    stream.send_all();
    finish_streams();
    return -1;
}

// Sums over a row of e, e u and e u^2; within a block of the row they are taken in the row's own precision.
template <class T> void moments(const Row<T> &row, T inverse, double *sums) {
    double lane[3][LANES] = {{0}};
    for (int64_t start = 0; start < row.length; start += BLOCK) {
        T part[3][LANES] = {{0}};
        for (int64_t k = 0; k < BLOCK; k += LANES)
            for (int64_t b = 0; b < LANES; ++b) {
                const T z = row.z[start + k + b], u = below(z, row.max), e = tempered_exp(z, row.max, inverse);
                part[0][b] += e;
                part[1][b] += e * u;
                part[2][b] += e * u * u;
            }
        for (int64_t j = 0; j < 3; ++j)
            for (int64_t b = 0; b < LANES; ++b) lane[j][b] += double(part[j][b]);
    }
    for (int64_t j = 0; j < 3; ++j) sums[j] = sum_lanes(lane[j]);
}

template <class T>
int64_t tempered(const Matrix<T> &x, const int64_t *labels, const double *weights, double inverse, Tempered &into,
                 double *scratch) {
    for (int64_t i = 0; i < x.rows; ++i) {
        const Row<T> row = load_row(x, i, reinterpret_cast<T *>(scratch));
        double sums[3];
        moments(row, T(inverse), sums);
        if (is_bad(row.max, sums[0])) return i;
        const double weight = weights ? weights[i] : 1.0, label = double(row.z[labels[i]]) - double(row.max);
        if (!(weight > 0) || label == -INF) continue;
        const double mean = sums[1] / sums[0];
        into.mass += weight;
        into.log_sum += weight * log_(sums[0]);
        into.mean += weight * mean;
        into.variance += weight * (sums[2] / sums[0] - mean * mean);
        into.label += weight * label;
        into.beaten += label < 0 ? weight : 0;
    }
    return -1;
}

template <class T> constexpr Softmax<T> loops() { return {apply<T>, tempered<T>}; }

}  // namespace

namespace softmaxes {
extern const Softmaxes INFOCAL_ISA = {loops<float>(), loops<double>()};
}

}  // namespace infocal
