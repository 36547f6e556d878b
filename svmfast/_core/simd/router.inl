// The nearest of many centers: router.hpp. Compiled once per instruction set.
#include "router.hpp"
#include "simd/tiles.hpp"

namespace svmfast::SVMFAST_ISA {
namespace {

struct Row {
    const std::int32_t *position;
    const float *value;
    std::size_t nnz;
};

// Scores of V vectors of centers; also returns the sum of |value|, at negligible cost.
template <std::size_t V>
inline float score_tile(const Row &row, const float *centers, const float *offsets, std::size_t padded, float *scores,
                        vf &least) {
    vf score[1][V];
    SVMFAST_UNROLL for (std::size_t v = 0; v < V; ++v) score[0][v] = load(offsets + v * WF);
    float length = 0;
    add_products(score, row.nnz,
                 [&](std::size_t, std::size_t k) {
                     length += std::fabs(row.value[k]);
                     return row.value[k];
                 },
                 [=](std::size_t k) { return centers + std::size_t(row.position[k]) * padded; });
    SVMFAST_UNROLL for (std::size_t v = 0; v < V; ++v) store(scores + v * WF, score[0][v]);
    // A tree of comparisons, not a chain.
    SVMFAST_UNROLL for (std::size_t step = 1; step < V; step *= 2)
        SVMFAST_UNROLL for (std::size_t v = 0; v + step < V; v += 2 * step) score[0][v] = minimum(score[0][v], score[0][v + step]);
    least = minimum(least, score[0][0]);
    return length;
}

constexpr std::size_t SCORES = 12;  // vectors of scores that stay in registers, even if there are only sixteen

}  // namespace

void nearest_centers(const CenterTable &t, const std::int32_t *position, const float *value, const std::int64_t *start,
                     std::size_t n, float *scores, std::int32_t *nearest) {
    const float *const centers = t.value32.data(), *const offsets = t.offset32.data();
    const std::size_t padded = t.padded32;
    for (std::size_t i = 0; i < n; ++i) {
        const Row row{position + start[i], value + start[i], std::size_t(start[i + 1] - start[i])};
        vf least = broadcast(std::numeric_limits<float>::infinity());
        float length = 0;
        std::size_t c = 0;
        for (; c + SCORES * WF <= padded; c += SCORES * WF)
            length = score_tile<SCORES>(row, centers + c, offsets + c, padded, scores + c, least);
        with_size<SCORES - 1>((padded - c) / WF, [&](auto vectors) {
            length = score_tile<vectors>(row, centers + c, offsets + c, padded, scores + c, least);
        });
        // Twice the error of a sum with this many terms, each of which has been rounded twice.
        const float spread = 2.2f * 0x1p-24f * float(row.nnz + 8) * (t.largest_offset + 1.01f * length * t.largest_entry);
        const float limit = smallest(least) + (spread + 1e-30f);
        // All candidates, without a branch on their positions: 64 lanes at a time.
        std::uint64_t found = 0, taken = 0, many = 0;
        for (std::size_t base = 0; base < padded; base += 64) {
            std::uint64_t word = 0;
            for (std::size_t at = base; at < std::min(padded, base + 64); at += WF)
                word |= not_above(load(scores + at), limit) << (at - base);
            const std::uint64_t here = word != 0;
            many |= (word & (word - 1)) | (here & taken);
            // Without a candidate the last lane is used and masked out.
            found |= (base + std::uint64_t(__builtin_ctzll(word | std::uint64_t(1) << 63))) & -here;
            taken |= here;
        }
        nearest[i] = many || !taken ? -1 : std::int32_t(found);
    }
}

}  // namespace svmfast::SVMFAST_ISA
