// I-Max to the optimum in little more than the time it takes to read the points; compiled once per instruction set, with
// the same bits on each; see rows.cpp for why nothing from the standard library's templates is used.
//
// The programme is first solved on blocks of the line, from both ends, which tells the least cost of all bins through every
// end of a block. Ends through which it exceeds the least by more than moving cuts to ends of blocks may cost (`Moving`) are
// left out. What remains, a few blocks around each cut, is cut into finer blocks, down to the points.
#include "imax.hpp"

#include <math.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "rows.hpp"

namespace infocal {
namespace {

#include "numbers.hpp"
#include "row.hpp"

#include "lanes.hpp"

#include "programme.hpp"

const int64_t FIRST = 6;       // blocks for each bin to begin with; more are dearer, fewer leave more to the next level
const int64_t FINER = 4;       // blocks of the next level in one of this; a power of two, so that levels are nested
const double GENEROUS = 1.5;   // times as far apart as the best bins of blocks may those of points be
const double ROUNDED = 1e-13;  // of all mass: what rounding adds to a cost at most
const double FAR = 64;         // log-odds beyond which nothing is told
const double CERTAIN = 700;    // log-odds whose sigmoid and complement are both ordinary numbers
const double TINY = 1e-300;

// Memory that grows when more is asked for and is used again. What was in it is lost.
template <class T> struct Room {
    T *data = nullptr;
    int64_t size = 0;
    Room() {}
    ~Room() { delete[] data; }
    Room(const Room &) = delete;
    Room &operator=(const Room &) = delete;
    T *of(int64_t wanted) {
        if (wanted > size) {
            delete[] data;
            size = wanted + wanted / 4;
            data = new T[size];
        }
        return data;
    }
};

template <class T> inline T lesser(T a, T b) { return a < b ? a : b; }
template <class T> inline T larger(T a, T b) { return a > b ? a : b; }

// How many of these numbers, which never decrease, are no larger than a value.
template <class T> inline int64_t up_to(const T *numbers, int64_t count, T value) {
    int64_t first = 0;
    while (first < count) {
        const int64_t middle = (first + count) / 2;
        if (numbers[middle] <= value) first = middle + 1;
        else count = middle;
    }
    return first;
}

// Vectors may look at one value, and a vector of them, behind the last.
inline void pad(double *values, int64_t count, double with) {
    for (int64_t i = count; i <= count + WIDTH; ++i) values[i] = with;
}

inline const double *padded_copy(const double *from, int64_t count, Room<double> &room) {
    if (!from) return nullptr;
    double *to = room.of(count + 1 + WIDTH);
    memcpy(to, from, sizeof(double) * count);
    pad(to, count, 0);
    return to;
}

// -- what a posterior expects -------------------------------------------------------------------------------------

// Sigmoids of x and -x, and the entropy (nats) of a label that has these probabilities.
struct Told {
    D hit, miss, entropy;

    explicit Told(D any) {
        const D least = any < -CERTAIN ? D{} - CERTAIN : any, x = least > CERTAIN ? D{} + CERTAIN : least;
        const D size = x < 0.0 ? -x : x, e = Lanes<double>::exp(-size), whole = 1.0 + e, rest = whole - 1.0;
        const D more = 1.0 / whole, less = e * more;
        hit = x < 0.0 ? less : more;
        miss = x < 0.0 ? more : less;
        // log(1 + e) to full relative precision, though 1 + e is rounded
        const D scale = rest > 0.0 ? e / (rest > 0.0 ? rest : D{} + 1.0) : D{} + 1.0;
        entropy = (rest > 0.0 ? log_any<D, U>(whole) : e) * scale + size * less;
    }
};

struct Expecting {
    Room<double> hits, misses, entropies;

