// Routing, shifting and bounding blocks of rows: what truncated expansions need beside their polynomials.
#include <algorithm>
#include <cmath>
#include <limits>

#include "math.hpp"
#include "polynomial.hpp"
#include "simd/vec.hpp"

namespace svmfast::SVMFAST_ISA {
namespace {

constexpr std::size_t F = 2 * W;  // floats in a vector
typedef float vf __attribute__((vector_size(W * 8)));

inline vf load_floats(const float *p) {
    vf v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
inline void store_floats(float *p, vf v) { std::memcpy(p, &v, sizeof v); }

inline vf multiply_add(vf a, vf b, vf c) {
#if defined(__AVX512F__)
    return (vf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__AVX2__)
    return (vf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
    return a * b + c;
#endif
}

inline vf smaller(vf a, vf b) {
#if defined(__AVX512F__)
    return (vf)_mm512_min_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
    return (vf)_mm256_min_ps((__m256)a, (__m256)b);
#elif defined(__x86_64__)
    return (vf)_mm_min_ps((__m128)a, (__m128)b);
#else
    return a < b ? a : b;
#endif
}

inline float smallest(vf v) {
#if defined(__AVX512F__)
    return _mm512_reduce_min_ps((__m512)v);
#else
    float lanes[F];
    store_floats(lanes, v);
    for (std::size_t half = F / 2; half > 0; half /= 2)
        for (std::size_t i = 0; i < half; ++i) lanes[i] = lanes[i + half] < lanes[i] ? lanes[i + half] : lanes[i];
    return lanes[0];
#endif
}

// One bit for every lane of which it is not certain that it is above the limit.
inline std::uint64_t not_above(vf v, float limit) {
    const vf all = vf{} + limit;
#if defined(__AVX512F__)
    return _mm512_cmp_ps_mask((__m512)v, (__m512)all, _CMP_NGT_UQ);
#elif defined(__AVX2__)
    return static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps((__m256)v, (__m256)all, _CMP_NGT_UQ)));
#elif defined(__x86_64__)
    return static_cast<unsigned>(_mm_movemask_ps(_mm_cmpngt_ps((__m128)v, (__m128)all)));
#else
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < F; ++i) bits |= std::uint64_t(!(v[i] > all[i])) << i;
    return bits;
#endif
}

struct Row {
    const std::int32_t *position;
    const float *value;
    std::size_t nnz;
};

inline vf everywhere(float x) {
#if defined(__AVX512F__)
    return (vf)_mm512_set1_ps(x);
#elif defined(__AVX2__)
    return (vf)_mm256_set1_ps(x);
#else
    return vf{} + x;
#endif
}

// Scores of V vectors of centers; returns the sum of |value| on the way, which costs nothing beside the products.
template <std::size_t V>
inline float score_tile(const Row &row, const float *centers, const float *offsets, std::size_t padded, float *scores,
                        vf &least) {
    vf score[V];
    SVMFAST_UNROLL
    for (std::size_t v = 0; v < V; ++v) score[v] = load_floats(offsets + v * F);
    float length = 0;
    for (std::size_t k = 0; k < row.nnz; ++k) {
        const vf z = everywhere(row.value[k]);
        length += std::fabs(row.value[k]);
        const float *line = centers + std::size_t(row.position[k]) * padded;
        SVMFAST_UNROLL
        for (std::size_t v = 0; v < V; ++v) score[v] = multiply_add(z, load_floats(line + v * F), score[v]);
    }
    SVMFAST_UNROLL
    for (std::size_t v = 0; v < V; ++v) store_floats(scores + v * F, score[v]);
    // A tree, not a chain.
    SVMFAST_UNROLL
    for (std::size_t step = 1; step < V; step *= 2)
        SVMFAST_UNROLL
        for (std::size_t v = 0; v + step < V; v += 2 * step) score[v] = smaller(score[v], score[v + step]);
    least = smaller(least, score[0]);
    return length;
}

constexpr std::size_t TILE = 12;  // vectors of scores that stay in registers, also with sixteen of them

template <std::size_t V>
inline float score_rest(std::size_t vectors, const Row &row, const float *centers, const float *offsets,
                        std::size_t padded, float *scores, vf &least) {
    if constexpr (V > 0) {
        if (vectors == V) return score_tile<V>(row, centers, offsets, padded, scores, least);
        return score_rest<V - 1>(vectors, row, centers, offsets, padded, scores, least);
    }
    return 0;
}

}  // namespace

void nearest_centers(const std::int32_t *position, const float *value, const std::int64_t *start, std::size_t n,
                     const float *centers, const float *offsets, std::size_t padded, float largest_offset,
                     float largest_entry, float *scores, std::int32_t *cell) {
    for (std::size_t i = 0; i < n; ++i) {
        const Row row{position + start[i], value + start[i], std::size_t(start[i + 1] - start[i])};
        vf least = everywhere(std::numeric_limits<float>::infinity());
        float length = 0;
        std::size_t c = 0;
        for (; c + TILE * F <= padded; c += TILE * F)
            length = score_tile<TILE>(row, centers + c, offsets + c, padded, scores + c, least);
        if (c < padded)
            length = score_rest<TILE - 1>((padded - c) / F, row, centers + c, offsets + c, padded, scores + c, least);
        // Twice the error of a sum of so many terms, each rounded twice before.
        const float spread = 2.2f * 0x1p-24f * float(row.nnz + 8) * (largest_offset + 1.01f * length * largest_entry);
        const float limit = smallest(least) + (spread + 1e-30f);
        // All candidates, without a branch on where they are: 64 lanes at a time.
        std::uint64_t found = 0, taken = 0, many = 0;
        for (std::size_t base = 0; base < padded; base += 64) {
            std::uint64_t word = 0;
            for (std::size_t at = base; at < std::min(padded, base + 64); at += F)
                word |= not_above(load_floats(scores + at), limit) << (at - base);
            const std::uint64_t here = word != 0;
            many |= (word & (word - 1)) | (here & taken);
            // The last lane stands in where there is no candidate, and is masked away.
            found |= (base + std::uint64_t(__builtin_ctzll(word | std::uint64_t(1) << 63))) & -here;
            taken |= here;
        }
        cell[i] = many || !taken ? -1 : std::int32_t(found);
    }
}

void shifted_block(double *w, const double *center, std::size_t d, std::size_t vectors, double *sums) {
    vd sum[4] = {};
    for (std::size_t f = 0; f < d; ++f)
        for (std::size_t r = 0; r < vectors; ++r) {
            double *place = w + (f * vectors + r) * W;
            const vd difference = load(place) - center[f];
            store(place, difference);
            sum[r] = fma(difference, difference, sum[r]);
        }
    for (std::size_t r = 0; r < vectors; ++r) store(sums + r * W, sum[r]);
}

namespace {

// V vectors together, so that the chains of dependent operations overlap.
template <std::size_t V>
inline void bound_tile(double gamma, const double *degrees, std::size_t top, const double *rest, const double *below,
                       const double *above, const double *sums, double *bounds) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    constexpr double largest_exponent = 600.0;  // svmfast.certificate.LARGEST_EXPONENT
    const double minus_log2e_gamma = -gamma * LOG2_E;
    vd s[V], r[V], total[V], power[V];
    SVMFAST_UNROLL
    for (std::size_t v = 0; v < V; ++v) {
        s[v] = load(above + v * W);
        double root[W];
        for (std::size_t l = 0; l < W; ++l) root[l] = std::sqrt(above[v * W + l]);
        r[v] = load(root);
        total[v] = broadcast(degrees[top]);
        // From the factor on: a power of r alone could vanish before a large factor meets it.
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
