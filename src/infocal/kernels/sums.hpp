// Rows at hand: their values, the sums of their powers, and how exactly these tell where bounds are. Included only by
// apply.cpp.

const int64_t ROWS = 16;  // at work in turns: one need not wait for the sums of another; as many as a vector has lanes

// A row at hand: its values padded with -inf, its maximum and the first index of it, and the sum of
// e^(z - max) over all other columns.
template <class T> struct Sums {
    T *z;
    int64_t columns, length, top;
    double max, others, error;  // error: of log `others`, at most
};

// Copies a row and returns its maximum.
template <class T> T copy_row(const Matrix<T> &x, int64_t i, T *z, int64_t length) {
    const T *from = x.row(i);
    const int64_t full = x.column_stride == 1 ? x.columns / tile<T> * tile<T> : 0;
    for (int64_t k = full; k < length; ++k) z[k] = k < x.columns ? from[k * x.column_stride] : T(-HUGE_VAL);
    V<T> most[VECTORS];
    for (V<T> &m : most) m = V<T>{} - T(HUGE_VAL);
    for (int64_t k = 0; k < full; k += tile<T>)
        for (int64_t v = 0; v < VECTORS; ++v) {
            const V<T> here = load(from + k + v * lanes<T>);
            memcpy(z + k + v * lanes<T>, &here, sizeof(here));
            most[v] = here > most[v] ? here : most[v];
        }
    for (const V<T> &m : most) most[0] = m > most[0] ? m : most[0];
    T max = most[0][0];
    for (int64_t lane = 1; lane < lanes<T>; ++lane) max = most[0][lane] > max ? most[0][lane] : max;
    for (int64_t k = full; k < x.columns; ++k) max = z[k] > max ? z[k] : max;
    return max;
}

// First place of the maximum, which NaN may hide.
template <class T> int64_t find(const T *z, int64_t length, T max) {
    for (int64_t start = 0; start < length; start += tile<T>) {
        Mask<T> found = {};
        for (int64_t v = 0; v < VECTORS; ++v)
            found = either<T>(found, Mask<T>::at_least(load(z + start + v * lanes<T>), V<T>{} + max));
        if (any<T>(found))
            for (int64_t k = start; k < start + tile<T>; ++k)
                if (z[k] == max) return k;
    }
    return 0;
}

// What is asked of memory while a row is summed: the row to read next, the one to write, answers that go past the
// caches. Rows are about as long as a page of memory, beyond which no processor looks ahead by itself.
template <class T> struct Meanwhile {
    const T *next, *to;
    Stream &stream;

    void ask(int64_t k) const {
        for (int64_t at = k; at < k + tile<T>; at += LINE / sizeof(T)) {
            __builtin_prefetch(next + at);
            __builtin_prefetch(to + at, 1);
        }
        stream.send(tile<T> * sizeof(T) / LINE);
    }
};

// Sum of e^(z - max).
template <class T> double sum_exp(const T *z, int64_t length, T max, const Meanwhile<T> &meanwhile) {
    V<T> sums[VECTORS] = {};
    for (int64_t k = 0; k < length; k += tile<T>) {
        meanwhile.ask(k);
        for (int64_t v = 0; v < VECTORS; ++v) sums[v] += Lanes<T>::exp_rough(load(z + k + v * lanes<T>) - max);
    }
    const V<T> all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    double total = 0;
    for (int64_t lane = 0; lane < lanes<T>; ++lane) total += double(all[lane]);
    return total;
}

template <class T> Sums<T> sum_row(T *z, int64_t columns, T max, double error, const Meanwhile<T> &meanwhile) {
    const int64_t length = padded(columns), top = find(z, length, max);
    z[top] = T(-HUGE_VAL);  // no cancellation: the top class is left out, not subtracted
    const double others = sum_exp(z, length, max, meanwhile);
    z[top] = max;
    return {z, columns, length, top, double(max), others, error};
}

// Of log `others`, at most: of additions, and of powers, which are off by a few roundings and a few more for each unit
// of their exponents, whose mean is within log(columns) of log `others`.
template <class T> double error_of(int64_t columns) {
    return Lanes<T>::rounding * (24 + double(padded(columns) / tile<T>) + 4 * log(double(columns)));
}

template <class T> bool is_bad(const Sums<T> &row) {
    return !(row.max > -HUGE_VAL && row.max < HUGE_VAL && row.others == row.others);
}

// Room for rows at hand, of padded(columns) and what keeps the same column of all rows out of the same part of a cache.
template <class T> struct Room {
    int64_t length;
    T *z;            // (ROWS, length)
    T *answers;      // (ROWS, columns), before they go past the caches
    int64_t *close;  // (ROWS, length)
    double *exact, *spare;
    Room(double *scratch, int64_t columns)
        : length(padded(columns) + LANES), z(reinterpret_cast<T *>(scratch)), answers(z + ROWS * length),
          close(reinterpret_cast<int64_t *>(scratch + 2 * ROWS * length)), exact(scratch + 3 * ROWS * length),
          spare(scratch + (3 * ROWS + 1) * length) {}
};

// Where a row's bounds are: z - shift reaches one that it exceeds by less than `gap` only perhaps.
template <class T> struct Reach {
    T shift, gap;

    Reach() {}
    Reach(const Sums<T> &row, double largest, double origin) {
        const double log_sum = row.max + log1p(row.others);
        const double margin = row.error * (row.others < 1 ? row.others : 1) +
                              Lanes<T>::rounding * (1.25 * (fabs(log_sum) + 2 * largest + 1) + 1.5);
        shift = T(log_sum - margin + origin);
        gap = T(2 * margin);
    }
};

// Reads rows `start` on; returns the first bad one of them, or `count`.
template <class T>
int64_t read_rows(const Matrix<T> &x, int64_t start, int64_t count, const Room<T> &room, Sums<T> *rows, const T *out,
                  Stream &stream) {
    T max[ROWS];
    const double error = error_of<T>(x.columns);
    for (int64_t r = 0; r < count; ++r) max[r] = copy_row(x, start + r, room.z + r * room.length, padded(x.columns));
    for (int64_t r = 0; r < count; ++r)
        rows[r] = sum_row<T>(room.z + r * room.length, x.columns, max[r], error,
                             {x.row(start + r + ROWS), out + r * x.columns, stream});
    stream.send_all();
    for (int64_t r = 0; r < count; ++r)
        if (is_bad(rows[r])) return r;
    return count;
}
