"""Compile exported C files with every available compiler, and call them."""

import ctypes
import functools
import shutil
import subprocess
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from svmfast.rows import Rows

WARNINGS = ["-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wdouble-promotion", "-Werror"]
#: Every way in which a file must compile, for the available compilers.
WAYS = {
    "gcc": ["gcc", "-std=c99"],
    "clang": ["clang", "-std=c99"],
    "g++": ["g++", "-std=c++17", "-x", "c++"],
    "clang++": ["clang++", "-std=c++17", "-x", "c++"],
}

NOTHING = "int nothing(void);\nint nothing(void) { return 0; }\n"

needs_compiler = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc: C files cannot be compiled")

WRAPPER = """
#include "model.h"
#ifdef MODEL_UNIT
typedef int32_t value;
#else
typedef model_real value;
#endif
void decisions(const model_input *x, int n, value *out) {
    for (int i = 0; i < n; ++i)
        model_decision(x + (size_t)i * MODEL_FEATURES, out + (size_t)i * MODEL_FUNCTIONS);
}
#ifdef ANSWER
void answers(const model_input *x, int n, double *out) {
    for (int i = 0; i < n; ++i) out[i] = (double)ANSWER(x + (size_t)i * MODEL_FEATURES);
}
#endif
#ifdef MODEL_HAS_CERTAIN
void certain(const model_input *x, int n, int *out) {
    for (int i = 0; i < n; ++i) out[i] = model_certain(x + (size_t)i * MODEL_FEATURES, 0);
}
#endif
#ifdef MODEL_CLASSES
void probabilities(const model_real *x, int n, model_real *out) {
    for (int i = 0; i < n; ++i)
        (void)model_probability(x + (size_t)i * MODEL_FEATURES, out + (size_t)i * MODEL_CLASSES);
}
void probable(const model_real *x, int n, double *out) {
    model_real p[MODEL_CLASSES];
    for (int i = 0; i < n; ++i) out[i] = (double)model_probability(x + (size_t)i * MODEL_FEATURES, p);
}
#endif
"""


def ran(folder, *words):
    """A finished program of `folder`; the test is skipped where there is no such program."""
    if shutil.which(words[0]) is None:
        pytest.skip(f"no {words[0]}")
    return subprocess.run(words, cwd=folder, capture_output=True, text=True)


def compile_together(exports, folder):
    """Compile files, by their prefixes, as one, with all warnings as errors, with their tests and without.

    A C++ compiler takes longer to read its own headers than all of them.
    """
    for prefix, export in exports.items():
        (folder / f"{prefix}.h").write_bytes(export.data)
    (folder / "all.c").write_text("".join(f'#include "{prefix}.h"\n' for prefix in exports) + NOTHING)
    tests = [f"-D{prefix.upper()}_TEST" for prefix in exports]
    for way, more in product(filter(shutil.which, WAYS), ((), tests)):
        command = [*WAYS[way], *WARNINGS, *more, "all.c", "-c", "-o", "empty.o"]
        done = ran(folder, *command)
        assert done.returncode == 0, (command, done.stderr[:2000])


@dataclass
class Compiled:
    loaded: ctypes.CDLL
    features: int
    functions: int
    dtype: np.dtype
    values: np.dtype

    def _dense(self, rows):
        with np.errstate(over="ignore"):
            table = rows.to_dense(max(self.features, rows.n_columns)).astype(self.dtype)
            return np.ascontiguousarray(table[:, : self.features])

    def _call(self, name, rows, out):
        x = self._dense(rows) if isinstance(rows, Rows) else np.ascontiguousarray(rows, self.dtype)
        getattr(self.loaded, name)(x.ctypes, len(x), out.ctypes)
        return out

    def decisions(self, rows):
        return self._call("decisions", rows, np.empty((len(rows), self.functions), self.values))

    def answers(self, rows):
        return self._call("answers", rows, np.empty(len(rows)))

    def probabilities(self, rows, classes):
        estimates = self._call("probabilities", rows, np.empty((len(rows), classes), self.dtype))
        return self._call("probable", rows, np.empty(len(rows))), estimates

    def certain(self, rows):
        return self._call("certain", rows, np.empty(len(rows), np.int32)).astype(bool)


@functools.cache
def fused():
    flags = Path("/proc/cpuinfo").read_text().split() if Path("/proc/cpuinfo").exists() else []
    return ["-mfma", "-ffp-contract=fast"] if "fma" in flags else []


def compiled(export, folder, *flags, compiler="gcc", regression=False):
    """Compile a file as a library; by default nothing is contracted, as in the twin."""
    (folder / "model.h").write_bytes(export.data)
    (folder / "wrapper.c").write_text(WRAPPER)
    answer = "model_value" if regression else "model_predict"
    # A unique name: with the same path the library that is already loaded would be used.
    name = f"{abs(hash((export.data, flags, compiler))):x}.so"
    options = ["-std=c99", "-O2", "-shared", "-fPIC", "-ffp-contract=off", *flags, f"-DANSWER={answer}"]
    done = ran(folder, compiler, *options, "wrapper.c", "-o", name, "-lm")
    assert done.returncode == 0, done.stderr[:2000]
    text = export.text
    number = lambda macro: int(text.split(f"#define MODEL_{macro} ")[1].split()[0])  # noqa: E731
    dtype = values = np.dtype(np.float32 if "typedef float" in text else np.float64)
    if "#define MODEL_UNIT" in text:
        values, dtype = np.dtype(np.int32), np.dtype(text.split("_t model_input;")[0].split()[-1])
    library = ctypes.CDLL(str(folder / name))
    return Compiled(library, number("FEATURES"), number("FUNCTIONS"), dtype, values)
