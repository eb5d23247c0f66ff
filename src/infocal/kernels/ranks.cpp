#include "ranks.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace infocal {
namespace {

const int64_t CHUNK = 16;  // columns looked at together

template <class T> struct Entry {
    T prob, tie;
    int64_t column;
    bool before(const Entry &other) const {
        if (prob != other.prob) return prob > other.prob;
        return tie != other.tie ? tie > other.tie : column < other.column;
    }
};

// The best entries so far, best first.
template <class T> class Podium {
  public:
    explicit Podium(int64_t places) : places(places), held(0), entries(places) {}

    void clear() { held = 0; }
    bool full() const { return held == places; }
    const Entry<T> &last() const { return entries[places - 1]; }
    int64_t column(int64_t place) const { return entries[place].column; }

    void offer(const Entry<T> &entry) {
        if (full() && !entry.before(entries[places - 1])) return;
        int64_t place = full() ? places - 1 : held++;
        for (; place > 0 && entry.before(entries[place - 1]); --place) entries[place] = entries[place - 1];
        entries[place] = entry;
    }

  private:
    int64_t places, held;
    std::vector<Entry<T>> entries;
};

template <class T> struct Vector;
template <> struct Vector<float> {
    typedef float Values __attribute__((vector_size(16)));
};
template <> struct Vector<double> {
    typedef double Values __attribute__((vector_size(16)));
};

template <class T> typename Vector<T>::Values load(const T *from) {
    typename Vector<T>::Values v;
    std::memcpy(&v, from, sizeof(v));
    return v;
}

// Whether any of a chunk of columns comes before an entry of a lower index.
template <class T> bool any_before(const T *probs, const T *ties, const Entry<T> &last) {
    const int64_t step = 16 / sizeof(T);
    auto found = load(probs) > last.prob;
    for (int64_t b = 0; b < CHUNK; b += step) {
        const auto p = load(probs + b), t = load(ties + b);
        found |= (p > last.prob) | ((p == last.prob) & (t > last.tie));
    }
    uint64_t words[2];
    std::memcpy(words, &found, sizeof(words));
    return words[0] | words[1];
}

// Few places: most columns are seen to come after the last of them, many at a time.
template <class T> void best_of_row(const T *probs, const T *ties, int64_t columns, Podium<T> &podium) {
    podium.clear();
    for (int64_t start = 0; start < columns; start += CHUNK) {
        const int64_t end = std::min(start + CHUNK, columns);
        if (podium.full() && end - start == CHUNK && !any_before(probs + start, ties + start, podium.last())) continue;
        for (int64_t j = start; j < end; ++j) podium.offer({probs[j], ties[j], j});
    }
}

// Many places: inserting entries one by one would move too many.
template <class T>
void sort_row(const T *probs, const T *ties, std::vector<Entry<T>> &entries, int64_t k, int64_t *out) {
    for (int64_t j = 0; j < int64_t(entries.size()); ++j) entries[j] = {probs[j], ties[j], j};
    std::partial_sort(entries.begin(), entries.begin() + k, entries.end(),
                      [](const Entry<T> &a, const Entry<T> &b) { return a.before(b); });
    for (int64_t place = 0; place < k; ++place) out[place] = entries[place].column;
}

}  // namespace

template <class T>
void best_of_rows(const T *probs, const T *ties, int64_t rows, int64_t columns, int64_t k, int64_t *out) {
    const bool few = k <= 16;
    Podium<T> podium(k);
    std::vector<Entry<T>> entries(few ? 0 : columns);
    for (int64_t i = 0; i < rows; ++i, probs += columns, ties += columns, out += k) {
        if (!few) {
            sort_row(probs, ties, entries, k, out);
            continue;
        }
        best_of_row(probs, ties, columns, podium);
        for (int64_t place = 0; place < k; ++place) out[place] = podium.column(place);
    }
}

template void best_of_rows(const float *, const float *, int64_t, int64_t, int64_t, int64_t *);
template void best_of_rows(const double *, const double *, int64_t, int64_t, int64_t, int64_t *);

}  // namespace infocal