    // Arrays of the points are padded.
    double operator()(const Points &at, double *hits_before, double *misses_from) {
        const int64_t length = padded(at.count + WIDTH);
        double *hit = hits.of(length), *miss = misses.of(length), *entropy = entropies.of(length);
        for (int64_t i = 0; i < at.count; i += WIDTH) {
            const Told told(load(at.logodds + i));
            const D weight = at.weights ? load(at.weights + i) : D{} + 1.0;
            store(weight * told.hit, hit + i);
            store(weight * told.miss, miss + i);
            store(weight * told.entropy, entropy + i);
        }
        for (int64_t i = at.count; i < length; ++i) entropy[i] = 0;
        running_sums(hit, miss, at.count, hits_before, misses_from);
        return sum(entropy, length);
    }
};

// -- blocks of the line -------------------------------------------------------------------------------------------

// Blocks of one level: their first points and, behind them, the number of points; running sums there.
struct Level {
    Room<int64_t> rooms;
    Room<double> sums[2];
    int64_t *starts, count;
    double *low, *high;

    // Points whose `reached` have the same whole part, taken `scale` times, share a block.
    void lay_out(const double *reached, double scale, const Sums &of) {
        starts = rooms.of(of.points + 1);
        count = 0;
        int64_t last = -1;
        for (int64_t i = 0; i < of.points; ++i) {
            const int64_t block = int64_t(reached[i] * scale);
            starts[count] = i;  // overwritten by the next point unless a block starts here
            count += block != last;
            last = block;
        }
        starts[count] = of.points;
        take(of);
    }

    // Every point is a block.
    void lay_out(const Sums &of) {
        starts = rooms.of(of.points + 1);
        count = of.points;
        for (int64_t i = 0; i <= count; ++i) starts[i] = i;
        take(of);
    }

    void take(const Sums &of) {
        make_room();
        for (int64_t b = 0; b <= count; ++b) {
            low[b] = of.low[starts[b]];
            high[b] = of.high[starts[b]];
        }
        pad_sums();
    }

    // The same line from its other end, where hits and misses change places.
    void mirror(const Level &of) {
        count = of.count;
        make_room();
        for (int64_t b = 0; b <= count; ++b) {
            low[b] = of.high[count - b];
            high[b] = of.low[count - b];
        }
        pad_sums();
    }

    void make_room() {
        low = sums[0].of(count + 2 + WIDTH);
        high = sums[1].of(count + 2 + WIDTH);
    }

    void pad_sums() {
        pad(low, count + 1, low[count]);
        pad(high, count + 1, high[count]);
    }

    // The block that a point is in, `count` behind the last point.
    int64_t block_of(int64_t point) const { return up_to(starts, count + 1, point) - 1; }

    // What the blocks cost, each a bin of its own.
    double cost() const {
        double total = 0, lane[WIDTH];
        for (int64_t b = 0; b < count; b += WIDTH) {  // behind the last block there is nothing
            store(Entropy::of(load(low + b + 1) - load(low + b), load(high + b) - load(high + b + 1)), lane);
            for (double value : lane) total += value;
        }
        return total;
    }
};

// How far along the line each point is, where equal steps of the line hide about alike: a block of width d whose points
// vary by v (their mass times p (1 - p)) per unit hides some v d^3 / 24 nats of what its points tell, so that a given number
// of blocks hides least where each has the same share of the integral of v^(1/3). Two square roots are much cheaper than
// a third one, and v^(1/4) hides hardly more.
struct Reaching {
    Room<double> rooms[3];

    const double *operator()(const Points &at, const Sums &of) {
        const int64_t n = at.count;
        double *varied = rooms[0].of(n), *steps = rooms[1].of(n), *reached = rooms[2].of(n);
        for (int64_t i = 0; i < n; ++i) varied[i] = (of.low[i + 1] - of.low[i]) * (of.high[i] - of.high[i + 1]);
        for (int64_t i = 0; at.weights && i < n; ++i) varied[i] /= at.weights[i];
        for (int64_t i = 0; i < n - 1; ++i) {
            const double width = near_middle(at.logodds[i + 1]) - near_middle(at.logodds[i]);
            steps[i] = sqrt(sqrt((varied[i] + varied[i + 1]) * width * width * width));
        }
        reached[0] = 0;
        for (int64_t i = 0; i < n - 1; ++i) reached[i + 1] = reached[i] + steps[i];
        return reached;
    }

