// Packs a kernel expansion for evaluation and hands blocks of rows to the threads.
#include "decision.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "arrays.hpp"
#include "labels.hpp"
#include "threads.hpp"

namespace svmfast {
namespace {

// Below this share of stored values the model's columns are cheaper to walk than panels that hold its zeros (measured).
constexpr double SCATTER_DENSITY = 0.04;
constexpr double PANEL_BYTES_LIMIT = 1024.0 * 1024 * 1024;
// Linear models are collapsed to so many weights in any case (8 MiB).
constexpr std::size_t COLLAPSED_NUMBERS = std::size_t{1} << 20;
constexpr double ONE_HOT_BYTES_LIMIT = 256.0 * 1024 * 1024;
// Single precision is given up where it leaves open more than so many rows, and more than half.
constexpr std::size_t TRIAL_ROWS = 1000;

class DecisionSums {
   public:
    DecisionSums(int kind, double gamma, double coef0, int degree, In1<std::int64_t> indptr, In1<std::int32_t> indices,
                 In1<double> values, In2<double> sv_coef, In1<double> rho, In1<std::int64_t> group_sizes)
        : indptr(indptr), indices(indices), values(values), sv_coef(sv_coef) {
        e.kind = static_cast<KernelKind>(kind);
        e.gamma = gamma;
        e.coef0 = coef0;
        e.degree = degree;
        e.n = indptr.shape(0) - 1;
        e.groups = group_sizes.shape(0);
        e.width = sv_coef.shape(0);
        e.functions = rho.shape(0);
        e.rho.assign(rho.data(), rho.data() + e.functions);
        for (std::size_t g = 0, end = 0; g < e.groups; ++g) e.group_end.push_back(end += group_sizes.data()[g]);
        if (sv_coef.shape(1) != e.n || e.group_end.back() != e.n)
            throw std::invalid_argument("coefficients, classes and support vectors do not fit together");
        find_active(indptr, indices, values);
        place(indptr);
        add_magnitudes(sv_coef);
    }

    std::tuple<Out<double>, std::size_t> decide(In1<std::int64_t> indptr, In1<std::int32_t> indices, In1<double> values,
                                                bool libsvm_order, Threads threads,
                                                std::optional<In2<std::uint8_t>> wanted) {
        const std::size_t n = indptr.shape(0) - 1;
        if (wanted && (wanted->shape(0) != n || wanted->shape(1) != e.functions))
            throw std::invalid_argument("one mark for each row and decision function is needed");
        std::unique_ptr<double[]> out(new double[n * e.functions]);
        std::size_t near_boundary = 0;
        {
            nb::gil_scoped_release unlocked;
            pack();
            pack_one_hot();
            const std::size_t block = block_rows(n, indptr.data()[n], threads);
            const std::size_t blocks = (n + block - 1) / block;
            std::vector<std::size_t> counts(blocks);
            parallel_for(blocks, threads, [&](std::size_t b, std::size_t) {
                const RowBlock rows{indptr.data(), indices.data(), values.data(), b * block,
                                    std::min(block, n - b * block)};
                counts[b] = SVMFAST_DISPATCH(
                    decision_block, e, rows, libsvm_order,
                    wanted ? wanted->data() + rows.first * e.functions : nullptr,
                    out.get() + rows.first * e.functions, static_cast<double *>(nullptr));
            });
            for (std::size_t c : counts) near_boundary += c;
        }
        return {give(std::move(out), {n, e.functions}), near_boundary};
    }

