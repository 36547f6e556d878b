// The class that wins a row, from sums in single precision and a bound of their error: labels.hpp for the layout,
// docs/single-precision.md for the proof. Compiled once per instruction set.
#include "labels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "simd/single_tiles.hpp"

namespace svmfast::SVMFAST_ISA {
namespace {

// A dense feature costs NF multiply-adds at two a cycle; a sparse one also its broadcast and its index (measured).
constexpr double SPARSE_COST = 1.7;
// Sparse rows that meet the support vectors in one pass.
constexpr std::size_t LEAST_SPARSE_ROWS = 128;

// Unit roundoff of float, and what the two functions of vec.hpp lose at most, relative to their values.
constexpr double U = 0x1p-24;
constexpr double FUNCTION_ERROR = 0x1p-21, REMAINDER_ERROR = 0x1p-20;
// Additions on a term's way to its sum, the coefficient's rounding, and products that are not fused.
constexpr double SUM_ERROR = 1.01 * (FOLD_TERMS + 8) * U;
// Beyond this error of an exponent the bound is of no use, and its proof needs it small.
constexpr double LARGEST_EXPONENT_ERROR = 0.05;
// exp_remainder holds up to this size of its argument.
constexpr double LARGEST_REMAINDER = 1;

// Bounds |computed - exact| of a sum that starts at minus the squared norms and adds a dot product of `terms` terms,
// over
// (||x|| + ||z||)^2.
double dot_error(std::size_t terms) { return 1.01 * U * (static_cast<double>(terms) + 8); }

// What is known of a row before it meets the support vectors.
struct RowFacts {
    double norm = 0;        // ||z - center||
    double entries = 0;     // stored in the row
    std::size_t terms = 0;  // of its dot products
    bool sparse = false;
};

struct Block {
    const SinglePack &s;
    const RowBlock &rows;
    std::vector<RowFacts> facts;
    std::vector<std::uint32_t> dense, sparse;
    std::int32_t *out;
    double *values, *bounds;  // [row][function], or null: only labels are wanted

    std::int64_t begin(std::size_t r) const { return rows.indptr[rows.first + r]; }
    std::int64_t end(std::size_t r) const { return rows.indptr[rows.first + r + 1]; }
};

// ||z - center|| of a row, with the features that no support vector has; counts those that one has.
RowFacts look_at(const SinglePack &s, const RowBlock &rows, std::int64_t begin, std::int64_t end) {
    const std::size_t d = s.e.active.size();
    RowFacts facts;
    double squares = 0;
    std::size_t known = 0, next = 0;
    for (std::int64_t k = begin; k < end; ++k) {
        const std::int32_t at = s.e.position(rows.indices[k]);
        double value = rows.values[k];
        if (at >= 0 && s.centered) {
            for (; next < static_cast<std::size_t>(at); ++next) squares += s.center[next] * s.center[next];
            value -= s.center[next++];
        }
        known += at >= 0 && value != 0;
        squares += value * value;
    }
    for (; s.centered && next < d; ++next) squares += s.center[next] * s.center[next];
    facts.norm = std::sqrt(squares);
    facts.entries = static_cast<double>(end - begin);
    facts.sparse = !s.centered && static_cast<double>(known) * SPARSE_COST < static_cast<double>(d);
    facts.terms = facts.sparse ? known : d;
    return facts;
}

// Whether the proof holds for the row at all. (Written so that what is not a number fails.)
bool in_range(const SinglePack &s, const RowFacts &facts) {
    const double far = s.reach + facts.norm;
    if (s.head)
        return 2 * s.e.gamma * s.reach * facts.norm <= LARGEST_REMAINDER && s.e.gamma * facts.norm * facts.norm <= 50;
    return s.exponent * far * far * dot_error(facts.terms) < LARGEST_EXPONENT_ERROR;
}

// z - center in the model's columns.
void centered_row(const Block &b, std::size_t r, double *z) {
    const SinglePack &s = b.s;
    for (std::size_t f = 0; f < s.e.active.size(); ++f) z[f] = s.centered ? -s.center[f] : 0.0;
    for (std::int64_t k = b.begin(r); k < b.end(r); ++k) {
        const std::int32_t at = s.e.position(b.rows.indices[k]);
        if (at >= 0) z[at] = b.rows.values[k] - (s.centered ? s.center[at] : 0.0);
    }
}

double head_value(const Head &head, const double *z, std::size_t d) {
    double sum = head.constant;
    const double *q = head.quadratic.data();
    for (std::size_t f = 0; f < d; q += ++f) {
        double inner = head.linear[f];
        for (std::size_t g = 0; g <= f; ++g) inner += q[g] * z[g];
        sum += inner * z[f];
    }
    return sum;
}

// Decides a row's label from its sums and the bound of their error.
class LabelDecider {
  public:
    LabelDecider(const Block &b, const SingleSums &sums)
        : s(b.s), b(b), sums(sums), least(s.e.groups), open(s.e.groups), order(s.e.groups),
          columns(s.pairs ? s.e.groups * s.e.width : 0), known(columns.size()) {}

