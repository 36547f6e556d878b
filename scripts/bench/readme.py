"""The README's chart and table: seconds to score a test set, and labels that change, on three models.

    python scripts/bench/readme.py --data DIR --models DIR [--repeats 3]

svm-predict and svmfast are timed as whole processes, reading and start-up included; scikit-learn and
scikit-learn-intelex by their predict call alone, with rows and model in memory, which is in their favour.
All run in turn. Labels are compared with svm-predict's, row by row. Results go to
scripts/bench/results/readme.json, the chart to docs/figures/speed.svg, the table and the gain that the first
paragraph states into README.md.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import peers
from measuring import PROGRAM, ROOT, in_turn, machine, place, plain_file, run
from pages import put_into

from svmfast.formats.model_files import load_model
from svmfast.formats.svmlight import read_svmlight

RESULTS = ROOT / "scripts/bench/results/readme.json"
CHART = ROOT / "docs/figures/speed.svg"
#: Programs in the order of the chart; the last three or four are ours.
WAYS = (
    "svm-predict",
    "scikit-learn",
    "scikit-learn-intelex",
    "svmfast, exact",
    "svmfast, certified",
    "svmfast, compressed",
)


@dataclass(frozen=True)
class Work:
    """A model, its C, its training and test rows; options of approximate and of compress (None: not made)."""

    model: str
    cost: float
    train: str
    test: str
    certified: tuple[str, ...] | None
    compressed: tuple[str, ...]


WORK = (
    Work("a9a_g0.01", 1, "a9a", "a9a.t", ("--order", "2"), ("--ratio", "2%")),
    Work("ijcnn1_c250", 250, "ijcnn1", "ijcnn1.t", ("--order", "3"), ("--ratio", "4%")),
    Work("letter_c16_g2", 16, "letter.scale", "letter.scale.t", None, ("--ratio", "20%")),
)


def measure(work: Work, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Return the seconds and the number of changed labels of every program."""
    test, train = (plain_file(options.data, name, folder) for name in (work.test, work.train))
    model = plain_file(options.models, f"{work.model}.model", folder)
    fast, small = folder / f"{work.model}.fast", folder / f"{work.model}.small"
    made = {}
    commands: dict[str, list[object]] = {
        "svm-predict": [options.svm_predict, test, model],
        "svmfast, exact": [PROGRAM, "predict", test, model],
    }
    if work.certified is not None:
        words = [PROGRAM, "approximate", model, *work.certified, "--data", train, "-o", fast, "-q"]
        run(words)
        made["svmfast, certified"] = " ".join(["approximate", *work.certified])
        commands["svmfast, certified"] = [PROGRAM, "predict", test, fast, "--exact", model]
    run([PROGRAM, "compress", model, *work.compressed, "--data", train, "-o", small, "-q"])
    made["svmfast, compressed"] = " ".join(["compress", *work.compressed])
    commands["svmfast, compressed"] = [PROGRAM, "predict", test, small]
    outputs = {name: folder / f"{work.model}.{i}.out" for i, name in enumerate(commands)}

    def process(name: str) -> Callable[[], float]:
        words = commands[name]
        at = 3 if name == "svm-predict" else 4  # after the test file and the model
        return lambda: run([*words[:at], outputs[name], *words[at:]]).wall

    exact: Any = load_model(str(model))
    rows = read_svmlight(test, threads=options.threads).rows
    calls = {"scikit-learn": peers.scikit_learn(exact, rows, rows.density < 0.3)}

    def training() -> tuple[Any, np.ndarray]:
        data = read_svmlight(train, threads=options.threads)
        return data.rows, data.labels

    try:
        calls["scikit-learn-intelex"] = peers.scikit_learn_intelex(exact, rows, False, training, work.cost)
    except ImportError:
        print("scikit-learn-intelex is not installed: left out", file=sys.stderr)
    found: dict[str, np.ndarray] = {}

    def call(name: str) -> Callable[[], float]:
        def action() -> float:
            start = time.perf_counter()
            labels = calls[name]()
            seconds = time.perf_counter() - start
            found[name] = np.asarray(labels, dtype=np.float64)
            return seconds

        return action

    actions = {
        name: process(name) if name in commands else call(name)
        for name in WAYS
        if name in {*commands, *calls}
    }
    samples = in_turn(actions, options.repeats)
    found |= {name: np.loadtxt(path) for name, path in outputs.items()}
    own = found["svm-predict"]
    return {
        "model": work.model,
        "rows": len(own),
        "support_vectors": len(exact.sv),
        "made": made,
        "ways": {
            name: {
                "seconds": samples.seconds[name],
                "labels_changed": int((found[name] != own).sum()),
            }
            for name in actions
        },
    }


def seconds_of(way: dict[str, Any]) -> float:
    """Return the median."""
    return statistics.median(way["seconds"])


