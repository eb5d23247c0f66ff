// The best cut of sorted points into consecutive bins.
#pragma once
#include <stdint.h>

namespace infocal {

enum class Cost { information, squares };

// `low` and `high` are running sums of two masses per point, low[i] over points before i and high[i]
// over points from i on (each summed from its small end). information: the masses of hits and misses,
// and a bin costs its entropy. squares: the mass and the first moment of the points.
// Writes the bins - 1 cuts (first point of each later bin) and returns the total cost.
double best_cuts(Cost cost, const double *low, const double *high, int64_t points, int64_t bins, int64_t *cuts);

}  // namespace infocal
