"""Write MODEL in another language: C for any program or microcontroller, ONNX, LIBSVM's text.

MODEL can be of any kind but cascade, with any kernel but precomputed. The labels are LIBSVM's, ties included;
labels that the exported arithmetic changes are counted when the file is written. The C header needs no
library and allocates nothing; if the model's classes have names, NAME_class_name(label) returns them, and for
a model with a certificate NAME_certain() proves labels on the device.

Only LIBSVM models can be written as LIBSVM's text. With `ranges` the scaling in the model goes to a range
file for svm-scale.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from svmfast.command import Verb
from svmfast.commands import listed
from svmfast.commands.functions import takes
from svmfast.errors import OptionError
from svmfast.exports.languages import LANGUAGES
from svmfast.options import Bounded, Reading, argument, as_reading, made, option
from svmfast.progress import Listener
from svmfast.threads import thread_count
from svmfast.values import Bytes, Choice, InputFile, OnOff, OutputFile, RowsFile, Text, Whole

if TYPE_CHECKING:
    from svmfast.commands.exported import Export

#: A valid prefix.
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


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
    ranges: str | None = option(
        None,
        OutputFile(role="ranges"),
        "libsvm: write the model's scaling to this file, as a range file for svm-scale.",
        metavar="OUT",
    )
    arduino: str | None = option(
        None,
        OutputFile(role="arduino", folder=True, shared=True),
        "C: also make a library for the Arduino IDE of the file, with an example, in this folder.",
        metavar="DIR",
    )


@dataclass(frozen=True, kw_only=True)
class ExportOptions(Bounded):
    """Options of ``export``."""

    test: Any = option(
        None,
        RowsFile(role="test"),
        "Compare the exported arithmetic with the model's on these rows (default: on vectors of the model); "
        "their labels are not used. C: the file contains the first of them and a test.",
        metavar="ROWS",
    )
    precision: str | None = option(
        None,
        Choice("float", "double"),
        "Precision of the exported arithmetic.",
        shown="float for c, double for onnx",
    )
    fixed: int | None = option(
        None,
        Whole(8, 16),
        "C: integers only, without floating point. 16: the file takes 16-bit integers, made by "
        "NAME_quantize(), or whole numbers as they are; 8: bytes as they are. The ranges are those of "
        "`data`, or of svm-scale in the model.",
        metavar="8|16",
    )
    test_rows: int = option(
        200, Whole(1), "C: number of the rows `test` that go into the file, for its own test."
    )
    prefix: str = option(
        "model", Text(), "C: prefix of all names in the file, of letters, digits and '_'.", metavar="NAME"
    )
    probability: bool = option(
        False,
        OnOff(),
        "1 adds the probabilities of svm-predict -b 1: in C as NAME_probability(), in ONNX as an output; the "
        "label is still the vote's.",
        "-b",
    )
    opset: int | None = option(
        None,
        Whole(1),
        "onnx: the version of ONNX's operators, for a runtime that does not know the usual one.",
        metavar="N",
        shown="17",
    )
    max_flash: int | None = option(
        None,
        Bytes(),
        "C: limit on the bytes of constant tables, names of classes included, for example 32k. Exit status "
        "1: the model needs more, and is not written.",
    )
    data: Any = option(
        None,
        RowsFile(role="data"),
        "C: if a LIBSVM model needs more than `max_flash`, compress it with `metric` auto on these rows, and "
        "report how many labels differ. With `fixed`: rows that show the ranges of the features.",
        metavar="ROWS",
    )


@takes(ExportOptions)
def export(
    model: Any,
    to: str = "c",
    *,
    ranges: bool = False,
    threads: int | None = None,
    reading: Reading | None = None,
    listener: Listener | None = None,
    **options: Any,
) -> Export:
    """Convert a model to another language (docs/export.md). The `scale` of `reading` becomes part of it.

    Parameters
    ----------
    model : Model, fitted estimator or path
        A model of any kind except a cascade, with any kernel except precomputed.
    to : str
        The language, a key of :data:`svmfast.exports.languages.LANGUAGES`.
    {options}
    ranges : bool
        LIBSVM's text: also return the model's scaling as a range file for svm-scale.

    Returns
    -------
    Export
        ``data``, ``text``, ``report``, ``ranges``, ``save(path)``.

    Raises
    ------
    UnsupportedError
        The model cannot be written in this language.
    OptionError
        The language is unknown or does not support an option.
    NegativeAnswerError
        The tables of the C file take more than `max_flash` bytes.
    """
    from svmfast.commands.exported import exported
    from svmfast.commands.given import model_of

    asked = made(ExportOptions, options)
    _check_options(to, asked, ranges=ranges)
    reading, listener = as_reading(reading), listener or Listener()
    given, _ = model_of(model, "the model", listener.note, asked.memory)
    if reading.unlabelled and asked.test is None and asked.data is None:
        raise OptionError("`unlabelled` is only used with `test` or `data`")
    return exported(given, to, asked, reading, thread_count(threads), listener, ranges=ranges)


def _check_options(to: str, options: ExportOptions, *, ranges: bool) -> None:
    """Refuse options that the language does not support or that are out of range."""
    if to not in LANGUAGES:
        raise OptionError(f"`to` '{to}' is not a language; expected one of {', '.join(LANGUAGES)}")
    asked = {
        "c": {
            "prefix": options.prefix != "model",
            "max_flash": options.max_flash is not None,
            "data": options.data is not None,
            "fixed": options.fixed is not None,
        },
        "onnx": {"opset": options.opset is not None},
        "libsvm": {"ranges": ranges},
    }
    for language, given in asked.items():
        for name, is_given in given.items():
            if is_given and to != language:
                raise OptionError(f"`{name}` is only for `to` {language}")
    if to == "libsvm" and not options.test is options.precision is None:
        raise OptionError("LIBSVM's text has the model's own numbers: no precision, and nothing to `test`")
    if to == "libsvm" and options.probability:
        raise OptionError("LIBSVM's text has the probabilities of the model without `probability`")
    if options.fixed is not None and (options.precision is not None or options.probability):
        raise OptionError("`fixed` has integers only: no `precision`, and no `probability`")
    if options.fixed not in (None, 8, 16):
        raise OptionError(f"`fixed` {options.fixed} is no size of the inputs; expected 8 or 16")
    if options.data is not None and options.fixed is None:
        if options.max_flash is None:
            raise OptionError("`data` is only used with `max_flash` or `fixed`")
        if options.precision == "double":
            raise OptionError("`data` is only used with `precision` float")
    if not _IDENTIFIER.fullmatch(options.prefix):
        raise OptionError(
            f"`prefix` '{options.prefix}' cannot begin a name; give a letter, then letters, digits, '_'"
        )


def run(
    front: Any,
    model: str,
    output: str,
    *,
    to: str | None,
    ranges: str | None,
    arduino: str | None,
    **options: Any,
) -> None:
    """Write the exported file, and print its figures."""
    from svmfast.commands.exported import language_for

    language = language_for(output, to)
    if arduino is not None and language != "c":
        raise OptionError("`arduino` is only for `to` c")
    made = front.call(export, model, language, ranges=ranges is not None, **options)
    front.written(made.report, output, made.save(output, ranges, arduino))


COMMAND = Verb(
    **listed("export"),
    description=__doc__,
    takes=(Files, ExportOptions),
    run=run,
    reports=("svmfast.commands.exported:ExportReport",),
)
