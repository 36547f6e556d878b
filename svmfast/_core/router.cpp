// Routes rows down a tree of centers: router.hpp.
#include "router.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "math.hpp"

namespace svmfast {
namespace {

constexpr std::size_t ROUTED_ROWS = 512;  // that a thread takes at a time

}  // namespace

// ||z - mu_c||^2 / 2 without the terms common to all centers: in single precision, about the mean m of the centers,
// ||mu_c - m||^2 / 2 + m.(mu_c - m) - z.(mu_c - m), in double precision (times two) ||mu_c||^2 - 2 z.mu_c.
CenterTable::CenterTable(const double *given, std::size_t count, std::size_t columns, double factor)
    : count(count), centers(columns, count) {
    std::vector<double> mean(columns, 0.0);
    for (std::size_t c = 0; c < count; ++c)
        for (std::size_t f = 0; f < columns; ++f) mean[f] += given[c * columns + f] / double(count);
    double largest = 0, farthest = 0;
    for (std::size_t c = 0; c < count; ++c)
        for (std::size_t f = 0; f < columns; ++f) {
            largest = std::max(largest, std::fabs(given[c * columns + f]));
            farthest = std::max(farthest, std::fabs(given[c * columns + f] - mean[f]));
        }
    scale = 1 / power_of_two(largest);
    const double scale32 = 1 / power_of_two(farthest);
    value.assign(columns * count, 0.0);
    std::fill(centers.start.begin(), centers.start.end(), HUGE_VALF);
    double top_offset = 0, top_square = 0, top_norm = 0;
    for (std::size_t c = 0; c < count; ++c) {
        double square = 0, offset = 0, around = 0;
        for (std::size_t f = 0; f < columns; ++f) {
            const double mu = given[c * columns + f] * scale, u = (given[c * columns + f] - mean[f]) * scale32;
            square += mu * mu;
            offset += u * ((given[c * columns + f] + mean[f]) / 2 * factor);
            value[f * count + c] = mu;
            centers.value(f, c) = float(-u);
            around += u * u;
        }
        norm.push_back(square);
        centers.start[c] = float(offset);
        top_square = std::max(top_square, around);
        top_norm = std::max(top_norm, square);
        top_offset = std::max(top_offset, std::fabs(offset));
    }
    // Single precision must prove what double precision would find, so the bound includes the error of double
    // precision, 2^-28 of single precision's for numbers of the same size.
    const double ratio = scale32 / scale;
    largest_offset = top_offset + 0x1p-28 * double(columns + 8) * top_norm * ratio * (factor / scale);
    longest = std::sqrt(top_square) + 0x1p-28 * std::sqrt(top_norm) * ratio;
}

Router::Router(In1<std::int32_t> columns, In1<std::int64_t> children, In2<double> centers)
    : columns_({columns.data(), columns.data() + columns.size()}) {
    const std::size_t d = centers.shape(1);
    double largest = 0;
    for (std::size_t i = 0; i < centers.size(); ++i) largest = std::max(largest, std::fabs(centers.data()[i]));
    factor_ = 1 / power_of_two(largest);
    std::size_t next = 1;
    for (std::size_t i = 0; i < children.size(); ++i) {
        const auto count = static_cast<std::size_t>(children.data()[i]);
        const std::int32_t table = count > 1 ? static_cast<std::int32_t>(tables_.size()) : -1;
        if (count > 1) tables_.emplace_back(centers.data() + (next - 1) * d, count, d, factor_);
        nodes_.push_back({count, next, table, count ? -1 : cells_++});
        next += count;
    }
}

Out<std::int32_t> Router::route(const SparseRows &rows, Threads threads) const {
    const std::size_t n = rows.count;
    std::unique_ptr<std::int32_t[]> out(new std::int32_t[n]);
    const Threads working = threads.for_work(double(cells_) * double(rows.entries()));
    parallel_for(divide_up(n, ROUTED_ROWS), working, [&](std::size_t b, std::size_t) {
        route(rows, b * ROUTED_ROWS, std::min(n, (b + 1) * ROUTED_ROWS), out.get());
    });
    return give(std::move(out), {n});
}

void Router::pack(const Csr &rows, std::size_t first, std::size_t n, PackedRows &packed) const {
    SVMFAST_DISPATCH(pack_rows, rows, columns_, factor_, first, n, packed);
}

void Router::route(const Csr &rows, std::size_t first, std::size_t last, std::int32_t *cell) const {
    if (cells_ == 1) return std::fill(cell + first, cell + last, 0);
    PackedRows packed;
    for (; first < last; first += ROUTED_ROWS) {
        pack(rows, first, std::min(ROUTED_ROWS, last - first), packed);
        route(packed, rows, first, cell + first);
    }
}

void Router::route(const PackedRows &packed, const Csr &rows, std::size_t first, std::int32_t *cell) const {
    const std::size_t n = packed.row.size();
    if (cells_ == 1) return std::fill(cell, cell + n, 0);
    const Node &root = nodes_[0];
    if (root.children == nodes_.size() - 1)  // the root's children are the cells
        return nearest(tables_[root.table], packed, rows, first, nullptr, n, cell);
    // Children have higher numbers than their parents.
    std::vector<std::vector<std::size_t>> waiting(nodes_.size());  // rows at each node
    waiting[0].resize(n);
    std::iota(waiting[0].begin(), waiting[0].end(), 0);
    std::vector<std::int32_t> child(n);
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
        const Node &here = nodes_[node];
        const std::vector<std::size_t> which = std::move(waiting[node]);
        if (here.cell >= 0) {
            for (const std::size_t row : which) cell[row] = here.cell;
        } else if (here.table < 0) {
            waiting[here.first_child] = which;
        } else {
            nearest(tables_[here.table], packed, rows, first, which.data(), which.size(), child.data());
            for (std::size_t i = 0; i < which.size(); ++i) waiting[here.first_child + child[i]].push_back(which[i]);
        }
    }
}

void Router::nearest(const CenterTable &table, const PackedRows &packed, const Csr &rows, std::size_t first,
                     const std::size_t *which, std::size_t count, std::int32_t *child) const {
    SVMFAST_DISPATCH(nearest_centers, table, packed, factor_, which, count, child);
    for (std::size_t i = 0; i < count; ++i)
        if (child[i] < 0) child[i] = nearest_in_double(table, rows, first + (which ? which[i] : i));
}

// The center with the smallest ||mu_c||^2 - 2 z.mu_c. Products and sums are separate operations, in the order of the
// row's entries.
std::int32_t Router::nearest_in_double(const CenterTable &table, const Csr &rows, std::size_t row) const {
    std::vector<double> distance(table.norm);
    for (std::int64_t k = rows.indptr[row]; k < rows.indptr[row + 1]; ++k) {
        const std::int32_t v = columns_.position(rows.indices[k]);
        if (v < 0 || static_cast<std::size_t>(v) >= table.centers.depth) continue;
        const double z = -2.0 * (rows.values[k] * table.scale), *const mu = table.value.data() + v * table.count;
        for (std::size_t c = 0; c < table.count; ++c) distance[c] += z * mu[c];
    }
    std::size_t best = 0;
    double nearest = HUGE_VAL;
    for (std::size_t c = 0; c < table.count; ++c)
        if (distance[c] < nearest) best = c, nearest = distance[c];
    return static_cast<std::int32_t>(best);
}

}  // namespace svmfast
