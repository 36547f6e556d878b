// The hot loops of truncated expansions: values and error bounds, one vector lane per row; sums over pairs of points,
// in tiles whose products stay in registers.
#include "polynomial.hpp"
#include "simd/tiles.hpp"

namespace svmfast::SVMFAST_ISA {

namespace {

// How many runs share the loads of w: enough independent sums to hide the latency of fma, few enough to stay in
// registers.
#if defined(__AVX512F__)
constexpr int kSums = 16;
#else
constexpr int kSums = 8;
#endif

template <class Number>
constexpr std::size_t lanes_of = sizeof(Vector<Number>) / sizeof(Number);

template <class Number, int R>
struct Lanes {
    Vector<Number> v[R];
};

template <int R, class Number>
inline Lanes<Number, R> at(const Number *w, std::size_t feature) {
    Lanes<Number, R> x;
    SVMFAST_UNROLL
    for (int r = 0; r < R; ++r) x.v[r] = load(w + (feature * R + r) * lanes_of<Number>);
    return x;
}

template <int R, class Number>
inline Lanes<Number, R> constant(Number c) {
    Lanes<Number, R> x;
    SVMFAST_UNROLL
    for (int r = 0; r < R; ++r) x.v[r] = broadcast(c);
    return x;
}

template <class Number, int R>
inline void accumulate(Lanes<Number, R> &sum, const Lanes<Number, R> &a, const Lanes<Number, R> &b) {
    SVMFAST_UNROLL
    for (int r = 0; r < R; ++r) sum.v[r] = fma(a.v[r], b.v[r], sum.v[r]);
}

// J consecutive outer indices i..i+J-1: total += w_i (linear_i + sum_{l >= i} w_l c_il), and so on.
template <int J, class Number, int R>
inline const Number *runs(const Number *w, std::size_t d, std::size_t i, const Number *linear, const Number *c,
                          Lanes<Number, R> &total) {
    Lanes<Number, R> sum[J];
    const Number *run[J];  // run[j][l] is the coefficient of (i + j, l)
    SVMFAST_UNROLL
    for (int j = 0; j < J; ++j) {
        sum[j] = constant<R>(linear[j]);
        run[j] = c - (i + j);
        c += d - (i + j);
    }
    SVMFAST_UNROLL
    for (int l = 0; l < J; ++l) {
        const Lanes<Number, R> x = at<R>(w, i + l);
        SVMFAST_UNROLL
        for (int j = 0; j <= l; ++j) accumulate(sum[j], x, constant<R>(run[j][i + l]));
    }
    for (std::size_t l = i + J; l < d; ++l) {
        const Lanes<Number, R> x = at<R>(w, l);
        SVMFAST_UNROLL
        for (int j = 0; j < J; ++j) accumulate(sum[j], x, constant<R>(run[j][l]));
    }
    SVMFAST_UNROLL
    for (int j = 0; j < J; ++j) accumulate(total, at<R>(w, i + j), sum[j]);
    return c;
}

// sum_{i >= start} w_i (linear_i + sum_{l >= i} w_l c_il); advances both cursors past the coefficients used.
template <class Number, int R>
inline void two_levels(const Number *w, std::size_t d, std::size_t start, const Number *&linear, const Number *&c,
                       Lanes<Number, R> &total) {
    constexpr int J = kSums / R < 8 ? kSums / R : 8;
    std::size_t i = start;
    for (; i + J <= d; i += J, linear += J) c = runs<J>(w, d, i, linear, c, total);
    for (; i < d; ++i, ++linear) c = runs<1>(w, d, i, linear, c, total);
}

// total += sum_{i >= start} w_i (cursor[level]_i + deeper levels). Depth-first visits every degree in stored order,
// so one cursor per degree suffices for addressing.
template <class Number, int R>
void nested(const Number *w, std::size_t d, std::size_t start, int level, int order, const Number **cursor,
            Lanes<Number, R> &total) {
    if (level + 1 == order) {
        two_levels(w, d, start, cursor[level], cursor[order], total);
        return;
    }
    for (std::size_t i = start; i < d; ++i) {
        Lanes<Number, R> inner = constant<R>(*cursor[level]++);
        nested(w, d, i, level + 1, order, cursor, inner);
        accumulate(total, at<R>(w, i), inner);
    }
}

template <int R, class Number>
void block(const Number *w, std::size_t d, int order, const Number *coefficients, Number *out) {
    Lanes<Number, R> total = constant<R>(coefficients[0]);
    const Number *cursor[64];
    cursor[0] = coefficients;
    for (int m = 1; m <= order; ++m) cursor[m] = cursor[m - 1] + monomials_of_degree(d, m - 1);
    if (order == 1) {
        for (std::size_t i = 0; i < d; ++i) accumulate(total, at<R>(w, i), constant<R>(cursor[1][i]));
    } else if (order >= 2) {
        nested(w, d, 0, 1, order, cursor, total);
    }
    SVMFAST_UNROLL
    for (int r = 0; r < R; ++r) store(out + r * lanes_of<Number>, total.v[r]);
}

// The terms of a row in which only some variables are nonzero, degree by degree. If they are few, the last two indices of
// a tuple run through a list of all pairs: those that follow a tuple's first indices are a tail of the list, so loops are
// long.
template <class Number>
class SparseTerms {
  public:
    SparseTerms(const std::int32_t *position, const Number *z, std::size_t nnz, int order,
                const std::vector<std::size_t> *place)
        : position(position), z(z), nnz(nnz), place(place), paired(order >= 2 && nnz <= MOST_PAIRED) {
        for (std::size_t p = 0; paired && p < nnz; ++p) {
            start[p] = pairs;
            const auto first = static_cast<std::int32_t>(place[2][position[p]]);
            for (std::size_t q = p; q < nnz; ++q, ++pairs) {
                offset[pairs] = first + position[q];
                product[pairs] = z[p] * z[q];
            }
        }
    }

