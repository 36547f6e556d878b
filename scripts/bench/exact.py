"""Measure the labels of LIBSVM models against another svmfast, scikit-learn-intelex and svm-predict.

    python scripts/bench/exact.py --against PYTHON                            # on fixtures/
    python scripts/bench/exact.py --against PYTHON --data DIR --models DIR    # large sets (plain or .xz)
    python scripts/bench/exact.py ... --json raw.json --readme docs/benchmarks.md

PYTHON is an interpreter with the other svmfast. For each model: the time from rows in memory to labels in
memory of both, with each instruction set; how many rows single precision proves; labels that differ from
svm-predict's; whole processes. Models that --models lacks are trained. All sides run in turn, each in its
own process, which predicts for at least 50 milliseconds; the tables show medians. `--readme` puts them
between the markers ``<!-- exact -->`` and ``<!-- /exact -->``.
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
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import peers
from measuring import PROGRAM, ROOT, in_turn, machine, place, plain_file, run, timed
from pages import put_into, read_records, write_records

from svmfast.formats.model_files import load_model
from svmfast.formats.svmlight import read_svmlight

Record = dict[str, Any]
#: The best one of the machine, and two that can be requested.
ISAS = ("", "avx2", "baseline")

#: A side that predicts: reads a model and rows, and for each line of its input answers with seconds. It keeps
#: to functions of both versions. If an order is given, the model is converted to a certified polynomial.
SIDE = """
import sys, time, svmfast
import numpy as np
model, threads, order = svmfast.load_model(sys.argv[1]), int(sys.argv[3]), int(sys.argv[4])
rows, out = svmfast.read_svmlight(sys.argv[2], threads=threads).rows, sys.argv[5]
exact = {}
if order:
    exact = {"exact": model}
    model, _ = svmfast.approximate(model, order=order, force=True, threads=threads)
def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
answer = lambda: svmfast.predict(model, rows, threads=threads, **exact)
if hasattr(svmfast, "Predictor"):
    predictor = svmfast.Predictor(model, **exact)
    answer = lambda: predictor.answer(rows, threads=threads)
np.save(out, answer().predicted)
if hasattr(svmfast, "Predictor"):
    one_row = lambda row: predictor.answer(row, threads=1)
else:
    one_row = lambda row: svmfast.predict(model, row, threads=1, **exact)
def repeated(call):
    # The first call after a pause takes milliseconds to wake processors up.
    found = [seconds(call)]
    while sum(found) < 0.05:
        found.append(seconds(call))
    return float(np.median(found))
for line in sys.stdin:
    if line.startswith("rows"):
        print(repeated(answer), flush=True)
    else:
        some = [rows[i : i + 1] for i in range(min(len(rows), 200))]
        print(float(np.median([seconds(lambda: one_row(row)) for row in some])), flush=True)
