"""Measure meka against what its paper reports; writes one JSON object, and figures with --figure.

    python scripts/bench_meka.py FOLDER PART... [--json OUT] [--figure OUT.svg]

FOLDER holds LIBSVM data sets under their usual names. Parts: error, sweep, ridge, bka, svc, speed. Every
figure stands beside what it is measured against, made in the same run. Timings are wall time; close other
programs.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from svmfast.formats.svmlight import read_svmlight
from svmfast.kernels import Kernel
from svmfast.methods.meka import MekaSettings, baseline_error, fit_ridge, fit_svc, kernel_error
from svmfast.methods.train import TrainOptions, train
from svmfast.rows import Rows
from svmfast.solvers.kernel_baselines import BASELINES
from svmfast.solvers.meka import MekaOptions
from svmfast.solvers.pool import single_threaded_blas

THREADS = 2
#: The MEKA paper's table 7: (k, gamma, c) and the errors of Nystrom, k-means Nystrom, RFF, Fastfood, MEKA.
PAPER_ERROR = {
    "pendigits": ((128, 2.0, 5), (0.1325, 0.0828, 0.4404, 0.4726, 0.0811)),
    "ijcnn1": ((128, 1.0, 10), (0.0423, 0.0234, 0.2972, 0.2975, 0.0082)),
    "covtype": ((256, 10.0, 15), (0.3700, 0.2752, 0.8825, 0.8920, 0.1192)),
}
FILES = {
    "pendigits": ("pendigits.scale", "pendigits.scale.t"),
    "ijcnn1": ("ijcnn1",),
    "covtype": ("covtype20k.libsvm.binary.scale.s80", "covtype20k.libsvm.binary.scale.s20"),
    "cpusmall": ("cpusmall_scale.s80", "cpusmall_scale.s20"),
    "cadata": ("cadata_scale.s80", "cadata_scale.s20"),
    "abalone": ("abalone_scale.s80", "abalone_scale.s20"),
    "skin": ("skin_nonskin.s80", "skin_nonskin.s20"),
}


def read(folder: Path, names: tuple[str, ...]) -> tuple[Rows, np.ndarray]:
    sets = [read_svmlight(folder / name, threads=THREADS) for name in names]
    return Rows.concatenate([s.rows for s in sets]), np.concatenate([s.labels for s in sets])


def scaled(rows: Rows, how: str) -> Rows:
    """[0,1], [-1,1] or standardised, column by column; constant columns become zero."""
    x = rows.to_dense()
    if how == "standard":
        spread = x.std(axis=0)
        return Rows.from_dense((x - x.mean(axis=0)) / np.where(spread > 0, spread, 1))
    low, high = x.min(axis=0), x.max(axis=0)
    unit = np.where(high > low, (x - low) / np.where(high > low, high - low, 1), 0)
    return Rows.from_dense(unit if how == "[0,1]" else np.where(high > low, 2 * unit - 1, 0))


def error_part(folder: Path) -> dict:
    """Acceptance 1: the paper's settings; the baselines at equal memory and at the paper's own rank k."""
    out = {}
    for name, ((k, gamma, clusters), paper) in PAPER_ERROR.items():
        rows = read(folder, FILES[name])[0]
        if name == "pendigits":
            rows = scaled(rows, "[0,1]")
        settings = MekaSettings((gamma,), clusters=clusters, approximation=MekaOptions(rank=k), psd="none")
        report = kernel_error(rows, settings, compare=True, threads=THREADS)
        same_rank = [
            asdict(baseline_error(b, Kernel("rbf", gamma), rows, k, 20_000, 0, threads=THREADS))
            for b in ("nystrom", "kmeans-nystrom", "random-fourier", "fastfood")
        ]
        columns = ("nystrom", "kmeans-nystrom", "random-fourier", "fastfood", "meka")
        out[name] = {
            "meka": asdict(report),
            "same_rank": same_rank,
            "paper": dict(zip(columns, paper, strict=True)),
        }
    return out


def sweep_part(folder: Path) -> list[dict]:
    """Acceptance 1: never worse than block-diagonal at the same rank by over 1 %; the paper's figure 1c."""
    out = []
    for name in ("pendigits", "ijcnn1", "covtype"):
        rows = read(folder, FILES[name])[0]
        few = rows.take(np.sort(np.random.default_rng(0).choice(len(rows), 3000, replace=False)))
        for how in ("[0,1]", "[-1,1]", "standard"):
            x = scaled(few, how)
            for power in range(-6, 7):
                settings = MekaSettings(
                    (2.0**power,), clusters=5, approximation=MekaOptions(rank=64), psd="none"
                )
                report = kernel_error(x, settings, threads=THREADS)
                blocks = kernel_error(x, replace(settings, block_only=True), threads=THREADS)
                rank = max(1, round(report.bytes / (8 * len(x))))
                kernel = Kernel("rbf", 2.0**power)
                low = {
                    b: baseline_error(b, kernel, x, rank, 20_000, 0, threads=THREADS).relative_error
                    for b in ("nystrom", "kmeans-nystrom")
                }
                out.append(
                    {
                        "data": name,
                        "scaling": how,
                        "log2_gamma": power,
                        "meka": report.relative_error,
                        "block_diagonal": report.block_diagonal_error,
                        "exact_blocks": blocks.relative_error,
                        "exact_blocks_bytes": blocks.bytes,
                        "meka_bytes": report.bytes,
                        **low,
                    }
                )
                print(out[-1], file=sys.stderr, flush=True)
    return out


