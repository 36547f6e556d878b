// Inner products of one sparse row with feature-major vectors, eight slots at a time.
#pragma once
#include "simd/exp2.hpp"
#include "simd/tiles.hpp"

namespace svmfast::SVMFAST_ISA {

constexpr std::size_t PER_OCTET = 8 / W;
// Number of octets whose sums are in registers at the same time: AVX-512 has 32 registers, others 16.
constexpr std::size_t TILE = W == 8 ? 16 : W == 4 ? 6 : 3;

template <std::size_t N>
inline void dot_tile(const double *vectors, std::size_t stride, const std::int32_t *columns, const double *values,
                     std::size_t nnz, double *out) {
    vd sum[1][N * PER_OCTET] = {};
    add_products(
        sum, nnz, [=](std::size_t, std::size_t p) { return values[p]; },
        [=](std::size_t p) { return vectors + static_cast<std::size_t>(columns[p]) * stride; });
    SVMFAST_UNROLL for (std::size_t i = 0; i < N * PER_OCTET; ++i) store(out + i * W, sum[0][i]);
}

// out[slot] = sum over the row's entries of value * vectors[column][slot], for the first `octets` octets.
inline void dot_row(std::size_t octets, const double *vectors, std::size_t stride, const std::int32_t *columns,
                    const double *values, std::size_t nnz, double *out) {
    for (; octets > TILE; octets -= TILE, vectors += TILE * 8, out += TILE * 8)
        dot_tile<TILE>(vectors, stride, columns, values, nnz, out);
    with_size<TILE>(octets, [&](auto n) { dot_tile<n>(vectors, stride, columns, values, nnz, out); });
}

// The sum of an octet's lanes, in the same order for every width.
inline double octet_sum(const vd (&parts)[PER_OCTET]) {
    double lane[8];
    for (std::size_t i = 0; i < PER_OCTET; ++i) store(lane + i * W, parts[i]);
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

}  // namespace svmfast::SVMFAST_ISA
