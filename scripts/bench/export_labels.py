"""Exported files against svm-predict, on every test row: labels, values, and how many labels are certain.

    scripts/bench/export_labels.py --data DIR --models DIR [--svm-predict PROGRAM] [--page docs/export.md]

DIR has LIBSVM's public sets and models (plain or .xz). Every file is written by the command, compiled with
gcc, and run on all test rows; ONNX files run in onnxruntime, 1,000 rows at a time. Labels are compared with
svm-predict's, values with those of LIBSVM's own library on the first rows (ONNX: with `svmfast predict`).
A second table counts the rows whose label an exported approximation proves, in double and in single
precision, with contracted multiply-adds and without, and how many of those labels are wrong.
"""

from __future__ import annotations

import argparse
import ctypes
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
from libsvm import svmutil
from measuring import PROGRAM, machine, place, plain_file, run
from numpy.typing import NDArray
from pages import put_into

import svmfast
from svmfast.models.expansion import KernelExpansion

FloatArray = NDArray[np.floating]
#: Rows whose values LIBSVM's library computes, one at a time; rows of a batch of ONNX.
VALUES, BATCH = 4000, 1000
CONTRACTED = {"off": ["-ffp-contract=off"], "fast": ["-mfma", "-ffp-contract=fast"]}

WRAPPER = """
#include "model.h"
void answer(const model_real *x, int n, double *labels, model_real *values) {
    for (int i = 0; i < n; ++i, x += MODEL_FEATURES) {
#if MODEL_FUNCTIONS
        model_decision(x, values + (long)i * MODEL_FUNCTIONS);
#endif
#ifdef REGRESSION
        labels[i] = model_value(x);
#else
        labels[i] = model_predict(x);
#endif
    }
}
#ifdef MODEL_HAS_CERTAIN
void certain(const model_real *x, int n, int *proven) {
    for (int i = 0; i < n; ++i) proven[i] = model_certain(x + (long)i * MODEL_FEATURES, 0);
}
#endif
"""


@dataclass(frozen=True)
class Case:
    """A public model, or the options that train one; its test rows; for an approximation its order."""

    name: str
    model: str
    test: str
    train: tuple[str, ...] = ()
    data: str = ""
    order: int | None = None


LABELS = [
    Case("a9a, gamma 0.01", "a9a_g0.01.model", "a9a.t"),
    Case("ijcnn1, gamma 2", "ijcnn1_c32_g2.model", "ijcnn1.t"),
    Case("letter", "letter_c16_g2.model", "letter.scale.t"),
    Case("usps", "usps_c10.model", "usps.t"),
    Case(
        "pendigits, C 10, gamma 0.5",
        "pendigits.model",
        "pendigits.scale.t",
        ("-c", "10", "-g", "0.5"),
        "pendigits.scale",
    ),
    Case(
        "abalone, regression",
        "abalone.model",
        "abalone_scale.s20",
        ("-s", "3", "-c", "10", "-g", "0.5"),
        "abalone_scale.s80",
    ),
]
CERTAIN = [
    *(
        Case(f"ijcnn1, C {c}", f"ijcnn1_c{c}.model", "ijcnn1.t", order=k)
        for c, k in ((1, 2), (10, 3), (100, 3), (250, 3))
    ),
    Case("a9a, gamma 0.01", "a9a_g0.01.model", "a9a.t", order=2),
    Case("a9a, gamma 0.02", "a9a_g0.02.model", "a9a.t", order=2),
]


@dataclass
class Bench:
    """The places of files, and svm-predict's answers so far."""

    options: argparse.Namespace
    folder: Path

    def model(self, case: Case) -> Path:
        """Return the LIBSVM model, trained if there is no public one."""
        path = self.folder / case.model
        if not case.train:
            return plain_file(self.options.models, case.model, self.folder)
        if not path.exists():
            data = plain_file(self.options.data, case.data, self.folder)
            run([PROGRAM, "train", "-q", *case.train, data, path])
        return path

    def rows(self, case: Case) -> Path:
        return plain_file(self.options.data, case.test, self.folder)

    def answers(self, case: Case) -> FloatArray:
        """Return svm-predict's output for every row."""
        out = self.folder / f"{case.model}.answers"
        if not out.exists():
            command = [self.options.svm_predict, self.rows(case), self.model(case), out]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return np.loadtxt(out)

    def export(self, model: Path, *words: str | Path) -> Path:
        """Write a file with the command, and return its path."""
        out = self.folder / "exported"
        run([PROGRAM, "export", "-q", model, "-o", out, *words])
        return out