def ridge_part(folder: Path) -> dict:
    """Acceptance 2: test RMSE over 5 splits, parameters by 3-fold cross validation on the first."""
    out = {}
    gammas = tuple(2.0**e for e in (-4, -2, 0, 2))
    lambdas = tuple(2.0**e for e in (-10, -8, -6, -4, -2, 0))
    for name, k in (("cpusmall", 256), ("cadata", 128), ("abalone", 128)):
        rows, y = read(folder, FILES[name])
        scores: dict[str, list[float]] = {}
        chosen: dict[str, tuple[float, float]] = {}
        for split in range(5):
            order = np.random.default_rng(split).permutation(len(rows))
            cut = round(0.8 * len(rows))
            inside, outside = rows.take(order[:cut]), rows.take(order[cut:])
            a, b = y[order[:cut]], y[order[cut:]]
            options = MekaOptions(rank=k, seed=split)
            settings = MekaSettings(
                gammas, lambdas, clusters=5, approximation=options, folds=3, memory=8 * 2**30
            )
            if "meka" in chosen:
                gamma, strength = chosen["meka"]
                settings = replace(settings, gammas=(gamma,), strengths=(strength,), folds=None)
            model, report = fit_ridge(inside, a, settings, threads=THREADS)
            chosen["meka"] = (report.gamma, report.strength)
            said = model.decision_values(outside, threads=THREADS)[:, 0]
            scores.setdefault("meka", []).append(float(np.sqrt(np.mean((said - b) ** 2))))
            rank = round(report.bytes / (8 * len(inside)))
            for base in BASELINES:
                if base not in chosen:
                    chosen[base] = baseline_choice(base, inside, a, rank, gammas, lambdas)
                said = baseline_ridge(
                    base, inside, a, outside, rank, chosen[base][0], [chosen[base][1]], split
                )
                scores.setdefault(base, []).append(float(np.sqrt(np.mean((said[0] - b) ** 2))))
        out[name] = {
            "rows": len(rows),
            "rank": k,
            "equal_memory_rank": rank,
            "standard_deviation": float(y.std()),
            "methods": {
                m: {"rmse": float(np.mean(v)), "spread": float(np.std(v)), "gamma_lambda": chosen[m]}
                for m, v in scores.items()
            },
        }
        print(name, json.dumps(out[name]), file=sys.stderr, flush=True)
    return out


def baseline_ridge(
    name: str, rows: Rows, y: np.ndarray, test: Rows, rank: int, gamma: float, lambdas: list[float], seed: int
) -> list[np.ndarray]:
    with single_threaded_blas():
        features = BASELINES[name](Kernel("rbf", gamma), rows, rank, seed)
        phi, psi = features.transform(rows), features.transform(test)
        values, vectors = np.linalg.eigh(phi.T @ phi)
        inner = vectors.T @ (phi.T @ (y - y.mean()))
        return [psi @ (vectors @ (inner / (np.maximum(values, 0) + s))) + y.mean() for s in lambdas]


def baseline_choice(
    name: str, rows: Rows, y: np.ndarray, rank: int, gammas: tuple[float, ...], lambdas: tuple[float, ...]
) -> tuple[float, float]:
    fold = np.random.default_rng([0, 7]).permutation(len(rows)) % 3
    total = np.zeros((len(gammas), len(lambdas)))
    for f in range(3):
        for g, gamma in enumerate(gammas):
            said = baseline_ridge(
                name, rows.take(fold != f), y[fold != f], rows.take(fold == f), rank, gamma, list(lambdas), 0
            )
            total[g] += [np.sum((s - y[fold == f]) ** 2) for s in said]
    g, s = np.unravel_index(np.argmin(total), total.shape)
    return gammas[g], lambdas[s]


def bka_part(folder: Path) -> dict:
    """Acceptance 3: local LIBSVM models beside LIBSVM itself on all rows, in one run."""
    rows, y = read(folder, ("ijcnn1",))
    test, truth = read(folder, ("ijcnn1.t",))
    settings = MekaSettings((2.0,), (32.0,), clusters=64, block_only=True)
    begin = time.perf_counter()
    model, report = fit_svc(rows, y, settings, threads=THREADS)
    local = time.perf_counter() - begin
    begin = time.perf_counter()
    exact = train(rows, y, TrainOptions(gamma=2.0, C=32.0))
    whole = time.perf_counter() - begin

    def accuracy(m: object) -> float:
        return float(np.mean(m.head.predict(m.decision_values(test, threads=THREADS)) == truth) * 100)  # type: ignore[attr-defined]

    return {
        "bka": {"seconds": local, "accuracy": accuracy(model), "stages": dict(report.seconds)},
        "train": {"seconds": whole, "accuracy": accuracy(exact)},
        "faster": whole / local,
        "paper": {"bka": 98.49, "libsvm": 98.69, "faster": 23},
    }