    static double near_middle(double x) { return lesser(larger(x, -FAR), FAR); }
};

// -- the search ---------------------------------------------------------------------------------------------------

// The blocks at whose starts each cut may be.
struct Places {
    Room<int64_t> rooms[2];
    int64_t *from, *to, count;

    void allow_all(int64_t cuts, int64_t points) {
        count = cuts;
        from = rooms[0].of(cuts);
        to = rooms[1].of(cuts);
        for (int64_t m = 0; m < cuts; ++m) {
            from[m] = 0;
            to[m] = points;
        }
    }

    // From points to the blocks that start there, ...
    void to_blocks(const Level &level) {
        for (int64_t m = 0; m < count; ++m) {
            from[m] = level.block_of(from[m]);
            to[m] = level.block_of(to[m]);
        }
    }

    // ... and back.
    void to_points(const Level &level) {
        for (int64_t m = 0; m < count; ++m) {
            from[m] = level.starts[from[m]];
            to[m] = level.starts[to[m]];
        }
    }

    int64_t width(int64_t m) const { return to[m] - from[m] + 1; }
    Windows windows() const { return {from, to, count}; }
};

// What all bins cost at least where a cut stands at a place: the best before it and the best behind it.
struct Through {
    Level mirrored;
    Places behind;
    Room<int64_t> cut;
    Room<double> rooms[2];
    double *costs;
    int64_t stride;

    template <class Bin> void find(const Level &level, const Places &at) {
        stride = widest(at.windows()) + WIDTH;
        costs = filled<Bin>(level, at, rooms[0]);
        mirrored.mirror(level);
        behind.allow_all(at.count, level.count);
        for (int64_t m = 0; m < at.count; ++m) {
            behind.from[m] -= at.to[at.count - 1 - m] - level.count;
            behind.to[m] -= at.from[at.count - 1 - m];
        }
        const double *rest = filled<Bin>(mirrored, behind, rooms[1]);
        for (int64_t m = 0; m < at.count; ++m)
            for (int64_t i = 0, last = at.width(m) - 1; i <= last; ++i)
                costs[m * stride + i] += rest[(at.count - 1 - m) * stride + last - i];
    }

    template <class Bin> double *filled(const Level &level, const Places &at, Room<double> &room) {
        const Table<double> into = {room.of(at.count * stride), at.count, stride};
        for (int64_t i = 0; i < at.count * stride; ++i) into.rows[i] = 0;
        fill(Bin{level.low, level.high}, at.windows(), into, Table<int64_t>{cut.of(stride), 1, stride});
        return into.rows;
    }

    // The place through which bins cost least.
    int64_t best(const Places &at, int64_t m) const {
        const double *here = costs + m * stride;
        int64_t found = 0;
        for (int64_t i = 1; i < at.width(m); ++i) found = here[i] < here[found] ? i : found;
        return at.from[m] + found;
    }

    double least(const Places &at) const { return costs[best(at, 0) - at.from[0]]; }

    // Leaves the places through which bins cost no more than `most`, and one on each side.
    void narrow(Places &at, double most, int64_t end) const {
        for (int64_t m = 0; m < at.count; ++m) {
            const double *here = costs + m * stride;
            int64_t first = 0, last = at.width(m) - 1;
            while (first < last && here[first] > most) ++first;
            while (first < last && here[last] > most) --last;
            at.to[m] = lesser(at.from[m] + last + 1, end);
            at.from[m] = larger(at.from[m] + first - 1, int64_t(0));
        }
        for (int64_t m = at.count - 1; m > 0; --m) at.from[m - 1] = lesser(at.from[m - 1], at.from[m]);
        for (int64_t m = 1; m < at.count; ++m) at.to[m] = larger(at.to[m], at.to[m - 1]);
    }
};

// Mass of hits that points [start, end) expect above what their mean does.
inline double above_mean(int64_t start, int64_t end, const Sums &of) {
    const double hits = of.low[end] - of.low[start], misses = of.high[start] - of.high[end];
    int64_t first = start, last = end;
    while (first < last) {
        const int64_t middle = (first + last) / 2;
        const double hit = of.low[middle + 1] - of.low[middle], miss = of.high[middle] - of.high[middle + 1];
        const bool above = hit * misses > hits * miss;
        last = above ? middle : last;
        first = above ? first : middle + 1;
    }
    const double more_hits = of.low[end] - of.low[first], more_misses = of.high[first] - of.high[end];
    return hits + misses > 0 ? larger((more_hits * misses - more_misses * hits) / (hits + misses), 0.0) : 0.0;
}

// What it may cost to move the cuts of the best bins to ends of their blocks.
//
// Let every block that is cut be given to that of its bins which describes the mean of its points best, the means of the
// bins left as they are. A bin of log-odds phi describes a point that expects p hits by a line in p, of slope -phi; the least
// of these lines is concave and bends at each cut by the difference of both bins' phi, so that by Jensen's inequality a cut
// pays at most this difference times the mass of hits that the block expects above its mean. (New means only lower the cost.)
// The best bins are not known yet, but those of blocks, which tell how far apart bins are at each place.
struct Moving {
    Room<int64_t> room;
    Room<double> above;