    // Decision values in double precision and bounds on |value - LIBSVM's value|: 0 where LIBSVM's order was taken.
    std::tuple<Out<double>, Out<double>> double_values(In1<std::int64_t> indptr, In1<std::int32_t> indices,
                                                       In1<double> values, int threads) {
        const std::size_t n = indptr.shape(0) - 1;
        std::unique_ptr<double[]> out(new double[n * e.functions]), bounds(new double[n * e.functions]);
        {
            nb::gil_scoped_release unlocked;
            pack();
            pack_one_hot();
            const std::size_t block = block_rows(n, indptr.data()[n], threads);
            parallel_for((n + block - 1) / block, threads, [&](std::size_t b, std::size_t) {
                const RowBlock rows{indptr.data(), indices.data(), values.data(), b * block,
                                    std::min(block, n - b * block)};
                SVMFAST_DISPATCH(decision_block, e, rows, false, static_cast<const std::uint8_t *>(nullptr),
                                 out.get() + rows.first * e.functions, bounds.get() + rows.first * e.functions);
            });
        }
        return {give(std::move(out), {n, e.functions}), give(std::move(bounds), {n, e.functions})};
    }

    // The winning class of each row (0 and 1 are the positive and the negative side of a single function), the same as
    // by decide(): by single precision where its bound proves it, else by double precision. Also how many rows single
    // precision answered, and how many LIBSVM's order of summation.
    std::tuple<Out<std::int32_t>, std::size_t, std::size_t> labels(In1<std::int64_t> indptr, In1<std::int32_t> indices,
                                                                   In1<double> values, bool single, Threads threads) {
        const std::size_t n = indptr.shape(0) - 1;
        if (e.groups == 1 ? e.functions != 1 : e.groups < 2)
            throw std::invalid_argument("only pairs of classes and single functions have labels");
        std::unique_ptr<std::int32_t[]> out(new std::int32_t[n]);
        // Rows that single precision was asked about, and that it, or double precision, left open.
        std::atomic<std::size_t> asked{0}, left{0}, near_boundary{0};
        {
            nb::gil_scoped_release unlocked;
            pack_one_hot();
            // The one-hot sums are as fast, and leave hardly a row open.
            if (single && !e.one_hot) pack_single();
            const std::size_t block = block_rows(n, indptr.data()[n], threads);
            parallel_for((n + block - 1) / block, threads, [&](std::size_t b, std::size_t) {
                const RowBlock rows{indptr.data(), indices.data(), values.data(), b * block,
                                    std::min(block, n - b * block)};
                std::int32_t *to = out.get() + rows.first;
                std::size_t open = rows.count;
                // Where single precision proves little (huge rows, say), asking it first only costs time.
                if (single && first_tier && left <= std::max<std::size_t>(asked / 2, TRIAL_ROWS)) {
                    open = SVMFAST_DISPATCH(single_labels, *first_tier, rows, to, nullptr, nullptr);
                    asked += rows.count;
                    left += open;
                } else {
                    std::fill_n(to, rows.count, -1);
                }
                if (open) near_boundary += label_by_double(rows, open, to);
            });
        }
        const std::size_t proven = asked - left;
        return {give(std::move(out), {n}), proven, near_boundary};
    }

    // Decision values in single precision and bounds on |value - LIBSVM's value|, infinity where there is none.
    std::tuple<Out<double>, Out<double>> single_values(In1<std::int64_t> indptr, In1<std::int32_t> indices,
                                                       In1<double> values, Threads threads) {
        const std::size_t n = indptr.shape(0) - 1;
        std::unique_ptr<double[]> out(new double[n * e.functions]()), bounds(new double[n * e.functions]);
        std::fill_n(bounds.get(), n * e.functions, std::numeric_limits<double>::infinity());
        {
            nb::gil_scoped_release unlocked;
            pack_single();
            const std::size_t block = block_rows(n, indptr.data()[n], threads);
            parallel_for(first_tier ? (n + block - 1) / block : 0, threads, [&](std::size_t b, std::size_t) {
                const RowBlock rows{indptr.data(), indices.data(), values.data(), b * block,
                                    std::min(block, n - b * block)};
                std::vector<std::int32_t> labels(rows.count);
                SVMFAST_DISPATCH(single_labels, *first_tier, rows, labels.data(), out.get() + rows.first * e.functions,
                                 bounds.get() + rows.first * e.functions);
            });
        }
        return {give(std::move(out), {n, e.functions}), give(std::move(bounds), {n, e.functions})};
    }

