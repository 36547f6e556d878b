"""How time and memory grow with rows, support vectors, features and classes, and accuracy with rows.

    python scripts/bench/growth.py --table growth [--only svs --sizes 100 200] [--page docs/benchmarks.md]
    python scripts/bench/growth.py --table rows [--only squares] [--sizes 10000 100000]

Models and rows are synthetic: standard normal values, random coefficients. Every measurement is a separate
svmfast process; its time is that of all cores (other work on the machine moves it little), less that of a
process that does nothing, and its memory the peak. Rows are streamed through a pipe, so they can be many. The
slope is fitted to the upper half of an axis: time grows with size to the power of it. A slope over less than
a second is start-up and noise, and is left out. `parsing` is predict with a linear model. No data are needed.

Table rows: accuracy and cost by the number of training rows, in Parquet files of 250,000 rows (`train`: only
the first), with one thread and with two workers. A tenth of the rows have the other label, so that no
classifier exceeds 90 %. squares: 2 features, the colors of a board of 1,024 squares. smooth: 20 features, the
sign of a quadratic form. `sent` are the bytes that all processes of this machine sent each other (Linux).
"""

import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.parquet
from harness import PROGRAM, Table, measure, run

from svmfast.formats.model_files import save_model
from svmfast.formats.svmlight import write_svmlight
from svmfast.models.expansion import Kernel, KernelExpansion
from svmfast.models.head import Head
from svmfast.rows import Rows

#: The values of the other three sizes while one grows.
BASE = {"rows": 10_000, "svs": 1_000, "features": 20, "classes": 2}
SIZES = {
    "rows": (10_000, 100_000, 1_000_000, 10_000_000),
    "svs": (1_000, 10_000, 100_000, 1_000_000),
    "features": (8, 30, 100, 500, 2_000),
    "classes": (2, 5, 10, 30, 100),
}
#: After a step that took this many seconds, larger sizes are skipped.
LIMIT = 120.0
BLOCK = 10_000  # rows of text that are streamed again and again
#: Builds that do not depend on the number of streamed rows: made for their models, without figures.
SAME = ("build: approximate", "build: compress", "build: dcpred", "build: linear")


def random_rows(n, features, seed):
    return Rows.from_dense(np.random.default_rng(seed).standard_normal((n, features)))


