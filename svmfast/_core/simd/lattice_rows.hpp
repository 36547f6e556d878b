// Rows on the lattice of the support vectors, as integers: Lattice in single_precision.hpp, docs/single-precision.md
// for the bound.
#pragma once
#include "simd/single_rows.hpp"

namespace svmfast::SVMFAST_ISA {

// A row uses the lattice if the bound on its exponents is at most this many times that of single precision.
constexpr double LATTICE_TOLERANCE = 4;

// The level nearest to a value: adding and subtracting 1.5 * 2^52 rounds.
template <class Number>
inline Number nearest_level(const Lattice &l, Number v) {
    constexpr double magic = 6755399441055744.0;
    return ((v - l.origin) * (1 / l.step) + magic) - magic;
}

// A row on the lattice.
struct LatticeRow {
    std::vector<double> level;  // of each of the model's columns
    double off = 0;             // sum of squared distances from the lattice; not finite if a value is beyond its ends
    double others = 0;          // sum of squares of columns that no support vector has
    std::vector<std::int32_t> all;  // room for its integers

    explicit LatticeRow(const SinglePack &s) : level(s.lattice ? s.e.active.size() : 0) {}

    void read(const SinglePack &s, const RowBlock &rows, std::int64_t begin, std::int64_t end) {
        const Lattice &l = *s.lattice;
        const std::size_t d = s.e.active.size();
        const std::int32_t *const columns = rows.indices + begin;
        const double *const values = rows.values + begin;
        const auto n = static_cast<std::size_t>(end - begin);
        off = others = 0;
        if (n == d && s.e.active.plain() && n > 0 && static_cast<std::size_t>(columns[n - 1]) == d - 1)
            return read_all(l, values, d);
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
inline void look_at_lattice(const SinglePack &s, const RowBlock &rows, std::int64_t begin, std::int64_t end,
                            LatticeRow &row, RowFacts &facts) {
    const Lattice &l = *s.lattice;
    row.read(s, rows, begin, end);
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
