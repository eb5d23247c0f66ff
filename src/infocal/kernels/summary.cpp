// The summarising loop, compiled once per instruction set, with the same bits on each; see rows.cpp for why nothing from
// the standard library's templates is used.
#include "summary.hpp"

#include <math.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace infocal {
namespace {

#include "numbers.hpp"

#include "lanes.hpp"

#include "wide.hpp"

using F = V<float>;

const int64_t STEP = lanes<float>;
const double SMALL = 1.0 / 128;           // up to here two terms tell -log(1 - p)
const int SHIFT = 38;                     // of a packed word: points above, quanta below
const int64_t FULL = int64_t(1) << 25;    // points that a packed word can hold
const int64_t FEW = 8;                    // groups whose cells may be held several times

// Rows at hand, padded with -inf, and e^(z - max), which gives way to places on the grid in quanta.
struct Room {
    float *z, *e;  // (ROWS, length)
};

struct Found {
    int64_t top;
    float max;
    double others;  // sum of e^(z - max) over all columns but the top one
};

int64_t first_of(const float *z, int64_t length, float value) {
    for (int64_t start = 0; start < length; start += BLOCK) {
        Mask<float> found = {};
        for (int64_t k = start; k < start + BLOCK; k += STEP)
            found = either<float>(found, Mask<float>::at_least(load(z + k), F{} + value));
        if (any<float>(found))
            for (int64_t k = start; k < start + BLOCK; ++k)
                if (z[k] == value) return k;
    }
    return 0;
}

Found sum_row(float *z, int64_t length, float max, float *e) {
    const int64_t top = first_of(z, length, max);
    z[top] = -HUGE_VALF;  // no cancellation: the top class is left out, not subtracted
    const auto power = [max](F here) { return exp_short<F, Lanes<float>::U>(here - max); };
    return {top, max, sum_powers(z, length, power, e)};
}

bool is_bad(const Found &row) {
    return !(row.max > -HUGE_VALF && row.max < HUGE_VALF && row.others == row.others);
}

// Places of the columns of a row other than the top one: z - max - log(sum of all - e).
struct Line {
    float max, share, origin, per_unit, large, last;

    Line(const Found &row, const Grid &grid) {
        const double quanta = double(QUANTA) * grid.per_unit, sum = 1.0 + row.others;
        max = row.max;
        share = float(1.0 / sum);
        origin = float((grid.reach - log_(sum)) * quanta);
        per_unit = float(quanta);
        large = float(SMALL * sum);
        last = float(grid.cells * QUANTA - 1);
    }

    void place(const float *z, float *e) const {
        Mask<float> any_large = {};
        for (int64_t k = 0; k < BLOCK; k += STEP)
            any_large = either<float>(any_large, Mask<float>::at_least(load(e + k), F{} + large));
        const bool far = !any<float>(any_large);
        for (int64_t k = 0; k < BLOCK; k += STEP) {
            const F p = load(e + k) * share, rest = far ? rest_of_small(p) : rest_of(p);
            const F at = (load(z + k) - max) * per_unit + (rest + origin);
            const F inside = at > 0.0f ? at : F{}, below = inside < last ? inside : F{} + last;
            const Whole whole = to_whole(below);
            memcpy(e + k, &whole, sizeof(whole));
        }
    }

    // -log(1 - p) in quanta, for small p and for p up to a half.
    F rest_of_small(F p) const { return p * (p * (0.5f * per_unit) + per_unit); }

    F rest_of(F p) const {
        const F s = p / (2.0f - p), z = s * s;
        F sum = z * (1.0f / 13) + 1.0f / 11;
        sum = sum * z + 1.0f / 9;
        sum = sum * z + 1.0f / 7;
        sum = sum * z + 1.0f / 5;
        sum = sum * z + 1.0f / 3;
        sum = sum * z + 1.0f;
        return s * sum * (2.0f * per_unit);
    }

