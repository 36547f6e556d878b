// Evaluates truncated expansions on sparse rows: nearest center, polynomials and error bounds, one pass for each.
//
// Rows are routed, ordered by cell, and evaluated in blocks of lanes, so that a block needs one polynomial. A row's
// result depends on the row alone, not on other rows, their order or the number of threads.

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "loops.hpp"

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

}  // namespace

struct PolynomialValues::Impl : Polynomials {
    explicit Impl(const Polynomials &given)
        : Polynomials(given), cells(centers.shape(0)), d(centers.shape(1)), p(rho.shape(0)), W(vector_lanes()),
          router(features, flat_tree(), centers) {
        prepare_sparse();
    }

    // A root with the cells as leaves.
    std::vector<std::int64_t> flat_tree() const {
        std::vector<std::int64_t> children(cells + 1, 0);
        children[0] = static_cast<std::int64_t>(cells);
        return children;
    }

    std::size_t cells, d, p, W;
    Router router;

    // Sparse rows.
    std::vector<std::vector<std::size_t>> places;  // index_places
    std::vector<std::size_t> terms;                // of each cell, and its features
    std::vector<std::size_t> begin_of_degree;
    std::vector<std::size_t> most_sparse;  // entries up to which a cell's rows stay sparse
    std::vector<double> center_square;

    int highest = 0;  // order

    void prepare_sparse() {
        for (std::size_t i = 0; i < cells * p; ++i) highest = std::max(highest, int(orders.data()[i]));
        terms.assign(cells, d + 1);
        for (std::size_t i = 0; i < cells * p; ++i) terms[i / p] += monomials_up_to(d, orders.data()[i]);
        most_sparse.assign(cells, 0);
        if (!about_zero) return;
        places = index_places(d, highest);
        // Sparse rows store places of pairs in 32 bits.
        const bool places_fit =
            highest < 2 || monomials_of_degree(d, 2) <= std::size_t(std::numeric_limits<std::int32_t>::max());
        begin_of_degree.assign(highest + 1, 0);
        for (int m = 1; m <= highest; ++m) begin_of_degree[m] = begin_of_degree[m - 1] + monomials_of_degree(d, m - 1);
        for (std::size_t c = 0; c < cells; ++c) {
            int own = 0;
            for (std::size_t f = 0; f < p; ++f) own = std::max(own, int(orders.data()[c * p + f]));
            const double dense = DENSE_TERM_TIMES_LANES / double(W) * double(monomials_up_to(d, own));
            std::size_t &most = most_sparse[c];
            while (places_fit && most < d && SPARSE_TERM * double(monomials_up_to(most + 1, own)) <= dense) ++most;
            double square = 0;
            for (std::size_t f = 0; f < d; ++f) square += centers(c, f) * centers(c, f);
            center_square.push_back(square);
        }
    }

    struct Task {
        std::size_t begin, count;
        std::int32_t cell;
    };

    void evaluate(const Csr &rows, std::size_t begin, std::size_t end, const std::int32_t *cell, double *out,
                  double *bound, const SinglePolynomials *single) const {
        const std::size_t n = end - begin;
        // Rows ordered by cell, with a cell's dense rows before its sparse ones.
        std::vector<std::uint32_t> order(n);
        std::vector<std::size_t> count(2 * cells + 1, 0);
        auto bucket = [&](std::size_t row) {
            const std::size_t c = cell[row];
            return 2 * c + (about_zero && rows.entries(row) <= most_sparse[c]);
        };
        for (std::size_t row = begin; row < end; ++row) ++count[bucket(row) + 1];
        for (std::size_t b = 0; b < 2 * cells; ++b) count[b + 1] += count[b];
        std::vector<std::size_t> next(count.begin(), count.end() - 1);
        for (std::size_t row = begin; row < end; ++row) order[next[bucket(row)]++] = std::uint32_t(row - begin);
        const std::size_t together[2] = {(single ? 8 : 4) * W, 64};
        const Run run{rows, begin, order, out, bound, single};
        Pulse pulse;
        for (std::size_t b = 0; b < 2 * cells; ++b)
            for (std::size_t at = count[b]; at < count[b + 1]; at += together[b % 2]) {
                const Task task{at, std::min(together[b % 2], count[b + 1] - at), std::int32_t(b / 2)};
                pulse.spent(task.count * terms[task.cell]);
                if (single)
                    b % 2 ? sparse_rows<float>(run, task) : dense_rows<float>(run, task);
                else
                    b % 2 ? sparse_rows<double>(run, task) : dense_rows<double>(run, task);
            }
    }

