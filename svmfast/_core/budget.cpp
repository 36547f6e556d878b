// Budgeted SGD: one state per decision function, advanced over blocks of rows.
#include "budget.hpp"

#include <algorithm>

#include "loops.hpp"

namespace svmfast {

BudgetedSgd::BudgetedSgd(std::size_t columns, std::size_t budget, double gamma, double lambda, int maintenance,
                         int loss, double epsilon, double weight_negative, double weight_positive, bool bias,
                         In2<float> angle, In2<float> h, In1<float> reach) {
    s.columns = columns;
    s.budget = budget;
    s.stride = round_up(budget + 1, 8);
    s.gamma = gamma;
    s.lambda = lambda;
    s.epsilon = epsilon;
    s.weight[0] = weight_negative;
    s.weight[1] = weight_positive;
    s.bias = bias;
    s.maintenance = static_cast<Maintenance>(maintenance);
    s.loss = static_cast<Loss>(loss);
    s.table = {angle.data(), h.data(), reach.data(), angle.shape(1)};
    s.vectors.assign(columns * s.stride, 0.0);
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

Out<std::int64_t> random_order(std::size_t count, In1<std::uint64_t> key) {
    std::uint64_t state = 0;
    auto next = [&state] {
        std::uint64_t z = (state += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    };
    for (std::size_t i = 0; i < key.shape(0); ++i) {
        state ^= key.data()[i];
        state = next();
    }
    std::unique_ptr<std::int64_t[]> order(new std::int64_t[std::max<std::size_t>(1, count)]);
    for (std::size_t i = 0; i < count; ++i) order[i] = static_cast<std::int64_t>(i);
    for (std::size_t i = count; i > 1; --i) {
        const auto j = static_cast<std::size_t>((static_cast<unsigned __int128>(next()) * i) >> 64);
        std::swap(order[i - 1], order[j]);
    }
    return give(std::move(order), {count});
}

}  // namespace svmfast
