// The class that wins a row, from sums in single precision and a bound on their error: single_precision.hpp for the
// layout, docs/single-precision.md for the proof. Compiled once per instruction set.
#include "simd/single_tiles.hpp"
#include "vote.hpp"

namespace svmfast::SVMFAST_ISA {
namespace {

// Number of sparse rows in one pass over the support vectors.
constexpr std::size_t LEAST_SPARSE_ROWS = 128;

// Bounds on the distance of a row's sums in single precision from the values of LIBSVM's own arithmetic.
class RowBound {
  public:
    RowBound(const SinglePack &s, const RowFacts &facts)
        : s(&s), error(facts.argument_error), underflow(static_cast<double>(s.e.n) * 0x1p-118 * s.coef_scale) {
        if (s.e.kind != KernelKind::rbf) {
            of_dot_products(facts);
            return;
        }
        const double far = s.reach + facts.norm, terms = static_cast<double>(s.e.active.size()) + facts.entries + 10;
        relative = 1.001 * (0.72 * error + 1.1 * FUNCTION_ERROR + SUM_ERROR);
        libsvm.sum = EPSILON * (terms * s.e.gamma * far * far + static_cast<double>(s.e.n) + 30);
        libsvm.rho = 2 * EPSILON;
    }

    // Of a sum of kernel values with coefficients of the sum `l1` of magnitudes, where `magnitude` is that of the
    // terms.
    double of(double magnitude, double l1) const {
        return relative * magnitude + fixed * l1 + (degree > 0 ? of_arguments(magnitude, l1) : 0);
    }
    // What LIBSVM's arithmetic, and underflow, add to decision function p.
    double room(std::size_t p) const { return libsvm.of(s->e.coef_l1[p], s->e.rho[p]) + underflow; }

  private:
    const SinglePack *s;
    double error;  // of an argument
    double underflow;
    int degree = 0;       // of a polynomial kernel
    double relative = 0;  // for each unit of magnitude,
    double fixed = 0;     // and of sum |coefficient|
    Rounding libsvm{};

    void of_dot_products(const RowFacts &facts) {
        const Expansion &e = s->e;
        underflow *= stretch(*s, facts);
        if (e.kind == KernelKind::polynomial) {
            degree = std::max(e.degree, 0);
            relative = 1.001 * (1.01 * degree * U + SUM_ERROR);
        } else {
            fixed = error + 1.001 * (TANH_ERROR + SUM_ERROR) * std::min(1.0, facts.argument);
        }
        libsvm = rounding(e.kind, e.gamma, e.coef0, e.degree, e.n,
                          e.max_entries + static_cast<std::size_t>(facts.entries), e.max_norm, facts.norm * facts.norm);
    }
    // What the errors of the arguments change, from the mean of their powers.
    double of_arguments(double magnitude, double l1) const {
        if (!(l1 > 0)) return 0;
        const double mean = std::pow(1.001 * (magnitude + underflow) / l1, 1.0 / degree);
        return 1.01 * degree * error * std::pow(mean + error, degree - 1) * l1;
    }
};

// Decides a row's label from its sums and the bound on their error.
class LabelDecider {
  public:
    LabelDecider(const SingleBlock &b, const SingleSums &sums)
        : s(b.s), b(b), sums(sums), least(s.e.groups), open(s.e.groups), columns(s.pairs ? s.e.groups * s.e.width : 0),
          known(columns.size()), bound(s, RowFacts{}) {}

    // Of a row of the block whose kernel values, of pairs of classes, are kept at `place`; second_order: the value of
    // the polynomial, if there is one.
    void decide(std::size_t row, std::size_t place, double second_order) {
        bound = RowBound(s, b.facts[row]);
        b.out[row] = s.pairs ? of_pairs(row, sums.kernel.data() + place * sums.stride) : of_one(row, second_order);
    }

  private:
    const SinglePack &s;
    const SingleBlock &b;
    const SingleSums &sums;
    std::vector<int> least, open;
    std::vector<double> columns;  // [class][coefficient row], where `known`
    std::vector<std::uint8_t> known;
    RowBound bound;

