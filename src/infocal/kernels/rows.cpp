// The row loops, compiled once per instruction set (INFOCAL_ISA names it). Nothing from the standard
// library's templates is used here: a copy compiled for a larger instruction set could be the one the
// linker keeps for everybody.
#include "rows.hpp"

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

using D = V<double>;
using U = Lanes<double>::U;

// e[k] = exp(z[k] - max), 0 for the top column; returns their sum: the odds against the top class.
double exp_others(const Row<double> &row, double max, double *e) {
    for (int64_t k = 0; k < row.length; k += lanes<double>) {
        const D power = Lanes<double>::exp(load(row.z + k) - max);
        memcpy(e + k, &power, sizeof(power));
    }
    e[row.top] = 0;
    return sum(e, row.length);
}

template <class T> bool is_bad(const Row<T> &row, double others) {
    return !(row.max > T(-INF) && row.max < T(INF) && others == others);
}

// Log-odds of the top column: minus the log of the sum of the others, taken from the largest of them
// where that sum would be too small to hold.
double logodds_of_top(const Row<double> &row, double others, double *e) {
    if (others > 1e-280) return -log_(others);
    double second = -INF;
    for (int64_t k = 0; k < row.columns; ++k)
        if (k != row.top && row.z[k] > second) second = row.z[k];
    if (second == -INF) return INF;
    for (int64_t k = 0; k < row.length; ++k) e[k] = k == row.top ? 0 : exp_(row.z[k] - second);
    return (row.max - second) - log_(sum(e, row.length));
}

// The definition that every other loop agrees with: lambda_k = z_k - log sum_{j != k} exp z_j.
// `e` is left with exp(z - max), 0 at the top; returns their sum.
double logodds_row(const Row<double> &row, double *e, double *logodds) {
    double others = exp_others(row, row.max, e);
    if (is_bad(row, others)) return others;
    for (int64_t k = 0; k < row.length; k += lanes<double>) {
        const D here = (load(row.z + k) - row.max) - log_any<D, U>(1.0 + (others - load(e + k)));
        memcpy(logodds + k, &here, sizeof(here));
    }
    logodds[row.top] = logodds_of_top(row, others, logodds + row.length);
    return others;
}

template <class T> Row<double> as_double(const Row<T> &row, double *z) {
    for (int64_t k = 0; k < row.length; ++k) z[k] = double(row.z[k]);
    return {z, row.columns, row.length, row.top, double(row.max)};
}

template <class T> int64_t logodds(const Matrix<T> &x, double *out, double *scratch) {
    const int64_t length = padded(x.columns);
    double *z = scratch + length, *e = z + length, *lam = e + length;  // one more row behind lam is spare
    for (int64_t i = 0; i < x.rows; ++i) {
        Row<T> row = load_row(x, i, reinterpret_cast<T *>(scratch));
        if (is_bad(row, logodds_row(as_double(row, z), e, lam))) return i;
        memcpy(out + i * x.columns, lam, sizeof(double) * x.columns);
    }
    return -1;
}

template <class T>
void logodds_at(const Matrix<T> &x, const int64_t *columns, int64_t count, double *out, double *scratch) {
    const int64_t length = padded(x.columns);
    double *z = scratch + length, *e = z + length, *spare = e + length;
    const Row<double> row = as_double(load_row(x, 0, reinterpret_cast<T *>(scratch)), z);
    const double others = exp_others(row, row.max, e);
    for (int64_t c = 0; c < count; ++c) {
        const int64_t k = columns[c];
        out[c] = (row.z[k] - row.max) - log_(1.0 + (others - e[k]));
    }
    for (int64_t c = 0; c < count; ++c)
        if (columns[c] == row.top) out[c] = logodds_of_top(row, others, spare);
}

template <class T> int64_t facts(const Matrix<T> &x, double *out, double *scratch) {
    const int64_t length = padded(x.columns);
    double *z = scratch + length, *e = z + length, *spare = e + length;
    for (int64_t i = 0; i < x.rows; ++i, out += FACTS) {
        const Row<double> row = as_double(load_row(x, i, reinterpret_cast<T *>(scratch)), z);
        const double others = exp_others(row, row.max, e);
        if (is_bad(row, others)) return i;
        const double told[FACTS] = {row.max, others, double(row.top), logodds_of_top(row, others, spare)};
        memcpy(out, told, sizeof(told));
    }
    return -1;
}

template <class T>
void columns(const Matrix<T> &x, const double *facts, const int64_t *columns, int64_t count, double *out,
             double *scratch) {
    for (int64_t i = 0; i < x.rows; ++i, facts += FACTS) {
        const T *row = x.row(i);
        for (int64_t c = 0; c < count; ++c) scratch[c] = double(row[columns[c] * x.column_stride]) - facts[0];
        for (int64_t c = 0; c < count; c += lanes<double>) {
            const D below = load(scratch + c), others = facts[1] - Lanes<double>::exp(below);
            store(below - log_any<D, U>(1.0 + others), scratch + c);
        }
        for (int64_t c = 0; c < count; ++c) out[c * x.rows + i] = double(columns[c]) == facts[2] ? facts[3] : scratch[c];
    }
}

int64_t cell_of(const Grid &grid, double logodds) {
    double place = (logodds + grid.reach) * grid.per_unit;
    place = place > 0 ? place : 0;
    const int64_t last = grid.cells - 1;
    return place < double(last) ? int64_t(place) : last;
}

template <class T>
int64_t summarise(const Matrix<T> &x, const int64_t *labels, const double *weights, const int64_t *group_of,
                  const Grid &grid, const Summary &into, double *scratch) {
    const int64_t length = padded(x.columns);
    double *z = scratch + length, *e = z + length, *lam = e + length;
    for (int64_t i = 0; i < x.rows; ++i) {
        Row<T> row = load_row(x, i, reinterpret_cast<T *>(scratch));
        const double others = logodds_row(as_double(row, z), e, lam);
        if (is_bad(row, others)) return i;
        const double weight = weights ? weights[i] : 1.0, share = weight / (1.0 + others);
        e[row.top] = lam[row.top] > 0 ? others : 1.0;
        for (int64_t k = 0; k < x.columns; ++k) {
            const int64_t at = group_of[k] * grid.cells + cell_of(grid, lam[k]);
            into.points[at] += weight;
            into.smaller[at] += e[k] * share;
        }
        into.hits[group_of[labels[i]] * grid.cells + cell_of(grid, lam[labels[i]])] += weight;
    }
    return -1;
}

template <class T> constexpr Rows<T> rows() { return {logodds<T>, logodds_at<T>, facts<T>, columns<T>, summarise<T>}; }

#define INFOCAL_TEXT(name) #name
#define INFOCAL_NAME(name) INFOCAL_TEXT(name)

}  // namespace

extern const InstructionSet INFOCAL_ISA = {INFOCAL_NAME(INFOCAL_ISA), rows<float>(), rows<double>()};

}  // namespace infocal
