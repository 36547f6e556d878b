// Probability estimates from decision values, with the rows divided among threads (coupling.hpp).
#include "coupling.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "loops.hpp"
#include "math.hpp"
#include "threads.hpp"

namespace svmfast {
namespace {

constexpr std::size_t BLOCK = 256;

}  // namespace

std::tuple<Out<double>, Out<std::uint8_t>> probabilities(In2<double> decisions, In1<double> a, In1<double> b,
                                                         std::size_t classes, std::optional<In2<double>> errors,
                                                         Threads wanted) {
    if (classes < 2 || decisions.shape(1) != classes * (classes - 1) / 2 || a.shape(0) != decisions.shape(1) ||
        b.shape(0) != decisions.shape(1))
        throw std::invalid_argument("one value and one sigmoid for each pair of classes is needed");
    const Sigmoids s{classes, a.data(), b.data()};
    const std::size_t n = decisions.shape(0), marks = errors ? n : 0;
    if (errors && (errors->shape(0) != n || errors->shape(1) != s.pairs()))
        throw std::invalid_argument("one error for each value is needed");
    std::unique_ptr<double[]> out(new double[n * classes]);
    std::unique_ptr<std::uint8_t[]> near_boundary(new std::uint8_t[marks]);
    // Two sigmoids a pair, or some rounds of coupling.
    const Threads threads = wanted.for_work(100.0 * double(n) * double(s.pairs()));
    parallel_for(divide_up(n, BLOCK), threads, [&](std::size_t block, std::size_t) {
        const std::size_t first = block * BLOCK, count = std::min(BLOCK, n - first);
        probability_rows(s, decisions.data() + first * s.pairs(), errors ? errors->data() + first * s.pairs() : nullptr,
                         count, out.get() + first * classes, near_boundary.get() + (errors ? first : 0));
    });
    return {give(std::move(out), {n, classes}), give(std::move(near_boundary), {marks})};
}

}  // namespace svmfast
