// Packs a reduced set and divides its rows among threads: value and gradient of the distance to given decision values.
#include "reduced_set.hpp"

#include <algorithm>

#include "loops.hpp"

namespace svmfast {
namespace {

// Above this share of stored values, packed rows are faster than compressed ones, since registers are reused
// (measured).
constexpr double DENSE_SHARE = 0.2;
constexpr std::size_t PACKED_LIMIT = std::size_t{1} << 30;
// Parts of the rows that are summed separately. Fixed, so that sums do not depend on the threads.
constexpr std::size_t PARTS = 16;

template <class Visit>
void each_vector(const ReducedSet &s, Visit &&visit) {
    for (std::size_t g = 0, j = 0; g < s.groups; ++g)
        for (std::size_t i = 0; i < s.group_size[g]; ++i, ++j) visit(j, s.group_start[g] + i);
}

// The same for all that have coefficients: vectors, then products.
template <class Visit>
void each_coefficient(const ReducedSet &s, Visit &&visit) {
    std::size_t count = 0;
    each_vector(s, [&](std::size_t j, std::size_t slot) { visit(j, slot), ++count; });
    for (std::size_t p = 0; p < s.pairs.shape(0); ++p) visit(count + p, s.vector_slots + p);
}

ReducedSet packed_set(const ReducedRows &rows, const In2<double> &vectors, const In2<double> &coef,
                      const In1<double> &rho, const In1<std::int64_t> &sizes, double gamma,
                      const In2<std::int64_t> &pairs) {
    const std::size_t lane = vector_lanes();
    ReducedSet s;
    s.kind = rows.kind;
    s.gamma = rows.kind == KernelKind::linear ? 1 : gamma;
    s.coef0 = rows.coef0;
    s.degree = rows.degree;
    s.groups = sizes.shape(0);
    s.width = coef.shape(0);
    s.functions = rho.shape(0);
    s.d = rows.d;
    s.lanes = NV * lane;
    s.group_start.push_back(0);
    for (std::size_t g = 0; g < s.groups; ++g) {
        s.group_size.push_back(sizes.data()[g]);
        s.group_start.push_back(s.group_start.back() + round_up(s.group_size.back(), lane));
    }
    s.rho.assign(rho.data(), rho.data() + s.functions);
    s.pairs = pairs;
    s.padded = s.vector_slots = round_up(s.group_start.back(), s.lanes);
    if (pairs.size()) s.group_start.back() = s.padded = s.vector_slots + round_up(pairs.shape(0), lane);
    s.vectors.assign(s.vector_slots * s.d, 0.0);
    s.init.assign(s.vector_slots, 0.0);
    s.coef.assign(s.width * s.padded, 0.0);
    const double factor = s.kind == KernelKind::rbf ? 2 * s.gamma * LOG2_E : s.gamma;
    each_vector(s, [&](std::size_t j, std::size_t slot) {
        double *u = s.vectors.data() + slot / s.lanes * s.d * s.lanes + slot % s.lanes;
        const double *from = vectors.data() + j * s.d;
        double norm = 0;
        for (std::size_t f = 0; f < s.d; ++f) {
            norm += from[f] * from[f];
            u[f * s.lanes] = factor * from[f];
        }
        s.init[slot] = -s.gamma * LOG2_E * norm;
    });
    each_coefficient(s, [&](std::size_t j, std::size_t slot) {
        for (std::size_t q = 0; q < s.width; ++q) s.coef[q * s.padded + slot] = coef(q, j);
    });
    return s;
}

}  // namespace

ReducedSetObjective::ReducedSetObjective(int kind, double coef0, int degree, bool hinge, const SparseRows &given,
                                         std::size_t n_columns, In1<std::int64_t> winner, In2<double> target,
                                         In2<double> weight) {
    rows.kind = static_cast<KernelKind>(kind);
    const bool linear = rows.kind == KernelKind::linear;
    rows.coef0 = linear ? 0 : coef0, rows.degree = linear ? 1 : degree;
    rows.hinge = hinge;
    rows.n = given.count;
    rows.d = n_columns;
    rows.width = target.shape(1);
    rows.target.assign(target.data(), target.data() + rows.n * rows.width);
    rows.weight.assign(weight.data(), weight.data() + rows.n * rows.width);
    rows.start.assign(given.indptr, given.indptr + rows.n + 1);
    for (std::size_t r = 0; r < rows.n; ++r) rows.squared_norm.push_back(given.squared_norm(r));
    const double cells = static_cast<double>(rows.n) * static_cast<double>(rows.d);
    rows.dense = static_cast<double>(rows.start[rows.n]) > DENSE_SHARE * cells && 8 * cells < PACKED_LIMIT;
    rows.tile_rows = register_rows() * (rows.dense ? 1 : 4);
    rows.squared_norm.resize(rows.n + rows.tile_rows);
    for (std::size_t first = 0, r = 0; r < rows.n; first = r) {
        const std::int64_t here = winner.data()[first];
        while (r < rows.n && r - first < rows.tile_rows && winner.data()[r] == here) ++r;
        rows.tiles.push_back({first, r - first, static_cast<std::size_t>(here)});
    }
    if (!rows.dense) {
        rows.index.assign(given.indices, given.indices + rows.start[rows.n]);
        rows.value.assign(given.values, given.values + rows.start[rows.n]);
        return;
    }
    rows.packed.assign(rows.tiles.size() * rows.d * rows.tile_rows, 0.0);
    for (std::size_t i = 0; i < rows.tiles.size(); ++i)
        for (std::size_t r = 0; r < rows.tiles[i].count; ++r) {
            double *column = rows.packed.data() + i * rows.d * rows.tile_rows + r;
            const std::size_t row = rows.tiles[i].first + r;
            for (std::int64_t k = rows.start[row]; k < rows.start[row + 1]; ++k)
                column[given.indices[k] * rows.tile_rows] = given.values[k];
        }
}

std::tuple<double, Out<double>, Out<double>, Out<double>, double, Out<double>> ReducedSetObjective::evaluate(
    In2<double> vectors, In2<double> coef, In1<double> rho, In1<std::int64_t> sizes, double gamma,
    In2<std::int64_t> pairs, bool with_rows, Threads threads) const {
    const std::size_t m = vectors.shape(0), width = coef.shape(0), all_coef = coef.shape(1), d = rows.d;
    std::unique_ptr<double[]> grad_vectors(new double[m * d]), grad_coef(new double[width * all_coef]),
        grad_rho(new double[rho.shape(0)]()), by_rows(new double[(with_rows ? rows.n : 0) * (d + 1)]);
    const ReducedSet s = packed_set(rows, vectors, coef, rho, sizes, gamma, pairs);
    std::vector<ReducedSums> sums(PARTS, ReducedSums(s, with_rows ? by_rows.get() : nullptr));
    const std::size_t tiles = rows.tiles.size(), share = std::max<std::size_t>(1, divide_up(tiles, PARTS));
    parallel_for(divide_up(tiles, share), threads, [&](std::size_t i, std::size_t) {
        SVMFAST_DISPATCH(reduced_rows, rows, s, i * share, std::min((i + 1) * share, tiles), sums[i]);
    });
    ReducedSums &all = sums[0];
    const auto add = [](auto &to, const auto &from) {
        for (std::size_t k = 0; k < to.size(); ++k) to[k] += from[k];
    };
    for (std::size_t i = 1; i < PARTS; ++i) {
        all.value += sums[i].value;
        add(all.vectors, sums[i].vectors);
        add(all.pull, sums[i].pull);
        add(all.spread, sums[i].spread);
        add(all.coef, sums[i].coef);
        add(all.rho, sums[i].rho);
    }
    // A product moves with both of its vectors.
    for (std::size_t p = 0; p < 2 * pairs.shape(0); ++p) {
        const std::size_t product = s.vector_slots + p / 2, slot = pairs.data()[p];
        all.pull[slot] += all.pull[product];
        all.spread[slot] += all.spread[product];
    }
    double by_gamma = 0;
    each_vector(s, [&](std::size_t j, std::size_t slot) {
        const double *sum = all.vectors.data() + slot / s.lanes * d * s.lanes + slot % s.lanes;
        const double pull = s.kind == KernelKind::rbf ? all.pull[slot] : 0.0;
        // q is 2 gamma times what a kernel value adds to the objective, and its derivative by gamma has the factor
        // -||x - u||^2.
        double distances = all.spread[slot];
        for (std::size_t f = 0; f < d; ++f) {
            const double u = vectors.data()[j * d + f];
            grad_vectors[j * d + f] = sum[f * s.lanes] - pull * u;
            distances += u * (pull * u - 2 * sum[f * s.lanes]);
        }
        by_gamma -= distances / (2 * s.gamma);
    });
    each_coefficient(s, [&](std::size_t j, std::size_t slot) {
        for (std::size_t q = 0; q < width; ++q) grad_coef[q * all_coef + j] = all.coef[q * s.padded + slot];
    });
    std::copy(all.rho.begin(), all.rho.end(), grad_rho.get());
    return {all.value,
            give(std::move(grad_vectors), {m, d}),
            give(std::move(grad_coef), {width, all_coef}),
            give(std::move(grad_rho), {rho.shape(0)}),
            by_gamma,
            give(std::move(by_rows), {with_rows ? rows.n : 0, d + 1})};
}

}  // namespace svmfast
