"""Measure meka against its paper, and make docs/papers.md from the results.

    python scripts/bench/meka.py FOLDER PART... --json scripts/bench/results/meka.json [--page docs/papers.md]
    python scripts/bench/meka.py --json RESULTS --page docs/papers.md --figure docs/figures/meka_sweep.svg

FOLDER holds LIBSVM data sets under their usual names. Parts: error, sweep, ridge, bka, svc, speed. A
part's results replace its old ones in the JSON file. Every figure is shown next to what it is measured
against, made in the same run. Timings are wall time; close other programs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from kernel_features import BASELINES, equal_memory_rank, kernel_error_of
from measuring import machine, place
from meka_ridge import FILES, THREADS, read, ridge_part
from meka_tables import draw, markdown
from pages import put_into

from svmfast.kernels import Kernel
from svmfast.methods.meka import MekaOptions
from svmfast.methods.meka.error import kernel_error
from svmfast.methods.meka.fit import fit
from svmfast.methods.method import Setting
from svmfast.methods.train.training import TrainOptions, train
from svmfast.rows import Rows

WORK = Setting(THREADS)
#: The MEKA paper's table 7: (k, gamma, c) and the errors of Nystrom, k-means Nystrom, RFF, Fastfood, MEKA.
PAPER_ERROR = {
    "pendigits": ((128, 2.0, 5), (0.1325, 0.0828, 0.4404, 0.4726, 0.0811)),
    "ijcnn1": ((128, 1.0, 10), (0.0423, 0.0234, 0.2972, 0.2975, 0.0082)),
    "covtype": ((256, 10.0, 15), (0.3700, 0.2752, 0.8825, 0.8920, 0.1192)),
}


def scaled(rows: Rows, how: str) -> Rows:
    """Scale columns to [0,1] or [-1,1], or standardize them; constant columns become zero."""
    x = rows.to_dense()
    if how == "standard":
        spread = x.std(axis=0)
        return Rows.from_dense((x - x.mean(axis=0)) / np.where(spread > 0, spread, 1))
    low, high = x.min(axis=0), x.max(axis=0)
    unit = np.where(high > low, (x - low) / np.where(high > low, high - low, 1), 0)
    return Rows.from_dense(unit if how == "[0,1]" else np.where(high > low, 2 * unit - 1, 0))


def error_part(folder: Path) -> dict[str, Any]:
    """The paper's settings; the baselines at equal memory and at the paper's own rank k."""
    out = {}
    for name, ((k, gamma, clusters), paper) in PAPER_ERROR.items():
        rows = read(folder, FILES[name])[0]
        if name == "pendigits":
            rows = scaled(rows, "[0,1]")
        settings = MekaOptions(gamma=(gamma,), clusters=clusters, rank=k, psd="none")
        report, kernel = kernel_error(rows, settings, WORK), Kernel("rbf", gamma)
        rank = equal_memory_rank(report.bytes, rows)
        same_memory = [kernel_error_of(b, kernel, rows, rank, threads=THREADS) for b in BASELINES]
        same_rank = [
            kernel_error_of(b, kernel, rows, k, threads=THREADS)
            for b in ("nystrom", "kmeans-nystrom", "random-fourier", "fastfood")
        ]
        columns = ("nystrom", "kmeans-nystrom", "random-fourier", "fastfood", "meka")
        out[name] = {
            "meka": {**asdict(report), "baselines": same_memory},
            "same_rank": same_rank,
            "paper": dict(zip(columns, paper, strict=True)),
        }
    return out


def sweep_part(folder: Path) -> list[dict[str, Any]]:
    """The paper's figure 1c, for three data sets, three scalings and 13 gammas."""
    out = []
    for name in ("pendigits", "ijcnn1", "covtype"):
        rows = read(folder, FILES[name])[0]
        few = rows.take(np.sort(np.random.default_rng(0).choice(len(rows), 3000, replace=False)))
        for how in ("[0,1]", "[-1,1]", "standard"):
            x = scaled(few, how)
            for power in range(6, -7, -1):
                settings = MekaOptions(gamma=(2.0**power,), clusters=5, rank=64, psd="none")
                report = kernel_error(x, settings, WORK)
                whole = kernel_error(x, replace(settings, block_only=True), WORK)
                apart = kernel_error(x, replace(settings, link_threshold=1.0), WORK)
                rank, kernel = equal_memory_rank(report.bytes, x), Kernel("rbf", 2.0**power)
                low = {
                    b: kernel_error_of(b, kernel, x, rank, threads=THREADS)["relative_error"]
                    for b in ("nystrom", "kmeans-nystrom")
                }
                out.append(
                    {
                        "data": name,
                        "scaling": how,
                        "log2_gamma": power,
                        "meka": report.relative_error,
                        "block_diagonal": apart.relative_error,
                        "exact_blocks": whole.relative_error,
                        **low,
                    }
                )
            print(out[-1], file=sys.stderr, flush=True)
    return out


