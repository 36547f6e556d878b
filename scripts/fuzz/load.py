"""Large and extreme inputs through the executable: the right answer or one clear line, in stated memory.

    scripts/fuzz/load [--quick] [--gigabytes 2]
        [--only edges,stream,large-vectors,large-features,large-classes]

- edges: every command is run on the data and models of tests/support/edges.py: no rows, one row, one feature,
  zeros only, constant features, duplicated support vectors, gamma from 1e-12 to 1e6, values up to 1e300.
- stream: gigabytes of rows made on the fly go through a pipe into predict, with an exact and an approximated
  model. Every label is compared with a slow twin's; peak memory is read after a tenth, a half
  and all of the rows.
- large: models with 200,000 support vectors, 100,000 features and 200 classes are run through info, predict,
  approximate, compress and compare. Values and labels are compared with NumPy's, bounds with the errors;
  peak memory is compared with the table.

--quick does the same with small sizes, in seconds. Prints a table and the counts; ends with 1 if anything was
wrong. (Over 400 lines: the three parts share the code that runs, meters and checks a process.)
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from edges import DATA, GAMMAS, MODELS, Edge, convert, learn  # noqa: E402
from program import PROGRAM  # noqa: E402

#: Runs a command and writes status, seconds and peak memory. A separate process, and a small one: a child's
#: peak begins with that of the process it was forked from.
METER = """
import resource, subprocess, sys, time
began = time.monotonic()
status = subprocess.call(sys.argv[2:])
seconds = time.monotonic() - began
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
open(sys.argv[1], "w").write(f"{status} {seconds} {peak}")
"""


@dataclass
class Tally:
    """Lines of the table, counts, and what was wrong."""

    lines: list[str] = field(default_factory=list)
    tried: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def add(
        self, where: str, message: str, seconds: float, peak_mb: float, limit_mb: float, faults: list[str]
    ) -> None:
        self.tried["answers" if message.startswith("answer") else "refusals"] += 1
        line = f"{where:<52} {seconds:8.1f} s {peak_mb:7.0f} MB (at most {limit_mb:,.0f})  {message}"
        print(line, flush=True)
        self.lines.append(line)
        if peak_mb > limit_mb:
            faults = [*faults, f"{peak_mb:.0f} MB"]
        for fault in faults:
            self.fault(f"{where}: {fault}")

    def fault(self, what: str) -> None:
        print(f"  WRONG {what}", flush=True)
        self.wrong.append(what)


@dataclass(frozen=True)
class Done:
    """A run that has ended."""

    status: int
    seconds: float
    peak_mb: float
    out: str
    message: str


def run(folder: Path, *words: str) -> Done:
    """Run ``svmfast WORDS`` in a folder."""
    meter = [sys.executable, "-S", "-E", "-c", METER, "measured", str(PROGRAM), *words]
    done = subprocess.run(meter, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    status, seconds, peak = (folder / "measured").read_text().split()
    return Done(int(status), float(seconds), float(peak) / 1024, done.stdout, done.stderr)


# --- edges


def edges(tally: Tally, quick: bool) -> None:
    """Run every command on every case of tests/support/edges.py."""
    cases: list[tuple[str, str, float | None]] = [("learn", "no rows", None), ("convert", "one vector", None)]
    if not quick:
        cases = [("learn", name, None) for name in DATA]
        cases += [("learn", "normal", gamma) for gamma in GAMMAS]
        cases += [("convert", name, None) for name in MODELS]
    answers = refusals = 0
    for how, name, gamma in cases:
        with tempfile.TemporaryDirectory(prefix="svmfast-load-") as place:
            edge = Edge(Path(place))
            found = convert(edge, name) if how == "convert" else learn(edge, name, gamma)
        for command, outcome in found.items():
            answers += outcome.message in ("answer", "no")
            refusals += outcome.message not in ("answer", "no")
            for fault in outcome.faults:
                tally.fault(
                    f"{how}: {name}{'' if gamma is None else f', gamma {gamma:g}'}: {command}: {fault}"
                )
    tally.tried["answers"] += answers
    tally.tried["refusals"] += refusals
    print(f"edges: {len(cases)} cases, {answers} right answers, {refusals} refusals in one line", flush=True)


# --- models and rows of any size, and NumPy's results for them


@dataclass
class Large:
    """A model of k classes with dense support vectors in `columns` of its features."""

    vectors: NDArray[np.float64]
    columns: NDArray[np.int64]  # of each vector, ascending; the same for all of them or one line each
    coef: NDArray[np.float64]  # (k - 1, vectors)
    sizes: list[int]
    gamma: float

    def write(self, path: Path) -> None:
        k, n = len(self.sizes), len(self.vectors)
        pairs = k * (k - 1) // 2
        with path.open("w") as file:
            file.write(f"svm_type c_svc\nkernel_type rbf\ngamma {self.gamma!r}\nnr_class {k}\ntotal_sv {n}\n")
            file.write("rho" + " 0.01" * pairs + "\nlabel " + " ".join(map(str, range(k))) + "\n")
            file.write("nr_sv " + " ".join(map(str, self.sizes)) + "\nSV\n")
            for i, vector in enumerate(self.vectors):
                coefs = " ".join(f"{c:.17g}" for c in self.coef[:, i])
                file.write(f"{coefs} {entries(self.columns_of(i), vector)}\n")

    def columns_of(self, i: int) -> NDArray[np.int64]:
        return self.columns if self.columns.ndim == 1 else self.columns[i]

    def values(self, rows: NDArray[np.float64], columns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the decision values of rows, all pairs."""
        n = len(self.vectors)
        kernel = np.empty((len(rows), n))
        for r, row in enumerate(rows):
            if self.columns.ndim == 1:
                squares = ((self.vectors - row) ** 2).sum(axis=1)
            else:
                full = dict(zip(columns[r].tolist(), row.tolist(), strict=True))
                met = np.array([[full.get(c, 0.0) for c in line] for line in self.columns.tolist()])
                squares = (row @ row) - (met**2).sum(axis=1) + ((self.vectors - met) ** 2).sum(axis=1)
            kernel[r] = np.exp(-self.gamma * squares)
        starts = np.concatenate(([0], np.cumsum(self.sizes)))
        found = []
        for i in range(len(self.sizes)):
            for j in range(i + 1, len(self.sizes)):
                a, b = slice(starts[i], starts[i + 1]), slice(starts[j], starts[j + 1])
                found.append(kernel[:, a] @ self.coef[j - 1, a] + kernel[:, b] @ self.coef[i, b] - 0.01)
        return np.array(found).T

    def labels(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        k = len(self.sizes)
        votes = np.zeros((len(values), k), dtype=np.int64)
        pair = 0
        for i in range(k):
            for j in range(i + 1, k):
                won = values[:, pair] > 0
                votes[:, i] += won
                votes[:, j] += ~won
                pair += 1
        return votes.argmax(axis=1)


def entries(columns: NDArray[np.int64], values: NDArray[np.float64]) -> str:
    return " ".join(f"{c}:{v:.8g}" for c, v in zip(columns.tolist(), values.tolist(), strict=True))


def rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values that a file keeps."""
    return np.round(values, 6)


def make(n: int, d: int, k: int, in_use: int | None = None, gamma: float | None = None) -> Large:
    """Return a model of n support vectors, d features (`in_use` of them in each vector) and k classes."""
    rng = np.random.default_rng(0)
    width = d if in_use is None else in_use
    columns = np.arange(1, d + 1) if in_use is None else some_columns(rng, n, d, in_use)
    sizes = [len(part) for part in np.array_split(np.arange(n), k)]
    coef = rounded(rng.uniform(0.01, 1, (k - 1, n)))
    starts = np.concatenate(([0], np.cumsum(sizes)))
    for i in range(
        k
    ):  # class i votes for itself against later classes, and against it in earlier ones' columns
        coef[:i, starts[i] : starts[i + 1]] *= -1
    vectors = rounded(rng.standard_normal((n, width)) + np.repeat(np.linspace(-1, 1, k), sizes)[:, None])
    return Large(vectors, columns, coef, sizes, gamma or 0.05 / width)


def some_columns(rng: np.random.Generator, n: int, d: int, in_use: int) -> NDArray[np.int64]:
    return np.sort(np.array([rng.choice(d, in_use, replace=False) for _ in range(n)]), axis=1) + 1


def write_rows(
    path: Path, rows: NDArray[np.float64], columns: NDArray[np.int64], labels: NDArray[np.int64]
) -> None:
    lines = [
        f"{label} {entries(columns if columns.ndim == 1 else columns[i], row)}\n"
        for i, (label, row) in enumerate(zip(labels.tolist(), rows, strict=True))
    ]
    path.write_text("".join(lines))


# --- stream


def stream(tally: Tally, total: int, quick: bool) -> None:
    """Send `total` bytes through predict, exactly and approximated."""
    model = make(60 if quick else 200, 8, 2, gamma=0.02)
    rng = np.random.default_rng(1)
    count = 2_000 if quick else 40_000
    rows = rounded(rng.standard_normal((count, 8)))
    values = model.values(rows, model.columns)
    truth = model.labels(values)
    with tempfile.TemporaryDirectory(prefix="svmfast-load-") as place:
        folder = Path(place)
        model.write(folder / "model")
        write_rows(folder / "rows", rows, model.columns, truth)
        text = (folder / "rows").read_bytes()
        expected = b"".join(b"%d\n" % label for label in truth)
        run(folder, "approximate", "-q", "--force", "model", "-o", "fast")
        fast = run(folder, "predict", "-q", "--decision-values", "--certify", "rows", "fast")
        faults = bound_faults(fast.out, values, model)
        # The same rows repeatedly: labels of the approximation are compared with its own from one pass, whose
        # values have been compared with NumPy's.
        approximated = b"".join(line.split()[0].encode() + b"\n" for line in fast.out.splitlines()[1:])
        for name, file, labels, more in (
            ("exact", "model", expected, []),
            ("approximated", "fast", approximated, faults),
        ):
            one_stream(tally, folder, name, file, text, labels, total, more)


def one_stream(
    tally: Tally,
    folder: Path,
    name: str,
    file: str,
    text: bytes,
    labels: bytes,
    total: int,
    faults: list[str],
) -> None:
    copies = max(20, round(total / len(text)))
    began = time.monotonic()
    process = subprocess.Popen(
        [PROGRAM, "predict", "-q", "-", file],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    peaks: list[float] = []

    def feed() -> None:
        assert process.stdin is not None
        with process.stdin as pipe:
            for i in range(1, copies + 1):
                pipe.write(text)
                if i in (copies // 10, copies // 2, copies):
                    peaks.append(high_water_mb(process.pid))

    feeder = threading.Thread(target=feed)
    feeder.start()
    found, wanted, length = hashlib.sha256(), hashlib.sha256(), 0
    while piece := process.stdout.read(1 << 20):
        found.update(piece)
        length += len(piece)
    feeder.join()
    message = process.stderr.read().decode()
    _, state, usage = os.wait4(process.pid, 0)
    status = process.returncode = os.waitstatus_to_exitcode(state)
    seconds, busy = time.monotonic() - began, usage.ru_utime + usage.ru_stime
    for _ in range(copies):
        wanted.update(labels)
    faults = list(faults)
    if status or message:
        faults.append(f"status {status}: {message[-300:]}")
    if length != copies * len(labels) or found.digest() != wanted.digest():
        faults.append(f"{length:,} bytes of labels are not the {copies * len(labels):,} expected ones")
    if len(peaks) == 3 and peaks[2] > 1.05 * peaks[0] + 32:
        faults.append(f"memory grows: {peaks}")
    size, rows = copies * len(text), copies * text.count(b"\n")
    shown = ", ".join(f"{peak:.0f}" for peak in peaks)
    message = (
        f"answer: {rows:,} labels right; {size / seconds / 1e6:.0f} MB/s, {rows / seconds:,.0f} rows/s, "
        f"{size / busy / 1e6:.0f} MB per processor second; "
        f"peak {shown} MB at 10, 50, 100 %"
    )
    where = f"stream of {size / 1e9:.2f} GB, {name} model"
    tally.add(where, message, seconds, max(peaks, default=0.0), 400, faults)


def high_water_mb(process: int) -> float:
    """Return the peak memory of a running process."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0


def decided(out: str) -> Iterator[tuple[str, list[float], str, float]]:
    """Yield label, decision values, certified and bound of each row of ``predict --certify``."""
    for line in out.splitlines()[1:]:
        words = line.split()
        yield words[0], [float(word) for word in words[1:-2]], words[-2], float(words[-1])


def bound_faults(out: str, values: NDArray[np.float64], model: Large) -> list[str]:
    faults, truth = [], model.labels(values)
    for row, (label, message, certified, bound) in enumerate(decided(out)):
        if np.abs(np.array(message) - values[row]).max() > bound + 1e-9:
            faults.append(f"row {row + 1} lies outside its bound")
        if certified == "yes" and float(label) != truth[row]:
            faults.append(f"row {row + 1} is certified and wrong")
    if row + 1 != len(values):
        faults.append(f"{row + 1} lines for {len(values)} rows")
    return faults[:3]


# --- large models

#: Names for --only, and how the models' names end.
LARGE = {
    "large": "",
    "large-vectors": "support vectors",
    "large-features": "features",
    "large-classes": "classes",
}


def large(tally: Tally, quick: bool, suffix: str = "") -> None:
    """Run the converting and reading commands on large models."""
    svs, features, classes = (2_000, 1_000, 20) if quick else (200_000, 100_000, 200)
    makers: list[tuple[str, Callable[[], Large]]] = [
        (f"{svs:,} support vectors", lambda: make(svs, 20, 2, gamma=0.002)),
        (f"{features:,} features", lambda: make(200 if quick else 2_000, features, 2, 10 if quick else 50)),
        (f"{classes} classes", lambda: make(3 * classes if quick else 10 * classes, 5, classes, gamma=0.02)),
    ]
    for name, made in makers:
        if not name.endswith(suffix):
            continue
        with tempfile.TemporaryDirectory(prefix="svmfast-load-") as place:
            one_large(tally, Path(place), name, made(), quick)


def one_large(tally: Tally, folder: Path, name: str, model: Large, quick: bool) -> None:
    rng = np.random.default_rng(2)
    count = 200
    width = model.vectors.shape[1]
    wide = model.columns.ndim == 2
    columns = some_columns(rng, count, int(model.columns.max()), width) if wide else model.columns
    rows = rounded(rng.standard_normal((count, width)))
    if wide:  # rows that have something in common with the vectors
        columns, rows = model.columns[:count], rounded(rows[: len(model.columns)] + model.vectors[:count])
    values = model.values(rows, columns)
    truth = model.labels(values)
    model.write(folder / "model")
    write_rows(folder / "rows", rows, columns, truth)
    name = f"{name} ({(folder / 'model').stat().st_size / 1e6:.0f} MB)"

    def meet(words: str, limit_mb: float, output: str | None = None) -> Done:
        done = run(folder, *words.split())
        faults = [done.message[-300:]] if "Traceback" in done.message or "Warning:" in done.message else []
        lines = done.message.strip().splitlines() or [f"status {done.status}"]
        written = output is not None and (folder / output).exists()
        if done.status not in (0, 1, 2) or (done.status == 2 and len(lines) != 1):
            faults.append(f"status {done.status}: {done.message[-300:]}")
        if output is not None and written != (done.status == 0):
            faults.append(f"status {done.status}, output {'there' if written else 'missing'}")
        message = "answer" if done.status == 0 else f"status {done.status}: {lines[-1]}"
        if done.status == 1 and not done.message:
            message = "answer: no"
        if done.status == 0 and "--certify" in words:
            faults += bound_faults(done.out, values, model)
            message += (
                f": {sum(c == 'yes' for _, _, c, _ in decided(done.out))} of {len(rows)} labels certified"
            )
        elif done.status == 0 and "--decision-values" in words:
            faults += value_faults(done.out, values, model)
            message += f": {values.size:,} values, {len(rows)} labels right"
        tally.add(
            f"{name}: {words.split(' -')[0].split()[0]}",
            message,
            done.seconds,
            done.peak_mb,
            limit_mb,
            faults,
        )
        return done

    meet("info model", 1000)
    meet("predict -q --decision-values rows model", 1000)
    meet("bound-check rows --model model", 1000)
    for order in (2, 1):
        made = meet(f"approximate -q --force --order {order} --certificate none model -o fast", 4500, "fast")
        if made.status == 0:
            meet("predict -q rows fast", 1000)
            break
    if (folder / "fast").exists():
        meet("compare -q --repeats 1 model fast --data rows", 1500)
    made = meet("compress -q --sv 40 --start kmeans --iterations 20 model -o small", 3000, "small")
    if made.status == 0:
        meet("predict -q rows small", 1000)
    if quick and len(model.vectors) < 1000:
        return  # their imports take longer than their work
    tree = "dcpred -q --from model --clusters 4 --iterations 5"
    meet(f"{tree} --landmarks 16 rows -o tree", 2500, "tree")
    if wide:  # dense work on 2,000 rows with this many features: refused by default, done with more memory
        meet(f"{tree} --landmarks 4 -j 1 --memory 12G rows -o tree", 12500, "tree")


def value_faults(out: str, values: NDArray[np.float64], model: Large) -> list[str]:
    faults, truth, scale = [], model.labels(values), np.abs(model.coef).sum()
    lines = out.splitlines()[1:]
    if len(lines) != len(values):
        return [f"{len(lines)} lines for {len(values)} rows"]
    for row, line in enumerate(lines):
        label, *message = map(float, line.split())
        if np.abs(np.array(message) - values[row]).max() > 1e-9 * scale:
            faults.append(
                f"row {row + 1}: values are off by {np.abs(np.array(message) - values[row]).max():.3g}"
            )
        if label != truth[row]:
            faults.append(f"row {row + 1}: {label:g} instead of {truth[row]}")
    return faults[:3]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, seconds")
    parser.add_argument("--gigabytes", type=float, default=2.0, help="size of a stream")
    parser.add_argument("--only", default="stream,large,edges")
    options = parser.parse_args()
    tally = Tally()
    for name in options.only.split(","):
        if name == "edges":
            edges(tally, options.quick)
        elif name == "stream":
            stream(tally, 4_000_000 if options.quick else round(options.gigabytes * 1e9), options.quick)
        elif name in LARGE:
            large(tally, options.quick, LARGE[name])
        else:
            parser.error(f"--only {name}: expected edges, stream, {', '.join(LARGE)}")
    print(
        f"{tally.tried['answers']} answers, {tally.tried['refusals']} refusals, {len(tally.wrong)} wrong "
        f"({os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()})"
    )
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
