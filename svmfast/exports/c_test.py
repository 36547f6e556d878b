"""The self-test of an exported C file: rows, expected answers, and a main function that compares them."""

from __future__ import annotations

import numpy as np

from svmfast.exports.c_text import Tables
from svmfast.exports.computation import Computation
from svmfast.exports.settings import Settings

_CLASSES = """\
/* How many of the rows do not get the label that svmfast predict gives them. */
$N_INLINE int $n_test(void) {
    $n_real x[$N_FEATURES];
    int i, j, wrong = 0;
    for (i = 0; i < $N_TEST_ROWS; ++i) {
        for (j = 0; j < $N_FEATURES; ++j) x[j] = $N_READ($n_test_rows + (size_t)i * $N_FEATURES + j);
        if ($n_predict(x) != $n_test_label_(i)) ++wrong;
    }
    return wrong;
}
"""

_VALUES = """\
/* How many of the rows get a value farther than $N_TEST_TOLERANCE from that of svmfast predict. */
$N_INLINE int $n_test(void) {
    $n_real x[$N_FEATURES], apart;
    int i, j, wrong = 0;
    for (i = 0; i < $N_TEST_ROWS; ++i) {
        for (j = 0; j < $N_FEATURES; ++j) x[j] = $N_READ($n_test_rows + (size_t)i * $N_FEATURES + j);
        apart = $n_value(x) - $N_READ($n_test_values + i);
        if (!(apart <= $N_TEST_TOLERANCE && -apart <= $N_TEST_TOLERANCE)) ++wrong;
    }
    return wrong;
}
"""

_MAIN = """
#ifdef $N_TEST_MAIN
#include <stdio.h>
int main(void) {
    int wrong = $n_test();
    printf("%d rows, %d wrong\\n", $N_TEST_ROWS, wrong);
    return wrong != 0;
}
#endif
"""


def self_test(settings: Settings, computation: Computation, type_: str) -> str:
    """Return the test, compiled if $N_TEST is defined, and its main function (with $N_TEST_MAIN)."""
    test = settings.test
    assert test is not None
    tables = Tables(settings.prefix, settings.dtype)
    with np.errstate(over="ignore"):
        tables.reals("test_rows", test.values.astype(settings.dtype))
    head = f"#define $N_TEST_ROWS {len(test.values)}\n"
    if test.left_out:
        head = (
            f"/* {test.left_out} rows are left out: svmfast predict gives them a different label. */\n{head}"
        )
    if computation.head.is_regression:
        tables.reals("test_values", test.expected)
        head += f"#define $N_TEST_TOLERANCE {tables.real(test.tolerance)}\n"
        return f"#ifdef $N_TEST\n{head}\n{''.join(tables.texts)}\n{_VALUES}{_MAIN}#endif\n"
    # The table has the positions of the labels, which are small numbers even if the labels are not.
    labels = sorted(set(test.expected.tolist()))
    where = np.array([labels.index(one) for one in test.expected.tolist()], dtype=np.int64)
    place = tables.integers("test_labels", where)
    listed = ", ".join(_label(int(one), type_) for one in labels)
    get = (
        f"$N_INLINE {type_} $n_test_label_(int row) {{\n"
        f"    static const {type_} labels[{len(labels)}] = {{{listed}}};\n"
        f"    return labels[{place.as_int('row')}];\n}}\n\n"
    )
    return f"#ifdef $N_TEST\n{head}\n{''.join(tables.texts)}\n{get}{_CLASSES}{_MAIN}#endif\n"


def _label(value: int, type_: str) -> str:
    return str(value) if type_ == "int" else f"INT{type_[3:5]}_C({value})"
