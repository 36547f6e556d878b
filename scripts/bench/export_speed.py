"""Exported C and ONNX against `svmfast predict` in process, m2cgen's C and sklearn-onnx's SVMClassifier.

    scripts/bench/export_speed.py --data DIR [--page docs/export.md]

DIR has LIBSVM's public sets. A scikit-learn SVC per set is converted in every way; labels are compared with
its own, seconds are the fastest of several turns in one thread. m2cgen, compared for two classes, is not a
dependency of svmfast (pip install m2cgen).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from measuring import machine, place
from pages import put_into
from skl2onnx import to_onnx
from sklearn.svm import SVC

import svmfast

#: Name, rows to train on, C, gamma, training file, test file.
SETS = [
    ("svmguide1", 3089, 10.0, 2.0, "svmguide1.scale", "svmguide1.scale.t"),
    ("pendigits", 7494, 10.0, 0.5, "pendigits.scale.xz", "pendigits.scale.t.xz"),
    ("ijcnn1, first 10,000 rows", 10000, 32.0, 2.0, "ijcnn1.xz", "ijcnn1.t.xz"),
]
MOST_ROWS, TURNS, BATCH = 4000, 5, 1000
#: Time limit of a compiler, in seconds.
PATIENCE = 240

MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
%s
int main(int argc, char **argv) {
    const int n = atoi(argv[2]), d = atoi(argv[3]);
    real *x = malloc(sizeof(real) * (size_t)n * (size_t)d);
    int *out = malloc(sizeof(int) * (size_t)n), i, turn;
    double best = 1e9;
    FILE *rows = fopen(argv[1], "rb");
    const size_t all = (size_t)n * (size_t)d;
    if (argc < 4 || !rows || fread(x, sizeof(real), all, rows) != all) return 2;
    for (turn = 0; turn < %d; ++turn) {
        struct timespec a, b;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
        for (i = 0; i < n; ++i) out[i] = answer(x + (size_t)i * (size_t)d);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
        const double took = (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
        if (took < best) best = took;
    }
    printf("%%.9g\\n", best);
    for (i = 0; i < n; ++i) printf("%%d\\n", out[i]);
    return 0;
}
"""


@dataclass
class Way:
    """One way to predict: seconds to compile, bytes of object or file, seconds of all rows, their labels."""

    name: str
    compiled: float | None
    size: int | None
    seconds: float
    labels: np.ndarray


def in_c(name: str, head: str, source: str, dtype: Any, x: np.ndarray, folder: Path) -> Way | str:
    """Compile and run a C program; return the reason if that fails."""
    (folder / "score.c").write_text(source)
    (folder / "main.c").write_text(MAIN % (head, TURNS))
    command = ["gcc", "-std=gnu11", "-O2", "-c", "score.c", "-o", "score.o"]
    start = time.perf_counter()
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return f"{name}: not compiled in {PATIENCE} s"
    took = time.perf_counter() - start
    if done.returncode:
        return f"{name}: the compiler fails ({done.stderr.strip().splitlines()[-1][:60]})"
    shown = subprocess.run(["size", "score.o"], cwd=folder, capture_output=True, text=True, check=True).stdout
    text, data = shown.splitlines()[1].split()[:2]
    subprocess.run(["gcc", "-O2", "main.c", "score.o", "-o", "run", "-lm"], cwd=folder, check=True)
    x.astype(dtype).tofile(folder / "rows")
    words = [folder / "run", folder / "rows", str(len(x)), str(x.shape[1])]
    lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    return Way(name, took, int(text) + int(data), float(lines[0]), np.array(lines[1:], dtype=np.int64))


def fastest(predict: Callable[[], np.ndarray]) -> tuple[float, np.ndarray]:
    """Return the seconds of the fastest turn, and the labels."""
    best, labels = float("inf"), predict()
    for _ in range(TURNS):
        start = time.process_time()
        labels = predict()
        best = min(best, time.process_time() - start)
    return best, labels


