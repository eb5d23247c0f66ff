// A row of logits at hand, and sums over it that have the same bits on every instruction set. Included only by the files
// compiled per instruction set, inside their namespace, after numbers.hpp.

const double INF = HUGE_VAL;

// A row at hand: its values padded with -inf, the first index of its maximum, and that maximum.
template <class T> struct Row {
    T *z;
    int64_t columns, length, top;
    T max;
};

template <class T> Row<T> load_row(const Matrix<T> &x, int64_t i, T *z) {
    Row<T> row = {z, x.columns, padded(x.columns), 0, T(-INF)};
    const T *from = x.row(i);
    if (x.column_stride == 1) {
        memcpy(z, from, sizeof(T) * x.columns);
    } else {
        for (int64_t k = 0; k < x.columns; ++k) z[k] = from[k * x.column_stride];
    }
    for (int64_t k = x.columns; k < row.length; ++k) z[k] = T(-INF);
    for (int64_t start = 0; start < row.length; start += BLOCK) {
        T lane[LANES];
        for (int64_t b = 0; b < LANES; ++b) lane[b] = z[start + b];
        for (int64_t k = LANES; k < BLOCK; k += LANES)
            for (int64_t b = 0; b < LANES; ++b) lane[b] = z[start + k + b] > lane[b] ? z[start + k + b] : lane[b];
        T best = T(-INF);
        for (int64_t b = 0; b < LANES; ++b) best = lane[b] > best ? lane[b] : best;
        if (best > row.max) {
            row.max = best;
            row.top = start;
        }
    }
    while (row.top < row.columns - 1 && z[row.top] != row.max) ++row.top;
    return row;
}

inline double sum_lanes(const double *lane) {
    double total = 0;
    for (int64_t b = 0; b < LANES; ++b) total += lane[b];
    return total;
}

template <class T> double sum(const T *e, int64_t length) {
    double lane[LANES] = {0};
    for (int64_t k = 0; k < length; k += LANES)
        for (int64_t b = 0; b < LANES; ++b) lane[b] += double(e[k + b]);
    return sum_lanes(lane);
}
