// Budgeted SGD: one state per decision function, advanced over blocks of rows.
#include "budget.hpp"

#include <algorithm>

#include "loops.hpp"

namespace svmfast {

BudgetedSgd::BudgetedSgd(const BudgetOptions &options) : s(options) {
    s.vectors.assign(s.columns * s.stride, 0.0);
    s.scale.assign(s.stride, 1.0);
    s.candidates.assign(s.stride + 8, 0);
    for (auto *array : {&s.coef, &s.norm, &s.born, &s.raw, &s.log_kernel, &s.kernel, &s.work, &s.gain, &s.offset})
        array->assign(s.stride, 0.0);
    for (std::size_t j = 0; j < s.stride; ++j) s.place(j, 1.0, 0.0);
    if (s.maintenance == Maintenance::project) s.inverse.assign(s.stride * s.stride, 0.0);
    s.entries.resize(s.stride);
}

void BudgetedSgd::steps(const SparseRows &rows, In1<double> norms, In1<double> targets, In1<std::int64_t> order) {
    const TrainingRows all{rows, norms.data(), targets.data()};
    SVMFAST_DISPATCH(budget_steps, s, all, order.data(), order.shape(0));
}

std::tuple<Out<double>, Out<double>, double> BudgetedSgd::expansion() const {
    const std::size_t used = s.stride - static_cast<std::size_t>(std::count(s.coef.begin(), s.coef.end(), 0.0));
    std::unique_ptr<double[]> vectors(new double[std::max<std::size_t>(1, used * s.columns)]);
    std::unique_ptr<double[]> alpha(new double[std::max<std::size_t>(1, used)]);
    const double shrink = s.steps ? 1.0 / (s.lambda * static_cast<double>(s.steps)) : 0.0;
    std::size_t n = 0;
    for (std::size_t j = 0; j < s.stride; ++j) {
        if (s.coef[j] == 0.0) continue;
        for (std::size_t k = 0; k < s.columns; ++k)
            vectors[n * s.columns + k] = s.vectors[k * s.stride + j] * s.scale[j];
        alpha[n++] = s.coef[j] * shrink;
    }
    return {give(std::move(vectors), {n, s.columns}), give(std::move(alpha), {n}), s.bias_sum * shrink};
}

Out<double> rbf_rows(const SparseRows &rows, In1<double> norms, In1<std::int64_t> order, In2<double> vectors,
                     In1<double> squares, double gamma) {
    const std::size_t count = order.shape(0), stride = vectors.shape(1);
    std::unique_ptr<double[]> out(new double[std::max<std::size_t>(1, count * stride)]);
    SVMFAST_DISPATCH(gaussian_rows, rows, norms.data(), order.data(), count, vectors.data(), squares.data(), stride,
                     gamma, out.get());
    return give(std::move(out), {count, stride});
}

std::tuple<Out<double>, Out<double>> merge_tables(std::size_t n, double eps) {
    const std::size_t rows = n / 2 + 1;
    std::unique_ptr<double[]> wd(new double[rows * n]), h(new double[rows * n]);
    SVMFAST_DISPATCH(make_merge_table, n, eps, wd.get(), h.get());
    return {give(std::move(wd), {rows, n}), give(std::move(h), {rows, n})};
}

}  // namespace svmfast
