"""Runs that continue: what they keep in their checkpoint, and whose it is."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from svmfast import __version__
from svmfast.methods.method import Kept, Setting
from svmfast.solvers.row_blocks import RowBlocks, Sums
from svmfast.solvers.training_data import WorkingSet

#: Options that change no result. `memory` does: it sets the pieces in which budget-train visits the rows.
_WITHOUT_EFFECT = ("checkpoint", "dask", "files_from")


def kept_results(method: str, source: RowBlocks, options: Any, setting: Setting) -> Kept | None:
    """What an earlier run with the same rows and options kept; None without a checkpoint."""
    if setting.checkpoint is None:
        return None
    given = {name: value for name, value in asdict(options).items() if name not in _WITHOUT_EFFECT}
    sums = [one.tolist() for one in source.total(_sums, None, setting.threads)] if source.n_rows else []
    of_rows = source.n_rows, source.n_features, source.labels.values, source.labels.counts, sums
    return setting.checkpoint(f"{method} {__version__}\n{given}\n{of_rows}\n")


def _sums(block: WorkingSet, _: None) -> Sums:
    """Sums in which every number has another weight, so that changed rows have others."""
    places = 1.0 + np.arange(len(block.rows.indices)) % 8191
    numbers = 1.0 + block.numbers % 8191
    rows, lengths = block.rows, np.diff(block.rows.indptr)
    pairs = (places, rows.values), (places, rows.indices), (numbers, block.labels), (numbers, lengths)
    return [np.array([np.sum(weight * value) for weight, value in pairs])]
