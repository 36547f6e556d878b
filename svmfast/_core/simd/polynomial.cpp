// The hot loops of truncated expansions, one vector lane per row (evaluation) or per feature (building).
#include "polynomial.hpp"

#include <algorithm>

#include "interrupt.hpp"
#include "math.hpp"
#include "simd/exp2.hpp"
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

template <int R>
struct Lanes {
    vd v[R];
};

template <int R>
inline Lanes<R> at(const double *w, std::size_t feature) {
    Lanes<R> x;
    SVMFAST_UNROLL
    for (int r = 0; r < R; ++r) x.v[r] = load(w + (feature * R + r) * W);
    return x;
}

template <int R>
inline void accumulate(Lanes<R> &sum, const Lanes<R> &a, const Lanes<R> &b) {
    SVMFAST_UNROLL
    for (int r = 0; r < R; ++r) sum.v[r] = fma(a.v[r], b.v[r], sum.v[r]);
}

template <int R>
inline void accumulate(Lanes<R> &sum, const Lanes<R> &a, double b) {
    const vd all = broadcast(b);
    SVMFAST_UNROLL
    for (int r = 0; r < R; ++r) sum.v[r] = fma(a.v[r], all, sum.v[r]);
}

template <int R>
inline Lanes<R> constant(double c) {
    Lanes<R> x;
    SVMFAST_UNROLL
    for (int r = 0; r < R; ++r) x.v[r] = broadcast(c);
    return x;
}

// J consecutive outer indices i..i+J-1: total += w_i (linear_i + sum_{l >= i} w_l c_il), and so on.
template <int R, int J>
inline const double *runs(const double *w, std::size_t d, std::size_t i, const double *linear, const double *c,
                          Lanes<R> &total) {
    Lanes<R> sum[J];
    const double *run[J];  // run[j][l] is the coefficient of (i + j, l)
    SVMFAST_UNROLL
    for (int j = 0; j < J; ++j) {
        sum[j] = constant<R>(linear[j]);
        run[j] = c - (i + j);
        c += d - (i + j);
    }
    SVMFAST_UNROLL
    for (int l = 0; l < J; ++l) {
        const Lanes<R> x = at<R>(w, i + l);
        SVMFAST_UNROLL
        for (int j = 0; j <= l; ++j) accumulate(sum[j], x, run[j][i + l]);
    }
    for (std::size_t l = i + J; l < d; ++l) {
        const Lanes<R> x = at<R>(w, l);
        SVMFAST_UNROLL
        for (int j = 0; j < J; ++j) accumulate(sum[j], x, run[j][l]);
    }
    SVMFAST_UNROLL
    for (int j = 0; j < J; ++j) accumulate(total, at<R>(w, i + j), sum[j]);
    return c;
}

// sum_{i >= start} w_i (linear_i + sum_{l >= i} w_l c_il), advancing both cursors past what it used.
template <int R>
inline void two_levels(const double *w, std::size_t d, std::size_t start, const double *&linear, const double *&c,
                       Lanes<R> &total) {
    constexpr int J = kSums / R < 8 ? kSums / R : 8;
    std::size_t i = start;
    for (; i + J <= d; i += J, linear += J) c = runs<R, J>(w, d, i, linear, c, total);
    for (; i < d; ++i, ++linear) c = runs<R, 1>(w, d, i, linear, c, total);
}

// total += sum_{i >= start} w_i (cursor[level]_i + deeper levels). Depth-first visits every degree in stored order,
// so one cursor per degree is all the addressing there is.
template <int R>
void nested(const double *w, std::size_t d, std::size_t start, int level, int order, const double **cursor,
            Lanes<R> &total) {
    if (level + 1 == order) {
        two_levels<R>(w, d, start, cursor[level], cursor[order], total);
        return;
    }
    for (std::size_t i = start; i < d; ++i) {
        Lanes<R> inner = constant<R>(*cursor[level]++);
        nested<R>(w, d, i, level + 1, order, cursor, inner);
        accumulate(total, at<R>(w, i), inner);
    }
}

template <int R>
void block(const double *w, std::size_t d, int order, const double *coefficients, double *out) {
    Lanes<R> total = constant<R>(coefficients[0]);
    const double *cursor[64];
    cursor[0] = coefficients;
    for (int m = 1; m <= order; ++m) cursor[m] = cursor[m - 1] + monomials_of_degree(d, m - 1);
    if (order == 1) {
        for (std::size_t i = 0; i < d; ++i) accumulate(total, at<R>(w, i), cursor[1][i]);
    } else if (order >= 2) {
        nested<R>(w, d, 0, 1, order, cursor, total);
    }
    SVMFAST_UNROLL
    for (int r = 0; r < R; ++r) store(out + r * W, total.v[r]);
}

// A tile of the weighted triangle: TA rows a, TL vectors of l.
template <std::size_t TA, std::size_t TL>
inline void tile(const double *u, const double *scaled, std::size_t n, std::size_t stride, double *sums,
                 std::size_t width) {
    vd acc[TA][TL] = {};
    add_products(acc, n, [=](std::size_t a, std::size_t s) { return scaled[s * 8 + a]; },
                 [=](std::size_t s) { return u + s * stride; });
    for (std::size_t a = 0; a < TA; ++a)
        for (std::size_t l = 0; l < TL; ++l) {
            double *place = sums + a * width + l * W;
            store(place, load(place) + acc[a][l]);
        }
}

