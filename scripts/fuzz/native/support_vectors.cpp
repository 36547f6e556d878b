// Fuzz target: the reader of LIBSVM's support vectors and of plain lists of numbers against the slow reader.
//
// Byte 0 of an input: coefficients a line and the precomputed kernel; byte 1: declared number of support vectors.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "slow.hpp"
#include "sv_section.hpp"

namespace {

void different(const char *what) {
    std::fprintf(stderr, "the native reader and the slow one differ: %s\n", what);
    std::abort();
}

// A token that the native number readers accept must give the same number as the slow ones.
void check_numbers(const char *begin, const char *end) {
    for (const char *p = begin; p < end;) {
        while (p < end && svmfast::ends_number(*p)) ++p;
        const char *stop = p;
        while (stop < end && !svmfast::ends_number(*stop)) ++stop;
        if (stop == p) break;
        const std::string token(p, stop);
        double value = 0, expected = 0;
        const char *const after = svmfast::read_double(p, end, value);
        const bool taken = after == stop, right = slow::number(token, expected);
        if (taken != right || (taken && std::memcmp(&value, &expected, sizeof value) != 0)) different("a number");
        std::int64_t whole = 0, wanted = 0;
        const char *const behind = svmfast::read_integer(p, end, whole);
        if ((behind == stop) != slow::integer(token, wanted) || (behind == stop && whole != wanted))
            different("an integer");
        p = stop;
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *input, std::size_t size) {
    if (size < 2) return 0;
    const std::size_t n_coef = 1 + (input[0] & 3), n_sv = input[1] & 31;
    const bool precomputed = input[0] & 4;
    const std::string text(reinterpret_cast<const char *>(input + 2), size - 2);
    const std::unique_ptr<char[]> buffer(new char[text.size() + 1]);
    std::memcpy(buffer.get(), text.data(), text.size());
    buffer[text.size()] = '\0';
    const char *const begin = buffer.get(), *const end = begin + text.size();
    check_numbers(begin, end);
    if (n_sv > (text.size() + 1) / 2 / n_coef) return 0;  // refused before it gets here

    const auto most = static_cast<std::size_t>(std::count(begin, end, ':'));
    const std::unique_ptr<double[]> coef(new double[n_coef * n_sv]), values(new double[most]);
    const std::unique_ptr<std::int64_t[]> indptr(new std::int64_t[n_sv + 1]());
    const std::unique_ptr<std::int32_t[]> indices(new std::int32_t[most]);
    svmfast::SvSection section{coef.get(), indptr.get(), indices.get(), values.get()};
    section.read(begin, end, n_sv, n_coef, precomputed);

    if (section.position < begin || section.position > end) different("the place of a fault lies outside");
    slow::Vectors expected;
    const bool right = slow::read_vectors(text, n_sv, n_coef, precomputed, expected);
    if (right != (section.fault == svmfast::sv_ok)) different(right ? "refused" : "accepted");
    if (!right) return 0;
    std::size_t k = 0;
    for (std::size_t i = 0; i < n_sv; ++i) {
        for (std::size_t c = 0; c < n_coef; ++c)
            if (std::memcmp(&coef[c * n_sv + i], &expected.coef[i][c], sizeof(double)) != 0) different("coefficient");
        for (const auto &[column, value] : expected.rows[i]) {
            if (indices[k] != column || std::memcmp(&values[k], &value, sizeof value) != 0) different("feature");
            ++k;
        }
        if (indptr[i + 1] != static_cast<std::int64_t>(k)) different("row pointer");
    }
    return 0;
}
