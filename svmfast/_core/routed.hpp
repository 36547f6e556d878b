// Laplacian kernel values: the layout shared by routed.cpp and simd/laplacian.inl.
#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "active_columns.hpp"
#include "aligned.hpp"
#include "csr.hpp"
#include "dispatch.hpp"
#include "math.hpp"

namespace svmfast {

// Rows of vectors under the Laplacian kernel exp(-gamma ||x - z||_1), in panels like those of decision.hpp. Where few
// of their values are nonzero they are stored as lists instead.
struct L1Panels {
    std::size_t n, columns, lanes, width;
    double gamma;
    bool listed = false;
    Aligned<double> values;                 // [panel][column][lanes]
    std::vector<std::int64_t> list_start;   // listed: [n + 1]
    std::vector<std::int32_t> list_column;  // listed
    std::vector<double> list_value;         // listed
    Aligned<double> coef;                   // [panel][width][lanes]; empty when only kernel values are wanted
    std::vector<double> rho;
    ActiveColumns features;  // for decision values: the columns in which some vector is nonzero
    std::size_t panels() const { return divide_up(n, lanes); }
};

}  // namespace svmfast

// Decision values of the rows [first, last) -> out[row][width]. Columns that no vector has add the same amount to all
// distances.
SVMFAST_DECLARE(void laplacian_decisions(const L1Panels &, const Csr &, std::size_t first, std::size_t last,
                                         double *out))
// Kernel values of the dense rows [first, last) of x -> out[row][n].
SVMFAST_DECLARE(void laplacian_values(const L1Panels &, const double *x, std::size_t first, std::size_t last,
                                      double *out))
