// Rows for single precision: centered, with their norms and the facts that their bounds depend on; and as integers
// where they are on the lattice of the support vectors (Lattice in single_precision.hpp).
#pragma once
#include "simd/tiles.hpp"
#include "single_precision.hpp"

namespace svmfast::SVMFAST_ISA {

// The most terms that a lane sums in single precision before the sum is added to a double.
constexpr std::size_t FOLD_TERMS = 32;
// Unit roundoff of float, twice that of double, and bounds on the relative errors of the functions of exp2.hpp.
constexpr double U = 0x1p-24, EPSILON = std::numeric_limits<double>::epsilon();
constexpr double FUNCTION_ERROR = 0x1p-21, REMAINDER_ERROR = 0x1p-20, TANH_ERROR = 0x1p-19;
// Roundings of a term: the additions, the coefficient's rounding, and a product that is not fused.
constexpr double SUM_ERROR = 1.01 * (FOLD_TERMS + 8) * U;
// Beyond this error of an exponent the bound is useless; its proof also requires a small error.
constexpr double LARGEST_EXPONENT_ERROR = 0.05;
// exp_remainder is valid up to this absolute value of its argument.
constexpr double LARGEST_REMAINDER = 1;
// Of arguments, and of powers of them, in units of the largest for rows as long as a support vector.
constexpr double LARGEST_STRETCH = 0x1p60;

// Bounds |computed - exact| of a sum of `terms` products that starts at minus the squared norms, over (||x|| +
// ||z||)^2; the same of a sum that starts at a constant, over ||x|| ||z|| and the constant.
inline double dot_error(std::size_t terms) { return 1.01 * U * (static_cast<double>(terms) + 8); }

// The properties of a row that its bound depends on.
struct RowFacts {
    double norm = 0;            // ||z - center||
    double entries = 0;         // stored in the row
    std::size_t terms = 0;      // of its dot products
    double argument = 0;        // bound on the kernel function's arguments (other than rbf),
    double argument_error = 0;  // and on the error of those (rbf: of the exponents)
    bool sparse = false, lattice = false;
};

// The rows of a call, and where their answers go.
struct SingleBlock {
    const SinglePack &s;
    const RowBlock &rows;
    std::vector<RowFacts> facts;
    std::vector<std::uint32_t> dense, sparse, lattice_dense, lattice_sparse;
    std::int32_t *out;
    double *values, *bounds;  // [row][function], or null: only labels are wanted
};

// z - center of a row in the model's columns -> z[active]; returns the sum of the squares of its other features.
inline double centered_row(const SinglePack &s, const RowBlock &rows, std::size_t r, double *z) {
    const std::size_t d = s.e.active.size();
    const double *const center = s.center.data();
    const std::int32_t *const columns = rows.indices + rows.begin(r);
    const double *const values = rows.values + rows.begin(r);
    const std::size_t n = rows.entries(r);
    if (n == d && s.e.active.all_plain(rows, rows.row(r))) {
        for (std::size_t f = 0; f < d; ++f) z[f] = values[f] - center[f];
        return 0;
    }
    for (std::size_t f = 0; f < d; ++f) z[f] = 0 - center[f];
    double others = 0;
    for (std::size_t k = 0; k < n; ++k) {
        const std::int32_t at = s.e.position(columns[k]);
        if (at >= 0)
            z[at] = values[k] - center[at];
        else
            others += values[k] * values[k];
    }
    return others;
}

// The sum of the squares of z[0 .. d).
inline double sum_of_squares(const double *z, std::size_t d) {
    vd sum[4] = {};
    std::size_t f = 0;
    for (; f + 4 * W <= d; f += 4 * W) SVMFAST_UNROLL for (std::size_t i = 0; i < 4; ++i) {
            const vd v = load(z + f + i * W);
            sum[i] = fma(v, v, sum[i]);
        }
    double rest = 0;
    for (; f < d; ++f) rest += z[f] * z[f];
    return horizontal_sum((sum[0] + sum[1]) + (sum[2] + sum[3])) + rest;
}

// ||z - center|| of a row, including features that no support vector has; counts those that some support vector has.
// z: room for one number for each of the model's columns.
inline RowFacts look_at(const SinglePack &s, const RowBlock &rows, std::size_t r, double *z) {
    const std::size_t d = s.e.active.size();
    RowFacts facts;
    double squares = 0;
    std::size_t known = 0;
    if (s.centered) {
        squares = centered_row(s, rows, r, z);
        squares += sum_of_squares(z, d);
    }
    for (std::int64_t k = rows.begin(r); !s.centered && k < rows.end(r); ++k) {
        known += s.e.position(rows.indices[k]) >= 0 && rows.values[k] != 0;
        squares += rows.values[k] * rows.values[k];
    }
    facts.norm = std::sqrt(squares);
    facts.entries = static_cast<double>(rows.entries(r));
    facts.sparse = !s.centered && static_cast<double>(known) * SPARSE_COST < static_cast<double>(d);
    facts.terms = facts.sparse ? known : d;
    if (s.e.kind == KernelKind::rbf) {
        const double far = s.reach + facts.norm;
        facts.argument_error = s.exponent * far * far * dot_error(facts.terms);
    } else {
        constexpr double hidden = 1e-150;  // as in rounding.hpp
        const double argument =
            std::fabs(s.e.gamma) * (s.reach + hidden) * (facts.norm + hidden) + std::fabs(s.e.coef0);
        facts.argument_error = dot_error(facts.terms) * argument + 0x1p-120 * s.argument_scale;
        facts.argument = 1.01 * argument + facts.argument_error;
    }
    return facts;
}

// The largest power of the arguments of a polynomial kernel, in the units of the sums; at least 1.
inline double stretch(const SinglePack &s, const RowFacts &facts) {
    if (s.e.kind != KernelKind::polynomial) return 1;
    return powi(std::max(1.0, facts.argument / s.argument_scale), s.e.degree);
}

// Whether the proof holds for the row at all. (Written so that a nan fails.)
inline bool in_range(const SinglePack &s, const RowFacts &facts) {
    if (s.second_order)
        return 2 * s.e.gamma * s.reach * facts.norm <= LARGEST_REMAINDER && s.e.gamma * facts.norm * facts.norm <= 50;
    if (s.e.kind != KernelKind::rbf)
        return facts.argument <= LARGEST_STRETCH * s.argument_scale && stretch(s, facts) <= LARGEST_STRETCH;
    return facts.argument_error < LARGEST_EXPONENT_ERROR;
}

// A row uses the lattice if the bound on its exponents is at most this many times that of single precision.
constexpr double LATTICE_TOLERANCE = 4;

// The level nearest to a value: adding and subtracting 1.5 * 2^52 rounds.
template <class Number>
inline Number nearest_level(const Lattice &l, Number v) {
    constexpr double magic = Exponent<double>::magic;
    return ((v - l.origin) * (1 / l.step) + magic) - magic;
}

// A row on the lattice.
struct LatticeRow {
    std::vector<double> level;  // of each of the model's columns
    double off = 0;             // sum of squared distances from the lattice; not finite if a value is beyond its ends
    double others = 0;          // sum of squares of columns that no support vector has
    std::vector<std::int32_t> all;  // room for its integers

