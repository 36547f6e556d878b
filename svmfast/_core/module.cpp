// Entry point of the extension: each source file registers its own functions.
#include <nanobind/nanobind.h>

#include "threads.hpp"

namespace nb = nanobind;

void register_interrupt(nb::module_ &m);          // interrupt.cpp: checks for signals in long loops
void register_heap(nb::module_ &m);               // heap.cpp: what the C library does with freed memory
void register_budget(nb::module_ &m);             // budget.cpp: budgeted SGD with merging
void register_refit(nb::module_ &m);              // refit.cpp: coefficients for fixed vectors
void register_decision(nb::module_ &m);           // decision.cpp: exact kernel decision values
void register_model_text(nb::module_ &m);         // model_text.cpp: numbers of model files
void register_routed(nb::module_ &m);             // routed.cpp: nearest cells, Laplacian kernel
void register_cells(nb::module_ &m);              // cells.cpp: small expansions, one for each cell
void register_polynomial(nb::module_ &m);         // polynomial.cpp: truncated expansions
void register_polynomial_values(nb::module_ &m);  // polynomial_values.cpp: their values for rows
void register_svmlight(nb::module_ &m);           // svmlight_module.cpp: LIBSVM data text
void register_reduced_set(nb::module_ &m);        // reduced_set.cpp: compress's objective and gradient
void register_probability(nb::module_ &m);        // probability.cpp: LIBSVM's probability estimates
void register_scaling(nb::module_ &m);            // scaling.cpp: columns scaled, as svm-scale does
void register_table(nb::module_ &m);              // table.cpp: columns of a table to rows
void register_votes(nb::module_ &m);              // votes.cpp: votes while some signs are open

NB_MODULE(_native, m) {
    // Objects that a cache or a saved traceback still holds at interpreter exit are not errors; do not report them on
    // stderr.
    nb::set_leak_warnings(false);
    m.doc() = "Native loops of svmfast: typed arrays in, typed arrays out.";
    m.def(
        "set_least_threaded_work", [](double multiply_adds) { svmfast::least_threaded_work = multiply_adds; },
        nb::arg("multiply_adds"));
    register_interrupt(m);
    register_heap(m);
    register_budget(m);
    register_refit(m);
    register_decision(m);
    register_model_text(m);
    register_routed(m);
    register_cells(m);
    register_polynomial(m);
    register_polynomial_values(m);
    register_svmlight(m);
    register_reduced_set(m);
    register_probability(m);
    register_scaling(m);
    register_table(m);
    register_votes(m);
}
