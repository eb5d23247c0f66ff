// The best classes of a row.
#pragma once
#include <stdint.h>

namespace infocal {

// Indices of the `k` largest probabilities of each row, best first; among equal probabilities the
// higher of `ties` comes first, then the lower index. Both matrices are contiguous.
template <class T>
void best_of_rows(const T *probs, const T *ties, int64_t rows, int64_t columns, int64_t k, int64_t *out);

}  // namespace infocal
