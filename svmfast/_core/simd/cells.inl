// Decision values and labels of the cells of a routed model: cells.hpp.
#include "cells.hpp"
#include "rounding.hpp"
#include "simd/panels.hpp"
#include "simd/single_rows.hpp"
#include "vote.hpp"

namespace svmfast::SVMFAST_ISA {
namespace {

// Numbers of a batch's rows, kernel values and sums: wide cells have fewer rows at a time, whole tiles of four.
constexpr std::size_t BATCH_NUMBERS = 1 << 19;

// Scratch of a batch of rows: the rows, kernel values and pseudo landmarks, sums of the cell's parts.
template <class Number>
struct Batch {
    static constexpr std::size_t lanes = sizeof(Vector<Number>) / sizeof(Number);
    const Cells &e;
    PanelRow<Number> row[BATCH_ROWS], as_rows[BATCH_ROWS];  // also the kernel values
    std::size_t stride, share, room;                        // of kernel values; of the sums of a part, and of all
    std::size_t rows;                                       // at most
    Aligned<Number> kernel, sums, values;                   // values: of all functions of a row
    std::vector<int> votes, open;
    Pulse pulse;

    explicit Batch(const Cells &e)
        : e(e), stride(round_up(e.widest + lanes, lanes) + (e.kind == Pseudo::triangle ? e.widest + 2 * lanes : 0)),
          share(round_up(e.grouped ? e.classes - 1 : e.functions, lanes)), room(share * (e.grouped ? e.classes : 1)),
          rows(std::clamp<std::size_t>(BATCH_NUMBERS / (stride + room + e.columns) / 4 * 4, 4, BATCH_ROWS)),
          kernel(rows * stride), sums(rows * room), values(round_up(e.functions, lanes)), votes(e.classes),
          open(e.classes) {}

    // The values of the first n functions of the row r -> to.
    SVMFAST_INLINE void get_values(const CellNumbers<Number> &c, std::size_t r, Number *to, std::size_t n) const {
        const Number *const sum = sums.data() + r * room, *const constant = c.constant.data();
        std::size_t p = 0;
        if (e.grouped) {
            each_pair(e.classes, [&](std::size_t i, std::size_t j) {
                to[p] = sum[i * share + j - 1] + sum[j * share + i] + constant[p];
                ++p;
            });
            return;
        }
        for (; p + lanes <= n; p += lanes) store(to + p, load(sum + p) + load(constant + p));
        for (; p < n; ++p) to[p] = sum[p] + constant[p];
    }
};

// The rows of a block, and its rows in double precision.
struct CellRows {
    const Cells &e;
    const Csr &rows;
    const PackedRows &packed;
    std::size_t first, batch;  // rows of a batch
    Aligned<double> dense;

