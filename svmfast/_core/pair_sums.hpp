// Sums over all pairs of points: what bounds the high degrees of a truncated expansion (svmfast/solvers/residual.py).
#pragma once
#include "aligned.hpp"
#include "dispatch.hpp"

namespace svmfast {

// Points x_i with weights a_i in blocks, filled up with zeros, for sums a_i a_l (x_i.x_l)^j of `count` degrees j from
// `first` on.
struct PairSums {
    static constexpr std::size_t BLOCK = 64;
    std::size_t d, blocks;
    int first, count;
    Aligned<double> points, weights;  // [block][variable][point], [block][point]
};

}  // namespace svmfast

// Adds the pairs of one block's points with those of this and all later blocks; the latter count twice.
SVMFAST_DECLARE(void pair_sums(const PairSums &, std::size_t block, double *sums))
