// The bins of columns, told by the cells of a line that these fall into. Included only by apply.cpp.

#if defined(__AVX512F__)
// Where no two bounds are close, a line cut into as many cells as two registers have lanes holds at most
// one bound a cell: the cell of a column tells its bound and the values on both sides, by permutation.
struct Cells {
    static constexpr int64_t N = 32;
    static constexpr double CLEAR = 0.02;  // of a cell, between a bound and the end of the cell
    float bounds[N], values[N];  // bound in a cell, measured from the origin, or infinity; value at its start
    float per_unit;
    double origin;  // the middle of cell 0

    // Lays out the cells; false where bounds are too close to each other or to a cell's boundary.
    bool lay_out(const Binnings &bins, int64_t n_low) {
        if (n_low == 0) return false;
        const double first = bins.bounds[0], last = bins.bounds[n_low - 1];
        for (int64_t attempt = 0; attempt < 16; ++attempt)
            if (fits(bins, n_low, (last - first) / (N - 3.0 - attempt / 8.0), first)) return true;
        return false;
    }

    bool fits(const Binnings &bins, int64_t n_low, double width, double first) {
        if (!(width > 1e-3)) return false;
        per_unit = float(1 / width);
        origin = first - width / 4;
        int64_t cell = -1;
        for (int64_t m = 0; m < n_low; ++m) {
            const double place = (bins.bounds[m] - origin) * per_unit, next = nearbyint(place);
            if (int64_t(next) <= cell || fabs(fabs(place - next) - 0.5) < CLEAR || next > N - 2) return false;
            for (++cell; cell < int64_t(next); ++cell) fill(cell, HUGE_VALF, float(bins.values[m]));
            fill(cell, float(bins.bounds[m] - origin), float(bins.values[m]));
        }
        while (++cell < N) fill(cell, HUGE_VALF, float(bins.values[n_low]));
        return true;
    }

    void fill(int64_t cell, float bound, float value) {
        bounds[cell] = bound;
        values[cell] = value;
    }
};

// How far a vector of columns is above the bounds of their cells; `cell` takes the cells.
struct Over {
    V<float> low, high, last;
    float per_unit, shift;

    Over(const Cells &at, float shift)
        : low(load(at.bounds) + shift), high(load(at.bounds + 16) + shift), last(V<float>{} + float(Cells::N - 1)),
          per_unit(at.per_unit), shift(shift * at.per_unit) {}

    V<float> operator()(V<float> here, __m512i *cell) const {
        const V<float> place = here * per_unit - shift;
        *cell = _mm512_cvtps_epi32(_mm512_min_ps(last, _mm512_max_ps(V<float>{}, place)));
        return here - _mm512_permutex2var_ps(low, *cell, high);
    }
};

int64_t pick(const Sums<float> &row, const Cells &at, int64_t, float shift, float gap, int64_t *close, float *out) {
    if (!(3 * gap * at.per_unit < float(Cells::CLEAR))) {  // of logits so large, rounding hides the cell
        for (int64_t k = 0; k < row.columns; ++k) close[k] = k;
        return row.columns;
    }
    const V<float> first = load(at.values), second = load(at.values + 16);
    const Over over(at, shift);
    const __m512i one = _mm512_set1_epi32(1), reach = _mm512_castps_si512(V<float>{} + gap);
    __m512i cell, nearest = _mm512_set1_epi32(-1);
    for (int64_t k = 0; k < row.columns; k += 16) {
        const V<float> above = over(load(row.z + k), &cell);
        const __mmask16 reached = _mm512_cmp_ps_mask(above, V<float>{}, _CMP_GE_OQ);
        nearest = _mm512_min_epu32(nearest, _mm512_castps_si512(above));  // below 0 is far as an unsigned number
        const __m512i side = _mm512_mask_add_epi32(cell, reached, cell, one);
        const V<float> value = _mm512_permutex2var_ps(first, side, second);
        if (k + 16 <= row.columns) _mm512_storeu_ps(out + k, value);
        else _mm512_mask_storeu_ps(out + k, __mmask16((1u << (row.columns - k)) - 1), value);
    }
    if (!_mm512_cmplt_epu32_mask(nearest, reach)) return 0;
    int64_t count = 0;
    for (int64_t k = 0; k < row.columns; k += 16) {
        const __m512i above = _mm512_castps_si512(over(load(row.z + k), &cell));
        for (uint32_t left = _mm512_cmplt_epu32_mask(above, reach); left; left &= left - 1) {
            const int64_t column = k + __builtin_ctz(left);
            if (column < row.columns) close[count++] = column;
        }
    }
    return count;
}
#endif

