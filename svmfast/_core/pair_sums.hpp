// Sums over all pairs of points: what bounds the high degrees of a truncated expansion (svmfast/solvers/residual.py).
#pragma once
#include "aligned.hpp"
#include "dispatch.hpp"

namespace svmfast {

// The points x_i with weights a_i in blocks, filled up with zeros. For so many degrees j from `first` on the sums are
// the matrices a_i a_l (x_i.x_l)^(j-1) x_i x_l^T, then for so many the numbers a_i a_l (x_i.x_l)^j.
struct PairSums {
    static constexpr std::size_t BLOCK = 64;
    std::size_t d, stride, blocks;  // stride: d filled up to whole vectors
    int first, matrices, sums;
    Aligned<double> lanes;           // [block][variable][point], and a few variables more
    Aligned<double> rows, weighted;  // [block][point][stride]: x_i, a_i x_i
    Aligned<double> weights;         // [block][point]

    // Rows of a matrix, filled up to whole tiles.
    std::size_t height() const { return (d + 7) / 8 * 8; }
};

}  // namespace svmfast

// Adds the pairs of one block's points with those of this and all later blocks; the latter count twice, so a matrix
// must be made symmetric. matrices: [degree][height][stride]; room: [degree][BLOCK][stride].
SVMFAST_DECLARE(void pair_sums(const PairSums &, std::size_t block, double *room, double *matrices, double *sums))