struct Sparse {
    const std::int32_t *position;
    const double *z;
    std::size_t nnz;
    int order;
    const std::size_t *const *first;

    // sum_{p >= from} z_p base[position_p]; four sums at a time hide the latency of the additions.
    double run(std::size_t from, const double *base) const {
        double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
        std::size_t p = from;
        for (; p + 4 <= nnz; p += 4) {
            s0 = fma(z[p], base[position[p]], s0);
            s1 = fma(z[p + 1], base[position[p + 1]], s1);
            s2 = fma(z[p + 2], base[position[p + 2]], s2);
            s3 = fma(z[p + 3], base[position[p + 3]], s3);
        }
        for (; p < nnz; ++p) s0 = fma(z[p], base[position[p]], s0);
        return (s0 + s1) + (s2 + s3);
    }

    // sum_{p >= from} z_p (c_p + deeper), where base[q] plus the place of p among the last q - m + 1 indices is where
    // the coefficients of degree q stand.
    double level(std::size_t from, int m, const double *const *base) const {
        if (m == order) return run(from, base[m]);
        double sum = 0;
        const double *inner[64];
        for (std::size_t p = from; p < nnz; ++p) {
            const std::size_t i = position[p];
            for (int q = m + 1; q <= order; ++q)
                inner[q] = base[q] + (std::ptrdiff_t(first[q - m + 1][i]) - std::ptrdiff_t(first[q - m][i]));
            sum = fma(z[p], base[m][i] + level(p, m + 1, inner), sum);
        }
        return sum;
    }
};

}  // namespace

double sparse_polynomial(const std::int32_t *position, const double *z, std::size_t nnz, int order,
                         const double *coefficients, const std::size_t *const *first, const std::size_t *begin) {
    if (order == 0) return coefficients[0];
    const double *base[64];
    for (int m = 1; m <= order; ++m) base[m] = coefficients + begin[m];
    return coefficients[0] + Sparse{position, z, nnz, order, first}.level(0, 1, base);
}

std::size_t polynomial_lanes() { return W; }

void polynomial_block(const double *w, std::size_t d, int order, const double *coefficients, std::size_t vectors,
                      double *out) {
    if (vectors == 4)
        block<4>(w, d, order, coefficients, out);
    else if (vectors == 2)
        block<2>(w, d, order, coefficients, out);
    else
        block<1>(w, d, order, coefficients, out);
}

void squared_distance_block(const double *w, const double *center, std::size_t d, std::size_t vectors,
                            double *sums) {
    for (std::size_t r = 0; r < vectors; ++r) {
        vd sum = {};
        for (std::size_t f = 0; f < d; ++f) {
            const vd difference = load(w + (f * vectors + r) * W) - (center ? center[f] : 0.0);
            sum = fma(difference, difference, sum);
        }
        store(sums + r * W, sum);
    }
}

void gaussian_factors(const double *s, std::size_t n, double gamma, double *factors) {
    const double scale = -gamma * LOG2_E;
    std::size_t i = 0;
    for (; i + W <= n; i += W) store(factors + i, exp2(load(s + i) * scale));
    if (i < n) {
        double in[W] = {}, out[W];
        std::copy(s + i, s + n, in);
        store(out, exp2(load(in) * scale));
        std::copy(out, out + (n - i), factors + i);
    }
}

void weighted_triangle(const double *u, const double *q, std::size_t n, std::size_t stride, std::size_t d,
                       std::size_t a0, std::size_t a1, double *sums) {
    constexpr std::size_t TA = 8, TL = W >= 8 ? 3 : 1;
    const std::size_t width = round_up(d - a0, W);
    constexpr std::size_t kBlock = 64;
    double scaled[kBlock * 8];
    Pulse pulse;
    for (std::size_t s0 = 0; s0 < n; s0 += kBlock) {
        pulse.spent(kBlock * (a1 - a0) * width);
        const std::size_t m = std::min(kBlock, n - s0);
        const double *rows = u + s0 * stride;
        for (std::size_t a = a0; a < a1; a += TA) {
            for (std::size_t s = 0; s < m; ++s)
                for (std::size_t t = 0; t < TA; ++t)
                    scaled[s * 8 + t] = a + t < a1 ? q[s0 + s] * rows[s * stride + a + t] : 0.0;
            const std::size_t ta = std::min<std::size_t>(TA, a1 - a);
            double *line = sums + (a - a0) * width;
            // Columns in whole vectors counted from a0, so that nothing is read or written beyond `width`.
            std::size_t l = (a - a0) / W * W;
            if (ta == TA) {
                for (; l + TL * W <= width; l += TL * W)
                    tile<TA, TL>(rows + a0 + l, scaled, m, stride, line + l, width);
                for (; l < width; l += W) tile<TA, 1>(rows + a0 + l, scaled, m, stride, line + l, width);
            } else {
                for (std::size_t t = 0; t < ta; ++t)
                    for (std::size_t at = l; at < width; at += W)
                        tile<1, 1>(rows + a0 + at, scaled + t, m, stride, line + t * width + at, width);
            }
        }
    }
}

}  // namespace svmfast::SVMFAST_ISA
