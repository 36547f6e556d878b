// The library: kernel models of LIBSVM's kind, their values and labels for sparse rows, and LIBSVM's text.
//
// Functions throw std::exception for what they are given; errors in text are returned. docs/export.md has an
// example.
#pragma once
#include <cmath>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "arrays.hpp"
#include "interrupt.hpp"
#include "math.hpp"
#include "svmlight.hpp"
#include "threads.hpp"

namespace svmfast {

// Thrown for a model or a job that is not plain: it is wrong, or unusual in any way.
struct Declined : std::exception {};
inline void require(bool plain) {
    if (!plain) throw Declined();
}

// The instruction set in use: "avx512", "avx2" or "baseline".
const char *isa();

// Reads LIBSVM data text. Lines are fed block by block; rows can be taken between blocks.
class Tokenizer {
  public:
    explicit Tokenizer(const svmlight::Options &options) : options_(options) {}

    // Parses text[begin, end), whole lines followed by text::padding readable bytes. Returns the first fault, which
    // points into the text, or nullptr.
    const svmlight::Fault *feed(In1<std::uint8_t> text, std::size_t begin, std::size_t end, Threads threads);

    // The rows since the block was last cleared.
    svmlight::Block &block() { return whole_; }

  private:
    svmlight::Options options_;
    svmlight::Block whole_;
    std::vector<svmlight::Block> rest_;
};

// A kernel expansion. Support vectors are sparse rows (indptr, indices, values), classes one after another; sv_coef is
// (classes - 1, vectors), rho has a number for each pair of classes. One class with several rows of coefficients is a
// vector-valued expansion. Keeps the arrays.
class DecisionSums {
  public:
    DecisionSums(int kind, double gamma, double coef0, int degree, const SparseRows &vectors, In2<double> sv_coef,
                 In1<double> rho, In1<std::int64_t> group_sizes);
    DecisionSums(DecisionSums &&) noexcept;
    ~DecisionSums();

    // Decision values (rows, functions), and how many rows were summed in LIBSVM's order: those whose label rounding
    // could change, or all.
    std::tuple<Out<double>, std::size_t> decide(const SparseRows &rows, bool libsvm_order, Threads threads);

    // Decision values and bounds on |value - LIBSVM's value|, in double precision, where bounds are 0 if LIBSVM's order
    // was used, or in single precision, where they are infinite if there are none.
    std::tuple<Out<double>, Out<double>> values(const SparseRows &rows, bool single, Threads threads);

    // The winning class of each row (0 and 1 are the positive and the negative side of a single function), the same as
    // decide() gives. Also the numbers of rows that single precision answered and that were summed in LIBSVM's order.
    std::tuple<Out<std::int32_t>, std::size_t, std::size_t> labels(const SparseRows &rows, Threads threads);

    // Decision values that give the probabilities as svm-predict prints them: rows for which rounding could change a
    // printed digit or the most probable label are summed in LIBSVM's order. a, b: the sigmoids of the pairs; marks:
    // one-class's densities instead.
    Out<double> probability_values(const SparseRows &rows, In1<double> a, In1<double> b, In1<double> marks,
                                   Threads threads);

    bool scattered() const;
    // Whether the double tier counts one-hot columns, which takes no longer than single precision.
    bool one_hot();
    // The number of columns that share a lane if the support vectors are on a lattice: 4 or 2; 0 without a lattice.
    std::size_t lattice();

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// The classes' probabilities from decision values of pairs, with the pairs' sigmoids. With errors, which bound the
// distance of LIBSVM's decision values, the second result marks the rows for which LIBSVM's estimates could be printed
// differently.
std::tuple<Out<double>, Out<std::uint8_t>> probabilities(In2<double> decisions, In1<double> a, In1<double> b,
                                                         std::size_t classes, std::optional<In2<double>> errors,
                                                         Threads threads);

// The probability of being normal: the density bin of a decision value among ten marks
// (svm_predict_one_class_probability).
double density(double decision, const double *marks);

enum class SvmType { c_svc, nu_svc, one_class, epsilon_svr, nu_svr };

// A model file of LIBSVM.
struct LibsvmModel {
    SvmType type = SvmType::c_svc;
    int kernel = 0;  // a KernelKind
    int degree = 0;
    double gamma = 0, coef0 = 0;
    std::vector<std::int32_t> labels;  // of a classifier
    std::vector<std::int64_t> group_sizes;
    std::vector<double> rho, prob_a, prob_b, density_marks;
    Out<double> sv_coef, values;
    Out<std::int64_t> indptr;
    Out<std::int32_t> indices;
    std::int64_t columns = 0;

    SparseRows vectors() const {
        return {{indptr.data.get(), indices.data.get(), values.data.get()}, indptr.shape[0] - 1};
    }
    bool classifier() const { return type == SvmType::c_svc || type == SvmType::nu_svc; }
    bool regression() const { return type == SvmType::epsilon_svr || type == SvmType::nu_svr; }
    bool has_probability() const { return !prob_a.empty() || !density_marks.empty(); }
};

// A well-formed model of two or more classes or one value, with one of LIBSVM's kernels on features; any other text is
// declined. text::padding readable bytes follow the text.
LibsvmModel read_libsvm_model(std::string_view text);

// The model's expansion, which keeps its arrays.
DecisionSums decision_sums(const LibsvmModel &model);

// Blocks of some megabytes come from the heap, which keeps its free memory. By default glibc returns such blocks to the
// system at once, and the system clears every page of the next one again. For programs: it applies to the whole
// process. Other C libraries are left alone.
void keep_freed_memory();

// What svm-predict is asked to do.
struct PredictJob {
    std::string data, model, output = "-";
    bool probability = false, quiet = false;
    Threads threads = 1;
};

// The job that svm-predict's arguments [-b 0|1] [-q] [-j threads] data model [output] name; others are declined.
PredictJob plain_job(const std::vector<std::string> &arguments);

// What predict_file() gives besides the predictions: a summary, and counts for remarks.
struct Prediction {
    PredictJob job;
    std::string summary;  // svm-predict's other lines, for stdout or, if that has the predictions, for stderr
    std::size_t rows = 0, correct = 0, unknown = 0, differing = 0;
    std::int64_t largest_column = -1, columns = 0;  // of the rows; the number of the model's
    // Of a classifier: label, its rows, rows for which it is predicted, and those for which that is correct.
    std::vector<std::tuple<double, std::size_t, std::size_t, std::size_t>> classes;
    // Squared norms: the median of the first rows, how many these are, and the least and the largest of the vectors.
    std::size_t scale_rows = 0;
    double median_norm = 0, least_norm = 0, largest_norm = HUGE_VAL;
};

// Predicts a regular file of LIBSVM's data text by a LIBSVM model, and writes what svm-predict writes; an output file
// appears complete or not at all. A job that is not plain is declined, at the latest by its last row, and no output has
// appeared then: a file is missing, wrong, compressed, not a regular file, unusual in any way. `svmfast predict` then
// does the job or says what is wrong.
Prediction predict_file(const PredictJob &job);

}  // namespace svmfast
