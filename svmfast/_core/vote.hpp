// LIBSVM's vote among k classes: each pair has a decision value, in the order (0, 1), (0, 2), .., (1, 2), ..
// The same in NumPy: svmfast/votes.py counts, svmfast/models/head.py decides.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace svmfast {

// The number of the pair of classes i < j.
static constexpr std::size_t pair_number(std::size_t k, std::size_t i, std::size_t j) {
    return i * k - i * (i + 1) / 2 + j - i - 1;
}

// Calls visit(i, j) for the pairs of classes i < j in their order.
template <class Visit>
static inline void each_pair(std::size_t k, Visit &&visit) {
    for (std::size_t i = 0; i < k; ++i)
        for (std::size_t j = i + 1; j < k; ++j) visit(i, j);
}

// Whether a decision value is a vote for the first class of its pair; any other, nan too, is one for the second.
static constexpr bool votes_for_first(double value) { return value > 0; }

// Whether a value is certain to have its sign if it errs by at most `bound`. Of a value that has left the range of
// doubles nothing is known, whatever the bound: in another order the sum may stay inside.
static inline bool proves_sign(double value, double bound) { return std::fabs(value) > bound && std::isfinite(value); }

// Which side such a value is certain to take: 0 that of the first class, 1 of the second, or -1.
static inline int proven_side(double value, double bound) {
    return proves_sign(value, bound) ? (votes_for_first(value) ? 0 : 1) : -1;
}

// The class with the most votes; ties go to the lower number.
static inline std::size_t most_votes(const std::vector<int> &votes) {
    return std::max_element(votes.begin(), votes.end()) - votes.begin();
}
// Whether class c with n votes would win over another class with m votes, by the same rule for ties.
static constexpr bool wins_over(std::size_t c, int n, std::size_t other, int m) { return n + (c < other) > m; }

// The class that wins the vote whatever the open pairs are, or -1. side(i, j): which class of the pair i < j wins: 0
// the first, 1 the second, -1 open. least, open: scratch of one number for each class.
template <class Side>
static inline std::int32_t certain_winner(std::vector<int> &least, std::vector<int> &open, Side &&side) {
    std::fill(least.begin(), least.end(), 0);
    std::fill(open.begin(), open.end(), 0);
    each_pair(least.size(), [&](std::size_t i, std::size_t j) {
        const int won = side(i, j);
        if (won >= 0) {
            ++least[won ? j : i];
        } else {
            ++open[i], ++open[j];
        }
    });
    const std::size_t best = most_votes(least);
    // Open pairs can only add votes for the others.
    for (std::size_t c = 0; c < least.size(); ++c)
        if (c != best && wins_over(c, least[c] + open[c], best, least[best])) return -1;
    return static_cast<std::int32_t>(best);
}

// The class that wins the vote of these decision values; of a single value 0, the positive side, or 1. `votes` is
// scratch of one number for each class.
static inline std::size_t winner(const double *value, std::size_t functions, std::vector<int> &votes) {
    if (functions == 1) return votes_for_first(*value) ? 0 : 1;
    std::fill(votes.begin(), votes.end(), 0);
    each_pair(votes.size(), [&](std::size_t i, std::size_t j) { ++votes[votes_for_first(*value++) ? i : j]; });
    return most_votes(votes);
}

}  // namespace svmfast
