"""How time and memory grow with rows, support vectors, features and classes.

    python scripts/bench/growth.py [--quick] [--axis rows] [--json RESULTS] [--page PAGE] [--figure FIGURE]
    python scripts/bench/growth.py --rows 10000,1000000 --svs 1000,10000 --features 8,100 --classes 2,10

Models and rows are synthetic: standard normal values, random coefficients. Every measurement is a separate
svmfast process; its time is that of all cores (other work on the machine moves it little), less that of a
process that does nothing, and its memory the peak. Rows are streamed through a pipe, so they can be many. The
slope is fitted to the upper half of an axis: time grows with size to the power of it. A slope over less than
a second is start-up and noise, and is left out. `parsing` is predict with a linear model.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from figures import save, svg_pyplot
from measuring import PROGRAM, Finished, machine, place, run
from pages import put_into

from svmfast.formats.model_files import save_model
from svmfast.formats.svmlight import write_svmlight
from svmfast.models.expansion import Kernel, KernelExpansion
from svmfast.models.head import Head
from svmfast.rows import Rows

#: The values of the other three sizes while one grows.
BASE = {"rows": 10_000, "svs": 1_000, "features": 20, "classes": 2}
FULL = {
    "rows": (10_000, 100_000, 1_000_000, 10_000_000),
    "svs": (1_000, 3_000, 10_000, 30_000, 100_000),
    "features": (8, 30, 100, 500, 2_000),
    "classes": (2, 5, 10, 30, 100),
}
QUICK = {
    "rows": (10_000, 100_000),
    "svs": (300, 1_000, 3_000),
    "features": (8, 30, 100),
    "classes": (2, 5, 10),
}
#: After a step that took this many seconds, larger sizes are skipped.
LIMIT = 120.0
DENSITY = 0.1  # of the sparse rows on the features axis
BLOCK = 10_000  # rows of text that are streamed again and again


def random_rows(n: int, features: int, density: float, seed: int) -> Rows:
    """Standard normal entries, scaled so that kernel values are neither all near 0 nor all near 1."""
    from scipy import sparse

    rng = np.random.default_rng(seed)
    if density < 1:
        return Rows.from_scipy(
            sparse.random(n, features, density, "csr", rng=rng, data_rvs=rng.standard_normal)
        )
    return Rows.from_dense(rng.standard_normal((n, features)))


class Case:
    """A model, a block of rows, and the files made from them."""

    def __init__(self, folder: Path, size: dict[str, int], density: float = 1.0) -> None:
        self.folder, self.size = folder, size
        n, d, k = size["svs"], size["features"], size["classes"]
        rng = np.random.default_rng(0)
        coefficients = rng.uniform(-1, 1, (k - 1, n))
        sizes = np.full(k, n // k)
        sizes[: n - sizes.sum()] += 1
        expansion = KernelExpansion(
            Head("c_svc", np.arange(k)),
            Kernel("rbf", 0.05 / (d * density)),
            random_rows(n, d, density, 1),
            coefficients,
            np.zeros(k * (k - 1) // 2),
            sizes,
        )
        self.exact, self.block = folder / "exact", folder / "block"
        save_model(expansion, self.exact)
        rows = random_rows(BLOCK, d, density, 2)
        labels = rng.integers(0, k, len(rows)).astype(np.float64)
        write_svmlight(self.block, rows, labels)

    def predict(self, model: Path) -> Finished:
        """Stream the rows through predict."""
        copies = max(1, self.size["rows"] // BLOCK)
        feed = f"import sys\ntext = open(sys.argv[1], 'rb').read()\nfor _ in range({copies}):\n"
        feed += "    sys.stdout.buffer.write(text)\n"
        source = subprocess.Popen([sys.executable, "-c", feed, self.block], stdout=subprocess.PIPE)
        try:
            return run([PROGRAM, "predict", "-q", "-", model, self.folder / "labels"], source.stdout)
        finally:
            self._close(source)

    @staticmethod
    def _close(source: subprocess.Popen[bytes]) -> None:
        assert source.stdout is not None
        source.stdout.close()
        source.wait()

    def make(self, *words: object) -> Finished:
        return run([PROGRAM, *words, "-q"])

    def rows_file(self) -> Path:
        """All rows in one file, for training."""
        place = self.folder / "all"
        text = self.block.read_bytes()
        with place.open("wb") as out:
            for _ in range(max(1, self.size["rows"] // BLOCK)):
                out.write(text)
        return place


def steps(case: Case) -> dict[str, Callable[[], Finished]]:
    """The measured steps, in an order in which each finds the model it needs."""
    made = {name: case.folder / name for name in ("approximate", "compress", "dcpred", "linear")}
    exact, block = case.exact, case.block
    few = ("--sv", max(case.size["classes"], case.size["svs"] // 20), "--iterations", 50, "--start", "kmeans")
    shape = ("--clusters", 8, "--landmarks", 16, "--iterations", 20)
    return {
        "build: approximate": lambda: case.make(
            "approximate", exact, "-o", made["approximate"], "--certificate", "none", "--force"
        ),
        "build: approximate, certificate": lambda: case.make(
            "approximate", exact, "-o", made["approximate"], "--force"
        ),
        "build: compress": lambda: case.make(
            "compress", exact, *few, "--data", block, "--rows", 5000, "-o", made["compress"]
        ),
        "build: dcpred": lambda: case.make("dcpred", block, "-o", made["dcpred"], "--from", exact, *shape),
        "build: budget-train": lambda: case.make(
            "budget-train", case.rows_file(), case.folder / "budget", "-B", 100, "--passes", 1, "-g", 0.05
        ),
        "build: linear": lambda: case.make("linear", block, "-o", made["linear"]),
        "predict: exact": lambda: case.predict(exact),
        "predict: approximate": lambda: case.predict(made["approximate"]),
        "predict: compress": lambda: case.predict(made["compress"]),
        "predict: dcpred": lambda: case.predict(made["dcpred"]),
        "parsing": lambda: case.predict(made["linear"]),
    }


#: Builds that do not depend on the number of streamed rows: made once for their models, without figures.
SAME = ("build: approximate", "build: compress", "build: dcpred", "build: linear")


def measure(axis: str, sizes: Sequence[int], density: float = 1.0) -> list[dict[str, Any]]:
    """Measure all steps along one axis."""
    found: list[dict[str, Any]] = []
    slow: set[str] = set()
    idle = min(run([PROGRAM, "info", "--help"]).cpu for _ in range(3))
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="svmfast-growth-") as folder:
            case = Case(Path(folder), {**BASE, axis: size}, density)
            for name, step in steps(case).items():
                if name in slow:
                    continue
                try:
                    figures = step()
                except RuntimeError as refusal:
                    print(refusal, file=sys.stderr)
                    slow.add(name)
                    continue
                if axis == "rows" and name.startswith(SAME):
                    continue
                seconds = max(figures.cpu - idle, 1e-3)
                if seconds > LIMIT:
                    slow.add(name)
                row = {"axis": axis, "density": density, "size": size, "step": name}
                found.append({**row, "seconds": seconds, "peak": figures.peak})
                print(
                    f"{axis} {size:,} {name}: {seconds:.2f} s, {figures.peak / 1e6:.0f} MB",
                    file=sys.stderr,
                )
    return found


def slope(sizes: Sequence[float], values: Sequence[float]) -> float | None:
    """Return the exponent of growth over the upper half of the sizes (at least two)."""
    if len(sizes) < 2:
        return None
    keep = max(2, (len(sizes) + 1) // 2)
    return float(np.polyfit(np.log(sizes[-keep:]), np.log(values[-keep:]), 1)[0])


def curves(rows: Sequence[dict[str, Any]]) -> dict[tuple[str, float, str], list[dict[str, Any]]]:
    out: dict[tuple[str, float, str], list[dict[str, Any]]] = {}
    for row in rows:
        out.setdefault((row["axis"], row["density"], row["step"]), []).append(row)
    return {key: sorted(part, key=lambda row: row["size"]) for key, part in out.items()}


def axis_name(axis: str, density: float) -> str:
    return axis if density == 1 else f"{axis}, {density:.0%} in use"


def tables(found: dict[str, Any]) -> str:
    """Return a Markdown table: seconds and memory at both ends, and the slope of time."""
    where = found["machine"]
    out = [
        f"Measured on {place(where, 'numpy')}. "
        + "Unless stated otherwise: " + ", ".join(f"{n:,} {name}" for name, n in BASE.items()) + ".",
        "",
        f"    {where['command']}",
        "",
        "| axis | step | from | to | seconds | seconds | peak MB | peak MB | time grows with size to the |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]  # fmt: skip
    for (axis, density, step), part in curves(found["rows"]).items():
        first, last = part[0], part[-1]
        power = slope([row["size"] for row in part], [row["seconds"] for row in part])
        cells = [
            axis_name(axis, density), step, f"{first['size']:,}", f"{last['size']:,}",
            f"{first['seconds']:.2f}", f"{last['seconds']:.2f}",
            f"{first['peak'] / 1e6:.0f}", f"{last['peak'] / 1e6:.0f}",
            "-" if power is None or last["seconds"] - first["seconds"] < 1.0 else f"{power:.2f}",
        ]  # fmt: skip
        out.append(f"| {' | '.join(cells)} |")
    return "\n".join([*out, ""])


def draw(rows: Sequence[dict[str, Any]], place: Path) -> None:
    """One panel for each axis, both scales logarithmic."""
    pyplot = svg_pyplot("svmfast")
    parts = curves(rows)
    panels = list(dict.fromkeys(key[:2] for key in parts))
    names = list(dict.fromkeys(key[2] for key in parts))
    figure, axes = pyplot.subplots(1, len(panels), figsize=(4.2 * len(panels), 5), squeeze=False, sharey=True)
    for panel, one in zip(panels, axes[0], strict=True):
        for number, name in enumerate(names):
            part = parts.get((*panel, name), [])
            style = {"color": f"C{number % 10}", "linestyle": "--" if name.startswith("build") else "-"}
            one.loglog([r["size"] for r in part], [r["seconds"] for r in part], "o", label=name, **style)
        one.set_title(axis_name(*panel))
        one.grid(True, color="#dddddd")
    axes[0][0].set_ylabel("seconds, all cores")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=4, frameon=False)
    figure.tight_layout(rect=(0, 0.16, 1, 1))
    save(figure, place)


def numbers(text: str) -> tuple[int, ...]:
    return tuple(sorted(int(float(word)) for word in text.split(",")))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, minutes")
    parser.add_argument("--axis", action="append", choices=list(BASE), help="only this one (repeatable)")
    for axis in BASE:
        parser.add_argument(f"--{axis}", type=numbers, metavar="N,N,...", help=f"other numbers of {axis}")
    parser.add_argument("--json", type=Path, help="results; axes not measured now are kept")
    parser.add_argument("--page", type=Path, help="put the table between this file's markers")
    parser.add_argument("--figure", type=Path, help="needs matplotlib")
    parser.add_argument("--tables", action="store_true", help="measure nothing, read --json")
    given = parser.parse_args()
    old = json.loads(given.json.read_text()) if given.json and given.json.exists() else None
    if given.tables:
        if old is None:
            parser.error("--tables needs --json with results")
        found = old
    else:
        rows: list[dict[str, Any]] = []
        axes = given.axis or list(BASE)
        for axis in axes:
            sizes = getattr(given, axis) or (QUICK if given.quick else FULL)[axis]
            for density in (1.0, DENSITY) if axis == "features" else (1.0,):
                rows += measure(axis, sizes, density)
        kept = [row for row in (old["rows"] if old else []) if row["axis"] not in axes]
        where = machine("all")
        words = re.sub(r"--(json|page|figure)[ =]\S+", "", " ".join(sys.argv[1:])).split()
        found = {
            "machine": {**where, "command": f"python scripts/bench/growth.py {shlex.join(words)}".strip()},
            "rows": [*kept, *rows],
        }
        if given.json:
            given.json.parent.mkdir(parents=True, exist_ok=True)
            given.json.write_text(json.dumps(found, indent=1) + "\n")
    if given.figure:
        draw(found["rows"], given.figure)
    text = tables(found)
    if given.page:
        put_into(given.page, text, "growth")
    print(text, end="")


if __name__ == "__main__":
    main()
