"""``svmfast info``."""

from __future__ import annotations

from dataclasses import dataclass

from svmfast.command import QUIET_BUT_REPORT, Verb
from svmfast.commands import listed
from svmfast.options import MemoryOfModels, argument
from svmfast.values import InputFile


@dataclass(frozen=True, kw_only=True)
class Files:
    """What is read."""

    file: str = argument(InputFile())


COMMAND = Verb(
    **listed("info"),
    description="""
        Describe FILE: a LIBSVM model, an svmfast model, or data.

        The kind is recognized by content. For a model, info prints the type, kernel and parameters, labels,
        names of classes and features, scaling, support vectors or arrays, provenance and size; a model inside
        another one, such as that of a cascade, follows indented. For data it prints rows, features, density,
        labels, ranges and the largest norm.
        """,
    takes=(Files, MemoryOfModels),
    quiet=QUIET_BUT_REPORT,
)
