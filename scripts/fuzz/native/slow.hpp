// The slow, obvious readers with which the native ones are compared: one line, one rule at a time, strtod for numbers.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace slow {

inline bool digit(char c) { return c >= '0' && c <= '9'; }

// [+-]digits[.digits][e[+-]digits] with a digit in the mantissa, finite.
inline bool number(const std::string &token, double &value) {
    std::size_t i = 0, mantissa = 0;
    if (i < token.size() && (token[i] == '+' || token[i] == '-')) ++i;
    while (i < token.size() && digit(token[i])) ++i, ++mantissa;
    if (i < token.size() && token[i] == '.') {
        ++i;
        while (i < token.size() && digit(token[i])) ++i, ++mantissa;
    }
    if (mantissa == 0) return false;
    if (i < token.size() && (token[i] == 'e' || token[i] == 'E')) {
        ++i;
        if (i < token.size() && (token[i] == '+' || token[i] == '-')) ++i;
        const std::size_t before = i;
        while (i < token.size() && digit(token[i])) ++i;
        if (i == before) return false;
    }
    if (i != token.size()) return false;
    value = std::strtod(token.c_str(), nullptr);
    return std::isfinite(value);
}

// [+-]digits within 64 bits.
inline bool integer(const std::string &token, std::int64_t &value) {
    std::size_t i = 0;
    const bool negative = !token.empty() && token[0] == '-';
    if (!token.empty() && (token[0] == '+' || token[0] == '-')) ++i;
    if (i == token.size()) return false;
    __extension__ unsigned __int128 sum = 0;
    for (; i < token.size(); ++i) {
        if (!digit(token[i])) return false;
        sum = sum * 10 + static_cast<unsigned>(token[i] - '0');
        if (sum > static_cast<unsigned __int128>(1) << 63) return false;
    }
    if (!negative && sum >> 63) return false;
    value = negative ? static_cast<std::int64_t>(-sum) : static_cast<std::int64_t>(sum);
    return true;
}

// The pieces between the characters of `separators`, empty ones included.
inline std::vector<std::string> split(const std::string &text, const char *separators) {
    std::vector<std::string> parts;
    for (std::size_t begin = 0;;) {
        const std::size_t end = text.find_first_of(separators, begin);
        parts.push_back(text.substr(begin, end - begin));
        if (end == std::string::npos) return parts;
        begin = end + 1;
    }
}

inline std::vector<std::string> words(const std::string &text) {
    std::vector<std::string> found;
    for (const std::string &part : split(text, " \t"))
        if (!part.empty()) found.push_back(part);
    return found;
}

inline std::string strip(const std::string &text) {
    const auto first = text.find_first_not_of(" \t");
    return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

struct Data {
    std::vector<double> labels;  // all numbers before the entries
    std::vector<std::int64_t> indptr{0};
    std::vector<std::int32_t> indices;
    std::vector<double> values;
    std::int64_t width = 0, lines = 0;
    std::int64_t row_width = -1;  // of dense and precomputed rows, once there is one
};

struct Options {
    bool zero_based, precomputed, dense, lenient;
    std::size_t numbers;  // before the entries
};

using Row = std::map<std::int64_t, double>;

inline bool dense_row(const std::string &body, const Options &options, std::vector<double> &values) {
    const std::string text = strip(body);
    std::vector<std::string> fields;
    if (text.find(',') != std::string::npos)
        for (const std::string &field : split(text, ",")) fields.push_back(strip(field));
    else
        fields = words(text);
    for (const std::string &field : fields) {
        double value;
        if (!number(field, value)) return false;
        values.push_back(value);
    }
    return values.size() > options.numbers;
}

inline bool sparse_row(const std::vector<std::string> &tokens, const Options &options, Row &row) {
    const std::int64_t least = options.zero_based || options.precomputed ? 0 : 1;
    const std::int64_t most = std::numeric_limits<std::int32_t>::max() - (options.zero_based ? 1 : 0);
    std::int64_t highest = -1;
    for (std::size_t place = options.numbers; place < tokens.size(); ++place) {
        const std::string &token = tokens[place];
        const auto colon = token.find(':');
        if (colon == std::string::npos) return false;
        const std::string index_text = token.substr(0, colon), value_text = token.substr(colon + 1);
        std::int64_t index = 0;
        double value = 0;
        if (index_text == "qid") {
            if (place != options.numbers || !integer(value_text, index)) return false;
            continue;
        }
        if (!integer(index_text, index) || index < least || index > most) return false;
        if (!(options.precomputed && index == 0 && value_text == "?") && !number(value_text, value)) return false;
        if (row.count(index - least) || (index < highest && !options.lenient)) return false;
        highest = std::max(highest, index);
        row[index - least] = value;
    }
    return true;
}

// One line without its end; false if it breaks a rule. `data` then keeps the rows before it.
inline bool read_line(std::string line, const Options &options, Data &data) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    const bool carriage = line.find('\r') != std::string::npos;
    const std::string body = line.substr(0, line.find_first_of("#\r"));
    if (strip(body).empty()) {
        if (carriage) return false;
        if (options.lenient || line.find('#') != std::string::npos) return true;
        // Without labels a blank line is a row of zeros.
        if (options.numbers || options.dense || options.precomputed) return false;
    }
    Row row;
    std::vector<double> labels(options.numbers);
    std::int64_t columns = 0;
    if (options.dense) {
        std::vector<double> values;
        if (!dense_row(body, options, values)) return false;
        const auto first = values.begin() + static_cast<std::ptrdiff_t>(options.numbers);
        labels.assign(values.begin(), first);
        values.erase(values.begin(), first);
        for (std::size_t c = 0; c < values.size(); ++c)
            if (values[c] != 0) row[static_cast<std::int64_t>(c)] = values[c];
        columns = static_cast<std::int64_t>(values.size());
    } else {
        const std::vector<std::string> tokens = words(body);
        if (tokens.size() < options.numbers) return false;
        for (std::size_t i = 0; i < options.numbers; ++i)
            if (!number(tokens[i], labels[i])) return false;
        if (!sparse_row(tokens, options, row)) return false;
        columns = row.empty() ? 0 : row.rbegin()->first + 1;
        if (options.precomputed && (row.empty() || columns != static_cast<std::int64_t>(row.size()))) return false;
    }
    if (carriage) return false;
    if (options.dense || options.precomputed) {
        if (data.row_width < 0) data.row_width = columns;
        if (data.row_width != columns) return false;
    }
    data.labels.insert(data.labels.end(), labels.begin(), labels.end());
    for (const auto &[column, value] : row) {
        data.indices.push_back(static_cast<std::int32_t>(column));
        data.values.push_back(value);
    }
    data.indptr.push_back(static_cast<std::int64_t>(data.values.size()));
    data.width = std::max(data.width, columns);
    return true;
}

// Adds the rows of `text` to `data`; false at the first bad line, which is then line number `data.lines`.
inline bool read_data(const std::string &text, const Options &options, Data &data) {
    std::vector<std::string> lines = split(text, "\n");
    if (lines.back().empty()) lines.pop_back();
    for (const std::string &line : lines) {
        ++data.lines;
        if (!read_line(line, options, data)) return false;
    }
    return true;
}

}  // namespace slow
