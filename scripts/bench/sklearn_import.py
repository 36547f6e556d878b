"""Thirty fitted scikit-learn estimators against the models that svmfast makes from them, on all test rows.

    python scripts/bench/sklearn_import.py --data DIR [--rows N] [--only WORD]

DIR holds LIBSVM's data sets (a9a, letter.scale, usps, abalone_scale.s80 and their test files, packed or not);
digits and wine come with scikit-learn. Each estimator is fitted on N rows (2,000), goes through
svmfast.from_sklearn and, as a skops file, through `svmfast import`. Both models have to give the same labels,
decision values and probabilities as the estimator. Prints a Markdown table; exits with 1 if a label differs
that is not within rounding of a tie.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import skops.io
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_svmlight_file, load_wine
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

import svmfast
from svmfast.formats.source import open_source

#: A decision value nearer to 0 than this is within rounding of it.
ROUNDING = 1e-9
FILES = {
    "a9a": ("a9a", "a9a.t"),
    "letter": ("letter.scale", "letter.scale.t"),
    "usps": ("usps", "usps.t"),
    "abalone": ("abalone_scale.s80", "abalone_scale.s20"),
}
PROBABLE: dict[str, Any] = {"probability": True, "random_state": 0}

#: name, data, estimator, and whether rows are sparse.
CASES: list[tuple[str, str, Any, bool]] = [
    ("SVC", "a9a", SVC(), True),
    ("SVC linear", "a9a", SVC(kernel="linear", C=0.1), True),
    ("SVC poly, weights", "a9a", SVC(kernel="poly", degree=2, coef0=1, class_weight={1: 3}), False),
    ("SVC sigmoid", "a9a", SVC(kernel="sigmoid", gamma=0.01), True),
    ("SVC probabilities", "a9a", SVC(gamma=0.05, **PROBABLE), False),
    ("SVC balanced", "a9a", SVC(class_weight="balanced"), False),
    ("NuSVC", "a9a", NuSVC(nu=0.3), True),
    ("OneClassSVM", "a9a", OneClassSVM(nu=0.1), True),
    ("MaxAbsScaler, SVC", "a9a", make_pipeline(MaxAbsScaler(), SVC()), True),
    ("SVC 26 classes", "letter", SVC(gamma=2, C=16), False),
    ("SVC 26 classes, probabilities", "letter", SVC(gamma=1, **PROBABLE), False),
    ("SVC poly, 26 classes", "letter", SVC(kernel="poly"), False),
    ("StandardScaler, NuSVC", "letter", make_pipeline(StandardScaler(), NuSVC(nu=0.05)), False),
    ("RobustScaler, SVC", "letter", make_pipeline(RobustScaler(), SVC()), False),
    ("SVC 10 classes", "usps", SVC(C=10), True),
    ("SVC linear, 10 classes", "usps", SVC(kernel="linear"), False),
    ("NuSVC probabilities", "usps", NuSVC(nu=0.05, **PROBABLE), False),
    ("MinMaxScaler, SVC", "usps", make_pipeline(MinMaxScaler(), SVC()), False),
    ("OneClassSVM linear", "usps", OneClassSVM(kernel="linear", nu=0.2), False),
    ("SVC 10 classes", "digits", SVC(), False),
    ("SVC strings", "digits names", SVC(C=5, gamma=0.001), False),
    ("StandardScaler, SVC strings", "digits names", make_pipeline(StandardScaler(), SVC()), False),
    ("StandardScaler, SVC", "wine", make_pipeline(StandardScaler(), SVC(**PROBABLE)), False),
    (
        "RobustScaler, MinMaxScaler, SVC",
        "wine names",
        make_pipeline(RobustScaler(), MinMaxScaler(), SVC()),
        False,
    ),
    ("MinMaxScaler clip, SVC", "wine", make_pipeline(MinMaxScaler((-1, 1), clip=True), SVC()), False),
    ("SVR", "abalone", SVR(C=10), False),
    ("SVR linear, sparse", "abalone", SVR(kernel="linear"), True),
    ("SVR poly", "abalone", SVR(kernel="poly", degree=2), False),
    ("NuSVR", "abalone", NuSVR(C=10, nu=0.3), False),
    (
        "StandardScaler, SVR",
        "abalone",
        make_pipeline(StandardScaler(), SVR(kernel="sigmoid", gamma=0.01)),
        False,
    ),
]


def read(folder: Path, stem: str, width: int | None = None) -> tuple[Any, Any]:
    """Return rows and labels of a file, packed or not."""
    path = next(one for one in (folder / stem, folder / f"{stem}.xz") if one.exists())
    with tempfile.NamedTemporaryFile() as plain:
        with open_source(str(path)) as source:
            buffer = bytearray(1 << 20)
            while count := source.readinto(memoryview(buffer)):
                plain.write(buffer[:count])
        plain.flush()
        X, y = load_svmlight_file(plain.name, n_features=width)
    # scikit-learn's SVMs accept no other index type.
    return sparse.csr_matrix((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), X.shape), y


def split(folder: Path, name: str, rows: int) -> tuple[Any, Any, Any]:
    """Return training rows, their labels, and all test rows, sparse."""
    known, _, names = name.partition(" ")
    if known in FILES:
        X, y = read(folder, FILES[known][0])
        test, _ = read(folder, FILES[known][1], X.shape[1])
        chosen = np.random.default_rng(0).permutation(X.shape[0])[:rows]
        return X[chosen], y[chosen], test
    bunch = {"digits": load_digits, "wine": load_wine}[known]()
    target = np.array([f"class {one}" for one in bunch.target]) if names else bunch.target
    X, test, y, _ = train_test_split(bunch.data, target, random_state=0)
    return sparse.csr_matrix(X), y, sparse.csr_matrix(test)


def doors(fitted: Any, folder: Path) -> Iterator[Any]:
    """Yield the models made by svmfast.from_sklearn and by `svmfast import`."""
    yield svmfast.from_sklearn(fitted)
    skops.io.dump(fitted, folder / "estimator.skops")
    words = [sys.executable, "-m", "svmfast", "import", "estimator.skops", "-o", "model", "-q"]
    subprocess.run(words, cwd=folder, check=True)
    yield svmfast.load_model(folder / "model")


def compare(fitted: Any, model: Any, test: Any) -> tuple[int, int, float, float | None]:
    """Return labels that differ, rows within rounding of a tie, and the largest differences."""
    answer = svmfast.predict(model, test)
    last = fitted[-1] if isinstance(fitted, Pipeline) else fitted
    predicted = fitted.predict(test)
    if model.head.is_regression:
        return 0, 0, float(np.abs(answer.predicted - predicted).max()), None
    ours = answer.predicted
    if model.head.labels is not None:
        ours = last.classes_[np.searchsorted(model.head.labels, ours.astype(np.int64))]
        last.set_params(decision_function_shape="ovo")
    values = np.asarray(fitted.decision_function(test)).reshape(len(ours), -1)
    if values.shape[1] == 1 and model.head.labels is not None:
        values = -values
    near = (np.abs(values) < ROUNDING).any(axis=1)
    worst = None
    if model.head.has_probability:
        found = svmfast.predict(model, test, probability=True).probabilities
        expected = fitted.predict_proba(test)
        if values.shape[1] == 1:  # LIBSVM's sigmoid; scikit-learn's older LIBSVM approximates it iteratively
            first = 1 / (1 + np.exp(last._probA * values + last._probB))
            expected = np.hstack([first, 1 - first])
        worst = float(np.abs(found - expected).max())
    differing = int(np.count_nonzero((ours != predicted) & ~near))
    return differing, int(near.sum()), float(np.abs(answer.decisions - values).max()), worst


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| estimator | data | test rows | labels differing | near a tie | values | probabilities |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    bad = 0
    for name, data, estimator, is_sparse in CASES:
        if args.only not in f"{name} {data}":
            continue
        X, y, test = split(args.data, data, args.rows)
        if not is_sparse:
            X, test = X.toarray(), test.toarray()
        fitted = clone(estimator).fit(X, y)
        with tempfile.TemporaryDirectory() as folder:
            found = [compare(fitted, model, test) for model in doors(fitted, Path(folder))]
        differing, near = max(one[0] for one in found), found[0][1]
        values = max(one[2] for one in found)
        probabilities = [one[3] for one in found if one[3] is not None]
        shown = f"{max(probabilities):.0e}" if probabilities else ""
        print(
            f"| {name} | {data} | {test.shape[0]:,} | {differing} | {near} | {values:.0e} | {shown} |",
            flush=True,
        )
        bad += differing
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
