// Which of many centers is nearest to each of many sparse rows.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "active_columns.hpp"
#include "aligned.hpp"
#include "csr.hpp"
#include "polynomial.hpp"

namespace svmfast {

// Whether all columns of a row are their own variables.
inline bool is_plain(const ActiveColumns &variables, const Csr &rows, std::size_t row) {
    const std::int64_t end = rows.indptr[row + 1];
    return variables.plain() && (rows.indptr[row] == end || std::size_t(rows.indices[end - 1]) < variables.size());
}

class NearestCenter {
   public:
    // ||z - mu_c||^2 / 2 without what all centers share: about the mean m of the centers
    // ||mu_c - m||^2 / 2 + m.(mu_c - m) - z.(mu_c - m), everything scaled by a power of two so that single precision
    // neither overflows nor underflows.
    NearestCenter(const ActiveColumns &table, const double *centers, std::size_t cells, std::size_t d)
        : table(table), cells(cells) {
        std::vector<double> mean(d, 0.0);
        for (std::size_t c = 0; c < cells; ++c)
            for (std::size_t f = 0; f < d; ++f) mean[f] += centers[c * d + f] / double(cells);
        double largest = 0;
        for (std::size_t c = 0; c < cells; ++c)
            for (std::size_t f = 0; f < d; ++f) largest = std::max(largest, std::fabs(centers[c * d + f] - mean[f]));
        if (largest > 0 && std::isfinite(largest)) scale = std::ldexp(1.0, -std::clamp(std::ilogb(largest), -1000, 1000));
        const std::size_t lanes = 2 * SVMFAST_DISPATCH(polynomial_lanes);
        padded = (cells + lanes - 1) / lanes * lanes;
        shifted.assign(d * cells, 0.0);
        offset.assign(cells, 0.0);
        shifted32.assign(d * padded, 0.0f);
        offset32.assign(padded, HUGE_VALF);
        for (std::size_t c = 0; c < cells; ++c) {
            for (std::size_t f = 0; f < d; ++f) {
                const double u = (centers[c * d + f] - mean[f]) * scale;
                shifted[f * cells + c] = u;
                shifted32[f * padded + c] = float(u);
                offset[c] += u * (u / 2 + mean[f] * scale);
                largest_entry = std::max(largest_entry, std::fabs(u));
            }
            offset32[c] = float(offset[c]);
            largest_offset = std::max(largest_offset, std::fabs(offset[c]));
        }
    }

    // Cells of rows first .. last: the nearest center, the first of equals. Single precision with a bound on its error leaves one candidate nearly
    // always; where it leaves more, double precision decides, by the same operations on every machine.
    void route(const Csr &rows, std::size_t first, std::size_t last, std::int32_t *cell) const {
        constexpr std::size_t batch = 256;
        std::vector<std::int32_t> positions;
        Aligned<float> value, scores;
        for (std::size_t begin = first; begin < last; begin += batch) {
            const std::size_t end = std::min(last, begin + batch);
            const std::int64_t first_entry = rows.indptr[begin];
            const std::size_t entries = rows.indptr[end] - first_entry;
            if (positions.size() < entries) positions.resize(entries), value.resize(entries);
            if (scores.size() < padded) scores.resize(padded);
            std::int64_t start[batch + 1];
            const std::int32_t *at = rows.indices + first_entry;
            bool plain = true;
            for (std::size_t row = begin; plain && row < end; ++row) plain = is_plain(table, rows, row);
            if (plain) {
                for (std::size_t row = begin; row <= end; ++row) start[row - begin] = rows.indptr[row] - first_entry;
                const double *from = rows.values + first_entry;
                for (std::size_t k = 0; k < entries; ++k) value[k] = float(-from[k] * scale);
            } else {
                std::size_t known = 0;
                for (std::size_t row = begin; row < end; ++row) {
                    start[row - begin] = known;
                    for (std::int64_t k = rows.indptr[row]; k < rows.indptr[row + 1]; ++k) {
                        const std::int32_t v = table.position(rows.indices[k]);
                        positions[known] = v;
                        value[known] = float(-rows.values[k] * scale);
                        known += v >= 0;
                    }
                }
                start[end - begin] = known;
                at = positions.data();
            }
            SVMFAST_DISPATCH(nearest_centers, at, value.data(), start, end - begin, shifted32.data(), offset32.data(),
                             padded, float(largest_offset), float(largest_entry), scores.data(), cell + begin);
            for (std::size_t row = begin; row < end; ++row)
                if (cell[row] < 0) cell[row] = nearest_in_double(rows, row);
        }
    }

   private:
    const ActiveColumns &table;  // its columns are the variables
    std::size_t cells;
    // Scaled centers about their mean, feature by feature, and what the score starts from.
    double scale = 1;
    std::size_t padded = 0;
    double largest_offset = 0, largest_entry = 0;
    std::vector<double> offset, shifted;  // (cells), (d, cells)
    Aligned<float> offset32, shifted32;   // (padded), (d, padded)

    std::int32_t nearest_in_double(const Csr &rows, std::size_t row) const {
        std::vector<double> score(offset);
        for (std::int64_t k = rows.indptr[row]; k < rows.indptr[row + 1]; ++k) {
            const std::int32_t v = table.position(rows.indices[k]);
            if (v < 0) continue;
            const double z = rows.values[k] * scale, *line = shifted.data() + std::size_t(v) * cells;
            for (std::size_t c = 0; c < cells; ++c) score[c] -= z * line[c];
        }
        std::size_t best = 0;
        for (std::size_t c = 1; c < cells; ++c)
            if (score[c] < score[best]) best = c;
        return std::int32_t(best);
    }
};

}  // namespace svmfast
