"""Files that a command reads and writes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

from svmfast.display import holds_a_secret
from svmfast.errors import OptionError
from svmfast.values.base import Worded

#: The content of a file: its place among a command's arguments can be taken by mistake for another's.
Content = Literal["model", "data"]


def is_path(given: Any) -> bool:
    """Whether an object is the path of a file."""
    return isinstance(given, str | os.PathLike)


#: The name of a file in a store such as ``s3://bucket/folder/name?region=here``: its store, path and query.
URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+://[^/?]*)(/.*?)?(\?\w+=.*)?\Z", re.DOTALL)


def is_uri(path: str) -> bool:
    """Whether a name is that of a file in a store, not a path of this machine."""
    return URI.fullmatch(path) is not None


def without_query(path: str) -> str:
    """The name of a file, that of a URI without its query, which is not part of the name."""
    found = URI.fullmatch(path)
    return path if found is None else path[: len(path) - len(found[3] or "")]


def check_address(path: str) -> None:
    """Refuse a URI with a password or a key, which reports and models would repeat."""
    if is_uri(path) and holds_a_secret(path):
        expected = "expected it where the store's own programs look for it, such as AWS_SECRET_ACCESS_KEY"
        raise OptionError(f"'{path}' holds a secret; {expected}")


class File(Worded):
    """The path of a file; on the command line ``-`` is standard input or output.

    `role` is the file's key in JSON reports, by default the option's name.
    """

    name = "FILE"
    type_expected = "a path"

    def __init__(self, content: Content | None = None, *, role: str | None = None) -> None:
        self.content, self.role = content, role

    def has_type(self, value: Any) -> bool:
        return is_path(value)

    def accept(self, value: Any) -> Any:
        return os.fspath(value) if isinstance(value, os.PathLike) else value


class InputFile(File):
    """A file that is read; `repeated`: more than once, so that it cannot be standard input."""

    def __init__(
        self, content: Content | None = None, *, role: str | None = None, repeated: bool = False
    ) -> None:
        super().__init__(content, role=role)
        self.repeated = repeated


class ScalingFile(InputFile):
    """A file from which a scaling is read; in Python also the scaling itself."""

    name = "RANGES"
    type_expected = "a path, or a Scaling"

    def __init__(self) -> None:
        super().__init__(role="ranges")

    def has_type(self, value: Any) -> bool:
        return super().has_type(value) or hasattr(value, "apply_labels")


class ModelFile(InputFile):
    """A model; in Python also the model itself, or a fitted estimator."""

    name = "MODEL"
    type_expected = "a model, or the path of one"

    def __init__(self) -> None:
        super().__init__("model")

    def has_type(self, value: Any) -> bool:
        return super().has_type(value) or hasattr(value, "decision_values") or hasattr(value, "get_params")

    def accept(self, value: Any) -> Any:
        return value


class RowsFile(InputFile):
    """Rows; in Python also an array, a matrix, a DataFrame or a Dataset."""

    type_expected = "a path, or rows"

    def __init__(self, *, role: str) -> None:
        super().__init__("data", role=role)

    def has_type(self, value: Any) -> bool:
        return True

    def accept(self, value: Any) -> Any:
        return value


class OutputFile(File):
    """A file that is written, or a `folder` of many; in a `shared` one other files are kept.

    `named` derives the default name from the value of the option `after`, unless the function `unless` of all
    values is true. The file is compressed if its name ends in .gz, .bz2, .xz or .zst.
    """

    def __init__(
        self,
        content: Content | None = None,
        *,
        role: str | None = None,
        after: str = "",
        named: Callable[[str], str] | None = None,
        unless: Callable[[Mapping[str, Any]], bool] = lambda given: False,
        folder: bool = False,
        shared: bool = False,
    ) -> None:
        super().__init__(content, role=role)
        self.after, self.named, self.unless = after, named, unless
        self.folder, self.shared = folder, shared


def in_this_folder(ending: str) -> Callable[[str], str]:
    """Maps ``folder/data`` to ``data.ending``, for :class:`OutputFile`."""
    return lambda path: f"{os.path.basename(without_query(path))}.{ending}"
