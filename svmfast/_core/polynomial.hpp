// Packed symmetric polynomials in d variables: one coefficient per monomial, by degree, within a degree the sorted
// index tuples i1 <= i2 <= ... in lexicographic order, so that the last index runs over contiguous memory.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "arrays.hpp"
#include "dispatch.hpp"

namespace svmfast {

// The truncated expansions of a model: piece = cell * functions + function.
struct Polynomials {
    In1<std::int32_t> features;  // the column of each variable, ascending
    double gamma;
    bool about_zero;
    In2<double> centers;       // [cell][d]
    In2<std::int32_t> orders;  // [cell][function]
    In2<std::int64_t> starts;  // the same
    In1<double> coefficients, rho;
    // [cell][function][top + 1] and [cell][function][5], those of svmfast.certificate.REST and expansion_bounds.
    std::optional<In3<double>> degrees, rest;
};

// What replaces these in single precision: svmfast/models/single_polynomial.py.
struct SinglePolynomials {
    double value_scale;       // the factor of the rows
    In1<float> coefficients;  // of scaled rows, and divided by the piece's scale
    In2<double> scale;
    In3<double> degrees;
};

// Number of monomials of exactly `degree` in d variables, C(d + degree - 1, degree).
static inline std::size_t monomials_of_degree(std::size_t d, int degree) {
    if (degree == 0) return 1;
    double estimate = 1;
    std::size_t count = 1;
    for (int m = 1; m <= degree; ++m) {
        estimate *= double(d + m - 1) / m;
        if (estimate > 1e15) return SIZE_MAX / 4;
        count = count * (d + m - 1) / m;
    }
    return count;
}

static inline std::size_t monomials_up_to(std::size_t d, int order) {
    std::size_t total = 0;
    for (int degree = 0; degree <= order; ++degree)
        total = std::min(total + monomials_of_degree(d, degree), SIZE_MAX / 4);
    return total;
}

// place[m][i]: the contribution of index i to a place if it is the first of the last m indices, so that the place of
// (i1, ..., im) within its degree is place[m][i1] + place[m-1][i2] + ... + place[1][im].
static inline std::vector<std::vector<std::size_t>> index_places(std::size_t d, int order) {
    std::vector<std::vector<std::size_t>> place(order + 1);
    for (int m = 1; m <= order; ++m) {
        place[m].resize(d + 1);  // first the number of sorted m-tuples whose first index is below i
        for (std::size_t i = 0; i < d; ++i) place[m][i + 1] = place[m][i] + monomials_of_degree(d - i, m - 1);
    }
    for (int m = order; m >= 2; --m)
        for (std::size_t i = 0; i <= d; ++i) place[m][i] -= place[m - 1][i];
    return place;
}

// Points x_i with weights a_i in blocks, filled up with zeros, for sums a_i a_l (x_i.x_l)^j of `count` degrees j from
// `first` on.
struct PairSums {
    static constexpr std::size_t BLOCK = 64;
    std::size_t d, blocks;
    int first, count;
    Aligned<double> points, weights;  // [block][variable][point], [block][point]
};

}  // namespace svmfast

// out[r] = polynomial at row r, for vectors * lanes rows stored feature by feature: w[f * vectors * lanes + r].
// vectors is 1, 2 or 4; a row's result depends neither on it nor on other rows. Number: double, or float, with twice as
// many lanes.
SVMFAST_DECLARE(template <class Number> void polynomial_block(const Number *w, std::size_t d, int order,
                                                              const Number *coefficients, std::size_t vectors,
                                                              Number *out))

// sums[r] = sum_f (w[f][r] - center[f])^2 with the same arrangement; `shift` replaces w by these differences. Unless
// narrow is null, narrow[f * stride + r] = w[f][r] * scale in single precision.
SVMFAST_DECLARE(void distance_block(double *w, const double *center, std::size_t d, std::size_t vectors, bool shift,
                                    double *sums, float *narrow, double scale, std::size_t stride))

// factors[r] = exp(-gamma s[r]) for n rows; both arrays hold a whole number of vectors.
SVMFAST_DECLARE(void gaussian_factors(const double *s, std::size_t n, double gamma, double *factors))

// The bounds of svmfast.certificate.REST for n rows of one cell and function; the true squared distance lies
// between below and above. All arrays hold a whole number of vectors; elements after n are scratch.
SVMFAST_DECLARE(void expansion_bounds(double gamma, const double *degrees, std::size_t top, const double *rest,
                                      const double *below, const double *above, const double *sums, std::size_t n,
                                      double *bounds))

// The polynomial for one row in which only nnz variables, in ascending order, are nonzero. place and begin:
// index_places, and where each degree starts.
SVMFAST_DECLARE(template <class Number> Number sparse_polynomial(const std::int32_t *position, const Number *z,
                                                                 std::size_t nnz, int order, const Number *coefficients,
                                                                 const std::vector<std::size_t> *place,
                                                                 const std::size_t *begin))

// Adds the pairs of one block's points with those of this and all later blocks; the latter count twice.
SVMFAST_DECLARE(void pair_sums(const PairSums &, std::size_t block, double *sums))
