// The columns that a model uses, and the position of a row's columns among them. Memory is proportional to their
// number, not to the width: a table where they lie close together, otherwise open addressing.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "csr.hpp"

namespace svmfast {

class ActiveColumns {
  public:
    ActiveColumns() = default;

    // Constructs the set from columns in ascending order.
    explicit ActiveColumns(std::vector<std::int32_t> ascending) : columns(std::move(ascending)) {
        const std::size_t n = columns.size();
        for (std::size_t i = 0; i < n; ++i)
            if (columns[i] < 0 || (i && columns[i] <= columns[i - 1]))
                throw std::invalid_argument("columns that are not in ascending order");
        if (n == 0) return;
        const std::size_t width = static_cast<std::size_t>(columns.back()) + 1;
        identity = width == n;
        if (width <= TABLE_WIDTH * n + TABLE_ALWAYS) {
            table.assign(width, -1);
            for (std::size_t i = 0; i < n; ++i) table[columns[i]] = static_cast<std::int32_t>(i);
            return;
        }
        int bits = 1;
        while ((std::size_t{1} << bits) < 2 * n) ++bits;
        slots.assign(std::size_t{1} << bits, Slot{-1, -1});
        shift = 32 - bits;
        for (std::size_t i = 0; i < n; ++i) {
            std::size_t at = slot(columns[i]);
            while (slots[at].column >= 0) at = (at + 1) & (slots.size() - 1);
            slots[at] = {columns[i], static_cast<std::int32_t>(i)};
        }
    }

    // The same from columns in any order, possibly repeated.
    static ActiveColumns of(const std::int32_t *indices, std::size_t count) {
        return ActiveColumns(distinct(indices, count));
    }

    // Returns the columns without repetitions, in ascending order.
    static std::vector<std::int32_t> distinct(const std::int32_t *indices, std::size_t count) {
        std::vector<std::int32_t> found;
        const std::int32_t last = count ? *std::max_element(indices, indices + count) : -1;
        if (last >= 0 && static_cast<std::size_t>(last) < 4 * count) {  // marks are faster than a sort
            std::vector<bool> used(static_cast<std::size_t>(last) + 1);
            for (std::size_t k = 0; k < count; ++k)
                if (indices[k] >= 0) used[indices[k]] = true;
            for (std::int32_t column = 0; column <= last; ++column)
                if (used[column]) found.push_back(column);
            return found;
        }
        found.assign(indices, indices + count);
        std::sort(found.begin(), found.end());
        found.erase(std::unique(found.begin(), found.end()), found.end());
        return found;
    }

    std::size_t size() const { return columns.size(); }
    std::int32_t operator[](std::size_t i) const { return columns[i]; }
    // Whether the columns are 0, 1, 2, ...: a column below size() is then its own position.
    bool plain() const { return identity; }

    // Whether all columns of a row are their own positions.
    bool all_plain(const Csr &rows, std::size_t row) const {
        const std::int64_t end = rows.indptr[row + 1];
        return identity && (rows.indptr[row] == end || std::size_t(rows.indices[end - 1]) < columns.size());
    }

    // The position of a column among them, or -1.
    std::int32_t position(std::int32_t column) const {
        const std::size_t c = static_cast<std::uint32_t>(column);
        if (!table.empty()) return c < table.size() ? table[c] : -1;
        if (slots.empty()) return -1;
        for (std::size_t at = slot(column);; at = (at + 1) & (slots.size() - 1)) {
            if (slots[at].column == column) return slots[at].position;
            if (slots[at].column < 0) return -1;
        }
    }

  private:
    struct Slot {
        std::int32_t column, position;
    };
    // The table, 4 bytes per column, takes about as much memory as the slots would, or less.
    static constexpr std::size_t TABLE_WIDTH = 8, TABLE_ALWAYS = 64;

    std::size_t slot(std::int32_t column) const {
        return static_cast<std::uint32_t>(static_cast<std::uint32_t>(column) * 2654435769u) >> shift;
    }

    std::vector<std::int32_t> columns, table;
    std::vector<Slot> slots;
    int shift = 0;
    bool identity = true;
};

}  // namespace svmfast
