"""Measure dcpred against its paper: docs/papers.md, figures, one JSON object.

    python scripts/bench/dcpred.py FOLDER PART... [--json OUT] [--merge] [--page PAGE] [--figures DIR]

FOLDER holds LIBSVM data sets and models under their usual names. Parts: table, cost, curves,
ridge, convert.
Costs are counted multiply-adds, and wall time, over a linear model's on the same rows in the same run. Every
figure is shown with its reference. Timings are wall time; close other programs. --merge keeps
what OUT already has; without PART the page and the figures are made from OUT alone. Figures need matplotlib.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from dcpred_cases import CASES, Case
from dcpred_page import draw, page
from kernel_features import BASELINES
from measuring import processor
from pages import put_into
from sklearn.svm import LinearSVC

from svmfast.evaluation.benchmark import measured
from svmfast.evaluation.subject import ComparedModel
from svmfast.formats.libsvm_model import libsvm_model_bytes
from svmfast.formats.model_files import load_model, model_bytes
from svmfast.formats.svmlight import Dataset, read_svmlight
from svmfast.kernels import Kernel
from svmfast.methods.dcpred import DcpredOptions
from svmfast.methods.dcpred.fit import fit as fit_labels
from svmfast.methods.dcpred.fit import fit_exact
from svmfast.methods.dcpred.report import DcpredReport
from svmfast.methods.method import Setting
from svmfast.methods.train.training import TrainOptions, train
from svmfast.models.base import Model
from svmfast.rows import Rows
from svmfast.threads import blas_threads, one_blas_thread, usable_cores

THREADS = usable_cores()


def read(folder: Path, name: str) -> Dataset:
    return read_svmlight(folder / name, threads=THREADS)


def accuracy(model: Model, test: Dataset) -> float:
    predicted = model.head.predict(model.decision_values(test.rows, threads=THREADS))
    return float(np.mean(predicted == test.labels) * 100)


def seconds_of(call: Callable[[], object], repeats: int = 5) -> list[float]:
    """The seconds of calls after a warm-up."""
    call()
    found = []
    for _ in range(repeats):
        begin = time.perf_counter()
        call()
        found.append(time.perf_counter() - begin)
    return found


def linear_seconds(functions: int, rows: Rows, threads: int) -> float:
    """The least time of a linear prediction, by the faster of a sparse and a dense product."""
    weights = np.random.default_rng(0).standard_normal((rows.n_columns, functions))
    with blas_threads(threads):
        return min(
            min(seconds_of(lambda form=form: np.argmax(form @ weights, axis=1)))
            for form in (rows.to_scipy(), rows.to_dense())
        )


def costs(model: Any, test: Dataset) -> dict[str, float]:
    """Wall time per row and relative to a linear model's, on one and all threads, and multiply-adds.

    The fastest of 25 calls on both sides, in turn, since other programs can only increase a time.
    """
    counted = model.multiply_adds(test.rows) / (model.head.linear_functions * test.rows.n_columns)
    out: dict[str, float] = {"counted": counted}
    for name, threads in (("", THREADS), ("_one_thread", 1)):
        ours, linear = [], []
        for _ in range(5):
            call = lambda t=threads: model.head.predict(model.decision_values(test.rows, threads=t))  # noqa: E731
            ours.append(min(seconds_of(call)))
            linear.append(linear_seconds(model.head.linear_functions, test.rows, threads))
        out[f"wall{name}"] = min(ours) / min(linear)
        out[f"microseconds{name}"] = min(ours) / len(test.rows) * 1e6
    return out


def options_of(case: Case, **changes: Any) -> DcpredOptions:
    return DcpredOptions(gamma=(case.gamma,), C=(case.C,), **{**case.shape, **changes})


def baselines(case: Case, data: Dataset, test: Dataset, cost: float) -> list[dict[str, Any]]:
    """k-means Nystrom and random features with a linear SVM, with as many features as the cost allows."""
    functions = fit_head(data).linear_functions
    d = max(data.rows.n_columns, test.rows.n_columns)
    out = []
    for name in ("kmeans-nystrom", "random-fourier"):
        rank = max(2, int(cost * d * functions / (d + functions)))
        begin = time.perf_counter()
        with one_blas_thread():
            wide = [Rows(s.rows.indptr, s.rows.indices, s.rows.values, d) for s in (data, test)]
            made = BASELINES[name](Kernel("rbf", case.exact_gamma), wide[0], rank, 0)
            model = LinearSVC(C=case.exact_C, dual=False, tol=1e-3, max_iter=300)
            model.fit(made.transform(wide[0]), data.labels)
            right = float(np.mean(model.predict(made.transform(wide[1])) == test.labels) * 100)
        cost_here = rank * (d + functions) / (d * functions)
        out.append(
            {"method": name, "accuracy": right, "counted": cost_here, "features": rank,
             "seconds": time.perf_counter() - begin}
        )  # fmt: skip
    return out


def fit_head(data: Dataset) -> Any:
    from svmfast.methods.common.problem import numbered_classes

    return numbered_classes(data.labels, pairs=False)[0]


def trained(case: Case, data: Dataset, test: Dataset) -> tuple[dict[str, Any], DcpredReport]:
    """Train a case; return its accuracy, training time and costs, and the report."""
    begin = time.perf_counter()
    model, report = fit_labels(
        data.rows, data.labels, replace(options_of(case), task="svc"), Setting(THREADS)
    )
    seconds = time.perf_counter() - begin
    return {"accuracy": accuracy(model, test), "seconds": seconds, **costs(model, test)}, report


def table_part(folder: Path, only: list[str]) -> dict[str, Any]:
    """Accuracy, cost and training time, with the baselines."""
    out = {}
    for name, case in CASES.items():
        if only and name not in only:
            continue
        data, test = read(folder, case.train), read(folder, case.test)
        figures, report = trained(case, data, test)
        ours = {
            "accuracy": figures.pop("accuracy"),
            "seconds": figures.pop("seconds"),
            "settings": case.shape,
            "gamma": case.gamma,
            "C": case.C,
            "landmarks": report.landmarks,
            **figures,
        }
        exact: dict[str, Any] = {}
        found = None
        if case.exact is not None and (folder / case.exact).exists():
            found = load_model(folder / case.exact)
        elif case.train_exact:
            found = train(
                data.rows,
                data.labels,
                TrainOptions(gamma=case.exact_gamma, C=case.exact_C, cache_size=500),
                threads=THREADS,
            )
        if found is not None:
            n = min(len(test.rows), 20_000)
            part = test.rows[:n]
            call = lambda m=found, p=part: m.decision_values(p, threads=THREADS)  # noqa: E731
            took = statistics.median(seconds_of(call, 2))
            exact = {
                "accuracy": accuracy(found, test),
                "microseconds": took / n * 1e6,
                "vectors": len(found.sv),
            }
        out[name] = {
            "rows": len(data.rows),
            "features": data.rows.n_columns,
            "ours": ours,
            "baselines": baselines(case, data, test, ours["counted"])
            if case.exact or case.train_exact
            else [],
            "exact": exact,
            "paper": case.paper,
        }
        print(name, json.dumps(out[name]), file=sys.stderr, flush=True)
    return out


def cost_part(folder: Path, only: list[str]) -> dict[str, Any]:
    """Only the times of the table, to be measured when the machine is idle."""
    out = {}
    for name, case in CASES.items():
        if only and name not in only:
            continue
        data, test = read(folder, case.train), read(folder, case.test)
        out[name], _ = trained(case, data, test)
        print(name, json.dumps(out[name]), file=sys.stderr, flush=True)
    return out


VARIANTS: dict[str, dict[str, Any]] = {
    "tuned": {},
    "tuned, pseudo": {"pseudo": "poly", "pseudo_landmarks": 0},
    "weighted k-means": {"iterations": 0},
    "weighted k-means, pseudo": {"iterations": 0, "pseudo": "poly"},
    "weighted k-means, triangle": {"iterations": 0, "pseudo": "triangle"},
    "plain k-means": {"iterations": 0, "kmeans": "plain"},
}
CURVES = {
    "letter": (30, (10, 20, 40, 80, 140), 100),
    "usps": (1, (10, 20, 40, 80), 60),
    "ijcnn1": (8, (2, 4, 8, 16, 32), 100),
}


def curves_part(folder: Path, only: list[str]) -> dict[str, Any]:
    """The paper's figure 2, for every variant."""
    out: dict[str, Any] = {}
    for name, (clusters, sizes, iterations) in CURVES.items():
        if only and name not in only:
            continue
        case = CASES[name]
        data, test = read(folder, case.train), read(folder, case.test)
        points = []
        for variant, changes in VARIANTS.items():
            for landmarks in sizes:
                given = {"kmeans": "weighted", "iterations": iterations, **changes}
                chosen = options_of(case, clusters=clusters, landmarks=landmarks, **{
                    **given, "pseudo_landmarks": 2 * landmarks if "pseudo" in changes else 0})  # fmt: skip
                begin = time.perf_counter()
                model, report = fit_labels(
                    data.rows, data.labels, replace(chosen, task="svc"), Setting(THREADS)
                )
                points.append({
                    "variant": variant, "landmarks": landmarks, "accuracy": accuracy(model, test),
                    "counted": report.multiply_adds / report.linear_multiply_adds,
                    "seconds": time.perf_counter() - begin})  # fmt: skip
                print(name, points[-1], file=sys.stderr, flush=True)
        out[name] = points
    return out