    double operator()(const Level &level, const Sums &of, const Places &at, const Through &through) {
        const Sums blocks = {level.low, level.high, level.count};
        int64_t *ends = room.of(at.count + 2);
        for (int64_t m = 0; m < at.count; ++m) ends[m + 1] = through.best(at, m);
        ends[0] = 0;
        ends[at.count + 1] = level.count;
        double *each = above.of(level.count), total = 0;
        for (int64_t b = at.from[0]; b < at.to[at.count - 1]; ++b)
            each[b] = above_mean(level.starts[b], level.starts[b + 1], of);
        for (int64_t m = 1; m <= at.count; ++m) {
            if (ends[m - 1] == ends[m] || ends[m] == ends[m + 1]) continue;
            const double apart = middle(blocks, ends[m], ends[m + 1]) - middle(blocks, ends[m - 1], ends[m]);
            const int64_t first = larger(ends[m - 1], at.from[m - 1]), last = lesser(ends[m + 1], at.to[m - 1]);
            double most = 0;
            for (int64_t b = first; b < last; ++b) most = larger(most, each[b]);
            total += most * larger(apart, 0.0);
        }
        return GENEROUS * total;
    }

    // Log-odds of the mean of blocks [i, j).
    static double middle(const Sums &of, int64_t i, int64_t j) {
        return log_(larger(of.low[j] - of.low[i], TINY)) - log_(larger(of.high[i] - of.high[j], TINY));
    }
};

struct Cutting {
    Reaching reach;
    Level level;
    Places places;
    Through through;
    Moving moving;

    // Arrays of the points are padded.
    void operator()(const Points &at, const Sums &of, double limit, int64_t bins, int64_t *cuts) {
        places.allow_all(bins - 1, at.count);
        const double *reached = reach(at, of), line = larger(reached[at.count - 1], TINY);
        const double rounded = ROUNDED * (of.low[at.count] + of.high[0]);
        for (int64_t blocks = FIRST * bins; bins > 1 && blocks < at.count / 2; blocks *= FINER) {
            level.lay_out(reached, double(blocks) / line, of);
            places.to_blocks(level);
            // where the bins lose next to nothing, rough costs tell nothing
            const bool roughly = ROUGH * limit < level.cost() - limit;
            if (roughly) through.find<Rough>(level, places);
            else through.find<Entropy>(level, places);
            const double least = through.least(places), error = roughly ? 4 * ROUGH * least : 0.0;
            through.narrow(places, least + moving(level, of, places, through) + error + rounded, level.count);
            places.to_points(level);
        }
        level.lay_out(of);
        solve(Entropy{level.low, level.high}, at.count, places.windows(), cuts);
    }
};

// -- questions one behind the other -------------------------------------------------------------------------------

struct Binning {
    Room<double> logodds, weights, hits, misses;
    Room<int64_t> cuts;
    Expecting expect;
    Cutting cut;

