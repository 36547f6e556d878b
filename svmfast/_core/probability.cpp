// Probability estimates from decision values, with the rows divided among threads: coupling.hpp.
#include "coupling.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "arrays.hpp"
#include "math.hpp"
#include "threads.hpp"

namespace svmfast {
namespace {

constexpr std::size_t BLOCK = 256;

Sigmoids sigmoids(const In2<double> &decisions, const In1<double> &a, const In1<double> &b, std::size_t classes) {
    if (classes < 2 || decisions.shape(1) != classes * (classes - 1) / 2 || a.shape(0) != decisions.shape(1) ||
        b.shape(0) != decisions.shape(1))
        throw std::invalid_argument("one value and one sigmoid for each pair of classes is needed");
    return {classes, a.data(), b.data()};
}

Out<double> pairwise_probabilities(In2<double> decisions, In1<double> a, In1<double> b, std::size_t classes) {
    const Sigmoids s = sigmoids(decisions, a, b, classes);
    const std::size_t n = decisions.shape(0);
    std::unique_ptr<double[]> out(new double[n * s.pairs()]);
    {
        nb::gil_scoped_release unlocked;
        SVMFAST_DISPATCH(pairwise_rows, s, decisions.data(), n, out.get());
    }
    return give(std::move(out), {n, s.pairs()});
}

// (estimates, and with errors the rows for which LIBSVM's could be printed differently)
std::tuple<Out<double>, Out<std::uint8_t>> probabilities(In2<double> decisions, In1<double> a, In1<double> b,
                                                         std::size_t classes, std::optional<In2<double>> errors,
                                                         Threads wanted) {
    const Sigmoids s = sigmoids(decisions, a, b, classes);
    const std::size_t n = decisions.shape(0), marks = errors ? n : 0;
    if (errors && (errors->shape(0) != n || errors->shape(1) != s.pairs()))
        throw std::invalid_argument("one error for each value is needed");
    std::unique_ptr<double[]> out(new double[n * classes]);
    std::unique_ptr<std::uint8_t[]> near_boundary(new std::uint8_t[marks]);
    {
        nb::gil_scoped_release unlocked;
        // Two sigmoids a pair, or some rounds of coupling.
        const Threads threads = wanted.for_work(100.0 * double(n) * double(s.pairs()));
        parallel_for(divide_up(n, BLOCK), threads, [&](std::size_t block, std::size_t) {
            const std::size_t first = block * BLOCK, count = std::min(BLOCK, n - first);
            SVMFAST_DISPATCH(probability_rows, s, decisions.data() + first * s.pairs(),
                             errors ? errors->data() + first * s.pairs() : nullptr, count, out.get() + first * classes,
                             near_boundary.get() + (errors ? first : 0));
        });
    }
    return {give(std::move(out), {n, classes}), give(std::move(near_boundary), {marks})};
}

}  // namespace
}  // namespace svmfast

void register_probability(nanobind::module_ &m) {
    using namespace svmfast;
    using namespace nb::literals;
    m.def("pairwise_probabilities", &pairwise_probabilities, "decisions"_a.noconvert(), "a"_a.noconvert(),
          "b"_a.noconvert(), "classes"_a);
    m.def("probabilities", &probabilities, "decisions"_a.noconvert(), "a"_a.noconvert(), "b"_a.noconvert(), "classes"_a,
          "errors"_a.noconvert().none(), "threads"_a);
}
