"""Upper bounds on the sizes of files, before the models are made.

The bound is the size of the file of a model of the same shape in which every number has the longest text that
a number can have, measured with the function that writes files.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from svmfast.certificate import REST
from svmfast.kernels import Kernel
from svmfast.methods.grid import Grid
from svmfast.models.base import Model
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.models.polynomial import PolynomialModel
from svmfast.models.routed import RoutedModel
from svmfast.routing import flat_tree
from svmfast.rows import Rows
from svmfast.solvers.intervals import largest

#: A number with the longest text in a file, and one with the longest text of eight digits.
LONGEST, LONGEST_OF_EIGHT = -1.2345678901234567e-105, -1.2345678e-105
#: The bytes of LONGEST and a blank.
NUMBER_BYTES = 25
#: Rows with more columns have no bound: their vectors are sparse, and a dense one says nothing.
MOST_COLUMNS = 100_000
#: Spare bytes for counts that have more digits in the file than in the small models that are measured.
SPARE, SPARE_OF_A_CLASS = 120, 40
#: The origin of a model with the longest texts; `parameters` list the options of a method.
_ORIGIN = {
    "source": "sha256:" + 64 * "f",
    "method": "budget-train",
    "parameters": 250 * "x",
    "seed": 20 * "9",
    "arithmetic": 80 * "x",
}


class FileSizes:
    """Upper bounds on the sizes of the candidates' files; None where there is none."""

    def __init__(self, grid: Grid) -> None:
        self.exact, self.limit, self.columns = grid.exact, grid.max_bytes, grid.width
        #: None where no bounds are wanted, or none can be computed.
        self._size_of = None if self.limit is None or self.columns > MOST_COLUMNS else grid.size_of
        self._known: dict[object, tuple[int, int]] = {}
        #: Whether the exact model is larger than the limit, so that candidates should be sized to it.
        self.binding = self.limit is not None and (
            grid.size_of is None or grid.size_of(grid.exact) > self.limit
        )

    def expansion(self, count: int) -> int | None:
        """The bytes of a LIBSVM model of `count` dense vectors with eight digits."""
        return self._of(count, "expansion", self._expansion)

    def routed(self, cells: int, count: int, head: Head) -> int | None:
        """The bytes of a routed model of `count` dense vectors in all cells together."""
        most = self._of(count, ("routed", cells, head.one_vs_rest), lambda n: self._routed(cells, n, head))
        # The starts of the vectors among the values have more digits in a larger model.
        return None if most is None else most + count * len(str(count * self.columns))

    def polynomial(self, order: int, cells: int, features: int, head: Head, degrees: int = 0) -> int | None:
        """The bytes of polynomials with bounds for `degrees` degrees; 0: without a certificate."""
        if self._size_of is None:
            return None
        functions = head.n_functions
        small = self._size_of(_polynomial(cells, features, head, degrees))
        numbers = (math.comb(features + order, order) - 1) * cells * functions
        return small + numbers * NUMBER_BYTES + self._spare(head)

    def largest(self, size: Callable[[int], int | None], most: int) -> int:
        """The largest number up to `most` whose size is certain to be within the limit, or 0."""
        if self._size_of is None or not self.binding:
            return 0
        # Without a bound, no number is certain to fit.
        return largest(lambda n: (size(n) or math.inf) <= (self.limit or 0), 0, max(0, most))

    def _of(self, count: int, key: object, make: Callable[[int], Model]) -> int | None:
        """Extrapolate from models of one and two vectors, since all vectors take equally many bytes."""
        if self._size_of is None:
            return None
        if key not in self._known:
            one, two = (self._size_of(make(n)) for n in (1, 2))
            self._known[key] = one, two - one
        one, each = self._known[key]
        return one + (count - 1) * each + self._spare(self.exact.head)

    def _spare(self, head: Head) -> int:
        return SPARE + SPARE_OF_A_CLASS * head.n_classes

    def _expansion(self, count: int) -> KernelExpansion:
        exact, k = self.exact, self.exact.head.n_classes
        return KernelExpansion(
            head=_longest(exact.head),
            kernel=exact.kernel,
            sv=Rows.from_dense(np.full((count, self.columns), LONGEST_OF_EIGHT)),
            sv_coef=np.full((max(k - 1, 1), count), LONGEST),
            rho=np.full(exact.head.n_functions, LONGEST),
            nr_sv=None if exact.nr_sv is None else np.array([count] + [0] * (k - 1), dtype=np.int64),
        )

    def _routed(self, cells: int, count: int, head: Head) -> RoutedModel:
        functions = head.n_functions
        centers = np.full((len(flat_tree(cells)) - 1, self.columns), LONGEST)
        vectors = Rows.from_dense(np.full((count, self.columns), LONGEST))
        coef = [np.full((functions, count), LONGEST), *[np.zeros((functions, 0))] * (cells - 1)]
        rho = np.full((cells, functions), LONGEST)
        landmarks = [vectors, *[vectors[:0]] * (cells - 1)]
        kernel = Kernel("rbf", -LONGEST)
        made = RoutedModel.flat(_longest(head), kernel, centers, landmarks, coef, rho)
        return replace(made, provenance=_ORIGIN)


def _polynomial(cells: int, features: int, head: Head, degrees: int) -> PolynomialModel:
    functions = head.n_functions
    shape = cells, functions
    return PolynomialModel(
        head=_longest(head),
        gamma=-LONGEST,
        n_features=1 << 30,
        # The highest columns have the longest numbers.
        features=np.arange((1 << 30) - features, 1 << 30, dtype=np.int64),
        about="centre",
        centers=np.full((cells, features), LONGEST),
        orders=np.zeros(shape, dtype=np.int32),
        coefficients=np.full(cells * functions, LONGEST),
        rho=np.full(functions, LONGEST),
        sv_squared_norm=-LONGEST,
        sv_squared_norms=np.full(cells, -LONGEST),
        provenance=_ORIGIN,
        bound_degrees=np.full((*shape, degrees), -LONGEST) if degrees else None,
        bound_rest=np.full((*shape, REST), -LONGEST) if degrees else None,
    )


def _longest(head: Head) -> Head:
    """The head with the longest numbers for its probabilities, which may be fitted again."""
    numbers = {name: getattr(head, name) for name in ("prob_a", "prob_b", "density_marks")}
    longest = {name: np.full_like(value, LONGEST) for name, value in numbers.items() if value is not None}
    return replace(head, **longest)
