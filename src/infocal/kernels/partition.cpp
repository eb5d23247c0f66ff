// The dynamic programme on all points, compiled once per instruction set; see rows.cpp for why nothing from the standard
// library's templates is used.
#include "partition.hpp"

#include <math.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace infocal {
namespace {

#include "numbers.hpp"

#include "lanes.hpp"

#include "programme.hpp"

double *with_padding(const double *sums, int64_t points) {
    double *room = new double[points + 1 + WIDTH];
    memcpy(room, sums, sizeof(double) * (points + 1));
    for (int64_t i = 0; i < WIDTH; ++i) room[points + 1 + i] = sums[points];
    return room;
}

double best_cuts(Cost cost, const Sums &sums, const Windows &windows, int64_t *cuts) {
    double *low = with_padding(sums.low, sums.points), *high = with_padding(sums.high, sums.points);
    const double total = cost == Cost::information ? solve(Entropy{low, high}, sums.points, windows, cuts)
                                                   : solve(Squares{low, high}, sums.points, windows, cuts);
    delete[] low;
    delete[] high;
    return total;
}

}  // namespace

namespace partitions {
extern const BestCuts INFOCAL_ISA = best_cuts;
}

}  // namespace infocal
