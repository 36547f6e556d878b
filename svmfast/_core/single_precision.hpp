// Labels from single precision: the layout shared by the code that packs a model (pack_single.cpp) and the code that
// evaluates rows (simd/single_labels.inl, one variant per instruction set). docs/single-precision.md proves the bounds.
//
// As in decision.hpp, support vectors lie in panels, feature-major, and a panel never mixes classes. Everything is
// float: features are measured from the center and scaled by a power of two so that the largest is about 1;
// coefficients are scaled too.
#pragma once
#include <algorithm>

#include "decision.hpp"

namespace svmfast {

// If gamma is small and the coefficients are large, kernel values near 1 cancel, and single precision proves nothing
// about their sum. Then the expansion's second-order polynomial about the center is evaluated in double precision,
//     f(z) = exp(-gamma ||z||^2) (constant + linear . z + z' quadratic z + sum_i a_i R(2 gamma x_i . z)) - rho,
// R(t) = exp(t) - 1 - t - t^2 / 2, a_i = coef_i exp(-gamma ||x_i||^2), and only the small remainder in single
// precision.
struct SecondOrder {
    std::vector<double> coefficients;  // as in polynomial.hpp
    double weight;                     // sum |a_i|
};

// Support vectors whose values are, up to a small residual, origin + step * level with an integer level (pixels,
// ratings, counts): ||x - z||^2 is step^2 times a sum of products of integers, which is exact. Integers of `features`
// columns share the 32 bits of a lane: four bytes if the machine adds their products in one instruction, else two
// words.
struct Lattice {
    std::size_t features;
    double origin, step, levels;   // `levels`: the largest one
    double zero;                   // the level of 0; -1 where it has none
    double shift;                  // words: integers are levels minus this; bytes: 0
    bool sparse;                   // the integer of 0 is 0, so that columns that a row does not store can be left out
    double residual;               // the largest distance of a support vector from its lattice point
    std::size_t groups;            // of columns
    Aligned<std::int32_t> values;  // [panel][group][lanes]; bytes: of levels minus 128
    Aligned<std::int32_t> norm;    // [panel][lanes]: sum of squared integers
};

// The integers of a vector minus `less`, group by group -> out[group * stride]; returns the integers' sum of squares
// and sum.
struct IntegerSums {
    std::int32_t squares = 0, sum = 0;
};
static inline IntegerSums pack_integers(const Lattice &l, const std::vector<double> &level, std::int32_t less,
                                        std::int32_t *out, std::size_t stride) {
    IntegerSums sums;
    const std::size_t bits = 32 / l.features;
    for (std::size_t f = 0; f < level.size(); f += l.features) {
        std::uint32_t group = 0;
        for (std::size_t i = f; i < std::min(f + l.features, level.size()); ++i) {
            const auto integer = static_cast<std::int32_t>(level[i] - l.shift);
            sums.squares += integer * integer;
            sums.sum += integer;
            group |= (static_cast<std::uint32_t>(integer - less) & ((1u << bits) - 1)) << bits * (i - f);
        }
        out[f / l.features * stride] = static_cast<std::int32_t>(group);
    }
    return sums;
}

struct SinglePack {
    explicit SinglePack(const Expansion &e) : e(e) {}

    const Expansion &e;         // classes, functions, columns
    double exponent = 0;        // rbf: gamma log2 e
    double value_scale = 1;     // features are stored times this
    double argument_scale = 1;  // the kernel function's arguments are divided by this
    double row_scale = 1;       // features of rows are multiplied by this: the other factors of a product of features
    double coef_scale = 1;      // coefficients are stored divided by this (and kernel values, where arguments are)
    bool pairs = false;         // three classes or more: kernel values are kept, and coefficients lie column by column
    bool centered = false;      // the center is subtracted from rows, which are then dense; else it is 0
    std::vector<double> center;
    double reach = 0;  // largest ||x_i - center||
    std::size_t lanes = 0;
    std::vector<std::size_t> group_panels;
    Aligned<float> values;     // [panel][active][lanes]
    Aligned<float> init;       // [panel][lanes]: where the argument of the kernel function starts
    Aligned<float> coef;       // [panel][lanes]: of one function; of `pairs` 1, for a first guess
    Aligned<float> size;       // [panel][lanes]: the largest |coefficient|; empty if sums of magnitudes are not needed
    Aligned<float> by_column;  // of `pairs`: [width][panel][lanes]
    std::unique_ptr<SecondOrder> second_order;
    std::unique_ptr<Lattice> lattice;
};

// The packed expansion, or null if single precision cannot be used: other kernels, scattered models, numbers outside
// its range.
std::unique_ptr<SinglePack> single_pack(const Expansion &, const SupportVectors &);

}  // namespace svmfast

// The winning class of each row of the block -> out[count], or -1 if single precision does not prove that LIBSVM's own
// arithmetic gives the same class. Returns how many rows stay open. Unless null, `values` and `bounds`
// [count][functions] receive the decision values and bounds on their errors of the rows for which there is a bound.
SVMFAST_DECLARE(std::size_t single_labels(const SinglePack &, const RowBlock &, std::int32_t *out, double *values,
                                          double *bounds))