    // All terms of a degree.
    Number degree(int m, const Number *base) const { return nnz ? tail(m, 0, base) : 0; }

  private:
    // Limits on the number of pairs that keep the roundings within those that docs/certificate.md counts.
    static constexpr std::size_t MOST_PAIRED = 32, MOST_SHARED = 16, SUMS = 8;
    const std::int32_t *const position;
    const Number *const z;
    const std::size_t nnz;
    const std::vector<std::size_t> *const place;
    const bool paired;
    std::size_t pairs = 0, start[MOST_PAIRED];
    std::int32_t offset[MOST_PAIRED * (MOST_PAIRED + 1) / 2];
    Number product[MOST_PAIRED * (MOST_PAIRED + 1) / 2];

    // The sum over `left` more indices, the first of them entry `from` or later.
    Number tail(int left, std::size_t from, const Number *base) const {
        if (left == 1) return products(z, position, from, nnz, base);
        if (left == 2 && paired) return products(product, offset, start[from], pairs, base);
        Number sum = 0;
        std::size_t p = from;
        // Four entries at a time, which share most of their pairs.
        for (; paired && left == 3 && nnz <= MOST_SHARED && p + 4 <= nnz; p += 4) {
            const Number *at[4];
            Number inner[4];
            for (std::size_t j = 0; j < 4; ++j) {
                at[j] = base + place[left][position[p + j]];
                inner[j] = products(product, offset, start[p + j], start[p + 3], at[j]);
            }
            common_pairs(start[p + 3], at, inner);
            for (std::size_t j = 0; j < 4; ++j) sum = fma(z[p + j], inner[j], sum);
        }
        for (; p < nnz; ++p) sum = fma(z[p], tail(left - 1, p, base + place[left][position[p]]), sum);
        return sum;
    }

    void common_pairs(std::size_t k, const Number *const (&base)[4], Number (&sum)[4]) const {
        Number even[4] = {}, odd[4] = {};
        for (; k + 2 <= pairs; k += 2) {
            SVMFAST_UNROLL for (std::size_t j = 0; j < 4; ++j) even[j] = fma(product[k], base[j][offset[k]], even[j]);
            SVMFAST_UNROLL for (std::size_t j = 0; j < 4; ++j)
                odd[j] = fma(product[k + 1], base[j][offset[k + 1]], odd[j]);
        }
        if (k < pairs)
            SVMFAST_UNROLL for (std::size_t j = 0; j < 4; ++j) even[j] = fma(product[k], base[j][offset[k]], even[j]);
        SVMFAST_UNROLL for (std::size_t j = 0; j < 4; ++j) sum[j] += even[j] + odd[j];
    }

