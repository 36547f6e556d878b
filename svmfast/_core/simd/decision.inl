// Exact decision values: dot products, kernel function and weighted sum fused over register tiles, so that kernel
// values never travel to memory. Compiled once per instruction set; see decision.hpp for the layout.
//
// Three ways to compute the dot products, chosen row by row (so an answer never depends on other rows):
//   dense    ROWS rows x NV vectors of support vectors in registers, every feature;
//   sparse   one row x NV vectors, the row's features only;
//   scatter  for wide, very sparse models: the model's columns of the row's features.
// and a fourth, in libsvm_order.hpp, which follows LIBSVM operation by operation.
#include "decision.hpp"
#include "simd/libsvm_order.hpp"
#include "vote.hpp"

namespace svmfast::SVMFAST_ISA {
namespace {

constexpr std::size_t L2_BYTES = 256 * 1024;

// The kernel function of a finished sum. For rbf the sum is already the exponent of two; linear is a polynomial of
// degree 1.
template <KernelKind kind>
inline vd transform(vd sum, int degree) {
    if constexpr (kind == KernelKind::rbf) return exp2(sum);
    if constexpr (kind == KernelKind::polynomial) return powi(sum, degree);
    return tanh(sum);
}

// A block's rows in the model's own columns, scaled so that the dot product needs no further factor.
struct MappedRows {
    std::vector<std::size_t> start;
    std::vector<std::int32_t> position;
    std::vector<double> value;
    std::vector<double> squared_norm;

    MappedRows(const Expansion &e, const RowBlock &rows, double scale) {
        start.reserve(rows.count + 1);
        start.push_back(0);
        std::size_t entries = 0;
        for (std::size_t r = 0; r < rows.count; ++r) entries += rows.entries(r);
        position.reserve(entries);
        value.reserve(entries);
        squared_norm.reserve(rows.count);
        for (std::size_t r = 0; r < rows.count; ++r) {
            double norm = 0;
            for (std::int64_t k = rows.begin(r); k < rows.end(r); ++k) {
                const double z = rows.values[k];
                norm += z * z;
                const std::int32_t at = e.position(rows.indices[k]);
                if (at < 0 || z == 0) continue;
                position.push_back(at);
                value.push_back(z * scale);
            }
            squared_norm.push_back(norm);
            start.push_back(position.size());
        }
    }
    std::size_t count() const { return squared_norm.size(); }
    std::size_t nonzeros(std::size_t r) const { return start[r + 1] - start[r]; }
};

// A block's rows, and their sums.
struct MappedBlock {
    const Expansion &e;
    const double scale;  // of the rows' values
    const int degree;
    const MappedRows rows;
    std::vector<double> offset;  // of every sum of a row (rbf: the contribution of its norm to the exponent)
    std::vector<double> sums;    // [row][group][width]

    MappedBlock(const Expansion &e, const RowBlock &block)
        : e(e), scale(e.kind == KernelKind::rbf      ? 2 * e.gamma * LOG2_E
                      : e.kind == KernelKind::linear ? 1.0
                                                     : e.gamma),
          degree(e.kind == KernelKind::linear ? 1 : e.degree), rows(e, block, scale), offset(block.count, e.coef0),
          sums(e.collapsed ? 0 : block.count * e.groups * e.width) {
        for (std::size_t r = 0; e.kind == KernelKind::rbf && r < block.count; ++r)
            offset[r] = -e.gamma * LOG2_E * rows.squared_norm[r];
    }