    struct Run {
        Csr rows;
        std::size_t first;
        const std::vector<std::uint32_t> &order;
        double *out, *bound;
        const SinglePolynomials *single;  // null in double precision

        std::size_t row(std::size_t i) const { return first + order[i]; }
    };

    // Of at most 64 rows: squared distances, their Gaussian factors, and for the error bound an interval of each
    // distance.
    struct Distances {
        double s[64], factor[64], below[64], above[64];
    };

    // From factors and sums computes and stores the results for one function.
    void finish(const Run &run, const Task &task, std::size_t function, const Distances &of, double *sum) const {
        const double r = rho.data()[function];
        const std::size_t piece = std::size_t(task.cell) * p + function;
        double bounds[64];
        // With gamma 0 the kernel is 1 at any distance; an infinite distance would give a nan.
        if (gamma != 0)
            for (std::size_t i = 0; i < task.count; ++i) sum[i] *= of.factor[i];
        if (run.bound)
            SVMFAST_DISPATCH(expansion_bounds, gamma,
                             (run.single ? run.single->degrees : *degrees).data() + piece * degrees->shape(2),
                             degrees->shape(2) - 1, rest->data() + piece * 5, of.below, of.above, sum, task.count,
                             bounds);
        for (std::size_t i = 0; i < task.count; ++i) {
            const std::size_t row = run.row(task.begin + i);
            // For a row so far away that the factor vanishes, the polynomial may overflow; the decision value is -rho.
            const double value = sum[i] - r;
            const bool finite = std::isfinite(value);
            const bool vanishes = gamma != 0 && of.factor[i] <= VANISHED;
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

    // The rows task.begin + at .. + count, at most 4 W, relative to the center if the polynomials are about it ->
    // [feature][row]; also in single precision -> narrow[feature * stride + row].
    const double *read_dense(const Run &run, const Task &task, std::size_t at, std::size_t count, Distances &of,
                             float *narrow = nullptr, std::size_t stride = 0) const {
        static thread_local Aligned<double> buffer;
        const std::size_t vectors = count <= W ? 1 : count <= 2 * W ? 2 : 4, width = vectors * W;
        if (buffer.size() < d * width) buffer.resize(d * width);
        double *w = buffer.data();
        std::fill_n(w, d * width, 0.0);
        const double *center = centers.data() + std::size_t(task.cell) * d;
        const ActiveColumns &columns = router.columns();
        double other[32] = {}, *const s = of.s + at;
        for (std::size_t r = 0; r < count; ++r) {
            const std::size_t row = run.row(task.begin + at + r);
            const std::int64_t begin = run.rows.indptr[row], end = run.rows.indptr[row + 1];
            const std::int32_t *index = run.rows.indices;
            const double *value = run.rows.values;
            if (columns.all_plain(run.rows, row)) {
                for (std::int64_t k = begin; k < end; ++k) w[std::size_t(index[k]) * width + r] = value[k];
                continue;
            }
            for (std::int64_t k = begin; k < end; ++k) {
                const std::int32_t v = columns.position(index[k]);
                if (v < 0)
                    other[r] += value[k] * value[k];
                else
                    w[std::size_t(v) * width + r] = value[k];
            }
        }
        SVMFAST_DISPATCH(distance_block, w, center, d, vectors, !about_zero, s, narrow,
                         narrow ? run.single->value_scale : 1, stride);
        for (std::size_t r = 0; r < width; ++r) s[r] += other[r];
        SVMFAST_DISPATCH(gaussian_factors, s, width, gamma, of.factor + at);
        // A sum of at most d + entries squares, each of a rounded difference.
        const double error = double(2 * d + SPARE_ENTRIES + 8) * 1.01 * UNIT;
        for (std::size_t r = at; r < at + width; ++r) {
            of.below[r] = of.s[r] * (1 - error);
            of.above[r] = of.s[r] * (1 + error) + LEAST_SQUARE;
        }
        return w;
    }

    // One polynomial in either precision: its order, its coefficients, and the factor of its sums.
    template <class Number>
    std::tuple<int, const Number *, double> piece(const Run &run, const Task &task, std::size_t function) const {
        const std::size_t at = std::size_t(task.cell) * p + function, start = starts.data()[at];
        if constexpr (std::is_same_v<Number, float>)
            return {orders.data()[at], run.single->coefficients.data() + start, run.single->scale.data()[at]};
        else
            return {orders.data()[at], coefficients.data() + start, 1.0};
    }

    template <class Number>
    void dense_rows(const Run &run, const Task &task) const {
        Distances of;
        const Number *w;
        const std::size_t count = task.count, lanes = W * sizeof(double) / sizeof(Number);
        const std::size_t vectors = count <= lanes ? 1 : count <= 2 * lanes ? 2 : 4, width = vectors * lanes;
        if constexpr (std::is_same_v<Number, float>) {
            static thread_local Aligned<float> buffer;
            if (buffer.size() < d * width) buffer.resize(d * width);
            if (count + W <= width) std::fill_n(buffer.data(), d * width, 0.0f);
            for (std::size_t at = 0; at < count; at += 4 * W)
                read_dense(run, task, at, std::min(4 * W, count - at), of, buffer.data() + at, width);
            w = buffer.data();
        } else {
            w = read_dense(run, task, 0, count, of);
        }
        for (std::size_t function = 0; function < p; ++function) {
            const auto [order, coefficients, scale] = piece<Number>(run, task, function);
            Number found[64];
            double sum[64];
            SVMFAST_DISPATCH(polynomial_block, w, d, order, coefficients, vectors, found);
            for (std::size_t r = 0; r < count; ++r) sum[r] = double(found[r]) * scale;
            finish(run, task, function, of, sum);
        }
    }

    template <class Number>
    void sparse_rows(const Run &run, const Task &task) const {
        static thread_local std::vector<std::int32_t> position;
        static thread_local std::vector<Number> value;
        static thread_local std::vector<double> sums;
        const double value_scale = run.single ? run.single->value_scale : 1;
        if (sums.size() < 64 * p) sums.resize(64 * p);
        const double *center = centers.data() + std::size_t(task.cell) * d, own_square = center_square[task.cell];
        const ActiveColumns &columns = router.columns();
        Distances of{};
        for (std::size_t i = 0; i < task.count; ++i) {
            const std::size_t row = run.row(task.begin + i), begin = run.rows.indptr[row], n = run.rows.entries(row);
            if (value.size() < n) position.resize(n), value.resize(n);
            std::size_t known = 0;
            double square = 0, product = 0, other = 0;  // other: of the columns that occur in no monomial
            for (std::size_t k = begin; k < begin + n; ++k) {
                const double z = run.rows.values[k];
                const std::int32_t v = columns.position(run.rows.indices[k]);
                if (v < 0) {
                    other += z * z;
                    continue;
                }
                position[known] = v;
                value[known++] = Number(z * value_scale);
                square += z * z;
                product += z * center[v];
            }
            double &s = of.s[i] = (square - 2 * product) + (own_square + other);
            // Infinity minus infinity: a row so far away must not count as being at the center.
            s = std::isnan(s) ? std::numeric_limits<double>::infinity() : std::max(0.0, s);
            // This form cancels, and the square root would magnify the error, so the bound uses both ends of the
            // interval.
            const double error = double(n + d + 8) * 2.1 * UNIT * (square + other + own_square);
            of.below[i] = std::max(0.0, s - error);
            of.above[i] = s + error + LEAST_SQUARE;
            for (std::size_t function = 0; function < p; ++function) {
                const auto [order, coefficients, scale] = piece<Number>(run, task, function);
                sums[function * 64 + i] =
                    scale * SVMFAST_DISPATCH(sparse_polynomial, position.data(), value.data(), known, order,
                                             coefficients, places.data(), begin_of_degree.data());
            }
        }
        SVMFAST_DISPATCH(gaussian_factors, of.s, task.count, gamma, of.factor);
        for (std::size_t function = 0; function < p; ++function)
            finish(run, task, function, of, sums.data() + function * 64);
    }
};

PolynomialValues::PolynomialValues(const Polynomials &given) : impl_(new Impl(given)) {}
PolynomialValues::~PolynomialValues() = default;

PolynomialAnswers PolynomialValues::values(const SparseRows &rows, bool bounds,
                                           const std::optional<SinglePolynomials> &single, Threads wanted) const {
    const Impl &m = *impl_;
    bounds |= single.has_value();
    const std::size_t n = rows.count;
    std::unique_ptr<double[]> out(new double[n * m.p]);
    std::unique_ptr<double[]> bound(bounds ? new double[n * m.p] : nullptr);
    std::vector<std::int32_t> cell(n);
    // For rows with as many entries as they have on average.
    const std::size_t entries = n ? std::min(m.d, rows.entries() / n) : 0;
    const double terms = double(m.p) * double(monomials_up_to(entries, m.highest));
    const Threads threads = wanted.for_work(double(n) * (terms + double(m.cells * entries)));
    // A thread takes enough rows to fill the blocks of many cells, and few enough for its own cache, because
    // rows of a cell, which are far apart, are read again.
    const std::size_t together = std::clamp<std::size_t>(96 * m.cells, 2048, 1 << 16);
    const std::size_t parts = divide_up(n, together * threads) * threads, size = parts ? divide_up(n, parts) : 0;
    parallel_for(parts, threads, [&](std::size_t part, std::size_t) {
        const std::size_t begin = std::min(n, part * size), end = std::min(n, begin + size);
        if (begin == end) return;
        m.router.route(rows, begin, end, cell.data());
        m.evaluate(rows, begin, end, cell.data(), out.get(), bound.get(), single ? &*single : nullptr);
    });
    PolynomialAnswers all{give(std::move(out), {n, m.p}), std::nullopt};
    if (bounds) std::get<1>(all) = give(std::move(bound), {n, m.p});
    return all;
}

Out<double> sums_over_pairs(In2<double> points, In1<double> weights, int first, int count, Threads threads) {
    constexpr std::size_t B = PairSums::BLOCK, PARTS = 64;
    const std::size_t n = points.shape(0), d = points.shape(1), blocks = divide_up(n, B), numbers = std::size_t(count);
    if (weights.shape(0) != n || first < 1 || count < 0 || count > 64)
        throw std::invalid_argument("weights or degrees that do not fit");
    PairSums p{d, blocks, first, count, Aligned<double>(blocks * B * d), Aligned<double>(blocks * B)};
    std::copy_n(weights.data(), n, p.weights.data());
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t f = 0; f < d; ++f) p.points[(i / B * d + f) * B + i % B] = points(i, f);
    // Parts are summed in order, so that the number of threads changes no bit.
    std::vector<double> parts(PARTS * numbers);
    parallel_for(PARTS, threads, [&](std::size_t part, std::size_t) {
        for (std::size_t block = part; block < blocks; block += PARTS)
            SVMFAST_DISPATCH(pair_sums, p, block, parts.data() + part * numbers);
    });
    std::unique_ptr<double[]> sums(new double[numbers]());
    for (std::size_t k = 0; k < parts.size(); ++k) sums[k % numbers] += parts[k];
    return give(std::move(sums), {numbers});
}

}  // namespace svmfast
