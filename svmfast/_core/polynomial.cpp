// Truncated expansions: building their packed coefficients, and evaluating them on sparse rows.
#include "polynomial.hpp"

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>

#include "aligned.hpp"
#include "arrays.hpp"
#include "threads.hpp"

namespace svmfast {
namespace {

// Lanes of the variant in use.
std::size_t lanes() { return SVMFAST_DISPATCH(polynomial_lanes); }

// ---------------------------------------------------------------------------------------------- building

// One part of the work: within `degree`, all tuples that start with `prefix` and whose next index is in [a0, a1).
struct TriangleTask {
    int degree;
    std::vector<std::size_t> prefix;
    std::size_t a0, a1;
};

void list_tasks(std::size_t d, int degree, std::vector<std::size_t> &prefix, std::vector<TriangleTask> &tasks) {
    const std::size_t start = prefix.empty() ? 0 : prefix.back();
    if (int(prefix.size()) == degree - 2) {
        constexpr std::size_t kRowsPerTask = 64;
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

// Coefficients of sum_m sum_i weights[m][i] (points_i . w)^m.
Out<double> power_sum_coefficients(In2<double> points, In2<double> weights, int threads) {
    const std::size_t n = points.shape(0), d = points.shape(1);
    const int order = int(weights.shape(0)) - 1;
    if (weights.shape(1) != n) throw std::invalid_argument("one weight per point and degree is needed");
    if (order < 0 || order > 60) throw std::invalid_argument("order out of range");
    const std::size_t total = monomials_up_to(d, order);
    std::unique_ptr<double[]> out(new double[total]());
    {
        nb::gil_scoped_release release;
        const std::size_t W = lanes(), stride = (d + 2 * W - 1) / W * W;
        // Padded so that whole vectors can be read from any column.
        Aligned<double> padded_points((n + 1) * stride, 0.0);
        double *u = padded_points.data();
        for (std::size_t i = 0; i < n; ++i)
            std::copy(points.data() + i * d, points.data() + (i + 1) * d, u + i * stride);
        const double *all_weights = weights.data();

        constexpr std::size_t kBlock = 64;
        for (std::size_t i0 = 0; i0 < n; i0 += kBlock) {
            double sum = 0;
            for (std::size_t i = i0; i < std::min(n, i0 + kBlock); ++i) sum += all_weights[i];
            out[0] += sum;
        }
        if (order >= 1) {
            std::vector<double> part(d);
            for (std::size_t i0 = 0; i0 < n; i0 += kBlock) {
                std::fill(part.begin(), part.end(), 0.0);
                for (std::size_t i = i0; i < std::min(n, i0 + kBlock); ++i)
                    for (std::size_t f = 0; f < d; ++f) part[f] += all_weights[n + i] * u[i * stride + f];
                for (std::size_t f = 0; f < d; ++f) out[1 + f] += part[f];
            }
        }
        std::vector<TriangleTask> tasks;
        std::vector<std::size_t> prefix;
        for (int degree = order; degree >= 2; --degree) list_tasks(d, degree, prefix, tasks);
        const auto first = tuple_places(d, order);
        std::vector<std::size_t> begin(order + 2, 0);
        for (int m = 0; m <= order; ++m) begin[m + 1] = begin[m] + monomials_of_degree(d, m);

        parallel_for(tasks.size(), threads, [&](std::size_t t, std::size_t) {
            const TriangleTask &task = tasks[t];
            std::vector<double> q(all_weights + task.degree * n, all_weights + (task.degree + 1) * n);
            for (std::size_t index : task.prefix)
                for (std::size_t i = 0; i < n; ++i) q[i] *= u[i * stride + index];
            const std::size_t width = (d - task.a0 + W - 1) / W * W;
            std::vector<double> sums((task.a1 - task.a0) * width, 0.0);
            SVMFAST_DISPATCH(weighted_triangle, u, q.data(), n, stride, d, task.a0, task.a1, sums.data());
            std::size_t place = begin[task.degree];
            int level = task.degree;
            std::size_t before = 0;
            for (std::size_t index : task.prefix) {
                place += first[level][index] - first[level][before];
                before = index;
                --level;
            }
            for (std::size_t a = task.a0; a < task.a1; ++a) {
                // What is left are pairs (a, l): level is 2 here.
                double *line = out.get() + place + (first[2][a] - first[2][before]);
                for (std::size_t l = a; l < d; ++l)
                    line[l - a] = orderings(task.prefix, a, l) * sums[(a - task.a0) * width + l - task.a0];
            }
        });
    }
    return give(std::move(out), {total});
}

// ---------------------------------------------------------------------------------------------- evaluating

struct SparseRow {
    std::size_t nnz = 0;
    std::vector<std::int32_t> position;  // ascending
    std::vector<double> value;
    double other = 0;  // squares of the columns no monomial knows
};

// Rows as they came from the reader, with their columns translated to the polynomial's variables.
struct RowReader {
    const std::int64_t *indptr;
    const std::int32_t *indices;
    const double *values;
    const std::int32_t *position;
    std::size_t n_positions;

    std::int32_t variable(std::int32_t column) const {
        return std::size_t(column) < n_positions ? position[column] : -1;
    }
    // Columns without a variable only add to the squared norm.
    void read(std::size_t row, SparseRow &out) const {
        const std::size_t begin = indptr[row], end = indptr[row + 1];
        if (out.position.size() < end - begin) out.position.resize(end - begin), out.value.resize(end - begin);
        std::int32_t *const to_position = out.position.data();
        double *const to_value = out.value.data();
        const std::int32_t *const table = position;
        const std::size_t width = n_positions;
        std::size_t known = 0;
        double other = 0;
        for (std::size_t k = begin; k < end; ++k) {
            const std::size_t column = indices[k];
            const double z = values[k];
            const std::int32_t v = column < width ? table[column] : -1;
            if (v < 0) {
                other += z * z;
            } else {
                to_position[known] = v;
                to_value[known++] = z;
            }
        }
        out.nnz = known;
        out.other = other;
    }
};

// The tables by which the places of monomials are found, for every order up to a highest one.
struct Places {
    Places(std::size_t d, int order) : first(tuple_places(d, order)), begin(order + 1, 0) {
        for (const auto &table : first) tables.push_back(table.data());
        for (int m = 1; m <= order; ++m) begin[m] = begin[m - 1] + monomials_of_degree(d, m - 1);
    }
    std::vector<std::vector<std::size_t>> first;
    std::vector<std::size_t> begin;
    std::vector<const std::size_t *> tables;
};

// Nanoseconds of one term of a sparse row, and of one coefficient in one lane of a dense block: their ratio decides
// between the two ways, from the row's own count of entries alone.
constexpr double kSparseTerm = 0.8, kDenseTermTimesLanes = 0.35;

struct Block {
    std::size_t begin, count;
    std::int32_t cell;
};

nb::tuple polynomial_values(In1<std::int64_t> indptr, In1<std::int32_t> indices, In1<double> values,
                            In1<std::int32_t> position, double gamma, bool about_zero, In2<double> centres,
                            In2<std::int32_t> orders, In2<std::int64_t> starts, In1<double> coefficients,
                            In1<double> rho, In1<std::int32_t> cells, int threads) {
    const std::size_t n = indptr.shape(0) - 1, n_cells = centres.shape(0), d = centres.shape(1);
    const std::size_t p = rho.shape(0);
    std::unique_ptr<double[]> out(new double[n * p]), squared(new double[n]);
    {
        nb::gil_scoped_release release;
        const std::size_t W = lanes();
        const RowReader reader{indptr.data(), indices.data(), values.data(), position.data(), position.shape(0)};
        const std::int32_t *cell_of = cells.shape(0) == n && n_cells > 1 ? cells.data() : nullptr;
        const std::int32_t *order_of = orders.data();
        int highest = 0;
        for (std::size_t i = 0; i < n_cells * p; ++i) highest = std::max(highest, int(order_of[i]));
        const Places places(d, highest);

        // Dense rows are gathered by cell; with a polynomial about zero, rows with few entries stay sparse.
        std::vector<std::size_t> sparse_rows, count(n_cells + 1, 0);
        std::vector<std::int64_t> dense_rows;
        std::size_t most_sparse = 0;
        if (about_zero) {
            const double dense_cost = kDenseTermTimesLanes / double(W) * double(monomials_up_to(d, highest));
            while (most_sparse < d && kSparseTerm * double(monomials_up_to(most_sparse + 1, highest)) <= dense_cost)
                ++most_sparse;
        }
        auto is_sparse = [&](std::size_t row) {
            return about_zero && std::size_t(indptr.data()[row + 1] - indptr.data()[row]) <= most_sparse;
        };
        for (std::size_t row = 0; row < n; ++row) {
            if (is_sparse(row))
                sparse_rows.push_back(row);
            else
                ++count[(cell_of ? cell_of[row] : 0) + 1];
        }
        for (std::size_t c = 0; c < n_cells; ++c) count[c + 1] += count[c];
        dense_rows.resize(count[n_cells]);
        std::vector<Block> blocks;
        for (std::size_t c = 0; c < n_cells; ++c)
            for (std::size_t b = count[c]; b < count[c + 1]; b += 4 * W)
                blocks.push_back({b, std::min(4 * W, count[c + 1] - b), std::int32_t(c)});
        for (std::size_t row = 0; row < n; ++row)
            if (!is_sparse(row)) dense_rows[count[cell_of ? cell_of[row] : 0]++] = std::int64_t(row);

        parallel_for(blocks.size(), threads, [&](std::size_t b, std::size_t) {
            static thread_local Aligned<double> buffer;
            const Block &block = blocks[b];
            const std::size_t vectors = block.count <= W ? 1 : block.count <= 2 * W ? 2 : 4, width = vectors * W;
            if (buffer.size() < d * width) buffer.resize(d * width);
            double *w = buffer.data();
            const double *centre = centres.data() + std::size_t(block.cell) * d;
            for (std::size_t f = 0; f < d; ++f)
                std::fill_n(w + f * width, width, about_zero ? 0.0 : -centre[f]);
            double other[32] = {}, s[32], factor[32], sum[32];
            for (std::size_t r = 0; r < block.count; ++r) {
                const std::size_t row = dense_rows[block.begin + r];
                for (std::int64_t k = reader.indptr[row]; k < reader.indptr[row + 1]; ++k) {
                    const std::int32_t v = reader.variable(reader.indices[k]);
                    const double z = reader.values[k];
                    if (v < 0)
                        other[r] += z * z;
                    else
                        w[v * width + r] = about_zero ? z : z - centre[v];
                }
            }
            SVMFAST_DISPATCH(squared_distance_block, w, about_zero ? centre : nullptr, d, vectors, s);
            for (std::size_t r = 0; r < width; ++r) s[r] += other[r];
            SVMFAST_DISPATCH(gaussian_factors, s, width, gamma, factor);
            for (std::size_t function = 0; function < p; ++function) {
                const std::size_t piece = std::size_t(block.cell) * p + function;
                SVMFAST_DISPATCH(polynomial_block, w, d, order_of[piece],
                                 coefficients.data() + starts.data()[piece], vectors, sum);
                for (std::size_t r = 0; r < block.count; ++r)
                    out[std::size_t(dense_rows[block.begin + r]) * p + function] =
                        factor[r] * sum[r] - rho.data()[function];
            }
            for (std::size_t r = 0; r < block.count; ++r) squared[dense_rows[block.begin + r]] = s[r];
        });

        constexpr std::size_t kRows = 64;
        double centre_square = 0;
        for (std::size_t f = 0; f < d && !sparse_rows.empty(); ++f)
            centre_square += centres.data()[f] * centres.data()[f];
        parallel_for((sparse_rows.size() + kRows - 1) / kRows, threads, [&](std::size_t task, std::size_t) {
            static thread_local SparseRow row;
            const std::size_t begin = task * kRows, end = std::min(sparse_rows.size(), begin + kRows);
            double s[kRows], factor[kRows];
            for (std::size_t i = begin; i < end; ++i) {
                reader.read(sparse_rows[i], row);
                double square = 0, product = 0;
                for (std::size_t k = 0; k < row.nnz; ++k) {
                    square += row.value[k] * row.value[k];
                    product += row.value[k] * centres.data()[row.position[k]];
                }
                s[i - begin] = std::max(0.0, (square - 2 * product) + (centre_square + row.other));
                for (std::size_t function = 0; function < p; ++function)
                    out[sparse_rows[i] * p + function] =
                        SVMFAST_DISPATCH(sparse_polynomial, row.position.data(), row.value.data(), row.nnz,
                                         order_of[function], coefficients.data() + starts.data()[function],
                                         places.tables.data(), places.begin.data());
            }
            SVMFAST_DISPATCH(gaussian_factors, s, end - begin, gamma, factor);
            for (std::size_t i = begin; i < end; ++i) {
                squared[sparse_rows[i]] = s[i - begin];
                for (std::size_t function = 0; function < p; ++function) {
                    double &value = out[sparse_rows[i] * p + function];
                    value = factor[i - begin] * value - rho.data()[function];
                }
            }
        });
        // A row so far away that the factor vanishes can overflow the polynomial; its decision value is -rho.
        for (std::size_t i = 0; i < n * p; ++i)
            if (!std::isfinite(out[i])) out[i] = -rho.data()[i % p];
    }
    return nb::make_tuple(give(std::move(out), {n, p}), give(std::move(squared), {n}));
}

Out<std::int32_t> nearest_centres(In1<std::int64_t> indptr, In1<std::int32_t> indices, In1<double> values,
                                  In1<std::int32_t> position, In2<double> centres, int threads) {
    const std::size_t n = indptr.shape(0) - 1, n_cells = centres.shape(0), d = centres.shape(1);
    std::unique_ptr<std::int32_t[]> out(new std::int32_t[n]);
    {
        nb::gil_scoped_release release;
        const RowReader reader{indptr.data(), indices.data(), values.data(), position.data(), position.shape(0)};
        const std::size_t W = lanes(), padded = (n_cells + W - 1) / W * W;
        // ||z - mu||^2 / 2 = ||z||^2 / 2 + (||mu||^2 / 2 - z.mu); the first part is the same for all.
        Aligned<double> table(d * padded, 0.0), offset_table(padded, HUGE_VAL);
        double *by_feature = table.data(), *offsets = offset_table.data();
        for (std::size_t c = 0; c < n_cells; ++c) {
            double square = 0;
            for (std::size_t f = 0; f < d; ++f) {
                const double x = centres.data()[c * d + f];
                by_feature[f * padded + c] = x;
                square += x * x;
            }
            offsets[c] = square / 2;
        }
        constexpr std::size_t kRows = 256;
        parallel_for((n + kRows - 1) / kRows, threads, [&](std::size_t task, std::size_t) {
            static thread_local SparseRow row;
            for (std::size_t i = task * kRows; i < std::min(n, (task + 1) * kRows); ++i) {
                reader.read(i, row);
                const std::size_t c = SVMFAST_DISPATCH(nearest_centre, row.position.data(), row.value.data(), row.nnz,
                                                       by_feature, offsets, padded);
                out[i] = std::int32_t(std::min(c, n_cells - 1));
            }
        });
    }
    return give(std::move(out), {n});
}

}  // namespace
}  // namespace svmfast

void register_polynomial(nanobind::module_ &m) {
    using namespace svmfast;
    using namespace nb::literals;
    m.def("power_sum_coefficients", &power_sum_coefficients, "points"_a.noconvert(), "weights"_a.noconvert(),
          "threads"_a);
    m.def("polynomial_values", &polynomial_values, "indptr"_a.noconvert(), "indices"_a.noconvert(),
          "values"_a.noconvert(), "position"_a.noconvert(), "gamma"_a, "about_zero"_a, "centres"_a.noconvert(),
          "orders"_a.noconvert(), "starts"_a.noconvert(), "coefficients"_a.noconvert(), "rho"_a.noconvert(),
          "cells"_a.noconvert(), "threads"_a);
    m.def("nearest_centres", &nearest_centres, "indptr"_a.noconvert(), "indices"_a.noconvert(),
          "values"_a.noconvert(), "position"_a.noconvert(), "centres"_a.noconvert(), "threads"_a);
    m.def("monomials_up_to", &monomials_up_to, "d"_a, "order"_a);
}