    double *row_sums(std::size_t row, std::size_t group) { return sums.data() + (row * e.groups + group) * e.width; }
    // 0 where a function has no such group.
    double sum(std::size_t row, std::size_t group, std::size_t coef_row) const {
        return group < e.groups ? sums[(row * e.groups + group) * e.width + coef_row] : 0.0;
    }
};

// One-hot support vectors: shared features are counted in bytes, kernel values come from a table. See OneHot in
// decision.hpp.

constexpr std::size_t L = ONE_HOT_LANES;

// One panel with one row: counts the shared features of its vectors and adds their kernel values, times each
// coefficient row, to acc[width][2].
template <std::size_t REGISTERS>
inline void add_panel(const Table<REGISTERS> &table, const std::uint8_t *member, const double *coef, std::size_t width,
                      const std::int32_t *at, std::size_t n, vd *acc) {
    constexpr std::size_t B = L / sizeof(vb);
    vb shared[B] = {};
    for (std::size_t i = 0; i < n; ++i) SVMFAST_UNROLL for (std::size_t b = 0; b < B; ++b) shared[b] += load(member + at[i] * L + b * sizeof(vb));
    std::uint8_t count[L];
    std::memcpy(count, shared, L);
    if (width == 1) {
        vd one = acc[0], other = acc[1];
        SVMFAST_UNROLL for (std::size_t l = 0; l < L; l += 2 * W) {
            one = fma(load(coef + l), table.at(count + l), one);
            other = fma(load(coef + l + W), table.at(count + l + W), other);
        }
        acc[0] = one, acc[1] = other;
        return;
    }
    vd kernel[L / W];
    SVMFAST_UNROLL for (std::size_t v = 0; v < L / W; ++v) kernel[v] = table.at(count + v * W);
    for (std::size_t j = 0; j < width; ++j, coef += L)
        SVMFAST_UNROLL for (std::size_t v = 0; v < L / W; ++v)
            acc[2 * j + v % 2] = fma(load(coef + v * W), kernel[v], acc[2 * j + v % 2]);
}

// (Inlined, it would leave the inner loop too few registers.)
template <std::size_t REGISTERS>
__attribute__((noinline)) void add_rows(const Expansion &e, const MappedRows &rows, const std::vector<std::uint32_t> &which, double *sums) {
    if (which.empty()) return;
    const OneHot &hot = *e.one_hot;
    const Table<REGISTERS> table(hot.table.data());
    const std::size_t d = e.active.size();
    std::vector<std::pair<const std::int32_t *, std::size_t>> listed;
    std::size_t entries = 0;
    for (std::uint32_t row : which) {
        listed.emplace_back(rows.position.data() + rows.start[row], rows.nonzeros(row));
        entries += listed.back().second;
    }
    Aligned<vd> acc(2 * e.width * which.size());
    Pulse pulse;
    for (std::size_t g = 0; g < e.groups; ++g) {
        std::fill(acc.begin(), acc.end(), vd{});
        for (std::size_t panel = hot.group_panels[g]; panel < hot.group_panels[g + 1]; ++panel) {
            for (std::size_t i = 0; i < which.size(); ++i)
                add_panel(table, hot.member.data() + panel * d * L, hot.coef.data() + panel * e.width * L, e.width,
                          listed[i].first, listed[i].second, acc.data() + 2 * e.width * i);
            pulse.spent(entries * L / 8 + which.size() * e.width * L);
        }
        for (std::size_t i = 0; i < which.size(); ++i) {
            const double shrink = std::exp(-e.gamma * rows.squared_norm[which[i]]);
            for (std::size_t j = 0; j < e.width; ++j) {
                const vd *pair = acc.data() + 2 * (e.width * i + j);
                sums[(which[i] * e.groups + g) * e.width + j] = shrink * horizontal_sum(pair[0] + pair[1]);
            }
        }
    }
}

// Sums of one-hot support vectors for rows all of whose entries in the model's columns are the model's value:
// sums[row][group][width].
void one_hot_rows(const Expansion &e, const MappedRows &rows, const std::vector<std::uint32_t> &which,
                         double *sums) {
    // A row shares no more features than it has, nor more than a support vector has: a small table suffices for most rows.
    std::vector<std::uint32_t> small, large, any;
    for (std::uint32_t row : which) {
        const std::size_t entries = std::min(e.one_hot->entries, rows.nonzeros(row) + 1);
        (entries <= TABLE_SMALL ? small : entries <= TABLE_LARGE ? large : any).push_back(row);
    }
    add_rows<TABLE_SMALL / W>(e, rows, small, sums);
    add_rows<TABLE_LARGE / W>(e, rows, large, sums);
    add_rows<0>(e, rows, any, sums);
}

// Adds kernel values of one panel, times each coefficient row, to acc[width].
template <std::size_t rows>
inline void weigh(const Expansion &e, std::size_t panel, const vd (&k)[rows][NV], vd *acc) {
    const double *coef = e.coef.data() + panel * e.width * LANES;
    for (std::size_t j = 0; j < e.width; ++j, coef += LANES) {
        vd c[NV];
    SVMFAST_UNROLL for (std::size_t v = 0; v < NV; ++v) c[v] = load(coef + v * W);
        SVMFAST_UNROLL for (std::size_t r = 0; r < rows; ++r) {
            vd a = acc[r * e.width + j];
            SVMFAST_UNROLL for (std::size_t v = 0; v < NV; ++v) a = fma(c[v], k[r][v], a);
            acc[r * e.width + j] = a;
        }
    }
}

// (Not inlined: beside others its sums leave their registers.)
template <KernelKind kind>
__attribute__((noinline)) void dense_rows(MappedBlock &b, const std::vector<std::uint32_t> &which) {
    const Expansion &e = b.e;
    const std::size_t d = e.active.size();
    const std::size_t tiles = divide_up(which.size(), ROWS);
    Aligned<double> packed(tiles * d * ROWS, 0.0);  // [tile][feature][row]
    std::vector<double> offset(tiles * ROWS, 0.0);
    for (std::size_t i = 0; i < which.size(); ++i) {
        double *column = packed.data() + (i / ROWS) * d * ROWS + i % ROWS;
        const std::size_t row = which[i];
        for (std::size_t k = b.rows.start[row]; k < b.rows.start[row + 1]; ++k)
            column[b.rows.position[k] * ROWS] = b.rows.value[k];
        offset[i] = b.offset[row];
    }
    Aligned<vd> acc(ROWS * e.width);
    Pulse pulse;
    const std::size_t block = std::max<std::size_t>(1, L2_BYTES / (d * LANES * 8 + 1));
    for (std::size_t g = 0; g < e.groups; ++g)
        for (std::size_t first = e.group_panels[g]; first < e.group_panels[g + 1]; first += block) {
            const std::size_t last = std::min(first + block, e.group_panels[g + 1]);
            for (std::size_t t = 0; t < tiles; ++t) {
                const double *z = packed.data() + t * d * ROWS;
                std::fill(acc.begin(), acc.end(), vd{});
                for (std::size_t panel = first; panel < last; ++panel) {
                    const double *x = e.values.data() + panel * d * LANES;
                    vd k[ROWS][NV];
                    SVMFAST_UNROLL for (std::size_t r = 0; r < ROWS; ++r)
                        SVMFAST_UNROLL for (std::size_t v = 0; v < NV; ++v)
                            k[r][v] = start_value<kind>(e.init.data() + panel * LANES + v * W, offset[t * ROWS + r]);
                    add_products(k, d, [=](std::size_t r, std::size_t f) { return z[f * ROWS + r]; },
                                 [=](std::size_t f) { return x + f * LANES; });
                    SVMFAST_UNROLL for (std::size_t r = 0; r < ROWS; ++r)
                        SVMFAST_UNROLL for (std::size_t v = 0; v < NV; ++v) k[r][v] = transform<kind>(k[r][v], b.degree);
                    weigh<ROWS>(e, panel, k, acc.data());
                }
                for (std::size_t r = 0; r < ROWS && t * ROWS + r < which.size(); ++r) {
                    double *sums = b.row_sums(which[t * ROWS + r], g);
                    for (std::size_t j = 0; j < e.width; ++j) sums[j] += horizontal_sum(acc[r * e.width + j]);
                }
                pulse.spent((last - first) * LANES * ROWS * (d + e.width));
            }
        }
}

// Panel by panel, so that a panel stays in the cache. Panels of wide vectors exceed the first level: slice by slice of the
// features, each with an even number of a row's terms, so that slices change no sum.
template <KernelKind kind>
void sparse_rows(MappedBlock &b, const std::vector<std::uint32_t> &which) {
    constexpr std::size_t slice = 24576 / (LANES * sizeof(double));
    const Expansion &e = b.e;
    const std::size_t d = e.active.size(), n = which.size(), slices = W < 8 ? 1 : divide_up(d + 1, slice);
    std::vector<std::size_t> cut((slices + 1) * n);  // [slice][row]
    std::size_t entries = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const std::int32_t *const begin = b.rows.position.data() + b.rows.start[which[i]];
        const std::int32_t *const end = begin + b.rows.nonzeros(which[i]);
        for (std::size_t s = 0; s <= slices; ++s) {
            const auto past = std::lower_bound(begin, end, static_cast<std::int32_t>(s * slice));
            cut[s * n + i] = b.rows.start[which[i]] + (s < slices ? (past - begin) / 2 * 2 : end - begin);
        }
        entries += b.rows.nonzeros(which[i]) + e.width;
    }
    Aligned<vd> acc(n * e.width), so_far(slices > 1 ? n * 2 * NV : 0);
    Pulse pulse;
    for (std::size_t g = 0; g < e.groups; ++g) {
        std::fill(acc.begin(), acc.end(), vd{});
        for (std::size_t panel = e.group_panels[g]; panel < e.group_panels[g + 1]; ++panel) {
            const double *const x = e.values.data() + panel * d * LANES;
            for (std::size_t s = 0; s < slices; ++s)
                for (std::size_t i = 0; i < n; ++i) {
                    const std::size_t from = cut[s * n + i];
                    const std::int32_t *const position = b.rows.position.data() + from;
                    const double *const value = b.rows.value.data() + from;
                    vd *const kept = so_far.data() + i * 2 * NV;
                    vd k[1][NV], odd[NV] = {};
                    SVMFAST_UNROLL for (std::size_t v = 0; v < NV; ++v) {
                        k[0][v] = s ? kept[v] : start_value<kind>(e.init.data() + panel * LANES + v * W, b.offset[which[i]]);
                        if (s) odd[v] = kept[NV + v];
                    }
                    add_to_chains(k[0], odd, cut[(s + 1) * n + i] - from, [=](std::size_t j) { return value[j]; },
                                  [=](std::size_t j) { return x + position[j] * LANES; });
                    if (s + 1 < slices) {
                        SVMFAST_UNROLL for (std::size_t v = 0; v < NV; ++v) kept[v] = k[0][v], kept[NV + v] = odd[v];
                        continue;
                    }
                    SVMFAST_UNROLL for (std::size_t v = 0; v < NV; ++v)
                        k[0][v] = transform<kind>(k[0][v] + odd[v], b.degree);
                    weigh<1>(e, panel, k, acc.data() + i * e.width);
                }
            pulse.spent(entries * LANES);
        }
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < e.width; ++j) b.row_sums(which[i], g)[j] = horizontal_sum(acc[i * e.width + j]);
    }
}