RIDGE = {"cadata": (2.0, 0.1), "cpusmall": (1.0, 0.05)}


def ridge_part(folder: Path, only: list[str]) -> dict[str, Any]:
    """The paper's figure 3; RMSE in units of the standard deviation of the test values."""
    out: dict[str, Any] = {}
    for name, (gamma, regularization) in RIDGE.items():
        if only and name not in only:
            continue
        data, test = read(folder, f"{name}_scale.s80"), read(folder, f"{name}_scale.s20")
        mean, spread = float(data.labels.mean()), float(data.labels.std())
        y, truth = (data.labels - mean) / spread, (test.labels - mean) / spread
        points = []

        def rmse(predicted: np.ndarray, truth: np.ndarray = truth, spread: float = spread) -> float:
            return float(np.sqrt(np.mean((predicted - truth) ** 2)) * spread)

        for variant, changes in VARIANTS.items():
            for landmarks in (4, 8, 16, 32):
                chosen = DcpredOptions(
                    gamma=(gamma,), lambda_=(regularization,), clusters=8, landmarks=landmarks,
                    **{**changes, "pseudo_landmarks": 2 * landmarks if "pseudo" in changes else 0},
                )  # fmt: skip
                model, report = fit_labels(data.rows, y, replace(chosen, task="ridge"), Setting(THREADS))
                points.append({
                    "variant": variant, "landmarks": landmarks,
                    "rmse": rmse(model.decision_values(test.rows, threads=THREADS)[:, 0]),
                    "counted": report.multiply_adds / report.linear_multiply_adds})  # fmt: skip
        d = data.rows.n_columns
        for base in ("nystrom", "kmeans-nystrom", "random-fourier", "fastfood"):
            for rank in (12, 16, 24, 40):
                with one_blas_thread():
                    made = BASELINES[base](Kernel("rbf", gamma), data.rows, rank, 0)
                    phi, psi = made.transform(data.rows), made.transform(test.rows)
                    w = np.linalg.solve(phi.T @ phi + regularization * np.eye(phi.shape[1]), phi.T @ y)
                points.append(
                    {"variant": base, "landmarks": rank, "rmse": rmse(psi @ w), "counted": rank * (d + 1) / d}
                )
        out[name] = {"standard_deviation": float(test.labels.std()), "points": points}
        print(name, json.dumps(out[name]), file=sys.stderr, flush=True)
    return out