    std::size_t bytes() const {
        return (first_tier ? first_tier->bytes() : 0) + 8 * (e.values.size() + e.init.size() + e.coef.size() + e.weights.size() + e.column_value.size() +
                    e.sv_value.size()) + 4 * (e.column_lane.size() + e.sv_active.size());
    }
    bool scattered() const { return e.scattered; }

   private:
    In1<std::int64_t> indptr;
    In1<std::int32_t> indices;
    In1<double> values;
    In2<double> sv_coef;
    Expansion e;
    std::vector<std::size_t> lane;  // of each support vector
    std::unique_ptr<SinglePack> first_tier;
    std::once_flag packed, packed_one_hot, packed_single;

    // Nothing is packed before a row asks for it.
    void pack() {
        std::call_once(packed, [&] {
            if (e.scattered)
                pack_columns(indptr, indices, values);
            else
                pack_panels(indptr, indices, values);
            weigh(indptr, values, sv_coef);
            e.collapsed = e.kind == KernelKind::linear && collapse_is_cheaper();
            if (e.collapsed) collapse(indptr, indices, values, sv_coef);
        });
    }

    // Where all stored values are one number.
    void pack_one_hot() {
        if (e.kind == KernelKind::rbf) std::call_once(packed_one_hot, [&] { fill_one_hot(); });
    }

    void fill_one_hot() {
        const std::size_t d = e.active.size(), nnz = indptr.data()[e.n];
        const double v = nnz ? values.data()[0] : 0, weight = e.gamma * v * v;
        std::size_t most = 0;
        for (std::size_t i = 0; i < e.n; ++i)
            most = std::max<std::size_t>(most, indptr.data()[i + 1] - indptr.data()[i]);
        if (v == 0 || most > 255 || !(weight * static_cast<double>(most) < ONE_HOT_EXPONENT) || !(weight >= 0) ||
            static_cast<double>(e.n) * static_cast<double>(d) > ONE_HOT_BYTES_LIMIT)
            return;
        for (std::size_t k = 0; k < nnz; ++k)
            if (values.data()[k] != v) return;
        auto hot = std::make_unique<OneHot>();
        hot->value = v;
        hot->entries = most + 1;
        hot->table.assign((hot->entries + 31) / 32 * 32, 0.0);
        for (std::size_t m = 0; m <= most; ++m) hot->table[m] = std::exp(2 * weight * static_cast<double>(m));
        hot->group_panels.push_back(0);
        for (std::size_t g = 0; g < e.groups; ++g) {
            const std::size_t size = e.group_end[g] - (g ? e.group_end[g - 1] : 0);
            hot->group_panels.push_back(hot->group_panels[g] + (size + ONE_HOT_LANES - 1) / ONE_HOT_LANES);
        }
        hot->member.assign(hot->group_panels.back() * d * ONE_HOT_LANES, 0);
        hot->coef.assign(hot->group_panels.back() * e.width * ONE_HOT_LANES, 0.0);
        for (std::size_t g = 0, i = 0; g < e.groups; ++g)
            for (std::size_t l = hot->group_panels[g] * ONE_HOT_LANES; i < e.group_end[g]; ++i, ++l) {
                const std::size_t panel = l / ONE_HOT_LANES, at = l % ONE_HOT_LANES;
                for (std::int64_t k = indptr.data()[i]; k < indptr.data()[i + 1]; ++k)
                    hot->member[(panel * d + e.position(indices.data()[k])) * ONE_HOT_LANES + at] = 1;
                const double norm = weight * static_cast<double>(indptr.data()[i + 1] - indptr.data()[i]);
                for (std::size_t j = 0; j < e.width; ++j)
                    hot->coef[(panel * e.width + j) * ONE_HOT_LANES + at] = sv_coef(j, i) * std::exp(-norm);
            }
        e.one_hot = std::move(hot);
    }

