"""Does data lie where the second-order expansion can be trusted? Its extent, and rows inside the bound.

Everything here runs over blocks of rows that are met once each, in bounded memory, and gives the same numbers
however the rows are cut into blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from svmfast.certificate import centred_squared_norms, gamma_max, inside_bound
from svmfast.errors import OptionError
from svmfast.rows import FloatArray, Rows

#: Columns up to which a mean is kept (one float64 each: 128 MiB). Wider data gets no centred bound.
WIDEST_MEAN = 1 << 24


@dataclass(frozen=True)
class Extent:
    """How far data reaches.

    Attributes
    ----------
    rows, features, values : int
        Number of rows, largest index, stored values.
    max_squared_norm : float
        Largest ``||x||^2``.
    mean : (features,) float64 or None
        None when the data is wider than :data:`WIDEST_MEAN`.
    """

    rows: int
    features: int
    values: int
    max_squared_norm: float
    mean: FloatArray | None


@dataclass(frozen=True)
class Bound:
    """The paper's validity bound ``max||x||^2 ||z||^2 < 1/(16 gamma^2)`` about one centre, met with data.

    Attributes
    ----------
    max_squared_norm : float
        Largest ``||z - centre||^2`` of the data.
    gamma_max : float
        ``1 / (4 max||x|| max||z||)``: below it every row is inside.
    rows, rows_inside : int or None
        None when no gamma is at hand.
    """

    max_squared_norm: float
    gamma_max: float
    rows: int
    rows_inside: int | None = None

    @property
    def inside(self) -> bool | None:
        """Whether every row is inside."""
        return None if self.rows_inside is None else self.rows_inside == self.rows

    @property
    def inside_percent(self) -> float | None:
        return None if self.rows_inside is None else self.rows_inside / self.rows * 100


Blocks = Callable[[], Iterable[Rows]]


def extent(blocks: Iterable[Rows]) -> Extent:
    """Return the extent of all rows of `blocks`."""
    rows = features = values = 0
    largest = 0.0
    mean: FloatArray | None = np.zeros(0)
    for block in blocks:
        rows += len(block)
        values += block.nnz
        if not len(block):
            continue
        largest = max(largest, float(block.squared_norms().max()))
        features = max(features, int(block.indices.max()) + 1 if block.nnz else 0)
        if features > WIDEST_MEAN:
            mean = None
        if mean is None:
            continue
        if len(mean) < features:
            # Doubling keeps the copying linear however the width grows.
            mean = np.concatenate((mean, np.zeros(max(features, 2 * len(mean)) - len(mean))))
        # add.at adds one value after the other, so the sums do not depend on the blocks.
        np.add.at(mean, block.indices, block.values)
    if mean is not None:
        mean = mean[:features] / max(rows, 1)
    return Extent(rows, features, values, largest, mean)


def check_data(blocks: Blocks, gamma: float | None) -> tuple[Extent, Bound, Bound | None]:
    """Check data against itself, before any training: support vectors are rows of the data.

    Parameters
    ----------
    blocks : callable
        Returns a fresh iterable over the same blocks of rows; called up to three times.
    gamma : float or None
        Without gamma no rows are counted.

    Returns
    -------
    extent : Extent
    paper : Bound
        About the origin.
    centred : Bound or None
        About the mean of the data; None when there is no mean.
    """
    if gamma is not None and not gamma > 0:
        raise OptionError(f"gamma {gamma:g} is not positive")
    data = extent(blocks())
    if not data.rows:
        raise OptionError("no rows to check")
    centres = [np.zeros(0)] if data.mean is None else [np.zeros(0), data.mean]
    norms = [data.max_squared_norm]
    for centre in centres[1:]:
        norms.append(max(float(centred_squared_norms(block, centre).max()) for block in _filled(blocks())))
    inside: list[int | None] = [None if gamma is None else data.rows for _ in norms]
    if gamma is not None and not all(_holds(gamma, norm) for norm in norms):
        counts = [0] * len(norms)
        for block in _filled(blocks()):
            for i, centre in enumerate(centres):
                squares = centred_squared_norms(block, centre)
                counts[i] += int(np.count_nonzero(inside_bound(gamma, norms[i], squares)))
        inside = list(counts)
    bounds = [
        Bound(norm, gamma_max(norm), data.rows, count) for norm, count in zip(norms, inside, strict=True)
    ]
    return data, bounds[0], bounds[1] if len(bounds) > 1 else None


def check_model(
    blocks: Iterable[Rows], gamma: float, centres: list[tuple[FloatArray, float]]
) -> tuple[int, list[Bound]]:
    """Check data against a model, about each of some centres, in one pass.

    Parameters
    ----------
    blocks : iterable of Rows
    gamma : float
        The model's.
    centres : list of (centre, largest squared norm of the support vectors about it)

    Returns
    -------
    rows : int
    bounds : list of Bound
        One for each centre.
    """
    rows = 0
    largest = [0.0] * len(centres)
    inside = [0] * len(centres)
    for block in _filled(blocks):
        rows += len(block)
        for i, (centre, sv_squared) in enumerate(centres):
            squares = centred_squared_norms(block, centre)
            largest[i] = max(largest[i], float(squares.max()))
            inside[i] += int(np.count_nonzero(inside_bound(gamma, sv_squared, squares)))
    if not rows:
        raise OptionError("no rows to check")
    return rows, [
        Bound(largest[i], gamma_max(sv_squared, largest[i]), rows, inside[i])
        for i, (_, sv_squared) in enumerate(centres)
    ]


def sv_centres(sv: Rows) -> list[tuple[FloatArray, float]]:
    """Return the centres an exact model can be expanded about, origin and mean of the support vectors.

    Each comes with the largest squared norm of the support vectors about it, as for :func:`check_model`.
    """
    data = extent([sv])
    centres = [(np.zeros(0), data.max_squared_norm)]
    if data.mean is not None and len(sv):
        centres.append((data.mean, float(centred_squared_norms(sv, data.mean).max())))
    return centres


def _holds(gamma: float, squared_norm: float) -> bool:
    return bool(inside_bound(gamma, squared_norm, np.array([squared_norm]))[0])


def _filled(blocks: Iterable[Rows]) -> Iterator[Rows]:
    return (block for block in blocks if len(block))
