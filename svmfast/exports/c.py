"""The C export: one self-contained C99 header of tables and loops, which also compiles as C++.

The templates are filled from one dictionary of words, to which every part of the file adds its own: a word is
a piece of C text, or a fact that decides which lines stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from svmfast.display import count
from svmfast.exports import c_answer, c_fixed
from svmfast.exports.accuracy import Settings
from svmfast.exports.c_answer import ANSWER, CERTAIN, CLASS_NAMES, PROBABILITY, label_text, probability_words
from svmfast.exports.c_arithmetic import EXPONENTIAL, ROOT, TANH, arithmetic_words
from svmfast.exports.c_fixed import fixed_words
from svmfast.exports.c_rows import ROUTE, ROW, route_words, row_words
from svmfast.exports.c_text import Sizes, Tables, Words, commented
from svmfast.exports.c_values import EXPANSIONS, POLYNOMIAL, SUMS, VALUES, value_words
from svmfast.exports.certain import Bound, bound_of
from svmfast.exports.computation import Computation, KernelSums, computation_of
from svmfast.exports.fixed import Fixed
from svmfast.exports.fixed_plan import thresholds
from svmfast.exports.reference import evaluate as evaluate
from svmfast.models.base import Model
from svmfast.models.polynomial import PolynomialModel
from svmfast.rows import FloatArray

#: Refuses compilers and options whose numbers are not those of IEEE 754. A preprocessor sees no type of a
#: constant, so that a size states it. Then macros that declare functions, and place and read tables, which a
#: program may define before including the file.
HEAD = """\
#ifndef $N_H
#define $N_H

?!fixed:#include <float.h>
#include <stddef.h>
#include <stdint.h>
?!fixed:#include <string.h>

?single:#if FLT_RADIX != 2 || FLT_MANT_DIG != 24 || FLT_MAX_EXP != 128
?single:#error "this file needs a float of 32 bits as in IEEE 754"
?double:#if FLT_RADIX != 2 || DBL_MANT_DIG != 53 || DBL_MAX_EXP != 1024
?double:#error "this file needs a double of 64 bits as in IEEE 754; elsewhere export single precision"
?!fixed:#endif
?double:@no_short_constants@
?double:typedef char $n_needs_no_single_precision_constant_[sizeof(0.1) == sizeof(double) ? 1 : -1];

#define $N_FEATURES @width@
#define $N_FUNCTIONS @p@
#define $N_TABLE_BYTES @flash@
?fixed:/* Decision values are integers; one unit is this much. */
?fixed:#define $N_UNIT @unit@
?certain:#define $N_HAS_CERTAIN 1
?probability:#define $N_CLASSES @k@
@names@
/* The specifiers of every function. */
#ifndef $N_INLINE
#ifdef __GNUC__
#define $N_INLINE static inline __attribute__((unused))
#else
#define $N_INLINE static inline
#endif
#endif
?fixed:#ifndef $N_LOOP
?fixed:#ifdef __GNUC__
?fixed:#define $N_LOOP static __attribute__((noinline, unused))
?fixed:#else
?fixed:#define $N_LOOP static
?fixed:#endif
?fixed:#endif
/* Tables lie in flash. Where that must be declared, as on AVR, define these before this file is included. */
#ifndef $N_TABLE
#ifdef __AVR__
#include <avr/pgmspace.h>
#define $N_TABLE PROGMEM
#define $N_READ(place) pgm_read_float(place)
#define $N_READ_8(place) pgm_read_byte(place)
#define $N_READ_16(place) pgm_read_word(place)
#define $N_READ_32(place) pgm_read_dword(place)
?fixed:#if defined(__AVR_HAVE_MUL__) && defined(__AVR_HAVE_LPMX__)
?fixed:@avr_loop@
?fixed:#endif
#else
#define $N_TABLE
#define $N_READ(place) (*(place))
#define $N_READ_8(place) (*(place))
#define $N_READ_16(place) (*(place))
#define $N_READ_32(place) (*(place))
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

?!fixed:typedef @type@ $n_real;
typedef @input_type@ $n_input;
"""

_NO_SHORT_CONSTANTS = (
    "/* -fsingle-precision-constant would shorten the numbers below: leave it out, "
    "or export single precision. */"
)

END = """\
#ifdef __cplusplus
}
#endif

#endif
"""

#: The functions that programs call.
ENTRIES = """\
/* Decision values of a dense row x[$N_FEATURES], in LIBSVM's order, into out[$N_FUNCTIONS]. */
$N_INLINE void $n_decision(const @input@ *x, @value@ *out) {
?direct:    $n_values_(x, @0@, out);
?!direct !fixed:    $n_real v[@d@], rest = $n_variables_(x, v);
?!direct !fixed:    $n_values_(v, rest, out);
?fixed:    int16_t v[@d@];
?fixed:    int outside = 0;
?fixed:    const uint32_t s = $n_variables_(x, v, &outside);
?fixed:    $n_values_(v, s, out);
}

