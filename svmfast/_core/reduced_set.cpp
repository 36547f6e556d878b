// Packs a reduced set and divides its rows among threads: value and gradient of the distance to given decision values.
#include "reduced_set.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <tuple>

#include "loops.hpp"
#include "math.hpp"
#include "threads.hpp"

namespace svmfast {
namespace {

// Above this share of stored values, packed rows are faster than compressed ones, since registers are reused
// (measured).
constexpr double DENSE_SHARE = 0.2;
constexpr std::size_t PACKED_LIMIT = std::size_t{1} << 30;

template <class Visit>
void each_vector(const ReducedSet &s, Visit &&visit) {
    for (std::size_t g = 0, j = 0; g < s.groups; ++g)
        for (std::size_t i = 0; i < s.group_size[g]; ++i, ++j) visit(j, s.group_start[g] + i);
}

}  // namespace

ReducedSetObjective::ReducedSetObjective(In1<std::int64_t> indptr, In1<std::int32_t> indices, In1<double> values,
                                         std::size_t n_columns, In1<std::int64_t> winner, In2<double> target,
                                         In2<double> weight) {
    rows.n = indptr.shape(0) - 1;
    rows.d = n_columns;
    rows.width = target.shape(1);
    if (target.shape(0) != rows.n || weight.shape(0) != rows.n || weight.shape(1) != rows.width ||
        winner.shape(0) != rows.n)
        throw std::invalid_argument("rows, targets and weights are inconsistent");
    rows.target.assign(target.data(), target.data() + rows.n * rows.width);
    rows.weight.assign(weight.data(), weight.data() + rows.n * rows.width);
    rows.start.assign(indptr.data(), indptr.data() + rows.n + 1);
    rows.squared_norm.resize(rows.n);
    for (std::size_t r = 0; r < rows.n; ++r)
        for (std::int64_t k = rows.start[r]; k < rows.start[r + 1]; ++k) {
            const std::int32_t column = indices.data()[k];
            if (column < 0 || static_cast<std::size_t>(column) >= n_columns)
                throw std::invalid_argument("a column beyond n_columns");
            rows.squared_norm[r] += values.data()[k] * values.data()[k];
        }
    const double cells = static_cast<double>(rows.n) * static_cast<double>(rows.d);
    rows.dense = static_cast<double>(rows.start[rows.n]) > DENSE_SHARE * cells && 8 * cells < PACKED_LIMIT;
    rows.tile_rows = SVMFAST_DISPATCH(reduced_tile_rows, rows.dense);
    for (std::size_t first = 0, r = 0; r < rows.n; first = r) {
        const std::int64_t here = winner.data()[first];
        if (here < 0 || static_cast<std::size_t>(here) > rows.width ||
            (!rows.tiles.empty() && static_cast<std::size_t>(here) < rows.tiles.back().winner))
            throw std::invalid_argument("rows are not sorted by winner");
        while (r < rows.n && r - first < rows.tile_rows && winner.data()[r] == here) ++r;
        rows.tiles.push_back({first, r - first, static_cast<std::size_t>(here)});
    }
    if (!rows.dense) {
        rows.index.assign(indices.data(), indices.data() + indices.shape(0));
        rows.value.assign(values.data(), values.data() + values.shape(0));
        return;
    }
    rows.packed.assign(rows.tiles.size() * rows.d * rows.tile_rows, 0.0);
    for (std::size_t i = 0; i < rows.tiles.size(); ++i)
        for (std::size_t r = 0; r < rows.tiles[i].count; ++r) {
            double *column = rows.packed.data() + i * rows.d * rows.tile_rows + r;
            const std::size_t row = rows.tiles[i].first + r;
            for (std::int64_t k = rows.start[row]; k < rows.start[row + 1]; ++k)
                column[indices.data()[k] * rows.tile_rows] = values.data()[k];
        }
}

std::tuple<double, Out<double>, Out<double>, Out<double>> ReducedSetObjective::evaluate(
    int kind, double gamma, double coef0, int degree, In2<double> vectors, In2<double> coef, In1<double> rho,
    In1<std::int64_t> sizes, std::size_t shares, Threads threads) const {
    const std::size_t m = vectors.shape(0), width = coef.shape(0), d = rows.d;
    std::unique_ptr<double[]> grad_vectors(new double[m * d]), grad_coef(new double[width * m]),
        grad_rho(new double[rho.shape(0)]());
    double value = 0;
    const ReducedSet s = pack(kind, gamma, coef0, degree, vectors, coef, rho, sizes);
    // The division into parts does not depend on the threads, so neither do the sums.
    const std::size_t share = share_tiles(shares);
    const std::size_t count = divide_up(rows.tiles.size(), share);
    std::vector<ReducedSums> sums;
    sums.reserve(std::max<std::size_t>(1, count));
    for (std::size_t i = 0; i < std::max<std::size_t>(1, count); ++i) sums.emplace_back(s);
    parallel_for(count, threads, [&](std::size_t i, std::size_t) {
        const std::size_t first = i * share;
        SVMFAST_DISPATCH(reduced_rows, rows, s, first, std::min(first + share, rows.tiles.size()), &sums[i], nullptr);
    });
    ReducedSums &all = sums[0];
    for (std::size_t i = 1; i < count; ++i) {
        all.value += sums[i].value;
        for (std::size_t k = 0; k < all.vectors.size(); ++k) all.vectors[k] += sums[i].vectors[k];
        for (std::size_t k = 0; k < all.pull.size(); ++k) all.pull[k] += sums[i].pull[k];
        for (std::size_t k = 0; k < all.coef.size(); ++k) all.coef[k] += sums[i].coef[k];
        for (std::size_t k = 0; k < all.rho.size(); ++k) all.rho[k] += sums[i].rho[k];
    }
    value = all.value;
    const bool rbf = s.kind == KernelKind::rbf;
    each_vector(s, [&](std::size_t j, std::size_t slot) {
        const double *sum = all.vectors.data() + slot / s.lanes * d * s.lanes + slot % s.lanes;
        const double pull = rbf ? all.pull[slot] : 0.0;
        for (std::size_t f = 0; f < d; ++f)
            grad_vectors[j * d + f] = sum[f * s.lanes] - pull * vectors.data()[j * d + f];
        for (std::size_t q = 0; q < width; ++q) grad_coef[q * m + j] = all.coef[q * s.padded + slot];
    });
    std::copy(all.rho.begin(), all.rho.end(), grad_rho.get());
    return {value, give(std::move(grad_vectors), {m, d}), give(std::move(grad_coef), {width, m}),
            give(std::move(grad_rho), {rho.shape(0)})};
}

Out<double> ReducedSetObjective::decisions(int kind, double gamma, double coef0, int degree, In2<double> vectors,
                                           In2<double> coef, In1<double> rho, In1<std::int64_t> sizes,
                                           Threads threads) const {
    std::unique_ptr<double[]> out(new double[rows.n * rows.width]);
    const ReducedSet s = pack(kind, gamma, coef0, degree, vectors, coef, rho, sizes);
    const std::size_t share = share_tiles(64);
    parallel_for(divide_up(rows.tiles.size(), share), threads, [&](std::size_t i, std::size_t) {
        const std::size_t first = i * share;
        SVMFAST_DISPATCH(reduced_rows, rows, s, first, std::min(first + share, rows.tiles.size()), nullptr, out.get());
    });
    return give(std::move(out), {rows.n, rows.width});
}

std::size_t ReducedSetObjective::share_tiles(std::size_t shares) const {
    return std::max<std::size_t>(1, divide_up(rows.tiles.size(), std::max<std::size_t>(1, shares)));
}

ReducedSet ReducedSetObjective::pack(int kind, double gamma, double coef0, int degree, const In2<double> &vectors,
                                     const In2<double> &coef, const In1<double> &rho,
                                     const In1<std::int64_t> &sizes) const {
    ReducedSet s;
    s.kind = static_cast<KernelKind>(kind);
    s.gamma = gamma;
    s.coef0 = coef0;
    s.degree = degree;
    if (s.kind == KernelKind::linear) s.kind = KernelKind::polynomial, s.gamma = 1, s.coef0 = 0, s.degree = 1;
    s.groups = sizes.shape(0);
    s.width = coef.shape(0);
    s.functions = rho.shape(0);
    s.d = rows.d;
    const std::size_t lane = vector_lanes(), m = vectors.shape(0);
    s.lanes = NV * lane;
    std::size_t total = 0;
    s.group_start.push_back(0);
    for (std::size_t g = 0; g < s.groups; ++g) {
        const std::size_t size = sizes.data()[g];
        total += size;
        s.group_size.push_back(size);
        s.group_start.push_back(s.group_start.back() + round_up(size, lane));
    }
    const std::size_t expected = s.groups == 1 ? 1 : s.groups * (s.groups - 1) / 2;
    if (total != m || coef.shape(1) != m || vectors.shape(1) != rows.d || s.functions != expected ||
        s.width != rows.width || s.width != (s.groups == 1 ? 1 : s.groups - 1))
        throw std::invalid_argument("vectors, coefficients and classes are inconsistent");
    s.rho.assign(rho.data(), rho.data() + s.functions);
    s.padded = round_up(s.group_start.back(), s.lanes);
    s.vectors.assign(s.padded * s.d, 0.0);
    s.init.assign(s.padded, 0.0);
    s.coef.assign(s.width * s.padded, 0.0);
    const double factor = s.kind == KernelKind::rbf ? 2 * gamma * LOG2_E : s.gamma;
    each_vector(s, [&](std::size_t j, std::size_t slot) {
        double *u = s.vectors.data() + slot / s.lanes * s.d * s.lanes + slot % s.lanes;
        const double *from = vectors.data() + j * s.d;
        double norm = 0;
        for (std::size_t f = 0; f < s.d; ++f) {
            norm += from[f] * from[f];
            u[f * s.lanes] = factor * from[f];
        }
        s.init[slot] = -gamma * LOG2_E * norm;
        for (std::size_t q = 0; q < s.width; ++q) s.coef[q * s.padded + slot] = coef.data()[q * m + j];
    });
    return s;
}

}  // namespace svmfast
