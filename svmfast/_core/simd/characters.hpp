// Characters of LIBSVM data text, many at a time: where tokens end, and the numbers that digits spell. One variant with
// SSE2, which every x86-64 has; 64-bit words on other machines.
#pragma once
#include <cstddef>
#include <cstdint>

#include "../text.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace svmfast::characters {

using text::every_byte;
using text::load8;

// Bit i: whether p[i] is a colon, a blank or below a blank.
inline std::uint64_t marks(const char *p) noexcept {
#if defined(__SSE2__)
    const __m128i blank = _mm_set1_epi8(' '), colon = _mm_set1_epi8(':');
    std::uint64_t bits = 0;
    for (int i = 0; i < 4; ++i) {
        const __m128i c = _mm_loadu_si128(reinterpret_cast<const __m128i *>(p + 16 * i));
        const __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(_mm_min_epu8(c, blank), c), _mm_cmpeq_epi8(c, colon));
        bits |= static_cast<std::uint64_t>(_mm_movemask_epi8(hit)) << (16 * i);
    }
    return bits;
#else
    constexpr std::uint64_t low = 0x7F * every_byte, top = 0x80 * every_byte;
    std::uint64_t bits = 0;
    for (int i = 0; i < 8; ++i) {
        const std::uint64_t c = load8(p + 8 * i), d = c ^ (':' * every_byte);
        const std::uint64_t above_blank = ((c & low) + 0x5F * every_byte) | c;
        const std::uint64_t no_colon = ((d & low) + low) | d;
        const std::uint64_t hit = (~(above_blank & no_colon) & top) >> 7;
        bits |= (hit * 0x0102040810204080u >> 56) << (8 * i);
    }
    return bits;
#endif
}

// The top `n` bytes of a word.
inline constexpr auto keep = [] {
    std::array<std::uint64_t, 9> masks{};
    for (std::size_t n = 1; n < masks.size(); ++n) masks[n] = ~std::uint64_t{0} << (64 - 8 * n);
    return masks;
}();

struct TwoNumbers {
    std::uint32_t first, second;
    bool valid;
};

// The numbers that the last n1 characters before end1 and the last n2 before end2 spell (0 to 8 each); not valid if one
// of them is not a digit. Reading backwards aligns the last digit, and a mask replaces what precedes by zeros; then
// neighbours are joined into pairs, fours and eights.
inline TwoNumbers two_numbers(const char *end1, std::size_t n1, const char *end2, std::size_t n2) noexcept {
#if defined(__SSE2__)
    const __m128i text =
        _mm_set_epi64x(static_cast<long long>(load8(end2 - 8)), static_cast<long long>(load8(end1 - 8)));
    const __m128i mask = _mm_set_epi64x(static_cast<long long>(keep[n2]), static_cast<long long>(keep[n1]));
    const __m128i v = _mm_and_si128(_mm_sub_epi8(text, _mm_set1_epi8('0')), mask);
    const bool valid = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(9)), v)) == 0xFFFF;
    const __m128i tens = _mm_mullo_epi16(_mm_and_si128(v, _mm_set1_epi16(0xFF)), _mm_set1_epi16(10));
    const __m128i pairs = _mm_add_epi16(tens, _mm_srli_epi16(v, 8));
    const __m128i fours = _mm_madd_epi16(pairs, _mm_set1_epi32(100 | 1 << 16));
    const __m128i eights = _mm_madd_epi16(_mm_packs_epi32(fours, fours), _mm_set1_epi32(10000 | 1 << 16));
    const auto both = static_cast<std::uint64_t>(_mm_cvtsi128_si64(eights));
    return {static_cast<std::uint32_t>(both), static_cast<std::uint32_t>(both >> 32), valid};
#else
    std::uint64_t bad = 0;
    const auto one = [&bad](const char *end, std::size_t n) {
        const std::uint64_t v = (load8(end - 8) ^ (0x30 * every_byte)) & keep[n];
        bad |= (v + 0x76 * every_byte) | v;
        return static_cast<std::uint32_t>(text::joined(v));
    };
    const std::uint32_t first = one(end1, n1), second = one(end2, n2);
    return {first, second, (bad & (0x80 * every_byte)) == 0};
#endif
}

}  // namespace svmfast::characters