    // The row i of the block as the row `at` of a batch.
    void get(std::size_t i, std::size_t, PanelRow<float> &row) { row = packed.row[i]; }
    void get(std::size_t i, std::size_t at, PanelRow<double> &row) {
        const double *const z = rows.values + rows.indptr[first + i];
        const std::int32_t *const columns = rows.indices + rows.indptr[first + i];
        row = {z, packed.row[i].position, packed.row[i].count, 0};
        if (e.active.plain() && (row.position || row.count == e.columns)) return;
        if (dense.empty()) dense.resize(batch * e.columns);
        double *const to = dense.data() + at * e.columns;
        if (!row.position) std::fill_n(to, e.columns, 0.0);
        for (std::size_t k = 0, kept = 0; k < rows.entries(first + i); ++k)
            if (const std::int32_t p = e.active.position(columns[k]); p >= 0) to[row.position ? kept++ : p] = z[k];
        row.value = to;
    }
};

template <class Number>
void listed_exponents(const Cell &cell, const CellNumbers<Number> &c, const PanelRow<Number> &row, std::size_t columns,
                      Number *out) {
    for (std::size_t j = 0; j < c.landmarks.lanes; ++j) out[j] = c.landmarks.start[j] + row.offset;
    for (std::size_t i = 0; i < (row.position ? row.count : columns); ++i) {
        const std::int32_t f = cell.features.position(row.position ? row.position[i] : static_cast<std::int32_t>(i));
        for (std::int64_t k = f < 0 ? 0 : cell.list_start[f]; f >= 0 && k < cell.list_start[f + 1]; ++k) {
            Number &sum = out[cell.list_landmark[k]];
            sum = fma(row.value[i], c.list_value[k], sum);
        }
    }
}

// The exponents of pseudo landmarks by the triangle inequality, x[m ..), from those of a row's kernel values, x[0 ..
// m).
void triangle(const Cell &cell, double *x) {
    const double scale = -1 / (cell.gamma * LOG2_E), back = -cell.gamma * LOG2_E;
    const std::size_t width = round_up(cell.pseudo, W);
    double *const distance = x + round_up(cell.m + cell.pseudo + W, W);  // room for it
    for (std::size_t j = 0; j < cell.m; j += W) store(distance + j, square_root(maximum(load(x + j) * scale, vd{})));
    for (std::size_t t = 0; t < width; t += W) {
        vd most = vd{};
        for (std::size_t j = 0; j < cell.m; ++j)
            most = maximum(most, absolute(broadcast(distance[j]) - load(cell.distance.data() + j * width + t)));
        store(x + cell.m + t, most * most * back);
    }
}

// Rounding must not make K exceed 1; single precision keeps a nan, so that it proves nothing.
inline vd kernel_value(vd t) { return exp2(minimum(t, vd{})); }
inline vf kernel_value(vf t) { return exp2(t); }

// The kernel values of `count` rows and their pseudo landmarks -> b.kernel. (Not inlined: its loops need all
// registers.)
template <class Number>
__attribute__((noinline)) void kernel_values(const Cell &cell, const CellNumbers<Number> &c, std::size_t count,
                                             Batch<Number> &b) {
    if (!cell.listed) multiply(c.landmarks, b.row, count, b.kernel.data(), b.stride);
    for (std::size_t r = 0; r < count; ++r) {
        Number *const x = b.kernel.data() + r * b.stride;
        if (cell.listed) listed_exponents(cell, c, b.row[r], b.e.columns, x);
        std::size_t n = cell.m;
        if constexpr (std::is_same_v<Number, double>)
            if (b.e.kind == Pseudo::triangle) triangle(cell, x), n += cell.pseudo;
        for (std::size_t j = 0; j < n; j += b.lanes) store(x + j, kernel_value(load(x + j)));
        if (b.e.kind == Pseudo::poly)
            for (std::size_t p = 0; p < cell.pseudo; ++p) x[cell.m + p] = x[cell.pair[2 * p]] * x[cell.pair[2 * p + 1]];
    }
}

// out[r * room] = x[r] . y for four rows: landmarks lie in the lanes.
template <class Number>
inline void dot_tile(const Number *x, std::size_t stride, const Number *y, std::size_t width, Number *out,
                     std::size_t room) {
    typedef Vector<Number> V;
    constexpr std::size_t R = 4, lanes = sizeof(V) / sizeof(Number);
    V sum[R] = {};
    for (std::size_t i = 0; i < width; i += lanes) {
        const V at = load(y + i);
    SVMFAST_UNROLL for (std::size_t r = 0; r < R; ++r) sum[r] = fma(load(x + r * stride + i), at, sum[r]);
    }
    SVMFAST_UNROLL for (std::size_t r = 0; r < R; ++r) out[r * room] = horizontal_sum(sum[r]);
}

// The sums of the cell's parts -> b.sums [row][room]. (Not inlined either.)
template <class Number>
__attribute__((noinline)) void part_sums(const CellNumbers<Number> &c, std::size_t count, Batch<Number> &b) {
    Number *out = b.sums.data();
    for (const CellPart<Number> &part : c.parts) {
        const Number *const x = b.kernel.data() + part.first;
        if (part.functions.lanes) {
            for (std::size_t r = 0; r < count; ++r) b.as_rows[r] = {x + r * b.stride, nullptr, part.depth, 0};
            multiply(part.functions, b.as_rows, count, out, b.room);
        }
        // A batch has whole tiles of four rows.
        for (std::size_t a = 0; a < part.rest; ++a)
            for (std::size_t r = 0; r < count; r += 4)
                dot_tile(x + r * b.stride, b.stride, part.rest_coef.data() + a * part.width, part.width,
                         out + r * b.room + part.whole + a, b.room);
        out += b.share;
    }
}

// Calls body(i, r) after the sums of each row i of the block, r of the batch, have been computed, i in order[0 .. count).
template <class Number, class Body>
void each_row(const Cell &cell, const CellNumbers<Number> &c, CellRows &of, const std::uint32_t *order, std::size_t count, Batch<Number> &b, Body &&body) {
    for (std::size_t first = 0; first < count; first += b.rows) {
        const std::size_t here = std::min(b.rows, count - first);
        for (std::size_t r = 0; r < here; ++r) {
            of.get(order[first + r], r, b.row[r]);
            b.row[r].offset = static_cast<Number>(-cell.gamma * LOG2_E * of.packed.squared_norm[order[first + r]]);
        }
        kernel_values(cell, c, here, b);
        part_sums(c, here, b);
        for (std::size_t r = 0; r < here; ++r) body(order[first + r], r);
        b.pulse.spent(here * (c.landmarks.lanes + 1) * (of.e.columns + b.room));
    }
}

// Decision values in double precision: writes to place(i) and calls body(i, values).
template <class Place, class Body>
void each_value(const Cell &cell, CellRows &of, const std::uint32_t *order, std::size_t count, Batch<double> &b, Place &&place, Body &&body) {
    const std::size_t functions = of.e.functions, active = cell.function.size();
    if (!count) return;
    std::vector<double> all(functions);
    for (std::size_t p = 0; p < functions; ++p) all[p] = -cell.rho[p];
    if (!active)
        for (std::size_t r = 0; r < count; ++r) {
            std::copy_n(all.data(), functions, place(order[r]));
            body(order[r], place(order[r]));
        }
    else
        each_row(cell, cell.exact, of, order, count, b, [&](std::size_t i, std::size_t r) {
            double *const to = place(i);
            b.get_values(cell.exact, r, active == functions ? to : b.values.data(), active);
            if (active < functions) {
                for (std::size_t a = 0; a < active; ++a) all[cell.function[a]] = b.values[a];
                std::copy_n(all.data(), functions, to);
            }
            body(i, to);
        });
}

// Whether no rounding, LIBSVM's included, can change the sign of a value.
bool certain_signs(const Cells &e, const Cell &cell, const double *value, double squared_norm, std::size_t entries) {
    const Rounding error = rounding(KernelKind::rbf, cell.gamma, 0, 0, cell.m, e.columns + entries, cell.max_norm, squared_norm);
    bool sure = error.small();
    for (std::size_t p = 0; p < e.functions; ++p)  // without coefficients: -rho in any order
        sure &= cell.l1[p] == 0 || proves_sign(value[p], error.of(cell.l1[p], cell.rho[p]));
    return sure;
}

// How far a row's values in single precision can be from those of double precision, for each unit of sum |coefficient| +
// |rho|; infinite where there is no bound.
float relative_error(const Cells &e, const Cell &cell, double norm, std::size_t entries) {
    const double far = cell.max_norm + norm;
    const double terms = static_cast<double>(cell.m + cell.pseudo);
    const double argument = cell.gamma * LOG2_E * far * far *
                                (dot_error(entries) + EPSILON * static_cast<double>(entries + e.columns + 10)) + 0x1p-60;
    if (!(argument < LARGEST_EXPONENT_ERROR && norm * e.factor <= CELL_RANGE)) return HUGE_VALF;
    const double additions = e.functions > 1 ? terms : terms / WF + 8;
    const double kernel = 0.72 * argument + 1.1 * FUNCTION_ERROR;
    return static_cast<float>(1.001 * (e.kind == Pseudo::poly ? 2.1 * kernel + U : kernel) + 1.1 * U * (additions + 18) +
                              EPSILON * (terms + 30));
}

// The label that the values v[0 .. functions) prove if each is off by at most `relative` times its size; else -1.
std::int32_t proven_label(const Cell &cell, Rule rule, float relative, float *scores, Batch<float> &b) {
    const float *const v = b.values.data();
    const float hidden = static_cast<float>(cell.m + cell.pseudo) * 0x1p-118f;  // by underflow
    const float *const size = cell.size.data();
    const auto side = [&](std::size_t p) { return proven_side(v[p], relative * size[p] + hidden); };
    if (rule == Rule::sign) return side(0);
    std::size_t p = 0;
    if (rule == Rule::vote) return certain_winner(b.votes, b.open, [&](std::size_t, std::size_t) { return side(p++); });
    vf least = broadcast(HUGE_VALF);
    for (; p < cell.size.size(); p += WF) {
        const vf value = load(v + p), bound = load(size + p) * relative + hidden;
        least = minimum(bound - value, least);
        store(scores + p, -value - bound);
    }
    return only_candidate(scores, p, smallest(least));
}

}  // namespace

void cell_answers(const Cells &e, const CellAnswers &to, const Csr &rows, const PackedRows &packed, std::size_t first,
                  const std::uint32_t *order, const std::size_t *start) {
    Batch<float> b(e);
    Batch<double> exact(e);
    CellRows of{e, rows, packed, first, exact.rows, {}};
    std::vector<std::uint32_t> open;
    std::vector<double> values(e.functions);
    Aligned<float> scores(round_up(e.functions, WF));
    for (std::size_t c = 0; c < e.cells.size(); ++c) {
        const Cell &cell = e.cells[c];
        const std::uint32_t *const mine = order + start[c];
        const std::size_t count = start[c + 1] - start[c];
        open.clear();
        // (The square root of a small distance has no digits in single precision.)
        if (to.values || cell.function.empty() || !cell.in_range || e.kind == Pseudo::triangle)
            open.assign(mine, mine + count);
        else
            each_row(cell, cell.single, of, mine, count, b, [&](std::size_t i, std::size_t r) {
                b.get_values(cell.single, r, b.values.data(), b.values.size());
                const float relative = relative_error(e, cell, packed.norm[i], rows.entries(first + i));
                std::int32_t &label = to.labels[first + i];
                label = proven_label(cell, to.rule, relative, scores.data(), b);
                if (label < 0) open.push_back(static_cast<std::uint32_t>(i));
            });
        const auto place = [&](std::size_t i) { return to.values ? to.values + (first + i) * e.functions : values.data(); };
        each_value(cell, of, open.data(), open.size(), exact, place, [&](std::size_t i, const double *value) {
            if (!to.values)
                to.labels[first + i] = static_cast<std::int32_t>(
                    to.rule == Rule::largest ? std::max_element(value, value + e.functions) - value
                                             : winner(value, e.functions, exact.votes));
            if (e.grouped)
                to.near_boundary[first + i] =
                    !certain_signs(e, cell, value, packed.squared_norm[i], rows.entries(first + i));
        });
    }
}

}  // namespace svmfast::SVMFAST_ISA
