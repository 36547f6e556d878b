#!/usr/bin/env python3
"""Accuracy against number of support vectors: compress and the paper's baselines (its figure 3).

    python scripts/bench/frontier_compress.py DIR [--models DIR] [--only NAME]...     # measure
    python scripts/bench/frontier_compress.py --draw                                  # page and figure again

DIR holds LIBSVM data sets under their usual names; a model that --models lacks is trained (`svmfast train`).
Methods: ``lars`` (LARS-SVM, the paper's first stage), ``kmeans`` (centroids, coefficients refitted),
``compress`` (the default). All are given the training rows, without their labels, but not the test rows.
Every model is made by the executable in its own process, whose time and peak memory are measured, and
predicted by svm-predict as well. Time is wall time: close other programs. Results go to
scripts/bench/results/compress.json (what was measured earlier stays), the table to docs/papers.md, the
figure, with matplotlib, to docs/figures/compress.svg.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from figures import label_outside, log_log, save, svg_pyplot
from measuring import ROOT, machine, place
from pages import put_into

PROGRAM = Path(sys.executable).parent / "svmfast"
RESULTS = ROOT / "scripts/bench/results/compress.json"
FIGURE = ROOT / "docs/figures/compress.svg"
PAGE = ROOT / "docs/papers.md"
REPEATS = 3
SPLIT_SEED = 1
METHODS = {
    "lars": ["--start", "lars", "--select-only"],
    "kmeans": ["--start", "kmeans", "--select-only"],
    "compress": [],
}


@dataclass(frozen=True)
class Work:
    """A model, its data, its training options (RBF), and the sizes to measure."""

    name: str
    model: str
    train: str
    test: str
    cost: float
    gamma: float
    sizes: tuple[str, ...] = ("1%", "2%", "5%", "10%")


#: C and gamma of page-blocks and magic04 are the best by cross-validation on the training rows: of C 10, 100,
#: 1000 x gamma 0.1, 1, 4 in five folds, and of C 1, 10, 100 x gamma 0.1, 0.5 in three.
WORKS = (
    Work("ijcnn1", "ijcnn1_c32_g2.model", "ijcnn1", "ijcnn1.t", 32, 2, ("25", "50", "125", "248")),
    Work("a9a", "a9a_g0.02.model", "a9a", "a9a.t", 1, 0.02, ("0.2%", "0.5%", "1%", "2%")),
    Work("letter", "letter_c16_g2.model", "letter.scale", "letter.scale.t", 16, 2),
    Work("usps", "usps_c10.model", "usps", "usps.t", 10, 0.0078125),
    Work("page-blocks", "page-blocks.model", "page-blocks_scale.s80", "", 1000, 0.1),
    Work("magic04", "magic04.model", "magic04_scale.s80", "magic04_scale.s20", 100, 0.5),
)


@dataclass(frozen=True)
class Run:
    """A finished process."""

    stdout: str
    seconds: float
    peak_bytes: int


def run(*command: Any) -> Run:
    """Run a program to its end; wall time and peak memory are its own."""
    began = time.perf_counter()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            [str(c) for c in command], stdin=subprocess.DEVNULL, stdout=out, stderr=err
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if process.returncode:
            sys.exit(f"{' '.join(map(str, command))}: {err.read().decode()}")
        return Run(out.read().decode(), seconds, usage.ru_maxrss * 1024)


def files(work: Work, data: Path, models: Path, folder: Path) -> tuple[Path, Path, Path]:
    """Return training rows, test rows and model; split the data and train the model if necessary."""
    train, test = data / work.train, data / work.test
    if not work.test:
        lines = train.read_bytes().splitlines(keepends=True)
        order = np.random.default_rng(SPLIT_SEED).permutation(len(lines))
        fifth = len(lines) // 5
        train, test = folder / "train", folder / "test"
        test.write_bytes(b"".join(lines[i] for i in np.sort(order[:fifth])))
        train.write_bytes(b"".join(lines[i] for i in np.sort(order[fifth:])))
    model = models / work.model
    if not model.exists():
        model = folder / work.model
        run(PROGRAM, "train", "-q", "-c", work.cost, "-g", work.gamma, "-m", 1000, train, model)
    return train, test, model


def measure(work: Work, args: argparse.Namespace) -> dict[str, Any]:
    """Make every model of one data set and measure it on the test rows."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        train, test, exact = files(work, Path(args.data), Path(args.models or args.data), folder)
        truth = np.array([float(line.split(None, 1)[0]) for line in test.open()])

        def answers(model: Path) -> np.ndarray:
            run(PROGRAM, "predict", "-q", test, model, folder / "ours")
            return np.loadtxt(folder / "ours")

        theirs = answers(exact)
        points, small = [], {}
        for size in work.sizes:
            size_option = "--ratio" if size.endswith("%") else "--sv"
            for method, how in METHODS.items():
                path = folder / f"{size}-{method}"
                made = run(
                    *(PROGRAM, "compress", exact, "-o", path, size_option, size, "--data", train),
                    *(*how, "--seed", args.seed, "-j", args.jobs, "--json", "-q"),
                )
                report = json.loads(made.stdout)
                mine = answers(path)
                run(args.svm_predict, test, path, folder / "svm-predict")
                if method == "compress":
                    small[path] = len(points)
                held_out = report["held_out"]
                points.append(
                    {
                        "method": method,
                        "size": size,
                        "vectors": report["support_vectors"],
                        "accuracy": 100 * float(np.mean(mine == truth)),
                        "exact_labels": 100 * float(np.mean(mine == theirs)),
                        "svm_predict_differs": int(
                            np.count_nonzero(mine != np.loadtxt(folder / "svm-predict"))
                        ),
                        "bytes": report["bytes"],
                        "seconds": made.seconds,
                        "peak_bytes": made.peak_bytes,
                        "start": report["start"],
                        "iterations": report["iterations"],
                        "stated_agreement": [
                            100 - held_out[f"labels_differing_percent_{k}"] for k in ("high", "low")
                        ],
                    }
                )
                print(work.name, json.dumps(points[-1]), file=sys.stderr, flush=True)
        # The exact model and the small ones in turn, so that both see the same load of the machine.
        ratios: dict[Path, list[float]] = {path: [] for path in small}
        exact_seconds = []
        for _ in range(args.repeats):
            exact_seconds.append(run(args.svm_predict, test, exact, folder / "x").seconds)
            for path, gains in ratios.items():
                gains.append(exact_seconds[-1] / run(args.svm_predict, test, path, folder / "x").seconds)
        for path, gains in ratios.items():
            points[small[path]]["svm_predict_gain"] = statistics.median(gains)
            points[small[path]]["svm_predict_gains"] = gains
        return {
            "work": asdict(work),
            "where": place(machine(args.jobs, args.svm_predict), "svm-predict"),
            "test_rows": len(truth),
            "vectors": report["support_vectors_exact"],
            "bytes": exact.stat().st_size,
            "accuracy": 100 * float(np.mean(theirs == truth)),
            "svm_predict_seconds": exact_seconds,
            "points": points,
        }


