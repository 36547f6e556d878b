// Products of small matrices in register tiles, for kernel values and coefficients of cells.
#pragma once
#include <algorithm>

#include "cells.hpp"
#include "simd/tiles.hpp"

namespace svmfast::SVMFAST_ISA {

// c[i][v] += sum_k a[i * ai + k * ak] b[k * ldb + v W], for i < M and v < V: all of c in registers.
template <std::size_t M, std::size_t V>
inline void product_block(double *c, std::size_t ldc, const double *a, std::size_t ai, std::size_t ak, const double *b,
                          std::size_t ldb, std::size_t n) {
    vd sum[M][V];
    SVMFAST_UNROLL for (std::size_t i = 0; i < M; ++i)
        SVMFAST_UNROLL for (std::size_t v = 0; v < V; ++v) sum[i][v] = load(c + i * ldc + v * W);
    add_products(sum, n, [=](std::size_t i, std::size_t k) { return a[i * ai + k * ak]; },
                 [=](std::size_t k) { return b + k * ldb; });
    SVMFAST_UNROLL for (std::size_t i = 0; i < M; ++i)
        SVMFAST_UNROLL for (std::size_t v = 0; v < V; ++v) store(c + i * ldc + v * W, sum[i][v]);
}

// C += A B, A of rows x n numbers and B of n x `vectors` vectors. A lies row by row, `lda` apart, or with lda = 0 in
// panels [k][row] of up to CELL_PANEL rows, each as wide as the rows it holds.
inline void product(std::size_t rows, std::size_t vectors, double *c, std::size_t ldc, const double *a, std::size_t lda,
             const double *b, std::size_t ldb, std::size_t n) {
    for (std::size_t i = 0; i < rows; i += CELL_PANEL) {
        const std::size_t here = std::min(CELL_PANEL, rows - i);
        const double *from = a + i * (lda ? lda : n);
        const std::size_t ai = lda ? lda : 1, ak = lda ? 1 : here;
        with_size<CELL_PANEL>(here, [&](auto m) {
            std::size_t v = 0;
            for (; v + 2 <= vectors; v += 2)
                product_block<m, 2>(c + i * ldc + v * W, ldc, from, ai, ak, b + v * W, ldb, n);
            if (v < vectors) product_block<m, 1>(c + i * ldc + v * W, ldc, from, ai, ak, b + v * W, ldb, n);
        });
    }
}

}  // namespace svmfast::SVMFAST_ISA
