"""The data sets and settings of dcpred.py, and the figures of the paper."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Case:
    """A data set with our settings, those of the exact SVM, and the paper's (cost, accuracy)."""

    train: str
    test: str
    gamma: float
    C: float
    shape: dict[str, Any]
    exact_gamma: float
    exact_C: float
    exact: str | None = None
    train_exact: bool = False
    paper: dict[str, tuple[float, float]] = field(default_factory=dict)


COVTYPE = "covtype20k.libsvm.binary.scale"
CASES = {
    "letter": Case(
        "letter.scale", "letter.scale.t", 1.0, 10.0, {"clusters": 30, "landmarks": 140}, 2.0, 16.0,
        exact="letter_c16_g2.model",
        paper={"DC-Pred++": (12.8, 95.90), "LDKL": (29, 95.78), "k-means Nystrom": (140, 87.58)},
    ),
    "usps": Case(
        "usps", "usps.t", 2.0**-6, 10.0, {"clusters": 1, "landmarks": 138, "kmeans": "plain"}, 2.0**-7, 10.0,
        exact="usps_c10.model",
        paper={"DC-Pred++": (14.4, 95.56), "LDKL": (12.01, 95.96), "k-means Nystrom": (200, 92.53)},
    ),
    "a9a": Case(
        "a9a", "a9a.t", 0.02, 1.0, {"clusters": 1, "landmarks": 11}, 0.02, 32.0,
        exact="a9a_g0.02.model",
        paper={"DC-Pred++": (12.5, 83.9), "LDKL": (32, 81.95), "k-means Nystrom": (50, 83.9)},
    ),
    "ijcnn1": Case(
        "ijcnn1", "ijcnn1.t", 2.0, 10.0, {"clusters": 12, "landmarks": 20}, 2.0, 32.0,
        exact="ijcnn1_c32_g2.model",
    ),
    "covtype sample": Case(
        f"{COVTYPE}.s80", f"{COVTYPE}.s20", 10.0, 10.0, {"clusters": 4, "landmarks": 14}, 32.0, 32.0,
        train_exact=True,
        paper={"DC-Pred++": (18.8, 95.19), "LDKL": (35, 89.53), "k-means Nystrom": (200, 73.63)},
    ),
    "mnist": Case(
        "mnist.scale", "mnist.scale.t", 0.02, 10.0, {"clusters": 4, "landmarks": 110, "iterations": 60},
        0.02, 10.0, train_exact=True,
    ),
}  # fmt: skip