    // The points without repetitions, padded. Those beyond certainty, where no edge can part them, are one.
    Points distinct(const Points &at) {
        double *x = logodds.of(at.count + 1 + WIDTH), *w = weights.of(at.count + 1 + WIDTH);
        int64_t low = 0, high = at.count, count = 0;
        while (low < high && at.logodds[low] <= -CERTAIN) ++low;
        while (low < high && at.logodds[high - 1] >= CERTAIN) --high;
        const auto add = [&](double point, double weight) {
            const bool known = count && point == x[count - 1];
            count -= known;
            x[count] = point;
            w[count] = known ? w[count] + weight : weight;
            ++count;
        };
        const auto weight = [&](int64_t i) { return at.weights ? at.weights[i] : 1.0; };
        for (int64_t i = 0; i < low; ++i) add(finite_or_not(at.logodds[low - 1], -CERTAIN), weight(i));
        for (int64_t i = low; i < high; ++i) add(at.logodds[i], weight(i));
        for (int64_t i = high; i < at.count; ++i) add(finite_or_not(at.logodds[high], CERTAIN), weight(i));
        pad(x, count, 0);
        pad(w, count, 0);
        return {x, count == at.count && !at.weights ? nullptr : w, count};
    }

    static double finite_or_not(double point, double bounded) { return fabs(point) < HUGE_VAL ? bounded : point; }

    double operator()(const Points &given, const Points &told, int64_t bins, double *sides, double *masses) {
        const Points at = distinct(given);
        double *low = hits.of(at.count + 1), *high = misses.of(at.count + 1);
        const double limit = expect(at, low, high);
        int64_t *starts = cuts.of(bins), start = 0;
        cut(at, {low, high, at.count}, limit, bins, starts);
        for (int64_t m = 0; m < bins; ++m) {
            const int64_t end = m < bins - 1 ? end_of_bin(at, starts[m], sides + m, sides + bins - 1 + m) : at.count;
            // differences of running sums would lose light points behind heavy ones
            masses[m] = at.weights ? sum_of(expect.hits.data, start, end) : low[end] - low[start];
            masses[bins + m] = at.weights ? sum_of(expect.misses.data, start, end) : high[start] - high[end];
            masses[2 * bins + m] = at.weights ? sum_of(at.weights, start, end) : double(end - start);
            start = end;
        }
        const double *from = sides + bins - 1;  // the first point of every bin but the first
        for (int64_t i = 0; i < told.count; ++i)
            masses[3 * bins + up_to(from, bins - 1, told.logodds[i])] += told.weights ? told.weights[i] : 1.0;
        return limit;
    }

    // Where a bin ends that is cut off before this point, and the points on both sides of its edge. A cut before the first
    // point or behind the last parts nothing; a single point is on one side of its own value, if that can be an edge.
    static int64_t end_of_bin(const Points &at, int64_t cut, double *left, double *right) {
        if (at.count == 1) {
            *left = *right = larger(at.logodds[0], -CERTAIN);
            return at.logodds[0] <= -CERTAIN;
        }
        const int64_t end = lesser(larger(cut, int64_t(1)), at.count - 1);
        *left = at.logodds[end - 1];
        *right = at.logodds[end];
        return end;
    }

    static double sum_of(const double *values, int64_t start, int64_t end) {
        double total = 0;
        for (int64_t i = start; i < end; ++i) total += values[i];
        return total;
    }
};

double expect(const Points &posterior, double *hits, double *misses) {
    Room<double> logodds, weights;
    const int64_t n = posterior.count;
    return Expecting()({padded_copy(posterior.logodds, n, logodds), padded_copy(posterior.weights, n, weights), n}, hits,
                       misses);
}

void cut(const Points &points, const Sums &of, double limit, int64_t bins, int64_t *cuts) {
    Room<double> logodds, weights;
    const int64_t n = points.count;
    Cutting()({padded_copy(points.logodds, n, logodds), padded_copy(points.weights, n, weights), n}, of, limit, bins,
              cuts);
}

void bin(const Questions &of, const Questions &told, const Binned &into) {
    Binning binning;
    for (int64_t g = 0; g < of.count; ++g)
        into.limits[g] = binning(of.of(g), told.of(g), into.bins, into.sides + g * 2 * (into.bins - 1),
                                 into.masses + g * 4 * into.bins);
}

}  // namespace

namespace imaxes {
extern const IMax INFOCAL_ISA = {expect, cut, bin};
}

}  // namespace infocal