def table(results: dict[str, Any]) -> str:
    """Return the results as Markdown."""
    places = sorted({r["where"] for r in results.values()})
    lines = [
        *(f"Measured on {place}." for place in places),
        "",
        "| accuracy, % | vectors | LARS | k-means | **compress** | exact | file | time "
        "| peak | svm-predict | differing |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, result in results.items():
        by_size: dict[str, dict[str, Any]] = {}
        for p in result["points"]:
            by_size.setdefault(p["size"], {})[p["method"]] = p
        for i, at in enumerate(by_size.values()):
            ours = at["compress"]
            first = f"{name}, {result['vectors']:,} SVs" if i == 0 else ""
            accuracies = [f"{at[m]['accuracy']:.2f}" for m in METHODS if m != "compress"]
            lines.append(
                f"| {first} | {ours['vectors']:,} ({ours['vectors'] / result['vectors']:.1%}) "
                f"| {' | '.join(accuracies)} | **{ours['accuracy']:.2f}** | {result['accuracy']:.2f} "
                f"| 1/{result['bytes'] / ours['bytes']:.1f} "
                f"| {ours['seconds']:.1f} s | {ours['peak_bytes'] / 2**20:.0f} MiB "
                f"| {ours['svm_predict_gain']:.1f}x | {sum(p['svm_predict_differs'] for p in at.values())} |"
            )
    lines += [
        "",
        "| exact labels, % | vectors | LARS | k-means | **compress** | stated |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, result in results.items():
        for p in result["points"]:
            if p["method"] == "compress":
                same = {q["method"]: q["exact_labels"] for q in result["points"] if q["size"] == p["size"]}
                first = name if p["size"] == result["points"][0]["size"] else ""
                low, high = p["stated_agreement"]
                lines.append(
                    f"| {first} | {p['vectors']:,} | {same['lars']:.2f} "
                    f"| {same['kmeans']:.2f} | **{same['compress']:.2f}** | {low:.2f} to {high:.2f} |"
                )
    return "\n".join(lines) + "\n"


def draw(results: dict[str, Any]) -> bool:
    """Draw error against number of vectors, with a panel for each model; return False without matplotlib."""
    try:
        pyplot = svg_pyplot("compress")
    except ImportError:
        return False
    columns = min(3, len(results))
    rows = -(-len(results) // columns)
    figure, panels = pyplot.subplots(rows, columns, figsize=(4 * columns, 3.2 * rows), squeeze=False)
    looks = {"lars": ("#d55e00", "^"), "kmeans": ("#0072b2", "v")}
    for panel in panels.flat[len(results) :]:
        panel.set_visible(False)
    for panel, (name, result) in zip(panels.flat, results.items(), strict=False):
        for method in METHODS:
            at = [(p["vectors"], 100 - p["accuracy"]) for p in result["points"] if p["method"] == method]
            color, marker = looks.get(method, ("#009e73", "o"))
            panel.plot(*zip(*at, strict=True), color=color, marker=marker, label=method)
        panel.axhline(
            100 - result["accuracy"], color="black", linewidth=1, linestyle="--", label="exact model"
        )
        panel.set(xscale="log", yscale="log", title=f"{name}, {result['vectors']:,} support vectors")
        ticks = sorted({p["vectors"] for p in result["points"]})
        low, high = panel.get_ylim()
        log_log(panel, ticks, [f"{t:,}" for t in ticks], minor_y=high < 2 * low)
    label_outside(panels, "vectors kept (log)", "test error, % (log)")
    figure.tight_layout()
    save(figure, FIGURE)
    return True


def publish(results: dict[str, Any]) -> None:
    """Write results, table and figure."""
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    figure = "![Test error against the number of vectors](figures/compress.svg)"
    put_into(PAGE, f"{table(results)}\n{figure}\n", "frontier")
    if not draw(results):
        print("no figure: matplotlib is not installed", file=sys.stderr)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", nargs="?", metavar="DIR")
    parser.add_argument("--models", metavar="DIR")
    parser.add_argument("--only", action="append", choices=[w.name for w in WORKS])
    parser.add_argument("--draw", action="store_true", help="measure nothing")
    parser.add_argument("--svm-predict", default=shutil.which("svm-predict"))
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-j", "--jobs", type=int, default=2)
    args = parser.parse_args(argv)
    if args.draw == (args.data is not None):
        parser.error("give a folder of data, or --draw")
    if not args.draw and args.svm_predict is None:
        parser.error("svm-predict is not installed; say with --svm-predict where it is")
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if not args.draw:
        for work in WORKS:
            if args.only is None or work.name in args.only:
                results[work.name] = measure(work, args)
                results = {w.name: results[w.name] for w in WORKS if w.name in results}
                publish(results)
    publish(results)


if __name__ == "__main__":
    main()
