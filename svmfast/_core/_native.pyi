"""Native loops of svmfast: typed arrays in, typed arrays out."""

from typing import Annotated

import numpy
from numpy.typing import NDArray

class MergeLookup:
    def __init__(
        self,
        wd: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        h: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
    ) -> None: ...

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
        indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        indices: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        values: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        norms: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        targets: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...
    def expansion(
        self,
    ) -> tuple[
        Annotated[NDArray[numpy.float64], dict(order="C")],
        Annotated[NDArray[numpy.float64], dict(order="C")],
        float,
    ]: ...
    def save(
        self,
    ) -> tuple[
        Annotated[NDArray[numpy.float64], dict(order="C")],
        Annotated[NDArray[numpy.float64], dict(order="C")],
        Annotated[NDArray[numpy.float64], dict(order="C")],
        Annotated[NDArray[numpy.float64], dict(order="C")],
    ]: ...
    def restore(
        self,
        vectors: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        slots: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        inverse: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        counters: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> None: ...
    def counters(self) -> Annotated[NDArray[numpy.float64], dict(order="C")]: ...
    def seconds(self) -> tuple[float, float]: ...
    def audit_numbers(self) -> Annotated[NDArray[numpy.float64], dict(order="C")]: ...

def random_order(
    count: int,
    key: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> Annotated[NDArray[numpy.int64], dict(order="C")]: ...
def merge_tables(
    n: int, eps: float
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(order="C")], Annotated[NDArray[numpy.float64], dict(order="C")]
]: ...

class Refit:
    def __init__(
        self,
        vectors: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        gamma: float,
        loss: int,
        epsilon: float,
        weight_negative: float,
        weight_positive: float,
        bias: bool,
    ) -> None: ...
    def sums(
        self,
        indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        indices: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        values: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        norms: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        targets: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        theta: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        hessian: bool,
        threads: int,
    ) -> tuple[
        float,
        int,
        Annotated[NDArray[numpy.float64], dict(order="C")],
        Annotated[NDArray[numpy.float64], dict(order="C")],
    ]: ...
    def gram(self) -> Annotated[NDArray[numpy.float64], dict(order="C")]: ...

def solve_symmetric(
    a: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> Annotated[NDArray[numpy.float64], dict(order="C")]: ...

class DecisionSums:
    def __init__(
        self,
        kind: int,
        gamma: float,
        coef0: float,
        degree: int,
        indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        indices: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        values: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        sv_coef: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        rho: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        group_sizes: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> None: ...
    def decide(
        self,
        indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        indices: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        values: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        libsvm_order: bool,
        threads: int,
        wanted: Annotated[
            NDArray[numpy.uint8], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ]
        | None = None,
    ) -> tuple[Annotated[NDArray[numpy.float64], dict(order="C")], int]: ...
    def double_values(
        self,
        indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        indices: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        values: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        threads: int,
    ) -> tuple[
        Annotated[NDArray[numpy.float64], dict(order="C")], Annotated[NDArray[numpy.float64], dict(order="C")]
    ]: ...
    def labels(
        self,
        indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        indices: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        values: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        single: bool,
        threads: int,
    ) -> tuple[Annotated[NDArray[numpy.int32], dict(order="C")], int, int]: ...
    def single_values(
        self,
        indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        indices: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        values: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        threads: int,
    ) -> tuple[
        Annotated[NDArray[numpy.float64], dict(order="C")], Annotated[NDArray[numpy.float64], dict(order="C")]
    ]: ...
    @property
    def bytes(self) -> int: ...
    @property
    def scattered(self) -> bool: ...
    @property
    def one_hot(self) -> bool: ...
    @property
    def lattice(self) -> int: ...

def isa() -> str: ...

SV_FAULTS: tuple[str, ...]

def read_sv_section(
    text: bytes, pos: int, n_sv: int, n_coef: int, precomputed: bool
) -> tuple[
    int, int, NDArray[numpy.float64], NDArray[numpy.int64], NDArray[numpy.int32], NDArray[numpy.float64], int
]: ...
def format_sv_section(
    coef: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    precomputed: bool,
) -> bytes: ...
def eight_digits(
    numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> Annotated[NDArray[numpy.float64], dict(order="C")]: ...
def parse_float64(text: bytes, pos: int, count: int) -> tuple[NDArray[numpy.float64], int, int]: ...
def parse_int64(text: bytes, pos: int, count: int) -> tuple[NDArray[numpy.int64], int, int]: ...
def parse_int32(text: bytes, pos: int, count: int) -> tuple[NDArray[numpy.int32], int, int]: ...
def format_float64(
    numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    per_line: int,
) -> bytes: ...
def format_int64(
    numbers: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    per_line: int,
) -> bytes: ...
def format_int32(
    numbers: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    per_line: int,
) -> bytes: ...

class Router:
    def __init__(
        self,
        children: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        centers: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
    ) -> None: ...
    def route(
        self,
        indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        indices: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        values: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        threads: int,
    ) -> Annotated[NDArray[numpy.int32], dict(order="C")]: ...
    @property
    def cells(self) -> int: ...

def count_columns(
    start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> Annotated[NDArray[numpy.int64], dict(order="C")]: ...
def group_rows(
    cell: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    cells: int,
    indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> tuple[
    Annotated[NDArray[numpy.int64], dict(order="C")],
    Annotated[NDArray[numpy.int64], dict(order="C")],
    Annotated[NDArray[numpy.int64], dict(order="C")],
    Annotated[NDArray[numpy.int32], dict(order="C")],
    Annotated[NDArray[numpy.float64], dict(order="C")],
]: ...

class LaplacianSums:
    def __init__(
        self,
        gamma: float,
        indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        indices: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        values: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        sv_coef: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        rho: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...
    def decide(
        self,
        indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        indices: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        values: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        threads: int,
    ) -> Annotated[NDArray[numpy.float64], dict(order="C")]: ...

def laplacian_matrix(
    x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    z: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    gamma: float,
    threads: int,
) -> Annotated[NDArray[numpy.float64], dict(order="C")]: ...

class CellSums:
    def __init__(
        self,
        gamma: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        sizes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        indices: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        values: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        coef: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        rho: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        kind: int,
        pseudo_sizes: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        pairs: Annotated[
            NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        distance: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        pseudo_coef: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        group_sizes: Annotated[
            NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
    ) -> None: ...
    def decide(
        self,
        cell: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        indices: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        values: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        threads: int,
    ) -> tuple[
        Annotated[NDArray[numpy.float64], dict(order="C")], Annotated[NDArray[numpy.int64], dict(order="C")]
    ]: ...

class CellFit:
    def __init__(
        self,
        x: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        target: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        weight: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        loss: int,
    ) -> None: ...
    def evaluate(
        self,
        vectors: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        coef: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        rho: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        gamma: float,
        pairs: Annotated[
            NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        threads: int,
    ) -> tuple[
        float,
        Annotated[NDArray[numpy.float64], dict(order="C")],
        Annotated[NDArray[numpy.float64], dict(order="C")],
        Annotated[NDArray[numpy.float64], dict(order="C")],
        float,
    ]: ...

def power_sum_coefficients(
    points: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    weights: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    threads: int,
) -> Annotated[NDArray[numpy.float64], dict(order="C")]: ...
def monomials_up_to(d: int, order: int) -> int: ...

class PolynomialValues:
    def __init__(
        self,
        features: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        gamma: float,
        about_zero: bool,
        centers: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        orders: Annotated[
            NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        starts: Annotated[
            NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        coefficients: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        rho: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        bound_degrees: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu", writable=False)
        ]
        | None,
        bound_rest: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu", writable=False)
        ]
        | None,
    ) -> None: ...
    def values(
        self,
        indptr: NDArray[numpy.int64],
        indices: NDArray[numpy.int32],
        values: NDArray[numpy.float64],
        bounds: bool,
        threads: int,
    ) -> tuple[
        NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.int32], NDArray[numpy.float64] | None
    ]: ...
    def nearest(
        self,
        indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        indices: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        values: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        threads: int,
    ) -> Annotated[NDArray[numpy.int32], dict(order="C")]: ...

class SvmlightTokenizer:
    def __init__(
        self, zero_based: bool, precomputed: bool, dense: bool, lenient: bool, labelled: bool
    ) -> None: ...
    def feed(
        self, text: object, begin: int, end: int, threads: int, to_come: int
    ) -> tuple[str, str, int, bytes, bytes | None, int, int] | None: ...
    def take(
        self,
    ) -> tuple[
        NDArray[numpy.float64],
        NDArray[numpy.int64],
        NDArray[numpy.int32],
        NDArray[numpy.float64],
        int,
        int,
        tuple[int, int, int, int, int, int],
    ]: ...
    @property
    def rows(self) -> int: ...

TEXT_PADDING: int = 64

def write_svmlight_rows(
    labels: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    first: int,
    last: int,
    base: int,
) -> bytes: ...

class ReducedSetObjective:
    def __init__(
        self,
        indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        indices: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        values: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        n_columns: int,
        winner: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        target: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        weight: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
    ) -> None: ...
    def evaluate(
        self,
        kind: int,
        gamma: float,
        coef0: float,
        degree: int,
        vectors: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        coef: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        rho: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        sizes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        shares: int,
        threads: int,
    ) -> tuple[
        float,
        Annotated[NDArray[numpy.float64], dict(order="C")],
        Annotated[NDArray[numpy.float64], dict(order="C")],
        Annotated[NDArray[numpy.float64], dict(order="C")],
    ]: ...
    def decisions(
        self,
        kind: int,
        gamma: float,
        coef0: float,
        degree: int,
        vectors: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        coef: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        rho: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        sizes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        threads: int,
    ) -> Annotated[NDArray[numpy.float64], dict(order="C")]: ...
    @property
    def dense(self) -> bool: ...

def pairwise_probabilities(
    decisions: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    a: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    classes: int,
) -> Annotated[NDArray[numpy.float64], dict(order="C")]: ...
def probabilities(
    decisions: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    a: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    classes: int,
    errors: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ]
    | None,
    threads: int,
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(order="C")], Annotated[NDArray[numpy.uint8], dict(order="C")]
]: ...

class ScalingMap:
    def __init__(
        self,
        first: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        second: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
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
        self, indptr: NDArray[numpy.int64], indices: NDArray[numpy.int32], values: NDArray[numpy.float64]
    ) -> tuple[NDArray[numpy.int64], NDArray[numpy.int32], NDArray[numpy.float64]]: ...
    def text(
        self,
        labels: NDArray[numpy.float64],
        indptr: NDArray[numpy.int64],
        indices: NDArray[numpy.int32],
        values: NDArray[numpy.float64],
    ) -> tuple[bytes, int]: ...

class ColumnExtremes:
    def __init__(self) -> None: ...
    def add(
        self,
        indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        indices: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        values: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        width: int,
    ) -> None: ...
    def result(self) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]: ...

def round_digits(value: float, digits: int) -> float: ...
def table_rows(
    columns: list[NDArray[numpy.generic]], n: int
) -> tuple[NDArray[numpy.int64], NDArray[numpy.int32], NDArray[numpy.float64]] | tuple[int, int]: ...
def vote_counts(
    certain: Annotated[
        NDArray[numpy.bool_], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    decisions: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    classes: int,
) -> Annotated[NDArray[numpy.int32], dict(order="C")]: ...
