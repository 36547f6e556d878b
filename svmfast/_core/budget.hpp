// Budgeted SGD: the state that budget.cpp owns and simd/budget.inl advances.
//
// Support vectors lie feature-major: `vectors[column * stride + slot]`, so a sparse row meets nnz contiguous runs of
// `budget` numbers. Everything that depends on a slot is padded to octets (eight slots), which every instruction set
// walks in the same order: AVX2 and AVX-512 give the same bits.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "arrays.hpp"
#include "dispatch.hpp"
#include "math.hpp"

namespace svmfast {

enum class Maintenance : int { lookup_wd = 0, lookup_h = 1, gss = 2, gss_precise = 3, remove = 4, project = 5 };
enum class Loss : int { hinge = 0, epsilon_insensitive = 1 };

// Precomputed solutions of the merging problem. The smaller coefficient's share m is at most 1/2, and beyond it
// h(m, kappa) = 1 - h(1-m, kappa), so the grid is m in [0, 1/2] times kappa in [0, 1] (varying fastest): n/2 + 1 times
// n points, for n points per side of the full square. As floats they take half the cache, and a pair is fetched at
// once.
//
// The decision interpolates not wd but the angle asin(sqrt(wd) / m), sqrt(wd) / m being the weight degradation's length
// in units of the smaller vector. wd vanishes like (1 - kappa)^2 near kappa = 1 and like m^2 near m = 0, and it is flat
// where kappa is small: bilinear interpolation has a large relative error there; the angle is nearly linear.
struct MergeTable {
    const float *angle, *h;
    // reach[c]: if some candidate's kappa lies in cell c, a candidate with kappa below reach[c] cannot be the best.
    const float *reach;
    std::size_t n;
};

struct SlotEntries {
    std::vector<std::int32_t> columns;
    std::vector<double> values;
    bool current = false;
};

struct BudgetOptions {
    std::size_t columns, budget;
    double gamma, lambda;
    Maintenance maintenance;
    Loss loss;
    double epsilon;
    std::array<double, 2> weight;  // of the losses of negative and positive rows
    bool bias;
    MergeTable table;
};

struct BudgetState : BudgetOptions {
    explicit BudgetState(const BudgetOptions &options) : BudgetOptions(options) {}
    std::size_t stride = round_up(budget + 1, 8);

    // The common factor 1 / (lambda t) is left out of the coefficients: a new point has the coefficient +-1 (times its
    // class weight), and the shrinking by 1 - 1/t in every step is exact and free. A slot with coefficient 0 is empty
    // and its vector is 0.
    Aligned<double> vectors;  // [columns][stride], times scale[slot]
    Aligned<double> scale, coef, norm;
    // log2 of a kernel value = row's inner product * gain + offset - gamma log2(e) ||row||^2
    Aligned<double> gain, offset;
    Aligned<double> born;     // the step a slot was last written: ties go to the oldest
    Aligned<double> inverse;  // [stride][stride] of the kernel matrix; projection only
    std::size_t occupied = 0, free_slot = 0;
    double bias_sum = 0;
    std::int64_t steps = 0, since_inverse = -1;  // since_inverse < 0: there is none yet
    std::int64_t maintained = 0;                 // steps that exceeded the budget

    // Scratch of one step.
    Aligned<double> raw, log_kernel, kernel, work;
    Aligned<std::int64_t> candidates;
    // The entries of every slot that was never merged, which saves a search of its vector.
    std::vector<SlotEntries> entries;
    SlotEntries found;  // entries found by searching a merged slot

    void place(std::size_t slot, double slot_scale, double slot_norm) {
        scale[slot] = slot_scale;
        norm[slot] = slot_norm;
        gain[slot] = 2.0 * gamma * LOG2_E * slot_scale;
        offset[slot] = -gamma * LOG2_E * slot_norm;
    }
    std::size_t octets() const { return stride / 8; }
};

struct TrainingRows : Csr {
    const double *norms;    // ||x||^2
    const double *targets;  // +-1, or the value
};

}  // namespace svmfast

// One step for each row order[first..last).
SVMFAST_DECLARE(void budget_steps(BudgetState &, const TrainingRows &, const std::int64_t *order, std::size_t count))
// Gaussian kernel values of the rows order[0 .. count), whose squared norms are `norms`, with vectors that lie
// feature-major, [columns][stride]; `squares` are the vectors' -> out[count][stride].
SVMFAST_DECLARE(void gaussian_rows(const Csr &, const double *norms, const std::int64_t *order, std::size_t count,
                                   const double *vectors, const double *squares, std::size_t stride, double gamma,
                                   double *out))
// wd and h on the grid of MergeTable, [n/2 + 1][n], by golden section search to precision eps.
SVMFAST_DECLARE(void make_merge_table(std::size_t n, double eps, double *wd, double *h))