CONVERT = {
    "a9a_g0.02": ("a9a", "a9a.t", {"clusters": 4, "landmarks": 24}),
    "ijcnn1_c32_g2": ("ijcnn1", "ijcnn1.t", {"clusters": 16, "landmarks": 32, "kmeans": "plain"}),
    "letter_c16_g2": ("letter.scale", "letter.scale.t", {"clusters": 30, "landmarks": 140}),
}


def convert_part(folder: Path, only: list[str]) -> dict[str, Any]:
    """--from with unlabelled training rows, measured by svmfast compare."""
    out = {}
    for name, (rows, tests, shape) in CONVERT.items():
        if only and name not in only:
            continue
        data, test = read(folder, rows), read(folder, tests)
        exact = load_model(folder / f"{name}.model")
        gamma = exact.kernel.gamma
        entries = {}
        for fit in ("values", "labels") if exact.head.n_classes == 2 else ("labels",):
            begin = time.perf_counter()
            made, report = fit_exact(
                data.rows, exact, DcpredOptions(gamma=(gamma,), fit=fit, **shape), Setting(THREADS)
            )
            seconds = time.perf_counter() - begin
            n = min(len(test.rows), 30_000)
            theirs, ours = measured(
                [ComparedModel("exact", exact, len(libsvm_model_bytes(exact))),
                 ComparedModel("fast", made, len(model_bytes(made)))],
                test.rows[:n], test.labels[:n], threads=THREADS, repeats=3)  # fmt: skip
            linear = linear_seconds(exact.head.linear_functions, test.rows[:n], THREADS)
            assert report.held_out is not None
            agreement = 1 - report.held_out.labels_differing_percent / 100
            held = {**report.held_out.to_dict(), "label_agreement": agreement}
            entries[fit] = {
                "seconds": seconds, "rows": n, "labels_differing": ours.labels_differing,
                "accuracy": ours.accuracy, "exact_accuracy": theirs.accuracy, "speedup": ours.speedup,
                "bytes": ours.n_bytes, "exact_bytes": theirs.n_bytes, "held_out": held,
                "counted": ours.linear_cost_counted, "wall": ours.predict_seconds / linear}  # fmt: skip
        out[name] = {"shape": shape, "fits": entries, "vectors": len(exact.sv)}
        print(name, json.dumps(out[name]), file=sys.stderr, flush=True)
    return out


