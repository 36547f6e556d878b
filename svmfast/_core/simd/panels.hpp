// Rows times panels (router.hpp): a few rows at a time, each of them dense or sparse.
#pragma once
#include "router.hpp"
#include "simd/tiles.hpp"

namespace svmfast::SVMFAST_ISA {

// Rows of a batch: whole tiles of any size.
constexpr std::size_t BATCH_ROWS = 48;
// Rows with at least this share of the columns are dense (measured; the sums are the same).
constexpr double DENSE_SHARE = 0.6;
// Dense rows of a tile with a panel of so many vectors: their sums, the panel's vectors and a number fill the
// registers, of which AVX-512 has 32 and the others 16.
constexpr std::size_t panel_rows(std::size_t vectors) {
    constexpr std::size_t wide[] = {8, 8, 8, 6}, narrow[] = {8, 6, 4, 2};
    return (W == 8 ? wide : narrow)[vectors - 1];
}

// Whether a row of so many numbers in d columns is dense.
inline bool is_dense(std::size_t count, std::size_t d) {
    return static_cast<double>(count) >= DENSE_SHARE * static_cast<double>(d);
}

// R rows with a panel of V vectors, each in its row of `out`: their number k belongs to the panel's row at(k).
template <std::size_t R, std::size_t V, class Number, class At>
inline void tile(const PanelRow<Number> *const *rows, std::size_t count, At &&at, const Number *start,
                 const Number *values, Number *const *out) {
    constexpr std::size_t lanes = sizeof(Vector<Number>) / sizeof(Number);
    const Number *x[R];
    Vector<Number> sum[R][V];
    SVMFAST_UNROLL for (std::size_t r = 0; r < R; ++r) {
        x[r] = rows[r]->value;
        SVMFAST_UNROLL for (std::size_t v = 0; v < V; ++v) sum[r][v] = load(start + v * lanes) + rows[r]->offset;
    }
    add_products(sum, count, [&](std::size_t r, std::size_t k) { return x[r][k]; },
                 [&](std::size_t k) { return values + at(k) * V * lanes; });
    SVMFAST_UNROLL for (std::size_t r = 0; r < R; ++r)
        SVMFAST_UNROLL for (std::size_t v = 0; v < V; ++v) store(out[r] + v * lanes, sum[r][v]);
}

// out[i * stride ..] = row i times the panels, for n rows, at most BATCH_ROWS.
template <class Number>
void multiply(const Panels<Number> &p, const PanelRow<Number> *rows, std::size_t n, Number *out, std::size_t stride) {
    constexpr std::size_t lanes = sizeof(Vector<Number>) / sizeof(Number);
    // Where a tile is filled up, its last row is computed more than once.
    const PanelRow<Number> *dense[BATCH_ROWS + 8];
    Number *to[BATCH_ROWS + 8];
    std::uint8_t sparse[BATCH_ROWS];
    std::size_t tiled = 0, others = 0;
    for (std::size_t i = 0; i < n; ++i)
        if (rows[i].position)
            sparse[others++] = static_cast<std::uint8_t>(i);
        else
            dense[tiled] = rows + i, to[tiled++] = out + i * stride;
    for (std::size_t i = tiled; tiled && i < tiled + 8; ++i) dense[i] = dense[tiled - 1], to[i] = to[tiled - 1];
    for (std::size_t first = 0; first < p.lanes; first += PANEL_VECTORS * lanes)
        with_size<PANEL_VECTORS>(std::min(PANEL_VECTORS, (p.lanes - first) / lanes), [&](auto vectors) {
            constexpr std::size_t V = vectors, R = panel_rows(V);
            const Number *const start = p.start.data() + first, *const values = p.values.data() + first * p.depth;
            const auto itself = [](std::size_t k) { return k; };
            std::size_t i = 0;
            for (; i + R / 2 < tiled; i += R) {
                Number *here[R];
                SVMFAST_UNROLL for (std::size_t r = 0; r < R; ++r) here[r] = to[i + r] + first;
                tile<R, V>(dense + i, p.depth, itself, start, values, here);
            }
            for (; i < tiled; ++i) {
                Number *here[1] = {to[i] + first};
                tile<1, V>(dense + i, p.depth, itself, start, values, here);
            }
            for (std::size_t s = 0; s < others; ++s) {
                const PanelRow<Number> *const row = rows + sparse[s];
                Number *here[1] = {out + sparse[s] * stride + first};
                const std::int32_t *const position = row->position;
                tile<1, V>(&row, row->count, [=](std::size_t k) { return static_cast<std::size_t>(position[k]); }, start,
                           values, here);
            }
        });
}

// The only number of scores[0 .. n), n whole vectors, that is not certainly above the limit; -1 if there are more, or
// none. Without a branch on the candidates' places: 64 lanes at a time.
inline std::int32_t only_candidate(const float *scores, std::size_t n, float limit) {
    std::uint64_t found = 0, taken = 0, many = 0;
    for (std::size_t base = 0; base < n; base += 64) {
        std::uint64_t word = 0;
        for (std::size_t at = base; at < std::min(n, base + 64); at += WF)
            word |= not_above(load(scores + at), limit) << (at - base);
        const std::uint64_t here = word != 0;
        many |= (word & (word - 1)) | (here & taken);
        // Without a candidate the last lane is used and masked out.
        found |= (base + std::uint64_t(__builtin_ctzll(word | std::uint64_t(1) << 63))) & -here;
        taken |= here;
    }
    return many || !taken ? -1 : std::int32_t(found);
}

}  // namespace svmfast::SVMFAST_ISA
