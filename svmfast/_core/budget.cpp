// Budgeted SGD: one state per decision function, advanced over blocks of rows.
#include "budget.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <tuple>

#include "loops.hpp"

namespace svmfast {

MergeLookup::MergeLookup(In2<double> wd, In2<double> h) {
    const std::size_t rows = wd.shape(0), n = wd.shape(1), cells = n - 1;
    if (n < 4 || n % 2 || rows != n / 2 + 1 || h.shape(0) != rows || h.shape(1) != n)
        throw std::invalid_argument("two tables of n/2 + 1 times n numbers, n even, are needed");
    angle_.resize(rows * n);
    h_.resize(rows * n);
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < n; ++j) {
            const double m = static_cast<double>(i) / n, kappa = static_cast<double>(j) / cells;
            const double length = i ? std::sqrt(wd(i, j)) / m : limit(kappa);
            angle_[i * n + j] = static_cast<float>(std::asin(std::min(length, 1.0)));
            h_[i * n + j] = static_cast<float>(h(i, j));
        }
    std::vector<float> lowest(cells), highest(cells);
    for (std::size_t j = 0; j < cells; ++j) {
        lowest[j] = highest[j] = angle_[j];
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t corner = j; corner <= j + 1; ++corner) {
                lowest[j] = std::min(lowest[j], angle_[i * n + corner]);
                highest[j] = std::max(highest[j], angle_[i * n + corner]);
            }
    }
    reach_.resize(cells);
    for (std::size_t j = 0; j < cells; ++j) {
        std::size_t c = 0;
        while (lowest[c] > highest[j]) ++c;  // ends at j at the latest
        // Slightly lower, because rounding determines the cell of a kappa.
        reach_[j] = static_cast<float>(static_cast<double>(c) / cells - 1e-6);
    }
    table = {angle_.data(), h_.data(), reach_.data(), n};
}

double MergeLookup::limit(double kappa) {
    if (kappa == 0.0) return 1.0;
    return std::sqrt(std::max(0.0, 1.0 - kappa * kappa * (1.0 - 2.0 * std::log(kappa))));
}

TrainingRows training_rows(const In1<std::int64_t> &indptr, const In1<std::int32_t> &indices, const In1<double> &values,
                           const In1<double> &norms, const In1<double> &targets, const In1<std::int64_t> &order,
                           std::size_t columns) {
    const std::size_t n = norms.shape(0);
    const std::int64_t stored = static_cast<std::int64_t>(values.shape(0));
    if (indptr.shape(0) != n + 1 || targets.shape(0) != n || indices.shape(0) != values.shape(0))
        throw std::invalid_argument("rows, norms and targets are inconsistent");
    // Only rows that will be visited, so that many small calls on one block stay cheap.
    for (std::size_t i = 0; i < order.shape(0); ++i) {
        const std::int64_t row = order.data()[i];
        if (row < 0 || static_cast<std::size_t>(row) >= n)
            throw std::invalid_argument("the order names a row that is not there");
        const std::int64_t begin = indptr.data()[row], end = indptr.data()[row + 1];
        if (begin < 0 || end < begin || end > stored) throw std::invalid_argument("a row lies outside its arrays");
        for (std::int64_t p = begin; p < end; ++p)
            if (indices.data()[p] < 0 || static_cast<std::size_t>(indices.data()[p]) >= columns)
                throw std::invalid_argument("a column is out of range");
    }
    return {csr(indptr, indices, values), norms.data(), targets.data()};
}

BudgetedSgd::BudgetedSgd(std::size_t columns, std::size_t budget, double gamma, double lambda, int maintenance,
                         int loss, double epsilon, double weight_negative, double weight_positive, bool bias,
                         const MergeLookup &lookup) {
    if (budget < 1) throw std::invalid_argument("a budget of at least 1 is needed");
    s.columns = columns;
    s.budget = budget;
    s.stride = (budget + 1 + 7) / 8 * 8;
    s.gamma = gamma;
    s.lambda = lambda;
    s.epsilon = epsilon;
    s.weight[0] = weight_negative;
    s.weight[1] = weight_positive;
    s.bias = bias;
    s.maintenance = static_cast<Maintenance>(maintenance);
    s.loss = static_cast<Loss>(loss);
    s.table = lookup.table;
    s.vectors.assign(columns * s.stride, 0.0);
    s.scale.assign(s.stride, 1.0);
    s.candidates.assign(s.stride + 8, 0);
    for (auto *array : {&s.coef, &s.norm, &s.born, &s.raw, &s.log_kernel, &s.kernel, &s.work, &s.gain, &s.offset})
        array->assign(s.stride, 0.0);
    for (std::size_t j = 0; j < s.stride; ++j) s.place(j, 1.0, 0.0);
    if (s.maintenance == Maintenance::project) s.inverse.assign(s.stride * s.stride, 0.0);
    s.entries.resize(s.stride);
    s.occupied = s.free_slot = 0;
    s.bias_sum = 0;
    s.steps = 0;
    s.since_inverse = -1;
    s.maintained = 0;
}

void BudgetedSgd::steps(In1<std::int64_t> indptr, In1<std::int32_t> indices, In1<double> values, In1<double> norms,
                        In1<double> targets, In1<std::int64_t> order) {
    const std::size_t count = order.shape(0);
    const TrainingRows rows = training_rows(indptr, indices, values, norms, targets, order, s.columns);
    SVMFAST_DISPATCH(budget_steps, s, rows, order.data(), count);
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

std::tuple<Out<double>, Out<double>> merge_tables(std::size_t n, double eps) {
    if (n < 4 || n % 2) throw std::invalid_argument("an even number of points per side is needed");
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