template <KernelKind kind>
void scatter_rows(MappedBlock &b, const std::vector<std::uint32_t> &which) {
    const Expansion &e = b.e;
    Aligned<double> k(e.panels() * LANES);
    Aligned<vd> acc(e.width);
    Pulse pulse;
    for (std::uint32_t row : which) {
        pulse.spent(k.size() * (e.width + 1));
        for (std::size_t i = 0; i < k.size(); ++i)
            k[i] = b.offset[row] + (kind == KernelKind::rbf ? e.init[i] : 0.0);
        for (std::size_t i = b.rows.start[row]; i < b.rows.start[row + 1]; ++i) {
            const std::int32_t f = b.rows.position[i];
            const double z = b.rows.value[i];
            for (std::int64_t c = e.column_start[f]; c < e.column_start[f + 1]; ++c)
                k[e.column_lane[c]] += z * e.column_value[c];
        }
        for (std::size_t g = 0; g < e.groups; ++g) {
            std::fill(acc.begin(), acc.end(), vd{});
            for (std::size_t panel = e.group_panels[g]; panel < e.group_panels[g + 1]; ++panel) {
                vd tile[1][NV];
                SVMFAST_UNROLL for (std::size_t v = 0; v < NV; ++v)
                    tile[0][v] = transform<kind>(load(k.data() + panel * LANES + v * W), b.degree);
                weigh<1>(e, panel, tile, acc.data());
            }
            for (std::size_t j = 0; j < e.width; ++j) b.row_sums(row, g)[j] = horizontal_sum(acc[j]);
        }
    }
}

