"""Models and data in memory as files, for commands that run others or read their rows more than once.

A table becomes an Arrow stream, from which its columns are chosen as from any file, and other rows LIBSVM's
text. The names contain a hash of the content: the same objects give the same files.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from svmfast.commands.given import check_in_memory, checked_labels, data_of, is_table, model_of
from svmfast.errors import OptionError
from svmfast.formats.model_files import model_bytes
from svmfast.formats.svmlight import write_svmlight
from svmfast.formats.table_columns import LABEL
from svmfast.formats.table_output import write_stream
from svmfast.formats.target import Writer, write_atomic
from svmfast.frontiers.folder import file_hash
from svmfast.models.memory import MEMORY
from svmfast.options import Reading
from svmfast.values import is_path

#: Characters of the hash in a name.
_DIGITS = 12


def model_file(
    given: Any, folder: Path, name: str, note: Callable[[str], None] = lambda text: None, memory: int = MEMORY
) -> str:
    """The path of a model, which is written to the folder if it is an object or a fitted estimator."""
    if is_path(given):
        return str(os.fspath(given))
    text = model_bytes(model_of(given, f"`{name}`", note, memory)[0])
    return _kept(folder, name, ".model", lambda out: out.write(text))


def data_file(given: Any, folder: Path, name: str, reading: Reading) -> str:
    """The path of data, which are written to the folder if they are in memory, alone or with their labels.

    `reading` is that of the file; its scaling has the names of a model.
    """
    if is_path(given):
        return str(os.fspath(given))
    labels = None
    if isinstance(given, tuple) and len(given) == 2:
        given, labels = given
    if is_table(given):
        check_in_memory(reading)
        column = None if labels is None else (reading.label or LABEL, labels)
        return _kept(folder, name, ".arrows", lambda out: write_stream(given, out, column))
    rows, labels = data_of(given, reading=reading, labels=labels, labelled=True)
    if reading.unlabelled:
        labels = None
    elif labels is None:
        raise OptionError(f"`{name}` needs labels: give rows and labels, (rows, labels), or a Dataset")
    else:
        labels = checked_labels(rows, labels, reading.class_names)
    return _kept(folder, name, ".svm", lambda out: write_svmlight(out, rows, labels))


def _kept(folder: Path, name: str, ending: str, write: Callable[[Writer], object]) -> str:
    """Write a file under a name with a hash of its content."""
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / f"{name}{ending}"
    with write_atomic(place) as out:
        write(out)
    found = place.with_name(f"{name}-{(file_hash(place) or '')[:_DIGITS]}{ending}")
    place.replace(found)
    return os.fspath(found)
