#include "pair_sums.hpp"

#include <algorithm>
#include <stdexcept>

#include "loops.hpp"
#include "math.hpp"

namespace svmfast {

Out<double> sums_over_pairs(In2<double> points, In1<double> weights, int first, int count, Threads threads) {
    constexpr std::size_t B = PairSums::BLOCK, PARTS = 64;
    const std::size_t n = points.shape(0), d = points.shape(1), blocks = divide_up(n, B), numbers = std::size_t(count);
    if (weights.shape(0) != n || first < 1 || count < 0 || count > 64)
        throw std::invalid_argument("weights or degrees that do not fit");
    PairSums p{d, blocks, first, count, Aligned<double>(blocks * B * d), Aligned<double>(blocks * B)};
    std::copy_n(weights.data(), n, p.weights.data());
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t f = 0; f < d; ++f) p.points[(i / B * d + f) * B + i % B] = points(i, f);
    // Parts are summed in order, so that the number of threads changes no bit.
    std::vector<double> parts(PARTS * numbers);
    parallel_for(PARTS, threads, [&](std::size_t part, std::size_t) {
        for (std::size_t block = part; block < blocks; block += PARTS)
            SVMFAST_DISPATCH(pair_sums, p, block, parts.data() + part * numbers);
    });
    std::unique_ptr<double[]> sums(new double[numbers]());
    for (std::size_t k = 0; k < parts.size(); ++k) sums[k % numbers] += parts[k];
    return give(std::move(sums), {numbers});
}

}  // namespace svmfast
