#include "pair_sums.hpp"

#include <algorithm>
#include <stdexcept>

#include "loops.hpp"
#include "math.hpp"

namespace svmfast {

std::tuple<Out<double>, Out<double>> sums_over_pairs(In2<double> points, In1<double> weights, int first, int matrices,
                                                     int sums, Threads threads) {
    constexpr std::size_t B = PairSums::BLOCK;
    const std::size_t n = points.shape(0), d = points.shape(1), blocks = divide_up(n, B);
    if (weights.shape(0) != n || first < 1 || matrices < 0 || sums < 0 || sums > 64)
        throw std::invalid_argument("weights or degrees that do not fit");
    PairSums p{d, round_up(d, vector_lanes()), blocks, first, matrices, sums, {}, {}, {}, {}};
    p.lanes.resize(blocks * B * d + 8 * B), p.rows.resize(blocks * B * p.stride), p.weights.resize(blocks * B);
    p.weighted.resize(p.rows.size());
    for (std::size_t i = 0; i < n; ++i) {
        p.weights[i] = weights.data()[i];
        for (std::size_t f = 0; f < d; ++f) {
            p.lanes[(i / B * d + f) * B + i % B] = p.rows[i * p.stride + f] = points(i, f);
            p.weighted[i * p.stride + f] = p.weights[i] * points(i, f);
        }
    }
    // Parts that depend on sizes alone, summed in order, so that the number of threads changes no bit.
    const std::size_t count = std::size_t(matrices), numbers = std::size_t(sums), one = p.height() * p.stride;
    const std::size_t parts = std::min({blocks, std::size_t{64}, (std::size_t{1} << 23) / (count * one + 1) + 1});
    std::vector<Aligned<double>> found(parts);
    parallel_for(parts, threads, [&](std::size_t part, std::size_t) {
        Aligned<double> room(count * B * p.stride), &mine = found[part];
        mine.resize(count * one + numbers);
        for (std::size_t block = part; block < blocks; block += parts)
            SVMFAST_DISPATCH(pair_sums, p, block, room.data(), mine.data(), mine.data() + count * one);
    });
    std::unique_ptr<double[]> all(new double[count * d * d]()), scalars(new double[numbers]());
    for (const auto &part : found) {
        for (std::size_t k = 0; k < count * d * d; ++k)
            all[k] += part[k / (d * d) * one + k / d % d * p.stride + k % d];
        for (std::size_t j = 0; j < numbers; ++j) scalars[j] += part[count * one + j];
    }
    return {give(std::move(all), {count, d, d}), give(std::move(scalars), {numbers})};
}

}  // namespace svmfast
