// Binds the library to Python. Arrays are passed without conversion or copies, and every function that loops runs
// without the interpreter's lock; an object keeps the arrays that it was made of.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <pthread.h>

#include "loops.hpp"
#include "svmfast.hpp"

namespace nb = nanobind;

namespace nanobind::detail {

// The array's type in signatures.
template <class T>
constexpr auto array_name() {
    return const_name("NDArray[numpy.") + dtype_traits<T>::name + const_name("]");
}

template <class T, std::size_t D>
struct type_caster<svmfast::View<T, D>> {
    using View = svmfast::View<T, D>;
    using Array = make_caster<ndarray<const T, ndim<D>, c_contig, device::cpu>>;
    NB_TYPE_CASTER(View, array_name<T>())

    bool from_python(handle source, std::uint32_t flags, cleanup_list *cleanup) noexcept {
        if (!array_.from_python(source, flags & ~std::uint32_t(cast_flags::convert), cleanup)) return false;
        std::array<std::size_t, D> shape;
        for (std::size_t i = 0; i < D; ++i) shape[i] = array_.value.shape(i);
        value = {array_.value.data(), shape};
        return true;
    }

  private:
    Array array_;
};

// The arrays of svmfast.rows.Rows.
template <>
struct type_caster<svmfast::SparseRows> {
    NB_TYPE_CASTER(svmfast::SparseRows, const_name("Rows"))

    bool from_python(handle source, std::uint32_t flags, cleanup_list *cleanup) noexcept {
        const auto array = [&](auto &caster, const char *name) {
            return caster.from_python(getattr(source, name, none()), flags, cleanup);
        };
        if (!array(indptr_, "indptr") || !array(indices_, "indices") || !array(values_, "values")) return false;
        if (!indptr_.value.shape(0) || indices_.value.shape(0) != values_.value.shape(0)) return false;
        value = {{indptr_.value.data(), indices_.value.data(), values_.value.data()}, indptr_.value.shape(0) - 1};
        return true;
    }

  private:
    make_caster<svmfast::In1<std::int64_t>> indptr_;
    make_caster<svmfast::In1<std::int32_t>> indices_;
    make_caster<svmfast::In1<double>> values_;
};

template <class T>
struct type_caster<svmfast::Out<T>> {
    using Array = ndarray<numpy, T, c_contig>;
    NB_TYPE_CASTER(svmfast::Out<T>, array_name<T>())

    static handle from_cpp(svmfast::Out<T> &&out, rv_policy policy, cleanup_list *cleanup) noexcept {
        capsule owner(out.data.get(), out.data.get_deleter());
        return make_caster<Array>::from_cpp(Array(out.data.release(), out.shape.size(), out.shape.data(), owner),
                                            policy, cleanup);
    }
};

template <>
struct type_caster<svmfast::Growing<char>> {
    NB_TYPE_CASTER(svmfast::Growing<char>, const_name("bytes"))

    static handle from_cpp(const svmfast::Growing<char> &text, rv_policy, cleanup_list *) noexcept {
        return PyBytes_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
    }
};

template <>
struct type_caster<svmfast::Threads> {
    NB_TYPE_CASTER(svmfast::Threads, const_name("int"))

    bool from_python(handle source, std::uint32_t, cleanup_list *) noexcept {
        if (!PyIndex_Check(source.ptr())) return false;
        value = svmfast::Threads(PyNumber_AsSsize_t(source.ptr(), nullptr));  // clipped
        const bool failed = PyErr_Occurred() != nullptr;
        PyErr_Clear();
        return !failed;
    }
};

}  // namespace nanobind::detail

