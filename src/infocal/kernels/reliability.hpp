// One pass over probabilities and labels: what each row says of its label, and what each class says
// in each of its bins. Everything accuracy, NLL, Brier and binned calibration errors need.
#pragma once
#include <stdint.h>

#include "rows.hpp"

namespace infocal {

// Values (n, columns) that decide between equal probabilities, in either precision, or none.
struct Ties {
    const float *single;
    const double *twice;
    int64_t row_stride, column_stride;
    bool given() const { return single || twice; }
    double at(int64_t i, int64_t k) const {
        const int64_t place = i * row_stride + k * column_stride;
        return single ? double(single[place]) : twice[place];
    }
};

template <class T> struct Samples {
    Matrix<T> probs;
    const int64_t *labels;
    const double *weights;  // null: one each
    Ties ties;
};

// What a row says of its label: the largest probability, that of the true class, the sum and the sum of
// squares of the row (n, 4), and how many classes come before the true one (n,).
struct Facts {
    double *values;
    int64_t *rank;
};

// Bins of every class: edges (n_edges,) shared by all (stride 0) or a row of them for each; bin m is
// [edges[m-1], edges[m]). A threshold (T, columns) keeps the probabilities above it; `home` (T, columns)
// is the bin it falls into.
struct Bins {
    int64_t n_edges, stride;
    const double *edges;
    int64_t n_thresholds;
    const double *thresholds;
    const int64_t *home;
    const double *of(int64_t k) const { return edges + k * stride; }
    int64_t cells() const { return n_edges + 1 + n_thresholds; }
};

// Per class and bin: sum of weight * (probability - hit), of weight, and of weight * hit, the latter two
// of all classes together where `pooled`; behind the bins, for each threshold, the same of the part of its
// home bin that lies above it. `kept` is the mass above each threshold. Terms are rounded to multiples of a quantum so small that every one of these
// sums is exact in double precision, whatever the order of the rows.
struct Tables {
    double *excess, *mass, *hits;  // (columns, cells), or (1, cells) where pooled
    double *kept;                  // (T, columns)
    bool pooled;
    double grain;  // 1.5 * 2^52 quanta: adding and subtracting it rounds to the quantum
};

// Returns the first row that holds a probability outside [0, 1] or a tie value that is NaN, or -1.
// `bins` is null where only the facts are wanted.
struct Reader {
    int64_t (*single)(const Samples<float> &, const Facts &, const Bins *, const Tables &);
    int64_t (*twice)(const Samples<double> &, const Facts &, const Bins *, const Tables &);
};

extern const Reader baseline_reader, avx2_reader, avx512_reader;

}  // namespace infocal
