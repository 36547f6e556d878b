// Budgeted SGD: one state per decision function, advanced over blocks of rows; it can be saved and restored.
#include "budget.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <tuple>

#include "loops.hpp"
#include "ticks.hpp"

namespace svmfast {
namespace {

constexpr std::size_t COUNTERS = 11;
constexpr std::size_t AUDIT_NUMBERS = sizeof(MergeAudit) / sizeof(double);

template <class Container>
Out<double> copied(const Container &values, std::initializer_list<std::size_t> shape) {
    std::unique_ptr<double[]> out(new double[std::max<std::size_t>(1, values.size())]);
    std::copy(values.begin(), values.end(), out.get());
    return give(std::move(out), shape);
}

}  // namespace

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
                         bool audit, const MergeLookup &lookup) {
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
    s.audit = audit;
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
    s.violations = s.maintained = s.merged = 0;
    s.degradation = s.maintenance_ticks = 0;
    s.tally = MergeAudit{};
}

void BudgetedSgd::steps(In1<std::int64_t> indptr, In1<std::int32_t> indices, In1<double> values, In1<double> norms,
                        In1<double> targets, In1<std::int64_t> order) {
    const std::size_t count = order.shape(0);
    const TrainingRows rows = training_rows(indptr, indices, values, norms, targets, order, s.columns);
    const auto start = std::chrono::steady_clock::now();
    const double first_tick = ticks(), maintenance = s.maintenance_ticks;
    SVMFAST_DISPATCH(budget_steps, s, rows, order.data(), count);
    const double spent = ticks() - first_tick;
    const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    seconds_ += elapsed;
    if (spent > 0) maintenance_seconds_ += elapsed * (s.maintenance_ticks - maintenance) / spent;
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

std::tuple<Out<double>, Out<double>, Out<double>, Out<double>> BudgetedSgd::save() const {
    std::vector<double> slots;
    for (const auto *array : {&s.scale, &s.coef, &s.norm, &s.born})
        slots.insert(slots.end(), array->begin(), array->end());
    const std::size_t side = s.inverse.empty() ? 0 : s.stride;
    return {copied(s.vectors, {s.columns, s.stride}), copied(slots, {4, s.stride}), copied(s.inverse, {side, side}),
            counters()};
}

void BudgetedSgd::restore(In2<double> vectors, In2<double> slots, In2<double> inverse, In1<double> counters) {
    if (vectors.shape(0) != s.columns || vectors.shape(1) != s.stride || slots.shape(0) != 4 ||
        slots.shape(1) != s.stride || inverse.size() != s.inverse.size() || counters.shape(0) != COUNTERS)
        throw std::invalid_argument("the saved state belongs to another problem");
    const double *c = counters.data();
    if (c[9] != s.lambda || c[10] != static_cast<double>(s.budget))
        throw std::invalid_argument("the saved state belongs to another problem");
    check(slots.data(), c);
    std::copy_n(vectors.data(), vectors.size(), s.vectors.begin());
    const double *from = slots.data();
    for (auto *array : {&s.scale, &s.coef, &s.norm, &s.born}) {
        std::copy_n(from, s.stride, array->begin());
        from += s.stride;
    }
    for (std::size_t j = 0; j < s.stride; ++j) s.place(j, s.scale[j], s.norm[j]);
    std::copy_n(inverse.data(), inverse.size(), s.inverse.begin());
    s.occupied = static_cast<std::size_t>(c[0]);
    s.free_slot = static_cast<std::size_t>(c[1]);
    s.bias_sum = c[2];
    s.steps = static_cast<std::int64_t>(c[3]);
    s.since_inverse = static_cast<std::int64_t>(c[4]);
    s.violations = static_cast<std::int64_t>(c[5]);
    s.maintained = static_cast<std::int64_t>(c[6]);
    s.merged = static_cast<std::int64_t>(c[7]);
    s.degradation = c[8];
    for (SlotEntries &entries : s.entries) entries.current = false;
}

void BudgetedSgd::check(const double *slots, const double *c) const {
    const auto whole = [](double value, double lowest, double highest) {  // false for nan
        return value >= lowest && value <= highest && value == std::floor(value);
    };
    const double budget = static_cast<double>(s.budget), most = 9007199254740992.0;
    bool fine = whole(c[0], 0, budget) && whole(c[1], 0, budget) && whole(c[3], 0, most) && whole(c[4], -1, most);
    for (std::size_t i = 5; i < 8; ++i) fine = fine && whole(c[i], 0, most);
    const double *coef = slots + s.stride;
    for (std::size_t j = 0; fine && j < s.stride; ++j) {
        const double slot = static_cast<double>(j);
        const bool empty = c[0] < budget ? slot >= c[0] : slot > budget || slot == c[1];
        fine = !std::isnan(coef[j]) && !(empty && coef[j] != 0.0);
    }
    if (!fine) throw std::invalid_argument("the saved state is damaged");
}

Out<double> BudgetedSgd::counters() const {
    const std::vector<double> values{static_cast<double>(s.occupied),
                                     static_cast<double>(s.free_slot),
                                     s.bias_sum,
                                     static_cast<double>(s.steps),
                                     static_cast<double>(s.since_inverse),
                                     static_cast<double>(s.violations),
                                     static_cast<double>(s.maintained),
                                     static_cast<double>(s.merged),
                                     s.degradation,
                                     s.lambda,
                                     static_cast<double>(s.budget)};
    return copied(values, {values.size()});
}

Out<double> BudgetedSgd::audit_numbers() const {
    const double *first = reinterpret_cast<const double *>(&s.tally);
    return copied(std::vector<double>(first, first + AUDIT_NUMBERS), {AUDIT_NUMBERS});
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
