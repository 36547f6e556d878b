// Small kernel expansions, one for each cell of a routed model: the layout shared by the code that packs a model
// (cells.cpp) and the code that runs over rows (simd/cells.inl, compiled once per instruction set).
//
//   f_p(x) = sum_t coef_pt c_t(x) - rho_p,   c = [K(x, u_1) .. K(x, u_m), pseudo landmarks],   K(x, u) = exp(-gamma ||x
//   - u||^2)
//
// Pseudo landmarks (Hsieh, Si and Dhillon, Fast Prediction for Large-Scale Kernel Machines, section 4) are functions of
// kernel values already computed: products c_i c_j, or exp(-gamma r^2) where r bounds ||x - v|| by the triangle
// inequality.
//
// Kernel values and values of functions of a row lie side by side; both are rows times panels (router.hpp). Labels come
// from single precision where a bound on its error proves that double precision gives the same:
// docs/single-precision.md.
#pragma once
#include <vector>

#include "active_columns.hpp"
#include "arrays.hpp"
#include "router.hpp"

namespace svmfast {

enum class Pseudo : int { none = 0, poly = 1, triangle = 2 };

// The largest of the landmarks' values in single precision, and of a row's: products do not overflow, and what
// underflows in one is too small to matter.
constexpr double CELL_RANGE = 0x1p40;

// The coefficients of some functions for the `depth` landmarks and pseudo landmarks from number `first` on.
template <class Number>
struct CellPart {
    std::size_t first, depth;
    Panels<Number> functions;
    // The last functions, where few lanes of a vector would be theirs: their coefficients side by side, [rest][width].
    std::size_t whole, rest, width;  // functions in the panels, and others
    Aligned<Number> rest_coef;
};

// The numbers of a cell in one precision. In single precision coefficients and offsets are divided by a power of two
// that is about the largest: they do not overflow, and what underflows is too small to matter.
template <class Number>
struct CellNumbers {
    Panels<Number> landmarks;  // start: -gamma log2(e) ||u||^2; values: 2 gamma log2(e) u over the factor of rows
    // Landmarks with few nonzero values are stored by feature ("listed") instead; the sums have the same bits.
    std::vector<Number> list_value;
    std::vector<CellPart<Number>> parts;  // one, or in LIBSVM's arrangement one for each class
    Aligned<Number> constant;             // [functions, whole vectors]: -rho; the padding is never the largest
};

struct Cell {
    std::size_t m, pseudo;  // landmarks, pseudo landmarks
    double gamma;
    bool listed;
    ActiveColumns features;                   // listed: the columns in which some landmark is not zero
    std::vector<std::int64_t> list_start;     // listed: [features + 1]
    std::vector<std::int32_t> list_landmark;  // listed: ascending within a feature
    std::vector<std::int64_t> pair;           // [pseudo][2], poly
    Aligned<double> distance;                 // [m][pseudo, whole vectors]: ||v - u||, triangle
    std::vector<std::size_t> function;        // the decision functions that are not constant
    std::vector<double> rho, l1;              // [functions]; sum of |coefficient|
    // [functions, whole vectors]: the same with |rho|, divided as in `single`; -1 of a function that is constant, and
    // certain, in LIBSVM's arrangement.
    Aligned<float> size;
    double max_norm;  // max ||u||
    bool in_range;    // single precision has room for its numbers
    CellNumbers<double> exact;
    CellNumbers<float> single;  // all functions
};

// How labels follow from decision values: the sign of the only one, the largest, LIBSVM's vote of pairs of classes.
enum class Rule : int { sign = 0, largest = 1, vote = 2 };

// Where the answers of all rows go: decision values [row][functions], or else the numbers of the winning classes, 0 or
// 1 by the sign. In LIBSVM's arrangement near_boundary[row] says whether rounding could change a sign, and so the
// label.
struct CellAnswers {
    double *values;
    Rule rule;
    std::int32_t *labels;
    std::uint8_t *near_boundary;
};

struct Cells {
    ActiveColumns active;  // the columns of centers and landmarks
    std::size_t columns;   // their number
    double factor;         // of rows in single precision, a power of two
    std::size_t functions, classes;
    bool grouped;  // LIBSVM's arrangement: landmarks of each class, whose pairs are the functions
    Pseudo kind;
    std::vector<Cell> cells;
    std::size_t widest;  // most landmarks and pseudo landmarks of a cell
};

}  // namespace svmfast

// Answers of the rows first + order[start[c] .. start[c + 1]) of every cell c; packed: the rows from `first` on.
SVMFAST_DECLARE(void cell_answers(const Cells &, const CellAnswers &, const Csr &, const PackedRows &,
                                  std::size_t first, const std::uint32_t *order, const std::size_t *start))