    // One decision function; `head` is the polynomial's value, if there is one. The winner, or -1.
    std::int32_t of_one(std::size_t row, double head) {
        prepare(row);
        const RowFacts &facts = b.facts[row];
        double value = 0, reach = 0;
        for (std::size_t g = 0; g < s.e.groups; ++g) {
            value += sum(row, g) * s.coef_scale;
            reach += magnitude(row, g);
        }
        if (s.head) {
            const double t = 2 * s.e.gamma * s.reach * facts.norm, grow = std::exp(t);
            const double d = static_cast<double>(s.e.active.size());
            const double rest = t * dot_error(facts.terms) * t * t / 2 + (REMAINDER_ERROR + SUM_ERROR) * t * t * t / 6;
            const double by_double = (static_cast<double>(s.e.n) + (d + 4) * (d + 4)) * EPSILON;
            const double shrink = std::exp(-s.e.gamma * facts.norm * facts.norm);
            value = shrink * (head + value);
            reach = 1.01 * shrink * s.head->weight * grow * (rest + by_double);
        } else {
            reach *= relative;
        }
        value -= s.e.rho[0];
        reach += room(0);
        if (b.values) b.values[row] = value, b.bounds[row] = reach;
        return side(value, reach);
    }

    // Pairs of classes, from the kernel values of one row. The winner, or -1.
    std::int32_t of_pairs(std::size_t row, const float *kernel) {
        prepare(row);
        const std::size_t k = s.e.groups;
        std::fill(known.begin(), known.end(), 0);
        for (std::size_t i = 0; b.values && i < k; ++i)
            for (std::size_t j = i + 1; j < k; ++j) {
                b.values[row * s.e.functions + number(i, j)] = pair_value(i, j, kernel);
                b.bounds[row * s.e.functions + number(i, j)] = pair_reach(row, i, j, kernel);
            }
        for (std::size_t g = 0; g < k; ++g) order[g] = g;
        // A class that wins all its own pairs has won, whatever the others do among themselves. Nearly always there is
        // one, and whoever beats the best so far, the nearest first, finds it.
        std::sort(order.begin(), order.end(),
                  [&](std::size_t x, std::size_t y) { return sums.total[row * k + x] > sums.total[row * k + y]; });
        std::size_t champion = order[0];
        for (std::size_t t = 1; t < k; ++t)
            if (pair_value(champion, order[t], kernel) < 0) champion = order[t];
        if (wins_all(row, champion, kernel)) return static_cast<std::int32_t>(champion);
        std::fill(least.begin(), least.end(), 0);
        std::fill(open.begin(), open.end(), 0);
        for (std::size_t i = 0; i < k; ++i)
            for (std::size_t j = i + 1; j < k; ++j) {
                const std::int32_t won = pair(row, i, j, kernel);
                if (won >= 0) {
                    ++least[won ? j : i];
                } else {
                    ++open[i], ++open[j];
                }
            }
        const std::size_t best = std::max_element(least.begin(), least.end()) - least.begin();
        // Open pairs can only add to the others; ties go to the lower number.
        for (std::size_t c = 0; c < k; ++c)
            if (c != best && least[c] + open[c] + (c < best) > least[best]) return -1;
        return static_cast<std::int32_t>(best);
    }

  private:
    static constexpr double EPSILON = std::numeric_limits<double>::epsilon();

    const SinglePack &s;
    const Block &b;
    const SingleSums &sums;
    double relative = 0;  // of a sum of terms of one sign, and of magnitudes
    double libsvm = 0;    // what LIBSVM's double arithmetic may be off, per unit of sum |coefficient|
    double underflow = 0;
    std::vector<int> least, open;
    std::vector<std::size_t> order;
    std::vector<double> columns;  // [class][coefficient row], where `known`
    std::vector<std::uint8_t> known;

    void prepare(std::size_t row) {
        const RowFacts &facts = b.facts[row];
        const double far = s.reach + facts.norm, n = static_cast<double>(s.e.n);
        const double exponent = s.exponent * far * far * dot_error(facts.terms);
        relative = 1.001 * (0.72 * exponent + 1.1 * FUNCTION_ERROR + SUM_ERROR);
        libsvm =
            EPSILON * ((static_cast<double>(s.e.active.size()) + facts.entries + 10) * s.e.gamma * far * far + n + 30);
        underflow = (n + 1) * 0x1p-118 * s.coef_scale;
    }

