// A matrix in panels of a few vectors, and rows that are multiplied by it: the layout shared by the code that packs
// the centers of a router or the cells of a routed model and the code that runs over rows (simd/panels.hpp).
#pragma once
#include <algorithm>

#include "active_columns.hpp"
#include "arrays.hpp"
#include "dispatch.hpp"
#include "math.hpp"

namespace svmfast {

// The most vectors of a panel.
constexpr std::size_t PANEL_VECTORS = 4;

// For a row z: out[lane] = start[lane] + sum_k z[k] value(k, lane). A lane's sum runs over k in ascending order from
// its start, so it depends neither on other rows nor on how many are computed together.
template <class Number>
struct Panels {
    std::size_t depth = 0, lanes = 0;  // lanes: filled up to whole vectors
    Aligned<Number> start;             // [lanes]
    Aligned<Number> values;            // [panel][depth][lanes of the panel]

    Panels() = default;
    Panels(std::size_t depth, std::size_t columns)
        : depth(depth), lanes(round_up(columns, vector())), start(lanes), values(depth * lanes) {}
    // Numbers in a vector.
    static std::size_t vector() { return vector_lanes() * (sizeof(double) / sizeof(Number)); }
    Number &value(std::size_t k, std::size_t lane) {
        const std::size_t panel = PANEL_VECTORS * vector(), first = lane / panel * panel;
        return values[first * depth + k * std::min(panel, lanes - first) + lane - first];
    }
};

// A row: a number for each k or, with positions, for some.
template <class Number>
struct PanelRow {
    const Number *value;
    const std::int32_t *position;
    std::size_t count;
    Number offset;  // added to every start
};

// Some rows in single precision, in some columns, times a factor.
struct PackedRows {
    std::vector<PanelRow<float>> row;
    std::vector<double> squared_norm, norm;  // of the given rows, all columns; filled up to vectors

    // Memory, which is used again.
    Growing<float> value;
    Growing<std::int32_t> position;
    Growing<double> known, scattered;
};

}  // namespace svmfast

// Packs the rows first .. first + n - 1.
SVMFAST_DECLARE(void pack_rows(const Csr &, const ActiveColumns &, double factor, std::size_t first, std::size_t n,
                               PackedRows &))
