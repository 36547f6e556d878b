"""Accuracy against bytes of flash: an SVC converted by each method and exported to C for a Cortex-M4.

    python scripts/bench/export_flash.py --data DIR
    python scripts/bench/export_flash.py --draw

DIR has LIBSVM's public sets. Every model is exported in single precision. Its flash, tables and code, is what
a program for a Cortex-M4 (-Os) grows by when it calls NAME_predict. Its accuracy is that of the same file
compiled here, on at most 10,000 test rows. Results go to scripts/bench/results/export_flash.json, the figure,
with matplotlib, to docs/figures/export_flash.svg, the machine and the command to docs/export.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from embedded import TooLargeError, flash_of
from export_speed import in_c
from figures import label_outside, log_log, save, svg_pyplot
from measuring import PROGRAM, ROOT, machine, place, plain_file
from pages import put_into

import svmfast
from svmfast.errors import SvmfastError

RESULTS = ROOT / "scripts/bench/results/export_flash.json"
FIGURE = ROOT / "docs/figures/export_flash.svg"
PAGE = ROOT / "docs/export.md"
MOST_TRAIN, MOST_ROWS = 20_000, 10_000
BOARD = "Cortex-M4"
#: The figure shows errors up to this percentage.
MOST_ERROR = 30.0


@dataclass(frozen=True)
class Work:
    """A set: its files, and C and gamma of the exact model."""

    name: str
    train: str
    test: str
    c: float
    gamma: float


WORKS = [
    Work("ijcnn1", "ijcnn1", "ijcnn1.t", 100.0, 0.05),
    Work("magic04", "magic04_scale.s80", "magic04_scale.s20", 10.0, 0.5),
    Work("pendigits", "pendigits.scale", "pendigits.scale.t", 10.0, 0.5),
    Work("svmguide1", "svmguide1.scale", "svmguide1.scale.t", 10.0, 2.0),
]
#: Method -> color and marker; the figure's order.
LOOKS = {
    "approximate": ("#0072b2", "v"),
    "compress": ("#009e73", "o"),
    "dcpred": ("#d55e00", "^"),
    "budget-train": ("#cc79a7", "D"),
    "linear": ("#999999", "s"),
    "exact": ("#000000", "*"),
}


def ways(work: Work, model: Path, train: Path) -> list[tuple[str, str, list[Any]]]:
    """Return the method, the size setting and the command of every smaller model."""
    solver = ("-c", work.c, "-g", work.gamma)
    found: list[tuple[str, str, list[Any]]] = [("linear", "", ["linear", train])]
    for order in (1, 2, 3, 4):
        words = ["approximate", model, "--data", train, "--order", order, "--force"]
        found.append(("approximate", f"order {order}", words))
    for sv in (10, 20, 40, 80, 160, 320):
        words = ["compress", model, "--data", train, "--sv", sv, "--rows", 6000, "--iterations", 300]
        found.append(("compress", f"{sv} vectors", words))
    for budget in (20, 80, 320):
        found.append(("budget-train", f"budget {budget}", ["budget-train", train, *solver, "-B", budget]))
    for clusters, landmarks in ((2, 8), (4, 16), (8, 32)):
        words = ["dcpred", train, "--task", "svc", "--clusters", clusters, "--landmarks", landmarks]
        words += [*solver, "--pseudo", "none"]
        found.append(("dcpred", f"{clusters} x {landmarks} landmarks", words))
    return found


def first_rows(path: Path, most: int, out: Path) -> Path:
    """Write the first rows of a file."""
    with path.open() as source, out.open("w") as target:
        for _, line in zip(range(most), source, strict=False):
            target.write(line)
    return out


def point(model: Path, x: np.ndarray, y: np.ndarray, folder: Path) -> dict[str, Any] | None:
    """Return flash and accuracy of a model's C file; None if it does not fit on the board."""
    made = svmfast.export(model, "c")
    try:
        flash = flash_of(made.text, BOARD, folder)
    except TooLargeError:
        return None
    (folder / "model.h").write_bytes(made.data)
    source = '#include "model.h"\nint answer(const float *x);\n'
    source += "int answer(const float *x) { return (int)model_predict(x); }\n"
    head = "typedef float real;\nint answer(const real *x);"
    compiled = in_c(model.name, head, source, np.float32, x, folder)
    if isinstance(compiled, str):
        raise SystemExit(compiled)
    return {"flash": flash, "accuracy": round(100 * float(np.mean(compiled.labels == y)), 3)}


