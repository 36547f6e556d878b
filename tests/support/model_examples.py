"""The examples of all kinds of models, which the contract tests take: every file of tests/kinds."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import numpy as np

from svmfast.models.base import Model
from svmfast.rows import Rows

_FILES = [
    import_module(path.stem) for path in sorted((Path(__file__).parents[1] / "kinds").glob("kind_*.py"))
]
EXAMPLES: dict[str, Callable[[], Model]] = {
    name: make for file in _FILES for name, make in file.EXAMPLES.items()
}
NAMES = sorted(EXAMPLES)
#: The message for examples that cannot be exported.
NOT_EXPORTED: dict[str, str] = {
    name: text for file in _FILES for name, text in getattr(file, "NOT_EXPORTED", {}).items()
}


def rows_for(model: Model, n: int = 37) -> Rows:
    rng = np.random.default_rng(8)
    width = model.n_features + 3  # some columns are new to the model
    return Rows.from_dense(np.where(rng.random((n, width)) < 0.6, rng.normal(0, 0.5, (n, width)), 0))
