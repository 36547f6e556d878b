// Shifts blocks of rows and computes their error bounds: what truncated expansions need besides their polynomials.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "math.hpp"
#include "polynomial.hpp"
#include "simd/exp2.hpp"

namespace svmfast::SVMFAST_ISA {

void distance_block(double *w, const double *center, std::size_t d, std::size_t vectors, bool shift, double *sums,
                    float *narrow, double scale, std::size_t stride) {
    typedef float half __attribute__((vector_size(W * 4)));
    vd sum[4] = {};
    for (std::size_t f = 0; f < d; ++f)
        for (std::size_t r = 0; r < vectors; ++r) {
            double *place = w + (f * vectors + r) * W;
            const vd difference = load(place) - center[f];
            sum[r] = fma(difference, difference, sum[r]);
            if (shift) store(place, difference);
            if (!narrow) continue;
            const half few = __builtin_convertvector(load(place) * scale, half);
            std::memcpy(narrow + f * stride + r * W, &few, sizeof few);
        }
    for (std::size_t r = 0; r < vectors; ++r) store(sums + r * W, sum[r]);
}

void gaussian_factors(const double *s, std::size_t n, double gamma, double *factors) {
    const double scale = -gamma * LOG2_E;
    for (std::size_t i = 0; i < n; i += W) store(factors + i, exp2(load(s + i) * scale));
}

namespace {

// V vectors at a time, so that chains of dependent operations overlap.
template <std::size_t V>
inline void bound_tile(double gamma, const double *degrees, std::size_t top, const double *rest, const double *below,
                       const double *above, const double *sums, double *bounds) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    constexpr double largest_exponent = 600.0;  // nothing is claimed near the factor's underflow
    const double minus_log2e_gamma = -gamma * LOG2_E;
    vd s[V], r[V], total[V], power[V];
    SVMFAST_UNROLL
    for (std::size_t v = 0; v < V; ++v) {
        s[v] = load(above + v * W);
        double root[W];
        for (std::size_t l = 0; l < W; ++l) root[l] = std::sqrt(above[v * W + l]);
        r[v] = load(root);
        total[v] = broadcast(degrees[top]);
        // Starting from the factor: a power of r alone could underflow before it is multiplied by a large factor.
        power[v] = r[v] * rest[0];
    }
    for (std::size_t j = top; j-- > 0;) {
        const vd degree = broadcast(degrees[j]);
        SVMFAST_UNROLL
        for (std::size_t v = 0; v < V; ++v) {
            total[v] = fma(total[v], r[v], degree);
            power[v] *= r[v];
        }
    }
    SVMFAST_UNROLL
    for (std::size_t v = 0; v < V; ++v) {
        const vd sum = load(sums + v * W), size = maximum(sum, -sum);
        const vd factor = exp2(load(below + v * W) * minus_log2e_gamma);
        vd bound = fma(factor, total[v], power[v]) + (rest[1] + rest[2] * s[v]) +
                   size * (rest[3] + rest[4] * s[v]);
        bound *= 1 + 1e-9;  // the bound's own arithmetic
        bound = gamma * s[v] < largest_exponent ? bound : broadcast(infinity);
        bound = bound < infinity ? bound : broadcast(infinity);
        store(bounds + v * W, bound);
    }
}

}  // namespace

void expansion_bounds(double gamma, const double *degrees, std::size_t top, const double *rest, const double *below,
                      const double *above, const double *sums, std::size_t n, double *bounds) {
    std::size_t i = 0;
    for (; i + 3 * W < n; i += 4 * W)
        bound_tile<4>(gamma, degrees, top, rest, below + i, above + i, sums + i, bounds + i);
    for (; i < n; i += W) bound_tile<1>(gamma, degrees, top, rest, below + i, above + i, sums + i, bounds + i);
}

}  // namespace svmfast::SVMFAST_ISA
