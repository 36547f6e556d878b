// Sums of one-hot support vectors: shared features are counted in bytes, kernel values come from a table. See OneHot
// in decision.hpp.
#pragma once
#include "decision.hpp"
#include "simd/tiles.hpp"

namespace svmfast::SVMFAST_ISA {
namespace {

constexpr std::size_t L = ONE_HOT_LANES;

// One panel with one row: counts the shared features of its vectors and adds their kernel values, times each
// coefficient row, to acc[width][2].
template <std::size_t REGISTERS>
inline void add_panel(const Table<REGISTERS> &table, const std::uint8_t *member, const double *coef, std::size_t width,
                      const std::int32_t *at, std::size_t n, vd *acc) {
    constexpr std::size_t B = L / sizeof(vb);
    vb shared[B] = {};
    for (std::size_t i = 0; i < n; ++i) SVMFAST_UNROLL for (std::size_t b = 0; b < B; ++b) shared[b] += load(member + at[i] * L + b * sizeof(vb));
    std::uint8_t count[L];
    std::memcpy(count, shared, L);
    if (width == 1) {
        vd one = acc[0], other = acc[1];
        SVMFAST_UNROLL for (std::size_t l = 0; l < L; l += 2 * W) {
            one = fma(load(coef + l), table.at(count + l), one);
            other = fma(load(coef + l + W), table.at(count + l + W), other);
        }
        acc[0] = one, acc[1] = other;
        return;
    }
    vd kernel[L / W];
    SVMFAST_UNROLL for (std::size_t v = 0; v < L / W; ++v) kernel[v] = table.at(count + v * W);
    for (std::size_t j = 0; j < width; ++j, coef += L)
        SVMFAST_UNROLL for (std::size_t v = 0; v < L / W; ++v)
            acc[2 * j + v % 2] = fma(load(coef + v * W), kernel[v], acc[2 * j + v % 2]);
}

// A block's rows in the model's own columns, scaled so that the dot product needs no further factor.
struct MappedRows {
    std::vector<std::size_t> start;
    std::vector<std::int32_t> position;
    std::vector<double> value;
    std::vector<double> squared_norm;

    MappedRows(const Expansion &e, const RowBlock &rows, double scale) {
        start.reserve(rows.count + 1);
        start.push_back(0);
        std::size_t entries = 0;
        for (std::size_t r = 0; r < rows.count; ++r) entries += rows.entries(r);
        position.reserve(entries);
        value.reserve(entries);
        squared_norm.reserve(rows.count);
        for (std::size_t r = 0; r < rows.count; ++r) {
            double norm = 0;
            for (std::int64_t k = rows.begin(r); k < rows.end(r); ++k) {
                const double z = rows.values[k];
                norm += z * z;
                const std::int32_t at = e.position(rows.indices[k]);
                if (at < 0 || z == 0) continue;
                position.push_back(at);
                value.push_back(z * scale);
            }
            squared_norm.push_back(norm);
            start.push_back(position.size());
        }
    }
    std::size_t count() const { return squared_norm.size(); }
    std::size_t nonzeros(std::size_t r) const { return start[r + 1] - start[r]; }
};

// (Inlined, it would leave the inner loop too few registers.)
template <std::size_t REGISTERS>
__attribute__((noinline)) void add_rows(const Expansion &e, const MappedRows &rows, const std::vector<std::uint32_t> &which, double *sums) {
    if (which.empty()) return;
    const OneHot &hot = *e.one_hot;
    const Table<REGISTERS> table(hot.table.data());
    const std::size_t d = e.active.size();
    std::vector<std::pair<const std::int32_t *, std::size_t>> listed;
    std::size_t entries = 0;
    for (std::uint32_t row : which) {
        listed.emplace_back(rows.position.data() + rows.start[row], rows.nonzeros(row));
        entries += listed.back().second;
    }
    Aligned<vd> acc(2 * e.width * which.size());
    Pulse pulse;
    for (std::size_t g = 0; g < e.groups; ++g) {
        std::fill(acc.begin(), acc.end(), vd{});
        for (std::size_t panel = hot.group_panels[g]; panel < hot.group_panels[g + 1]; ++panel) {
            for (std::size_t i = 0; i < which.size(); ++i)
                add_panel(table, hot.member.data() + panel * d * L, hot.coef.data() + panel * e.width * L, e.width,
                          listed[i].first, listed[i].second, acc.data() + 2 * e.width * i);
            pulse.spent(entries * L / 8 + which.size() * e.width * L);
        }
        for (std::size_t i = 0; i < which.size(); ++i) {
            const double shrink = std::exp(-e.gamma * rows.squared_norm[which[i]]);
            for (std::size_t j = 0; j < e.width; ++j) {
                const vd *pair = acc.data() + 2 * (e.width * i + j);
                sums[(which[i] * e.groups + g) * e.width + j] = shrink * horizontal_sum(pair[0] + pair[1]);
            }
        }
    }
}

// Sums of one-hot support vectors for rows all of whose entries in the model's columns are the model's value:
// sums[row][group][width].
void one_hot_rows(const Expansion &e, const MappedRows &rows, const std::vector<std::uint32_t> &which,
                         double *sums) {
    // A row shares no more features than it has, nor more than a support vector has: a small table suffices for most rows.
    std::vector<std::uint32_t> small, large, any;
    for (std::uint32_t row : which) {
        const std::size_t entries = std::min(e.one_hot->entries, rows.nonzeros(row) + 1);
        (entries <= TABLE_SMALL ? small : entries <= TABLE_LARGE ? large : any).push_back(row);
    }
    add_rows<TABLE_SMALL / W>(e, rows, small, sums);
    add_rows<TABLE_LARGE / W>(e, rows, large, sums);
    add_rows<0>(e, rows, any, sums);
}

}  // namespace
}  // namespace svmfast::SVMFAST_ISA
