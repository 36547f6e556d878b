"""The ridge regression of meka.py: MEKA and the baselines at equal memory, and its data sets."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from kernel_features import BASELINES, equal_memory_rank

from svmfast.formats.svmlight import read_svmlight
from svmfast.kernels import Kernel
from svmfast.methods.meka import MekaOptions
from svmfast.methods.meka.fit import fit
from svmfast.methods.method import Setting
from svmfast.rows import Rows
from svmfast.threads import one_blas_thread

THREADS = 2
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


def ridge_part(folder: Path) -> dict[str, Any]:
    """Test RMSE over 5 splits, parameters by 3-fold cross validation on the first."""
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
            settings = MekaOptions(
                gamma=gammas, lambda_=lambdas, clusters=5, rank=k, seed=split, folds=3, memory=8 * 2**30
            )
            if "meka" in chosen:
                gamma, regularization = chosen["meka"]
                settings = replace(settings, gamma=(gamma,), lambda_=(regularization,), folds=None)
            model, report = fit(inside, a, replace(settings, task="ridge"), Setting(THREADS))
            chosen["meka"] = (report.gamma, report.regularization)
            predicted = model.decision_values(outside, threads=THREADS)[:, 0]
            scores.setdefault("meka", []).append(float(np.sqrt(np.mean((predicted - b) ** 2))))
            rank = equal_memory_rank(report.bytes, inside)
            for base in BASELINES:
                if base not in chosen:
                    chosen[base] = baseline_choice(base, inside, a, rank, gammas, lambdas)
                predicted = baseline_ridge(
                    base, inside, a, outside, rank, chosen[base][0], [chosen[base][1]], split
                )
                scores.setdefault(base, []).append(float(np.sqrt(np.mean((predicted[0] - b) ** 2))))
        out[name] = {
            "rows": len(rows),
            "rank": k,
            "equal_memory_rank": rank,
            "standard_deviation": float(y.std()),
            "methods": {
                m: {
                    "rmse": float(np.mean(v)),
                    "spread": float(np.std(v)),
                    "splits": v,
                    "gamma_lambda": chosen[m],
                }
                for m, v in scores.items()
            },
        }
        print(name, json.dumps(out[name]), file=sys.stderr, flush=True)
    return out


def baseline_ridge(
    name: str, rows: Rows, y: np.ndarray, test: Rows, rank: int, gamma: float, lambdas: list[float], seed: int
) -> list[np.ndarray]:
    with one_blas_thread():
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
            predicted = baseline_ridge(
                name, rows.take(fold != f), y[fold != f], rows.take(fold == f), rank, gamma, list(lambdas), 0
            )
            total[g] += [np.sum((s - y[fold == f]) ** 2) for s in predicted]
    g, s = np.unravel_index(np.argmin(total), total.shape)
    return gammas[g], lambdas[s]
