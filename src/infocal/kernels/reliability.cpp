// The measuring loop, compiled once per instruction set, with the same bits on each; see rows.cpp for
// why nothing from the standard library's templates is used.
#include "reliability.hpp"

#include <math.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace infocal {
namespace {

#include "numbers.hpp"

#include "lanes.hpp"

const int64_t ROWS = 16;  // at hand at a time: what a class adds up over them stays in registers

int64_t whole_lanes(int64_t columns) { return (columns + LANES - 1) / LANES * LANES; }

// Rows at hand (count, length), padded with zeros, their labels and weights.
template <class T> struct Batch {
    T *p;
    int64_t columns, length, count;
    int64_t label[ROWS];
    double weight[ROWS];
    const T *row(int64_t r) const { return p + r * length; }
};

// The lowest bin of every class, where nearly all probabilities of many classes lie: tallied column by
// column, without looking up a bin. Row 0 of the tables is the whole bin, row t + 1 what lies in it above
// threshold t.
template <class T> struct Lowest {
    T *first;             // smallest number of this type that is not in the bin (length,)
    double *end;          // of the bin (length,)
    double *from;         // lower end, itself outside (T + 1, length)
    double *sum, *mass;   // (T + 1, length)
};

template <class T> void load_rows(const Samples<T> &x, int64_t start, double grain, Batch<T> &batch) {
    for (int64_t r = 0; r < batch.count; ++r) {
        const T *from = x.probs.row(start + r);
        T *to = batch.p + r * batch.length;
        if (x.probs.column_stride == 1) {
            memcpy(to, from, sizeof(T) * batch.columns);
        } else {
            for (int64_t k = 0; k < batch.columns; ++k) to[k] = from[k * x.probs.column_stride];
        }
        batch.label[r] = x.labels[start + r];
        batch.weight[r] = x.weights ? (x.weights[start + r] + grain) - grain : 1.0;
    }
}

bool has_nan(const Ties &ties, int64_t i, int64_t columns) {
    int64_t count = 0;
    for (int64_t k = 0; k < columns; ++k) count += ties.at(i, k) != ties.at(i, k);
    return count > 0;
}

// Classes of the same probability as the label that come before it.
template <class T> int64_t level_before(const T *p, int64_t columns, const Ties &ties, int64_t i, int64_t label) {
    const double value = ties.given() ? ties.at(i, label) : 0;
    int64_t count = 0;
    for (int64_t k = 0; k < columns; ++k) {
        if (p[k] != p[label]) continue;
        const double other = ties.given() ? ties.at(i, k) : 0;
        count += other > value || (other == value && k < label);
    }
    return count;
}

template <class X> X sum_lanes(const X *lane) {
    X total = 0;
    for (int64_t b = 0; b < LANES; ++b) total += lane[b];
    return total;
}

// Classes before the label, by probability and then by ties.
template <class T>
int64_t rank_of(const T *p, int64_t columns, int64_t length, const Ties &ties, int64_t i, int64_t label) {
    const T told = p[label];
    int32_t before[LANES] = {0}, level[LANES] = {0};
    for (int64_t k = 0; k < length; k += LANES)
        for (int64_t b = 0; b < LANES; ++b) {
            before[b] += p[k + b] > told;
            level[b] += p[k + b] == told;
        }
    return sum_lanes(before) + (sum_lanes(level) > 1 ? level_before(p, columns, ties, i, label) : 0);
}

// Returns whether the row holds probabilities only.
template <class T> bool state_facts(const T *p, int64_t length, int64_t label, double *facts) {
    double total[LANES] = {0}, squares[LANES] = {0};
    T most[LANES] = {0}, least[LANES] = {0};
    for (int64_t k = 0; k < length; k += LANES)
        for (int64_t b = 0; b < LANES; ++b) {
            const T x = p[k + b];
            total[b] += double(x);
            squares[b] += double(x) * double(x);
            most[b] = x > most[b] ? x : most[b];
            least[b] = x < least[b] ? x : least[b];
        }
    T confidence = 0, lowest = 0;
    for (int64_t b = 0; b < LANES; ++b) {
        confidence = most[b] > confidence ? most[b] : confidence;
        lowest = least[b] < lowest ? least[b] : lowest;
    }
    facts[0] = double(confidence);
    facts[1] = double(p[label]);
    facts[2] = sum_lanes(total);
    facts[3] = sum_lanes(squares);
    return lowest >= 0 && confidence <= 1 && facts[2] == facts[2];
}

// Number of edges at or below x: where they are equally spaced the first guess is right.
int64_t bin_of(const double *edges, int64_t n_edges, double x) {
    int64_t low = int64_t(x * double(n_edges + 1));
    low = low < n_edges ? low : n_edges;
    if ((low == 0 || x >= edges[low - 1]) && (low == n_edges || x < edges[low])) return low;
    low = 0;
    for (int64_t high = n_edges; low < high;) {
        const int64_t middle = (low + high) / 2;
        if (x >= edges[middle]) low = middle + 1;
        else high = middle;
    }
    return low;
}

// As many numbers as there are lanes for them in double precision.
inline V<double> widen(const double *from) { return load(from); }
inline V<double> widen(const float *from) {
    typedef float Half __attribute__((vector_size(INFOCAL_WIDTH / 2)));
    Half half;
    memcpy(&half, from, sizeof(half));
    return __builtin_convertvector(half, V<double>);
}

// Lower ends, tables of sums and of masses (length,) of parts of the lowest bin.
const int64_t PARTS = 4;  // at work at a time
struct Parts {
    int64_t count;
    const double *from[PARTS];
    double *sum[PARTS], *mass[PARTS];
};

// Adds weight * probability, and weight, of what lies between `from` and `end`, class by class.
template <int64_t N, class T> void tally_parts(const Batch<T> &batch, double grain, const double *end, const Parts &to) {
    const V<double> none = {};
    for (int64_t k = 0; k < batch.length; k += lanes<double>) {
        V<double> from[N], sum[N] = {}, mass[N] = {};
        const V<double> last = load(end + k);
#pragma GCC unroll 4
        for (int64_t j = 0; j < N; ++j) from[j] = load(to.from[j] + k);
        for (int64_t r = 0; r < batch.count; ++r) {
            const V<double> x = widen(batch.row(r) + k), weight = none + batch.weight[r];
            const Mask<double> low = Mask<double>::below(x, last);
            const V<double> part = low.pick((x * weight + grain) - grain, none), here = low.pick(weight, none);
#pragma GCC unroll 4
            for (int64_t j = 0; j < N; ++j) {
                const Mask<double> in = Mask<double>::below(from[j], x);
                sum[j] += in.pick(part, none);
                mass[j] += in.pick(here, none);
            }
        }
        for (int64_t j = 0; j < N; ++j) {
            const V<double> sums = load(to.sum[j] + k) + sum[j], masses = load(to.mass[j] + k) + mass[j];
            memcpy(to.sum[j] + k, &sums, sizeof(sums));
            memcpy(to.mass[j] + k, &masses, sizeof(masses));
        }
    }
}

template <class T> void tally(const Batch<T> &batch, double grain, const double *end, Parts &parts) {
    if (parts.count == 1) tally_parts<1>(batch, grain, end, parts);
    if (parts.count == 2) tally_parts<2>(batch, grain, end, parts);
    if (parts.count == 3) tally_parts<3>(batch, grain, end, parts);
    if (parts.count == 4) tally_parts<4>(batch, grain, end, parts);
    parts.count = 0;
}

bool any_at_home_in_lowest(const Bins &bins, int64_t t, int64_t columns) {
    for (int64_t k = 0; k < columns; ++k)
        if (bins.home[t * columns + k] == 0) return true;
    return false;
}

// Where a probability of a class belongs: its bin and, behind the bins, the thresholds below it that are at
// home in that bin.
struct Place {
    const Bins &bins;
    int64_t columns, k, bin;
    double x;
    void add(double *cells, double value) const {
        cells[bin] += value;
        for (int64_t t = 0; t < bins.n_thresholds; ++t) {
            const int64_t at = t * columns + k;
            if (bins.home[at] == bin && x > bins.thresholds[at]) cells[bins.n_edges + 1 + t] += value;
        }
    }
};

template <class T>
void tally_higher(const Batch<T> &batch, int64_t r, const Lowest<T> &low, const Bins &bins, const Tables &into) {
    const T *p = batch.row(r);
    const double weight = batch.weight[r];
    for (int64_t start = 0; start < batch.columns; start += LANES) {
        Mask<T> higher = {};
        for (int64_t k = start; k < start + LANES; k += lanes<T>)
            higher = either<T>(higher, Mask<T>::at_least(load(p + k), load(low.first + k)));
        if (!any<T>(higher)) continue;
        for (int64_t k = start; k < start + LANES; ++k) {
            if (!(p[k] >= low.first[k])) continue;
            const double x = double(p[k]), part = (x * weight + into.grain) - into.grain;
            const Place place = {bins, batch.columns, k, bin_of(bins.of(k), bins.n_edges, x), x};
            place.add(into.excess + k * bins.cells(), part);
            place.add(into.mass + (into.pooled ? 0 : k * bins.cells()), weight);
            for (int64_t t = 0; t < bins.n_thresholds; ++t)
                into.kept[t * batch.columns + k] += x > bins.thresholds[t * batch.columns + k] ? weight : 0;
        }
    }
}

template <class T> void tally_label(const Batch<T> &batch, int64_t r, const Bins &bins, const Tables &into) {
    const int64_t label = batch.label[r];
    const double x = double(batch.row(r)[label]), weight = batch.weight[r];
    const Place place = {bins, batch.columns, label, bin_of(bins.of(label), bins.n_edges, x), x};
    place.add(into.excess + label * bins.cells(), -weight);
    place.add(into.hits + (into.pooled ? 0 : label * bins.cells()), weight);
}

template <class T>
void tally_batch(const Batch<T> &batch, const Lowest<T> &low, const Bins &bins, const Tables &into) {
    Parts parts = {};
    for (int64_t t = 0; t <= bins.n_thresholds; ++t) {
        const int64_t at = t * batch.length, j = parts.count;
        if (t > 0 && !any_at_home_in_lowest(bins, t - 1, batch.columns)) continue;
        parts.from[j] = low.from + at;
        parts.sum[j] = low.sum + at;
        parts.mass[j] = low.mass + at;
        if (++parts.count == PARTS) tally(batch, into.grain, low.end, parts);
    }
    tally(batch, into.grain, low.end, parts);
    for (int64_t r = 0; r < batch.count; ++r) {
        tally_higher(batch, r, low, bins, into);
        tally_label(batch, r, bins, into);
    }
}

template <class T> void add_lowest(const Batch<T> &batch, const Lowest<T> &low, const Bins &bins, const Tables &into) {
    for (int64_t t = 0; t <= bins.n_thresholds; ++t)
        for (int64_t k = 0; k < batch.columns; ++k) {
            const int64_t at = t * batch.length + k, cell = t ? bins.n_edges + t : 0;
            into.excess[k * bins.cells() + cell] += low.sum[at];
            into.mass[(into.pooled ? 0 : k * bins.cells()) + cell] += low.mass[at];
            if (t) into.kept[(t - 1) * batch.columns + k] += low.mass[at];
        }
}

float next_up(float x) { return nextafterf(x, 2.0f); }
double next_up(double x) { return nextafter(x, 2.0); }

template <class T> Lowest<T> lay_out(const Bins &bins, const Batch<T> &batch, double *room) {
    const int64_t length = batch.length, several = (bins.n_thresholds + 1) * length;
    Lowest<T> low = {reinterpret_cast<T *>(room), room + length, room + 2 * length, room + 2 * length + several,
                     room + 2 * length + 2 * several};
    for (int64_t k = 0; k < length; ++k) {
        low.end[k] = k < batch.columns && bins.n_edges ? bins.of(k)[0] : 2;
        low.first[k] = T(low.end[k]);
        if (double(low.first[k]) < low.end[k]) low.first[k] = next_up(low.first[k]);
        low.from[k] = -1;
        for (int64_t t = 0; t < bins.n_thresholds; ++t)
            low.from[(t + 1) * length + k] = k < batch.columns ? bins.thresholds[t * batch.columns + k] : 2;
    }
    return low;
}

template <class T> int64_t read(const Samples<T> &x, const Facts &facts, const Bins *bins, const Tables &into) {
    const int64_t columns = x.probs.columns, length = whole_lanes(columns);
    double *room = new double[length * (ROWS + 2 + (bins ? 3 * (bins->n_thresholds + 1) : 0))]();
    Batch<T> batch = {reinterpret_cast<T *>(room), columns, length, 0, {0}, {0}};
    Lowest<T> low = {};
    if (bins) low = lay_out(*bins, batch, room + length * ROWS);
    int64_t bad = -1;
    for (int64_t start = 0; start < x.probs.rows && bad < 0; start += ROWS) {
        batch.count = x.probs.rows - start < ROWS ? x.probs.rows - start : ROWS;
        load_rows(x, start, into.grain, batch);
        for (int64_t r = 0; r < batch.count && bad < 0; ++r) {
            const int64_t i = start + r;
            const bool fine = state_facts(batch.row(r), length, batch.label[r], facts.values + 4 * i);
            if (!fine || (x.ties.given() && has_nan(x.ties, i, columns))) bad = i;
            facts.rank[i] = rank_of(batch.row(r), columns, length, x.ties, i, batch.label[r]);
        }
        if (bins && bad < 0) tally_batch(batch, low, *bins, into);
    }
    if (bins) add_lowest(batch, low, *bins, into);
    delete[] room;
    return bad;
}

#define INFOCAL_JOINED(a, b) a##b
#define INFOCAL_JOIN(a, b) INFOCAL_JOINED(a, b)

}  // namespace

extern const Reader INFOCAL_JOIN(INFOCAL_ISA, _reader) = {read<float>, read<double>};

}  // namespace infocal
