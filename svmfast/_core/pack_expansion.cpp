// Packs the support vectors of a kernel expansion for evaluation: decision.hpp has the layout.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "decision.hpp"
#include "vote.hpp"

namespace svmfast {
namespace {

// Below this share of stored values, going through the model's columns is faster than panels with zeros (measured).
constexpr double SCATTER_DENSITY = 0.04;
constexpr double PANEL_BYTES_LIMIT = 1024.0 * 1024 * 1024;
// Linear models with at most this many weights (8 MiB) are always collapsed to weight vectors.
constexpr std::size_t COLLAPSED_NUMBERS = std::size_t{1} << 20;
constexpr double ONE_HOT_BYTES_LIMIT = 256.0 * 1024 * 1024;

void pack_columns(Expansion &e, const SupportVectors &sv) {
    e.column_lane.resize(sv.rows.indptr[e.n]);
    e.column_value.resize(sv.rows.indptr[e.n]);
    e.column_start = e.active.each_by_column(sv.rows, 0, e.n, [&](std::size_t at, std::size_t i, std::int64_t k) {
        e.column_lane[at] = static_cast<std::uint32_t>(e.lane[i]);
        e.column_value[at] = sv.rows.values[k];
    });
}

void add_magnitudes(Expansion &e, const SupportVectors &sv) {
    std::vector<double> l1(e.groups * e.width, 0.0);
    std::vector<std::uint8_t> signs(e.groups * e.width, 0);  // 1: one above 0, 2: one below, 3: both
    for (std::size_t g = 0, i = 0; g < e.groups; ++g)
        for (; i < e.group_end[g]; ++i)
            for (std::size_t j = 0; j < e.width; ++j) {
                const double c = sv.coefficient(j, i);
                l1[g * e.width + j] += std::fabs(c);
                signs[g * e.width + j] |= (c > 0) | (c < 0) << 1;
            }
    e.mixed = std::count(signs.begin(), signs.end(), 3) > 0;
    if (e.groups == 1) {
        e.coef_l1 = l1;
    } else {
        each_pair(e.groups, [&](std::size_t i, std::size_t j) {
            e.coef_l1.push_back(l1[i * e.width + j - 1] + l1[j * e.width + i]);
        });
    }
    if (e.coef_l1.size() != e.functions) throw std::invalid_argument("rho does not fit the classes");
}

void pack_vectors(Expansion &e, const SupportVectors &sv) {
    const std::size_t d = e.active.size();
    e.values.assign(e.scattered ? 0 : e.panels() * d * e.lanes, 0.0);
    e.init.assign(e.panels() * e.lanes, 0.0);
    e.coef.assign(e.panels() * e.width * e.lanes, 0.0);
    for (std::size_t i = 0; i < e.n; ++i) {
        const std::size_t panel = e.lane[i] / e.lanes, at = e.lane[i] % e.lanes;
        e.init[e.lane[i]] = -e.gamma * LOG2_E * sv.rows.squared_norm(i);
        for (std::size_t j = 0; j < e.width; ++j) e.coef[(panel * e.width + j) * e.lanes + at] = sv.coefficient(j, i);
        for (std::int64_t k = sv.rows.indptr[i]; k < sv.rows.indptr[i + 1] && !e.scattered; ++k)
            e.values[(panel * d + e.position(sv.rows.indices[k])) * e.lanes + at] = sv.rows.values[k];
    }
}

// With many classes there can be more functions than support vectors: weights would then take more memory, and more
// time per row, than the support vectors.
bool collapse_is_cheaper(const Expansion &e) {
    const std::size_t d = e.active.size();
    return d * e.functions <= std::max(COLLAPSED_NUMBERS, e.n * (d + e.width));
}

// A linear expansion is one weight vector per decision function.
void collapse(Expansion &e, const SupportVectors &sv) {
    e.weights.assign(e.active.size() * e.functions, 0.0);
    // A support vector contributes only to the functions of its own class, one for each coefficient.
    std::vector<std::size_t> function(e.width);
    for (std::size_t g = 0, i = 0; g < e.groups; ++g) {
        for (std::size_t row = 0; row < e.width; ++row) {
            const std::size_t other = row < g ? row : row + 1;
            function[row] = e.groups == 1 ? row : pair_number(e.groups, std::min(g, other), std::max(g, other));
        }
        for (; i < e.group_end[g]; ++i)
            for (std::int64_t k = sv.rows.indptr[i]; k < sv.rows.indptr[i + 1]; ++k) {
                double *w = e.weights.data() + e.position(sv.rows.indices[k]) * e.functions;
                for (std::size_t row = 0; row < e.width; ++row)
                    w[function[row]] += sv.coefficient(row, i) * sv.rows.values[k];
            }
    }
}

}  // namespace

void describe(Expansion &e, const SupportVectors &sv) {
    e.active = ActiveColumns::of(sv.rows.indices, static_cast<std::size_t>(sv.rows.indptr[e.n]));
    e.max_norm = 0;
    e.max_entries = 0;
    for (std::size_t i = 0; i < e.n; ++i) {
        e.max_norm = std::max(e.max_norm, std::sqrt(sv.rows.squared_norm(i)));
        e.max_entries = std::max(e.max_entries, sv.rows.entries(i));
    }
    e.lanes = NV * vector_lanes();
    e.group_panels = e.panels_of(e.lanes);
    for (std::size_t g = 0, i = 0; g < e.groups; ++g)
        for (std::size_t l = e.group_panels[g] * e.lanes; i < e.group_end[g]; ++i, ++l) e.lane.push_back(l);
    const double cells = static_cast<double>(e.panels() * e.lanes) * static_cast<double>(e.active.size());
    const double nnz = static_cast<double>(sv.rows.indptr[e.n]);
    e.scattered = nnz < SCATTER_DENSITY * cells || 8 * cells > PANEL_BYTES_LIMIT;
    add_magnitudes(e, sv);
}

void pack(Expansion &e, const SupportVectors &sv) {
    if (e.scattered) pack_columns(e, sv);
    pack_vectors(e, sv);
    e.collapsed = e.kind == KernelKind::linear && collapse_is_cheaper(e);
    if (e.collapsed) collapse(e, sv);
}

std::unique_ptr<OneHot> pack_one_hot(const Expansion &e, const SupportVectors &sv) {
    const std::size_t d = e.active.size(), nnz = sv.rows.indptr[e.n];
    const double v = nnz ? sv.rows.values[0] : 0, weight = e.gamma * v * v;
    const std::size_t most = e.max_entries;
    if (v == 0 || most > 255 || !(weight * static_cast<double>(most) < ONE_HOT_EXPONENT) || !(weight >= 0) ||
        static_cast<double>(e.n) * static_cast<double>(d) > ONE_HOT_BYTES_LIMIT)
        return nullptr;
    for (std::size_t k = 0; k < nnz; ++k)
        if (sv.rows.values[k] != v) return nullptr;
    for (std::size_t i = 0; i < e.width * e.n; ++i)
        if (const double size = std::fabs(sv.coef[i]); size != 0 && !(size >= ONE_HOT_LEAST && size <= ONE_HOT_MOST))
            return nullptr;
    auto hot = std::make_unique<OneHot>();
    hot->value = v;
    hot->entries = most + 1;
    hot->table.assign((hot->entries + 31) / 32 * 32, 0.0);
    for (std::size_t m = 0; m <= most; ++m) hot->table[m] = std::exp(2 * weight * static_cast<double>(m));
    hot->group_panels = e.panels_of(ONE_HOT_LANES);
    hot->member.assign(hot->group_panels.back() * d * ONE_HOT_LANES, 0);
    hot->coef.assign(hot->group_panels.back() * e.width * ONE_HOT_LANES, 0.0);
    for (std::size_t g = 0, i = 0; g < e.groups; ++g)
        for (std::size_t l = hot->group_panels[g] * ONE_HOT_LANES; i < e.group_end[g]; ++i, ++l) {
            const std::size_t panel = l / ONE_HOT_LANES, at = l % ONE_HOT_LANES;
            for (std::int64_t k = sv.rows.indptr[i]; k < sv.rows.indptr[i + 1]; ++k)
                hot->member[(panel * d + e.position(sv.rows.indices[k])) * ONE_HOT_LANES + at] = 1;
            const double norm = weight * static_cast<double>(sv.rows.entries(i));
            for (std::size_t j = 0; j < e.width; ++j)
                hot->coef[(panel * e.width + j) * ONE_HOT_LANES + at] = sv.coefficient(j, i) * std::exp(-norm);
        }
    return hot;
}

}  // namespace svmfast
