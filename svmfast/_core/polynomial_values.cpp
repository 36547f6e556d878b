// Evaluates truncated expansions on sparse rows: nearest center, polynomials and error bounds, one pass for each.
//
// Rows are routed, ordered by cell, and evaluated in blocks of lanes, so that a block needs one polynomial. A row's
// result depends on the row alone, not on other rows, their order or the number of threads.
//
// Longer than 400 lines: one class, whose dense and sparse paths share the state of a call.

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>

#include "aligned.hpp"
#include "fork.hpp"
#include "loops.hpp"
#include "math.hpp"
#include "polynomial.hpp"
#include "router.hpp"
#include "single_polynomial.hpp"
#include "threads.hpp"

namespace svmfast {
namespace {

constexpr double UNIT = 0x1p-53;
// The value of the vectors' exp2 that stands for zero (simd/exp2.hpp).
constexpr double VANISHED = 0x1p-1022;
// At least the loss of a sum of squares by underflow.
constexpr double LEAST_SQUARE = 1e-300;
// Nanoseconds of one term of a sparse row, and of one coefficient in one lane of a dense block: their ratio decides
// between the two ways, from the row's own count of entries and its cell alone.
constexpr double SPARSE_TERM = 0.8, DENSE_TERM_TIMES_LANES = 0.35;

struct SparseRow {
    std::vector<std::int32_t> position;  // ascending
    std::vector<double> value;
    std::size_t nnz = 0;
    double other = 0;  // sum of squares of the columns that occur in no monomial
};

}  // namespace

struct PolynomialValues::Impl {
    Impl(In1<std::int32_t> features, double gamma, bool about_zero, In2<double> centers, In2<std::int32_t> orders,
         In2<std::int64_t> starts, In1<double> coefficients, In1<double> rho, std::optional<In3<double>> bound_degrees,
         std::optional<In3<double>> bound_rest)
        : cells(centers.shape(0)), d(centers.shape(1)), p(rho.shape(0)), W(vector_lanes()), gamma(gamma),
          about_zero(about_zero),
          table(std::vector<std::int32_t>(features.data(), features.data() + features.shape(0))), centers_(centers),
          orders_(orders), starts_(starts), coefficients_(coefficients), rho_(rho), degrees_(bound_degrees),
          rest_(bound_rest) {
        if (features.shape(0) != d) throw std::invalid_argument("a column for each variable is needed");
        if (orders.shape(0) != cells || orders.shape(1) != p || starts.shape(0) != cells || starts.shape(1) != p)
            throw std::invalid_argument("orders, starts, centers and rho are inconsistent");
        for (std::size_t i = 0; i < cells * p; ++i) {
            const int order = orders.data()[i];
            const std::int64_t start = starts.data()[i];
            const std::size_t all = coefficients.shape(0);
            if (order < 0 || start < 0 || std::size_t(start) > all || monomials_up_to(d, order) > all - start)
                throw std::invalid_argument("a polynomial lies beyond the coefficients");
        }
        if (degrees_.has_value() != rest_.has_value() ||
            (degrees_ && (degrees_->shape(0) != cells || degrees_->shape(1) != p || degrees_->shape(2) < 1 ||
                          rest_->shape(0) != cells || rest_->shape(1) != p || rest_->shape(2) != 5)))
            throw std::invalid_argument("the numbers of the bounds do not fit the polynomials");
        prepare_sparse();
        router.emplace(table, cells, centers.data());
    }

    // An estimate for rows with as many entries as they have on average.
    double multiply_adds(const Csr &rows, std::size_t n) const {
        const std::size_t entries = n ? std::min<std::size_t>(d, rows.indptr[n] / n) : 0;
        const int order = cells * p > 0 ? *std::max_element(orders_.data(), orders_.data() + cells * p) : 0;
        return double(n) * (double(p) * double(monomials_up_to(entries, order)) + double(cells * entries));
    }

    std::size_t cells, d, p, W;
    double gamma;
    bool about_zero;
    ActiveColumns table;
    In2<double> centers_;
    In2<std::int32_t> orders_;
    In2<std::int64_t> starts_;
    In1<double> coefficients_, rho_;
    std::optional<In3<double>> degrees_, rest_;

    Once packed_single;
    std::unique_ptr<SinglePolynomials> single;

