// The columns that a model uses, and the position of a row's columns among them. Memory is proportional to their
// number, not to the width: a table where they lie close together, otherwise a binary search.
#pragma once
#include <algorithm>
#include <stdexcept>
#include <vector>

#include "arrays.hpp"

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
        if (width > TABLE_WIDTH * n + TABLE_ALWAYS) return;
        table.assign(width, -1);
        for (std::size_t i = 0; i < n; ++i) table[columns[i]] = static_cast<std::int32_t>(i);
    }

    // The same from columns in any order, possibly repeated.
    static ActiveColumns of(const std::int32_t *indices, std::size_t count) {
        std::vector<std::int32_t> found;
        const std::int32_t last = count ? *std::max_element(indices, indices + count) : -1;
        if (last >= 0 && static_cast<std::size_t>(last) < 4 * count) {  // marks are faster than a sort
            std::vector<bool> used(static_cast<std::size_t>(last) + 1);
            for (std::size_t k = 0; k < count; ++k)
                if (indices[k] >= 0) used[indices[k]] = true;
            for (std::int32_t column = 0; column <= last; ++column)
                if (used[column]) found.push_back(column);
            return ActiveColumns(found);
        }
        found.assign(indices, indices + count);
        std::sort(found.begin(), found.end());
        found.erase(std::unique(found.begin(), found.end()), found.end());
        return ActiveColumns(found);
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
        return c < table.size() ? table[c] : table.empty() ? searched(column) : -1;
    }

    // Calls put(place, row, entry) for the entries of rows first .. first + count, column by column; returns where each
    // column's places start, and the end.
    template <class Put>
    std::vector<std::int64_t> each_by_column(const Csr &rows, std::size_t first, std::size_t count, Put &&put) const {
        std::vector<std::int64_t> start(size() + 1, 0);
        for (std::int64_t k = rows.indptr[first]; k < rows.indptr[first + count]; ++k)
            ++start[position(rows.indices[k]) + 1];
        for (std::size_t f = 0; f < size(); ++f) start[f + 1] += start[f];
        std::vector<std::int64_t> next(start);
        for (std::size_t i = 0; i < count; ++i)
            for (std::int64_t k = rows.indptr[first + i]; k < rows.indptr[first + i + 1]; ++k)
                put(static_cast<std::size_t>(next[position(rows.indices[k])]++), i, k);
        return start;
    }

  private:
    // The table takes at most this many times the memory of the columns, and a search longer than a look into it.
    static constexpr std::size_t TABLE_WIDTH = 8, TABLE_ALWAYS = 64;

    // (Inlined, it would slow the table down.)
    __attribute__((noinline)) std::int32_t searched(std::int32_t column) const {
        const auto found = std::lower_bound(columns.begin(), columns.end(), column);
        return found != columns.end() && *found == column ? static_cast<std::int32_t>(found - columns.begin()) : -1;
    }

    std::vector<std::int32_t> columns, table;
    bool identity = true;
};

}  // namespace svmfast
