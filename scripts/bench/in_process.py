"""Predictions in one process: against scikit-learn-intelex, and of one row by the form in which it is given.

    python scripts/bench/in_process.py --table in-process [--repeats 7] [--page docs/benchmarks.md]
    python scripts/bench/in_process.py --table one-row

Table in-process: sigmoid and polynomial kernels, many features, regression without and with a tolerance,
probabilities, one-class models (there against scikit-learn, since the other has none of its own), on made-up
rows. Both libraries train with the same options; svmfast predicts with scikit-learn's model. Table one-row:
microseconds of processor time for one row with one thread, the median and the least, by a Predictor of
fixtures/models/photos_c_rbf.model (A) and of a pipeline of scikit-learn (B). Both tables need no data.
"""

import os
import time
import warnings

import numpy as np
from harness import Table, in_turn, libraries, measure, medians, timed

import svmfast

#: Name, estimator, its options, rows to train on and to predict, features, tolerance.
MODELS = [
    ("sigmoid", "SVC", {"kernel": "sigmoid", "gamma": 0.02, "coef0": -0.5}, (6000, 10_000, 12), None),
    *(
        (f"polynomial, degree {d}", "SVC", {"kernel": "poly", "gamma": g, "coef0": 1.0, "degree": d},
         (6000, 10_000, 12), None)
        for d, g in ((2, 0.1), (3, 0.05))
    ),
    ("2,000 dense features", "SVC", {"gamma": 5e-4, "C": 10.0}, (2500, 3000, 2000), None),
    ("one-class", "OneClassSVM", {"gamma": 0.2, "nu": 0.1}, (6000, 10_000, 12), None),
    *(
        one
        for tolerance in (None, 1e-3)
        for one in (
            ("SVR", "SVR", {"gamma": 0.1, "C": 10.0, "epsilon": 0.05}, (6000, 10_000, 12), tolerance),
            ("SVR", "SVR", {"gamma": 0.02, "C": 10.0, "epsilon": 0.05}, (5000, 4000, 50), tolerance),
            ("NuSVR", "NuSVR", {"gamma": 0.1, "C": 10.0, "nu": 0.5}, (6000, 10_000, 12), tolerance),
        )
    ),
    ("probabilities", "SVC", {"gamma": 0.1, "C": 10.0, "probability": True}, (3000, 10_000, 12), None),
]  # fmt: skip


def in_process(bench, case):
    """Train both libraries and predict in turn, each time for at least 50 milliseconds."""
    name, estimator, options, (train, count, features), tolerance = case
    warnings.simplefilter("ignore")
    os.environ.setdefault("OMP_NUM_THREADS", str(bench.threads))
    rng = np.random.default_rng(features)
    x = rng.normal(size=(train + count, features))
    some = x @ rng.normal(size=features) / np.sqrt(features)
    value = np.sin(2 * some) + 0.5 * x[:, 0] * x[:, 1] + rng.normal(0, 0.3, len(x))
    y, rows = (value if "SVR" in estimator else np.where(value > 0, 1.0, -1.0))[:train], x[train:]
    kinds = [getattr(one, estimator) for one in libraries().values() if hasattr(one, estimator)]
    own, *more = (kind(**options).fit(x[:train], y) for kind in kinds)
    other = more[0] if more else own
    name += "" if more else " (over scikit-learn)"
    probable = "probability" in options
    theirs = other.predict_proba if probable else other.predict
    predictor = svmfast.Predictor(svmfast.from_sklearn(own), probability=probable, tolerance=tolerance)
    answer = predictor.answer(rows, threads=bench.threads)
    found, apart = own.predict(rows), other.predict(rows)
    if "SVR" in estimator:
        off = f"{np.abs(answer.predicted - found).max():.1g}, {np.abs(apart - found).max():.1g}"
    else:
        ours = answer.predicted if answer.voted is None else answer.voted
        off = f"{np.count_nonzero(ours != found)}, {np.count_nonzero(apart != found)}"
    calls = {"ours": lambda: predictor.answer(rows, threads=bench.threads), "theirs": lambda: theirs(rows)}
    taken = medians({side: timed(call, 0.05) for side, call in calls.items()}, bench.repeats)
    shown = name + ("" if tolerance is None else f", `--tolerance {tolerance:g}`")
    counts = (f"{n:,}" for n in (len(rows), features, len(own.support_)))
    yield shown, *counts, f"{1e3 * taken['ours']:.1f} ms", f"{taken['theirs'] / taken['ours']:.1f}x", off


def pipeline():
    """Return a fitted pipeline with three classes that overlap, a row, and the names of its columns."""
    import pandas
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    rng = np.random.default_rng(3)
    y = rng.choice(3, size=3000, p=[0.1, 0.65, 0.25])
    x = rng.normal(size=(3000, 8)) + np.outer(y, np.linspace(1.4, 0.1, 8))
    names = [f"sensor {number}" for number in range(8)]
    machine = SVC(C=3, probability=True, class_weight="balanced", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        fitted = make_pipeline(StandardScaler(), machine).fit(pandas.DataFrame(x, columns=names), y)
    return svmfast.from_sklearn(fitted), x[:1], names


def one_row(bench, form):
    """One form of a row, for both models, and label, values or probabilities."""
    import pandas

    photos = svmfast.load_model(bench.model("photos_c_rbf"))
    row = bench.read(bench.test("photos_c_rbf"))[0].take([0]).to_dense()
    line = [f"`{form}`" if form == "Rows" else form]
    for model, dense, names in ((photos, row, [f"f{i}" for i in range(row.shape[1])]), pipeline()):
        given = {
            "Rows": svmfast.Rows.from_dense(dense),
            "NumPy array (d)": dense[0],
            "NumPy array (1, d)": dense,
            "list": dense[0].tolist(),
            "DataFrame": pandas.DataFrame(dense, columns=names),
        }[form]
        for part in ("predicted", "decisions", "probabilities"):
            if part != "probabilities" or model.head.has_probability:
                predictor = svmfast.Predictor(model, probability=part == "probabilities")

                def call(predictor=predictor, given=given, part=part):
                    return getattr(predictor.answer(given, threads=1), part)

                call()
                taken = in_turn({"": timed(call, 0.05, time.process_time)}, bench.repeats)[""]
                line.append(f"{1e6 * np.median(taken):,.0f} ({1e6 * min(taken):,.0f}) µs")
    yield line


FORMS = ("Rows", "NumPy array (d)", "NumPy array (1, d)", "list", "DataFrame")
ASKED = "A: label | A: label, decisions | B: label | B: label, decisions | B: label, probabilities"
TABLES = [
    Table(
        "in-process",
        "model | rows | features | SVs | svmfast | over scikit-learn-intelex | off, ours and theirs",
        MODELS, in_process, MODELS,
    ),
    Table("one-row", f"a row as | {ASKED}", FORMS, one_row, FORMS),
]  # fmt: skip

if __name__ == "__main__":
    measure(__doc__, TABLES, versions=("scikit-learn", "scikit-learn-intelex"), repeats=7)
