// The nearest of many centers: router.hpp. Compiled once per instruction set.
#include "router.hpp"
#include "simd/panels.hpp"

namespace svmfast::SVMFAST_ISA {
namespace {

// Where squares leave the range of doubles, norms are not known; beyond the other, sums leave the range of floats.
constexpr double LEAST_NORM = 1e-140, LONGEST_ROW = 0x1p100;

}  // namespace

// Of the squared norms each lane takes every W-th column; the sum does not depend on zeros that are stored.
void pack_rows(const Csr &rows, const ActiveColumns &columns, double factor, std::size_t first, std::size_t count,
               PackedRows &to) {
    const std::size_t d = columns.size();
    to.row.resize(count);
    to.squared_norm.resize(round_up(count, W));
    to.norm.resize(round_up(count, W));
    const auto entries = static_cast<std::size_t>(rows.indptr[first + count] - rows.indptr[first]);
    // A dense row has not many more numbers than its entries.
    const auto filled = static_cast<std::size_t>(static_cast<double>(entries) / DENSE_SHARE);
    float *value = to.value.reserve_more(std::min(filled, std::max(entries, count * d)) + count);
    std::int32_t *position = to.position.reserve_more(columns.plain() ? 0 : entries);
    double *const known = to.known.reserve_more(columns.plain() ? 0 : entries);
    double *const scattered = to.scattered.reserve_more(d);
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t r = first + i;
        std::size_t n = rows.entries(r);
        const double *z = rows.values + rows.indptr[r];
        const std::int32_t *at = rows.indices + rows.indptr[r];
        const bool norm_by_vectors = columns.all_plain(rows, r) && is_dense(n, d);
        double square[W] = {};
        for (std::size_t k = 0; k < n && !norm_by_vectors; ++k) {
            double &sum = square[static_cast<std::size_t>(at[k]) % W];
            sum = fma(z[k], z[k], sum);
        }
        if (columns.plain()) {
            while (n > 0 && static_cast<std::size_t>(at[n - 1]) >= d) --n;
        } else {
            std::size_t kept = 0;
            for (std::size_t k = 0; k < n; ++k) {
                position[kept] = columns.position(at[k]), known[kept] = z[k];
                kept += position[kept] >= 0;
            }
            z = known, at = position, n = kept;
            position += n;
        }
        static constexpr std::int32_t nowhere = 0;  // sparse rows have positions, even without numbers
        to.row[i] = {value, is_dense(n, d) ? nullptr : n ? at : &nowhere, n, 0};
        if (is_dense(n, d) && n < d) {
            std::fill_n(scattered, d, 0.0);
            for (std::size_t k = 0; k < n; ++k) scattered[at[k]] = z[k];
            z = scattered, n = d;
        }
        vd squares = load(square);
        std::size_t k = 0;
        for (; k + W <= n; k += W) {
            const vd x = load(z + k);
            if (norm_by_vectors) squares = fma(x, x, squares);
            store_as(value + k, x * factor);
        }
        for (; k < n; ++k) {
            if (norm_by_vectors) squares[k % W] = fma(z[k], z[k], squares[k % W]);
            value[k] = static_cast<float>(z[k] * factor);
        }
        to.squared_norm[i] = horizontal_sum(squares);
        value += n;
    }
    for (std::size_t i = 0; i < count; i += W) store(to.norm.data() + i, square_root(load(to.squared_norm.data() + i)));
}

void nearest_centers(const CenterTable &t, const PackedRows &packed, double factor, const std::size_t *which,
                     std::size_t n, std::int32_t *nearest) {
    const std::size_t lanes = t.centers.lanes;
    const std::size_t depth = t.centers.depth;
    PanelRow<float> row[BATCH_ROWS];
    Aligned<float> scores(BATCH_ROWS * lanes);
    for (std::size_t begin = 0; begin < n; begin += BATCH_ROWS) {
        const std::size_t here = std::min(n - begin, BATCH_ROWS);
        for (std::size_t i = 0; i < here; ++i) {
            row[i] = packed.row[which ? which[begin + i] : begin + i];
            // Columns of landmarks follow those of the centers.
            while (row[i].position && row[i].count &&
                   static_cast<std::size_t>(row[i].position[row[i].count - 1]) >= depth)
                --row[i].count;
        }
        multiply(t.centers, row, here, scores.data(), lanes);
        for (std::size_t i = 0; i < here; ++i) {
            const float *const score = scores.data() + i * lanes;
            vf least = load(score);
            for (std::size_t at = WF; at < lanes; at += WF) least = minimum(least, load(score + at));
            // Twice the error of a sum with this many terms, each of which has been rounded twice.
            const double norm = packed.norm[which ? which[begin + i] : begin + i];
            const double size = norm >= LEAST_NORM || row[i].count == 0 ? factor * norm : HUGE_VAL;
            const double length = size <= LONGEST_ROW ? size : HUGE_VAL;
            const double terms = static_cast<double>(row[i].count) + 8;
            const double spread = 2.2 * 0x1p-24 * terms * (t.largest_offset + 1.01 * length * t.longest) + 1e-30;
            nearest[begin + i] = only_candidate(score, lanes, smallest(least) + 1.001f * static_cast<float>(spread));
        }
    }
}

}  // namespace svmfast::SVMFAST_ISA
