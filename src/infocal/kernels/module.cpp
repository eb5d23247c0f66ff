// The Python face of the kernels: shapes are checked by the callers, the GIL is released here.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "partition.hpp"
#include "reliability.hpp"
#include "rows.hpp"

namespace nb = nanobind;
using namespace infocal;

namespace {

template <class T> using Logits = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
template <class T> using Table = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T> using Line = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::vector<const InstructionSet *> instruction_sets() {
    std::vector<const InstructionSet *> sets = {&baseline};
#ifdef INFOCAL_X86_LEVELS
    __builtin_cpu_init();
    if (__builtin_cpu_supports("x86-64-v3")) sets.push_back(&avx2);
    if (__builtin_cpu_supports("x86-64-v4")) sets.push_back(&avx512);
#endif
    return sets;
}

const InstructionSet *chosen = instruction_sets().back();

void use_instruction_set(const std::string &name) {
    for (const InstructionSet *set : instruction_sets())
        if (name == set->name) {
            chosen = set;
            return;
        }
    throw nb::value_error(("instruction set '" + name + "' is not available on this machine").c_str());
}

std::vector<std::string> available_instruction_sets() {
    std::vector<std::string> names;
    for (const InstructionSet *set : instruction_sets()) names.push_back(set->name);
    return names;
}

const Rows<float> &rows_of(float) { return chosen->single; }
const Rows<double> &rows_of(double) { return chosen->twice; }

template <class T> Matrix<T> matrix(const Logits<T> &x) {
    return {x.data(), int64_t(x.shape(0)), int64_t(x.shape(1)), x.stride(0), x.stride(1)};
}

const Reader &reader() {
#ifdef INFOCAL_X86_LEVELS
    if (chosen == &avx2) return avx2_reader;
    if (chosen == &avx512) return avx512_reader;
#endif
    return baseline_reader;
}

int64_t read(const Samples<float> &x, const Facts &facts, const Bins *bins, const Tables &into) {
    return reader().single(x, facts, bins, into);
}

int64_t read(const Samples<double> &x, const Facts &facts, const Bins *bins, const Tables &into) {
    return reader().twice(x, facts, bins, into);
}

using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;

Ties ties_of(const std::optional<AnyMatrix> &x) {
    if (!x) return {};
    const bool single = x->dtype() == nb::dtype<float>();
    return {single ? static_cast<const float *>(x->data()) : nullptr,
            single ? nullptr : static_cast<const double *>(x->data()), x->stride(0), x->stride(1)};
}

class Scratch {
  public:
    explicit Scratch(int64_t columns) : room(scratch_size(columns) + 8) {}
    double *data() { return reinterpret_cast<double *>((reinterpret_cast<uintptr_t>(room.data()) + 63) / 64 * 64); }

  private:
    std::vector<double> room;
};

template <class T> int64_t logodds(const Logits<T> &logits, Table<double> out) {
    nb::gil_scoped_release free;
    Scratch scratch(logits.shape(1));
    return rows_of(T()).logodds(matrix(logits), out.data(), scratch.data());
}

template <class T>
int64_t apply(const Logits<T> &logits, Table<const double> edges, Table<const double> bounds,
              Table<const double> values, Line<const int64_t> group_of, Table<T> out) {
    nb::gil_scoped_release free;
    Scratch scratch(logits.shape(1));
    const Binnings bins = {int64_t(edges.shape(0)), int64_t(edges.shape(1)), edges.data(), bounds.data(),
                           values.data(), group_of.data()};
    return rows_of(T()).apply(matrix(logits), bins, out.data(), scratch.data());
}

template <class T>
int64_t summarise(const Logits<T> &logits, Line<const int64_t> labels, std::optional<Line<const double>> weights,
                  Line<const int64_t> group_of, double reach, double per_unit, Table<double> points,
                  Table<double> hits, Table<double> smaller) {
    nb::gil_scoped_release free;
    Scratch scratch(logits.shape(1));
    const Grid grid = {int64_t(points.shape(1)), reach, per_unit};
    return rows_of(T()).summarise(matrix(logits), labels.data(), weights ? weights->data() : nullptr, group_of.data(),
                                  grid, {points.data(), hits.data(), smaller.data()}, scratch.data());
}

template <class T>
int64_t reliability(const Logits<T> &probs, Line<const int64_t> labels, std::optional<Line<const double>> weights,
                    std::optional<AnyMatrix> ties, Table<const double> edges, Table<const double> thresholds,
                    Table<const int64_t> home, double grain, Table<double> facts, Line<int64_t> rank,
                    Table<double> excess, Table<double> mass, Table<double> hits, Table<double> kept) {
    nb::gil_scoped_release free;
    const Bins bins = {int64_t(edges.shape(1)), edges.shape(0) == 1 ? 0 : int64_t(edges.shape(1)), edges.data(),
                       int64_t(thresholds.shape(0)), thresholds.data(), home.data()};
    return read({matrix(probs), labels.data(), weights ? weights->data() : nullptr, ties_of(ties)},
                {facts.data(), rank.data()}, excess.size() ? &bins : nullptr,
                {excess.data(), mass.data(), hits.data(), kept.data(), mass.shape(0) < excess.shape(0), grain});
}

double solve_edges(bool information, Line<const double> low, Line<const double> high, Line<int64_t> cuts) {
    nb::gil_scoped_release free;
    const Cost cost = information ? Cost::information : Cost::squares;
    return best_cuts(cost, low.data(), high.data(), int64_t(low.shape(0)) - 1, int64_t(cuts.shape(0)) + 1, cuts.data());
}

template <class T> void define(nb::module_ &m) {
    m.def("logodds", &logodds<T>);
    m.def("apply", &apply<T>);
    m.def("summarise", &summarise<T>, nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg(),
          nb::arg(), nb::arg(), nb::arg());
    m.def("reliability", &reliability<T>, nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg(),
          nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg());
}

}  // namespace

NB_MODULE(_native, m) {
    define<float>(m);
    define<double>(m);
    m.def("solve_edges", &solve_edges);
    m.def("use_instruction_set", &use_instruction_set);
    m.def("instruction_sets", &available_instruction_sets);
    m.def("instruction_set", [] { return std::string(chosen->name); });
}
