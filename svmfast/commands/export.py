"""``svmfast export``."""

from __future__ import annotations

from dataclasses import dataclass

from svmfast.command import Verb
from svmfast.commands import listed
from svmfast.exports.languages import LANGUAGES
from svmfast.options import MemoryOfModels, argument, option
from svmfast.values import Bytes, Choice, InputFile, OnOff, OutputFile, Switch, Text, Whole


@dataclass(frozen=True, kw_only=True)
class Files:
    """What is read and written, and in which form."""

    model: str = argument(InputFile("model"))
    to: str | None = option(
        None,
        Choice(*LANGUAGES),
        "Default: by the extension of OUT, c if it has none. "
        + "; ".join(f"{one.name} ({', '.join(one.endings)}): {one.summary}" for one in LANGUAGES.values())
        + ".",
    )
    output: str | None = option(
        None, OutputFile(role="model"), "File to write.", "-o", metavar="OUT", required=True
    )
    test: str | None = option(
        None,
        InputFile("data", role="test"),
        "Compare the exported arithmetic with the model's on these rows (default: on vectors of the model); "
        "their labels are not used. C: the file contains the first of them and a test.",
        metavar="ROWS",
    )
    single: bool = option(False, Switch(), "Use single precision (the default for c).", "--float")
    double: bool = option(False, Switch(), "Use double precision (the default for all others).")
    ranges: str | None = option(
        None,
        OutputFile(role="ranges"),
        "libsvm: write the model's scaling to this file, as a range file for svm-scale.",
        metavar="OUT",
    )


@dataclass(frozen=True, kw_only=True)
class ExportOptions(MemoryOfModels):
    """Options of ``export``."""

    test_rows: int = option(
        200, Whole(1), "C: number of the rows `test` that go into the file, for its own test."
    )
    prefix: str = option(
        "model", Text(), "C: prefix of all names in the file, of letters, digits and '_'.", metavar="NAME"
    )
    probability: bool = option(
        False,
        OnOff(),
        "onnx: 1 adds an output with the probabilities of svm-predict -b 1; the label is still the vote's.",
        "-b",
    )
    max_flash: int | None = option(
        None,
        Bytes(),
        "C: limit on the bytes of constant tables, names of classes included, for example 32k. Exit status "
        "1: the model needs more, and is not written.",
    )


COMMAND = Verb(
    **listed("export"),
    description="""
        Write MODEL in another language: C for any program or microcontroller, ONNX, LIBSVM's text.

        MODEL can be of any kind but cascade, with any kernel but precomputed. The labels are LIBSVM's, ties
        included; labels that the exported arithmetic changes are counted when the file is written. The C
        header needs no library and allocates nothing; if the model's classes have names,
        NAME_class_name(label) returns them, and for a model with a certificate NAME_certain() proves labels
        on the device. docs/export.md has walk-throughs.

        Only LIBSVM models can be written as LIBSVM's text. With `ranges` the scaling in the model goes to a
        range file for svm-scale.
        """,
    takes=(Files, ExportOptions),
)