def shown(seconds: float) -> str:
    """Return seconds with two digits."""
    return f"{seconds:.2f} s" if seconds < 1 else f"{seconds:.3g} s"


def table(records: list[dict[str, Any]]) -> list[str]:
    """Return one row for each program."""
    heads = [f"{one['model']}: {one['rows']:,} rows, {one['support_vectors']:,} SVs" for one in records]
    out = ["| | " + " | ".join(heads) + " |", "| --- |" + " --- |" * len(heads)]
    for way in WAYS:
        cells = []
        for one in records:
            known = one["ways"].get(way)
            if known is None:
                cells.append("-")
                continue
            changed = known["labels_changed"]
            base = seconds_of(one["ways"]["svm-predict"])
            gain = "" if way == "svm-predict" else f" ({base / seconds_of(known):.3g}x)"
            cells.append(f"{shown(seconds_of(known))}{gain}, {changed:,} changed")
        out.append(f"| {way} | " + " | ".join(cells) + " |")
    return out


def claim(records: list[dict[str, Any]]) -> list[str]:
    """Return the README's first paragraph: the least and the greatest gain of ways that change no label."""
    gains = []
    for one in records:
        base = seconds_of(one["ways"]["svm-predict"])
        ours = [known for way, known in one["ways"].items() if "svmfast" in way]
        gains.append(max(base / seconds_of(known) for known in ours if not known["labels_changed"]))
    least, most = math.floor(min(gains)), math.floor(max(gains))
    return [
        "RBF-kernel SVMs predict slowly, since every row is compared with every support vector. **svmfast",
        f"scores with an existing LIBSVM or scikit-learn model {least} to {most} times as fast as",
        "svm-predict, with every label unchanged** (whole processes, measured below); a certificate",
        "proves it row by row.",
    ]


_STYLE = """
text { font: 14px system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif; fill: #1a1c20; }
.head { font-weight: 600; font-size: 15px; } .soft { fill: #5a606b; }
.other { fill: #9aa1ab; } .ours { fill: #0b57d0; } .small { fill: #d55e00; }
@media (prefers-color-scheme: dark) {
  text { fill: #e8eaed; } .soft { fill: #a9b0bb; } .other { fill: #737b87; }
  .ours { fill: #8ab4f8; } .small { fill: #f0a060; } }
"""


def chart(records: list[dict[str, Any]]) -> str:
    """Return the bars: a group for each model, each on its own scale."""
    left, room, height = 190, 420, 24
    y, out = 34, []
    for one in records:
        words = f"{one['model']}: {one['rows']:,} rows, {one['support_vectors']:,} support vectors"
        out.append(f'<text class="head" x="8" y="{y}">{escape(words)}</text>')
        y += 12
        longest = max(seconds_of(way) for way in one["ways"].values())
        for name, way in one["ways"].items():
            taken, changed = seconds_of(way), way["labels_changed"]
            kind = "other" if "svmfast" not in name else "small" if changed else "ours"
            width = max(2.0, room * taken / longest)
            out.append(f'<text x="{left - 10}" y="{y + 16}" text-anchor="end">{escape(name)}</text>')
            box = f'x="{left}" y="{y + 3}" width="{width:.1f}" height="{height - 7}"'
            out.append(f'<rect class="{kind}" {box} rx="2"/>')
            note = (
                "no label changed"
                if not changed
                else f"{changed:,} labels changed ({100 * changed / one['rows']:.2g}%)"
            )
            out.append(
                f'<text x="{left + width + 8:.1f}" y="{y + 16}">{shown(taken)}'
                f'<tspan class="soft">, {note}</tspan></text>'
            )
            y += height
        y += 34
    title = "Seconds to score a test set, and how many labels change"
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 {y - 20}" role="img" aria-label="{title}">'
    )
    return "\n".join([head, f"<title>{title}</title>", f"<style>{_STYLE}</style>", *out, "</svg>"]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="LIBSVM data sets, plain or .xz")
    parser.add_argument("--models", type=Path, required=True, help="LIBSVM models, plain or .xz")
    parser.add_argument("--svm-predict", default=shutil.which("svm-predict"), help="default: on PATH")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--draw", action="store_true", help="only draw again what was measured")
    options = parser.parse_args()
    if not options.draw:
        with tempfile.TemporaryDirectory() as name:
            records = [measure(work, options, Path(name)) for work in WORK]
        found = {"machine": machine(options.threads, options.svm_predict), "records": records}
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    found = json.loads(RESULTS.read_text())
    CHART.write_text(chart(found["records"]))
    versions = ("svm-predict", "scikit-learn", "scikit-learn-intelex")
    lines = [
        *table(found["records"]),
        "",
        f"Measured on {place(found['machine'], *versions)}; medians, in turn.",
    ]
    put_into(ROOT / "README.md", lines, "speed")
    put_into(ROOT / "README.md", claim(found["records"]), "claim")


if __name__ == "__main__":
    main()
