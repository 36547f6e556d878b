"""How accuracy grows with rows: local models against a budget, on a noisy checkerboard (docs/methods.md).

    python scripts/bench/checkerboard.py [--only meka] [--sizes 10000 100000]

A board has 32 x 32 squares of two colors; a row's label is the color of its square, and the other one for a
tenth of the rows, so that no classifier exceeds 90 %. Time is that of all cores. No data are needed.
"""

import numpy as np
from harness import Table, measure

from svmfast.formats.svmlight import write_svmlight
from svmfast.rows import Rows

SIDE, NOISE, TEST = 32, 0.1, 100_000
SIZES, BLOCK = (10_000, 100_000, 1_000_000, 10_000_000), 1_000_000
METHODS = {
    "budget-train, 500 vectors": "budget-train -g 2 -c 1 -B 500 --passes 1",
    "meka, local models": "meka --task svc -g 2 -c 1 --block-only",
    "meka, local, 64 landmarks": "meka --task svc -g 2 -c 1 --block-only --landmarks 64",
}


def board(path, n, seed):
    """Write rows of a board to a file; return their labels."""
    rng, found = np.random.default_rng(seed), []
    with path.open("wb") as out:
        for first in range(0, n, BLOCK):
            x = rng.random((min(BLOCK, n - first), 2)) * SIDE
            color = np.where(np.floor(x).sum(axis=1) % 2 == 0, 1.0, -1.0)
            found.append(np.where(rng.random(len(x)) < NOISE, -color, color))
            write_svmlight(out, Rows.from_dense(np.round(x, 4)), found[-1])
    return np.concatenate(found)


def grown(bench, method):
    """Train with more and more rows; the same other rows are predicted."""
    train, test, model = (bench.folder / name for name in ("train", "test", "model"))
    truth = board(test, TEST, 0)
    for n in bench.options.sizes or SIZES:
        board(train, n, n)
        command, *words = METHODS[method].split()
        done = bench.svmfast(command, train, "-o", model, "-j", bench.threads, *words)
        right = f"{100 * np.mean(bench.predicted(model, test) == truth):.2f} %"
        cost = f"{done.cpu:.0f}", f"{done.peak / 1e6:.0f}", f"{model.stat().st_size:,}"
        yield method, f"{n:,}", right, *cost


TABLE = Table(
    "checkerboard", "method | rows | right labels | seconds | peak MB | bytes", [*METHODS], grown, [*METHODS],
    note=f"Of {TEST:,} other rows; the best possible is {100 - 100 * NOISE:g} %.",
)  # fmt: skip

if __name__ == "__main__":
    measure(__doc__, [TABLE], arguments={"--sizes": {"type": int, "nargs": "+"}}, repeats=1)