namespace svmfast {
namespace {

using namespace nb::literals;

constexpr nb::call_guard<nb::gil_scoped_release> unlocked;

// --- signals and memory --------------------------------------------------------------------------------------------

unsigned long main_thread = 0;  // the only thread in which Python runs its handlers

// The thread that forked is the child's main thread.
void after_fork_in_child() { main_thread = PyThread_get_thread_ident(); }

void ask_python() {
    if (PyThread_get_thread_ident() != main_thread) return;
    nb::gil_scoped_acquire held;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

// --- LIBSVM text ---------------------------------------------------------------------------------------------------

// The first fault: (rule, line, where the line starts in the text, where the token does and ends or -1, found, wanted).
using Fault =
    std::tuple<const char *, std::int64_t, std::ptrdiff_t, std::ptrdiff_t, std::ptrdiff_t, std::int64_t, std::int64_t>;

std::optional<Fault> feed(Tokenizer &tokenizer, In1<std::uint8_t> text, std::size_t begin, std::size_t end,
                          Threads threads) {
    const svmlight::Fault *f = tokenizer.feed(text, begin, end, threads);
    if (!f) return std::nullopt;
    const auto place = [&](const char *p) { return p ? p - reinterpret_cast<const char *>(text.data()) : -1; };
    return Fault{f->rule, f->line, place(f->line_begin), place(f->begin), place(f->end), f->found, f->wanted};
}

// The rows since the last call: (labels, indptr, indices, values, width, line of the first row, notes).
auto take(Tokenizer &tokenizer) {
    svmlight::Block &rows = tokenizer.block();
    auto taken = std::make_tuple(rows.labels.give(), rows.indptr.give(), rows.indices.give(), rows.values.give(),
                                 rows.width, rows.first_row, rows.notes);
    rows.clear();
    return taken;
}

void bind_text(nb::module_ &m) {
    nb::class_<Tokenizer>(m, "SvmlightTokenizer")
        .def("__init__",
             [](Tokenizer *at, bool zero_based, bool precomputed, bool dense, bool lenient, std::size_t numbers) {
                 new (at) Tokenizer({zero_based, precomputed, dense, lenient, numbers});
             })
        .def("feed", &feed, unlocked)
        .def("take", &take)
        .def_prop_ro("rows", [](Tokenizer &t) { return t.block().rows().count; });
    m.attr("TEXT_PADDING") = text::padding;
    m.def("write_rows", &write_rows, unlocked);
    // Scaling.
    nb::class_<ScalingMap>(m, "ScalingMap")
        .def(nb::init<In1<double>, In1<double>, bool, double, double, double, double, int>())
        .def_prop_ro("moving", &ScalingMap::moving)
        .def("apply", &ScalingMap::apply, unlocked);
    nb::class_<ColumnExtremes>(m, "ColumnExtremes")
        .def(nb::init<>())
        .def("add", &ColumnExtremes::add, unlocked)
        .def("result", &ColumnExtremes::result);
    m.def("round_digits", &round_digits, unlocked);
}

// --- models --------------------------------------------------------------------------------------------------------

void bind_models(nb::module_ &m) {
    using Sizes = In1<std::int64_t>;
    nb::class_<DecisionSums>(m, "DecisionSums")
        .def(nb::init<int, double, double, int, const SparseRows &, In2<double>, In1<double>, In1<std::int64_t>>(),
             nb::keep_alive<1, 6>(), nb::keep_alive<1, 7>())
        .def("decide", &DecisionSums::decide, "rows"_a, "libsvm_order"_a, "threads"_a, unlocked)
        .def("values", &DecisionSums::values, "rows"_a, "single"_a, "threads"_a, unlocked)
        .def("labels", &DecisionSums::labels, unlocked)
        .def("probability_values", &DecisionSums::probability_values, unlocked)
        .def_prop_ro("scattered", &DecisionSums::scattered)
        .def_prop_ro("one_hot", &DecisionSums::one_hot)
        .def_prop_ro("lattice", &DecisionSums::lattice);
    m.def("probabilities", &probabilities, "decisions"_a, "a"_a, "b"_a, "classes"_a, "errors"_a.none(), "threads"_a,
          unlocked);
    // Routed models.
    nb::class_<Router>(m, "Router")
        .def(nb::init<In1<std::int32_t>, Sizes, In2<double>>())
        .def("route", nb::overload_cast<const SparseRows &, Threads>(&Router::route, nb::const_), unlocked)
        .def_prop_ro("cells", &Router::cells);
    nb::class_<CellSums>(m, "CellSums")
        .def(nb::init<In1<std::int32_t>, Sizes, In2<double>, In1<double>, Sizes, const SparseRows &, In2<double>,
                      In2<double>, int, Sizes, In2<std::int64_t>, In1<double>, In2<double>, std::size_t,
                      In2<std::int64_t>>())
        .def("decide", &CellSums::decide, unlocked)
        .def("labels", &CellSums::labels, unlocked);
    // Polynomials.
    m.def("sums_over_pairs", &sums_over_pairs, unlocked);
    m.attr("SPARE_ENTRIES") = SPARE_ENTRIES;
    nb::class_<PolynomialValues>(m, "PolynomialValues")
        .def(
            "__init__",
            [](PolynomialValues *at, In1<std::int32_t> features, double gamma, bool about_zero, In2<double> centers,
               In2<std::int32_t> orders, In2<std::int64_t> starts, In1<double> coefficients, In1<double> rho,
               std::optional<In3<double>> degrees, std::optional<In3<double>> rest) {
                new (at) PolynomialValues(
                    {features, gamma, about_zero, centers, orders, starts, coefficients, rho, degrees, rest});
            },
            "features"_a, "gamma"_a, "about_zero"_a, "centers"_a, "orders"_a, "starts"_a, "coefficients"_a, "rho"_a,
            "bound_degrees"_a.none(), "bound_rest"_a.none(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 5>(),
            nb::keep_alive<1, 6>(), nb::keep_alive<1, 7>(), nb::keep_alive<1, 8>(), nb::keep_alive<1, 9>(),
            nb::keep_alive<1, 10>(), nb::keep_alive<1, 11>())
        .def(
            "values",
            [](const PolynomialValues &self, const SparseRows &rows, bool bounds,
               std::optional<std::tuple<double, In1<float>, In2<double>, In3<double>>> single, Threads threads) {
                std::optional<SinglePolynomials> narrow;
                if (single) std::apply([&](auto... part) { narrow = SinglePolynomials{part...}; }, *single);
                return self.values(rows, bounds, narrow, threads);
            },
            "rows"_a, "bounds"_a, "single"_a.none(), "threads"_a, unlocked);
}

// --- training ------------------------------------------------------------------------------------------------------

void bind_training(nb::module_ &m) {
    nb::class_<BudgetedSgd>(m, "BudgetedSgd")
        .def(
            "__init__",
            [](BudgetedSgd *at, std::size_t columns, std::size_t budget, double gamma, double lambda, int maintenance,
               int loss, double epsilon, std::array<double, 2> weights, bool bias, In2<float> angle, In2<float> h,
               In1<float> reach) {
                const MergeTable table{angle.data(), h.data(), reach.data(), angle.shape(1)};
                new (at) BudgetedSgd({columns, budget, gamma, lambda, Maintenance(maintenance), Loss(loss), epsilon,
                                      weights, bias, table});
            },
            nb::keep_alive<1, 11>(), nb::keep_alive<1, 12>(), nb::keep_alive<1, 13>())
        .def("steps", &BudgetedSgd::steps, unlocked)
        .def("expansion", &BudgetedSgd::expansion)
        .def("counts", &BudgetedSgd::counts);
    m.def("merge_tables", &merge_tables, unlocked);
    m.def("rbf_rows", &rbf_rows, unlocked);
    nb::class_<ReducedSetObjective>(m, "ReducedSetObjective")
        .def(nb::init<int, double, int, bool, const SparseRows &, std::size_t, In1<std::int64_t>, In2<double>,
                      In2<double>>())
        .def("evaluate", &ReducedSetObjective::evaluate, unlocked);
}

// --- svmfast predict -----------------------------------------------------------------------------------------------

// The fields of svmfast.cli.plain._Plain.
auto predict_plain(const std::vector<nb::bytes> &arguments) {
    std::vector<std::string> words;
    for (const nb::bytes &word : arguments) words.emplace_back(word.c_str(), word.size());
    const Prediction p = [&] {
        nb::gil_scoped_release released;
        keep_freed_memory();
        return predict_file(plain_job(words));
    }();
    const auto bytes = [](const std::string &path) { return nb::bytes(path.data(), path.size()); };
    return std::make_tuple(bytes(p.job.data), bytes(p.job.output), p.job.quiet, p.summary, p.rows, p.correct, p.unknown,
                           p.differing, p.largest_column, p.columns, p.classes, p.scale_rows, p.median_norm,
                           p.least_norm, p.largest_norm);
}

}  // namespace
}  // namespace svmfast

NB_MODULE(_native, m) {
    using namespace svmfast;
    // Objects that a cache or a saved traceback still holds at interpreter exit are not errors; do not report them on
    // stderr.
    nb::set_leak_warnings(false);
    m.doc() = "Native loops of svmfast: typed arrays in, typed arrays out.";
    main_thread = nb::cast<unsigned long>(nb::module_::import_("threading").attr("main_thread")().attr("ident"));
    pthread_atfork(nullptr, nullptr, after_fork_in_child);
    on_interrupt = ask_python;
    m.def("set_least_threaded_work", [](double multiply_adds) { least_threaded_work = multiply_adds; });
    m.def("keep_freed_memory", &keep_freed_memory);
    m.def("isa", &isa);
    bind_text(m);
    bind_models(m);
    bind_training(m);
    m.def("predict_plain", &predict_plain);
}