PARTS = {
    "table": table_part,
    "cost": cost_part,
    "curves": curves_part,
    "ridge": ridge_part,
    "convert": convert_part,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("parts", nargs="*", help=" ".join(PARTS))
    parser.add_argument("--only", action="append", default=[], help="data sets of the parts")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--merge", action="store_true")
    parser.add_argument("--page", type=Path)
    parser.add_argument("--figures", type=Path)
    given = parser.parse_args()
    if not set(given.parts) <= set(PARTS):
        parser.error(f"parts are {' '.join(PARTS)}")
    results: dict[str, Any] = {}
    if given.json and given.json.exists() and (given.merge or not given.parts):
        results = json.loads(given.json.read_text())
    if given.parts:
        results["machine"] = {
            "processor": processor(),
            "threads": THREADS,
            "date": str(date.today()),
            "load": f"{os.getloadavg()[1]:.0f}",
        }
    for part in given.parts:
        found = PARTS[part](given.folder, given.only)
        results.setdefault(part, {}).update(found)
        if part == "table":  # older times must not be shown with newer accuracies
            results["table"] = {name: results["table"][name] for name in CASES if name in results["table"]}
            results["cost"] = {k: v for k, v in results.get("cost", {}).items() if k not in found}
        if given.json:
            given.json.write_text(json.dumps(results, indent=1) + "\n")
    if given.figures:
        draw(results, given.figures)
    if given.page:
        put_into(given.page, page(results), "dcpred")
    if not (given.json or given.page or given.figures):
        print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
