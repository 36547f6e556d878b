// Converts columns of a table, each of its own type, to sparse rows.

#include <cmath>
#include <vector>

#include "growing.hpp"
#include "loops.hpp"

namespace svmfast {
namespace {

// Number of rows gathered at a time, so that their values stay in the cache.
constexpr std::size_t tile_rows = 64;

template <class T>
void gather(const void *column, std::size_t first, std::size_t rows, double *out, std::size_t stride) {
    const T *from = static_cast<const T *>(column) + first;
    for (std::size_t i = 0; i < rows; ++i) out[i * stride] = static_cast<double>(from[i]);
}

using Gather = void (*)(const void *, std::size_t, std::size_t, double *, std::size_t);

template <class Small, class Short, class Int, class Long>
Gather integers(std::size_t bits) {
    return bits == 8 ? gather<Small> : bits == 16 ? gather<Short> : bits == 32 ? gather<Int> : gather<Long>;
}

Gather gather_of(const Column &column) {
    if (column.kind == Column::Kind::real) return column.bits == 32 ? gather<float> : gather<double>;
    if (column.kind == Column::Kind::integer)
        return integers<std::int8_t, std::int16_t, std::int32_t, std::int64_t>(column.bits);
    return integers<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(column.bits);
}

}  // namespace

TableRows table_rows(const std::vector<Column> &columns, std::size_t n) {
    const std::size_t d = columns.size();
    std::vector<Gather> gathers;
    for (const Column &column : columns) {
        if (column.size != n) throw std::invalid_argument("columns of one length");
        gathers.push_back(gather_of(column));
    }
    Growing<std::int64_t> starts;
    Growing<std::int32_t> indices;
    Growing<double> values;
    std::size_t bad_row = n, bad_column = d;
    std::vector<double> tile(tile_rows * d);
    starts.reserve_more(n + 1);
    std::int64_t *start = starts.end();
    *start++ = 0;
    // Unused pages are never touched.
    indices.reserve_more(n * d);
    values.reserve_more(n * d);
    std::int32_t *const indices_begin = indices.end();
    double *const values_begin = values.end();
    std::size_t stored = 0;
    for (std::size_t first = 0; first < n && bad_row == n; first += tile_rows) {
        const std::size_t rows = n - first < tile_rows ? n - first : tile_rows;
        for (std::size_t j = 0; j < d; ++j) gathers[j](columns[j].data, first, rows, tile.data() + j, d);
        bool finite = true;
        for (std::size_t at = 0; at < rows * d; ++at) finite &= tile[at] - tile[at] == 0;
        for (std::size_t at = 0; !finite && at < rows * d && bad_row == n; ++at)
            if (!std::isfinite(tile[at])) bad_row = first + at / d, bad_column = at % d;
        for (std::size_t i = 0; i < rows; ++i) {
            const double *row = tile.data() + i * d;
            for (std::size_t j = 0; j < d; ++j) {
                // Always written, but kept only if it is not 0: no branch to mispredict.
                indices_begin[stored] = static_cast<std::int32_t>(j);
                values_begin[stored] = row[j];
                stored += row[j] != 0;
            }
            *start++ = static_cast<std::int64_t>(stored);
        }
    }
    indices.set_end(indices_begin + stored);
    values.set_end(values_begin + stored);
    starts.set_end(start);
    if (bad_row < n) return std::make_tuple(bad_row, bad_column);
    return std::make_tuple(starts.give(), indices.give(), values.give());
}

}  // namespace svmfast
