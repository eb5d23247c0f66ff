#include "partition.hpp"

#include <math.h>

#include <algorithm>
#include <vector>

namespace infocal {
namespace {

// What one bin over points [i, j) costs.
struct Entropy {
    const double *low, *high;
    static double term(double part, double whole) { return part > 0 ? part * log(whole / part) : 0; }
    double operator()(int64_t i, int64_t j) const {
        const double hits = low[j] - low[i], misses = high[i] - high[j];
        return term(hits, hits + misses) + term(misses, hits + misses);
    }
};

struct Squares {  // up to the sum of w x^2, which no cut changes
    const double *moment, *mass;
    double operator()(int64_t i, int64_t j) const {
        const double m = moment[j] - moment[i], w = mass[i] - mass[j];
        return w > 0 ? -m * m / w : 0;
    }
};

// One layer of the programme: cost[j] of the first j points in one bin more than `before` used. Both
// costs obey the quadrangle inequality on sorted points, so the best last cut moves right with j:
// solving the middle first bounds the cut of all others.
template <class Cost_> struct Layer {
    const Cost_ &bin;
    const std::vector<double> &before;
    std::vector<double> &cost;
    int32_t *cut;

    void solve(int64_t first, int64_t last, int64_t from, int64_t to) {
        if (first > last) return;
        const int64_t j = first + (last - first) / 2;
        double best = INFINITY;
        int64_t at = from;
        for (int64_t i = from; i <= std::min(j, to); ++i) {
            const double value = before[i] + bin(i, j);
            if (value < best) {
                best = value;
                at = i;
            }
        }
        cost[j] = best;
        cut[j] = static_cast<int32_t>(at);
        solve(first, j - 1, from, at);
        solve(j + 1, last, at, to);
    }
};

template <class Cost_> double solve(const Cost_ &bin, int64_t n, int64_t bins, int64_t *cuts) {
    std::vector<double> before(n + 1), cost(n + 1);
    std::vector<int32_t> cut((bins - 1) * (n + 1));
    for (int64_t j = 0; j <= n; ++j) before[j] = bin(0, j);
    for (int64_t m = 1; m < bins; ++m) {
        Layer<Cost_> layer = {bin, before, cost, cut.data() + (m - 1) * (n + 1)};
        layer.solve(0, n, 0, n);
        before.swap(cost);
    }
    for (int64_t m = bins - 1, j = n; m > 0; --m) cuts[m - 1] = j = cut[(m - 1) * (n + 1) + j];
    return before[n];
}

}  // namespace

double best_cuts(Cost cost, const double *low, const double *high, int64_t points, int64_t bins, int64_t *cuts) {
    return cost == Cost::information ? solve(Entropy{low, high}, points, bins, cuts)
                                     : solve(Squares{low, high}, points, bins, cuts);
}

}  // namespace infocal
