"""Time of one row in a service, by the form in which it is given to a Predictor.

    python scripts/bench/one_row.py [MODEL DATA]...

Models are of any kind; the first row of DATA, LIBSVM's text, is predicted with one thread. The last columns
are those of a pipeline of scikit-learn that is fitted here: StandardScaler and SVC with probabilities, three
classes, eight named columns. Times are processor time, the median and the least of rounds in which all forms
take turns. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas
from measuring import machine, place
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import svmfast
from svmfast.models.base import Model
from svmfast.rows import Rows, as_rows

ROUNDS, LONGEST = 15, 0.05
#: What is asked of an answer, and what computes it.
ASKED: dict[str, Callable[[Any], object]] = {
    "label": lambda answer: answer.predicted,
    "label, values": lambda answer: answer.decisions,
    "label, probabilities": lambda answer: answer.probabilities,
}


def forms(rows: Rows, names: tuple[str, ...] | None) -> dict[str, Any]:
    """Return the first row in every form that a service may have."""
    dense = rows.take([0]).to_dense()
    frame = pandas.DataFrame(dense, columns=names or [f"f{number}" for number in range(dense.shape[1])])
    return {
        "`Rows`": rows.take([0]),
        "NumPy array (d)": dense[0],
        "NumPy array (1, d)": dense,
        "list": dense[0].tolist(),
        "DataFrame": frame,
    }


def pipeline_and_rows() -> tuple[Model, Rows]:
    """Return the model of a pipeline with three classes that overlap, and rows."""
    rng = np.random.default_rng(3)
    y = rng.choice(3, size=3000, p=[0.1, 0.65, 0.25])
    X = rng.normal(size=(3000, 8)) + np.outer(y, np.linspace(1.4, 0.1, 8))
    table = pandas.DataFrame(X, columns=[f"sensor {number}" for number in range(8)])
    machine_ = SVC(C=3, probability=True, class_weight="balanced", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        fitted = make_pipeline(StandardScaler(), machine_).fit(
            table, np.array(["broken", "normal", "worn"])[y]
        )
    return svmfast.from_sklearn(fitted), as_rows(X)


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


def timers_of(model: Model, rows: Rows) -> dict[tuple[str, str], Callable[[], float]]:
    """Return a function that measures, for each form of a row and for what is asked."""
    timers: dict[tuple[str, str], Callable[[], float]] = {}
    for asked, of in ASKED.items():
        probability = asked.endswith("probabilities")
        if probability and not model.head.has_probability:
            continue
        predictor = svmfast.Predictor(model, probability=probability)
        for form, row in forms(rows, predictor.feature_names).items():

            def call(predictor: Any = predictor, row: Any = row, of: Any = of) -> object:
                return of(predictor.answer(row, threads=1))

            timers[form, asked] = microseconds(call)
    return timers


def measured(timers: dict[Any, Callable[[], float]]) -> dict[Any, str]:
    """Return the median and the least time of rounds in which all timers take turns."""
    found: dict[Any, list[float]] = {key: [] for key in timers}
    for _ in range(ROUNDS):
        for key, timer in timers.items():
            found[key].append(timer())
    return {
        key: f"{float(f'{statistics.median(all_):.2g}'):,.0f} ({float(f'{min(all_):.2g}'):,.0f})"
        for key, all_ in found.items()
    }


def main() -> None:
    """Time every form with every model, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("files", metavar="MODEL DATA", nargs="*")
    files = parser.parse_args().files
    if len(files) % 2:
        parser.error("a model without data")
    cases = [
        (svmfast.load_model(model), svmfast.read_svmlight(data).rows)
        for model, data in zip(files[::2], files[1::2], strict=True)
    ]
    timers: dict[Any, Callable[[], float]] = {}
    for model, rows in (*cases, pipeline_and_rows()):
        inner: Any = model.unscaled
        name = f"{len(inner.sv):,} vectors, {model.head.n_classes} classes"
        timers |= {(name, asked, form): timer for (form, asked), timer in timers_of(model, rows).items()}
    found = measured(timers)
    columns = list(dict.fromkeys((name, asked) for name, asked, _ in found))
    print(place(machine(1)) + "\n")
    print("| a row as | " + " | ".join(f"{name}: {asked}" for name, asked in columns) + " |")
    print("| --- |" + " ---: |" * len(columns))
    for form in dict.fromkeys(form for *_, form in found):
        print(f"| {form} | " + " | ".join(f"{found[name, asked, form]} µs" for name, asked in columns) + " |")


if __name__ == "__main__":
    main()
