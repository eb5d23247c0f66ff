// Passes over a row by whole vectors, with the same bits on every instruction set. Included only by the files compiled
// per instruction set, inside their namespace, after lanes.hpp.

const int64_t ROWS = 4;  // at work in turns: one need not wait for the sums of another

// Vectors that hold one value for each of the partial sums of a row.
template <class T> constexpr int64_t parts = LANES * sizeof(T) / INFOCAL_WIDTH;

// Copies a row, padded with -inf, and returns its maximum, which NaN may hide.
template <class T> T copy_row(const Matrix<T> &x, int64_t i, int64_t length, T *z) {
    const T *from = x.row(i);
    const int64_t full = x.column_stride == 1 ? x.columns / LANES * LANES : 0;
    for (int64_t k = full; k < length; ++k) z[k] = k < x.columns ? from[k * x.column_stride] : T(-HUGE_VAL);
    V<T> most[parts<T>];
    for (V<T> &m : most) m = V<T>{} - T(HUGE_VAL);
    for (int64_t k = 0; k < length; k += LANES)
        for (int64_t j = 0; j < parts<T>; ++j) {
            const int64_t at = k + j * lanes<T>;
            const V<T> here = load((k < full ? from : z) + at);
            memcpy(z + at, &here, sizeof(here));
            most[j] = here > most[j] ? here : most[j];
        }
    T lane[LANES], best = T(-HUGE_VAL);
    memcpy(lane, most, sizeof(lane));
    for (T value : lane) best = value > best ? value : best;
    return best;
}

// Sum of power(z), left in e; within a block of the row it is taken in the row's own precision.
template <class T, class Power> double sum_powers(const T *z, int64_t length, Power power, T *e) {
    double lane[LANES] = {0}, total = 0;
    for (int64_t start = 0; start < length; start += BLOCK) {
        V<T> sums[parts<T>] = {};
        for (int64_t k = start; k < start + BLOCK; k += LANES)
            for (int64_t j = 0; j < parts<T>; ++j) {
                const V<T> value = power(load(z + k + j * lanes<T>));
                memcpy(e + k + j * lanes<T>, &value, sizeof(value));
                sums[j] += value;
            }
        T part[LANES];
        memcpy(part, sums, sizeof(part));
        for (int64_t b = 0; b < LANES; ++b) lane[b] += double(part[b]);
    }
    for (double value : lane) total += value;
    return total;
}
