// What the log-odds of rows of logits add up to on a grid, in single precision.
#pragma once
#include "rows.hpp"

namespace infocal {

// A log-odds is told to a quantum, a fraction 1 / QUANTA of a cell; the grid has up to 2^24 quanta, all that single
// precision tells apart.
const int64_t QUANTA = 1024;

// Per group and cell: mass of points, mass of hits, and mass of points times the quanta by which they lie above the
// lower end of the cell. All are sums of multiples of a unit that are exact in double precision, whatever the order.
struct Tally {
    double *points, *hits, *offsets;  // (groups, cells)
};

// Masses of the rows, null for one each; adding and subtracting `grain`, 1.5 * 2^52 units, rounds to units, and
// `coarse` does that to what is multiplied by quanta.
struct Masses {
    const double *values;
    double grain, coarse;
};

// Returns the first row that holds NaN, +inf or nothing but -inf, or -1.
using Summarise = int64_t (*)(const Matrix<float> &, const int64_t *labels, const Masses &, const int64_t *group_of,
                              int64_t groups, const Grid &, const Tally &, double *scratch);

namespace summaries {
extern const Summarise baseline, avx2, avx512;
}

}  // namespace infocal
