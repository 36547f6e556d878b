"""What DC-Pred++ is asked for, and what it tells of its work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from svmfast.errors import MemoryLimitError, OptionError
from svmfast.rows import Rows

#: Of moving the landmarks, where nothing else is asked; and of --fit pairs, which stops earlier by itself.
DEFAULT_ITERATIONS, PAIRS_ITERATIONS = 150, 300
#: Kinds of pseudo landmarks.
PSEUDO = ("none", "poly", "triangle")
KMEANS = ("weighted", "plain")
FITS = ("auto", "values", "labels", "pairs")


@dataclass(frozen=True)
class DcpredSettings:
    """How to train.

    Attributes
    ----------
    gammas : tuple of float
        Widths of the Gaussian kernel to begin with; moving the landmarks moves each leaf's as well.
    strengths : tuple of float
        C of svc, or lambda of ridge: one, or several to choose from with `folds`.
    clusters : int
        Leaves.
    levels : int
        Of the tree: 1, 2, or 0 for 2 above 64 leaves.
    landmarks : int
        Of each leaf.
    pseudo : str
        ``none``, ``poly`` or ``triangle``.
    pseudo_landmarks : int
        Of each leaf; 0: as many as landmarks.
    kmeans : str
        ``weighted`` by the squared coefficients of the local models, or ``plain``.
    iterations : int
        Of moving the landmarks; 0: the paper's method alone.
    cost : float, optional
        Choose clusters, landmarks and pseudo landmarks so that a prediction takes at most so many times the
        multiply-adds of a linear model.
    folds : int, optional
    seed : int
    memory : int
        Bytes.
    """

    gammas: tuple[float, ...]
    strengths: tuple[float, ...] = (10.0,)
    clusters: int = 16
    levels: int = 0
    landmarks: int = 32
    pseudo: str = "none"
    pseudo_landmarks: int = 0
    kmeans: str = "weighted"
    iterations: int = DEFAULT_ITERATIONS
    cost: float | None = None
    folds: int | None = None
    seed: int = 0
    memory: int = 2 << 30

    def __post_init__(self) -> None:
        for name, values in (("gamma", self.gammas), ("C or lambda", self.strengths)):
            if not values or not all(0 < v < float("inf") for v in values):
                raise OptionError(f"{name} must be positive, got {', '.join(map(str, values)) or 'none'}")
        if self.levels not in (0, 1, 2):
            raise OptionError(f"--levels is {self.levels}; it must be 1 or 2")
        for name, value, known in (("--pseudo", self.pseudo, PSEUDO), ("--kmeans", self.kmeans, KMEANS)):
            if value not in known:
                raise OptionError(f"{name} is '{value}'; expected one of {', '.join(known)}")
        for name, number, least in (
            ("--clusters", self.clusters, 1),
            ("--landmarks", self.landmarks, 1),
            ("--pseudo-landmarks", self.pseudo_landmarks, 0),
            ("--tune", self.iterations, 0),
        ):
            if number < least:
                raise OptionError(f"{name} is {number}; it must be at least {least}")
        if self.folds is not None and self.folds < 2:
            raise OptionError(f"{self.folds} folds (-v); cross validation needs at least 2")
        if self.cost is not None and not 0 < self.cost < float("inf"):
            raise OptionError(f"--cost is {self.cost:g}; it must be a positive multiple of a linear model's")

    @property
    def pseudo_count(self) -> int:
        """Pseudo landmarks of each leaf."""
        return 0 if self.pseudo == "none" else self.pseudo_landmarks or self.landmarks

    def told(self, task: str, gamma: float, strength: float | None) -> dict[str, str]:
        """Return what a model's file says of its making; `strength` is None where it had no part in it."""
        name = "C" if task in ("svc", "labels", "pairs") else "lambda"
        parts = [f"task {task}", f"gamma {gamma!r}"]
        if strength is not None:
            parts.append(f"{name} {strength!r}")
        if self.cost is not None:
            parts.append(f"cost {self.cost!r}x")
        parts.append(f"clusters {self.clusters}")
        if self.levels:
            parts.append(f"levels {self.levels}")
        parts.append(f"landmarks {self.landmarks}")
        if self.pseudo_count:
            parts.append(f"pseudo {self.pseudo} {self.pseudo_count}")
        parts += [f"kmeans {self.kmeans}", f"tune {self.iterations}"]
        return {"parameters": ", ".join(parts), "seed": str(self.seed)}


