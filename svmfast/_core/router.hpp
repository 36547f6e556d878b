// Which of many centers is nearest to a sparse row: a tree of centers, from whose root a row goes to the nearest child
// until it reaches a leaf, its cell. The simplest tree has one level.
//
// A row is compared with all children of a node in single precision, with a bound on the error, which nearly always
// leaves one candidate; if it leaves more, in double precision, by the same operations on every machine.
#pragma once
#include <algorithm>
#include <vector>

#include "active_columns.hpp"
#include "arrays.hpp"
#include "dispatch.hpp"
#include "math.hpp"
#include "threads.hpp"

namespace svmfast {

// A matrix in panels of a few vectors, and rows that are multiplied by it (simd/panels.hpp): centers, and the cells of
// a routed model.

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

// The children of one node, in single precision padded with centers that are infinitely far.
struct CenterTable {
    std::size_t count;
    double scale;                     // a power of two: double precision does not overflow or underflow
    double largest_offset, longest;   // bounds on |start| and ||center||, which include double precision's error
    std::vector<double> norm, value;  // (count), (columns, count): scaled centers
    Panels<float> centers;            // about their mean, scaled for rows that are multiplied by a factor

    CenterTable(const double *centers, std::size_t count, std::size_t columns, double factor);
};

class Router {
  public:
    // columns: those of the centers and then others, which packed rows have as well. children[node]: count, breadth
    // first, of a tree; centers: one row for each node but the root.
    Router(In1<std::int32_t> columns, In1<std::int64_t> children, In2<double> centers);

    // Cells of the rows first .. last -> cell[row]; of equally near centers the first.
    void route(const Csr &rows, std::size_t first, std::size_t last, std::int32_t *cell) const;
    // The same for all rows.
    Out<std::int32_t> route(const SparseRows &rows, Threads threads) const;
    // The rows from `first` on, to be routed and for other uses.
    void pack(const Csr &rows, std::size_t first, std::size_t n, PackedRows &packed) const;
    // Cells of those rows -> cell[0 ..).
    void route(const PackedRows &packed, const Csr &rows, std::size_t first, std::int32_t *cell) const;
    const ActiveColumns &columns() const { return columns_; }
    // That of packed rows: a power of two.
    double factor() const { return factor_; }

    std::int32_t cells() const { return cells_; }

  private:
    struct Node {
        std::size_t children, first_child;  // count, number of the first
        std::int32_t table, cell;  // table -1: an only child is reached without a comparison; cell -1: not a leaf
    };
    ActiveColumns columns_;
    double factor_;
    std::vector<Node> nodes_;
    std::vector<CenterTable> tables_;
    std::int32_t cells_ = 0;

    void nearest(const CenterTable &table, const PackedRows &packed, const Csr &rows, std::size_t first,
                 const std::size_t *which, std::size_t count, std::int32_t *child) const;
    std::int32_t nearest_in_double(const CenterTable &table, const Csr &rows, std::size_t row) const;
};

}  // namespace svmfast

// nearest[i] = the one center c with the smallest ||z - c|| for the packed row which[i], or i if `which` is null; -1
// where rounding leaves more than one.
SVMFAST_DECLARE(void nearest_centers(const CenterTable &, const PackedRows &, double factor, const std::size_t *which,
                                     std::size_t n, std::int32_t *nearest))
// Packs the rows first .. first + n - 1.
SVMFAST_DECLARE(void pack_rows(const Csr &, const ActiveColumns &, double factor, std::size_t first, std::size_t n,
                               PackedRows &))