    // One decision function: the winner, or -1.
    std::int32_t of_one(std::size_t row, double second_order) {
        const RowFacts &facts = b.facts[row];
        double value = 0, reach = 0;
        for (std::size_t g = 0; g < s.e.groups; ++g) {
            value += sum(row, g) * s.coef_scale;
            reach += magnitude(row, g);
        }
        if (s.second_order) {
            const double t = 2 * s.e.gamma * s.reach * facts.norm, grow = std::exp(t);
            const double d = static_cast<double>(s.e.active.size());
            const double rest = t * dot_error(facts.terms) * t * t / 2 + (REMAINDER_ERROR + SUM_ERROR) * t * t * t / 6;
            const double by_double = (static_cast<double>(s.e.n) + (d + 4) * (d + 4)) * EPSILON;
            const double shrink = std::exp(-s.e.gamma * facts.norm * facts.norm);
            value = shrink * (second_order + value);
            reach = 1.01 * shrink * s.second_order->weight * grow * (rest + by_double);
        } else {
            reach = bound.of(reach, s.e.coef_l1[0]);
        }
        value -= s.e.rho[0];
        reach += bound.room(0);
        if (b.values) b.values[row] = value, b.bounds[row] = reach;
        return proven_side(value, reach);
    }

    // Pairs of classes, from the kernel values of one row.
    std::int32_t of_pairs(std::size_t row, const float *kernel) {
        const std::size_t k = s.e.groups;
        std::fill(known.begin(), known.end(), 0);
        if (b.values)
            each_pair(k, [&](std::size_t i, std::size_t j) {
                b.values[row * s.e.functions + number(i, j)] = pair_value(i, j, kernel);
                b.bounds[row * s.e.functions + number(i, j)] = pair_reach(row, i, j, kernel);
            });
        // A class that wins all its own pairs has won, whatever the other pairs are. Nearly always there is one: the
        // nearest, or one that beats it.
        const double *const near = sums.total.data() + row * k;
        std::size_t champion = std::max_element(near, near + k) - near;
        for (std::size_t c = 0; c < k; ++c)
            if (c != champion && pair_value(champion, c, kernel) < 0) champion = c;
        if (wins_all(row, champion, kernel)) return static_cast<std::int32_t>(champion);
        return certain_winner(least, open, [&](std::size_t i, std::size_t j) { return pair(row, i, j, kernel); });
    }

    double sum(std::size_t row, std::size_t group) const { return sums.total[row * s.e.groups + group]; }
    double magnitude(std::size_t row, std::size_t group) const {
        const auto &of = sums.magnitude.empty() ? sums.total : sums.magnitude;
        return s.coef_scale * std::fabs(of[row * s.e.groups + group]);
    }

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
    std::size_t number(std::size_t i, std::size_t j) const { return pair_number(s.e.groups, i, j); }

    // Which class of the pair i < j wins: 0 the first, 1 the second, -1 not proven.
    std::int32_t pair(std::size_t row, std::size_t i, std::size_t j, const float *kernel) {
        // Without coefficients the value is -rho: where this precision answers, no kernel value overflows in LIBSVM.
        if (s.e.coef_l1[number(i, j)] == 0) return votes_for_first(-s.e.rho[number(i, j)]) ? 0 : 1;
        return proven_side(pair_value(i, j, kernel), pair_reach(row, i, j, kernel));
    }
    double pair_reach(std::size_t row, std::size_t i, std::size_t j, const float *kernel) {
        const double one = column(i, j - 1, kernel), other = column(j, i, kernel);
        const double size =
            s.size.empty() ? std::fabs(one) + std::fabs(other) : magnitude(row, i) + magnitude(row, j);
        const std::size_t p = number(i, j);
        return bound.of(size, s.e.coef_l1[p]) + bound.room(p);
    }