// Whether one-hot sums in bytes apply to a row: all entries in the model's columns are the model's value, and no factor
// of a kernel value leaves the range of double.
bool is_one_hot(const Expansion &e, const MappedRows &rows, std::size_t r, double value) {
    if (!(e.gamma * rows.squared_norm[r] < ONE_HOT_EXPONENT)) return false;
    for (std::size_t k = rows.start[r]; k < rows.start[r + 1]; ++k)
        if (rows.value[k] != value) return false;
    return true;
}

template <KernelKind kind>
void kernel_sums(MappedBlock &b) {
    const Expansion &e = b.e;
    std::vector<std::uint32_t> dense, sparse, one_hot;
    for (std::size_t r = 0; r < b.rows.count(); ++r)
        (e.one_hot && is_one_hot(e, b.rows, r, e.one_hot->value * b.scale) ? one_hot
         : e.scattered || b.rows.nonzeros(r) * SPARSE_COST < e.active.size() ? sparse : dense)
            .push_back(static_cast<std::uint32_t>(r));
    if (!one_hot.empty()) one_hot_rows(e, b.rows, one_hot, b.sums.data());
    if (e.scattered) return scatter_rows<kind>(b, sparse);
    if (!dense.empty()) dense_rows<kind>(b, dense);
    if (!sparse.empty()) sparse_rows<kind>(b, sparse);
}

