// Products of small matrices in register tiles.
#pragma once
#include <algorithm>

#include "simd/tiles.hpp"

namespace svmfast::SVMFAST_ISA {

// c[i][v] += sum_k a[i * lda + k] b[k * ldb + v W], for i < M and v < V: all of c in registers.
template <std::size_t M, std::size_t V>
inline void product_block(double *c, std::size_t ldc, const double *a, std::size_t lda, const double *b,
                          std::size_t ldb, std::size_t n) {
    vd sum[M][V];
    SVMFAST_UNROLL for (std::size_t i = 0; i < M; ++i)
        SVMFAST_UNROLL for (std::size_t v = 0; v < V; ++v) sum[i][v] = load(c + i * ldc + v * W);
    add_products(sum, n, [=](std::size_t i, std::size_t k) { return a[i * lda + k]; },
                 [=](std::size_t k) { return b + k * ldb; });
    SVMFAST_UNROLL for (std::size_t i = 0; i < M; ++i)
        SVMFAST_UNROLL for (std::size_t v = 0; v < V; ++v) store(c + i * ldc + v * W, sum[i][v]);
}

// Rows of C whose sums fill the registers: AVX-512 has 32 of them, others 16.
constexpr std::size_t PRODUCT_ROWS = W == 8 ? 8 : 4;

// C += A B, A of rows x n numbers, `lda` apart, and B of n x `vectors` vectors.
inline void product(std::size_t rows, std::size_t vectors, double *c, std::size_t ldc, const double *a, std::size_t lda,
                    const double *b, std::size_t ldb, std::size_t n) {
    for (std::size_t i = 0; i < rows; i += PRODUCT_ROWS, a += PRODUCT_ROWS * lda, c += PRODUCT_ROWS * ldc)
        with_size<PRODUCT_ROWS>(std::min(PRODUCT_ROWS, rows - i), [&](auto m) {
            std::size_t v = 0;
            if constexpr (m <= 2)  // few sums: more of them side by side
                for (; v + 4 <= vectors; v += 4)
                    product_block<m, 4>(c + v * W, ldc, a, lda, b + v * W, ldb, n);
            for (; v + 2 <= vectors; v += 2) product_block<m, 2>(c + v * W, ldc, a, lda, b + v * W, ldb, n);
            if (v < vectors) product_block<m, 1>(c + v * W, ldc, a, lda, b + v * W, ldb, n);
        });
}

}  // namespace svmfast::SVMFAST_ISA
