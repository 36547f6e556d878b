// Sums over pairs of points, in tiles that stay in the first cache.
#include "pair_sums.hpp"
#include "simd/tiles.hpp"

namespace svmfast::SVMFAST_ISA {

namespace {

template <std::size_t V>
inline void product_tile(double *c, std::size_t ldc, const double *a, std::size_t lda, const double *b, std::size_t ldb,
                         std::size_t n) {
    vd sum[ROWS][V];
    SVMFAST_UNROLL for (std::size_t i = 0; i < ROWS; ++i)
        SVMFAST_UNROLL for (std::size_t v = 0; v < V; ++v) sum[i][v] = load(c + i * ldc + v * W);
    add_products(sum, n, [=](std::size_t i, std::size_t k) { return a[i * lda + k]; },
                 [=](std::size_t k) { return b + k * ldb; });
    SVMFAST_UNROLL for (std::size_t i = 0; i < ROWS; ++i)
        SVMFAST_UNROLL for (std::size_t v = 0; v < V; ++v) store(c + i * ldc + v * W, sum[i][v]);
}

// C += A B, A of rows x n numbers, `lda` apart, and B of n x `columns`; whole tiles of rows, whole vectors of columns.
inline void add_product(std::size_t rows, std::size_t columns, double *c, std::size_t ldc, const double *a,
                        std::size_t lda, const double *b, std::size_t ldb, std::size_t n) {
    for (std::size_t i = 0; i < rows; i += ROWS) {
        std::size_t k = 0;
        for (; k + 2 * W <= columns; k += 2 * W) product_tile<2>(c + i * ldc + k, ldc, a + i * lda, lda, b + k, ldb, n);
        if (k < columns) product_tile<1>(c + i * ldc + k, ldc, a + i * lda, lda, b + k, ldb, n);
    }
}

}  // namespace

void pair_sums(const PairSums &p, std::size_t block, double *room, double *matrices, double *sums) {
    constexpr std::size_t B = PairSums::BLOCK, R = 16, V = 4;
    const std::size_t line = B * p.stride, count = static_cast<std::size_t>(p.matrices);
    double gram[R * B], power[R * B];
    vd total[64] = {};
    std::fill_n(room, count * line, 0.0);
    Pulse pulse;
    const auto add_pairs = [&](std::size_t other) {
        pulse.spent(B * B * (p.d + count * p.stride + static_cast<std::size_t>(p.sums + p.first)));
        const double *left = p.weights.data() + block * B, *right = p.weights.data() + other * B;
        for (std::size_t i = 0; i < B; i += R) {
            std::fill_n(gram, R * B, 0.0);
            add_product(R, B, gram, B, p.rows.data() + block * line + i * p.stride, p.stride,
                        p.lanes.data() + other * B * p.d, B, p.d);
            for (std::size_t e = 0; e < R * B; e += W) store(power + e, powi(load(gram + e), p.first - 1));
            for (std::size_t m = 0; m < count; ++m) {
                add_product(R, p.stride, room + m * line + i * p.stride, p.stride, power, B,
                            p.weighted.data() + other * line, p.stride, B);
                for (std::size_t e = 0; e < R * B; e += W) store(power + e, load(power + e) * load(gram + e));
            }
            vd sum[64] = {};
            for (std::size_t e = 0; p.sums && e < R * B; e += V * W) {
                vd g[V], term[V];
                SVMFAST_UNROLL for (std::size_t v = 0; v < V; ++v) {
                    g[v] = load(gram + e + v * W);
                    term[v] = load(power + e + v * W) * (load(right + e % B + v * W) * left[i + e / B]);
                }
                for (int j = 0; j < p.sums; ++j) {
                    SVMFAST_UNROLL for (std::size_t v = 0; v < V; ++v) term[v] *= g[v];
                    sum[j] += (term[0] + term[1]) + (term[2] + term[3]);
                }
            }
            for (int j = 0; j < p.sums; ++j) total[j] += sum[j];
        }
    };
    for (std::size_t other = block + 1; other < p.blocks; ++other) add_pairs(other);
    for (std::size_t k = 0; k < count * line; ++k) room[k] *= 2;
    for (int j = 0; j < p.sums; ++j) total[j] *= broadcast(2.0);
    add_pairs(block);
    for (std::size_t m = 0; m < count; ++m) {
        for (std::size_t k = 0; k < line; ++k) room[m * line + k] *= p.weights[block * B + k / p.stride];
        add_product(p.height(), p.stride, matrices + m * p.height() * p.stride, p.stride,
                    p.lanes.data() + block * B * p.d, B, room + m * line, p.stride, B);
    }
    for (int j = 0; j < p.sums; ++j) sums[j] += horizontal_sum(total[j]);
}

}  // namespace svmfast::SVMFAST_ISA
