"""Time of one row in a service, by the form in which it is given to a Predictor.

    python scripts/bench/one_row.py MODEL DATA

MODEL is any model; the first row of DATA, LIBSVM's text, is predicted with one thread. Times are processor
time, the median of rounds in which all forms take turns. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import pandas
from measuring import machine, place

import svmfast
from svmfast.rows import Rows

ROUNDS, LONGEST = 15, 0.05


def forms(rows: Rows) -> dict[str, Any]:
    """Return the first row in every form that a service may have."""
    dense = rows.take([0]).to_dense()
    frame = pandas.DataFrame(dense, columns=[f"f{number}" for number in range(dense.shape[1])])
    return {
        "`Rows`": rows.take([0]),
        "NumPy array": dense[0],
        "list": dense[0].tolist(),
        "Series": frame.iloc[0],
        "DataFrame": frame,
    }


def microseconds(call: Callable[[], object]) -> Callable[[], float]:
    """Return a function that times `call`, repeated so often that the clock's resolution does not matter."""
    call()
    begin = time.process_time()
    call()
    repeats = max(1, round(LONGEST / max(time.process_time() - begin, 1e-5)))

    def timed() -> float:
        begin = time.process_time()
        for _ in range(repeats):
            call()
        return 1e6 * (time.process_time() - begin) / repeats

    return timed


def main() -> None:
    """Time every form, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("data", metavar="DATA")
    given = parser.parse_args()
    predictor = svmfast.Predictor(given.model)
    timers: dict[tuple[str, str], Callable[[], float]] = {}
    for name, row in forms(svmfast.read_svmlight(given.data).rows).items():
        timers[name, "label"] = microseconds(lambda row=row: predictor.answer(row, threads=1).predicted)
        timers[name, "values"] = microseconds(lambda row=row: predictor.answer(row, threads=1).decisions)
    found: dict[tuple[str, str], list[float]] = {key: [] for key in timers}
    for _ in range(ROUNDS):
        for key, timer in timers.items():
            found[key].append(timer())
    print(place(machine(1)) + "\n")
    print("| a row as | label | label and decision values |\n| --- | ---: | ---: |")
    for name in dict.fromkeys(name for name, _ in found):
        figures = [
            f"{float(f'{statistics.median(found[name, what]):.2g}'):,.0f} µs" for what in ("label", "values")
        ]
        print(f"| {name} | {figures[0]} | {figures[1]} |")


if __name__ == "__main__":
    main()
