// Small kernel expansions, one for each cell: packs a model and groups rows for prediction, packs rows and vectors for
// a fit.
#include "cells.hpp"

#include <algorithm>
#include <stdexcept>

#include "loops.hpp"
#include "vote.hpp"

namespace svmfast {
namespace {

// Number of rows grouped by cell at a time; they and their results stay in the second-level cache.
constexpr std::size_t MOST_ROWS = 8192, FEWEST_ROWS = 256;
// Below this share of nonzero values landmarks are stored as lists: dense storage, which keeps two copies, would take
// more than ten times the memory without being faster.
constexpr double LISTED_SHARE = 0.1;
// Number of parts of a fit's tiles that are summed separately. Fixed, so that sums do not depend on the threads.
constexpr std::size_t SHARES = 8;

void pack_landmarks(Cell &cell, std::size_t at, const Csr &landmarks) {
    const std::size_t m = cell.m, stride = round_up(m, CELL_OCTET);
    const std::int64_t *start = landmarks.indptr + at;
    const std::size_t nnz = start[m] - start[0];
    cell.features = ActiveColumns::of(landmarks.indices + start[0], nnz);
    const std::size_t d = cell.features.size();
    cell.listed = static_cast<double>(nnz) < LISTED_SHARE * static_cast<double>(d) * static_cast<double>(stride);
    const double scale = 2 * cell.gamma * LOG2_E;
    cell.max_norm = 0;
    cell.init.assign(stride, 0.0);
    if (cell.listed) {
        cell.list_start.assign(d + 1, 0);
        cell.list_landmark.resize(nnz);
        cell.list_value.resize(nnz);
        for (std::int64_t k = start[0]; k < start[m]; ++k)
            ++cell.list_start[cell.features.position(landmarks.indices[k]) + 1];
        for (std::size_t f = 0; f < d; ++f) cell.list_start[f + 1] += cell.list_start[f];
    } else {
        cell.columns.assign(d * stride, 0.0);
        cell.vectors.assign(m * d, 0.0);
    }
    std::vector<std::int64_t> next(cell.list_start);
    for (std::size_t j = 0; j < m; ++j) {
        double norm = 0;
        for (std::int64_t k = start[j]; k < start[j + 1]; ++k) {
            const double u = landmarks.values[k];
            const std::size_t f = cell.features.position(landmarks.indices[k]);
            norm += u * u;
            if (cell.listed) {
                const std::int64_t to = next[f]++;
                cell.list_landmark[to] = static_cast<std::int32_t>(j);
                cell.list_value[to] = scale * u;
            } else {
                cell.columns[f * stride + j] = cell.vectors[j * d + f] = scale * u;
            }
        }
        cell.init[j] = -cell.gamma * LOG2_E * norm;
        cell.max_norm = std::max(cell.max_norm, std::sqrt(norm));
    }
}

// A function whose coefficients are all zero is constant in this cell.
void pack_functions(Cell &cell, std::size_t at, std::size_t pseudo_at, const In2<double> &coef,
                    const In2<double> &pseudo_coef) {
    std::vector<double> row(cell.m + cell.pseudo);
    for (std::size_t p = 0; p < cell.rho.size(); ++p) {
        std::copy_n(coef.data() + p * coef.shape(1) + at, cell.m, row.begin());
        std::copy_n(pseudo_coef.data() + p * pseudo_coef.shape(1) + pseudo_at, cell.pseudo, row.begin() + cell.m);
        if (std::all_of(row.begin(), row.end(), [](double x) { return x == 0; })) continue;
        cell.coef.insert(cell.coef.end(), row.begin(), row.end());
        cell.function.push_back(p);
    }
    cell.active = cell.function.size();
}

// In LIBSVM's arrangement; sizes: the landmarks of each of k classes.
void pack_groups(Cell &cell, std::size_t at, std::size_t k, const std::int64_t *sizes, const In2<double> &coef) {
    const std::size_t m = coef.shape(1), functions = cell.rho.size();
    cell.group_start.push_back(0);
    for (std::size_t g = 0; g < k; ++g) cell.group_start.push_back(cell.group_start.back() + sizes[g]);
    cell.active = cell.m ? functions : 0;
    for (std::size_t p = 0; p < functions; ++p) cell.function.push_back(p);
    std::vector<double> l1(k * (k - 1));
    for (std::size_t g = 0; g < k; ++g)
        for (std::size_t q = 0; q < k - 1; ++q) {
            const double *row = coef.data() + q * m + at;
            for (std::size_t j = cell.group_start[g]; j < cell.group_start[g + 1]; ++j) {
                cell.coef.push_back(row[j]);
                l1[g * (k - 1) + q] += std::fabs(row[j]);
            }
        }
    each_pair(k, [&](std::size_t i, std::size_t j) {
        cell.coef_l1.push_back(l1[i * (k - 1) + j - 1] + l1[j * (k - 1) + i]);
    });
}

}  // namespace

CellSums::CellSums(In1<double> gamma, In1<std::int64_t> sizes, const SparseRows &landmarks, In2<double> coef,
                   In2<double> rho, int kind, In1<std::int64_t> pseudo_sizes, In2<std::int64_t> pairs,
                   In1<double> distance, In2<double> pseudo_coef, In2<std::int64_t> group_sizes) {
    const std::size_t p = e.functions = rho.shape(1), k = e.groups = group_sizes.shape(1);
    e.kind = static_cast<Pseudo>(kind);
    std::size_t at = 0, pseudo_at = 0, distance_at = 0;
    for (std::size_t c = 0; c < gamma.shape(0); ++c) {
        Cell cell;
        const std::size_t m = cell.m = sizes.data()[c], q = cell.pseudo = pseudo_sizes.data()[c];
        cell.gamma = gamma.data()[c];
        cell.rho.assign(rho.data() + c * p, rho.data() + (c + 1) * p);
        pack_landmarks(cell, at, landmarks);
        if (k)
            pack_groups(cell, at, k, group_sizes.data() + c * k, coef);
        else
            pack_functions(cell, at, pseudo_at, coef, pseudo_coef);
        if (e.kind == Pseudo::poly) cell.pair.assign(pairs.data() + 2 * pseudo_at, pairs.data() + 2 * (pseudo_at + q));
        if (e.kind == Pseudo::triangle) {
            cell.distance.assign(distance.data() + distance_at, distance.data() + distance_at + m * q);
            distance_at += m * q;
        }
        at += m;
        pseudo_at += q;
        e.widest = std::max(e.widest, m + q);
        e.columns = std::max(e.columns, cell.features.size());
        e.cells.push_back(std::move(cell));
    }
}

std::tuple<Out<double>, Out<std::int64_t>> CellSums::decide(In1<std::int32_t> cell, const SparseRows &rows,
                                                            Threads wanted) const {
    const std::size_t n = rows.count, cells = e.cells.size();
    std::unique_ptr<double[]> out(new double[n * e.functions]);
    std::vector<std::uint8_t> near_boundary(e.groups ? n : 0);
    const Threads threads = wanted.for_work(double(e.widest) * (double(rows.entries()) + 20.0 * double(n)));
    // With many cells, many rows are needed to fill the tiles.
    const std::size_t even = n / threads + 1;
    const std::size_t block = std::min(std::max(even, FEWEST_ROWS), std::max(MOST_ROWS, 64 * cells));
    parallel_for(divide_up(n, block), threads, [&](std::size_t b, std::size_t) {
        const std::size_t first = b * block, last = std::min(n, first + block);
        std::vector<std::int64_t> start(cells + 1), order(last - first);
        for (std::size_t i = first; i < last; ++i) ++start[cell.data()[i] + 1];
        for (std::size_t c = 0; c < cells; ++c) start[c + 1] += start[c];
        std::vector<std::int64_t> next(start.begin(), start.end() - 1);
        for (std::size_t i = first; i < last; ++i) order[next[cell.data()[i]]++] = i;
        SVMFAST_DISPATCH(cell_decisions, e, rows, order.data(), start.data(), out.get(), near_boundary.data());
    });
    const std::size_t count = std::count(near_boundary.begin(), near_boundary.end(), 1);
    std::unique_ptr<std::int64_t[]> which(new std::int64_t[count]);
    for (std::size_t i = 0, at = 0; at < count; ++i)
        if (near_boundary[i]) which[at++] = i;
    return {give(std::move(out), {n, e.functions}), give(std::move(which), {count})};
}

CellFit::CellFit(In2<double> x, In2<double> target, In1<double> weight, bool hinge) {
    const std::size_t n = rows.n = x.shape(0), d = rows.d = x.shape(1), p = rows.functions = target.shape(1);
    rows.hinge = hinge;
    const std::size_t unit = vector_lanes(), tile = rows.tile_rows = FIT_VECTORS * unit;
    rows.padded_d = round_up(d, unit);
    rows.padded_functions = round_up(p, unit);
    const std::size_t all = rows.tiles() * tile;
    rows.across.assign(all * d, 0.0);
    rows.along.assign(all * rows.padded_d, 0.0);
    rows.norm.assign(all, 0.0);
    rows.target.assign(all * p, 0.0);
    rows.weight.assign(all, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t t = i / tile, r = i % tile;
        rows.weight[i] = weight.data()[i];
        for (std::size_t q = 0; q < p; ++q) rows.target[(t * p + q) * tile + r] = target.data()[i * p + q];
        for (std::size_t f = 0; f < d; ++f) {
            const double value = x.data()[i * d + f];
            rows.across[(t * d + f) * tile + r] = value;
            rows.along[i * rows.padded_d + f] = value;
            rows.norm[i] += value * value;
        }
    }
}

std::tuple<double, Out<double>, Out<double>, Out<double>, double> CellFit::evaluate(In2<double> vectors,
                                                                                    In2<double> coef, In1<double> rho,
                                                                                    double gamma,
                                                                                    In2<std::int64_t> pairs,
                                                                                    Threads threads) const {
    FitPoint s{};
    const std::size_t m = s.m = vectors.shape(0), q = s.pseudo = pairs.shape(0), d = rows.d, p = rows.functions;
    const std::size_t width = m + q;
    std::unique_ptr<double[]> by_vectors(new double[m * d]()), by_coef(new double[p * width]()),
        by_rho(new double[p]());
    double value = 0, by_gamma = 0;
    s.gamma = gamma;
    s.vectors = vectors.data();
    s.coef = coef.data();
    s.rho = rho.data();
    s.pair = pairs.data();
    s.scaled.resize(m * d);
    s.init.resize(m);
    for (std::size_t j = 0; j < m; ++j) {
        double norm = 0;
        for (std::size_t f = 0; f < d; ++f) {
            const double u = s.vectors[j * d + f];
            norm += u * u;
            s.scaled[j * d + f] = 2 * gamma * LOG2_E * u;
        }
        s.init[j] = -gamma * LOG2_E * norm;
    }
    s.transposed.resize(width * p);
    for (std::size_t a = 0; a < p; ++a)
        for (std::size_t k = 0; k < width; ++k) s.transposed[k * p + a] = s.coef[a * width + k];
    const std::size_t tiles = rows.tiles(), shares = std::min(SHARES, tiles);
    std::vector<FitSums> sums(shares);
    parallel_for(shares, threads, [&](std::size_t i, std::size_t) {
        FitSums &mine = sums[i];
        mine.vectors.assign(m * rows.padded_d, 0.0);
        mine.pull.assign(m, 0.0);
        mine.coef.assign(width * rows.padded_functions, 0.0);
        mine.rho.assign(p, 0.0);
        SVMFAST_DISPATCH(cell_fit, rows, s, i * tiles / shares, (i + 1) * tiles / shares, mine);
    });
    for (const FitSums &share : sums) {
        value += share.value;
        by_gamma += share.gamma;
        for (std::size_t a = 0; a < p; ++a) {
            by_rho[a] += share.rho[a];
            for (std::size_t k = 0; k < width; ++k) by_coef[a * width + k] += share.coef[k * rows.padded_functions + a];
        }
        for (std::size_t j = 0; j < m; ++j)
            for (std::size_t f = 0; f < d; ++f)
                by_vectors[j * d + f] +=
                    2 * gamma * (share.vectors[j * rows.padded_d + f] - share.pull[j] * s.vectors[j * d + f]);
    }
    return {value, give(std::move(by_vectors), {m, d}), give(std::move(by_coef), {p, width}),
            give(std::move(by_rho), {p}), by_gamma};
}

}  // namespace svmfast
