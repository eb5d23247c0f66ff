// Applying a binning to rows of logits.
#pragma once
#include "rows.hpp"

namespace infocal {

// One binning per group of classes, all padded to the same number of edges: edges with +inf and
// values with the last one. `bounds` is log sigmoid(edges), what log q is compared with.
struct Binnings {
    int64_t groups, n_edges;
    const double *edges, *bounds;  // (groups, n_edges)
    const double *values;          // (groups, n_edges + 1)
    const int64_t *group_of;       // (columns,)
};

// Writes the value of the bin of every class's log-odds; returns the first bad row, or -1. Rows whose
// log-odds are too near an edge for a fast comparison are decided by the exact loop, so that
// every instruction set gives the same answer.
template <class T> using LogoddsAt = decltype(Rows<T>::logodds_at);

template <class T>
using Apply = int64_t (*)(const Matrix<T> &, const Binnings &, LogoddsAt<T>, const Result<T> &out, double *scratch);

struct Applies {
    Apply<float> single;
    Apply<double> twice;
};

namespace applies {
extern const Applies baseline, avx2, avx512;
}

}  // namespace infocal
