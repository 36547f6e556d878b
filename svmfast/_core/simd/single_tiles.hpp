// Kernel values in single precision with their weighted sums, from products of floats or of integers of a lattice:
// single_precision.hpp for the layout.
#pragma once
#include "polynomial.hpp"
#include "simd/single_rows.hpp"

namespace svmfast::SVMFAST_ISA {

constexpr std::size_t FOLD_PANELS = FOLD_TERMS / NF;
constexpr std::size_t PANEL_BYTES = 256 * 1024;  // of panels that stay in the L2 cache,
constexpr std::size_t TILE_BYTES = 512 * 1024;   // and of kernel values

// Rows of a tile: with AVX-512 half of what fits into the registers, because the exponentials of a smaller tile overlap
// with the products of the next (measured).
constexpr std::size_t TILE_ROWS = 6;

constexpr std::size_t SECOND_ROWS = 2 * W;  // of the second-order polynomial, side by side

// The function applied to a finished sum: 2^t, R(t) = exp(t) - 1 - t - t^2 / 2, a power, tanh(t); and the magnitude of
// its value where the bound uses that.
struct Gaussian {
    static vf of(vf t, int) { return exp2(t); }
    static vf magnitude(vf value) { return value; }
};
struct Remainder : Gaussian {
    static vf of(vf t, int) { return exp_remainder(t); }
};
struct Power {
    static vf of(vf t, int degree) { return powi(t, degree); }
    static vf magnitude(vf value) { return maximum(value, -value); }
};
struct Sigmoid : Gaussian {
    static vf of(vf t, int) { return tanh(t); }
};

// Where a row's sums start, beside what its support vectors add: in the exponent, and in the squared distance in
// integers.
struct RowStart {
    float offset;
    std::int32_t norm;
};

// Two arithmetics of products. Floats: centered and scaled features.
template <class F>
struct Floats {
    typedef F Function;
    typedef float Number;
    typedef vf Sum;
    typedef MultiplyAdd Step;
    typedef std::vector<double> Row;  // a row in the model's columns
    const SinglePack &s;

    std::size_t terms() const { return s.e.active.size(); }
    const float *values() const { return s.values.data(); }
    vf start(std::size_t at, RowStart row) const { return load(s.init.data() + at) + row.offset; }
    vf argument(vf sum, std::size_t, RowStart) const { return sum; }

    Row scratch() const { return Row(terms()); }
    RowStart start_of(const RowFacts &facts) const {
        return {s.second_order ? 0.0f : static_cast<float>(-s.exponent * facts.norm * facts.norm), 0};
    }
    // One number for each term -> out[term * stride].
    RowStart pack(const SingleBlock &b, std::size_t r, Row &z, float *out, std::size_t stride) const {
        centered_row(s, b.rows, r, z.data());
        for (std::size_t f = 0; f < z.size(); ++f) out[f * stride] = static_cast<float>(z[f] * s.row_scale);
        return start_of(b.facts[r]);
    }
    // The terms that are not 0.
    RowStart pack_sparse(const SingleBlock &b, std::size_t r, Row &, std::vector<std::int32_t> &position,
                         std::vector<float> &value) const {
        for (std::int64_t k = b.rows.begin(r); k < b.rows.end(r); ++k) {
            const std::int32_t at = s.e.position(b.rows.indices[k]);
            if (at < 0 || b.rows.values[k] == 0) continue;
            position.push_back(at);
            value.push_back(static_cast<float>(b.rows.values[k] * s.row_scale));
        }
        return start_of(b.facts[r]);
    }
};

// Integers: groups of columns, whose dot products are exact. The exponent of two is minus gamma log2 e times the
// squared distance, which is an integer times step^2 plus the contribution of columns that no support vector has.
template <class S>
struct Integers {
    typedef Gaussian Function;
    typedef std::int32_t Number;
    typedef vw Sum;
    typedef S Step;
    typedef LatticeRow Row;
    const SinglePack &s;
    const Lattice &l = *s.lattice;
    const vf scale = broadcast(static_cast<float>(-s.exponent * l.step * l.step));

    std::size_t terms() const { return l.groups; }
    const std::int32_t *values() const { return l.values.data(); }
    vw start(std::size_t, RowStart) const { return vw{}; }
    vf argument(vw dot, std::size_t at, RowStart row) const {
        const vw squared = load(l.norm.data() + at) + row.norm - (dot + dot);
        return fma(to_float(squared), scale, broadcast(row.offset));
    }