    explicit LatticeRow(const SinglePack &s) : level(s.lattice ? s.e.active.size() : 0) {}

    void read(const SinglePack &s, const RowBlock &rows, std::size_t r) {
        const Lattice &l = *s.lattice;
        const std::size_t d = s.e.active.size();
        const std::int32_t *const columns = rows.indices + rows.begin(r);
        const double *const values = rows.values + rows.begin(r);
        const std::size_t n = rows.entries(r);
        off = others = 0;
        if (n == d && s.e.active.all_plain(rows, rows.row(r))) return read_all(l, values, d);
        std::fill(level.begin(), level.end(), l.zero);
        std::size_t known = 0;
        for (std::size_t k = 0; k < n; ++k) {
            const std::int32_t at = s.e.position(columns[k]);
            if (at < 0) {
                others += values[k] * values[k];
                continue;
            }
            ++known;
            add(l, values[k], level[at]);
        }
        const double zero = l.origin + l.step * l.zero;
        if (known < d) off += l.zero < 0 ? INFINITY : static_cast<double>(d - known) * zero * zero;
    }

  private:
    // (Written so that a nan fails.)
    void add(const Lattice &l, double v, double &k) {
        k = nearest_level(l, v);
        const double distance = v - (l.origin + l.step * k);
        off += k >= 0 && k <= l.levels ? distance * distance : INFINITY;
    }
    void read_all(const Lattice &l, const double *values, std::size_t d) {
        vd squares{}, least{}, most{};
        std::size_t f = 0;
        for (; f + W <= d; f += W) {
            const vd v = load(values + f), k = nearest_level(l, v), distance = v - (l.origin + l.step * k);
            squares = fma(distance, distance, squares);
            least = minimum(least, k);
            most = maximum(most, k);
            store(level.data() + f, k);
        }
        off = horizontal_sum(squares);
        for (std::size_t i = 0; i < W; ++i)
            if (!(least[i] >= 0 && most[i] <= l.levels)) off = INFINITY;
        for (; f < d; ++f) add(l, values[f], level[f]);
    }
};

// The groups of columns whose integers of a row are not all 0.
inline std::size_t touched_groups(const Lattice &l, const std::vector<double> &level) {
    std::size_t touched = 0;
    for (std::size_t f = 0; f < level.size(); f += l.features) {
        bool any = false;
        for (std::size_t i = f; i < std::min(f + l.features, level.size()); ++i) any |= level[i] != l.shift;
        touched += any;
    }
    return touched;
}

// Decides whether a row uses the lattice, and bounds the error of its exponents there.
inline void look_at_lattice(const SinglePack &s, const RowBlock &rows, std::size_t r, LatticeRow &row, RowFacts &facts) {
    const Lattice &l = *s.lattice;
    row.read(s, rows, r);
    const double d = static_cast<double>(s.e.active.size());
    // The distance from a lattice point is itself subject to rounding.
    const double rounded = 0x1p-49 * std::sqrt(d) * (std::fabs(l.origin) + l.step * l.levels);
    const double residual = std::sqrt(row.off) + l.residual + rounded, far = s.reach + facts.norm + residual;
    const double error = 1.01 * s.exponent * (4 * U * far * far + 2 * far * residual + residual * residual);
    if (!(error <= LATTICE_TOLERANCE * facts.argument_error)) return;
    facts.lattice = true;
    facts.argument_error = error;
    facts.sparse =
        l.sparse && static_cast<double>(touched_groups(l, row.level)) * SPARSE_COST < static_cast<double>(l.groups);
}

}  // namespace svmfast::SVMFAST_ISA