    double sum(std::size_t row, std::size_t group) const { return sums.total[row * s.e.groups + group]; }
    double magnitude(std::size_t row, std::size_t group) const {
        const auto &of = sums.magnitude.empty() ? sums.total : sums.magnitude;
        return s.coef_scale * std::fabs(of[row * s.e.groups + group]);
    }
    double room(std::size_t p) const {
        return libsvm * s.e.coef_l1[p] + underflow + 2 * EPSILON * std::fabs(s.e.rho[p]);
    }
    static std::int32_t side(double value, double reach) { return std::fabs(value) > reach ? (value > 0 ? 0 : 1) : -1; }

    // Coefficient row j of class g, times the kernel values.
    double column(std::size_t g, std::size_t j, const float *kernel) {
        const std::size_t at = g * s.e.width + j;
        if (known[at]) return columns[at];
        const float *coef = s.by_column.data() + j * s.group_panels.back() * SINGLE_LANES;
        double total = 0;
        for (std::size_t first = s.group_panels[g]; first < s.group_panels[g + 1]; first += FOLD_TERMS) {
            vf acc[NF] = {};
            const std::size_t last = std::min(first + FOLD_TERMS, s.group_panels[g + 1]);
            for (std::size_t i = first * SINGLE_LANES; i < last * SINGLE_LANES; i += SINGLE_LANES) SVMFAST_UNROLL for (std::size_t v = 0; v < NF; ++v)
                    acc[v] = fma(load(coef + i + v * WF), load(kernel + i + v * WF), acc[v]);
            total += static_cast<double>(horizontal_sum(acc[0] + acc[1]));
        }
        known[at] = 1;
        return columns[at] = total * s.coef_scale;
    }

    // The value of the pair of classes i and j: above 0 for i.
    double pair_value(std::size_t i, std::size_t j, const float *kernel) {
        if (i > j) return -pair_value(j, i, kernel);
        return column(i, j - 1, kernel) + column(j, i, kernel) - s.e.rho[number(i, j)];
    }
    // The number of the pair i < j in LIBSVM's order.
    std::size_t number(std::size_t i, std::size_t j) const { return i * s.e.groups - i * (i + 1) / 2 + j - i - 1; }

    // Which class of the pair i < j wins: 0 the first, 1 the second, -1 not proven.
    std::int32_t pair(std::size_t row, std::size_t i, std::size_t j, const float *kernel) {
        return side(pair_value(i, j, kernel), pair_reach(row, i, j, kernel));
    }
    double pair_reach(std::size_t row, std::size_t i, std::size_t j, const float *kernel) {
        const double one = column(i, j - 1, kernel), other = column(j, i, kernel);
        const double size = s.mixed ? magnitude(row, i) + magnitude(row, j) : std::fabs(one) + std::fabs(other);
        return relative * size + room(number(i, j));
    }

