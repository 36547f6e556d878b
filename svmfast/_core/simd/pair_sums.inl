// Sums over pairs of points, in tiles whose products stay in registers.
#include "polynomial.hpp"
#include "simd/tiles.hpp"

namespace svmfast::SVMFAST_ISA {

void pair_sums(const PairSums &p, std::size_t block, double *sums) {
    constexpr std::size_t B = PairSums::BLOCK, V = 2;
    const double *points = p.points.data() + block * B * p.d, *weights = p.weights.data() + block * B;
    vd total[64] = {};
    Pulse pulse;
    const auto add_pairs = [&](std::size_t other) {
        pulse.spent(B * B * (p.d + static_cast<std::size_t>(p.count)));
        const double *others = p.points.data() + other * B * p.d, *factors = p.weights.data() + other * B;
        vd sum[64] = {};
        for (std::size_t i = 0; i < B; i += ROWS)
            for (std::size_t k = 0; k < B; k += V * W) {
                vd gram[ROWS][V] = {}, term[ROWS][V];
                add_products(gram, p.d, [=](std::size_t r, std::size_t f) { return points[f * B + i + r]; },
                             [=](std::size_t f) { return others + f * B + k; });
    SVMFAST_UNROLL for (std::size_t r = 0; r < ROWS; ++r)
                    SVMFAST_UNROLL for (std::size_t v = 0; v < V; ++v)
                        term[r][v] = powi(gram[r][v], p.first) * (load(factors + k + v * W) * weights[i + r]);
                for (int j = 0; j < p.count; ++j)
                    SVMFAST_UNROLL for (std::size_t r = 0; r < ROWS; r += 2) {
                        sum[j] += (term[r][0] + term[r][1]) + (term[r + 1][0] + term[r + 1][1]);
                        SVMFAST_UNROLL for (std::size_t e = 0; e < 2 * V; ++e)
                            term[r + e / V][e % V] *= gram[r + e / V][e % V];
                    }
            }
        for (int j = 0; j < p.count; ++j) total[j] += other == block ? sum[j] : 2 * sum[j];
    };
    for (std::size_t other = block; other < p.blocks; ++other) add_pairs(other);
    for (int j = 0; j < p.count; ++j) sums[j] += horizontal_sum(total[j]);
}

}  // namespace svmfast::SVMFAST_ISA
