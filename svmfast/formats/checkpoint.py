"""A folder in which a training run keeps its intermediate results, so that the same run can continue."""

from __future__ import annotations

import io
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import OptionError
from svmfast.foreign import foreign
from svmfast.formats.source import open_source
from svmfast.formats.target import check_folder, reported, write_atomic

_RUN = "run.txt"


class Checkpoint:
    """Results by name, each a file that appears complete or not at all.

    `run` says which run the results are of: the method, its options and the rows. A folder of another run is
    refused by an OptionError.
    """

    def __init__(self, folder: str, run: str) -> None:
        self._folder = folder
        check_folder(folder)
        with reported(folder):
            os.makedirs(folder, exist_ok=True)
        place = os.path.join(folder, _RUN)
        if not os.path.exists(place):
            if os.listdir(folder):
                raise OptionError(f"`checkpoint`: '{folder}' has other files; give a new folder")
            with write_atomic(place) as file:
                file.write(run.encode())
        with open_source(place) as source:
            if source.peek(1 + len(run.encode())) != run.encode():
                raise OptionError(
                    f"`checkpoint`: '{folder}' is of a run with other rows or options; give another folder"
                )

    def load(self, name: str) -> dict[str, NDArray[Any]] | None:
        """The arrays that were saved under a name; None if there are none."""
        place = os.path.join(self._folder, f"{name}.npz")
        if not os.path.exists(place):
            return None
        with (
            foreign(
                place, "damaged", "expected a result of an earlier run; remove the file to compute it again"
            ),
            np.load(place, allow_pickle=False) as file,
        ):
            return {key: file[key] for key in file.files}

    def save(self, name: str, **arrays: Any) -> None:
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)
        with write_atomic(os.path.join(self._folder, f"{name}.npz")) as file:
            file.write(buffer.getbuffer())
