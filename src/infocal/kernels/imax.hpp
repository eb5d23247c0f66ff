// The bins that keep the most information about the label, of one question and of many.
#pragma once
#include <stdint.h>

#include "partition.hpp"

namespace infocal {

// Points that increase, and their weights, null for one each.
struct Points {
    const double *logodds, *weights;
    int64_t count;
};

// Running sums (count + 1,) that the programme takes of the hits and misses that a posterior expects at each point.
// Returns what the points would cost, each a bin of its own.
using Expect = double (*)(const Points &posterior, double *hits, double *misses);

// Writes the cuts (bins - 1,) of least cost, the first point of every bin but the first, where `limit` is what the points
// would cost, each a bin of its own.
using CutPoints = void (*)(const Points &, const Sums &, double limit, int64_t bins, int64_t *cuts);

// Points of questions one behind the other, those of question g from starts[g] to starts[g + 1]; some may be equal.
struct Questions {
    Points points;
    const int64_t *starts;
    int64_t count;
    Points of(int64_t g) const {
        const double *weights = points.weights ? points.weights + starts[g] : nullptr;
        return {points.logodds + starts[g], weights, starts[g + 1] - starts[g]};
    }
};

// Of each question, its best bins under its own sigmoid: the points on both sides of each edge; masses of expected hits,
// expected misses, points and hits; and what the points would cost, each a bin of its own.
struct Binned {
    double *sides;   // (questions, 2, bins - 1)
    double *masses;  // (questions, 4, bins)
    double *limits;  // (questions,)
    int64_t bins;
};

struct IMax {
    Expect expect;
    CutPoints cut;
    // `told` are the points that are hits.
    void (*bin)(const Questions &, const Questions &told, const Binned &);
};

namespace imaxes {
extern const IMax baseline, avx2, avx512;
}

}  // namespace infocal
