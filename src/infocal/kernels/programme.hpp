// The dynamic programme over sorted points, with the same bits on every instruction set. Included only by files compiled
// per instruction set, inside their namespace, after lanes.hpp and partition.hpp.

using D = V<double>;
using U = Lanes<double>::U;

const int64_t WIDTH = lanes<double>;

// What bins from points [i, i + WIDTH) up to point j cost: the entropy of their labels, told by running sums ...
struct Entropy {
    const double *low, *high;

    static D term(D part, D whole) {
        const auto some = part > 0.0;
        const D ratio = whole / (some ? part : D{} + 1.0);
        return some ? part * log_any<D, U>(ratio) : D{};
    }

    static D of(D hits, D misses) { return term(hits, hits + misses) + term(misses, hits + misses); }

    D operator()(int64_t i, int64_t j) const { return of(low[j] - load(low + i), load(high + i) - high[j]); }
};

// ... the same with a relative error below ROUGH, at half the price ...
const double ROUGH = 1e-8;

struct Rough {
    const double *low, *high;

    D operator()(int64_t i, int64_t j) const {
        const D hits = low[j] - load(low + i), misses = load(high + i) - high[j];
        const D more = hits < misses ? misses : hits, less = hits < misses ? hits : misses;
        const D odds = less / (more > 1e-300 ? more : D{} + 1e-300);
        return (hits + misses) * log_of_one_and(odds) - less * log_of(odds > 1e-300 ? odds : D{} + 1e-300);
    }

    // log(1 + u) for u in [0, 1]: a polynomial of least relative error.
    static D log_of_one_and(D u) {
        D p = u * -0.0033387688306354205 + 0.020277939793064043;
        p = p * u + -0.057759459190655;
        p = p * u + 0.10684568695795858;
        p = p * u + -0.15353296181085735;
        p = p * u + 0.19692461105467224;
        p = p * u + -0.24957348339466162;
        p = p * u + 0.3333027578372063;
        p = p * u + -0.49999914185603056;
        p = p * u + 0.9999999960142298;
        return p * u;
    }

    // log x: the exponent, and a polynomial of least error in the mantissa, taken between the roots of 1/2 and 2.
    static D log_of(D x) {
        const uint64_t root = 0x3fe6a09e667f3bcd, one = 0x3ff0000000000000, mantissa = 0x000fffffffffffff;
        const double magic = 4503599627370496.0;  // 2^52, to turn the exponent into a double without a cast
        const U moved = bits_as<U>(x) + (one - root);
        const D e = bits_as<D>((moved >> 52) | bits_as<uint64_t>(magic)) - (magic + 1023.0);
        const D f = bits_as<D>((moved & mantissa) + root) - 1.0;
        D p = f * 0.08693973696473017 + -0.145761662499201;
        p = p * f + 0.15066649102721447;
        p = p * f + -0.16533030411952032;
        p = p * f + 0.19938985331693282;
        p = p * f + -0.2500328384507958;
        p = p * f + 0.33335002139176007;
        p = p * f + -0.49999972862361264;
        p = p * f + 0.9999998816324525;
        return e * 0.6931471805599453 + p * f;
    }
};

// ... or the squares about their mean, up to the sum of w x^2, which no cut changes.
struct Squares {
    const double *moment, *mass;

    D operator()(int64_t i, int64_t j) const {
        const D m = moment[j] - load(moment + i), w = load(mass + i) - mass[j];
        const auto some = w > 0.0;
        return some ? -m * m / (some ? w : D{} + 1.0) : D{};
    }
};

inline double least_of(D v) {
#if defined(__AVX512F__)
    return _mm512_reduce_min_pd(v);
#elif defined(__AVX2__)
    const __m128d half = _mm_min_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
    return half[0] < half[1] ? half[0] : half[1];
#else
    double least = v[0];
    for (int64_t i = 1; i < WIDTH; ++i) least = v[i] < least ? v[i] : least;
    return least;
#endif
}

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
        const double cost = least_of(least);
        const D cuts = least == cost ? at : D{} + HUGE_VAL;
        return {cost, int64_t(least_of(cuts))};
    }

    static D steps() {
        D lane = {};
        for (int64_t i = 0; i < WIDTH; ++i) lane[i] = double(i);
        return lane;
    }

    // Costs here obey the quadrangle inequality on sorted points, so the best cut moves right with the point: those of
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

inline int64_t widest(const Windows &windows) {
    int64_t most = 1;
    for (int64_t m = 0; m < windows.count; ++m) {
        const int64_t width = windows.to[m] - windows.from[m] + 1;
        most = width > most ? width : most;
    }
    return most;
}

// A row for each window, as long as the widest and WIDTH values behind it; where only the last are wanted, some in turns.
template <class T> struct Table {
    T *rows;
    int64_t count, stride;
    T *row(int64_t m) const { return rows + m % count * stride; }
};

// Fills what the bins up to each place of each window cost, and where the last cut before it is best.
template <class Bin>
void fill(const Bin &bin, const Windows &windows, const Table<double> &costs, const Table<int64_t> &cuts) {
    double *first = costs.row(0);
    for (int64_t i = windows.from[0]; i <= windows.to[0]; ++i) first[i - windows.from[0]] = bin(0, i)[0];
    for (int64_t m = 1; m < windows.count; ++m) {
        const Layer<Bin> layer = {bin, costs.row(m - 1), windows.from[m - 1], windows.to[m - 1], costs.row(m),
                                  cuts.row(m), windows.from[m]};
        layer.solve(windows.to[m] - windows.from[m] + 1);
    }
}

// Writes the cuts of least cost and returns that cost. Sums behind the last point are padded by WIDTH values, as a vector
// may look beyond it.
template <class Bin> double solve(const Bin &bin, int64_t points, const Windows &windows, int64_t *cuts) {
    const int64_t stride = widest(windows) + WIDTH, last = windows.count - 1;
    if (last < 0) return bin(0, points)[0];
    const Table<double> costs = {new double[2 * stride](), 2, stride};
    const Table<int64_t> best = {new int64_t[windows.count * stride], windows.count, stride};
    fill(bin, windows, costs, best);
    const Layer<Bin> end = {bin, costs.row(last), windows.from[last], windows.to[last], nullptr, nullptr, points};
    const Best whole = end.best(points, windows.from[last], windows.to[last]);
    cuts[last] = whole.cut;
    for (int64_t m = last; m > 0; --m) cuts[m - 1] = best.row(m)[cuts[m] - windows.from[m]];
    delete[] costs.rows;
    delete[] best.rows;
    return whole.cost;
}
