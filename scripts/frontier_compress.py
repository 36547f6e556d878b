#!/usr/bin/env python3
"""Accuracy against number of support vectors: compress and the paper's baselines (its figure 3).

Usage: frontier_compress.py MODEL TEST [--data TRAIN] [-o NAME] [--shares 1%,5%,10%] [--speed ROWS] [-j N]

Writes NAME.md (a table) and, with matplotlib, NAME.svg. Methods: ``random`` (a random subset of the support
vectors, coefficients refitted: like Reduced-SVM), ``lars`` (LARS-SVM, the paper's first stage), ``kmeans``
(centroids, coefficients refitted) and ``compress``. Every model is written, read back and judged on TEST;
with ``--speed`` svm-predict itself, where it is installed, is timed on ROWS.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from svmfast.cores import usable_cores
from svmfast.formats.detect import load_model, save_model
from svmfast.formats.svmlight import Dataset, read_svmlight
from svmfast.methods.compress import Settings, prepare
from svmfast.models.expansion import KernelExpansion

METHODS = ("random", "lars", "kmeans", "compress")
REPEATS = 3


@dataclass(frozen=True)
class Point:
    """One model on the frontier; `seconds` is what making it took, `speedup` svm-predict's."""

    method: str
    count: int
    accuracy: float
    agreement: float
    n_bytes: int
    seconds: float
    speedup: float | None


def judge(model: KernelExpansion, test: Dataset, threads: int) -> tuple[np.ndarray, float]:
    """Return the answers and their accuracy in percent (regression: 100 R^2)."""
    answers = model.head.predict(model.decision_values(test.rows, threads=threads))
    if model.head.is_regression:
        residual = np.mean((answers - test.labels) ** 2) / test.labels.var()
        return answers, 100 * (1 - float(residual))
    return answers, 100 * float(np.mean(answers == test.labels))


def svm_predict_seconds(test: str, model: Path) -> float | None:
    """Return the fastest of some runs of svm-predict, or None without it."""
    program = shutil.which("svm-predict")
    if program is None:
        return None
    best = np.inf
    for _ in range(REPEATS):
        began = time.perf_counter()
        subprocess.run([program, test, model, "/dev/null"], check=True, capture_output=True)
        best = min(best, time.perf_counter() - began)
    return best


def frontier(args: argparse.Namespace) -> tuple[list[Point], float, KernelExpansion]:
    exact = load_model(args.model)
    if not isinstance(exact, KernelExpansion):
        sys.exit(f"{args.model} is not a LIBSVM model")
    test = read_svmlight(args.test, threads=args.jobs)
    data = read_svmlight(args.data, threads=args.jobs) if args.data else None
    theirs, accuracy = judge(exact, test, args.jobs)
    settings = Settings(seed=args.seed, threads=args.jobs)
    base = prepare(exact, data and data.rows, data and data.labels, settings)
    points = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        slow = svm_predict_seconds(args.speed, Path(args.model)) if args.speed else None
        for share in args.shares.split(","):
            count = max(base.smallest, round(float(share.rstrip("%")) / 100 * len(exact.sv)))
            for method in METHODS:
                how = settings if method == "compress" else replace(settings, start=method, select_only=True)
                began = time.perf_counter()
                made, _ = replace(base, settings=how).compress(count)
                seconds = time.perf_counter() - began
                size = save_model(made, path)
                made = load_model(path)  # type: ignore[assignment]
                answers, right = judge(made, test, args.jobs)
                fast = svm_predict_seconds(args.speed, path) if slow else None
                points.append(
                    Point(
                        method,
                        count,
                        right,
                        100 * float(np.mean(answers == theirs)),
                        size,
                        seconds,
                        slow / fast if slow and fast else None,
                    )
                )
                print(points[-1], file=sys.stderr, flush=True)
    return points, accuracy, exact


def table(points: list[Point], accuracy: float, exact: KernelExpansion) -> str:
    """Return the points as a Markdown table."""
    lines = [
        f"exact: {len(exact.sv):,} support vectors, {accuracy:.2f} %",
        "",
        "| vectors | method | accuracy % | exact model's labels % | bytes | seconds | svm-predict speed-up |",
        "|---|---|---|---|---|---|---|",
    ]
    for p in points:
        speed = "" if p.speedup is None else f"{p.speedup:.1f}"
        lines.append(
            f"| {p.count:,} | {p.method} | {p.accuracy:.2f} | {p.agreement:.2f} | {p.n_bytes:,} "
            f"| {p.seconds:.1f} | {speed} |"
        )
    return "\n".join(lines) + "\n"


def draw(points: list[Point], accuracy: float, title: str, path: Path) -> bool:
    """Draw accuracy against number of vectors; False without matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4))
    for method in METHODS:
        mine = sorted((p.count, p.accuracy) for p in points if p.method == method)
        axes.plot(*zip(*mine, strict=True), marker="o", label=method)
    axes.axhline(accuracy, color="black", linewidth=1, label="exact")
    axes.set(xscale="log", xlabel="support vectors", ylabel="accuracy %", title=title)
    axes.legend()
    figure.savefig(path, metadata={"Date": None})
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model")
    parser.add_argument("test")
    parser.add_argument("--data")
    parser.add_argument("--shares", default="1%,2%,5%,10%")
    parser.add_argument("--speed", metavar="ROWS", help="data to time svm-predict on")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-j", "--jobs", type=int, default=usable_cores())
    parser.add_argument("-o", "--output", default="frontier")
    args = parser.parse_args()
    points, accuracy, exact = frontier(args)
    text = table(points, accuracy, exact)
    Path(f"{args.output}.md").write_text(text)
    print(text, end="")
    if not draw(points, accuracy, Path(args.model).name, Path(f"{args.output}.svg")):
        print("no figure: matplotlib is not installed", file=sys.stderr)


if __name__ == "__main__":
    main()