    bool wins_all(std::size_t row, std::size_t w, const float *kernel) {
        for (std::size_t c = 0; c < s.e.groups; ++c)
            if (c != w && (c < w ? pair(row, c, w, kernel) != 1 : pair(row, w, c, kernel) != 0)) return false;
        return true;
    }
};

// The rows all[from ..) in whole tiles of R; returns the first row that is left.
template <std::size_t R, class Way>
std::size_t tiles_of(const Way &way, const SingleBlock &b, const std::vector<std::uint32_t> &all, std::size_t from,
                     SingleSums &sums, LabelDecider &decider) {
    const SinglePack &s = b.s;
    const std::size_t tiles = (all.size() - from) / R, terms = way.terms();
    if (!tiles) return from;
    // Panels that stay in the cache while a batch of tiles uses them. With pairs, no more tiles than have their kernel
    // values there as well.
    const std::size_t block = std::clamp<std::size_t>(PANEL_BYTES / (terms * SINGLE_LANES * 4 + 1), 1, FOLD_PANELS);
    const std::size_t batch = s.pairs ? std::clamp<std::size_t>(TILE_BYTES / (4 * R * sums.stride), 1, tiles) : tiles;
    sums.keep(batch * R);
    RowTiles<Way, R> packed(way, batch);
    Aligned<vf> acc(2 * R);
    Pulse pulse;
    for (std::size_t begin = 0; begin < tiles; begin += batch) {
        const std::uint32_t *const which = all.data() + from + begin * R;
        const std::size_t count = std::min(batch, tiles - begin);
        packed.pack(b, which, count);
        for (std::size_t g = 0; g < s.e.groups; ++g)
            for (std::size_t first = s.group_panels[g]; first < s.group_panels[g + 1]; first += block) {
                const std::size_t last = std::min(first + block, s.group_panels[g + 1]);
                for (std::size_t t = 0; t < count; ++t) {
                    with_panels(way, sums, packed, t, first, last, acc.data());
                    for (std::size_t r = 0; r < R; ++r) sums.fold(which[t * R + r], g, acc.data() + 2 * r);
                    pulse.spent((last - first) * SINGLE_LANES * R * (terms + 1));
                }
            }
        for (std::size_t i = 0; i < count * R; ++i)
            decider.decide(which[i], i, s.second_order ? packed.second_order[i] : 0);
    }
    return from + tiles * R;
}

// Sparse rows: with pairs, only as many at a time as have their kernel values in the cache, but enough that reading the
// support vectors takes little time compared with the computation.
template <class Way>
void sparse_rows(const Way &way, const SingleBlock &b, const std::vector<std::uint32_t> &all, SingleSums &sums,
                 LabelDecider &decider) {
    const SinglePack &s = b.s;
    const std::size_t most = s.pairs ? std::max(LEAST_SPARSE_ROWS, TILE_BYTES / (4 * sums.stride)) : all.size();
    typename Way::Row scratch = way.scratch();
    for (std::size_t begin = 0; begin < all.size(); begin += most) {
        const std::size_t count = std::min(most, all.size() - begin);
        std::vector<std::int32_t> position;
        std::vector<typename Way::Number> value;
        std::vector<StartedRow> rows;
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t r = all[begin + i], from = value.size();
            const RowStart start = way.pack_sparse(b, r, scratch, position, value);
            rows.push_back({r, from, value.size(), start});
        }
        sums.keep(count);
        for (std::size_t g = 0; g < s.e.groups; ++g) with_class(way, sums, rows, position.data(), value.data(), g);
        for (std::size_t i = 0; i < count; ++i) decider.decide(rows[i].row, i, 0);
    }
}

template <class Way>
void rows_by(const Way &way, const SingleBlock &b, const std::vector<std::uint32_t> &dense,
             const std::vector<std::uint32_t> &sparse, SingleSums &sums, LabelDecider &decider) {
    std::size_t done = tiles_of<TILE_ROWS>(way, b, dense, 0, sums, decider);
    done = tiles_of<3>(way, b, dense, done, sums, decider);
    tiles_of<1>(way, b, dense, done, sums, decider);
    sparse_rows(way, b, sparse, sums, decider);
}

}  // namespace

std::size_t single_labels(const SinglePack &s, const RowBlock &rows, std::int32_t *out, double *values, double *bounds) {
    SingleBlock b{s, rows, {}, {}, {}, {}, {}, out, values, bounds};
    std::vector<double> z(s.centered ? s.e.active.size() : 0);
    LatticeRow on_lattice(s);
    b.facts.reserve(rows.count);
    for (std::size_t r = 0; r < rows.count; ++r) {
        RowFacts facts = look_at(s, rows, r, z.data());
        if (s.lattice) look_at_lattice(s, rows, r, on_lattice, facts);
        b.facts.push_back(facts);
        out[r] = -1;
        if (!in_range(s, facts)) continue;
        (facts.lattice ? facts.sparse ? b.lattice_sparse : b.lattice_dense : facts.sparse ? b.sparse : b.dense)
            .push_back(static_cast<std::uint32_t>(r));
    }
    SingleSums sums(s, rows.count);
    LabelDecider decider(b, sums);
    const auto floats = [&](auto function) {
        rows_by(Floats<decltype(function)>{s}, b, b.dense, b.sparse, sums, decider);
    };
    if (s.second_order)
        floats(Remainder{});
    else if (s.e.kind == KernelKind::polynomial)
        floats(Power{});
    else if (s.e.kind == KernelKind::sigmoid)
        floats(Sigmoid{});
    else
        floats(Gaussian{});
    const auto integers = [&](auto step) {
        rows_by(Integers<decltype(step)>{s}, b, b.lattice_dense, b.lattice_sparse, sums, decider);
    };
#if defined(__AVX512F__)
    if (s.lattice && s.lattice->features == 4)
        integers(AddBytesAtOnce{});
    else
#endif
        if (s.lattice)
        integers(AddWords{});
    return static_cast<std::size_t>(std::count(out, out + rows.count, -1));
}

}  // namespace svmfast::SVMFAST_ISA