    bool wins_all(std::size_t row, std::size_t w, const float *kernel) {
        for (std::size_t c = 0; c < s.e.groups; ++c)
            if (c != w && (c < w ? pair(row, c, w, kernel) != 1 : pair(row, w, c, kernel) != 0)) return false;
        return true;
    }
};

// The rows dense[from ..) in tiles of R, as many as there are whole ones; returns the first that is left.
template <class Function, std::size_t R>
std::size_t dense_tiles(const Block &b, std::size_t from, SingleSums &sums, LabelDecider &decider) {
    const SinglePack &s = b.s;
    const std::size_t d = s.e.active.size(), tiles = (b.dense.size() - from) / R;
    if (!tiles) return from;
    Aligned<float> packed(tiles * d * R);  // [tile][feature][row]
    std::vector<float> offset(tiles * R);
    std::vector<double> z(d), head(tiles * R);
    const double scale = (s.head ? 2 * s.e.gamma : 2 * s.exponent) / s.value_scale;
    for (std::size_t i = 0; i < tiles * R; ++i) {
        const std::size_t r = b.dense[from + i];
        centered_row(b, r, z.data());
        float *column = packed.data() + (i / R) * d * R + i % R;
        for (std::size_t f = 0; f < d; ++f) column[f * R] = static_cast<float>(z[f] * scale);
        offset[i] = s.head ? 0.0f : static_cast<float>(-s.exponent * b.facts[r].norm * b.facts[r].norm);
        if (s.head) head[i] = head_value(*s.head, z.data(), d);
    }
    Aligned<vf> acc(2 * R);
    Pulse pulse;
    auto classes = [&](std::size_t first_tile, std::size_t last_tile) {
        const std::size_t block = std::clamp<std::size_t>(TILE_BYTES / (d * SINGLE_LANES * 4 + 1), 1, FOLD_PANELS);
        for (std::size_t g = 0; g < s.e.groups; ++g)
            for (std::size_t first = s.group_panels[g]; first < s.group_panels[g + 1]; first += block)
                for (std::size_t t = first_tile; t < last_tile; ++t) {
                    dense_tile<Function, R>(s, sums, packed.data() + t * d * R, offset.data() + t * R, first,
                                            std::min(first + block, s.group_panels[g + 1]), acc.data());
                    for (std::size_t r = 0; r < R; ++r) sums.fold(b.dense[from + t * R + r], g, acc.data() + 2 * r);
                    pulse.spent(std::min(block, s.group_panels[g + 1] - first) * SINGLE_LANES * R * (d + 1));
                }
    };
    if (s.pairs) {
        sums.kernel.resize(R * sums.stride);
        for (std::size_t t = 0; t < tiles; ++t) {
            classes(t, t + 1);
            for (std::size_t r = 0; r < R; ++r) {
                const std::size_t row = b.dense[from + t * R + r];
                b.out[row] = decider.of_pairs(row, sums.kernel.data() + r * sums.stride);
            }
        }
    } else {
        classes(0, tiles);
        for (std::size_t i = 0; i < tiles * R; ++i) b.out[b.dense[from + i]] = decider.of_one(b.dense[from + i], head[i]);
    }
    return from + tiles * R;
}

void sparse_rows(const Block &b, SingleSums &sums, LabelDecider &decider) {
    const SinglePack &s = b.s;
    const double scale = 2 * s.exponent / s.value_scale;
    std::vector<std::int32_t> position;
    std::vector<float> value;
    // Of pairs, as many rows at a time as their kernel values leave in the cache, but so many that what is read of the
    // support vectors in between is little beside what is done with it.
    const std::size_t most = s.pairs ? std::max(LEAST_SPARSE_ROWS, TILE_BYTES / (4 * sums.stride)) : b.sparse.size();
    for (std::size_t from = 0; from < b.sparse.size(); from += most) {
        const std::size_t count = std::min(most, b.sparse.size() - from);
        std::vector<SparseRow> rows;
        position.clear(), value.clear();
        for (std::size_t i = from; i < from + count; ++i) {
            const std::size_t r = b.sparse[i], start = position.size();
            for (std::int64_t k = b.begin(r); k < b.end(r); ++k) {
                const std::int32_t at = s.e.position(b.rows.indices[k]);
                if (at < 0 || b.rows.values[k] == 0) continue;
                position.push_back(at);
                value.push_back(static_cast<float>(b.rows.values[k] * scale));
            }
            const auto offset = static_cast<float>(-s.exponent * b.facts[r].norm * b.facts[r].norm);
            rows.push_back({nullptr, nullptr, r, offset, start, position.size()});
        }
        for (SparseRow &row : rows) row.position = position.data(), row.value = value.data();
        Aligned<vf> acc(2 * count), partial(count * NF);
        if (s.pairs) sums.kernel.resize(count * sums.stride);
        for (std::size_t g = 0; g < s.e.groups; ++g) sparse_class(s, sums, rows, g, acc, partial);
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t r = rows[i].row;
            b.out[r] = s.pairs ? decider.of_pairs(r, sums.kernel.data() + i * sums.stride) : decider.of_one(r, 0);
        }
    }
}

}  // namespace

std::size_t single_lanes() { return SINGLE_LANES; }

std::size_t single_labels(const SinglePack &s, const RowBlock &rows, std::int32_t *out, double *values, double *bounds) {
    Block b{s, rows, {}, {}, {}, out, values, bounds};
    if (values) {
        std::fill_n(values, rows.count * s.e.functions, 0.0);
        std::fill_n(bounds, rows.count * s.e.functions, std::numeric_limits<double>::infinity());
    }
    for (std::size_t r = 0; r < rows.count; ++r) {
        b.facts.push_back(look_at(s, rows, b.begin(r), b.end(r)));
        out[r] = -1;
        if (in_range(s, b.facts[r])) (b.facts[r].sparse ? b.sparse : b.dense).push_back(static_cast<std::uint32_t>(r));
    }
    SingleSums sums(s, rows.count);
    LabelDecider decider(b, sums);
    auto dense = [&](auto function) {
        using Function = decltype(function);
        std::size_t done = dense_tiles<Function, SINGLE_ROWS>(b, 0, sums, decider);
        done = dense_tiles<Function, 3>(b, done, sums, decider);
        dense_tiles<Function, 1>(b, done, sums, decider);
    };
    if (s.head) dense(Remainder{}); else dense(Gaussian{});
    sparse_rows(b, sums, decider);
    return static_cast<std::size_t>(std::count(out, out + rows.count, -1));
}

}  // namespace svmfast::SVMFAST_ISA
