// Truncated expansions: building their packed coefficients (polynomial_values.cpp evaluates them).
#include "polynomial.hpp"

#include <algorithm>
#include <stdexcept>

#include "loops.hpp"

namespace svmfast {
namespace {

// One part of the work: all tuples of `degree` that start with `prefix` and whose next index is in [a0, a1).
struct TriangleTask {
    int degree;
    std::vector<std::size_t> prefix;
    std::size_t a0, a1;
};

void list_tasks(std::size_t d, int degree, std::vector<std::size_t> &prefix, std::vector<TriangleTask> &tasks) {
    const std::size_t start = prefix.empty() ? 0 : prefix.back();
    if (int(prefix.size()) == degree - 2) {
        constexpr std::size_t kRowsPerTask = 16;
        for (std::size_t a = start; a < d; a += kRowsPerTask)
            tasks.push_back({degree, prefix, a, std::min(d, a + kRowsPerTask)});
        return;
    }
    for (std::size_t i = start; i < d; ++i) {
        prefix.push_back(i);
        list_tasks(d, degree, prefix, tasks);
        prefix.pop_back();
    }
}

// m! / (product of the factorials of how often each index occurs), for the tuple prefix + (a, l).
double orderings(const std::vector<std::size_t> &prefix, std::size_t a, std::size_t l) {
    double count = 1;
    std::size_t placed = 0, run = 0, last = SIZE_MAX;
    auto put = [&](std::size_t index) {
        run = index == last ? run + 1 : 1;
        last = index;
        count *= double(++placed) / double(run);
    };
    for (std::size_t index : prefix) put(index);
    put(a);
    put(l);
    return count;
}

}  // namespace

Out<double> power_sum_coefficients(In2<double> points, In2<double> weights, Threads threads) {
    const std::size_t n = points.shape(0), d = points.shape(1);
    const int order = int(weights.shape(0)) - 1;
    if (weights.shape(1) != n) throw std::invalid_argument("one weight per point and degree is needed");
    if (order < 0 || order > 60) throw std::invalid_argument("order out of range");
    const std::size_t total = monomials_up_to(d, order);
    std::unique_ptr<double[]> out(new double[total]());
    const std::size_t W = vector_lanes(), stride = (d + 2 * W - 1) / W * W;
    // Padded, so that whole vectors can be read from any column.
    Aligned<double> padded_points((n + 1) * stride, 0.0);
    double *u = padded_points.data();
    for (std::size_t i = 0; i < n; ++i) std::copy(points.data() + i * d, points.data() + (i + 1) * d, u + i * stride);
    const double *all_weights = weights.data();

    constexpr std::size_t kBlock = 64;
    std::vector<double> part(order ? 1 + d : 1);
    for (std::size_t i0 = 0; i0 < n; i0 += kBlock) {
        std::fill(part.begin(), part.end(), 0.0);
        for (std::size_t i = i0; i < std::min(n, i0 + kBlock); ++i) {
            part[0] += all_weights[i];
            if (!order) continue;
            for (std::size_t f = 0; f < d; ++f) part[1 + f] += all_weights[n + i] * u[i * stride + f];
        }
        for (std::size_t f = 0; f < part.size(); ++f) out[f] += part[f];
    }
    std::vector<TriangleTask> tasks;
    std::vector<std::size_t> prefix;
    for (int degree = order; degree >= 2; --degree) list_tasks(d, degree, prefix, tasks);
    const auto places = index_places(d, order);
    std::vector<std::size_t> begin(order + 2, 0);
    for (int m = 0; m <= order; ++m) begin[m + 1] = begin[m] + monomials_of_degree(d, m);

    parallel_for(tasks.size(), threads, [&](std::size_t t, std::size_t) {
        const TriangleTask &task = tasks[t];
        std::vector<double> q(all_weights + task.degree * n, all_weights + (task.degree + 1) * n);
        for (std::size_t index : task.prefix)
            for (std::size_t i = 0; i < n; ++i) q[i] *= u[i * stride + index];
        const std::size_t width = round_up(d - task.a0, W);
        std::vector<double> sums((task.a1 - task.a0) * width, 0.0);
        SVMFAST_DISPATCH(weighted_triangle, u, q.data(), n, stride, d, task.a0, task.a1, sums.data());
        double *line = out.get() + begin[task.degree];
        int level = task.degree;
        for (std::size_t index : task.prefix) line += places[level--][index];
        // Only pairs (a, l) are left: level is 2 here.
        for (std::size_t a = task.a0; a < task.a1; ++a)
            for (std::size_t l = a; l < d; ++l)
                line[places[2][a] + l] = orderings(task.prefix, a, l) * sums[(a - task.a0) * width + l - task.a0];
    });
    return give(std::move(out), {total});
}

}  // namespace svmfast
