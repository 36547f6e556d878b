"""Types of the native functions; the documentation stands with their callers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

SV_FAULTS: tuple[str, ...]

class DecisionSums:
    def __init__(
        self,
        kind: int,
        gamma: float,
        coef0: float,
        degree: int,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float64],
        sv_coef: NDArray[np.float64],
        rho: NDArray[np.float64],
        group_sizes: NDArray[np.int64],
    ) -> None: ...
    def decide(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float64],
        libsvm_order: bool,
        threads: int,
        wanted: NDArray[np.uint8] | None = None,
    ) -> tuple[NDArray[np.float64], int]: ...
    def double_values(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float64],
        threads: int,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def labels(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float64],
        single: bool,
        threads: int,
    ) -> tuple[NDArray[np.int32], int, int]: ...
    def single_values(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float64],
        threads: int,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    @property
    def bytes(self) -> int: ...
    @property
    def scattered(self) -> bool: ...

def isa() -> str: ...
def read_sv_section(
    text: bytes, pos: int, n_sv: int, n_coef: int, precomputed: bool
) -> tuple[int, int, NDArray[np.float64], NDArray[np.int64], NDArray[np.int32], NDArray[np.float64], int]: ...
def eight_digits(numbers: NDArray[np.float64]) -> NDArray[np.float64]: ...
def format_sv_section(
    coef: NDArray[np.float64],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[np.float64],
    precomputed: bool,
) -> bytes: ...
def parse_float64(text: bytes, pos: int, count: int) -> tuple[NDArray[np.float64], int, int]: ...
def parse_int64(text: bytes, pos: int, count: int) -> tuple[NDArray[np.int64], int, int]: ...
def parse_int32(text: bytes, pos: int, count: int) -> tuple[NDArray[np.int32], int, int]: ...
def format_float64(numbers: NDArray[np.float64], per_line: int) -> bytes: ...
def format_int64(numbers: NDArray[np.int64], per_line: int) -> bytes: ...
def format_int32(numbers: NDArray[np.int32], per_line: int) -> bytes: ...

Fault = tuple[str, str, int, bytes, bytes | None, int, int]

TEXT_PADDING: int

class SvmlightTokenizer:
    def __init__(
        self, zero_based: bool, precomputed: bool, dense: bool, lenient: bool, labelled: bool
    ) -> None: ...
    def feed(self, text: Any, begin: int, end: int, threads: int, to_come: int) -> Fault | None: ...
    def take(
        self,
    ) -> tuple[
        NDArray[np.float64],
        NDArray[np.int64],
        NDArray[np.int32],
        NDArray[np.float64],
        int,
        int,
        tuple[int, int, int, int, int, int],
    ]: ...
    @property
    def rows(self) -> int: ...

def write_svmlight_rows(
    labels: NDArray[np.float64],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[np.float64],
    first: int,
    last: int,
    base: int,
) -> bytes: ...

class Router:
    def __init__(self, children: NDArray[np.int64], centers: NDArray[np.float64]) -> None: ...
    def route(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float64],
        threads: int,
    ) -> NDArray[np.int32]: ...
    @property
    def cells(self) -> int: ...

def count_columns(start: NDArray[np.int64], indices: NDArray[np.int32]) -> NDArray[np.int64]: ...
def group_rows(
    cell: NDArray[np.int32],
    cells: int,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[np.float64],
) -> tuple[
    NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]
]: ...

class LaplacianSums:
    def __init__(
        self,
        gamma: float,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float64],
        sv_coef: NDArray[np.float64],
        rho: NDArray[np.float64],
    ) -> None: ...
    def decide(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float64],
        threads: int,
    ) -> NDArray[np.float64]: ...

class CellSums:
    def __init__(
        self,
        gamma: NDArray[np.float64],
        sizes: NDArray[np.int64],
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float64],
        coef: NDArray[np.float64],
        rho: NDArray[np.float64],
        kind: int,
        pseudo_sizes: NDArray[np.int64],
        pairs: NDArray[np.int64],
        distance: NDArray[np.float64],
        pseudo_coef: NDArray[np.float64],
        group_sizes: NDArray[np.int64],
    ) -> None: ...
    def decide(
        self,
        cell: NDArray[np.int32],
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float64],
        threads: int,
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]: ...

class CellFit:
    def __init__(
        self, x: NDArray[np.float64], target: NDArray[np.float64], weight: NDArray[np.float64], loss: int
    ) -> None: ...
    def evaluate(
        self,
        vectors: NDArray[np.float64],
        coef: NDArray[np.float64],
        rho: NDArray[np.float64],
        gamma: float,
        pairs: NDArray[np.int64],
        threads: int,
    ) -> tuple[float, NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], float]: ...

def laplacian_matrix(
    x: NDArray[np.float64], z: NDArray[np.float64], gamma: float, threads: int
) -> NDArray[np.float64]: ...

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]
Ints = NDArray[np.int32]

def power_sum_coefficients(points: Floats, weights: Floats, threads: int) -> Floats: ...
def monomials_up_to(d: int, order: int) -> int: ...

class MergeLookup:
    def __init__(self, wd: NDArray[np.float64], h: NDArray[np.float64]) -> None: ...

class BudgetedSgd:
    def __init__(
        self,
        columns: int,
        budget: int,
        gamma: float,
        lambda_: float,
        maintenance: int,
        loss: int,
        epsilon: float,
        weight_negative: float,
        weight_positive: float,
        bias: bool,
        audit: bool,
        lookup: MergeLookup,
    ) -> None: ...
    def steps(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float64],
        norms: NDArray[np.float64],
        targets: NDArray[np.float64],
        order: NDArray[np.int64],
    ) -> None: ...
    def expansion(self) -> tuple[NDArray[np.float64], NDArray[np.float64], float]: ...
    def save(
        self,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]: ...
    def restore(
        self,
        vectors: NDArray[np.float64],
        slots: NDArray[np.float64],
        inverse: NDArray[np.float64],
        counters: NDArray[np.float64],
    ) -> None: ...
    def counters(self) -> NDArray[np.float64]: ...
    def seconds(self) -> tuple[float, float]: ...
    def audit_numbers(self) -> NDArray[np.float64]: ...

class Refit:
    def __init__(
        self,
        vectors: NDArray[np.float64],
        gamma: float,
        loss: int,
        epsilon: float,
        weight_negative: float,
        weight_positive: float,
        bias: bool,
    ) -> None: ...
    def sums(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float64],
        norms: NDArray[np.float64],
        targets: NDArray[np.float64],
        order: NDArray[np.int64],
        theta: NDArray[np.float64],
        hessian: bool,
        threads: int,
    ) -> tuple[float, int, NDArray[np.float64], NDArray[np.float64]]: ...
    def gram(self) -> NDArray[np.float64]: ...

def solve_symmetric(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]: ...
def random_order(count: int, key: NDArray[np.uint64]) -> NDArray[np.int64]: ...
def merge_tables(n: int, eps: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...

class ReducedSetObjective:
    def __init__(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float64],
        n_columns: int,
        winner: NDArray[np.int64],
        target: NDArray[np.float64],
        weight: NDArray[np.float64],
    ) -> None: ...
    def evaluate(
        self,
        kind: int,
        gamma: float,
        coef0: float,
        degree: int,
        vectors: NDArray[np.float64],
        coef: NDArray[np.float64],
        rho: NDArray[np.float64],
        sizes: NDArray[np.int64],
        shares: int,
        threads: int,
    ) -> tuple[float, NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]: ...
    def decisions(
        self,
        kind: int,
        gamma: float,
        coef0: float,
        degree: int,
        vectors: NDArray[np.float64],
        coef: NDArray[np.float64],
        rho: NDArray[np.float64],
        sizes: NDArray[np.int64],
        threads: int,
    ) -> NDArray[np.float64]: ...
    @property
    def dense(self) -> bool: ...

def pairwise_probabilities(
    decisions: NDArray[np.float64], a: NDArray[np.float64], b: NDArray[np.float64], classes: int
) -> NDArray[np.float64]: ...
def probabilities(
    decisions: NDArray[np.float64],
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    classes: int,
    errors: NDArray[np.float64] | None,
    threads: int,
) -> tuple[NDArray[np.float64], NDArray[np.uint8]]: ...
def vote_counts(
    certain: NDArray[np.bool_], decisions: NDArray[np.float64], classes: int
) -> NDArray[np.int32]: ...
def round_digits(value: float, digits: int) -> float: ...

class ScalingMap:
    def __init__(
        self,
        first: NDArray[np.float64],
        second: NDArray[np.float64],
        ranges: bool,
        lower: float,
        upper: float,
        least: float,
        most: float,
        digits: int,
    ) -> None: ...
    @property
    def moving(self) -> int: ...
    def apply(
        self, indptr: NDArray[np.int64], indices: NDArray[np.int32], values: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]: ...
    def text(
        self,
        labels: NDArray[np.float64],
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float64],
    ) -> tuple[bytes, int]: ...

class ColumnRanges:
    def __init__(self) -> None: ...
    def add(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float64],
        width: int,
    ) -> None: ...
    def result(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...

class PolynomialValues:
    def __init__(
        self,
        features: NDArray[np.int32],
        gamma: float,
        about_zero: bool,
        centers: NDArray[np.float64],
        orders: NDArray[np.int32],
        starts: NDArray[np.int64],
        coefficients: NDArray[np.float64],
        rho: NDArray[np.float64],
        bound_degrees: NDArray[np.float64] | None,
        bound_rest: NDArray[np.float64] | None,
    ) -> None: ...
    def values(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float64],
        bounds: bool,
        threads: int,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int32], NDArray[np.float64] | None]: ...
    def nearest(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float64],
        threads: int,
    ) -> NDArray[np.int32]: ...