def made(folder, size):
    """Write a model, and a block of rows."""
    n, d, k = size["svs"], size["features"], size["classes"]
    rng = np.random.default_rng(0)
    # gamma such that kernel values are neither all near 0 nor all near 1.
    model = KernelExpansion(
        head=Head("c_svc", np.arange(k)),
        kernel=Kernel("rbf", 0.05 / d),
        sv=random_rows(n, d, 1),
        sv_coef=rng.uniform(-1, 1, (k - 1, n)),
        rho=np.zeros(k * (k - 1) // 2),
        nr_sv=np.array([len(part) for part in np.array_split(np.arange(n), k)]),
    )
    save_model(model, folder / "exact")
    write_svmlight(folder / "block", random_rows(BLOCK, d, 2), rng.integers(0, k, BLOCK).astype(float))


def steps(bench, size):
    """The measured steps, in an order in which each finds the model it needs."""
    made(bench.folder, size)
    exact, block, everything = (bench.folder / name for name in ("exact", "block", "all"))
    copies, text = max(1, size["rows"] // BLOCK), block.read_bytes()
    with everything.open("wb") as out:
        out.writelines(text for _ in range(copies))

    def predict(model):
        with subprocess.Popen(["cat", everything], stdout=subprocess.PIPE) as source:
            words = [PROGRAM, "predict", "-q", "-", bench.folder / model, bench.folder / "labels"]
            return run(words, stdin=source.stdout)

    few = max(size["classes"], size["svs"] // 20)
    commands = {
        "approximate": (exact, "--certificate none --force"),
        "approximate, certificate": (exact, "--force"),
        "compress": (exact, f"--data {block} --sv {few} --iterations 50 --start kmeans --rows 5000"),
        "compress, fixed size": (exact, f"--data {block} --sv 100 --iterations 50 --start kmeans"),
        "dcpred": (block, f"--from {exact} --clusters 8 --landmarks 16 --iterations 20"),
        "budget-train": (everything, "-B 100 --passes 1 -g 0.05"),
        "meka": (everything, "--task svc -g 0.05 -c 1 --clusters 10 --rank 64"),
        "linear": (block, ""),
    }

    def build(name):
        command, (source, options) = name.partition(",")[0], commands[name]
        return bench.svmfast(command, source, "-o", bench.folder / command, *options.split())

    found = {f"build: {name}": partial(build, name) for name in commands}
    for model in ("exact", "approximate", "compress", "dcpred", "linear"):
        found["parsing" if model == "linear" else f"predict: {model}"] = partial(predict, model)
    return found


def grown(bench, axis):
    """Measure all steps along one axis; return both ends and the slope of each."""
    found, slow = {}, set()
    idle = min(run([PROGRAM, "info", "--help"]).cpu for _ in range(3))
    for size in bench.options.sizes or SIZES[axis]:
        for name, step in steps(bench, {**BASE, axis: size}).items():
            if name in slow:
                continue
            try:
                done = step()
            except RuntimeError as refusal:
                print(refusal, file=sys.stderr)
                slow.add(name)
                continue
            if axis == "rows" and name.startswith(SAME):
                continue
            seconds = max(done.cpu - idle, 1e-3)
            found.setdefault(name, []).append((size, seconds, done.peak))
            if seconds > LIMIT:
                slow.add(name)
    for name, points in found.items():
        sizes, seconds, peaks = zip(*points, strict=True)
        ends = [f"{sizes[0]:,}", f"{sizes[-1]:,}", f"{seconds[0]:.2f}", f"{seconds[-1]:.2f}"]
        memory = [f"{peaks[0] / 1e6:.0f}", f"{peaks[-1] / 1e6:.0f}"]
        shown = "-" if seconds[-1] - seconds[0] < 1 else f"{slope(sizes, seconds):.2f}"
        yield [axis, name, *ends, *memory, shown]


def slope(sizes, values):
    """Return the exponent of growth over the upper half of the sizes (at least two)."""
    keep = max(2, (len(sizes) + 1) // 2)
    return float(np.polyfit(np.log(sizes[-keep:]), np.log(values[-keep:]), 1)[0])


NOISE, TEST, PART = 0.1, 100_000, 250_000  # rows with the other label; rows to predict; rows of a file
MOST_EXACT, LEAST_SPREAD = 100_000, 1_000_000  # most rows for `train`, and least for two workers
#: For each problem the kernel and cost, and the methods with their options.
PROBLEMS = {"squares": "-g 2 -c 1", "smooth": "-g 0.02 -c 1"}
METHODS = {
    "train": "train",
    "budget-train, 500 vectors": "budget-train -B 500",
    "meka, local models": "meka --task svc --block-only",
    "meka, large clusters": "meka --task svc --block-only --cluster-rows 20000 --landmarks 256",
}


def parts(folder, problem, n, seed):
    """Write rows of a problem to Parquet files; return the files and the labels."""
    rng, files, labels = np.random.default_rng(seed), [], []
    folder.mkdir()
    for first in range(0, n, PART):
        count = min(PART, n - first)
        if problem == "squares":
            x = rng.random((count, 2)) * 32
            positive = np.floor(x).sum(axis=1) % 2 == 0
        else:
            x = rng.standard_normal((count, 20))
            signs = np.random.default_rng(0).standard_normal((20, 20))
            positive = np.einsum("ij,jk,ik->i", x, signs, x) > np.trace(signs)
        labels.append(np.where(positive ^ (rng.random(count) < NOISE), 1, -1))
        columns = {"label": labels[-1], **{f"x{k}": column for k, column in enumerate(x.T)}}
        files.append(folder / f"{first:010}.parquet")
        pyarrow.parquet.write_table(pyarrow.table(columns), files[-1])
    return files, np.concatenate(labels)


def sent_bytes():
    """Return the bytes that processes of this machine have sent to each other through sockets."""
    return int(Path("/sys/class/net/lo/statistics/tx_bytes").read_text())


def trained(bench, problem):
    """Train with more and more rows, which are files; predict the same other rows."""
    (test,), truth = parts(bench.folder / f"{problem}-test", problem, TEST, 0)
    model = bench.folder / "model"
    for n in bench.options.sizes or SIZES["rows"]:
        files, _ = parts(bench.folder / f"{problem}-{n}", problem, n, n)
        for method, words in METHODS.items():
            if method == "train" and n > MOST_EXACT:
                continue
            command = [*words.split(), *PROBLEMS[problem].split(), "--label", "label"]
            output = [files[0], model] if method == "train" else ["-o", model, *files]
            done = bench.svmfast(*command, *([] if method == "train" else ["-j", 1]), *output)
            right = f"{100 * np.mean(bench.predicted(model, test) == truth):.2f} %"
            cost = f"{done.cpu:.0f}", f"{done.peak / 1e6:.0f}", f"{model.stat().st_size / 1e6:.2f}"
            spread, before = ("-", "-", "-"), sent_bytes()
            if n >= LEAST_SPREAD:
                alone = model.read_bytes()
                two = bench.svmfast(*command, "--dask", "local:2", *output)
                assert model.read_bytes() == alone
                spread = f"{two.cpu:.0f}", f"{two.peak / 1e6:.0f}", f"{(sent_bytes() - before) / 1e6:.0f}"
            yield f"{problem}: {method}", f"{n:,}", right, *cost, *spread


TABLES = [
    Table(
        "growth",
        "axis | step | from | to | seconds | seconds | peak MB | peak MB | time grows with size to the",
        [*SIZES], grown, [*SIZES], left=2,
        note=f"Unless stated otherwise: {', '.join(f'{n:,} {name}' for name, n in BASE.items())}.",
    ),
    Table("rows", "problem and method | rows | right labels | seconds | peak MB | model MB | "
          "local:2: seconds | peak MB | sent MB", [*PROBLEMS], trained, [*PROBLEMS],
          note=f"Of {TEST:,} other rows; the best possible is {100 - 100 * NOISE:g} %."),
]  # fmt: skip

if __name__ == "__main__":
    sizes = {"--sizes": {"type": int, "nargs": "+"}}
    measure(__doc__, TABLES, arguments=sizes, versions=("numpy",), repeats=1)