    // Sparse rows.
    std::vector<std::vector<std::size_t>> places;  // index_places
    std::vector<const std::size_t *> tables;
    std::vector<std::size_t> terms;  // of each cell, and its features
    std::vector<std::size_t> begin_of_degree,
        most_sparse;  // most_sparse: entries up to which a cell's rows stay sparse
    std::vector<double> center_square;

    std::optional<Router> router;

    void pack_single() {
        packed_single.call([&] {
            single = std::make_unique<SinglePolynomials>(
                Polynomials{cells, p, d, gamma, about_zero, centers_.data(), orders_.data(), starts_.data(),
                            coefficients_.data(), degrees_->data(), rest_->data(), degrees_->shape(2) - 1});
        });
    }

    void read(const Csr &rows, std::size_t row, SparseRow &out) const {
        const std::size_t begin = rows.indptr[row], end = rows.indptr[row + 1];
        if (out.position.size() < end - begin) out.position.resize(end - begin), out.value.resize(end - begin);
        std::int32_t *const to_position = out.position.data();
        double *const to_value = out.value.data();
        std::size_t known = 0;
        double other = 0;
        for (std::size_t k = begin; k < end; ++k) {
            const double z = rows.values[k];
            const std::int32_t v = table.position(rows.indices[k]);
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

    void prepare_sparse() {
        terms.assign(cells, d + 1);
        for (std::size_t i = 0; i < cells * p; ++i) terms[i / p] += monomials_up_to(d, orders_.data()[i]);
        most_sparse.assign(cells, 0);
        if (!about_zero) return;
        int highest = 0;
        for (std::size_t i = 0; i < cells * p; ++i) highest = std::max(highest, int(orders_.data()[i]));
        places = index_places(d, highest);
        for (const auto &table : places) tables.push_back(table.data());
        // Sparse rows store places of pairs in 32 bits.
        const bool places_fit =
            highest < 2 || monomials_of_degree(d, 2) <= std::size_t(std::numeric_limits<std::int32_t>::max());
        begin_of_degree.assign(highest + 1, 0);
        for (int m = 1; m <= highest; ++m) begin_of_degree[m] = begin_of_degree[m - 1] + monomials_of_degree(d, m - 1);
        for (std::size_t c = 0; c < cells; ++c) {
            int own = 0;
            for (std::size_t f = 0; f < p; ++f) own = std::max(own, int(orders_.data()[c * p + f]));
            const double dense = DENSE_TERM_TIMES_LANES / double(W) * double(monomials_up_to(d, own));
            std::size_t &most = most_sparse[c];
            while (places_fit && most < d && SPARSE_TERM * double(monomials_up_to(most + 1, own)) <= dense) ++most;
            double square = 0;
            for (std::size_t f = 0; f < d; ++f) square += centers_(c, f) * centers_(c, f);
            center_square.push_back(square);
        }
    }

    // Calls body(begin, end) for parts of at most `together` rows, the same number for every thread.
    template <class Body>
    static void in_parts(std::size_t n, std::size_t together, Threads threads, Body &&body) {
        const std::size_t workers = threads;
        const std::size_t parts = divide_up(n, together * workers) * workers;
        const std::size_t size = parts ? divide_up(n, parts) : 0;
        parallel_for(parts, threads, [&](std::size_t part, std::size_t) {
            const std::size_t begin = std::min(n, part * size), end = std::min(n, begin + size);
            if (begin < end) body(begin, end);
        });
    }

    struct Task {
        std::size_t begin, count;
        std::int32_t cell;
    };

    void evaluate(const Csr &rows, std::size_t begin, std::size_t end, const std::int32_t *cell, double *out,
                  double *squared, double *bound, bool single_precision) const {
        const std::size_t n = end - begin;
        // Rows ordered by cell, with a cell's dense rows before its sparse ones.
        std::vector<std::uint32_t> order;
        std::vector<std::size_t> count(2 * cells + 1, 0);
        if (cells == 1 && !about_zero) {
            count[1] = count[2] = n;
        } else {
            auto bucket = [&](std::size_t row) {
                const std::size_t c = cell[row];
                return 2 * c + (about_zero && rows.entries(row) <= most_sparse[c]);
            };
            order.resize(n);
            for (std::size_t row = begin; row < end; ++row) ++count[bucket(row) + 1];
            for (std::size_t b = 0; b < 2 * cells; ++b) count[b + 1] += count[b];
            std::vector<std::size_t> next(count.begin(), count.end() - 1);
            for (std::size_t row = begin; row < end; ++row) order[next[bucket(row)]++] = std::uint32_t(row - begin);
        }
        const std::size_t together[2] = {(single_precision ? 8 : 4) * W, 64};
        const Run run{rows, begin, n, order.empty() ? nullptr : order.data(), out, squared, bound, single_precision};
        Pulse pulse;
        for (std::size_t b = 0; b < 2 * cells; ++b)
            for (std::size_t at = count[b]; at < count[b + 1]; at += together[b % 2]) {
                const Task task{at, std::min(together[b % 2], count[b + 1] - at), std::int32_t(b / 2)};
                pulse.spent(task.count * terms[task.cell]);
                if (single_precision)
                    b % 2 ? sparse_rows<float>(run, task) : dense_rows<float>(run, task);
                else
                    b % 2 ? sparse_rows<double>(run, task) : dense_rows<double>(run, task);
            }
    }

    struct Run {
        Csr rows;
        std::size_t first, n;
        const std::uint32_t *order;
        double *out, *squared, *bound;
        bool single;  // precision

        std::size_t row(std::size_t i) const { return first + (order ? order[i] : i); }
        // Rows of a cell are far apart: prefetch the next ones.
        void prefetch(std::size_t i) const {
            if (!order || i >= n) return;
            const std::size_t at = rows.indptr[row(i)];
            __builtin_prefetch(rows.indices + at);
            for (std::size_t k = 0; k < 24; k += 8) __builtin_prefetch(rows.values + at + k);
        }
    };

    // From squared distances s (for the bound also lower and upper bounds of the true ones), factors and sums of
    // `count` rows, computes and stores the results for one function.
    void finish(const Run &run, const Task &task, std::size_t function, const double *below, const double *above,
                const double *factor, double *sum) const {
        const double r = rho_.data()[function];
        const std::size_t piece = std::size_t(task.cell) * p + function;
        double bounds[64];
        // With gamma 0 the kernel is 1 at any distance; an infinite distance would give a nan.
        if (gamma != 0)
            for (std::size_t i = 0; i < task.count; ++i) sum[i] *= factor[i];
        if (run.bound)
            SVMFAST_DISPATCH(expansion_bounds, gamma,
                             (run.single ? single->degrees.data() : degrees_->data()) + piece * degrees_->shape(2),
                             degrees_->shape(2) - 1, rest_->data() + piece * 5, below, above, sum, task.count, bounds);
        for (std::size_t i = 0; i < task.count; ++i) {
            const std::size_t row = run.row(task.begin + i);
            // For a row so far away that the factor vanishes, the polynomial may overflow; the decision value is -rho.
            const double value = sum[i] - r;
            const bool finite = std::isfinite(value);
            const bool vanishes = gamma != 0 && factor[i] <= VANISHED;
            // Nearer rows overflow if coefficients are absurdly large: the value is -rho if an infinite bound goes with
            // it.
            if (!finite && !vanishes && !run.bound) throw std::overflow_error("a decision value");
            run.out[row * p + function] = finite ? value : -r;
            if (run.bound)
                run.bound[row * p + function] = finite && run.rows.entries(row) <= d + SPARE_ENTRIES
                                                    ? bounds[i]
                                                    : std::numeric_limits<double>::infinity();
        }
    }

    // At most 8 W rows side by side, relative to the center if the polynomials are about it, with the numbers that
    // the bound needs.
    struct DenseBlock {
        std::size_t width;  // of w
        double *w;          // [feature][row]
        double s[64], factor[64], below[64], above[64];
    };

    // The rows task.begin + at .. + count, at most 4 W.
    void read_dense(const Run &run, const Task &task, std::size_t at, std::size_t count, DenseBlock &block) const {
        static thread_local Aligned<double> buffer;
        const std::size_t vectors = count <= W ? 1 : count <= 2 * W ? 2 : 4, width = vectors * W;
        if (buffer.size() < d * width) buffer.resize(d * width);
        double *w = block.w = buffer.data();
        block.width = width;
        std::fill_n(w, d * width, 0.0);
        const double *center = centers_.data() + std::size_t(task.cell) * d;
        double other[32] = {}, *const s = block.s + at;
        for (std::size_t r = 0; r < count; ++r) {
            run.prefetch(task.begin + at + r + 16);
            const std::size_t row = run.row(task.begin + at + r);
            const std::int64_t begin = run.rows.indptr[row], end = run.rows.indptr[row + 1];
            const std::int32_t *index = run.rows.indices;
            const double *value = run.rows.values;
            if (table.all_plain(run.rows, row)) {
                for (std::int64_t k = begin; k < end; ++k) w[std::size_t(index[k]) * width + r] = value[k];
                continue;
            }
            for (std::int64_t k = begin; k < end; ++k) {
                const std::int32_t v = table.position(index[k]);
                if (v < 0)
                    other[r] += value[k] * value[k];
                else
                    w[std::size_t(v) * width + r] = value[k];
            }
        }
        if (about_zero)
            SVMFAST_DISPATCH(squared_distance_block, w, center, d, vectors, s);
        else
            SVMFAST_DISPATCH(shifted_block, w, center, d, vectors, s);
        for (std::size_t r = 0; r < width; ++r) s[r] += other[r];
        SVMFAST_DISPATCH(gaussian_factors, s, width, gamma, block.factor + at);
        // A sum of at most d + entries squares, each of a rounded difference.
        const double error = double(2 * d + SPARE_ENTRIES + 8) * 1.01 * UNIT;
        for (std::size_t r = at; r < at + width; ++r) {
            block.below[r] = block.s[r] * (1 - error);
            block.above[r] = block.s[r] * (1 + error) + LEAST_SQUARE;
        }
    }

    // The coefficients of one polynomial, and the factor of its sums, in either precision.
    template <class Number>
    std::pair<const Number *, double> piece(std::size_t number) const {
        if constexpr (std::is_same_v<Number, float>)
            return {single->coefficients.data() + starts_.data()[number], single->scale[number]};
        else
            return {coefficients_.data() + starts_.data()[number], 1.0};
    }

    template <class Number>
    void dense_rows(const Run &run, const Task &task) const {
        DenseBlock block;
        const Number *w;
        const std::size_t count = task.count, lanes = W * sizeof(double) / sizeof(Number);
        const std::size_t vectors = count <= lanes ? 1 : count <= 2 * lanes ? 2 : 4, width = vectors * lanes;
        if constexpr (std::is_same_v<Number, float>) {
            static thread_local Aligned<float> buffer;
            if (buffer.size() < d * width) buffer.resize(d * width);
            if (count + W <= width) std::fill_n(buffer.data(), d * width, 0.0f);
            for (std::size_t at = 0; at < count; at += 4 * W) {
                read_dense(run, task, at, std::min(4 * W, count - at), block);
                SVMFAST_DISPATCH(narrowed_block, block.w, d, block.width, single->value_scale, buffer.data() + at,
                                 width);
            }
            w = buffer.data();
        } else {
            read_dense(run, task, 0, count, block);
            w = block.w;
        }
        for (std::size_t function = 0; function < p; ++function) {
            const std::size_t number = std::size_t(task.cell) * p + function;
            const auto [coefficients, scale] = piece<Number>(number);
            Number found[64];
            double sum[64];
            SVMFAST_DISPATCH(polynomial_block, w, d, orders_.data()[number], coefficients, vectors, found);
            for (std::size_t r = 0; r < count; ++r) sum[r] = double(found[r]) * scale;
            finish(run, task, function, block.below, block.above, block.factor, sum);
        }
        for (std::size_t r = 0; r < count; ++r) run.squared[run.row(task.begin + r)] = block.s[r];
    }

    template <class Number>
    void sparse_rows(const Run &run, const Task &task) const {
        static thread_local SparseRow row;
        static thread_local std::vector<double> sums;
        static thread_local std::vector<Number> z;
        if (sums.size() < 64 * p) sums.resize(64 * p);
        const double *center = centers_.data() + std::size_t(task.cell) * d;
        const double own_square = center_square[task.cell];
        double s[64], below[64] = {}, above[64] = {}, factor[64];
        for (std::size_t i = 0; i < task.count; ++i) {
            const std::size_t number = run.row(task.begin + i);
            run.prefetch(task.begin + i + 8);
            read(run.rows, number, row);
            double square = 0, product = 0;
            for (std::size_t k = 0; k < row.nnz; ++k) {
                square += row.value[k] * row.value[k];
                product += row.value[k] * center[row.position[k]];
            }
            s[i] = (square - 2 * product) + (own_square + row.other);
            // Infinity minus infinity: a row so far away must not count as being at the center.
            s[i] = std::isnan(s[i]) ? std::numeric_limits<double>::infinity() : std::max(0.0, s[i]);
            // This form cancels, and the square root would magnify the error, so the bound uses both ends of the
            // interval.
            const double error =
                double(run.rows.entries(number) + d + 8) * 2.1 * UNIT * (square + row.other + own_square);
            below[i] = std::max(0.0, s[i] - error);
            above[i] = s[i] + error + LEAST_SQUARE;
            z.resize(row.nnz);
            for (std::size_t k = 0; k < row.nnz; ++k)
                z[k] = Number(row.value[k] * (run.single ? single->value_scale : 1));
            for (std::size_t function = 0; function < p; ++function) {
                const std::size_t number = std::size_t(task.cell) * p + function;
                const auto [coefficients, scale] = piece<Number>(number);
                sums[function * 64 + i] = scale * SVMFAST_DISPATCH(sparse_polynomial, row.position.data(), z.data(),
                                                                   row.nnz, orders_.data()[number], coefficients,
                                                                   tables.data(), begin_of_degree.data());
            }
        }
        SVMFAST_DISPATCH(gaussian_factors, s, task.count, gamma, factor);
        for (std::size_t function = 0; function < p; ++function)
            finish(run, task, function, below, above, factor, sums.data() + function * 64);
        for (std::size_t i = 0; i < task.count; ++i) run.squared[run.row(task.begin + i)] = s[i];
    }
};

PolynomialValues::PolynomialValues(In1<std::int32_t> features, double gamma, bool about_zero, In2<double> centers,
                                   In2<std::int32_t> orders, In2<std::int64_t> starts, In1<double> coefficients,
                                   In1<double> rho, std::optional<In3<double>> bound_degrees,
                                   std::optional<In3<double>> bound_rest)
    : impl_(new Impl(features, gamma, about_zero, centers, orders, starts, coefficients, rho, bound_degrees,
                     bound_rest)) {}
PolynomialValues::~PolynomialValues() = default;

PolynomialAnswers PolynomialValues::values(In1<std::int64_t> indptr, In1<std::int32_t> indices, In1<double> values,
                                           bool bounds, bool single_precision, Threads wanted) {
    Impl &m = *impl_;
    bounds |= single_precision;
    if (bounds && !m.degrees_) throw std::invalid_argument("the polynomials have no bounds");
    const std::size_t n = indptr.shape(0) - 1;
    std::unique_ptr<double[]> out(new double[n * m.p]), squared(new double[n]);
    std::unique_ptr<double[]> bound(bounds ? new double[n * m.p] : nullptr);
    std::unique_ptr<std::int32_t[]> cell(new std::int32_t[n]);
    const Csr rows = csr(indptr, indices, values);
    if (single_precision) m.pack_single();
    const Threads threads = wanted.for_work(m.multiply_adds(rows, n));
    // A thread takes enough rows to fill the blocks of many cells, and few enough for its own cache, because
    // rows of a cell, which are far apart, are read again.
    const std::size_t together = std::clamp<std::size_t>(96 * m.cells, 2048, 1 << 16);
    m.in_parts(n, together, threads, [&](std::size_t begin, std::size_t end) {
        m.router->route(rows, begin, end, cell.get());
        m.evaluate(rows, begin, end, cell.get(), out.get(), squared.get(), bound.get(), single_precision);
    });
    PolynomialAnswers all{give(std::move(out), {n, m.p}), give(std::move(squared), {n}), give(std::move(cell), {n}),
                          std::nullopt};
    if (bounds) std::get<3>(all) = give(std::move(bound), {n, m.p});
    return all;
}

Out<std::int32_t> PolynomialValues::nearest(In1<std::int64_t> indptr, In1<std::int32_t> indices, In1<double> values,
                                            Threads threads) const {
    const Impl &m = *impl_;
    const std::size_t n = indptr.shape(0) - 1;
    std::unique_ptr<std::int32_t[]> cell(new std::int32_t[n]);
    m.in_parts(n, 2048, threads, [&](std::size_t begin, std::size_t end) {
        m.router->route(csr(indptr, indices, values), begin, end, cell.get());
    });
    return give(std::move(cell), {n});
}

}  // namespace svmfast