// A line cut into many cells, of which few hold a bound, tells the value of all columns in the others. Cells that a
// bound is in, or nearly, are marked; a column in one of these is compared with every bound.
struct Table {
    static constexpr int64_t N = 4096;
    static constexpr float MARK = -1;
    const float *bounds, *values;
    float cell[N];
    float per_unit, slack;  // slack: how near a cell's end a bound marks it
    double start;           // lower end of cell 0
    static constexpr double origin = 0;

    Table(const Binnings &bins, int64_t n_low, const Shared<float> &all)
        : bounds(all.bounds), values(all.values), per_unit(0), slack(HUGE_VALF), start(0) {
        for (float &value : cell) value = values[0];
        if (n_low == 0) return;
        const double first = bins.bounds[0], range = bins.bounds[n_low - 1] - first;
        const double width = (range > 1e-3 ? range : 1e-3) / double(N - 4);
        per_unit = float(1 / width);
        slack = float(width / 8);
        start = first - 1.5 * width;
        for (int64_t m = 0; m < n_low && bins.bounds[m] < HUGE_VAL; ++m) {
            const double place = (bins.bounds[m] - start) * double(per_unit);
            for (int64_t c = int64_t(place + 0.25); c < N; ++c) cell[c] = values[m + 1];
        }
        for (int64_t m = 0; m < n_low && bins.bounds[m] < HUGE_VAL; ++m) {
            const double place = (bins.bounds[m] - start) * double(per_unit);
            cell[int64_t(place - 0.25)] = cell[int64_t(place + 0.25)] = MARK;
        }
    }
};

// Answers one column by comparing it with every bound; tells whether it is near one.
inline bool answer_one(const Table &at, int64_t n_edges, float place, float gap, float *out) {
    float reached = -HUGE_VALF;
    *out = at.values[0];
    for (int64_t m = 0; m < n_edges && place >= at.bounds[m]; ++m) {
        reached = at.bounds[m];
        *out = at.values[m + 1];
    }
    return place - reached < gap;
}

int64_t pick(const Sums<float> &row, const Table &at, int64_t n_edges, float shift, float gap, int64_t *close,
             float *out) {
    const bool told = 2 * gap < at.slack && fabsf(shift) * 2e-7f < at.slack;
    const float offset = -(shift + float(at.start)) * at.per_unit;
    int64_t count = 0;
    for (int64_t start = 0; start < row.columns; start += tile<float>) {
        int32_t cell[tile<float>];
        float found[tile<float>];
        for (int64_t v = 0; v < VECTORS; ++v) {
            const V<float> place = load(row.z + start + v * lanes<float>) * at.per_unit + offset;
            const V<float> inside = place > 0.0f ? place : V<float>{};
            const V<float> last = V<float>{} + float(Table::N - 1);
            const auto whole = to_whole(inside < last ? inside : last);
            memcpy(cell + v * lanes<float>, &whole, sizeof(whole));
        }
        for (int64_t b = 0; b < tile<float>; ++b) found[b] = at.cell[cell[b]];
        bool marked = !told;
        for (int64_t v = 0; v < VECTORS; ++v)
            marked |= any<float>(Mask<float>::below(load(found + v * lanes<float>), V<float>{}));
        const int64_t width = row.columns - start < tile<float> ? row.columns - start : tile<float>;
        for (int64_t b = 0; marked && b < width; ++b)
            if (!told || found[b] == Table::MARK)
                if (answer_one(at, n_edges, row.z[start + b] - shift, gap, found + b)) close[count++] = start + b;
        memcpy(out + start, found, sizeof(float) * width);
    }
    return count;
}

inline void answer_rows(const Sums<float> *rows, const Reach<float> *reach, int64_t count, const Table &at,
                        int64_t n_edges, const Room<float> &room, int64_t *n_close, float *out) {
    pick_rows(rows, reach, count, at, n_edges, room, n_close, out);
}

#if defined(__AVX512F__)
inline void answer_rows(const Sums<float> *rows, const Reach<float> *reach, int64_t count, const Cells &at,
                        int64_t n_edges, const Room<float> &room, int64_t *n_close, float *out) {
    pick_rows(rows, reach, count, at, n_edges, room, n_close, out);
}
#endif
