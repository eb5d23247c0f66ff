// The dynamic programme, compiled once per instruction set, with the same bits on each; see rows.cpp for why nothing
// from the standard library's templates is used.
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

using D = V<double>;
using U = Lanes<double>::U;

const int64_t WIDTH = lanes<double>;

// What bins from points [i, i + WIDTH) up to point j cost.
struct Entropy {
    const double *low, *high;

    static D term(D part, D whole) {
        const auto some = part > 0.0;
        const D ratio = whole / (some ? part : D{} + 1.0);
        return some ? part * log_any<D, U>(ratio) : D{};
    }

    D operator()(int64_t i, int64_t j) const {
        const D hits = low[j] - load(low + i), misses = load(high + i) - high[j], whole = hits + misses;
        return term(hits, whole) + term(misses, whole);
    }
};

struct Squares {  // up to the sum of w x^2, which no cut changes
    const double *moment, *mass;

    D operator()(int64_t i, int64_t j) const {
        const D m = moment[j] - load(moment + i), w = load(mass + i) - mass[j];
        const auto some = w > 0.0;
        return some ? -m * m / (some ? w : D{} + 1.0) : D{};
    }
};

// Where the last cut before a point is best, and the cost of the bins up to that point.
struct Best {
    double cost;
    int64_t cut;
};

// One layer of the programme: the best last cut, in a window that starts at `origin`, for each point of the next
// window. `before` tells what the bins up to a cut cost.
template <class Bin> struct Layer {
    const Bin &bin;
    const double *before;  // (window,), followed by WIDTH values
    int64_t origin, last;
    double *cost;
    int64_t *cut;
    int64_t first;  // start of the next window

    Best best(int64_t j, int64_t from, int64_t to) const {
        const int64_t end = j < to ? j : to;
        const D last = D{} + double(end);
        D least = D{} + HUGE_VAL, at = last, place = steps() + double(from);
        for (int64_t i = from; i <= end; i += WIDTH, place += double(WIDTH)) {
            const D value = load(before + (i - origin)) + bin(i, j);
            const D allowed = place <= last ? value : D{} + HUGE_VAL;
            const auto less = allowed < least;
            least = less ? allowed : least;
            at = less ? place : at;
        }
        double cost = least[0], cut = at[0];
        for (int64_t lane = 1; lane < WIDTH; ++lane) {
            const bool better = least[lane] < cost || (least[lane] == cost && at[lane] < cut);
            cost = better ? least[lane] : cost;
            cut = better ? at[lane] : cut;
        }
        return {cost, int64_t(cut)};
    }

    static D steps() {
        D lane = {};
        for (int64_t i = 0; i < WIDTH; ++i) lane[i] = double(i);
        return lane;
    }

    // Both costs obey the quadrangle inequality on sorted points, so the best cut moves right with the point: those of
    // every second point bound the cuts of the points between them, which need not wait for one another.
    void solve(int64_t points) const {
        int64_t step = 1;
        while (2 * step <= points) step *= 2;
        for (; step >= 1; step /= 2)
            for (int64_t p = step - 1; p < points; p += 2 * step) {
                const int64_t from = p >= step ? cut[p - step] : origin, to = p + step < points ? cut[p + step] : last;
                const Best found = best(first + p, from, to);
                cost[p] = found.cost;
                cut[p] = found.cut;
            }
    }
};

int64_t widest(const Windows &windows) {
    int64_t most = 1;
    for (int64_t m = 0; m < windows.count; ++m) {
        const int64_t width = windows.to[m] - windows.from[m] + 1;
        most = width > most ? width : most;
    }
    return most;
}

// Sums behind the last point are padded, as a vector may look beyond it.
template <class Bin> double solve(const Bin &bin, int64_t points, const Windows &windows, int64_t *cuts) {
    const int64_t width = widest(windows), count = windows.count;
    if (!count) return bin(0, points)[0];
    double *rooms = new double[2 * (width + WIDTH)](), *before = rooms, *cost = rooms + width + WIDTH;
    int64_t *cut = new int64_t[count * width];
    for (int64_t i = windows.from[0]; i <= windows.to[0]; ++i) before[i - windows.from[0]] = bin(0, i)[0];
    for (int64_t m = 1; m < count; ++m) {
        const Layer<Bin> layer = {bin, before, windows.from[m - 1], windows.to[m - 1], cost, cut + m * width,
                                  windows.from[m]};
        layer.solve(windows.to[m] - windows.from[m] + 1);
        double *const spare = before;
        before = cost;
        cost = spare;
    }
    const Layer<Bin> end = {bin, before, windows.from[count - 1], windows.to[count - 1], cost, cut, points};
    const Best whole = end.best(points, windows.from[count - 1], windows.to[count - 1]);
    cuts[count - 1] = whole.cut;
    for (int64_t m = count - 1; m > 0; --m) cuts[m - 1] = cut[m * width + cuts[m] - windows.from[m]];
    delete[] rooms;
    delete[] cut;
    return whole.cost;
}

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
