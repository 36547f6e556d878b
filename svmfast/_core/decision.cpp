// Decision values and labels of a kernel expansion: divides rows into blocks for the threads.
#include "decision.hpp"

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "single_precision.hpp"
#include "svmfast.hpp"
#include "vote.hpp"

namespace svmfast {
namespace {

// Single precision is abandoned once it has left open more than this many rows and more than half of those tried.
constexpr std::size_t TRIAL_ROWS = 1000;
// With more classes the printed digits of the coupling can be proven for hardly any row (measured).
constexpr std::size_t MOST_COUPLED = 16;

}  // namespace

struct DecisionSums::Impl {
    SparseRows rows;
    In2<double> sv_coef;
    Expansion e;
    std::unique_ptr<SinglePack> first_tier;
    Once packed, packed_one_hot, packed_single;

    // Packed when the first row needs it.
    void pack() {
        packed.call([&] { svmfast::pack(e, vectors()); });
    }
    void pack_one_hot() {
        if (e.kind == KernelKind::rbf) packed_one_hot.call([&] { e.one_hot = svmfast::pack_one_hot(e, vectors()); });
    }
    void pack_single() {
        packed_single.call([&] { first_tier = single_pack(e, vectors()); });
    }

    SupportVectors vectors() const { return {rows, sv_coef.data(), e.n}; }

    // Decision values -> out[n][functions]; bounds: of that shape, or null. Returns how many rows needed LIBSVM's
    // order.
    std::size_t sums(const SparseRows &rows, bool libsvm_order, Threads threads, double *out, double *bounds,
                     const std::vector<std::size_t> *which = nullptr) {
        std::atomic<std::size_t> near_boundary{0};
        pack();
        pack_one_hot();
        each_block(rows, which, threads, [&](const RowBlock &block) {
            const std::size_t at = block.first * e.functions;
            near_boundary +=
                SVMFAST_DISPATCH(decision_block, e, block, libsvm_order, out + at, bounds ? bounds + at : nullptr);
        });
        return near_boundary;
    }

    // The rows for which errors of their decision values could change the label or a probability as printed.
    static std::vector<std::size_t> in_doubt(In2<double> decisions, In2<double> bounds, In1<double> a, In1<double> b,
                                             In1<double> marks, std::size_t classes, Threads threads) {
        const std::size_t n = decisions.shape(0), p = decisions.shape(1);
        Out<std::uint8_t> doubtful;
        if (!marks.size()) doubtful = std::get<1>(probabilities(decisions, a, b, classes, bounds, threads));
        std::vector<std::size_t> which;
        for (std::size_t i = 0; i < n; ++i) {
            const double *const row = bounds.data() + i * p, value = decisions.data()[i * p];
            if (marks.size() ? density(value - *row, marks.data()) != density(value + *row, marks.data())
                             : doubtful.data.get()[i] && std::any_of(row, row + p, [](double d) { return d != 0; }))
                which.push_back(i);
        }
        return which;
    }

    // Calls body(block) for blocks of all rows, or of some.
    template <class Body>
    void each_block(const SparseRows &rows, const std::vector<std::size_t> *which, Threads wanted, Body &&body) const {
        // A kernel value costs a multiply-add for each entry of the row, and about twenty more.
        const std::size_t n = which ? which->size() : rows.count;
        std::size_t entries = which ? 0 : rows.entries();
        for (std::size_t i = 0; which && i < n; ++i) entries += rows.entries((*which)[i]);
        const double values_a_row = e.collapsed ? double(e.functions) : double(e.n);
        const Threads threads = wanted.for_work(values_a_row * (double(entries) + 20.0 * double(n)));
        const std::size_t block = block_rows(n, entries, threads);
        parallel_for(divide_up(n, block), threads, [&](std::size_t b, std::size_t) {
            body(RowBlock{rows, b * block, std::min(block, n - b * block), which ? which->data() : nullptr});
        });
    }

    // Fills in the labels that are -1 from decision values in double precision; returns how many rows needed LIBSVM's
    // order.
    std::size_t label_by_double(const RowBlock &rows, std::size_t open, std::int32_t *out) {
        pack();
        std::vector<std::size_t> which;
        for (std::size_t r = 0; r < rows.count; ++r)
            if (out[r] < 0) which.push_back(rows.row(r));
        const RowBlock few{rows, 0, open, which.data()};
        std::vector<double> decisions(open * e.functions);
        const std::size_t near_boundary = SVMFAST_DISPATCH(decision_block, e, few, false, decisions.data(), nullptr);
        std::vector<int> votes(e.groups);
        for (std::size_t i = 0; i < open; ++i)
            out[which[i] - rows.first] =
                static_cast<std::int32_t>(winner(decisions.data() + i * e.functions, e.functions, votes));
        return near_boundary;
    }