def measure(work: Work, data: Path, folder: Path) -> dict[str, Any]:
    """Make and measure every model of a set."""
    train = first_rows(plain_file(data, work.train, folder), MOST_TRAIN, folder / "train")
    test = first_rows(plain_file(data, work.test, folder), MOST_ROWS, folder / "test")
    asked = svmfast.read_svmlight(test)
    exact = folder / "exact"
    run(["train", train, exact, "-c", work.c, "-g", work.gamma])
    loaded = svmfast.load_model(exact)
    x, y = np.ascontiguousarray(asked.rows.to_dense(loaded.n_features)), asked.labels
    points = []
    for method, size, words in [("exact", "", []), *ways(work, exact, train)]:
        model = folder / "made" if words else exact
        found = None
        if not words or run([*words, "-o", model]):
            found = point(model, x, y, folder)
        what = f"{work.name}, {method} {size}".strip()
        print(f"{what}: {found or 'no model'}", file=sys.stderr, flush=True)
        if found is not None:
            points.append({"method": method, "size": size, **found})
    return {"points": points, "rows": len(y), "vectors": len(loaded.sv), "c": work.c, "gamma": work.gamma}


def run(words: list[Any]) -> bool:
    """Run svmfast; return whether it wrote a model."""
    done = subprocess.run([PROGRAM, *map(str, words), "-q"], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    return done.returncode == 0


def draw(works: dict[str, Any]) -> None:
    """Draw error against flash, with a panel for each set."""
    pyplot = svg_pyplot("export_flash")
    figure, panels = pyplot.subplots(2, 2, figsize=(9, 6.8), squeeze=False)
    for panel, (name, result) in zip(panels.flat, works.items(), strict=True):
        for method, (color, marker) in LOOKS.items():
            at = sorted(
                (p["flash"] / 1024, 100 - p["accuracy"]) for p in result["points"] if p["method"] == method
            )
            if at:
                panel.plot(*zip(*at, strict=True), color=color, marker=marker, label=method)
        panel.set(xscale="log", yscale="log", title=f"{name}, {result['vectors']:,} support vectors")
        for limit in (2, 32, 256):
            panel.axvline(limit, color="#dddddd", linewidth=1, zorder=0)
        kilobytes = [1, 2, 8, 32, 128, 512]
        panel.set_ylim(top=min(panel.get_ylim()[1], MOST_ERROR))
        log_log(panel, kilobytes, [f"{k}k" for k in kilobytes], minor_y=False)
    label_outside(panels, "flash on a Cortex-M4, bytes (log)", "test error, % (log)")
    figure.tight_layout()
    save(figure, FIGURE)


def table(results: dict[str, Any]) -> str:
    """Return, for each set, the smallest model that loses at most half a point, with its measurement."""
    lines = ["| set | exact: accuracy | flash | smallest within 0.5 % | accuracy | flash |"]
    lines.append("|---|---:|---:|---|---:|---:|")
    for name, result in results["works"].items():
        exact = next(p for p in result["points"] if p["method"] == "exact")
        near = [p for p in result["points"] if p["accuracy"] >= exact["accuracy"] - 0.5]
        best = min(near, key=lambda p: p["flash"])
        lines.append(
            f"| {name} | {exact['accuracy']:.2f} % | {exact['flash']:,} | {best['method']}, {best['size']} "
            f"| {best['accuracy']:.2f} % | {best['flash']:,} |"
        )
    about = f"Measured on {place(results['machine'])}:"
    return "\n".join([*lines, "", about, "", f"    {results['machine']['command']}"]) + "\n"


def main() -> int:
    """Measure, or draw earlier results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, metavar="DIR")
    parser.add_argument("--draw", action="store_true", help="measure nothing")
    given = parser.parse_args()
    if given.draw == (given.data is not None):
        parser.error("give --data, or --draw")
    if given.draw:
        results = json.loads(RESULTS.read_text())
    else:
        results = {"machine": machine(2), "works": {}}
        for work in WORKS:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    results["works"][work.name] = measure(work, given.data, Path(folder))
                except SvmfastError as error:
                    raise SystemExit(f"export_flash: {work.name}: {error}") from error
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    draw(results["works"])
    put_into(PAGE, table(results), "export flash")
    return 0


if __name__ == "__main__":
    sys.exit(main())
