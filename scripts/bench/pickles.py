"""Size and time of pickles of every kind of model, before and after the first prediction.

    python scripts/bench/pickles.py MODEL DATA

MODEL is an RBF model of LIBSVM; DATA are rows for its conversions. The script also predicts in two processes,
half of the rows in each, and checks that both give the bytes of one process. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import multiprocessing
import pickle
import time
from typing import Any

import numpy as np

import svmfast
from svmfast.formats.model_files import model_bytes
from svmfast.models.base import Model
from svmfast.models.cascade import CascadeModel
from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import Scaling
from svmfast.rows import Rows


def decisions(model: Model, rows: Rows) -> bytes:
    """Return the decision values of rows."""
    return svmfast.predict(model, rows).decisions.tobytes()


def milliseconds(call: Any) -> float:
    """Return the median of nine calls."""
    found = []
    for _ in range(9):
        begin = time.perf_counter()
        call()
        found.append(time.perf_counter() - begin)
    return 1000 * float(np.median(found))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("data")
    args = parser.parse_args()
    exact: Any = svmfast.load_model(args.model)
    rows = svmfast.read_svmlight(args.data).rows[:4000]
    fast = svmfast.compress(exact, rows, sv=200, iterations=20).model
    made: dict[str, Any] = {
        "libsvm": exact,
        "polynomial": svmfast.approximate(exact, rows, force=True).model,
        "routed": svmfast.dcpred(rows, exact=exact, fit="values", iterations=5).model,
        "cascade": CascadeModel(fast, exact, 0.1),
        "scaled": ScaledModel(exact, Scaling(np.zeros(exact.n_features), np.ones(exact.n_features))),
    }
    print("| kind | file | pickle, before and after a prediction | dump | load | two processes |")
    print("| --- | ---: | ---: | ---: | ---: | --- |")
    half = len(rows) // 2
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        for kind, given in made.items():
            model = pickle.loads(pickle.dumps(given, 5))
            before = len(pickle.dumps(model, 5))
            expected = decisions(model, rows)
            text = pickle.dumps(model, 5)
            parts = pool.starmap(decisions, [(model, rows[:half]), (model, rows[half:])])
            same = "same bytes" if b"".join(parts) == expected else "OTHER BYTES"
            dump = milliseconds(lambda one=model: pickle.dumps(one, 5))
            load = milliseconds(lambda one=text: pickle.loads(one))
            cells = (kind, f"{len(model_bytes(model)):,}", f"{before:,}, {len(text):,}")
            print(f"| {' | '.join(cells)} | {dump:.1f} ms | {load:.1f} ms | {same} |")


if __name__ == "__main__":
    main()
