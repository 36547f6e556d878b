// The library's other loops, which Python uses: routed models and polynomials, training, tables, scaling, text.
#pragma once
#include "budget.hpp"
#include "cells.hpp"
#include "polynomial.hpp"
#include "reduced_set.hpp"
#include "router.hpp"
#include "svmfast.hpp"

namespace svmfast {

// --- routed models -------------------------------------------------------------------------------------------------

class CellSums {
  public:
    // columns: of centers and then of landmarks; children, centers: those of a Router. coef: one row for each function,
    // all cells' landmarks side by side; pseudo_coef likewise. `pseudo` holds the pairs of each cell's own landmarks
    // (poly) or nothing, `distance` the distances of each pseudo landmark from them (triangle). classes: those that
    // vote; class_sizes: landmarks of each in each cell where coef is in LIBSVM's arrangement, else no columns.
    CellSums(In1<std::int32_t> columns, In1<std::int64_t> children, In2<double> centers, In1<double> gamma,
             In1<std::int64_t> sizes, const SparseRows &landmarks, In2<double> coef, In2<double> rho, int kind,
             In1<std::int64_t> pseudo_sizes, In2<std::int64_t> pairs, In1<double> distance, In2<double> pseudo_coef,
             std::size_t classes, In2<std::int64_t> class_sizes);
    // Decision values, and marks of the rows in which rounding could change a sign in LIBSVM's arrangement.
    std::tuple<Out<double>, Out<std::uint8_t>> decide(const SparseRows &rows, Threads threads) const;
    // The numbers of the classes that win by a Rule, of one function 0 if the value is above 0, else 1; and such marks.
    std::tuple<Out<std::int32_t>, Out<std::uint8_t>> labels(const SparseRows &rows, int rule, Threads threads) const;

  private:
    Router router;
    Cells e{};
};

// --- truncated expansions ------------------------------------------------------------------------------------------

// sum_il a_i a_l (x_i.x_l)^j of points x_i with weights a_i, for so many degrees j from `first` on.
Out<double> sums_over_pairs(In2<double> points, In1<double> weights, int first, int count, Threads threads);

// The number of entries that a row may have beyond the variables.
constexpr std::size_t SPARE_ENTRIES = 4096;

// Decision values (n, p), and bounds (n, p) if wanted.
using PolynomialAnswers = std::tuple<Out<double>, std::optional<Out<double>>>;

class PolynomialValues {
  public:
    explicit PolynomialValues(const Polynomials &given);  // keeps the arrays
    ~PolynomialValues();
    // In single precision the bounds, which are then always given, include its rounding errors.
    PolynomialAnswers values(const SparseRows &rows, bool bounds, const std::optional<SinglePolynomials> &single,
                             Threads threads) const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// --- training ------------------------------------------------------------------------------------------------------

// Keeps the tables, which are those of MergeTable.
class BudgetedSgd {
  public:
    explicit BudgetedSgd(const BudgetOptions &options);
    void steps(const SparseRows &rows, In1<double> norms, In1<double> targets, In1<std::int64_t> order);
    // Vectors (n, columns) and coefficients alpha (n,) of the occupied slots in slot order, and the bias.
    std::tuple<Out<double>, Out<double>, double> expansion() const;
    // The steps so far, and those of them that exceeded the budget.
    std::tuple<std::int64_t, std::int64_t> counts() const { return {s.steps, s.maintained}; }

  private:
    BudgetState s;
};

std::tuple<Out<double>, Out<double>> merge_tables(std::size_t n, double eps);

// Gaussian kernel values of the rows `order` with vectors (columns, a multiple of 8) that lie feature-major, one
// column of the result for each.
Out<double> rbf_rows(const SparseRows &rows, In1<double> norms, In1<std::int64_t> order, In2<double> vectors,
                     In1<double> squares, double gamma);

// Keeps no arrays. Rows are sorted by winner. Hinge: the squared hinge loss of targets 1 and -1, else squares.
class ReducedSetObjective {
  public:
    ReducedSetObjective(int kind, double coef0, int degree, bool hinge, const SparseRows &rows, std::size_t n_columns,
                        In1<std::int64_t> winner, In2<double> target, In2<double> weight);
    // (objective, by vectors, by coefficients, by offsets, by gamma of rbf, by rows). pairs: vectors whose kernel
    // values are multiplied, in a model of one class; their coefficients follow those of the vectors. with_rows: the
    // gradient by row x of rbf is the last result's sum_j q_j u_j, feature by feature, minus its last column, sum_j
    // q_j, times x.
    std::tuple<double, Out<double>, Out<double>, Out<double>, double, Out<double>> evaluate(
        In2<double> vectors, In2<double> coef, In1<double> rho, In1<std::int64_t> sizes, double gamma,
        In2<std::int64_t> pairs, bool with_rows, Threads threads) const;

  private:
    ReducedRows rows;
};

// --- scaling -------------------------------------------------------------------------------------------------------

// (indptr, indices, values)
using ScaledRows = std::tuple<Out<std::int64_t>, Out<std::int32_t>, Out<double>>;

class ScalingMap {
  public:
    // Maps a column by (x - first) * second, or where `ranges`, as svm-scale maps [first, second] to [lower, upper];
    // then clips to [least, most] and rounds to `digits` significant digits, unless these are 0.
    ScalingMap(In1<double> first, In1<double> second, bool ranges, double lower, double upper, double least,
               double most, int digits);
    // The number of columns in which zero does not stay zero.
    std::size_t moving() const { return moving_.size(); }
    // The scaled rows; zeros are not stored.
    ScaledRows apply(const SparseRows &rows) const;

  private:
    double map(double x, std::size_t column) const;
    // A value of one row; an std::overflow_error names row and column if it leaves the range of doubles.
    double scaled(std::size_t row, std::int32_t column, double x) const;

    std::vector<double> first_, second_, zeros_;
    std::vector<std::int32_t> moving_;
    bool ranges_;
    double lower_, upper_, least_, most_;
    int digits_;
};

// The smallest and the largest value of each column so far, as svm-scale finds them; zeros that are not stored count.
class ColumnExtremes {
  public:
    // Adds rows of any width; a new column counts as zero in all earlier rows.
    void add(const SparseRows &rows, std::size_t width);
    // (least, greatest); those of columns that are zero in some row include it.
    std::tuple<Out<double>, Out<double>> result() const;

  private:
    std::vector<double> least_, greatest_;
    std::vector<std::uint64_t> stored_;
    std::uint64_t rows_ = 0;
};

// Each number printed with "%.*g" and read back: the values of support vectors in LIBSVM's files have 8 digits.
Out<double> round_digits(In1<double> numbers, int digits);

// --- text ----------------------------------------------------------------------------------------------------------

// Rows as text. numbers (m, n): those before a row's entries, which are its label or its coefficients; columns are
// written as column + base.
// - digits 0: "number index:value\n" with the shortest decimals that read back to the same number.
// - Otherwise as LIBSVM writes it, with a blank before the line end: numbers with 17 digits, and values with `digits`,
//   or with 8 that do not determine a value, all of them; integers where base is 0 (precomputed kernel).
Growing<char> write_rows(In2<double> numbers, In1<std::int64_t> indptr, In1<std::int32_t> indices, In1<double> values,
                         std::int64_t base, int digits);

}  // namespace svmfast