def check_width(rows: Rows, settings: DcpredSettings) -> None:
    """Raise MemoryLimitError where centres and landmarks, which are dense, cannot fit."""
    vectors = min(settings.clusters * (2 + settings.landmarks), 2 * len(rows))
    needed = 8 * 3 * vectors * rows.n_columns
    if needed > settings.memory:
        raise MemoryLimitError(
            f"centres and landmarks of {rows.n_columns:,} columns",
            needed,
            settings.memory,
            "raise --memory, or use fewer --clusters and --landmarks",
        )


def check_memory(
    rows: Rows, sizes: list[int], functions: int, settings: DcpredSettings, threads: int
) -> None:
    """Raise MemoryLimitError if the largest leaves at work together would not fit.

    A leaf's rows are held densely three times: once plainly and twice as the gradient's tiles; its kernel
    values and their products with W's root once each.
    """
    at_once = sorted(sizes, reverse=True)[:threads]
    width = settings.landmarks + settings.pseudo_count
    needed = 8 * sum(at_once) * (3 * rows.n_columns + 3 * width + 2 * functions)
    needed += 8 * len(rows) * (len(sizes) + functions) + 24 * rows.nnz
    if needed > settings.memory:
        raise MemoryLimitError(
            f"training on leaves of up to {at_once[0]:,} rows",
            needed,
            settings.memory,
            "raise --memory, or use more --clusters or a smaller -j",
        )


@dataclass(frozen=True)
class CrossValidation:
    """The score of one pair of parameters: RMSE, or percent of right labels."""

    gamma: float
    strength: float
    score: float


@dataclass(frozen=True)
class Candidate:
    """One way to spend the cost that --cost allows, and its score on held-out rows."""

    clusters: int
    levels: int
    landmarks: int
    pseudo: str
    pseudo_landmarks: int
    counted_cost: float
    score: float


@dataclass(frozen=True)
class DcpredReport:
    """What a training run did.

    Attributes
    ----------
    task : str
        ``svc``, ``ridge``, or with --from ``values`` or ``labels``: what of the exact model was fitted. With
        --fit pairs ``pairs``.
    rows, features : int
    clusters : int
        Leaves.
    leaf_rows : (int, int)
        Rows of the smallest and of the largest.
    landmarks, pseudo_landmarks : int
        Of all leaves together.
    pseudo : str
    gamma, strength : float
        As given or chosen; strength is C or lambda, None where the exact model was given and its values alone
        are fitted (--from with --fit pairs).
    leaf_gammas : (float, float)
        Smallest and largest width after the landmarks were moved.
    multiply_adds : float
        Counted cost of a prediction, the mean of all training rows. A linear model's is
        ``linear_multiply_adds``.
    linear_multiply_adds : float
    train_score : float
        Percent of right labels, or RMSE, on the rows trained on.
    cross_validation : tuple of CrossValidation
    folds : int or None
    candidates : tuple of Candidate
        What --cost chose from.
    held_out : dict or None
        --from: the error on rows never looked at before, as :func:`_dcpred_held_out.held_out` gives it.
    seconds : dict of str to float
    probabilities : str
        What became of the exact model's: ``none`` to begin with, ``kept``, or ``dropped`` where labels were
        fitted, one value a class, of which LIBSVM's probabilities of pairs are not defined.
    """

    task: str
    rows: int
    features: int
    clusters: int
    leaf_rows: tuple[int, int]
    landmarks: int
    pseudo_landmarks: int
    pseudo: str
    gamma: float
    strength: float | None
    leaf_gammas: tuple[float, float]
    multiply_adds: float
    linear_multiply_adds: float
    train_score: float
    cross_validation: tuple[CrossValidation, ...]
    folds: int | None
    candidates: tuple[Candidate, ...]
    held_out: Mapping[str, float] | None
    seconds: Mapping[str, float]
    probabilities: str = "none"
