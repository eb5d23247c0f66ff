// The best way to cut sorted points into consecutive bins.
#pragma once
#include <stdint.h>

namespace infocal {

// What one bin over points [i, j) costs, told by running sums (points + 1,):
//   information: W h(P / W), the bin's mass times the entropy (nats) of its label, where low[i] is the mass of
//     hits before point i and high[i] that of misses from point i on; each is summed from its own small
//     end, so that neither is lost in the other;
//   squares: sum of w x^2 less m^2 / w, up to a constant, where low[i] is the moment sum w x before
//     point i and high[i] the mass sum w from point i on.
enum class Cost { information, squares };

struct Sums {
    const double *low, *high;
    int64_t points;
};

// Writes running sums (points + 1,), each from its own end, of what points hold.
inline void running_sums(const double *low, const double *high, int64_t points, double *before, double *after) {
    double left = 0, right = 0;
    for (int64_t i = 0; i < points; ++i) {  // neither sum waits for the other
        before[i] = left;
        after[points - i] = right;
        left += low[i];
        right += high[points - 1 - i];
    }
    before[points] = left;
    after[0] = right;
}

// Where each of `count` cuts may be: from[m] to to[m], both of which never decrease.
struct Windows {
    const int64_t *from, *to;  // (count,)
    int64_t count;
};

// Writes the cuts, the first point of every bin but the first, of the least total cost, and returns that cost.
using BestCuts = double (*)(Cost cost, const Sums &, const Windows &, int64_t *cuts);

namespace partitions {
extern const BestCuts baseline, avx2, avx512;
}

}  // namespace infocal