    // Sums side by side hide the latency of the additions.
    static Number products(const Number *factor, const std::int32_t *at, std::size_t k, std::size_t end,
                           const Number *base) {
        Number sum[SUMS] = {};
        for (; k + SUMS <= end; k += SUMS)
            SVMFAST_UNROLL for (std::size_t i = 0; i < SUMS; ++i) sum[i] = fma(factor[k + i], base[at[k + i]], sum[i]);
        for (; k < end; ++k) sum[0] = fma(factor[k], base[at[k]], sum[0]);
        return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
    }
};

}  // namespace

template <class Number>
Number sparse_polynomial(const std::int32_t *position, const Number *z, std::size_t nnz, int order,
                         const Number *coefficients, const std::vector<std::size_t> *place, const std::size_t *begin) {
    Number sum = coefficients[0];
    if (order == 0) return sum;
    const SparseTerms<Number> terms(position, z, nnz, order, place);
    for (int m = 1; m <= order; ++m) sum += terms.degree(m, coefficients + begin[m]);
    return sum;
}

template <class Number>
void polynomial_block(const Number *w, std::size_t d, int order, const Number *coefficients, std::size_t vectors,
                      Number *out) {
    if (vectors == 4)
        block<4>(w, d, order, coefficients, out);
    else if (vectors == 2)
        block<2>(w, d, order, coefficients, out);
    else
        block<1>(w, d, order, coefficients, out);
}

template double sparse_polynomial(const std::int32_t *, const double *, std::size_t, int, const double *,
                                  const std::vector<std::size_t> *, const std::size_t *);
template float sparse_polynomial(const std::int32_t *, const float *, std::size_t, int, const float *,
                                 const std::vector<std::size_t> *, const std::size_t *);
template void polynomial_block(const double *, std::size_t, int, const double *, std::size_t, double *);
template void polynomial_block(const float *, std::size_t, int, const float *, std::size_t, float *);

void distance_block(double *w, const double *center, std::size_t d, std::size_t vectors, bool shift, double *sums,
                    float *narrow, double scale, std::size_t stride) {
    vd sum[4] = {};
    for (std::size_t f = 0; f < d; ++f)
        for (std::size_t r = 0; r < vectors; ++r) {
            double *place = w + (f * vectors + r) * W;
            const vd difference = load(place) - center[f];
            sum[r] = fma(difference, difference, sum[r]);
            if (shift) store(place, difference);
            if (narrow) store_as(narrow + f * stride + r * W, load(place) * scale);
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
        r[v] = square_root(s[v]);
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

void pair_sums(const PairSums &p, std::size_t block, double *sums) {
    constexpr std::size_t B = PairSums::BLOCK, V = 2;
    const double *points = p.points.data() + block * B * p.d, *weights = p.weights.data() + block * B;
    vd total[64] = {};
    Pulse pulse;
    const auto add_pairs = [&](std::size_t other) {
        pulse.spent(B * B * (p.d + static_cast<std::size_t>(p.count)));
        const double *others = p.points.data() + other * B * p.d, *factors = p.weights.data() + other * B;
        vd sum[64] = {};
        for (std::size_t i = 0; i < B; i += ROWS)
            for (std::size_t k = 0; k < B; k += V * W) {
                vd gram[ROWS][V] = {}, term[ROWS][V];
                add_products(gram, p.d, [=](std::size_t r, std::size_t f) { return points[f * B + i + r]; },
                             [=](std::size_t f) { return others + f * B + k; });
    SVMFAST_UNROLL for (std::size_t r = 0; r < ROWS; ++r)
                    SVMFAST_UNROLL for (std::size_t v = 0; v < V; ++v)
                        term[r][v] = powi(gram[r][v], p.first) * (load(factors + k + v * W) * weights[i + r]);
                for (int j = 0; j < p.count; ++j)
                    SVMFAST_UNROLL for (std::size_t r = 0; r < ROWS; r += 2) {
                        sum[j] += (term[r][0] + term[r][1]) + (term[r + 1][0] + term[r + 1][1]);
                        SVMFAST_UNROLL for (std::size_t e = 0; e < 2 * V; ++e)
                            term[r + e / V][e % V] *= gram[r + e / V][e % V];
                    }
            }
        for (int j = 0; j < p.count; ++j) total[j] += other == block ? sum[j] : 2 * sum[j];
    };
    for (std::size_t other = block; other < p.blocks; ++other) add_pairs(other);
    for (int j = 0; j < p.count; ++j) sums[j] += horizontal_sum(total[j]);
}

}  // namespace svmfast::SVMFAST_ISA