void collapsed_row(const MappedBlock &b, std::size_t r, double *value) {
    const Expansion &e = b.e;
    for (std::size_t p = 0; p < e.functions; ++p) value[p] = -e.rho[p];
    for (std::size_t i = b.rows.start[r]; i < b.rows.start[r + 1]; ++i) {
        const double *w = e.weights.data() + b.rows.position[i] * e.functions;
        for (std::size_t p = 0; p < e.functions; ++p) value[p] += w[p] * b.rows.value[i];
    }
}

// Decision values in double precision; returns the rows whose label rounding could change.
std::vector<std::uint32_t> double_rows(const Expansion &e, const RowBlock &rows, double *out, double *errors) {
    const bool rbf = e.kind == KernelKind::rbf;
    MappedBlock b(e, rows);
    if (rbf)
        kernel_sums<KernelKind::rbf>(b);
    else if (e.kind == KernelKind::sigmoid)
        kernel_sums<KernelKind::sigmoid>(b);
    else if (!e.collapsed)
        kernel_sums<KernelKind::polynomial>(b);
    std::vector<std::uint32_t> near_boundary;
    Pulse pulse;
    for (std::size_t r = 0; r < rows.count; ++r) {
        double *value = out + r * e.functions;
        pulse.spent(e.functions * (e.collapsed ? b.rows.nonzeros(r) + 1 : 1));
        if (e.collapsed)
            collapsed_row(b, r, value);
        else
            each_function(e, [&](const Function &f) {
                value[f.number] = b.sum(r, f.group, f.row) + b.sum(r, f.other, f.other_row) - e.rho[f.number];
            });
        const Rounding error = rounding(e.kind, e.gamma, e.coef0, e.degree, e.n, e.max_entries + rows.entries(r),
                                        e.max_norm, b.rows.squared_norm[r]);
        bool sure = !rbf || error.small();
        for (std::size_t p = 0; p < e.functions; ++p) sure &= proves_sign(value[p], error.of(e.coef_l1[p], e.rho[p]));
        if (!sure) near_boundary.push_back(static_cast<std::uint32_t>(r));
        if (!errors) continue;
        each_function(e, [&](const Function &f) {
            const double l1 = e.coef_l1[f.number], rho = e.rho[f.number];
            double bound = error.of(l1, rho);
            if (rbf && !e.mixed)  // coefficients of one sign: the sum is also the sum of magnitudes
                bound = error.of_magnitude(
                    std::fabs(b.sum(r, f.group, f.row)) + std::fabs(b.sum(r, f.other, f.other_row)), l1, rho);
            errors[r * e.functions + f.number] = sure ? bound : 0;
        });
    }
    return near_boundary;
}

}  // namespace

std::size_t decision_block(const Expansion &e, const RowBlock &rows, bool libsvm_order, double *out, double *errors) {
    std::vector<std::uint32_t> which(libsvm_order ? rows.count : 0);
    std::iota(which.begin(), which.end(), 0);
    if (!libsvm_order) which = double_rows(e, rows, out, errors);
    if (which.empty()) return 0;
    LibsvmOrder exactly(e);
    for (std::size_t i = 0; i < which.size(); i += LibsvmOrder::BATCH)
        exactly.evaluate(rows, which.data() + i, std::min(LibsvmOrder::BATCH, which.size() - i), out);
    return which.size();
}

}  // namespace svmfast::SVMFAST_ISA