    void pack_single() {
        std::call_once(packed_single, [&] {
            first_tier = single_pack(e, indptr.data(), indices.data(), values.data(), sv_coef.data());
        });
    }

    // Fills in the labels that are -1 from decision values in double precision; returns how many rows took LIBSVM's order.
    std::size_t label_by_double(const RowBlock &rows, std::size_t open, std::int32_t *out) {
        pack();
        std::vector<std::int64_t> start{0};
        std::vector<std::int32_t> columns;
        std::vector<double> entries;
        std::vector<std::size_t> which;
        RowBlock few = rows;
        if (open < rows.count) {
            for (std::size_t r = 0; r < rows.count; ++r) {
                if (out[r] >= 0) continue;
                const std::int64_t begin = rows.indptr[rows.first + r], end = rows.indptr[rows.first + r + 1];
                columns.insert(columns.end(), rows.indices + begin, rows.indices + end);
                entries.insert(entries.end(), rows.values + begin, rows.values + end);
                start.push_back(static_cast<std::int64_t>(columns.size()));
                which.push_back(r);
            }
            few = {start.data(), columns.data(), entries.data(), 0, open};
        }
        std::vector<double> decisions(open * e.functions);
        const std::size_t near_boundary =
            SVMFAST_DISPATCH(decision_block, e, few, false, static_cast<const std::uint8_t *>(nullptr), decisions.data(),
                             static_cast<double *>(nullptr));
        std::vector<int> votes(e.groups);
        for (std::size_t i = 0; i < open; ++i)
            out[which.empty() ? i : which[i]] = vote(decisions.data() + i * e.functions, votes);
        return near_boundary;
    }

    // LIBSVM's vote: a value above 0 counts for the first class of its pair, any other for the second; ties go to the
    // lower number.
    std::int32_t vote(const double *value, std::vector<int> &votes) const {
        if (e.functions == 1) return *value > 0 ? 0 : 1;
        std::fill(votes.begin(), votes.end(), 0);
        for (std::size_t i = 0; i < e.groups; ++i)
            for (std::size_t j = i + 1; j < e.groups; ++j) ++votes[*value++ > 0 ? i : j];
        return static_cast<std::int32_t>(std::max_element(votes.begin(), votes.end()) - votes.begin());
    }

    // A thread's share: large enough that a panel brought into the cache serves many rows, small enough that the rows
    // themselves (and their accumulators) stay there too, and that every thread gets a share.
    std::size_t block_rows(std::size_t n, std::size_t nnz, std::size_t threads) const {
        const std::size_t row_bytes = 64 + 12 * (nnz / std::max<std::size_t>(1, n)) + 64 * e.width +
                                      8 * e.groups * e.width;
        const std::size_t fits = std::clamp<std::size_t>((512 * 1024) / row_bytes, 64, 1024);
        const std::size_t share = (n + 4 * threads - 1) / (4 * threads);
        return std::max<std::size_t>(8, std::min(fits, share));
    }

    void find_active(const In1<std::int64_t> &indptr, const In1<std::int32_t> &indices, const In1<double> &values) {
        e.active = ActiveColumns::of(indices.data(), indices.shape(0));
        e.max_norm = 0;
        e.max_entries = 0;
        for (std::size_t i = 0; i < e.n; ++i) {
            double norm = 0;
            for (std::int64_t k = indptr.data()[i]; k < indptr.data()[i + 1]; ++k)
                norm += values.data()[k] * values.data()[k];
            e.max_norm = std::max(e.max_norm, std::sqrt(norm));
            e.max_entries = std::max<std::size_t>(e.max_entries, indptr.data()[i + 1] - indptr.data()[i]);
        }
    }

