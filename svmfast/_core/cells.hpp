// Small kernel expansions, one for each cell of a routed model: the layout shared by the code that packs a model or a
// fit (cells.cpp) and the code that runs over rows (simd/cells.inl, one variant per instruction set).
//
//   f_p(x) = sum_t coef_pt c_t(x) - rho_p,   c = [K(x, u_1) .. K(x, u_m), pseudo landmarks],   K(x, u) = exp(-gamma ||x
//   - u||^2)
//
// Pseudo landmarks (Hsieh, Si and Dhillon, Fast Prediction for Large-Scale Kernel Machines, section 4) are functions of
// kernel values already computed: products c_i c_j, or exp(-gamma r^2) where r bounds ||x - v|| by the triangle
// inequality.
//
// Each row has a lane of the vectors: every number of the model is a broadcast, products of kernel values need no
// gathering, and a row's sums do not depend on its neighbours. Sums run over features in ascending order from the same
// start, so the dense and the sparse loop give the same bits for a tile of rows.
//
// In LIBSVM's arrangement a landmark belongs to a class and has a coefficient for each of the class's pairs: a cell's
// kernel values are multiplied by one small matrix for each class, and a pair's value is the sum of the shares of its
// two classes.
#pragma once
#include <vector>

#include "active_columns.hpp"
#include "aligned.hpp"
#include "arrays.hpp"
#include "dispatch.hpp"
#include "math.hpp"

namespace svmfast {

enum class Pseudo : int { none = 0, poly = 1, triangle = 2 };

struct Cell {
    std::size_t m, pseudo, active;  // landmarks, pseudo landmarks, decision functions that are not constant
    double gamma;
    ActiveColumns features;  // the columns in which some landmark is not zero; others count in norms alone
    // Landmarks with few nonzero values are stored by feature ("listed"); the sums have the same bits.
    bool listed;
    Aligned<double> vectors;                  // [m][feature]: 2 gamma log2(e) u
    Aligned<double> columns;                  // [feature][m padded to 8]: the same; for sparse rows
    std::vector<std::int64_t> list_start;     // listed: [features + 1]
    std::vector<std::int32_t> list_landmark;  // listed: ascending within a feature
    std::vector<double> list_value;           // listed: 2 gamma log2(e) u
    Aligned<double> init;                     // [m padded to 8]: -gamma log2(e) ||u||^2
    std::vector<std::int64_t> pair;           // [pseudo][2], poly
    std::vector<double> distance;             // [pseudo][m]: ||v - u||, triangle
    Aligned<double> coef;                     // [active][m + pseudo]
    std::vector<std::int64_t> function;       // [active]
    std::vector<double> rho;                  // [functions]
    // LIBSVM's arrangement only: coef is then [group][groups - 1][landmarks of the group], all functions active.
    std::vector<std::size_t> group_start;  // [groups + 1]: landmarks
    std::vector<double> coef_l1;           // [functions]: sum of |coefficients|
    double max_norm;                       // max ||u||
};

struct Cells {
    std::size_t columns;  // most features of a cell
    std::size_t functions;
    std::size_t groups;  // classes, whose pairs are the functions, with landmarks of each; 0: another arrangement
    Pseudo kind;
    std::vector<Cell> cells;
    std::size_t widest;  // most landmarks and pseudo landmarks of a cell
};

constexpr std::size_t CELL_OCTET = 8;

// Vectors of rows in a tile of a fit.
constexpr std::size_t FIT_VECTORS = 8;

// The training rows of one cell, in tiles of rows.
struct FitRows {
    std::size_t n, d, functions, tile_rows, padded_d, padded_functions;
    bool hinge;                // the squared hinge loss, else squares
    Aligned<double> across;    // [tile][feature][tile_rows]
    Aligned<double> along;     // [tile][row][padded_d]
    std::vector<double> norm;  // [padded rows]
    Aligned<double> target;    // [tile][function][tile_rows]
    Aligned<double> weight;    // [tile][tile_rows]; 0 in the padding
    std::size_t tiles() const { return divide_up(n, tile_rows); }
};

// The fitted parameters at one point.
struct FitPoint {
    std::size_t m, pseudo;
    double gamma;
    const double *vectors;           // [m][d]
    const double *coef;              // [functions][m + pseudo]
    const double *rho;               // [functions]
    const std::int64_t *pair;        // [pseudo][2]
    std::vector<double> scaled;      // [m][d]: 2 gamma log2(e) u
    std::vector<double> init;        // [m]
    std::vector<double> transposed;  // [m + pseudo][functions]
};

struct FitSums {
    double value = 0, gamma = 0;
    Aligned<double> vectors;   // [m][padded_d]: sum of s x
    std::vector<double> pull;  // [m]: sum of s
    Aligned<double> coef;      // [m + pseudo][padded_functions]
    std::vector<double> rho;   // [functions]
};

}  // namespace svmfast

// Decision values of the rows order[start[c] .. start[c + 1]) of every cell c -> out[row][functions].
// In LIBSVM's arrangement near_boundary[row] says whether rounding could change the sign of one of the row's values.
SVMFAST_DECLARE(void cell_decisions(const Cells &, const Csr &, const std::int64_t *order, const std::int64_t *start,
                                    double *out, std::uint8_t *near_boundary))
// Adds the loss and its derivatives over the tiles [first, last).
SVMFAST_DECLARE(void cell_fit(const FitRows &, const FitPoint &, std::size_t first, std::size_t last, FitSums &))
