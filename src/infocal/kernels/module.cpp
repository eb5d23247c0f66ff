// The Python face of the kernels: shapes are checked by the callers, the GIL is released here.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "apply.hpp"
#include "imax.hpp"
#include "memory.hpp"
#include "partition.hpp"
#include "ranks.hpp"
#include "reliability.hpp"
#include "rows.hpp"
#include "softmax.hpp"
#include "summary.hpp"

namespace nb = nanobind;
using namespace infocal;

namespace {

template <class T> using Logits = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
template <class T> using Table = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T> using Cube = nb::ndarray<T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
template <class T> using Line = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

struct Compiled {  // the loops of one instruction set
    const InstructionSet *rows;
    const Applies *applies;
    const Softmaxes *softmaxes;
    const Reader *reader;
    const Summarise *summarise;
    const BestCuts *best_cuts;
    const IMax *imax;
};

std::vector<Compiled> instruction_sets() {
    std::vector<Compiled> sets = {{&baseline, &applies::baseline, &softmaxes::baseline, &baseline_reader,
                                   &summaries::baseline, &partitions::baseline, &imaxes::baseline}};
#ifdef INFOCAL_X86_LEVELS
    __builtin_cpu_init();
    if (__builtin_cpu_supports("x86-64-v3"))
        sets.push_back({&avx2, &applies::avx2, &softmaxes::avx2, &avx2_reader, &summaries::avx2, &partitions::avx2,
                        &imaxes::avx2});
    if (__builtin_cpu_supports("x86-64-v4"))
        sets.push_back({&avx512, &applies::avx512, &softmaxes::avx512, &avx512_reader, &summaries::avx512,
                        &partitions::avx512, &imaxes::avx512});
#endif
    return sets;
}

Compiled chosen = instruction_sets().back();

void use_instruction_set(const std::string &name) {
    for (const Compiled &set : instruction_sets())
        if (name == set.rows->name) {
            chosen = set;
            return;
        }
    throw nb::value_error(("instruction set '" + name + "' is not available on this machine").c_str());
}

std::vector<std::string> available_instruction_sets() {
    std::vector<std::string> names;
    for (const Compiled &set : instruction_sets()) names.push_back(set.rows->name);
    return names;
}

const Rows<float> &rows_of(float) { return chosen.rows->single; }
const Rows<double> &rows_of(double) { return chosen.rows->twice; }
Apply<float> apply_of(float) { return chosen.applies->single; }
Apply<double> apply_of(double) { return chosen.applies->twice; }
const Softmax<float> &softmax_of(float) { return chosen.softmaxes->single; }
const Softmax<double> &softmax_of(double) { return chosen.softmaxes->twice; }

template <class T> Matrix<T> matrix(const Logits<T> &x) {
    return {x.data(), int64_t(x.shape(0)), int64_t(x.shape(1)), x.stride(0), x.stride(1)};
}

int64_t read(const Samples<float> &x, const Facts &facts, const Bins *bins, const Tables &into) {
    return chosen.reader->single(x, facts, bins, into);
}

int64_t read(const Samples<double> &x, const Facts &facts, const Bins *bins, const Tables &into) {
    return chosen.reader->twice(x, facts, bins, into);
}

using Weights = std::optional<Line<const double>>;

const double *data_of(const Weights &weights) { return weights ? weights->data() : nullptr; }

using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;

Ties ties_of(const std::optional<AnyMatrix> &x) {
    if (!x) return {};
    const bool single = x->dtype() == nb::dtype<float>();
    return {single ? static_cast<const float *>(x->data()) : nullptr,
            single ? nullptr : static_cast<const double *>(x->data()), x->stride(0), x->stride(1)};
}

class Scratch {
  public:
    explicit Scratch(int64_t columns) : room(new double[scratch_size(columns) + 8]) {}
    double *data() { return reinterpret_cast<double *>((reinterpret_cast<uintptr_t>(room.get()) + 63) / 64 * 64); }