    void place(const In1<std::int64_t> &indptr) {
        e.lanes = SVMFAST_DISPATCH(decision_lanes);
        e.group_panels.push_back(0);
        for (std::size_t g = 0, i = 0; g < e.groups; ++g) {
            const std::size_t first = e.group_panels.back();
            for (std::size_t l = 0; i < e.group_end[g]; ++i, ++l) lane.push_back(first * e.lanes + l);
            const std::size_t size = e.group_end[g] - (g ? e.group_end[g - 1] : 0);
            e.group_panels.push_back(first + (size + e.lanes - 1) / e.lanes);
        }
        const double cells = static_cast<double>(e.panels() * e.lanes) * static_cast<double>(e.active.size());
        const double nnz = static_cast<double>(indptr.data()[e.n]);
        e.scattered = nnz < SCATTER_DENSITY * cells || 8 * cells > PANEL_BYTES_LIMIT;
    }

    void pack_panels(const In1<std::int64_t> &indptr, const In1<std::int32_t> &indices, const In1<double> &values) {
        const std::size_t d = e.active.size();
        e.values.assign(e.panels() * d * e.lanes, 0.0);
        for (std::size_t i = 0; i < e.n; ++i) {
            double *x = e.values.data() + lane[i] / e.lanes * d * e.lanes + lane[i] % e.lanes;
            for (std::int64_t k = indptr.data()[i]; k < indptr.data()[i + 1]; ++k)
                x[e.position(indices.data()[k]) * e.lanes] = values.data()[k];
        }
    }

    void pack_columns(const In1<std::int64_t> &indptr, const In1<std::int32_t> &indices, const In1<double> &values) {
        const std::size_t nnz = indptr.data()[e.n];
        e.sv_start.assign(indptr.data(), indptr.data() + e.n + 1);
        e.sv_value.assign(values.data(), values.data() + nnz);
        e.sv_active.resize(nnz);
        e.column_start.assign(e.active.size() + 1, 0);
        for (std::size_t k = 0; k < nnz; ++k) {
            e.sv_active[k] = e.position(indices.data()[k]);
            ++e.column_start[e.sv_active[k] + 1];
        }
        for (std::size_t f = 0; f < e.active.size(); ++f) e.column_start[f + 1] += e.column_start[f];
        std::vector<std::int64_t> next(e.column_start.begin(), e.column_start.end() - 1);
        e.column_lane.resize(nnz);
        e.column_value.resize(nnz);
        for (std::size_t i = 0; i < e.n; ++i)
            for (std::int64_t k = e.sv_start[i]; k < e.sv_start[i + 1]; ++k) {
                const std::int64_t at = next[e.sv_active[k]]++;
                e.column_lane[at] = static_cast<std::uint32_t>(lane[i]);
                e.column_value[at] = e.sv_value[k];
            }
    }

    void add_magnitudes(const In2<double> &sv_coef) {
        std::vector<double> l1(e.groups * e.width, 0.0);
        std::vector<std::uint8_t> signs(e.groups * e.width, 0);  // 1: one above 0, 2: one below, 3: both
        for (std::size_t g = 0, i = 0; g < e.groups; ++g)
            for (; i < e.group_end[g]; ++i)
                for (std::size_t j = 0; j < e.width; ++j) {
                    const double c = sv_coef(j, i);
                    l1[g * e.width + j] += std::fabs(c);
                    signs[g * e.width + j] |= (c > 0) | (c < 0) << 1;
                }
        e.mixed = std::count(signs.begin(), signs.end(), 3) > 0;
        if (e.groups == 1) {
            e.coef_l1 = l1;
        } else {
            for (std::size_t i = 0; i < e.groups; ++i)
                for (std::size_t j = i + 1; j < e.groups; ++j)
                    e.coef_l1.push_back(l1[i * e.width + j - 1] + l1[j * e.width + i]);
        }
        if (e.coef_l1.size() != e.functions) throw std::invalid_argument("rho does not fit the classes");
    }

