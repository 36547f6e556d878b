// The objective of a reduced set and its gradient: the layout shared by the code that packs a problem (reduced_set.cpp)
// and the code that runs over its rows (simd/reduced_set.inl, one variant per instruction set). The formulas are in
// svmfast/methods/compress/reduced_set.py; ftilde is an expansion's decision value.
//
// In a model with several classes a row contributes only to the functions (pairs) of one class, its winner: with k
// classes, k - 1 functions per row, all of which use the winner's vectors, while each other class's vectors occur in
// one. A model of one group has `width` functions of all vectors, and may have products of two kernel values beside
// them (cells.hpp). If they are one more than a row's targets, they are scores of classes, and a pair's value is the
// score of its first class minus the other's. Rows are sorted by winner, and a tile has one winner.
//
// Vectors u_j lie in panels of `lanes` vectors, feature-major. Every class starts at a whole vector register; the slots
// left over hold zero vectors with zero coefficients.
#pragma once
#include "decision.hpp"

namespace svmfast {

struct ReducedTile {
    std::size_t first, count, winner;
};

// Rows with their targets: fixed over all evaluations.
struct ReducedRows {
    KernelKind kind;  // linear is a polynomial of degree 1
    double coef0;
    int degree;
    std::size_t n, d, width;
    bool hinge;  // the squared hinge loss of targets 1 and -1, else squares
    std::vector<ReducedTile> tiles;
    bool dense;              // tiles of packed rows, or compressed rows
    std::size_t tile_rows;   // most rows per tile
    Aligned<double> packed;  // [tile][feature][tile_rows]
    std::vector<std::int64_t> start;
    std::vector<std::int32_t> index;
    std::vector<double> value;
    std::vector<double> squared_norm;  // filled up to a tile
    std::vector<double> target;        // [n][width]
    std::vector<double> weight;        // [n][width]
};

// The reduced set of one evaluation.
struct ReducedSet {
    KernelKind kind;
    double gamma, coef0;
    int degree;
    std::size_t groups, width, functions, d;
    std::size_t lanes, padded;  // vectors in a panel; slots of vectors and products
    std::size_t vector_slots;   // whole panels; the products of pairs of kernel values follow
    In2<std::int64_t> pairs;
    std::vector<std::size_t> group_start;  // [groups + 1] slots
    std::vector<std::size_t> group_size;   // true sizes
    Aligned<double> vectors;               // [panel][feature][lanes], times the factor of the dot product
    Aligned<double> init;                  // [padded]: rbf: -gamma log2(e) ||u||^2
    Aligned<double> coef;                  // [width][padded]
    std::vector<double> rho;
};

// The contribution of one part of the rows to the value and the gradient.
struct ReducedSums {
    double value = 0;
    Aligned<double> vectors;  // [panel][feature][lanes]: sum of q x
    Aligned<double> pull;     // [padded]: sum of q
    Aligned<double> spread;   // [padded]: sum of q ||x||^2 (rbf)
    Aligned<double> coef;     // [width][padded]
    std::vector<double> rho;
    double *by_rows;  // [n][d + 1] of all parts: sum of q u, sum of q; null if not wanted

    ReducedSums(const ReducedSet &s, double *by_rows)
        : vectors(s.vectors.size(), 0.0), pull(s.padded, 0.0), spread(s.padded, 0.0), coef(s.coef.size(), 0.0),
          rho(s.functions, 0.0), by_rows(by_rows) {}
};

}  // namespace svmfast

// Adds the tiles [first, last).
SVMFAST_DECLARE(void reduced_rows(const ReducedRows &, const ReducedSet &, std::size_t first, std::size_t last,
                                  ReducedSums &))
