"""Types of the native functions; the documentation stands with their callers."""

import numpy as np
from numpy.typing import NDArray

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
        reference: bool,
        threads: int,
    ) -> tuple[NDArray[np.float64], int]: ...
    @property
    def bytes(self) -> int: ...
    @property
    def scattered(self) -> bool: ...

def isa() -> str: ...