"""


@dataclass(frozen=True)
class Work:
    """A model and the rows it predicts; `train`: how to train it on the first `rows` without a file."""

    model: str
    test: str
    data: str
    cost: float
    one_against_rest: int | None = None
    train: tuple[str, ...] = ()
    rows: int | None = None
    order: int = 0

    @property
    def name(self) -> str:
        return f"{self.model}, order {self.order}" if self.order else self.model


SMALL = [
    Work("photos_c_rbf", "photos.test", "photos.train", 100),
    Work("onehot_c_rbf", "onehot.test", "onehot.train", 5),
    Work("digits_nu_rbf", "digits.test", "digits.train", 10),
    Work("photos_c_rbf", "photos.test", "photos.train", 100, order=2),
]
LARGE = [
    Work("ijcnn1_c250", "ijcnn1.t", "ijcnn1", 250),
    Work("ijcnn1_c32_g2", "ijcnn1.t", "ijcnn1", 32),
    Work("letter_c16_g2", "letter.scale.t", "letter.scale", 16),
    Work("pendigits", "pendigits.scale.t", "pendigits.scale", 10, train=("-g", "0.125")),
    Work("usps_c10", "usps.t", "usps", 10),
    Work("a9a_g0.01", "a9a.t", "a9a", 1),
    Work("a9a_g0.1", "a9a.t", "a9a", 1),
    Work("phishing", "phishing.s20", "phishing.s80", 8, train=("-g", "0.1")),
    Work("w8a", "w8a.s20", "w8a.s80", 8, train=("-g", "0.05")),
    Work("mnist1vr_c10_g1e-4", "mnist.scale.t", "mnist.scale", 10, one_against_rest=1),
    Work("mnist20k", "mnist.scale.t", "mnist.scale", 10, train=("-g", "0.02"), rows=20_000),
    Work("a9a_g0.02", "a9a.t", "a9a", 1, order=3),
    Work("ijcnn1_c250", "ijcnn1.t", "ijcnn1", 250, order=4),
]


class Side:
    """A process that holds a model and rows, and predicts on request."""

    def __init__(self, python: Path, isa: str, words: list[str], out: Path) -> None:
        environment = {**os.environ, **({"SVMFAST_ISA": isa} if isa else {})}
        self._out = out
        self._process = subprocess.Popen(
            [str(python), "-I", "-c", SIDE, *words, str(out)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )

    def ask(self, what: str) -> float:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{what}\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def labels(self) -> np.ndarray:
        return np.load(self._out)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        if self._process.wait():
            raise RuntimeError("a side ended badly")


def trained(work: Work, options: argparse.Namespace, folder: Path) -> tuple[Path, Path]:
    """Return a plain copy of the model, and its training data; train it if there is no file."""
    data = plain_file(options.data, work.data, folder, work.one_against_rest)
    if not work.train:
        return plain_file(options.models, f"{work.model}.model", folder), data
    made = folder / f"{work.model}.model"
    if work.rows is not None:
        first = folder / f"{work.data}.{work.rows}"
        if not first.exists():
            with data.open() as source, first.open("w") as target:
                target.writelines(line for line, _ in zip(source, range(work.rows), strict=False))
        data = first
    if not made.exists():
        run([PROGRAM, "train", "-q", "-c", work.cost, *work.train, data, made])
    return made, data


def repeated(call: Callable[[], Any]) -> Callable[[], float]:
    """Return a call as an action, with the median of its seconds over 50 milliseconds, as in SIDE."""
    one = timed(call)

    def action() -> float:
        found = [one()]
        while sum(found) < 0.05:
            found.append(one())
        return statistics.median(found)

    return action


def measured(work: Work, options: argparse.Namespace, folder: Path) -> Record:
    """Measure one model."""
    model, data = trained(work, options, folder)
    test = plain_file(options.data, work.test, folder, work.one_against_rest)
    exact: Any = load_model(str(model))
    rows = read_svmlight(test, threads=options.threads).rows
    outputs = {name: folder / f"{name}.out" for name in ("svm-predict", "svmfast")}
    whole = {
        "svm-predict": [options.svm_predict, "-q", test, model, outputs["svm-predict"]],
        "svmfast": [PROGRAM, "predict", "-q", "-j", options.threads, test, model, outputs["svmfast"]],
    }
    # For a polynomial, whole processes would be those of its exact model, which has a separate line.
    processes = in_turn(
        {name: lambda command=command: run(command).wall for name, command in whole.items()},
        1 if work.order else options.repeats,
    )
    expected = np.loadtxt(outputs["svm-predict"])

    words = [str(model), str(test), str(options.threads), str(work.order)]
    sides: dict[str, Side] = {}
    for isa in options.isa:
        for version, python in (("svmfast", Path(sys.executable)), ("before", options.against)):
            name = f"{version} {isa}".strip()
            sides[name] = Side(python, isa, words, folder / f"{name}.npy")
    actions: dict[str, Callable[[], float]] = {}
    for name, side in sides.items():
        side.ask("rows")
        actions[name] = lambda side=side: side.ask("rows")  # type: ignore[misc]
        if name in ("svmfast", "before"):
            actions[f"{name}, one row"] = lambda side=side: side.ask("one")  # type: ignore[misc]
    theirs: dict[str, np.ndarray] = {}
    for sparse in (False, True) if not work.order else ():
        form = "CSR" if sparse else "dense"
        try:
            call = peers.scikit_learn_intelex(
                exact, rows, sparse, lambda: (lambda d: (d.rows, d.labels))(read_svmlight(data)), work.cost
            )
        except ImportError:
            print("scikit-learn-intelex is not installed", file=sys.stderr)
            break
        theirs[form] = np.asarray(call(), dtype=np.float64)
        actions[f"scikit-learn-intelex, {form}"] = repeated(call)
    samples = in_turn(actions, options.repeats)
    differing = {name: int((side.labels() != expected).sum()) for name, side in sides.items()}
    differing |= {f"scikit-learn-intelex, {form}": int((y != expected).sum()) for form, y in theirs.items()}
    for side in sides.values():
        side.close()
    return {
        "model": work.name,
        "rows": len(rows),
        "svs": len(exact.sv),
        "identical_bytes": outputs["svmfast"].read_bytes() == outputs["svm-predict"].read_bytes(),
        **proven(exact, rows, options.threads),
        "differing": differing,
        "seconds": samples.seconds,
        "process_seconds": processes.seconds,
    }


def proven(exact: Any, rows: Any, threads: int) -> Record:
    """Return which share of the rows each tier proved."""
    _, counts = exact._engine.labels(rows, threads=threads)
    return {
        "one_hot": exact._engine.one_hot,
        "single_percent": 100 * counts.single / len(rows),
        "libsvm_order_percent": 100 * counts.libsvm_order / len(rows),
    }


def tables(records: list[Record]) -> list[str]:
    """Return the Markdown tables."""

    def median(record: Record, name: str) -> float:
        return statistics.median(record["seconds"].get(name) or [float("nan")])

    def ratio(slow: float, fast: float) -> str:
        return f"{slow / fast:.1f}x" if slow / fast == slow / fast else "-"

    head = (
        "model", "rows", "SVs", "labels", "over before", "avx2", "baseline", "proven by single precision",
        "labels differing", "over scikit-learn-intelex", "its labels differing", "process over svm-predict",
        "one row", "before",
    )  # fmt: skip
    out = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    for r in records:
        peer = min(
            (name for name in r["seconds"] if name.startswith("scikit-learn")),
            key=lambda name: median(r, name),
            default="",
        )
        polynomial = ", order" in r["model"]
        single = "one-hot" if r["one_hot"] else f"{r['single_percent']:.2f}%"
        process = r["process_seconds"]
        gain = statistics.median(process["svm-predict"]) / statistics.median(process["svmfast"])
        cells = [
            r["model"],
            f"{r['rows']:,}",
            f"{r['svs']:,}",
            f"{1000 * median(r, 'svmfast'):.1f} ms",
            *(ratio(median(r, f"before {isa}".strip()), median(r, f"svmfast {isa}".strip())) for isa in ISAS),
            "" if polynomial else single,
            str(max(n for name, n in r["differing"].items() if name.startswith("svmfast"))),
            ratio(median(r, peer), median(r, "svmfast")) if peer else "-",
            str(r["differing"][peer]) if peer else "-",
            "" if polynomial else f"{gain:.1f}x",
            f"{1e6 * median(r, 'svmfast, one row'):.1f} us",
            f"{1e6 * median(r, 'before, one row'):.1f} us",
        ]
        out.append("| " + " | ".join(cells) + " |")
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--against", type=Path, required=True, metavar="PYTHON", help="has the other svmfast")
    parser.add_argument("--before", default="another svmfast", help="what the heading calls that one")
    parser.add_argument("--data", type=Path, help="folder of data sets; default: the fixtures")
    parser.add_argument("--models", type=Path, help="folder of models")
    parser.add_argument("--only", action="append", help="only models whose name starts so (repeatable)")
    parser.add_argument("--isa", action="append", help="only these instruction sets; '' is the best one")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--svm-predict", default=shutil.which("svm-predict"))
    parser.add_argument("--json", type=Path, help="add every sample to this file; replaces those of --only")
    parser.add_argument("--readme", type=Path, help="put the table between the markers of this file")
    options = parser.parse_args()
    if options.svm_predict is None:
        parser.error("svm-predict not found; install libsvm-tools or name it with --svm-predict")
    if bool(options.data) != bool(options.models):
        parser.error("--data and --models need each other")
    works = LARGE if options.data else SMALL
    if not options.data:
        options.data, options.models = ROOT / "fixtures/data", ROOT / "fixtures/models"
    options.isa = options.isa or ISAS
    heading = machine(options.threads, options.svm_predict)
    heading["command"] = "python scripts/bench/exact.py --against PYTHON --data DIR --models DIR"
    records: list[Record] = []
    earlier = read_records(options.json)
    with tempfile.TemporaryDirectory(prefix="svmfast-bench-") as folder:
        for work in works:
            if options.only and not any(work.name.startswith(start) for start in options.only):
                records += [record for record in earlier if record["model"] == work.name]
                continue
            records.append({**measured(work, options, Path(folder)), "commit": heading["commit"]})
            print(json.dumps(records[-1]), file=sys.stderr)
    write_records(options.json, heading, records)
    lines = [
        f"Measured on {place(heading, 'svm-predict', 'scikit-learn-intelex')}; before: {options.before}; "
        f"medians of {options.repeats}, all sides in turn. Labels: rows and model in memory to labels in "
        "memory; where an order is named, by a certified polynomial with the exact model as fallback.",
        "",
        *tables(records),
    ]
    print("\n".join(lines))
    if options.readme:
        put_into(options.readme, lines, "exact")


if __name__ == "__main__":
    main()