def svc_part(folder: Path) -> list[dict]:
    """Acceptance 3: MEKA svc on ijcnn1, a9a, letter."""
    out = []
    for name, test, gamma, cost, exact in (
        ("ijcnn1", "ijcnn1.t", 2.0, 1.0, 98.697),
        ("a9a", "a9a.t", 0.02, 0.5, 84.860),
        ("letter.scale", "letter.scale.t", 2.0, 4.0, 97.840),
    ):
        rows, y = read(folder, (name,))
        other, truth = read(folder, (test,))
        settings = MekaSettings((gamma,), (cost,), clusters=10, approximation=MekaOptions(rank=128))
        begin = time.perf_counter()
        model, report = fit_svc(rows, y, settings, threads=THREADS)
        seconds = time.perf_counter() - begin
        begin = time.perf_counter()
        said = model.head.predict(model.decision_values(other, threads=THREADS))
        out.append(
            {
                "data": name,
                "gamma": gamma,
                "C": cost,
                "seconds": seconds,
                "predict_seconds": time.perf_counter() - begin,
                "accuracy": float(np.mean(said == truth) * 100),
                "exact_svm": exact,
                "train": report.train_score,
            }
        )
        print(out[-1], file=sys.stderr, flush=True)
    return out


def speed_part(folder: Path) -> list[dict]:
    """Acceptance 4: seconds and peak memory of a process of its own; skin at growing sizes."""
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
            jobs.append((f"skin {n}", path, 10.0, 64, 10))
        for name, path, gamma, k, clusters in jobs:
            words = [sys.executable, "-m", "svmfast", "meka", str(path), "--task", "error", "--json", "-q"]
            words += ["-g", str(gamma), "--rank", str(k), "--clusters", str(clusters), "--psd", "none"]
            words += ["--sample", "2000", "-j", str(THREADS)]
            begin = time.perf_counter()
            done = subprocess.run(words, check=True, capture_output=True)
            seconds = time.perf_counter() - begin
            report = json.loads(done.stdout)
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
            line = {"data": name, "rows": report["rows"], "seconds": report["seconds"]}
            line |= {"process_seconds": seconds, "peak_bytes_so_far": peak, "bytes": report["bytes"]}
            out.append({**line, "planned_bytes": report["planned_bytes"], "stages": report["stages"]})
            print(out[-1], file=sys.stderr, flush=True)
    return out


def write(rows: Rows, labels: np.ndarray, path: Path) -> None:
    lines = []
    for i, label in enumerate(labels):
        a, b = rows.indptr[i], rows.indptr[i + 1]
        pairs = zip(rows.indices[a:b], rows.values[a:b], strict=True)
        lines.append(" ".join([f"{label:g}", *(f"{j + 1}:{v:.6g}" for j, v in pairs)]))
    path.write_text("\n".join(lines) + "\n")


def draw(sweep: list[dict], path: Path) -> None:
    """The paper's figure 1c, for every data set and scaling."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "meka"  # equal results, equal figure
    matplotlib.rcParams["svg.fonttype"] = "none"
    from matplotlib import pyplot

    data, scalings = ("pendigits", "ijcnn1", "covtype"), ("[0,1]", "[-1,1]", "standard")
    figure, axes = pyplot.subplots(3, 3, figsize=(12, 10), sharex=True, sharey=True)
    for i, name in enumerate(data):
        for j, how in enumerate(scalings):
            points = [p for p in sweep if p["data"] == name and p["scaling"] == how]
            for method in ("meka", "block_diagonal", "exact_blocks", "nystrom", "kmeans-nystrom"):
                axes[i][j].plot(
                    [p["log2_gamma"] for p in points], [p[method] for p in points], marker=".", label=method
                )
            axes[i][j].set_title(f"{name} {how}")
            axes[i][j].set_yscale("log")
            axes[i][j].set_ylim(1e-6, 2)
    axes[0][0].legend()
    figure.supxlabel("log2 gamma")
    figure.supylabel("relative error")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def main() -> None:
    parts = {
        "error": error_part,
        "sweep": sweep_part,
        "ridge": ridge_part,
        "bka": bka_part,
        "svc": svc_part,
        "speed": speed_part,
    }
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("parts", nargs="+", choices=list(parts))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--figure", type=Path)
    arguments = parser.parse_args()
    results = {name: parts[name](arguments.folder) for name in arguments.parts}
    text = json.dumps(results, indent=2) + "\n"
    if arguments.json:
        arguments.json.write_text(text)
    else:
        print(text, end="")
    if arguments.figure and "sweep" in results:
        draw(results["sweep"], arguments.figure)


if __name__ == "__main__":
    main()