def percent(model: Any, rows: Rows, labels: np.ndarray) -> float:
    """Accuracy in percent."""
    return float(np.mean(model.head.predict(model.decision_values(rows, threads=THREADS)) == labels) * 100)


def bka_part(folder: Path) -> dict[str, Any]:
    """Local LIBSVM models with three seeds, and LIBSVM itself on all rows, in one run."""
    rows, y = read(folder, ("ijcnn1",))
    test, truth = read(folder, ("ijcnn1.t",))
    runs: list[dict[str, float]] = []

    def local(seed: int) -> None:
        settings = MekaOptions(gamma=(2.0,), C=(32.0,), clusters=64, block_only=True, seed=seed)
        begin = time.perf_counter()
        model, _ = fit(rows, y, replace(settings, task="svc"), WORK)
        seconds = time.perf_counter() - begin
        runs.append({"seed": seed, "seconds": seconds, "accuracy": percent(model, test, truth)})

    local(0)
    begin = time.perf_counter()
    exact = train(rows, y, TrainOptions(gamma=2.0, C=32.0))
    whole = time.perf_counter() - begin
    local(1)
    local(2)
    return {
        "runs": runs,
        "train": {"seconds": whole, "accuracy": percent(exact, test, truth)},
        "faster": whole / float(np.median([r["seconds"] for r in runs])),
        "paper": {"bka": 98.49, "libsvm": 98.69, "faster": 23},
    }


#: Data, test data, gammas, Cs, size of the final model, accuracy of the exact SVM in this folder's models.
SVC = (
    ("ijcnn1", "ijcnn1.t", (1.0, 2.0, 4.0), (1.0, 4.0, 16.0), (10, 128, 256), 98.697),
    ("a9a", "a9a.t", (0.02, 0.05), (0.1, 0.5, 2.0), (10, 128, 256), 84.860),
    ("letter.scale", "letter.scale.t", (0.5, 1.0, 2.0), (4.0, 16.0, 64.0), (10, 256, 256), 97.840),
)


def svc_part(folder: Path) -> list[dict[str, Any]]:
    """MEKA svc; gamma and C by 3-fold cross validation on 6,000 training rows (-v 3)."""
    out = []
    for name, test, gammas, costs, (clusters, rank, landmarks), exact in SVC:
        rows, y = read(folder, (name,))
        other, truth = read(folder, (test,))
        some = np.sort(np.random.default_rng(0).permutation(len(rows))[:6000])
        settings = MekaOptions(
            task="svc", gamma=gammas, C=costs, clusters=5, rank=landmarks, landmarks=landmarks, folds=3
        )
        begin = time.perf_counter()
        scores = fit(rows.take(some), y[some], settings, replace(WORK, writes=False))[1].cross_validation
        choosing = time.perf_counter() - begin
        best = max(scores, key=lambda s: s.score)
        settings = MekaOptions(
            gamma=(best.gamma,),
            C=(best.regularization,),
            clusters=clusters,
            rank=rank,
            landmarks=landmarks,
        )
        begin = time.perf_counter()
        model, report = fit(rows, y, replace(settings, task="svc"), WORK)
        seconds = time.perf_counter() - begin
        begin = time.perf_counter()
        accuracy = percent(model, other, truth)
        out.append(
            {
                "data": name,
                "gamma": best.gamma,
                "C": best.regularization,
                "clusters": clusters,
                "rank": rank,
                "landmarks": landmarks,
                "choosing_seconds": choosing,
                "seconds": seconds,
                "predict_seconds": time.perf_counter() - begin,
                "counted_cost": report.multiply_adds / report.linear_multiply_adds,
                "accuracy": accuracy,
                "exact_svm": exact,
                "train": report.training.main,
                "scores": [s.to_dict() for s in scores],
            }
        )
        print(out[-1], file=sys.stderr, flush=True)
    return out


