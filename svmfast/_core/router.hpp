// Which of many centers is nearest to a sparse row: a tree of centers, from whose root a row goes to the nearest child
// until it reaches a leaf, its cell. The simplest tree has one level.
//
// A row is compared with all children of a node in single precision, with a bound on the error, which nearly always
// leaves one candidate; if it leaves more, in double precision, by the same operations on every machine.
#pragma once
#include <vector>

#include "active_columns.hpp"
#include "aligned.hpp"
#include "arrays.hpp"
#include "dispatch.hpp"
#include "threads.hpp"

namespace svmfast {

// The children of one node, column by column, in single precision padded with centers that are infinitely far.
struct CenterTable {
    std::size_t count, padded32;
    double scale, scale32;                // powers of two: neither precision overflows or underflows
    float largest_offset, largest_entry;  // bounds on |offset32| and |value32|, which include double precision's error
    std::vector<double> norm, value;      // (count), (columns, count): scaled centers
    Aligned<float> offset32, value32;     // (padded32), (columns, padded32): about their mean, scaled

    CenterTable(const double *centers, std::size_t count, std::size_t columns);
};

class Router {
  public:
    // columns: those of the centers. children[node]: count, breadth first, of a tree; centers: one row for each node
    // but the root.
    Router(ActiveColumns columns, In1<std::int64_t> children, In2<double> centers);
    // The columns 0, 1, 2, ...
    Router(In1<std::int64_t> children, In2<double> centers);

    // Cells of the rows first .. last -> cell[row]; of equally near centers the first.
    void route(const Csr &rows, std::size_t first, std::size_t last, std::int32_t *cell) const;
    // The same for all rows.
    Out<std::int32_t> route(const SparseRows &rows, Threads threads) const;

    std::int32_t cells() const { return cells_; }

  private:
    struct Node {
        std::size_t children, first_child;  // count, number of the first
        std::int32_t table, cell;  // table -1: an only child is reached without a comparison; cell -1: not a leaf
    };
    ActiveColumns columns_;
    std::vector<Node> nodes_;
    std::vector<CenterTable> tables_;
    std::int32_t cells_ = 0;

    template <class Row>
    void nearest(const CenterTable &table, const Csr &rows, std::size_t count, const Row &row,
                 std::int32_t *child) const;
    std::int32_t nearest_in_double(const CenterTable &table, const Csr &rows, std::size_t row) const;
};

}  // namespace svmfast

// nearest[i] = the one center c whose score offset32[c] + value . value32[., c] is smallest for row i, entries start[i]
// .. start[i + 1] of position and value; -1 where rounding leaves more than one. scores is scratch of padded32 numbers.
SVMFAST_DECLARE(void nearest_centers(const CenterTable &, const std::int32_t *position, const float *value,
                                     const std::int64_t *start, std::size_t n, float *scores, std::int32_t *nearest))