  private:
    std::unique_ptr<double[]> room;
};

// A matrix for a large result, whose pages are given back when it dies.
template <class T> nb::ndarray<nb::numpy, T, nb::ndim<2>> room(size_t rows, size_t columns) {
    const Pages pages = take_pages(rows * columns * sizeof(T));
    if (!pages.data) throw std::bad_alloc();
    nb::capsule owner(new Pages(pages), [](void *held) noexcept {
        const std::unique_ptr<Pages> given(static_cast<Pages *>(held));
        give_back(*given);
    });
    return nb::ndarray<nb::numpy, T, nb::ndim<2>>(pages.data, {rows, columns}, owner);
}

template <class T> int64_t logodds(const Logits<T> &logits, Table<double> out) {
    nb::gil_scoped_release free;
    Scratch scratch(logits.shape(1));
    return rows_of(T()).logodds(matrix(logits), out.data(), scratch.data());
}

template <class T> int64_t row_facts(const Logits<T> &logits, Table<double> out) {
    nb::gil_scoped_release free;
    Scratch scratch(logits.shape(1));
    return rows_of(T()).facts(matrix(logits), out.data(), scratch.data());
}

template <class T>
void columns(const Logits<T> &logits, Table<const double> facts, Line<const int64_t> wanted, Table<double> out) {
    nb::gil_scoped_release free;
    Scratch scratch(wanted.shape(0));
    rows_of(T()).columns(matrix(logits), facts.data(), wanted.data(), int64_t(wanted.shape(0)), out.data(),
                         scratch.data());
}

template <class T>
int64_t apply(const Logits<T> &logits, Table<const double> edges, Table<const double> bounds,
              Table<const double> values, Line<const int64_t> group_of, Table<T> out, bool past_caches) {
    nb::gil_scoped_release free;
    Scratch scratch(logits.shape(1));
    const Binnings bins = {int64_t(edges.shape(0)), int64_t(edges.shape(1)), edges.data(), bounds.data(),
                           values.data(), group_of.data()};
    return apply_of(T())(matrix(logits), bins, rows_of(T()).logodds_at, {out.data(), past_caches},
                         scratch.data());
}

template <class T>
int64_t summarise(const Logits<T> &logits, Line<const int64_t> labels, Weights weights,
                  Line<const int64_t> group_of, double reach, double per_unit, Table<double> points,
                  Table<double> hits, Table<double> smaller) {
    nb::gil_scoped_release free;
    Scratch scratch(logits.shape(1));
    const Grid grid = {int64_t(points.shape(1)), reach, per_unit};
    return rows_of(T()).summarise(matrix(logits), labels.data(), data_of(weights), group_of.data(),
                                  grid, {points.data(), hits.data(), smaller.data()}, scratch.data());
}

int64_t tally(const Logits<float> &logits, Line<const int64_t> labels, Weights weights,
              double grain, Line<const int64_t> group_of, double reach, double per_unit, Table<double> points,
              Table<double> hits, Table<double> offsets) {
    nb::gil_scoped_release free;
    Scratch scratch(logits.shape(1));
    const Grid grid = {int64_t(points.shape(1)), reach, per_unit};
    const Masses masses = {data_of(weights), grain, grain * double(QUANTA)};
    return (*chosen.summarise)(matrix(logits), labels.data(), masses, group_of.data(), int64_t(points.shape(0)), grid,
                               {points.data(), hits.data(), offsets.data()}, scratch.data());
}

template <class T> void rank(Table<const T> probs, Table<const T> ties, Table<int64_t> out) {
    nb::gil_scoped_release free;
    best_of_rows(probs.data(), ties.data(), int64_t(probs.shape(0)), int64_t(probs.shape(1)), int64_t(out.shape(1)),
                 out.data());
}

template <class T> int64_t softmax(const Logits<T> &logits, double inverse, Table<T> out, bool past_caches) {
    nb::gil_scoped_release free;
    Scratch scratch(logits.shape(1));
    return softmax_of(T()).apply(matrix(logits), inverse, {out.data(), past_caches}, scratch.data());
}

template <class T>
int64_t tempered(const Logits<T> &logits, Line<const int64_t> labels, Weights weights,
                 double inverse, Line<double> out) {
    nb::gil_scoped_release free;
    Scratch scratch(logits.shape(1));
    Tempered sums = {};
    const int64_t bad = softmax_of(T()).tempered(matrix(logits), labels.data(), data_of(weights),
                                                 inverse, sums, scratch.data());
    const double values[] = {sums.mass, sums.log_sum, sums.mean, sums.variance, sums.label, sums.beaten};
    for (int64_t j = 0; j < 6; ++j) out.data()[j] += values[j];
    return bad;
}

template <class T>
int64_t reliability(const Logits<T> &probs, Line<const int64_t> labels, Weights weights,
                    std::optional<AnyMatrix> ties, Table<const double> edges, Table<const double> thresholds,
                    Table<const int64_t> home, double grain, Table<double> facts, Line<int64_t> rank,
                    Table<double> excess, Table<double> mass, Table<double> hits, Table<double> kept) {
    nb::gil_scoped_release free;
    const Bins bins = {int64_t(edges.shape(1)), edges.shape(0) == 1 ? 0 : int64_t(edges.shape(1)), edges.data(),
                       int64_t(thresholds.shape(0)), thresholds.data(), home.data()};
    return read({matrix(probs), labels.data(), data_of(weights), ties_of(ties)},
                {facts.data(), rank.data()}, excess.size() ? &bins : nullptr,
                {excess.data(), mass.data(), hits.data(), kept.data(), mass.shape(0) < excess.shape(0), grain});
}

void running(Line<const double> low, Line<const double> high, Line<double> before, Line<double> after) {
    nb::gil_scoped_release free;
    running_sums(low.data(), high.data(), int64_t(low.shape(0)), before.data(), after.data());
}

double solve_edges(bool information, Line<const double> low, Line<const double> high, Line<const int64_t> from,
                   Line<const int64_t> to, Line<int64_t> cuts) {
    nb::gil_scoped_release free;
    const Cost cost = information ? Cost::information : Cost::squares;
    const Sums sums = {low.data(), high.data(), int64_t(low.shape(0)) - 1};
    return (*chosen.best_cuts)(cost, sums, {from.data(), to.data(), int64_t(cuts.shape(0))}, cuts.data());
}

double expect(Line<const double> posterior, Line<const double> weights, Line<double> hits, Line<double> misses) {
    nb::gil_scoped_release free;
    return chosen.imax->expect({posterior.data(), weights.data(), int64_t(posterior.shape(0))}, hits.data(),
                               misses.data());
}

void cut_points(Line<const double> logodds, Line<const double> weights, Line<const double> hits,
                Line<const double> misses, double limit, Line<int64_t> cuts) {
    nb::gil_scoped_release free;
    const int64_t points = int64_t(logodds.shape(0));
    chosen.imax->cut({logodds.data(), weights.data(), points}, {hits.data(), misses.data(), points}, limit,
                     int64_t(cuts.shape(0)) + 1, cuts.data());
}

Questions questions(const Line<const double> &logodds, const Weights &weights, const Line<const int64_t> &starts) {
    return {{logodds.data(), data_of(weights), int64_t(logodds.shape(0))}, starts.data(), int64_t(starts.shape(0)) - 1};
}

void bin_questions(Line<const double> logodds, Weights weights, Line<const int64_t> starts, Line<const double> told,
                   Weights told_weights, Line<const int64_t> told_starts, Cube<double> sides, Cube<double> masses,
                   Line<double> limits) {
    nb::gil_scoped_release free;
    chosen.imax->bin(questions(logodds, weights, starts), questions(told, told_weights, told_starts),
                     {sides.data(), masses.data(), limits.data(), int64_t(masses.shape(2))});
}

// Nothing is converted on the way in: a copy made of an output would swallow what is written to it.
auto as_is() { return nb::arg().noconvert(); }

template <class T> void define(nb::module_ &m) {
    m.def("logodds", &logodds<T>, as_is(), as_is());
    m.def("apply", &apply<T>, as_is(), as_is(), as_is(), as_is(), as_is(), as_is(), nb::arg());
    m.def("row_facts", &row_facts<T>, as_is(), as_is());
    m.def("columns", &columns<T>, as_is(), as_is(), as_is(), as_is());
    m.def("rank", &rank<T>, as_is(), as_is(), as_is());
    m.def("summarise", &summarise<T>, as_is(), as_is(), as_is().none(), as_is(), nb::arg(), nb::arg(), as_is(),
          as_is(), as_is());
    m.def("softmax", &softmax<T>, as_is(), nb::arg(), as_is(), nb::arg());
    m.def("tempered", &tempered<T>, as_is(), as_is(), as_is().none(), nb::arg(), as_is());
    m.def("reliability", &reliability<T>, as_is(), as_is(), as_is().none(), as_is().none(), as_is(), as_is(), as_is(),
          nb::arg(), as_is(), as_is(), as_is(), as_is(), as_is(), as_is());
}

}  // namespace

NB_MODULE(_native, m) {
    define<float>(m);
    define<double>(m);
    m.def("room_single", &room<float>);
    m.def("room_double", &room<double>);
    m.def("tally", &tally, as_is(), as_is(), as_is().none(), nb::arg(), as_is(), nb::arg(), nb::arg(), as_is(), as_is(),
          as_is());
    m.attr("QUANTA") = QUANTA;
    m.def("running", &running, as_is(), as_is(), as_is(), as_is());
    m.def("solve_edges", &solve_edges, nb::arg(), as_is(), as_is(), as_is(), as_is(), as_is());
    m.def("expect", &expect, as_is(), as_is(), as_is(), as_is());
    m.def("cut_points", &cut_points, as_is(), as_is(), as_is(), as_is(), nb::arg(), as_is());
    m.def("bin_questions", &bin_questions, as_is(), as_is().none(), as_is(), as_is(), as_is().none(), as_is(), as_is(),
          as_is(), as_is());
    m.def("use_instruction_set", &use_instruction_set);
    m.def("instruction_sets", &available_instruction_sets);
    m.def("instruction_set", [] { return std::string(chosen.rows->name); });
}