    Row scratch() const { return Row(s); }
    RowStart pack(const SingleBlock &b, std::size_t r, Row &row, std::int32_t *out, std::size_t stride) const {
        row.read(s, b.rows, r);
        const IntegerSums sums = pack_integers(l, row.level, 0, out, stride);
        // The support vectors' bytes are levels minus 128.
        return {static_cast<float>(-s.exponent * row.others), sums.squares - (l.features == 4 ? 256 * sums.sum : 0)};
    }
    RowStart pack_sparse(const SingleBlock &b, std::size_t r, Row &row, std::vector<std::int32_t> &position,
                         std::vector<std::int32_t> &value) const {
        row.all.resize(terms());
        const RowStart start = pack(b, r, row, row.all.data(), 1);
        for (std::size_t g = 0; g < terms(); ++g) {
            if (!row.all[g]) continue;
            position.push_back(static_cast<std::int32_t>(g));
            value.push_back(row.all[g]);
        }
        return start;
    }
};

// Sums of coefficients times kernel values, [row][class]; if there are sizes also the sums of magnitudes; and for pairs
// of classes the kernel values themselves, which still have to be multiplied by coefficients.
struct SingleSums {
    const SinglePack &s;
    std::size_t stride;  // kernel values of a row
    std::vector<double> total, magnitude;
    Aligned<float> kernel;  // [row of a tile][panel][lanes]

    SingleSums(const SinglePack &s, std::size_t rows)
        : s(s), stride(s.pairs ? s.group_panels.back() * SINGLE_LANES : 0), total(rows * s.e.groups, 0.0),
          magnitude(s.size.empty() ? 0 : rows * s.e.groups, 0.0) {}

    // Room for the kernel values of so many rows.
    void keep(std::size_t rows) {
        if (s.pairs) kernel.resize(std::max(kernel.size(), rows * stride));
    }
    void fold(std::size_t row, std::size_t group, const vf *acc) {
        total[row * s.e.groups + group] += static_cast<double>(horizontal_sum(acc[0]));
        if (!magnitude.empty()) magnitude[row * s.e.groups + group] += static_cast<double>(horizontal_sum(acc[1]));
    }
};

// Finishes the sums of R rows and one panel, whose kernel values are kept from `first_row` on: acc[R][2].
template <std::size_t R, class Way, class V>
SVMFAST_INLINE void finish(const Way &way, SingleSums &sums, std::size_t panel, std::size_t first_row,
                           const RowStart *start, V (&sum)[R][NF], vf *acc) {
    typedef typename Way::Function Function;
    const SinglePack &s = way.s;
    const std::size_t at = panel * SINGLE_LANES;
    vf k[R][NF];
    // All arguments before the first function value, and a sum at a time: few registers go to memory then (measured).
    SVMFAST_UNROLL for (std::size_t r = 0; r < R; ++r)
        SVMFAST_UNROLL for (std::size_t v = 0; v < NF; ++v) k[r][v] = way.argument(sum[r][v], at + v * WF, start[r]);
    SVMFAST_UNROLL for (std::size_t r = 0; r < R; ++r)
        SVMFAST_UNROLL for (std::size_t v = 0; v < NF; ++v) k[r][v] = Function::of(k[r][v], s.e.degree);
    SVMFAST_UNROLL for (std::size_t r = 0; r < R; ++r) {
        vf a = acc[2 * r];
        SVMFAST_UNROLL for (std::size_t v = 0; v < NF; ++v) a = fma(load(s.coef.data() + at + v * WF), k[r][v], a);
        acc[2 * r] = a;
    }
    if (!sums.magnitude.empty()) {
        SVMFAST_UNROLL for (std::size_t r = 0; r < R; ++r) {
            vf a = acc[2 * r + 1];
            SVMFAST_UNROLL for (std::size_t v = 0; v < NF; ++v)
                a = fma(load(s.size.data() + at + v * WF), Function::magnitude(k[r][v]), a);
            acc[2 * r + 1] = a;
        }
    }
    if (s.pairs) {
        const std::size_t stride = sums.stride;
        float *const to = sums.kernel.data() + first_row * stride + at;
        SVMFAST_UNROLL for (std::size_t r = 0; r < R; ++r)
            SVMFAST_UNROLL for (std::size_t v = 0; v < NF; ++v) store(to + r * stride + v * WF, k[r][v]);
    }
}

// Dense rows in tiles of R.
template <class Way, std::size_t R>
struct RowTiles {
    Aligned<typename Way::Number> values;  // [tile][term][row]
    std::vector<RowStart> start;           // [tile][row]
    std::vector<double> second_order;      // the same; empty unless a polynomial is split off

