// Kernel values of rows and support vectors on a lattice, from dot products of integers: Lattice in
// single_precision.hpp.
#pragma once
#include "simd/integers.hpp"
#include "simd/single_tiles.hpp"

namespace svmfast::SVMFAST_ISA {

// The exponent of two from the dot product: minus gamma log2 e times the squared distance, which is an integer times
// step^2 plus the contribution of columns that no support vector has.
inline vf lattice_exponent(const Lattice &l, vw dot, std::size_t at, std::int32_t norm, vf scale, float offset) {
    const vw squared = load(l.norm.data() + at) + norm - (dot + dot);
    return fma(to_float(squared), scale, broadcast(offset));
}
inline float lattice_scale(const SinglePack &s) {
    return static_cast<float>(-s.exponent * s.lattice->step * s.lattice->step);
}

// dense_tile for rows of integers z[group][R].
template <class Step, std::size_t R>
void lattice_tile(const SinglePack &s, SingleSums &sums, const std::int32_t *z, const std::int32_t *norm,
                  const float *offset, std::size_t first_row, std::size_t first, std::size_t last, vf *acc) {
    const Lattice &l = *s.lattice;
    const vf scale = broadcast(lattice_scale(s));
    std::fill(acc, acc + 2 * R, vf{});
    for (std::size_t panel = first; panel < last; ++panel) {
        const std::int32_t *x = l.values.data() + panel * l.groups * SINGLE_LANES;
        vw dot[R][NF] = {};
        add_products(
            dot, l.groups, [=](std::size_t r, std::size_t g) { return z[g * R + r]; },
            [=](std::size_t g) { return x + g * SINGLE_LANES; }, Step{});
        vf k[R][NF];
    SVMFAST_UNROLL for (std::size_t r = 0; r < R; ++r)
            SVMFAST_UNROLL for (std::size_t v = 0; v < NF; ++v)
                k[r][v] = lattice_exponent(l, dot[r][v], panel * SINGLE_LANES + v * WF, norm[r], scale, offset[r]);
        finish<Gaussian, R>(s, sums, panel, first_row, k, acc);
    }
}

// A lattice row most of whose integers are 0: entries [from, end) are the nonzero groups.
struct SparseIntegers {
    std::size_t row;  // of the block
    std::size_t from, end;
    std::int32_t norm;
    float offset;
};

// Sparse lattice rows with all panels of a class, panel by panel.
template <class Step>
void lattice_class(const SinglePack &s, SingleSums &sums, const std::vector<SparseIntegers> &rows,
                   const std::int32_t *group_at, const std::int32_t *value, std::size_t group, Aligned<vf> &acc) {
    const Lattice &l = *s.lattice;
    const vf scale = broadcast(lattice_scale(s));
    const std::size_t end = s.group_panels[group + 1], entries = rows.back().end - rows.front().from;
    Pulse pulse;
    for (std::size_t first = s.group_panels[group]; first < end; first += FOLD_PANELS) {
        std::fill(acc.begin(), acc.end(), vf{});
        for (std::size_t panel = first; panel < std::min(first + FOLD_PANELS, end); ++panel) {
            const std::int32_t *x = l.values.data() + panel * l.groups * SINGLE_LANES;
            for (std::size_t i = 0; i < rows.size(); ++i) {
                const SparseIntegers &row = rows[i];
                const std::int32_t *at = group_at + row.from, *z = value + row.from;
                vw dot[NF] = {};
                add_integers_in_pairs(dot, row.end - row.from, [=](std::size_t j) { return z[j]; },
                                      [=](std::size_t j) { return x + at[j] * SINGLE_LANES; }, Step{});
                vf k[1][NF];
                SVMFAST_UNROLL for (std::size_t v = 0; v < NF; ++v)
                    k[0][v] = lattice_exponent(l, dot[v], panel * SINGLE_LANES + v * WF, row.norm, scale, row.offset);
                finish<Gaussian, 1>(s, sums, panel, i, k, acc.data() + 2 * i);
            }
        }
        for (std::size_t i = 0; i < rows.size(); ++i) sums.fold(rows[i].row, group, acc.data() + 2 * i);
        pulse.spent((entries + rows.size()) * (std::min(first + FOLD_PANELS, end) - first) * SINGLE_LANES);
    }
}

}  // namespace svmfast::SVMFAST_ISA
