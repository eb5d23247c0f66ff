#include "ranks.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace infocal {

template <class T>
void best_of_rows(const T *probs, const T *ties, int64_t rows, int64_t columns, int64_t k, int64_t *out) {
    std::vector<int64_t> order(columns);
    for (int64_t i = 0; i < rows; ++i, probs += columns, ties += columns, out += k) {
        const auto better = [=](int64_t a, int64_t b) {
            if (probs[a] != probs[b]) return probs[a] > probs[b];
            if (ties[a] != ties[b]) return ties[a] > ties[b];
            return a < b;
        };
        std::iota(order.begin(), order.end(), int64_t(0));
        std::partial_sort(order.begin(), order.begin() + k, order.end(), better);
        std::copy_n(order.begin(), k, out);
    }
}

template void best_of_rows(const float *, const float *, int64_t, int64_t, int64_t, int64_t *);
template void best_of_rows(const double *, const double *, int64_t, int64_t, int64_t, int64_t *);

}  // namespace infocal
