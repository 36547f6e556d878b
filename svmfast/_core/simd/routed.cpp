// The nearest center of a row: down the tree, at every node the child with the smallest ||c||^2 - 2 x.c, the first of
// equals. Products and sums are separate operations in the order of the row's features, so every instruction set
// routes a row to the same cell.
#include "routed.hpp"

#include <limits>

#include "simd/vec.hpp"

namespace svmfast::SVMFAST_ISA {
namespace {

constexpr std::size_t CHUNK = CenterTree::WIDTH;  // centers whose sums stay in registers
constexpr std::size_t VECTORS = CHUNK / W;

}  // namespace

void nearest_cells(const CenterTree &tree, const Csr &rows, std::size_t first, std::size_t last,
                   std::int32_t *out) {
    for (std::size_t row = first; row < last; ++row) {
        const std::int64_t begin = rows.indptr[row];
        std::int64_t end = rows.indptr[row + 1];
        // Columns that no center has add the same to every distance.
        while (end > begin && static_cast<std::size_t>(rows.indices[end - 1]) >= tree.columns) --end;
        const CenterTree::Node *node = &tree.nodes[0];
        while (node->children) {
            std::size_t best = 0;
            double nearest = std::numeric_limits<double>::infinity();
            for (std::size_t j = 0; node->children > 1 && j < node->padded; j += CHUNK) {
                const double *norms = tree.norms.data() + node->norms + j;
                const double *values = tree.values.data() + node->values + j;
                vd sum[VECTORS];
                SVMFAST_UNROLL for (std::size_t v = 0; v < VECTORS; ++v) sum[v] = load(norms + v * W);
                for (std::int64_t k = begin; k < end; ++k) {
                    const vd x = broadcast(-2.0 * rows.values[k]);
                    const double *c = values + static_cast<std::size_t>(rows.indices[k]) * node->padded;
                    SVMFAST_UNROLL for (std::size_t v = 0; v < VECTORS; ++v) sum[v] += x * load(c + v * W);
                }
                double distance[CHUNK];
                SVMFAST_UNROLL for (std::size_t v = 0; v < VECTORS; ++v) store(distance + v * W, sum[v]);
                SVMFAST_UNROLL for (std::size_t i = 0; i < CHUNK; ++i) {
                    const bool nearer = distance[i] < nearest;  // the padding is infinitely far
                    best = nearer ? j + i : best;
                    nearest = nearer ? distance[i] : nearest;
                }
            }
            node = &tree.nodes[node->first_child + best];
        }
        out[row] = node->cell;
    }
}

}  // namespace svmfast::SVMFAST_ISA
