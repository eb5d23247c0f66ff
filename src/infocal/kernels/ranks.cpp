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

template <class T> const int64_t STEP = 16 / sizeof(T);

// Whether any of these columns comes before an entry of a lower index.
template <class T, int64_t COUNT> bool any_before(const T *probs, const T *ties, const Entry<T> &last) {
    auto found = load(probs) > last.prob;
    for (int64_t b = 0; b < COUNT; b += STEP<T>) {
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
    int64_t j = 0;
    for (; j < columns && !podium.full(); ++j) podium.offer({probs[j], ties[j], j});
    while (j + CHUNK <= columns) {
        if (!any_before<T, CHUNK>(probs + j, ties + j, podium.last())) {
            j += CHUNK;
            continue;
        }
        for (const int64_t end = j + CHUNK; j < end; j += STEP<T>)
            for (int64_t b = 0; b < STEP<T> && any_before<T, STEP<T>>(probs + j, ties + j, podium.last()); ++b)
                podium.offer({probs[j + b], ties[j + b], j + b});
    }
    for (; j < columns; ++j) podium.offer({probs[j], ties[j], j});
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