def speed_part(folder: Path) -> list[dict[str, Any]]:
    """Seconds and peak memory of a separate process; skin at growing sizes."""
    out = []
    rows, labels = read(folder, FILES["skin"])
    order = np.random.default_rng(0).permutation(len(rows))
    whole = scaled(rows, "[0,1]")
    with tempfile.TemporaryDirectory() as scratch:
        jobs: list[tuple[str, Path, float, int, int]] = [("ijcnn1", folder / "ijcnn1", 1.0, 128, 10)]
        covtype = Path(scratch) / "covtype"
        covtype.write_bytes(b"".join((folder / name).read_bytes() for name in FILES["covtype"]))
        jobs.append(("covtype", covtype, 10.0, 256, 15))
        for n in (12_000, 25_000, 50_000, 200_000):
            path = Path(scratch) / f"skin{n}"
            write(whole.take(order[:n]), labels[order[:n]], path)
            jobs.append((f"skin {n:,}", path, 10.0, 64, 10))
        for name, path, gamma, k, clusters in jobs:
            words = [sys.executable, "-m", "svmfast", "meka", str(path), "--task", "error", "--json", "-q"]
            words += ["-g", str(gamma), "--rank", str(k), "--clusters", str(clusters), "--psd", "none"]
            words += ["--sample", "2000", "-j", str(THREADS)]
            begin = time.perf_counter()
            with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
                assert process.stdout is not None
                text = process.stdout.read()
                _, status, used = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
            seconds = time.perf_counter() - begin
            report = json.loads(text)
            line = {"data": name, "rows": report["rows"], "seconds": report["build_seconds"]}
            line |= {"process_seconds": seconds, "peak_bytes": used.ru_maxrss * 1024}
            line |= {"processor_seconds": used.ru_utime + used.ru_stime, "error": report["relative_error"]}
            out.append({**line, "bytes": report["kernel_bytes"]})
            print(out[-1], file=sys.stderr, flush=True)
    return out


def write(rows: Rows, labels: np.ndarray, path: Path) -> None:
    lines = []
    for i, label in enumerate(labels):
        a, b = rows.indptr[i], rows.indptr[i + 1]
        pairs = zip(rows.indices[a:b], rows.values[a:b], strict=True)
        lines.append(" ".join([f"{label:g}", *(f"{j + 1}:{v:.6g}" for j, v in pairs)]))
    path.write_text("\n".join(lines) + "\n")


PARTS: dict[str, Callable[[Path], Any]] = {
    "error": error_part,
    "sweep": sweep_part,
    "ridge": ridge_part,
    "bka": bka_part,
    "svc": svc_part,
    "speed": speed_part,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []])
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--figure", type=Path)
    arguments = parser.parse_args()
    for name in arguments.parts:
        where = f"{place(machine(THREADS), 'numpy')}, load average {os.getloadavg()[0]:.1f}"
        made = PARTS[name](arguments.folder)
        # Read at the end, since other parts may be measured at the same time.
        results = json.loads(arguments.json.read_text()) if arguments.json.exists() else {}
        results[name] = made
        results.setdefault("machines", {})[name] = where
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")
    results = json.loads(arguments.json.read_text())
    if arguments.page:
        put_into(arguments.page, markdown(results), "meka")
    if arguments.figure:
        draw(results["sweep"], arguments.figure)


if __name__ == "__main__":
    main()