    RowTiles(const Way &way, std::size_t most)
        : values(most * R * way.terms()), start(most * R),
          second_order(way.s.second_order ? round_up(most * R, SECOND_ROWS) : 0), way(way), row(way.scratch()),
          side_by_side(way.s.second_order ? way.terms() * SECOND_ROWS : 0) {}

    void pack(const SingleBlock &b, const std::uint32_t *which, std::size_t tiles) {
        for (std::size_t i = 0; i < tiles * R; ++i) {
            start[i] = way.pack(b, which[i], row, values.data() + i / R * way.terms() * R + i % R, R);
            if constexpr (std::is_same_v<typename Way::Function, Remainder>) {
                for (std::size_t f = 0; f < row.size(); ++f) side_by_side[f * SECOND_ROWS + i % SECOND_ROWS] = row[f];
                if (i % SECOND_ROWS == SECOND_ROWS - 1 || i + 1 == tiles * R)
                    polynomial_block(side_by_side.data(), row.size(), 2, b.s.second_order->coefficients.data(), 2,
                                     second_order.data() + i / SECOND_ROWS * SECOND_ROWS);
            }
        }
    }

  private:
    const Way &way;
    typename Way::Row row;
    std::vector<double> side_by_side;
};

// Tile number `tile` with the panels [first, last) of a class -> acc[R][2]. (Inlined, it would leave the products too few
// registers.)
template <class Way, std::size_t R>
__attribute__((noinline)) void with_panels(const Way &way, SingleSums &sums, const RowTiles<Way, R> &rows, std::size_t tile,
                 std::size_t first, std::size_t last, vf *acc) {
    const std::size_t d = way.terms();
    const auto *const row = rows.values.data() + tile * d * R;
    const RowStart *const start = rows.start.data() + tile * R;
    SVMFAST_UNROLL for (std::size_t i = 0; i < 2 * R; ++i) acc[i] = vf{};
    for (std::size_t panel = first; panel < last; ++panel) {
        const std::size_t at = panel * SINGLE_LANES;
        const auto *const vectors = way.values() + at * d;
        typename Way::Sum k[R][NF];
        SVMFAST_UNROLL for (std::size_t r = 0; r < R; ++r)
            SVMFAST_UNROLL for (std::size_t v = 0; v < NF; ++v) k[r][v] = way.start(at + v * WF, start[r]);
        add_products(k, d, [=](std::size_t r, std::size_t f) { return row[f * R + r]; },
                     [=](std::size_t f) { return vectors + f * SINGLE_LANES; }, typename Way::Step{});
        finish(way, sums, panel, tile * R, start, k, acc);
    }
}

// A sparse row: its terms [from, end).
struct StartedRow {
    std::size_t row;  // of the block
    std::size_t from, end;
    RowStart start;
};

// Sparse rows with all panels of a class, panel by panel, so that a panel stays in the cache.
template <class Way>
void with_class(const Way &way, SingleSums &sums, const std::vector<StartedRow> &rows, const std::int32_t *position,
                const typename Way::Number *value, std::size_t group) {
    Aligned<vf> acc(2 * rows.size());
    const std::size_t entries = rows.back().end - rows.front().from, end = way.s.group_panels[group + 1];
    Pulse pulse;
    for (std::size_t first = way.s.group_panels[group]; first < end; first += FOLD_PANELS) {
        const std::size_t last = std::min(first + FOLD_PANELS, end);
        std::fill(acc.begin(), acc.end(), vf{});
        for (std::size_t panel = first; panel < last; ++panel) {
            const auto *const x = way.values() + panel * way.terms() * SINGLE_LANES;
            for (std::size_t i = 0; i < rows.size(); ++i) {
                const StartedRow &row = rows[i];
                typename Way::Sum k[1][NF];
                SVMFAST_UNROLL for (std::size_t v = 0; v < NF; ++v)
                    k[0][v] = way.start(panel * SINGLE_LANES + v * WF, row.start);
                add_products_in_pairs(k[0], row.end - row.from, [=](std::size_t j) { return value[row.from + j]; },
                                      [=](std::size_t j) { return x + position[row.from + j] * SINGLE_LANES; },
                                      typename Way::Step{});
                finish(way, sums, panel, i, &row.start, k, acc.data() + 2 * i);
            }
        }
        for (std::size_t i = 0; i < rows.size(); ++i) sums.fold(rows[i].row, group, acc.data() + 2 * i);
        pulse.spent((entries + rows.size()) * (last - first) * SINGLE_LANES);
    }
}

}  // namespace svmfast::SVMFAST_ISA