    // Number of rows that a thread takes at a time: enough to use a panel in the cache for many rows, and few enough
    // that the rows (and their accumulators) stay in the cache too and every thread has work.
    std::size_t block_rows(std::size_t n, std::size_t nnz, std::size_t threads) const {
        const std::size_t row_bytes =
            64 + 12 * (nnz / std::max<std::size_t>(1, n)) + 64 * e.width + 8 * e.groups * e.width;
        const std::size_t fits = std::clamp<std::size_t>((512 * 1024) / row_bytes, 192, 1024);
        const std::size_t share = divide_up(n, 4 * threads);
        return std::max<std::size_t>(8, std::min(fits, share));
    }
};

DecisionSums::DecisionSums(int kind, double gamma, double coef0, int degree, const SparseRows &vectors,
                           In2<double> sv_coef, In1<double> rho, In1<std::int64_t> group_sizes)
    : impl_(new Impl{vectors, sv_coef, {}, nullptr, {}, {}, {}}) {
    Expansion &e = impl_->e;
    e.kind = static_cast<KernelKind>(kind);
    e.gamma = gamma;
    e.coef0 = coef0;
    e.degree = degree;
    e.n = vectors.count;
    e.groups = group_sizes.shape(0);
    e.width = sv_coef.shape(0);
    e.functions = rho.shape(0);
    e.rho.assign(rho.data(), rho.data() + e.functions);
    for (std::size_t g = 0, end = 0; g < e.groups; ++g) e.group_end.push_back(end += group_sizes.data()[g]);
    if (sv_coef.shape(1) != e.n || e.group_end.back() != e.n)
        throw std::invalid_argument("coefficients, classes and support vectors are inconsistent");
    describe(e, impl_->vectors());
}
DecisionSums::DecisionSums(DecisionSums &&) noexcept = default;
DecisionSums::~DecisionSums() = default;

std::tuple<Out<double>, std::size_t> DecisionSums::decide(const SparseRows &rows, bool libsvm_order, Threads threads) {
    const std::size_t n = rows.count, p = impl_->e.functions;
    std::unique_ptr<double[]> out(new double[n * p]);
    const std::size_t near_boundary = impl_->sums(rows, libsvm_order, threads, out.get(), nullptr);
    return {give(std::move(out), {n, p}), near_boundary};
}

Out<double> DecisionSums::probability_values(const SparseRows &rows, In1<double> a, In1<double> b, In1<double> marks,
                                             Threads threads) {
    Impl &m = *impl_;
    const std::size_t n = rows.count, k = m.e.groups == 1 ? 2 : m.e.groups, p = m.e.functions;
    // To prove that the coupling prints the same digits takes as long as summing about 4 k^2 support vectors in
    // LIBSVM's order.
    if (k > MOST_COUPLED || m.e.n < 4 * k * k) return std::get<0>(decide(rows, true, threads));
    auto [out, bounds] = values(rows, false, threads);
    double *const to = out.data.get();
    const std::vector<std::size_t> which =
        m.in_doubt({to, {n, p}}, {bounds.data.get(), {n, p}}, a, b, marks, k, threads);
    std::vector<double> again(which.size() * p);
    m.sums(rows, true, threads, again.data(), nullptr, &which);
    for (std::size_t i = 0; i < which.size(); ++i) std::copy_n(again.data() + i * p, p, to + which[i] * p);
    return std::move(out);
}

std::tuple<Out<std::int32_t>, std::size_t, std::size_t> DecisionSums::labels(const SparseRows &all, Threads threads) {
    Impl &m = *impl_;
    if (m.e.groups == 1 ? m.e.functions != 1 : m.e.groups < 2)
        throw std::invalid_argument("only pairs of classes and single functions have labels");
    std::unique_ptr<std::int32_t[]> out(new std::int32_t[all.count]);
    // Rows tried in single precision, and rows that it, or double precision, left open.
    std::atomic<std::size_t> asked{0}, left{0}, near_boundary{0};
    m.pack_one_hot();
    // One-hot sums are as fast as single precision, and leave almost no row open.
    if (!m.e.one_hot) m.pack_single();
    m.each_block(all, nullptr, threads, [&](const RowBlock &rows) {
        std::int32_t *to = out.get() + rows.first;
        std::size_t open = rows.count;
        // Where single precision proves few labels (huge rows, for example), trying it only takes time.
        if (m.first_tier && left <= std::max<std::size_t>(asked / 2, TRIAL_ROWS)) {
            open = SVMFAST_DISPATCH(single_labels, *m.first_tier, rows, to, nullptr, nullptr);
            asked += rows.count;
            left += open;
        } else {
            std::fill_n(to, rows.count, -1);
        }
        if (open) near_boundary += m.label_by_double(rows, open, to);
    });
    const std::size_t proven = asked - left;
    return {give(std::move(out), {all.count}), proven, near_boundary};
}

std::tuple<Out<double>, Out<double>> DecisionSums::values(const SparseRows &all, bool single, Threads threads) {
    Impl &m = *impl_;
    const std::size_t n = all.count, p = m.e.functions;
    std::unique_ptr<double[]> out(new double[n * p]()), bounds(new double[n * p]);
    std::fill_n(bounds.get(), n * p, std::numeric_limits<double>::infinity());
    if (single) m.pack_single();
    if (!single)
        m.sums(all, false, threads, out.get(), bounds.get());
    else if (m.first_tier)
        m.each_block(all, nullptr, threads, [&](const RowBlock &rows) {
            std::vector<std::int32_t> labels(rows.count);
            SVMFAST_DISPATCH(single_labels, *m.first_tier, rows, labels.data(), out.get() + rows.first * p,
                             bounds.get() + rows.first * p);
        });
    return {give(std::move(out), {n, p}), give(std::move(bounds), {n, p})};
}

bool DecisionSums::scattered() const { return impl_->e.scattered; }
bool DecisionSums::one_hot() {
    impl_->pack_one_hot();
    return impl_->e.one_hot != nullptr;
}
std::size_t DecisionSums::lattice() {
    impl_->pack_single();
    return impl_->first_tier && impl_->first_tier->lattice ? impl_->first_tier->lattice->features : 0;
}
const char *isa() {
    constexpr const char *names[] = {"baseline", "avx2", "avx512"};
    return names[static_cast<int>(best_isa())];
}

}  // namespace svmfast
