"""Exported C under options with which compilers give up IEEE 754: right, refused, or not certain."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from c_exports import WAYS, compiled, needs_compiler
from program import FIXTURES

import svmfast
from svmfast.rows import as_rows

pytestmark = needs_compiler

#: With a certificate that holds near the center.
MODEL = FIXTURES / "frozen" / "1.0" / "polynomial_three_classes.model"
ROWS = as_rows(svmfast.read_svmlight(FIXTURES / "data" / "iris.test").rows.to_dense(4))
REORDER = "-fassociative-math -fno-signed-zeros -fno-trapping-math"


@pytest.mark.parametrize("precision", ["float", "double"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize(
    ("flags", "certain"),
    [
        ("-O3", True),
        ("-fno-math-errno -fno-trapping-math", True),
        ("-funsafe-math-optimizations", False),
        ("-ffinite-math-only", False),
        ("-O3 -funsafe-math-optimizations -ffinite-math-only", False),
        (REORDER, False),
        (f"-Os {REORDER}", False),
    ],
)
def test_no_label_is_certain_without_ieee_arithmetic(
    compiler: str, flags: str, certain: bool, precision: str, tmp_path: Path
) -> None:
    """gcc 12 states such options in macros; clang, like older versions of gcc, does not."""
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    made = svmfast.export(MODEL, precision=precision)
    file = compiled(made, tmp_path, *flags.split(), "-nostartfiles", compiler=compiler)
    rows = np.vstack([ROWS.to_dense(4), np.full((1, 4), np.nan), np.full((1, 4), np.inf)])
    sure = file.certain(rows)
    assert sure.any() == certain
    assert not sure[-2:].any()


@pytest.mark.parametrize("way", ["gcc", "g++"])
def test_constants_of_single_precision_are_refused_in_a_file_of_double_precision(
    way: str, tmp_path: Path
) -> None:
    """The option is common on Cortex-M4F. Files of single precision do not change."""
    option = "-fsingle-precision-constant"
    for precision in ("double", "float"):
        (tmp_path / f"{precision}.h").write_bytes(svmfast.export(MODEL, precision=precision).data)
        command = [*WAYS[way], option, "-fsyntax-only", f"{precision}.h"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert (done.returncode != 0) == (precision == "double")
        assert ("model_needs_no_single_precision_constant_" in done.stderr) == (precision == "double")
    plain, shortened = (compiled(svmfast.export(MODEL), tmp_path, *one) for one in ((), (option,)))
    assert np.array_equal(shortened.decisions(ROWS), plain.decisions(ROWS))
    assert np.array_equal(shortened.certain(ROWS), plain.certain(ROWS))


@pytest.mark.parametrize("precision", ["float", "double"])
def test_numbers_of_another_format_are_refused(precision: str, tmp_path: Path) -> None:
    """As double precision on AVR, which has 32 bits."""
    (tmp_path / "model.h").write_bytes(svmfast.export(MODEL, precision=precision).data)
    digits = {"float": "FLT", "double": "DBL"}[precision] + "_MANT_DIG"
    (tmp_path / "m.c").write_text(
        f'#include <float.h>\n#undef {digits}\n#define {digits} 11\n#include "model.h"'
    )
    done = subprocess.run(["gcc", "-fsyntax-only", "m.c"], cwd=tmp_path, capture_output=True, text=True)
    assert f'#error "this file needs a {precision} of ' in done.stderr