?regression:$N_INLINE @value@ $n_value(const @input@ *x) {
?!regression:/* The label of a dense row. */
?!regression:$N_INLINE @label_type@ $n_predict(const @input@ *x) {
    @value@ out[@p@];
    $n_decision(x, out);
?regression:    return out[0];
?!regression:    return $n_answer_(out);
}
?certain:
?certain:/* 1 only if the label of this file, also stored in *label unless that is NULL, is provably the one
?certain:   that the @proven@ model gives to x and to every row that @becomes@ x. 0: nothing is known. */
?certain:$N_INLINE int $n_certain(const @input@ *x, @label_type@ *label) {
?certain direct:    return $n_certain_(x, @0@, label);
?certain !direct !fixed:    $n_real v[@d@], rest = $n_variables_(x, v);
?certain !direct !fixed:    return $n_certain_(v, rest, label);
?certain fixed:    int16_t v[@d@];
?certain fixed:    int outside = 0;
?certain fixed:    const uint32_t s = $n_variables_(x, v, &outside);
?certain fixed:    return $n_certain_(v, s, outside, label);
?certain:}
"""

TEST = """\
#ifdef $N_TEST
@test_head@
@test_tables@
?!regression:/* The test: how many of the rows do not get the label of svmfast predict. */
?regression:/* The test: how many of the rows get a value farther than $N_TEST_TOLERANCE from predict's. */
$N_INLINE int $n_test(void) {
    @input@ x[$N_FEATURES];
?regression:    @value@ apart;
    int i, j, wrong = 0;
    for (i = 0; i < $N_TEST_ROWS; ++i) {
        for (j = 0; j < $N_FEATURES; ++j) x[j] = @read_input@($n_test_rows + (size_t)i * $N_FEATURES + j);
?!regression:        if ($n_predict(x) != $n_test_labels[i]) ++wrong;
?regression:        apart = $n_value(x) - @read_value@($n_test_values + i);
?regression:        if (!(apart <= $N_TEST_TOLERANCE && -apart <= $N_TEST_TOLERANCE)) ++wrong;
    }
    return wrong;
}

#ifdef $N_TEST_MAIN
#include <stdio.h>
int main(void) {
    int wrong = $n_test();
    printf("%d rows, %d wrong\\n", $N_TEST_ROWS, wrong);
    return wrong != 0;
}
#endif
#endif
"""


#: The functions of a file in integer arithmetic.
FIXED = (
    *c_fixed.FUNCTIONS,
    (ANSWER, "answer"),
    (c_fixed.CERTAIN, "certain"),
    (CLASS_NAMES, "cases"),
    (ENTRIES, "functions"),
)
#: The functions, each after those that it calls, with the word that says whether a file has it.
FUNCTIONS = (
    (EXPONENTIAL, "exp"),
    (TANH, "sigmoid"),
    (ROOT, "roots"),
    (ROUTE, "route"),
    (SUMS, "sums"),
    (POLYNOMIAL, "order"),
    (EXPANSIONS, "expansions"),
    (VALUES, "functions"),
    (ANSWER, "answer"),
    (CERTAIN, "certain"),
    (CLASS_NAMES, "cases"),
    (ROW, "functions"),
    (ENTRIES, "functions"),
    (PROBABILITY, "probability"),
)


def write(computation: Computation, settings: Settings) -> tuple[bytes, int]:
    """Write the header file; return it and the bytes of its tables."""
    tables, plan = Tables(settings.prefix, settings.dtype), settings.fixed
    if plan is None:
        bound = bound_of(computation, settings.dtype)
        words = _words(tables, computation, bound, settings.probability)
    else:
        words = _fixed_words(tables, computation, plan)
    functions: Iterable[tuple[str, str]] = FUNCTIONS if plan is None else FIXED
    code = [tables.fill(template, words) for template, needed in functions if words[needed]]
    words |= {"flash": tables.n_bytes, "names": _feature_names(settings)}
    test = "" if settings.test is None else _self_test(settings, computation, words)
    parts = [
        _comment(computation, settings, tables),
        tables.fill(HEAD, words),
        "\n".join(tables.texts),
        *code,
        test,
        END,
    ]
    text = "\n".join(part for part in parts if part)
    text = text.replace("$n", settings.prefix).replace("$N", settings.prefix.upper())
    return text.encode(), tables.n_bytes


def table_bytes(model: Model) -> int:
    """The bytes of a model's tables in single precision."""
    computation = computation_of(model)
    tables = Sizes("model", np.dtype(np.float32))
    _words(tables, computation, bound_of(computation, tables.dtype))
    return tables.n_bytes


def _words(tables: Tables, computation: Computation, bound: Bound | None, probability: bool = False) -> Words:
    """All words of a file; the tables come in this order."""
    values, head = computation.values, computation.head
    words = arithmetic_words(tables) | _common_words(computation, bound is not None)
    words |= {"no_short_constants": _NO_SHORT_CONSTANTS, "proven": "exact", "becomes": "rounds to"}
    words |= {"fixed": False, "input_type": "$n_real", "input": "$n_real", "value": "$n_real"}
    words |= {"read_input": "$N_READ", "read_value": "$N_READ"}
    sums = isinstance(values, KernelSums)
    words |= route_words(tables, computation) | value_words(tables, computation)
    words |= {
        "expansions": not sums,
        "exp": probability or words["sigmoid"] or (words["apart"] if sums else bool(words["gamma"])),
        "probability": probability,
        "roots": words["triangle"] or bound is not None,
    }
    words |= c_answer.answer_words(tables, head)
    if bound is not None:
        words |= c_answer.certain_words(tables, computation, bound)
    others = c_answer.class_name_words(tables, computation) | row_words(tables, computation)
    if probability:
        others |= probability_words(tables, head)
    assert not words.keys() & others.keys(), "two parts of the file have a word of one name"
    return words | others


def _common_words(computation: Computation, certain: bool) -> Words:
    head = computation.head
    return {
        "functions": True,
        "regression": head.is_regression,
        "certain": certain,
        "d": len(computation.variables if computation.map is None else computation.map[0]),
        "p": head.n_functions,
        "width": computation.n_features,
    }


def _fixed_words(tables: Tables, computation: Computation, plan: Fixed) -> Words:
    """All words of a file in integer arithmetic."""
    proven = thresholds(plan)
    bounded = isinstance(computation.values, PolynomialModel) and computation.values.has_error_bound
    words = fixed_words(tables, plan, proven) | _common_words(computation, proven is not None)
    words |= dict.fromkeys(("single", "double", "direct", "probability"), False)
    words |= {"proven": "exact" if bounded else "exported", "becomes": "becomes"}
    for name, bits in (("input", words["input_bits"]), ("value", 32)):
        words[f"read_{name}"] = f"({words[name]})$N_READ_{bits}"
    words |= c_answer.answer_words(tables, computation.head)
    return words | c_answer.class_name_words(tables, computation)


def _self_test(settings: Settings, computation: Computation, words: Words) -> str:
    """The test, compiled if $N_TEST is defined, and its main function (with $N_TEST_MAIN)."""
    test = settings.test
    assert test is not None
    tables, words = Tables(settings.prefix, settings.dtype), dict(words)
    fixed, head = settings.fixed is not None, ""

    def numbers(name: str, values: FloatArray, kind: Any) -> Any:
        return tables.whole(name, values, kind) if fixed else tables.reals(name, values)

    numbers("test_rows", test.values, settings.dtype)
    if test.left_out:
        head = f"/* {test.left_out} rows are left out: rounding may give them another label. */\n"
    head += f"#define $N_TEST_ROWS {len(test.values)}\n"
    if computation.head.is_regression:
        numbers("test_values", test.expected, np.int32)
        head += f"#define $N_TEST_TOLERANCE {tables.real(test.tolerance)}\n"
    else:
        type_ = words["label_type"]
        tables.add("test_labels", type_, [label_text(int(one), type_) for one in test.expected], 0)
    words |= {"test_head": head, "test_tables": "".join(tables.texts)}
    return tables.fill(TEST, words)


def _feature_names(settings: Settings) -> str:
    """Constants named after the features, whose values are the features' positions."""
    used: set[str] = set()
    lines = []
    for number, name in enumerate(settings.feature_names):
        word = re.sub(r"\W", "_", name, flags=re.ASCII).upper() or "FEATURE"
        while word in used:
            word += f"_{number}"
        used.add(word)
        lines.append(f"#define $N_X_{word} {number}\n")
    return "".join(lines)


def _comment(computation: Computation, settings: Settings, tables: Tables) -> str:
    features = count(computation.n_features, "feature")
    comment = [f"{settings.prefix}.h: {computation.head.words}, {features}.", ""]
    comment += [f"{name}: {value}" for name, value in settings.origin.items()]
    comment += ["", f"{settings.measured()}.", f"Tables: {tables.n_bytes:,} bytes."]
    return commented(comment)
