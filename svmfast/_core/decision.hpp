// Exact decision sums of a kernel expansion: the layout shared by the code that packs a model (pack_expansion.cpp)
// and the code that evaluates rows (simd/decision.inl, one variant per instruction set).
//
// Support vectors lie in panels of `lanes` vectors, feature-major, so that one vector register holds one feature of
// several support vectors. A panel never mixes classes; short panels are filled up with zero coefficients. Only
// features that occur in some support vector are kept ("active"); a row's other features affect only its norm.
#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "active_columns.hpp"
#include "arrays.hpp"
#include "dispatch.hpp"
#include "math.hpp"
#include "rounding.hpp"

namespace svmfast {

// The rows first .. first + count, or of those listed in `which`.
struct RowBlock : Csr {
    std::size_t first, count;
    const std::size_t *which = nullptr;
    // The number of the block's row r.
    std::size_t row(std::size_t r) const { return which ? which[first + r] : first + r; }
    std::int64_t begin(std::size_t r) const { return indptr[row(r)]; }
    std::int64_t end(std::size_t r) const { return indptr[row(r) + 1]; }
    std::size_t entries(std::size_t r) const { return Csr::entries(row(r)); }
};

// Support vectors whose stored values are all the same number v, as in one-hot encoded data: for a row of v's, x . z is
// v^2 times the number of shared features, so a kernel value is exp(-gamma ||x||^2) exp(-gamma ||z||^2) table[shared].
// The first factor is part of the coefficients. Panels hold ONE_HOT_LANES vectors of a class, feature by feature, as
// bytes 0 and 1.
constexpr std::size_t ONE_HOT_LANES = 64;
// The largest exponent of a factor, and the smallest and largest coefficients: no product leaves the range of doubles.
constexpr double ONE_HOT_EXPONENT = 300, ONE_HOT_LEAST = 1e-150, ONE_HOT_MOST = 1e150;
struct OneHot {
    double value;
    std::vector<std::size_t> group_panels;
    Aligned<std::uint8_t> member;  // [panel][active][lanes]
    Aligned<double> coef;          // [panel][width][lanes]
    Aligned<double> table;         // exp(2 gamma v^2 m), filled up to a multiple of 32 entries
    std::size_t entries;           // of the table: the most features of a support vector, and one
};

struct Expansion {
    KernelKind kind;
    double gamma, coef0;
    int degree;
    // Classes, coefficients per support vector, decision functions. Regression and one-class: 1, 1, 1. One group with
    // several coefficients is a vector-valued expansion: function p takes coefficient row p.
    std::size_t groups, width, functions;
    std::size_t n;  // support vectors

    ActiveColumns active;

    std::size_t lanes;                      // support vectors per panel
    std::vector<std::size_t> lane;          // of each support vector, counted through all panels
    std::vector<std::size_t> group_end;     // one past the last support vector of each group
    std::vector<std::size_t> group_panels;  // first panel of each group, and the end
    Aligned<double> values;                 // [panel][active][lanes]; empty when scattered
    Aligned<double> init;                   // [panel][lanes]: where the sum in the exponent starts (rbf)
    Aligned<double> coef;                   // [panel][width][lanes]
    std::vector<double> rho;                // [functions]
    std::vector<double> coef_l1;            // [functions]: sum of |coefficients|
    double max_norm;                        // max ||x_i||
    std::size_t max_entries;                // most entries of a support vector
    bool mixed;                             // some class has coefficients of both signs for a function

    // Very wide, very sparse models have columns instead of panels.
    bool scattered;
    std::vector<std::int64_t> column_start;  // [active + 1]
    std::vector<std::uint32_t> column_lane;  // panel * lanes + lane, ascending within a column
    std::vector<double> column_value;

    std::unique_ptr<OneHot> one_hot;  // null unless the support vectors are of that kind

    // Linear kernel, if that is less work per row: one weight vector for each function, [active][functions].
    bool collapsed = false;
    Aligned<double> weights;

    std::size_t panels() const { return group_panels.back(); }
    // The first panel of each class, and the end, where panels have this many vectors.
    std::vector<std::size_t> panels_of(std::size_t panel) const {
        std::vector<std::size_t> first{0};
        for (std::size_t g = 0; g < groups; ++g)
            first.push_back(first[g] + divide_up(group_end[g] - (g ? group_end[g - 1] : 0), panel));
        return first;
    }

    std::int32_t position(std::int32_t column) const { return active.position(column); }
};

// The support vectors as they are in a model, coefficients [width][n].
struct SupportVectors {
    Csr rows;
    const double *coef;
    std::size_t n;
    double coefficient(std::size_t row, std::size_t i) const { return coef[row * n + i]; }
};

// Sets the columns, classes, places in panels and magnitudes of an expansion whose first members are set: everything
// that the preparation of rows needs.
void describe(Expansion &, const SupportVectors &);
// Sets the values and coefficients of an expansion that has been described.
void pack(Expansion &, const SupportVectors &);
// Null unless all stored values are equal.
std::unique_ptr<OneHot> pack_one_hot(const Expansion &, const SupportVectors &);

// A decision function: the sums of a class with one of its coefficient rows, and of another class with its, or of none.
struct Function {
    std::size_t number, group, row, other, other_row;
};
// Calls visit(Function) for LIBSVM's pairs of classes or, with one group, for each coefficient row.
template <class Visit>
void each_function(const Expansion &e, Visit &&visit) {
    constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
    std::size_t p = 0;
    for (; e.groups == 1 && p < e.functions; ++p) visit(Function{p, 0, p, none, none});
    for (std::size_t i = 0; i < e.groups; ++i)
        for (std::size_t j = i + 1; j < e.groups; ++j) visit(Function{p++, i, j - 1, j, i});
}

}  // namespace svmfast

// Decision values of the rows of one block -> out[count][functions]. If rounding could change a label (or if
// `libsvm_order` is set) a row is summed in LIBSVM's own order, to LIBSVM's own bits. Returns the number of such rows.
// errors, or null: how far from each value LIBSVM's can lie.
SVMFAST_DECLARE(std::size_t decision_block(const Expansion &, const RowBlock &, bool libsvm_order, double *out,
                                           double *errors))
