// Refitting coefficients: one basis of fixed vectors, sums over blocks of rows, and the linear solve.
#include "refit.hpp"

#include <algorithm>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "loops.hpp"
#include "threads.hpp"

namespace svmfast {
namespace {

// Rows are summed in this many parts for any number of threads, so the result does not depend on the threads.
constexpr std::size_t PARTS = 4;

}  // namespace

Refit::Refit(In2<double> vectors, double gamma, int loss, double epsilon, double weight_negative,
             double weight_positive, bool bias) {
    basis_.vectors = vectors.shape(0);
    basis_.columns = vectors.shape(1);
    basis_.bias = bias;
    basis_.stride = std::max<std::size_t>(8, (basis_.size() + 7) / 8 * 8);
    basis_.gamma = gamma;
    basis_.epsilon = epsilon;
    basis_.weight[0] = weight_negative;
    basis_.weight[1] = weight_positive;
    basis_.loss = static_cast<Loss>(loss);
    basis_.values.assign(basis_.columns * basis_.stride, 0.0);
    basis_.gain.assign(basis_.stride, 2.0 * gamma * LOG2_E);
    basis_.offset.assign(basis_.stride, 0.0);
    norms_.assign(basis_.vectors, 0.0);
    for (std::size_t j = 0; j < basis_.vectors; ++j) {
        for (std::size_t k = 0; k < basis_.columns; ++k) {
            const double x = vectors(j, k);
            basis_.values[k * basis_.stride + j] = x;
            norms_[j] += x * x;
        }
        basis_.offset[j] = -gamma * LOG2_E * norms_[j];
    }
}

std::tuple<double, std::int64_t, Out<double>, Out<double>> Refit::sums(In1<std::int64_t> indptr,
                                                                       In1<std::int32_t> indices, In1<double> values,
                                                                       In1<double> norms, In1<double> targets,
                                                                       In1<std::int64_t> order, In1<double> theta,
                                                                       bool hessian, Threads threads) {
    const std::size_t size = basis_.size(), stride = basis_.stride, count = order.shape(0);
    if (theta.shape(0) != size) throw std::invalid_argument("one coefficient for each vector is needed");
    std::unique_ptr<double[]> gradient(new double[std::max<std::size_t>(1, size)]());
    std::unique_ptr<double[]> full(new double[std::max<std::size_t>(1, hessian ? size * size : 0)]());
    double loss = 0;
    std::size_t active = 0;
    const TrainingRows rows = training_rows(indptr, indices, values, norms, targets, order, basis_.columns);
    std::vector<RefitSums> parts(PARTS);
    parallel_for(PARTS, threads, [&](std::size_t part, std::size_t) {
        const std::size_t first = count * part / PARTS, last = count * (part + 1) / PARTS;
        parts[part].gradient.assign(stride, 0.0);
        if (hessian) parts[part].hessian.assign(stride * stride, 0.0);
        SVMFAST_DISPATCH(refit_rows, basis_, rows, order.data() + first, last - first, theta.data(), parts[part]);
    });
    for (const RefitSums &part : parts) {
        loss += part.loss;
        active += part.active;
        for (std::size_t j = 0; j < size; ++j) gradient[j] += part.gradient[j];
        for (std::size_t i = 0; hessian && i < size; ++i)
            for (std::size_t j = 0; j <= i; ++j) full[i * size + j] += part.hessian[i * stride + j];
    }
    for (std::size_t i = 0; hessian && i < size; ++i)
        for (std::size_t j = 0; j < i; ++j) full[j * size + i] = full[i * size + j];
    return {loss, static_cast<std::int64_t>(active), give(std::move(gradient), {size}),
            give(std::move(full), {hessian ? size : 0, hessian ? size : 0})};
}

Out<double> Refit::gram() const {
    const std::size_t n = basis_.vectors;
    std::unique_ptr<double[]> out(new double[std::max<std::size_t>(1, n * n)]);
    std::vector<std::int32_t> columns;
    std::vector<double> values;
    Aligned<double> kernel(basis_.stride);
    Pulse pulse;
    for (std::size_t i = 0; i < n; ++i) {
        pulse.spent(basis_.columns * basis_.stride);
        columns.clear();
        values.clear();
        for (std::size_t k = 0; k < basis_.columns; ++k) {
            const double x = basis_.values[k * basis_.stride + i];
            if (x == 0.0) continue;
            columns.push_back(static_cast<std::int32_t>(k));
            values.push_back(x);
        }
        SVMFAST_DISPATCH(refit_kernel_row, basis_, columns.data(), values.data(), columns.size(), norms_[i],
                         kernel.data());
        for (std::size_t j = 0; j <= i; ++j) out[i * n + j] = out[j * n + i] = i == j ? 1.0 : kernel[j];
    }
    return give(std::move(out), {n, n});
}

Out<double> solve_symmetric(In2<double> a, In1<double> b) {
    const std::size_t n = b.shape(0), stride = (n + 7) / 8 * 8;
    if (a.shape(0) != n || a.shape(1) != n)
        throw std::invalid_argument("a square matrix and as long a vector are needed");
    std::unique_ptr<double[]> x(new double[std::max<std::size_t>(1, n)]);
    bool solved;
    Aligned<double> copy(n * stride, 0.0);
    for (std::size_t i = 0; i < n; ++i) std::copy_n(a.data() + i * n, i + 1, copy.begin() + i * stride);
    std::copy_n(b.data(), n, x.get());
    solved = SVMFAST_DISPATCH(cholesky_solve, copy.data(), n, stride, x.get());
    return give(std::move(x), {solved ? n : 0});
}

}  // namespace svmfast
