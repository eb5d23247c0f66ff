// The bins of columns, found by comparing them with every bound. Included only by apply.cpp.

// What a tile of columns is answered with, and which of them are too near a bound to tell.
template <class T> struct Answer {
    V<T> value[VECTORS];
    Mask<T> near[VECTORS];
};

template <class T> void put(const Answer<T> &found, const Sums<T> &row, int64_t start, T *out) {
    if (start + tile<T> <= row.columns) {
        for (int64_t v = 0; v < VECTORS; ++v) memcpy(out + start + v * lanes<T>, found.value + v, sizeof(V<T>));
    } else {
        memcpy(out + start, found.value, sizeof(T) * (row.columns - start));
    }
}

// Notes the columns near a bound.
template <class T>
int64_t note(const Answer<T> &found, const Sums<T> &row, int64_t start, int64_t *close, int64_t count) {
    Mask<T> some = found.near[0];
    for (int64_t v = 1; v < VECTORS; ++v) some = either<T>(some, found.near[v]);
    if (!any<T>(some)) return count;
    for (int64_t v = 0; v < VECTORS; ++v) {
        const V<T> flags = found.near[v].pick(V<T>{} + T(1), V<T>{});
        for (int64_t lane = 0; lane < lanes<T>; ++lane) {
            const int64_t k = start + v * lanes<T> + lane;
            if (flags[lane] == 1 && k < row.columns) close[count++] = k;
        }
    }
    return count;
}

// A column is answered with the value of the last bound that z - shift reaches, and is near where it
// exceeds that bound by less than `gap`. Bounds of one binning are the same for all columns ...
template <class T> struct Shared {
    const T *bounds, *values;  // (n_edges,), (n_edges + 1,)
    static constexpr double origin = 0;
    V<T> bound(int64_t m, int64_t) const { return V<T>{} + bounds[m]; }
    V<T> value(int64_t m, int64_t) const { return V<T>{} + values[m]; }
};

// ... those of several are laid out column by column.
template <class T> struct Own {
    const T *bounds, *values;  // (length / lanes, n_edges, lanes) and (length / lanes, n_edges + 1, lanes)
    int64_t n_edges;
    static constexpr double origin = 0;
    V<T> bound(int64_t m, int64_t k) const { return load(bounds + k * n_edges + m * lanes<T>); }
    V<T> value(int64_t m, int64_t k) const { return load(values + k * (n_edges + 1) + m * lanes<T>); }
};

// Bounds and values of all columns, or of one binning; only bounds that columns other than the top one can meet.
template <class T> void lay_out(const Binnings &bins, int64_t n_low, int64_t columns, T *bounds, T *values) {
    const bool shared = bins.groups == 1;
    const int64_t step = shared ? 1 : lanes<T>;
    for (int64_t k = 0; k < (shared ? 1 : padded(columns)); ++k) {
        const int64_t g = shared ? 0 : bins.group_of[k < columns ? k : 0];
        const int64_t vector = k / lanes<T> * lanes<T>, lane = k % lanes<T>;
        for (int64_t m = 0; m < n_low; ++m)
            bounds[vector * n_low + m * step + lane] = T(bins.bounds[g * bins.n_edges + m]);
        for (int64_t m = 0; m <= n_low; ++m)
            values[vector * (n_low + 1) + m * step + lane] = T(bins.values[g * (bins.n_edges + 1) + m]);
    }
}

template <class T, class Bounds>
inline Answer<T> answer(const Bounds &at, int64_t n_edges, const T *z, int64_t column, T shift, T gap) {
    V<T> place[VECTORS], reached[VECTORS], value[VECTORS];  // in registers: all loops over them are unrolled
#pragma GCC unroll 4
    for (int64_t v = 0; v < VECTORS; ++v) {
        place[v] = load(z + v * lanes<T>) - shift;
        value[v] = at.value(0, column + v * lanes<T>);
        reached[v] = V<T>{} - T(HUGE_VAL);
    }
    bool higher = true;  // bounds increase: where no column reaches one, none reaches the next
    for (int64_t m = 0; m < n_edges && higher; ++m) {
        Mask<T> some = {};
#pragma GCC unroll 4
        for (int64_t v = 0; v < VECTORS; ++v) {
            const V<T> bound = at.bound(m, column + v * lanes<T>);
            const Mask<T> above = Mask<T>::at_least(place[v], bound);
            value[v] = above.pick(at.value(m + 1, column + v * lanes<T>), value[v]);
            reached[v] = above.pick(bound, reached[v]);
            some = either<T>(some, above);
        }
        higher = any<T>(some);
    }
    Answer<T> found;
#pragma GCC unroll 4
    for (int64_t v = 0; v < VECTORS; ++v) {
        found.value[v] = value[v];
        found.near[v] = Mask<T>::below(place[v] - reached[v], V<T>{} + gap);
    }
    return found;
}

// Answers rows, and notes how many columns of each are near a bound, and which; tile by tile, so that bounds of the
// columns' own are at hand for all rows ...
template <class T, class Bounds>
void answer_rows(const Sums<T> *rows, const Reach<T> *reach, int64_t count, const Bounds &at, int64_t n_edges,
                 const Room<T> &room, int64_t *n_close, T *out) {
    for (int64_t r = 0; r < count; ++r) n_close[r] = 0;
    for (int64_t start = 0; start < rows[0].columns; start += tile<T>)
        for (int64_t r = 0; r < count; ++r) {
            const Answer<T> found =
                answer<T>(at, n_edges, rows[r].z + start, start, reach[r].shift, reach[r].gap);
            put(found, rows[r], start, out + r * rows[r].columns);
            n_close[r] = note(found, rows[r], start, room.close + r * room.length, n_close[r]);
        }
}

// ... or row by row.
template <class Bounds>
void pick_rows(const Sums<float> *rows, const Reach<float> *reach, int64_t count, const Bounds &at, int64_t n_edges,
               const Room<float> &room, int64_t *n_close, float *out) {
    for (int64_t r = 0; r < count; ++r)
        n_close[r] = pick(rows[r], at, n_edges, reach[r].shift, reach[r].gap, room.close + r * room.length,
                          out + r * rows[r].columns);
}