    int32_t place_of_top(const Found &row, double reach) const {
        const double at = row.others > 1e-300 ? (reach - log_(row.others)) * double(per_unit) : HUGE_VAL;
        return int32_t(at < 0 ? 0 : at < double(last) ? at : double(last));
    }
};

// Writes over e. Meanwhile a row to read later is called for.
void place_row(const Found &row, const float *z, float *e, int64_t length, const Grid &grid, const float *later) {
    const Line line(row, grid);
    for (int64_t k = 0; k < length; k += BLOCK) {
        for (int64_t b = 0; b < BLOCK; b += LANES) __builtin_prefetch(later + k + b);
        line.place(z + k, e + k);
    }
    const int32_t top = line.place_of_top(row, grid.reach);
    memcpy(e + row.top, &top, sizeof(top));
}

// Points of weight 1: count and sum of places, in quanta, share a word; a place is its cell's first quantum, which is
// known in the end, and less than QUANTA. Neighbouring columns go to different copies of the words, so that columns of
// equal log-odds need not wait for one another.
template <int64_t COPIES> struct Counts {
    uint64_t *words;       // (COPIES, cells)
    const int32_t *first;  // cell of each column's group (columns,), null where all are of one
    int64_t cells, per_group, held;
    Tally into;

    Counts(int64_t groups, int64_t per_group, const int32_t *first, const Tally &into)
        : words(new uint64_t[groups * per_group * COPIES]()), first(first), cells(groups * per_group),
          per_group(per_group), held(0), into(into) {}
    ~Counts() { delete[] words; }

    void begin(int64_t, int64_t columns) {
        if (held > FULL - columns) finish();
        held += columns;
    }

    void add(const int32_t *place, int64_t columns) {
        int64_t k = 0;
        for (; !first && k + COPIES <= columns; k += COPIES)
            for (int64_t j = 0; j < COPIES; ++j) add_one(uint32_t(place[k + j]), 0, j);
        for (; first && k + COPIES <= columns; k += COPIES)
            for (int64_t j = 0; j < COPIES; ++j) add_one(uint32_t(place[k + j]), uint32_t(first[k + j]), j);
        for (; k < columns; ++k) add_one(uint32_t(place[k]), first ? uint32_t(first[k]) : 0, 0);
    }

    void add_one(uint32_t at, uint32_t from, int64_t copy) {
        words[copy * cells + int64_t(at / QUANTA + from)] += (uint64_t(1) << SHIFT) + at;
    }

    double hit() const { return 1.0; }

    void finish() {
        for (int64_t j = 0; j < COPIES; ++j)
            for (int64_t c = 0; c < cells; ++c) {
                uint64_t &word = words[j * cells + c];
                if (!word) continue;
                const uint64_t point = (uint64_t(1) << SHIFT) + uint64_t(c % per_group) * QUANTA;
                into.points[c] += double(word / point);
                into.offsets[c] += double(word % point);
                word = 0;
            }
        held = 0;
    }
};

// Points of any weight.
struct Weighted {
    const Masses &masses;
    const int32_t *first;
    Tally into;
    double fine, coarse;

    void begin(int64_t row, int64_t) {
        fine = (masses.values[row] + masses.grain) - masses.grain;
        coarse = (masses.values[row] + masses.coarse) - masses.coarse;
    }

    void add(const int32_t *place, int64_t columns) {
        for (int64_t k = 0; k < columns; ++k) {
            const int64_t at = place[k] / QUANTA + (first ? first[k] : 0);
            into.points[at] += fine;
            into.offsets[at] += coarse * double(place[k] % QUANTA);
        }
    }

    double hit() const { return fine; }
    void finish() {}
};

template <class Points>
int64_t run(const Matrix<float> &x, const int64_t *labels, const int32_t *first, const Grid &grid, const Room &room,
            Points &&points) {
    const int64_t length = padded(x.columns);
    for (int64_t start = 0; start < x.rows; start += ROWS) {
        const int64_t count = x.rows - start < ROWS ? x.rows - start : ROWS;
        float max[ROWS];
        Found found[ROWS];
        for (int64_t r = 0; r < count; ++r) max[r] = copy_row(x, start + r, length, room.z + r * length);
        for (int64_t r = 0; r < count; ++r) found[r] = sum_row(room.z + r * length, length, max[r], room.e + r * length);
        for (int64_t r = 0; r < count; ++r) {
            if (is_bad(found[r])) return start + r;
            float *e = room.e + r * length;
            place_row(found[r], room.z + r * length, e, length, grid, x.row(start + r + ROWS));
        }
        for (int64_t r = 0; r < count; ++r) {
            const int32_t *place = reinterpret_cast<const int32_t *>(room.e + r * length);
            points.begin(start + r, x.columns);
            points.add(place, x.columns);
            const int64_t label = labels[start + r];
            points.into.hits[(first ? first[label] : 0) + place[label] / QUANTA] += points.hit();
        }
    }
    points.finish();
    return -1;
}

int64_t summarise(const Matrix<float> &x, const int64_t *labels, const Masses &masses, const int64_t *group_of,
                  int64_t groups, const Grid &grid, const Tally &into, double *scratch) {
    const int64_t length = padded(x.columns);
    float *rows = reinterpret_cast<float *>(scratch);
    const Room room = {rows, rows + ROWS * length};
    int32_t *first = groups > 1 ? reinterpret_cast<int32_t *>(scratch + ROWS * length) : nullptr;
    for (int64_t k = 0; first && k < x.columns; ++k) first[k] = int32_t(group_of[k] * grid.cells);
    if (masses.values) return run(x, labels, first, grid, room, Weighted{masses, first, into, 0, 0});
    if (groups < FEW) return run(x, labels, first, grid, room, Counts<2>(groups, grid.cells, first, into));
    return run(x, labels, first, grid, room, Counts<1>(groups, grid.cells, first, into));
}

}  // namespace

namespace summaries {
extern const Summarise INFOCAL_ISA = summarise;
}

}  // namespace infocal
