// The row loops, compiled once per instruction set (INFOCAL_ISA names it). Nothing from the standard
// library's templates is used here: a copy compiled for a larger instruction set could be the one the
// linker keeps for everybody.
#include "rows.hpp"

#include <math.h>
#include <string.h>

namespace infocal {
namespace {

#include "numbers.hpp"
#include "row.hpp"

template <class T> struct Margin;  // how far a fast comparison can be from the exact one
template <> struct Margin<float> {
    static constexpr double absolute = 2e-6, relative = 4e-7;
};
template <> struct Margin<double> {
    static constexpr double absolute = 1e-13, relative = 1e-15;
};

// e[k] = exp(z[k] - max), 0 for the top column; returns their sum: the odds against the top class.
template <class T> double exp_others(const Row<T> &row, T max, T *e) {
    for (int64_t k = 0; k < row.length; ++k) e[k] = exp_(row.z[k] - max);
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
    for (int64_t k = 0; k < row.length; ++k) logodds[k] = (row.z[k] - row.max) - log_(1.0 + (others - e[k]));
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

int64_t bin_of(const double *edges, int64_t n_edges, double logodds) {
    int64_t bin = 0;
    while (bin < n_edges && logodds >= edges[bin]) ++bin;
    return bin;
}

// The slow, exact way to apply a binning: used for rows where a fast comparison is too close to call.
template <class T> void apply_exactly(const Row<T> &row, const Binnings &bins, T *out, double *room) {
    double *z = room, *e = z + row.length, *lam = e + row.length;
    logodds_row(as_double(row, z), e, lam);
    for (int64_t k = 0; k < row.columns; ++k) {
        const int64_t g = bins.groups == 1 ? 0 : bins.group_of[k];
        out[k] = T(bins.values[g * (bins.n_edges + 1) + bin_of(bins.edges + g * bins.n_edges, bins.n_edges, lam[k])]);
    }
}

// The top column is alone in being able to exceed even odds, so the others meet only these edges.
int64_t edges_below_even(const Binnings &bins) {
    int64_t most = 0;
    for (int64_t g = 0; g < bins.groups; ++g) {
        int64_t m = 0;
        while (m < bins.n_edges && bins.edges[g * bins.n_edges + m] <= 0) ++m;
        most = m > most ? m : most;
    }
    return most;
}

// out[k] = values[bin]: a class is in bin m or above where z_k >= bound_m + log-sum-exp. `low` and
// `high` take the bounds shifted by the margin; returns whether they differ anywhere.
template <class T>
bool pick_shared(const Row<T> &row, const Binnings &bins, int64_t n_edges, double log_sum, T *low, T *high) {
    for (int64_t k = 0; k < row.length; ++k) low[k] = high[k] = T(bins.values[0]);
    for (int64_t m = 0; m < n_edges; ++m) {
        const double bound = bins.bounds[m] + log_sum;
        const double margin = Margin<T>::absolute + Margin<T>::relative * (fabs(bound) + fabs(log_sum));
        const T from = T(bound - margin), to = T(bound + margin), value = T(bins.values[m + 1]);
        for (int64_t k = 0; k < row.length; ++k) {
            low[k] = row.z[k] >= from ? value : low[k];
            high[k] = row.z[k] >= to ? value : high[k];
        }
    }
    int64_t differ = 0;
    for (int64_t k = 0; k < row.length; ++k) differ += low[k] != high[k];
    return differ > 0;
}

// The same with bounds and values of each column's own group, read from a table (edge, column).
template <class T> struct Columns {
    T *bounds, *values;  // (n_edges, length), (n_edges + 1, length)
    double largest;      // of |bounds|
};

template <class T>
bool pick_columns(const Row<T> &row, const Columns<T> &columns, int64_t n_edges, double log_sum, T *low, T *high) {
    const double margin = Margin<T>::absolute + Margin<T>::relative * (columns.largest + 2 * fabs(log_sum));
    const T from = T(log_sum - margin), to = T(log_sum + margin);
    for (int64_t k = 0; k < row.length; ++k) low[k] = high[k] = columns.values[k];
    for (int64_t m = 0; m < n_edges; ++m) {
        const T *bound = columns.bounds + m * row.length, *value = columns.values + (m + 1) * row.length;
        for (int64_t k = 0; k < row.length; ++k) {
            low[k] = row.z[k] >= bound[k] + from ? value[k] : low[k];
            high[k] = row.z[k] >= bound[k] + to ? value[k] : high[k];
        }
    }
    int64_t differ = 0;
    for (int64_t k = 0; k < row.length; ++k) differ += low[k] != high[k];
    return differ > 0;
}

template <class T> Columns<T> lay_out_columns(const Binnings &bins, int64_t n_edges, int64_t count, T *room) {
    const int64_t length = padded(count);
    Columns<T> columns = {room, room + n_edges * length, 0};
    for (int64_t k = 0; k < length; ++k) {
        const int64_t g = bins.group_of[k < count ? k : 0];
        const double *bounds = bins.bounds + g * bins.n_edges, *values = bins.values + g * (bins.n_edges + 1);
        columns.values[k] = T(values[0]);
        for (int64_t m = 0; m < n_edges; ++m) {
            columns.bounds[m * length + k] = T(bounds[m]);
            columns.values[(m + 1) * length + k] = T(values[m + 1]);
            const double size = fabs(bounds[m]);
            if (size > columns.largest && size < INF) columns.largest = size;
        }
    }
    return columns;
}

// Whether the log-odds of the top class is too near an edge for the fast sum of the others.
template <class T> bool top_is_close(const double *edges, int64_t n_edges, double logodds) {
    const double margin = Margin<T>::absolute + Margin<T>::relative * fabs(logodds);
    for (int64_t m = 0; m < n_edges; ++m)
        if (fabs(edges[m] - logodds) <= margin) return true;
    return false;
}

template <class T>
void apply_row(const Row<T> &row, const Binnings &bins, const Columns<T> &columns, int64_t n_low, double others,
               T *out, double *scratch) {
    T *low = reinterpret_cast<T *>(scratch), *high = low + row.length;
    const double log_sum = double(row.max) + log_(1.0 + others);
    const int64_t g = bins.groups == 1 ? 0 : bins.group_of[row.top];
    const double *edges = bins.edges + g * bins.n_edges;
    const double top = others > 1e-30 ? -log_(others) : INF;
    const bool close = bins.groups == 1 ? pick_shared(row, bins, n_low, log_sum, low, high)
                                        : pick_columns(row, columns, n_low, log_sum, low, high);
    if (close || top == INF || top_is_close<T>(edges, bins.n_edges, top))
        return apply_exactly(row, bins, out, scratch + 2 * row.length);
    memcpy(out, low, sizeof(T) * row.columns);
    out[row.top] = T(bins.values[g * (bins.n_edges + 1) + bin_of(edges, bins.n_edges, top)]);
}

template <class T> int64_t apply(const Matrix<T> &x, const Binnings &bins, T *out, double *scratch) {
    const int64_t length = padded(x.columns), n_low = edges_below_even(bins);
    Columns<T> columns = {nullptr, nullptr, 0};
    T *table = nullptr;
    if (bins.groups > 1) {
        table = new T[(2 * n_low + 1) * length];
        columns = lay_out_columns(bins, n_low, x.columns, table);
    }
    int64_t bad = -1;
    for (int64_t i = 0; i < x.rows && bad < 0; ++i) {
        Row<T> row = load_row(x, i, reinterpret_cast<T *>(scratch));
        T *e = reinterpret_cast<T *>(scratch + length);
        const double others = exp_others(row, row.max, e);
        if (is_bad(row, others)) bad = i;
        else apply_row(row, bins, columns, n_low, others, out + i * x.columns, scratch + length);
    }
    delete[] table;
    return bad;
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

template <class T> constexpr Rows<T> rows() { return {logodds<T>, apply<T>, summarise<T>}; }

#define INFOCAL_TEXT(name) #name
#define INFOCAL_NAME(name) INFOCAL_TEXT(name)

}  // namespace

extern const InstructionSet INFOCAL_ISA = {INFOCAL_NAME(INFOCAL_ISA), rows<float>(), rows<double>()};

}  // namespace infocal
