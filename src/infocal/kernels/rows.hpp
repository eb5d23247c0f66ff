// The row loops: what they read, what they write, and the table of them for one instruction set.
#pragma once
#include <stdint.h>

namespace infocal {

// A matrix of logits, strides counted in elements.
template <class T> struct Matrix {
    const T *data;
    int64_t rows, columns, row_stride, column_stride;
    const T *row(int64_t i) const { return data + i * row_stride; }
};

// A contiguous matrix to write; one that no cache could hold is written past the caches.
template <class T> struct Result {
    T *data;
    bool past_caches;
};

// The log-odds line from -reach to reach in cells of equal width.
struct Grid {
    int64_t cells;
    double reach, per_unit;
};

// Per group and cell: mass of points, mass of hits, and mass of the smaller of sigmoid(logodds) and
// its complement (the larger one is points minus that; the smaller cannot be had by subtraction).
struct Summary {
    double *points, *hits, *smaller;  // (groups, cells)
};

// Every loop returns the first row that holds NaN, +inf or nothing but -inf, or -1. `scratch` has
// room for scratch_size(columns) doubles, aligned to 64 bytes.
template <class T> struct Rows {
    int64_t (*logodds)(const Matrix<T> &, double *out, double *scratch);
    // Log-odds of some columns of one good row, the same as all have.
    void (*logodds_at)(const Matrix<T> &, const int64_t *columns, int64_t count, double *out, double *scratch);
    // What the log-odds of a good row's columns are told by (rows, FACTS): its maximum, the sum of e^(z - max) over all
    // columns but the top one, the index of that, and its log-odds.
    int64_t (*facts)(const Matrix<T> &, double *out, double *scratch);
    // Log-odds of some columns of all rows (count, rows), the same as all have.
    void (*columns)(const Matrix<T> &, const double *facts, const int64_t *columns, int64_t count, double *out,
                    double *scratch);
    int64_t (*summarise)(const Matrix<T> &, const int64_t *labels, const double *weights, const int64_t *group_of,
                         const Grid &, const Summary &, double *scratch);
};

struct InstructionSet {
    const char *name;
    Rows<float> single;
    Rows<double> twice;
};

extern const InstructionSet baseline, avx2, avx512;

const int64_t FACTS = 4;    // of a row
const int64_t LANES = 16;   // partial sums per row: the same on every instruction set
const int64_t BLOCK = 64;   // rows are padded to a multiple of this

inline int64_t padded(int64_t columns) { return (columns + BLOCK - 1) / BLOCK * BLOCK; }
inline int64_t scratch_size(int64_t columns) { return 72 * padded(columns); }

}  // namespace infocal