@dataclass
class Compiled:
    """An exported C file as a library."""

    library: ctypes.CDLL
    dtype: np.dtype[np.floating]
    functions: int

    def answer(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return labels (or values of a regression) and decision values."""
        rows, labels = np.ascontiguousarray(x, self.dtype), np.empty(len(x))
        values = np.empty((len(x), self.functions), self.dtype)
        self.library.answer(rows.ctypes, len(rows), labels.ctypes, values.ctypes)
        return labels, values

    def certain(self, x: FloatArray) -> NDArray[np.bool_]:
        """Return which labels the file proves."""
        rows, proven = np.ascontiguousarray(x, self.dtype), np.empty(len(x), np.int32)
        self.library.certain(rows.ctypes, len(rows), proven.ctypes)
        return proven.astype(bool)


def compiled(header: Path, contracted: str, regression: bool = False) -> Compiled:
    """Compile a header with gcc."""
    text = header.read_text()
    folder = Path(tempfile.mkdtemp(dir=header.parent))
    (folder / "model.h").write_text(text)
    (folder / "wrapper.c").write_text(WRAPPER)
    flags = [*CONTRACTED[contracted], *(["-DREGRESSION"] if regression else [])]
    words = ["gcc", "-std=c99", "-O2", "-shared", "-fPIC", *flags, "wrapper.c", "-o", "library.so", "-lm"]
    subprocess.run(words, cwd=folder, check=True)
    functions = int(text.split("#define MODEL_FUNCTIONS ")[1].split()[0])
    dtype = np.dtype(np.float32 if "typedef float" in text else np.float64)
    return Compiled(ctypes.CDLL(str(folder / "library.so")), dtype, functions)


def libsvm_values(model: Path, x: FloatArray) -> FloatArray:
    """Return the decision values of LIBSVM's own library."""
    loaded = svmutil.svm_load_model(str(model))
    _, _, values = svmutil.svm_predict([], x, loaded, "-q")
    return np.array(values)


def in_onnx(path: Path, x: FloatArray) -> list[FloatArray]:
    """Return all outputs of an ONNX file, in batches of BATCH rows."""
    session = onnxruntime.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"])
    batches = [session.run(None, {"X": x[at : at + BATCH]}) for at in range(0, len(x), BATCH)]
    return [np.concatenate(parts) for parts in zip(*batches, strict=True)]


def apart(found: FloatArray, expected: FloatArray) -> float:
    """Return the largest difference relative to the largest value."""
    return float(np.abs(found.reshape(expected.shape) - expected).max() / np.abs(expected).max())


def labels_row(bench: Bench, case: Case) -> str:
    """Measure one model in C, in both precisions, and in ONNX."""
    model, rows = bench.model(case), bench.rows(case)
    exact = svmfast.load_model(model)
    assert isinstance(exact, KernelExpansion)
    regression = "-s" in case.train
    x = svmfast.read_svmlight(rows).rows.to_dense(exact.n_features)
    expected = bench.answers(case)
    answer = svmfast.predict(model, str(rows))
    theirs = libsvm_values(model, x[:VALUES])
    cells = [f"| {case.name} | {len(x):,} "]
    for precision in ("double", "float"):
        made = compiled(bench.export(model, "--to", "c", f"--{precision}"), "off", regression)
        labels, values = made.answer(x)
        if regression:
            cells.append(f"| {apart(labels[:VALUES], theirs):.0e} ")
        else:
            cells.append(f"| {np.count_nonzero(labels != expected)} differ ")
        if precision == "double":
            values = labels if regression else values
            cells.append(f"| {apart(values[:VALUES], theirs):.0e} ")
    first, *more = in_onnx(bench.export(model, "--to", "onnx"), x)
    if regression:
        both = f"{apart(first, answer.predicted):.0e}"
        cells.append(f"| {both} | {both} ")
    else:
        values = answer.decisions
        different = np.count_nonzero(first.ravel() != expected)
        cells.append(f"| {different} differ | {apart(more[0][: len(values)], values):.0e} ")
    return "".join(cells) + "|"


def certain_row(bench: Bench, case: Case) -> str:
    """Approximate, export, and count the labels that are certain, and those that are certain but wrong."""
    fast = bench.folder / "fast"
    run([PROGRAM, "approximate", "-q", "--force", bench.model(case), "-o", fast, "--order", str(case.order)])
    rows, expected = bench.rows(case), bench.answers(case)
    answer = svmfast.predict(fast, str(rows), certify=True)
    assert answer.certified is not None
    x = svmfast.read_svmlight(rows).rows.to_dense(svmfast.load_model(fast).n_features)
    cells = [f"| {case.name}, order {case.order} | {len(x):,} | {100 * answer.certified.mean():.2f} % "]
    wrong = int(np.count_nonzero(answer.predicted[answer.certified] != expected[answer.certified]))
    for precision in ("double", "float"):
        header = bench.export(fast, "--to", "c", f"--{precision}")
        least = 1.0
        for contracted in CONTRACTED:
            made = compiled(header, contracted)
            proven = made.certain(x)
            least = min(least, float(proven.mean()))
            wrong += int(np.count_nonzero(made.answer(x)[0][proven] != expected[proven]))
        cells.append(f"| {100 * least:.2f} % ")
    return "".join(cells) + f"| {wrong} |"


def main() -> int:
    """Measure all models and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    parser.add_argument("--models", type=Path, required=True, metavar="DIR")
    parser.add_argument("--svm-predict", default=shutil.which("svm-predict"), metavar="PROGRAM")
    parser.add_argument("--only", default="", metavar="TEXT", help="models whose name contains TEXT")
    parser.add_argument("--page", type=Path, help="put the tables between the marks of this page")
    options = parser.parse_args()
    if options.svm_predict is None:
        sys.exit("no svm-predict here; expected LIBSVM's program (Debian: libsvm-tools)")
    tables: dict[str, list[str]] = {
        "export labels": [
            "| model | rows | C in double | C values | C in float | ONNX in double | ONNX values |",
            "|---|---:|---:|---:|---:|---:|---:|",
        ],
        "export certain": [
            "| approximation | rows | certain in `predict` | C, double | C, float | certain and wrong |",
            "|---|---:|---:|---:|---:|---:|",
        ],
    }
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, Path(folder))
        for (name, table), cases, row in zip(
            tables.items(), (LABELS, CERTAIN), (labels_row, certain_row), strict=True
        ):
            print("\n".join(table), flush=True)
            for case in (one for one in cases if options.only in one.name):
                table.append(row(bench, case))
                print(table[-1], flush=True)
            found = machine(1, options.svm_predict)
            table += ["", f"Measured on {place(found, 'svm-predict')}:", "", f"    {found['command']}"]
            if options.page is not None:
                put_into(options.page, table, name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
