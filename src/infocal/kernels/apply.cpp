// Compiled once per instruction set, with vectors of the width it has. Fused multiply-adds are welcome
// here: what is too close to call is not decided here.
#include "apply.hpp"

#include <math.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace infocal {
namespace {

#include "numbers.hpp"

#include "lanes.hpp"

#include "stream.hpp"

#include "sums.hpp"

#include "bounds.hpp"
#include "cells.hpp"
#include "halving.hpp"

int64_t bin_of(const double *edges, int64_t n_edges, double logodds) {
    int64_t bin = 0;
    while (bin < n_edges && logodds >= edges[bin]) ++bin;
    return bin;
}

double value_at(const Binnings &bins, int64_t column, double logodds) {
    const int64_t g = bins.groups == 1 ? 0 : bins.group_of[column];
    return bins.values[g * (bins.n_edges + 1) + bin_of(bins.edges + g * bins.n_edges, bins.n_edges, logodds)];
}

// Whether the log-odds of the top class is too near an edge, or too large, for the fast sum of the others.
template <class T> bool top_is_close(const Sums<T> &row, const Binnings &bins) {
    if (row.others < 1e-30) return true;
    const double logodds = -log(row.others), margin = row.error + 8 * Lanes<T>::rounding * fabs(logodds);
    const double *edges = bins.edges + (bins.groups == 1 ? 0 : bins.group_of[row.top]) * bins.n_edges;
    for (int64_t m = 0; m < bins.n_edges; ++m)
        if (fabs(edges[m] - logodds) <= margin) return true;
    return false;
}

// The top class is alone in being able to exceed even odds, so the others meet only these edges.
int64_t edges_below_even(const Binnings &bins) {
    int64_t most = 0;
    for (int64_t g = 0; g < bins.groups; ++g) {
        int64_t m = 0;
        while (m < bins.n_edges && bins.edges[g * bins.n_edges + m] <= 0) ++m;
        most = m > most ? m : most;
    }
    return most;
}

double largest_bound(const Binnings &bins, int64_t n_low) {
    double largest = 0;
    for (int64_t g = 0; g < bins.groups; ++g)
        for (int64_t m = 0; m < n_low; ++m) {
            const double size = fabs(bins.bounds[g * bins.n_edges + m]);
            if (size < HUGE_VAL && size > largest) largest = size;
        }
    return largest;
}

// Decides, by their exact log-odds, the columns too near a bound, and the top one.
template <class T>
void settle(const Matrix<T> &x, int64_t i, const Sums<T> &row, const Binnings &bins, LogoddsAt<T> logodds_at,
            int64_t *close, int64_t n_close, const Room<T> &room, T *out) {
    if (n_close == 0 && !top_is_close(row, bins)) {
        out[row.top] = T(value_at(bins, row.top, -log(row.others)));
        return;
    }
    close[n_close] = row.top;
    logodds_at({x.row(i), 1, x.columns, x.row_stride, x.column_stride}, close, n_close + 1, room.exact, room.spare);
    for (int64_t c = 0; c <= n_close; ++c) out[close[c]] = T(value_at(bins, close[c], room.exact[c]));
}

template <class T> struct Task {
    const Matrix<T> &x;
    const Binnings &bins;
    int64_t n_low;
    LogoddsAt<T> logodds_at;
    const Result<T> &out;
    Room<T> room;
};

template <class T, class Bounds> int64_t apply_rows(const Task<T> &task, const Bounds &at) {
    const Matrix<T> &x = task.x;
    const Room<T> &room = task.room;
    const double largest = largest_bound(task.bins, task.n_low);
    Sums<T> rows[ROWS];
    Reach<T> reach[ROWS];
    int64_t n_close[ROWS];
    Stream stream;
    for (int64_t start = 0; start < x.rows; start += ROWS) {
        const int64_t count = x.rows - start < ROWS ? x.rows - start : ROWS;
        T *const place = task.out.data + start * x.columns, *const to = task.out.past_caches ? room.answers : place;
        const int64_t fine = read_rows(x, start, count, room, rows, to, stream);
        if (fine < count) return start + fine;
        for (int64_t r = 0; r < count; ++r) reach[r] = Reach<T>(rows[r], largest, at.origin);
        answer_rows(rows, reach, count, at, task.n_low, room, n_close, to);
        for (int64_t r = 0; r < count; ++r)
            settle(x, start + r, rows[r], task.bins, task.logodds_at, room.close + r * room.length, n_close[r], room,
                   to + r * x.columns);
        if (task.out.past_caches) stream.begin(to, count * x.columns, place);
    }
    stream.send_all();
    finish_streams();
    return -1;
}

// An array that begins where a line of the cache does.
template <class T> class Aligned {
  public:
    explicit Aligned(int64_t count) : bytes(new char[count * sizeof(T) + LINE]) {}
    Aligned(const Aligned &) = delete;
    ~Aligned() { delete[] bytes; }
    T *data() { return reinterpret_cast<T *>((reinterpret_cast<uintptr_t>(bytes) + LINE - 1) / LINE * LINE); }

  private:
    char *bytes;
};

// Bounds and values for comparing with every bound.
template <class T> struct Every {
    int64_t n_low, width;
    Aligned<T> bounds, values;

    explicit Every(const Task<T> &task)
        : n_low(task.n_low), width(task.bins.groups == 1 ? 1 : padded(task.x.columns)), bounds(n_low * width),
          values((n_low + 1) * width) {
        lay_out(task.bins, n_low, task.x.columns, bounds.data(), values.data());
    }
    Shared<T> shared() { return {bounds.data(), values.data()}; }
    Own<T> own() { return {bounds.data(), values.data(), n_low}; }
};

int64_t apply_best(const Task<double> &task) {
    Every<double> every(task);
    return task.bins.groups == 1 ? apply_rows(task, every.shared()) : apply_rows(task, every.own());
}

// In single precision there are faster ways for bounds that are few, or far from each other, or shared.
int64_t apply_best(const Task<float> &task) {
    const bool shared = task.bins.groups == 1;
#if defined(__AVX512F__)
    Cells cells;
    if (shared && cells.lay_out(task.bins, task.n_low)) return apply_rows(task, cells);
#endif
#if defined(INFOCAL_HALVING)
    if (task.n_low <= Halves::MOST) {
        Aligned<Halves> halves(shared ? 1 : padded(task.x.columns));
        lay_out(task.bins, task.n_low, task.x.columns, halves.data());
        return shared ? apply_rows(task, Halved{halves.data()}) : apply_rows(task, OwnHalves{halves.data()});
    }
#endif
    Every<float> every(task);
    if (!shared) return apply_rows(task, every.own());
    return apply_rows(task, Table(task.bins, task.n_low, every.shared()));
}

template <class T>
int64_t apply(const Matrix<T> &x, const Binnings &bins, LogoddsAt<T> logodds_at, const Result<T> &out,
              double *scratch) {
    return apply_best({x, bins, edges_below_even(bins), logodds_at, out, Room<T>(scratch, x.columns)});
}

}  // namespace

namespace applies {
extern const Applies INFOCAL_ISA = {apply<float>, apply<double>};
}

}  // namespace infocal
