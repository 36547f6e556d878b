// Loss, gradient and Hessian of the squared hinge for a fixed set of vectors; see refit.hpp. Every sum has a fixed
// order, whatever the vector width or the number of threads.
#include "refit.hpp"

#include <algorithm>
#include <cmath>

#include "interrupt.hpp"
#include "simd/kernel_row.hpp"

namespace svmfast::SVMFAST_ISA {
namespace {

// Active rows collected before they are added to the Hessian: the panel stays in the second-level cache.
constexpr std::size_t PANEL_ROWS = 32;

double dot_octets(const double *a, const double *b, std::size_t stride) {
    vd sum[PER_OCTET] = {};
    for (std::size_t j = 0; j < stride; j += 8)
        for (std::size_t i = 0; i < PER_OCTET; ++i) sum[i] = fma(load(a + j + i * W), load(b + j + i * W), sum[i]);
    return octet_sum(sum);
}

// hessian[i][j] += sum_p weight_p panel[p][i] panel[p][j] for j up to the octet of i.
void add_panel(const double *panel, const double *weights, std::size_t rows, std::size_t stride, double *hessian) {
    const auto add = [=](std::size_t i, std::size_t j, auto vectors) {
        add_tile<4, vectors>(
            hessian + i * stride + j, stride, rows,
            [=](std::size_t l, std::size_t p) { return panel[p * stride + i + l] * weights[p]; },
            [=](std::size_t p) { return panel + p * stride + j; });
    };
    for (std::size_t i = 0; i < stride; i += 4) {
        const std::size_t end = i / 8 * 8 + 8;
        std::size_t j = 0;
        for (; j + 16 <= end; j += 16) add(i, j, std::integral_constant<std::size_t, 2 * PER_OCTET>{});
        if (j < end) add(i, j, std::integral_constant<std::size_t, PER_OCTET>{});
    }
}

}  // namespace

void refit_kernel_row(const RefitBasis &basis, const std::int32_t *columns, const double *values, std::size_t nnz,
                      double norm, double *kernel) {
    dot_row(basis.stride / 8, basis.values.data(), basis.stride, columns, values, nnz, kernel);
    const vd row_offset = broadcast(basis.gamma * LOG2_E * norm);
    for (std::size_t j = 0; j < basis.stride; j += W) {
        const vd log_kernel = fma(load(kernel + j), load(&basis.gain[j]), load(&basis.offset[j]) - row_offset);
        store(kernel + j, exp2(minimum(log_kernel, vd{})));
    }
    for (std::size_t j = basis.vectors; j < basis.stride; ++j) kernel[j] = 0.0;
    if (basis.bias) kernel[basis.vectors] = 1.0;
}

void refit_rows(const RefitBasis &basis, const TrainingRows &rows, const std::int64_t *order, std::size_t count,
                const double *theta, RefitSums &sums) {
    const std::size_t stride = basis.stride;
    const bool second_order = !sums.hessian.empty();
    Aligned<double> panel(PANEL_ROWS * stride), padded(stride, 0.0);
    std::copy_n(theta, basis.size(), padded.begin());
    double weights[PANEL_ROWS];
    std::size_t filled = 0;
    Pulse pulse;
    for (std::size_t n = 0; n < count; ++n) {
        const std::int64_t row = order[n], begin = rows.indptr[row];
        double *kernel = panel.data() + filled * stride;
        const auto nnz = static_cast<std::size_t>(rows.indptr[row + 1] - begin);
        pulse.spent((nnz + 10) * stride);
        refit_kernel_row(basis, rows.indices + begin, rows.values + begin, nnz, rows.norms[row], kernel);
        const double f = dot_octets(kernel, padded.data(), stride), y = rows.targets[row];
        double slack, direction, weight = 1.0;
        if (basis.loss == Loss::hinge) {
            slack = 1.0 - y * f;
            direction = -y;
            weight = basis.weight[y > 0];
        } else {
            slack = std::fabs(f - y) - basis.epsilon;
            direction = f > y ? 1.0 : -1.0;
        }
        if (!(slack > 0)) continue;
        sums.loss += 0.5 * weight * slack * slack;
        ++sums.active;
        const double slope = direction * weight * slack;
        for (std::size_t j = 0; j < stride; j += W)
            store(&sums.gradient[j], fma(broadcast(slope), load(kernel + j), load(&sums.gradient[j])));
        if (!second_order) continue;
        weights[filled] = weight;
        if (++filled == PANEL_ROWS) {
            pulse.spent(filled * stride * stride / 2);
            add_panel(panel.data(), weights, filled, stride, sums.hessian.data());
            filled = 0;
        }
    }
    if (filled) add_panel(panel.data(), weights, filled, stride, sums.hessian.data());
}

bool cholesky_solve(double *a, std::size_t size, std::size_t stride, double *b) {
    // Row by row: l_ij = (a_ij - l_i . l_j) / l_jj. The part of a row beyond the diagonal is zeroed first, so that
    // products can run over whole octets.
    for (std::size_t i = 0; i < size; ++i) {
        double *row = a + i * stride;
        std::fill(row + i + 1, row + stride, 0.0);
    }
    Pulse pulse;
    for (std::size_t i = 0; i < size; ++i) {
        double *row = a + i * stride;
        for (std::size_t j = 0; j <= i; ++j) {
            const double *other = a + j * stride;
            // Columns from j on are zero or not yet final, so the octet that contains j is summed separately.
            const std::size_t whole = j / 8 * 8;
            double sum = dot_octets(row, other, whole);
            for (std::size_t k = whole; k < j; ++k) sum += row[k] * other[k];
            if (j < i) {
                row[j] = (row[j] - sum) / other[j];
            } else {
                const double pivot = row[i] - sum;
                if (!(pivot > 0.0)) return false;
                row[i] = std::sqrt(pivot);
            }
        }
        pulse.spent(i * i / 2 + 1);
    }
    for (std::size_t i = 0; i < size; ++i) {
        double sum = b[i];
        for (std::size_t k = 0; k < i; ++k) sum -= a[i * stride + k] * b[k];
        b[i] = sum / a[i * stride + i];
    }
    for (std::size_t i = size; i-- > 0;) {
        b[i] /= a[i * stride + i];
        for (std::size_t k = 0; k < i; ++k) b[k] -= a[i * stride + k] * b[i];
    }
    return true;
}

}  // namespace svmfast::SVMFAST_ISA
