// The nearest centre of a row: down the tree, at every node the child with the smallest ||c||^2 - 2 x.c, the first of
// equals. Products and sums are separate operations in the order of the row's features, so every instruction set
// routes a row to the same cell.
#include "routed.hpp"

#include <algorithm>

namespace svmfast::SVMFAST_ISA {

void nearest_cells(const CentreTree &tree, const SparseRows &rows, std::size_t first, std::size_t last,
                   std::int32_t *out) {
    constexpr std::size_t W = CentreTree::WIDTH;
    Aligned<double> distance(tree.widest);
    double *acc = distance.data();
    for (std::size_t row = first; row < last; ++row) {
        const std::int64_t begin = rows.indptr[row];
        std::int64_t end = rows.indptr[row + 1];
        // Columns that no centre has add the same to every distance.
        while (end > begin && static_cast<std::size_t>(rows.indices[end - 1]) >= tree.columns) --end;
        const CentreTree::Node *node = &tree.nodes[0];
        while (node->children) {
            const std::size_t padded = node->padded;
            if (node->children > 1) {
                const double *norms = tree.norms.data() + node->norms;
                std::copy(norms, norms + padded, acc);
                const double *values = tree.values.data() + node->values;
                for (std::int64_t k = begin; k < end; ++k) {
                    const double v = -2.0 * rows.values[k];
                    const double *c = values + static_cast<std::size_t>(rows.indices[k]) * padded;
                    for (std::size_t j = 0; j < padded; j += W)
                        for (std::size_t l = 0; l < W; ++l) acc[j + l] += v * c[j + l];
                }
                const std::size_t best = std::min_element(acc, acc + node->children) - acc;
                node = &tree.nodes[node->first_child + best];
            } else {
                node = &tree.nodes[node->first_child];
            }
        }
        out[row] = node->cell;
    }
}

}  // namespace svmfast::SVMFAST_ISA