    void weigh(const In1<std::int64_t> &indptr, const In1<double> &values, const In2<double> &sv_coef) {
        e.init.assign(e.panels() * e.lanes, 0.0);
        e.coef.assign(e.panels() * e.width * e.lanes, 0.0);
        for (std::size_t i = 0; i < e.n; ++i) {
            double norm = 0;
            for (std::int64_t k = indptr.data()[i]; k < indptr.data()[i + 1]; ++k)
                norm += values.data()[k] * values.data()[k];
            e.init[lane[i]] = -e.gamma * LOG2_E * norm;
            for (std::size_t j = 0; j < e.width; ++j)
                e.coef[(lane[i] / e.lanes * e.width + j) * e.lanes + lane[i] % e.lanes] = sv_coef(j, i);
        }
    }

    // Of many classes the functions are more than the support vectors: their weights would take more memory, and more
    // time for a row, than the support vectors do.
    bool collapse_is_cheaper() const {
        const std::size_t d = e.active.size();
        return d * e.functions <= std::max(COLLAPSED_NUMBERS, e.n * (d + e.width));
    }

    // A linear expansion is one weight vector per decision function.
    void collapse(const In1<std::int64_t> &indptr, const In1<std::int32_t> &indices, const In1<double> &values,
                  const In2<double> &sv_coef) {
        e.weights.assign(e.active.size() * e.functions, 0.0);
        // A support vector meets the functions of its own class only, one for each coefficient.
        std::vector<std::size_t> function(e.width);
        for (std::size_t g = 0, i = 0; g < e.groups; ++g) {
            for (std::size_t row = 0; row < e.width; ++row) {
                const std::size_t other = row < g ? row : row + 1, a = std::min(g, other), b = std::max(g, other);
                function[row] = e.groups == 1 ? row : a * (2 * e.groups - a - 1) / 2 + b - a - 1;
            }
            for (; i < e.group_end[g]; ++i)
                for (std::int64_t k = indptr.data()[i]; k < indptr.data()[i + 1]; ++k) {
                    double *w = e.weights.data() + e.position(indices.data()[k]) * e.functions;
                    for (std::size_t row = 0; row < e.width; ++row)
                        w[function[row]] += sv_coef(row, i) * values.data()[k];
                }
        }
    }
};

}  // namespace
}  // namespace svmfast

void register_decision(nanobind::module_ &m) {
    namespace nb = nanobind;
    using namespace svmfast;
    nb::class_<DecisionSums>(m, "DecisionSums")
        .def(nb::init<int, double, double, int, In1<std::int64_t>, In1<std::int32_t>, In1<double>, In2<double>,
                      In1<double>, In1<std::int64_t>>(),
             nb::arg("kind"), nb::arg("gamma"), nb::arg("coef0"), nb::arg("degree"), nb::arg("indptr").noconvert(),
             nb::arg("indices").noconvert(), nb::arg("values").noconvert(), nb::arg("sv_coef").noconvert(),
             nb::arg("rho").noconvert(), nb::arg("group_sizes").noconvert())
        .def("decide", &DecisionSums::decide, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
             nb::arg("values").noconvert(), nb::arg("libsvm_order"), nb::arg("threads"),
             nb::arg("wanted").noconvert() = nb::none())
        .def("double_values", &DecisionSums::double_values, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
             nb::arg("values").noconvert(), nb::arg("threads"))
        .def("labels", &DecisionSums::labels, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
             nb::arg("values").noconvert(), nb::arg("single"), nb::arg("threads"))
        .def("single_values", &DecisionSums::single_values, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
             nb::arg("values").noconvert(), nb::arg("threads"))
        .def_prop_ro("bytes", &DecisionSums::bytes)
        .def_prop_ro("scattered", &DecisionSums::scattered);
    m.def("isa", [] {
        switch (best_isa()) {
            case Isa::avx512: return "avx512";
            case Isa::avx2: return "avx2";
            default: return "baseline";
        }
    });
}