def session(model: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def batches(model: bytes, x: np.ndarray, dtype: Any) -> Callable[[], np.ndarray]:
    opened, rows = session(model), x.astype(dtype)
    place, output = opened.get_inputs()[0].name, opened.get_outputs()[0].name

    def predict() -> np.ndarray:
        starts = range(0, len(rows), BATCH)
        return np.concatenate([opened.run([output], {place: rows[at : at + BATCH]})[0] for at in starts])

    return predict


def unrolled(fitted: SVC) -> tuple[str, str]:
    """Return m2cgen's C for two classes, and a program that calls it."""
    from m2cgen import export_to_c

    first, second = (int(label) for label in fitted.classes_)
    sys.setrecursionlimit(1 << 20)
    source = f"{export_to_c(fitted)}\nint answer(const double *x);\n"
    source += f"int answer(const double *x) {{ return score((double *)x) > 0 ? {second} : {first}; }}\n"
    return "typedef double real;\nint answer(const real *x);", source


def ways(fitted: SVC, x: np.ndarray) -> list[Way | str]:
    """Measure every way."""
    model = svmfast.from_sklearn(fitted)
    found: list[Way | str] = []
    seconds, labels = fastest(lambda: svmfast.predict(model, x, threads=1).predicted)
    found.append(Way("`svmfast predict`, in process", None, None, seconds, labels))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for precision, real in (("double", np.float64), ("float", np.float32)):
            made = svmfast.export(model, "c", precision=precision)  # type: ignore[arg-type]
            (folder / "model.h").write_bytes(made.data)
            head = f"typedef {precision} real;\nint answer(const real *x);"
            source = '#include "model.h"\nint answer(const model_real *x);\n'
            source += "int answer(const model_real *x) { return (int)model_predict(x); }\n"
            found.append(in_c(f"`export --to c`, {precision}", head, source, real, x, folder))
        if len(fitted.classes_) == 2:
            found.append(in_c("m2cgen's C", *unrolled(fitted), np.float64, x, folder))
    for precision, real in (("double", np.float64), ("float", np.float32)):
        made = svmfast.export(model, "onnx", precision=precision)  # type: ignore[arg-type]
        seconds, labels = fastest(batches(made.data, x, real))
        found.append(Way(f"`export --to onnx`, {precision}", None, len(made.data), seconds, labels))
    theirs = to_onnx(fitted, x[:1].astype(np.float32), options={id(fitted): {"zipmap": False}})
    data = theirs.SerializeToString()
    seconds, labels = fastest(batches(data, x, np.float32))
    found.append(Way("sklearn-onnx's SVMClassifier", None, len(data), seconds, labels))
    return found


def main() -> int:
    """Measure all sets and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    parser.add_argument("--page", type=Path, help="put the table between the marks of this page")
    given = parser.parse_args()
    table: list[str] = []

    def line(text: str) -> None:
        table.append(text)
        print(text, flush=True)

    line("| SVC | way | compile, s | size, bytes | microseconds per row | labels that differ |")
    line("|---|---|---:|---:|---:|---:|")
    for name, most, c, gamma, train, test in SETS:
        rows, asked = (svmfast.read_svmlight(given.data / one) for one in (train, test))
        d = rows.rows.n_columns
        warnings.simplefilter("ignore", FutureWarning)
        fitted = SVC(C=c, gamma=gamma).fit(rows.rows.to_dense(d)[:most], rows.labels[:most].astype(int))
        x = np.ascontiguousarray(asked.rows.to_dense(d)[:MOST_ROWS])
        wanted = fitted.predict(x)
        what = f"{name}: {len(fitted.support_):,} vectors"
        for one in ways(fitted, x):
            if isinstance(one, str):
                line(f"| {what} | {one} | | | | |")
                continue
            compiled = "" if one.compiled is None else f"{one.compiled:.1f}"
            size = "" if one.size is None else f"{one.size:,}"
            apart = int(np.count_nonzero(one.labels != wanted))
            line(
                f"| {what} | {one.name} | {compiled} | {size} | {1e6 * one.seconds / len(x):.1f} | {apart} |"
            )
    found = machine(1)
    line("")
    line(f"Measured on {place(found, 'scikit-learn')}:")
    line("")
    line(f"    {found['command']}")
    if given.page is not None:
        put_into(given.page, table, "export speed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
