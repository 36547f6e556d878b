"""Options, declared once: a dataclass whose fields have their help, range and default.

The command line, the Python API and the option tables of the documentation are made from these classes. A
message or a help text names an option in backquotes, as in "`gamma` is 0"; the command line shows the flag
instead.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from svmfast.display import shown
from svmfast.errors import OptionError, WrongTypeError
from svmfast.values import (
    MOST_64,
    Bytes,
    Choice,
    InputFile,
    Names,
    OutputFile,
    ScalingFile,
    Switch,
    Text,
    Value,
    Weights,
    Whole,
)

T = TypeVar("T")

_KEY = "svmfast.option"
#: Default memory limit in bytes.
MEMORY = 2 << 30


@dataclass(frozen=True)
class Option:
    """An option or argument of a command, and the keyword argument of its Python function."""

    #: Its name in Python and in reports.
    name: str
    value: Value
    default: Any = None
    #: One or two sentences.
    help: str = ""
    #: Its flags on the command line, the longest last; none for an argument.
    flags: tuple[str, ...] = ()
    #: Placeholder for its value in help; None uses that of `value`.
    metavar: str | None = None
    #: The default as help shows it; None shows `default` itself.
    shown: str | None = None
    required: bool = False
    #: Whether it may be given several times.
    many: bool = False
    #: The option without which this one is refused on the command line.
    only_with: str | None = None

    def check(self, given: Any) -> Any:
        """Check `given`, and return it as a value of this option."""
        if given is None and self.default is None:
            return None
        return checked(f"`{self.name}`", given, self.value)

    @property
    def called(self) -> str:
        """Its name in messages of the command line: DATA, --data."""
        if not self.flags:
            return (self.metavar or self.name).upper().strip("[]").removesuffix("...")
        return max((flag.partition("/")[0] for flag in self.flags), key=len)


def checked(name: str, value: Any, kind: Value) -> Any:
    """A Python value in the form that its kind reads from text; refused as on the command line."""
    if not kind.has_type(value):
        raise WrongTypeError(name, value, kind.type_expected)
    found = kind.accept(value)
    if found is None:
        raise OptionError(f"{name} is {shown(repr(value), 60)}; expected {kind.expected()}")
    return found


def option(default: Any, value: Value, help: str, *flags: str, **about: Any) -> Any:
    """A dataclass field that is an option, with the attributes of :class:`Option`.

    If none of the flags is long, a name of more than one letter is made into a long flag.
    """
    about |= {"value": value, "help": help, "flags": flags}
    return dataclasses.field(default=default, metadata={_KEY: about})


def switch(help: str, *flags: str, **about: Any) -> Any:
    """An option that is off unless it is given."""
    return option(False, Switch(), help, *flags, **about)


def argument(value: Value, *, default: Any = None, required: bool = True, **about: Any) -> Any:
    """A dataclass field that is an argument of a command."""
    about |= {"value": value, "flags": None, "required": required}
    return dataclasses.field(default=default, metadata={_KEY: about})


def options_of(*classes: type) -> tuple[Option, ...]:
    """The options of these classes in the order of the help: of each its own, then inherited ones."""
    found = []
    for cls in classes:
        inherited = {name for base in cls.__mro__[1:] for name in getattr(base, "__annotations__", {})}
        fields = (field for field in dataclasses.fields(cls) if _KEY in field.metadata)
        found += [_option(field) for field in sorted(fields, key=lambda one: one.name in inherited)]
    return tuple(found)


def _option(field: dataclasses.Field[Any]) -> Option:
    about = dict(field.metadata[_KEY])
    flags = about.pop("flags")
    if flags is None:
        flags = ()
    # A class weight has svm-train's flag only, because the label is part of it: -w1.
    elif (
        len(field.name) > 1
        and not isinstance(about["value"], Weights)
        and not any(flag.startswith("--") for flag in flags)
    ):
        flags = (*flags, "--" + field.name.rstrip("_").replace("_", "-"))
    return Option(field.name, default=field.default, flags=flags, **about)


def made(cls: type[T], given: Mapping[str, Any]) -> T:
    """An object of the options class with the values `given`, after checking each of them."""
    found: T = divided(given, cls)[0]
    return found


def as_reading(given: Reading | None) -> Reading:
    """The argument `reading` of a function, checked; the usual reading for None."""
    if not isinstance(given, Reading | None):
        raise WrongTypeError("`reading`", given, "a svmfast.Reading")
    return given or Reading()


def divided(given: Mapping[str, Any], *classes: type) -> tuple[Any, ...]:
    """Objects of several options classes from all their values; like :func:`made`."""
    known = [{one.name: one for one in options_of(cls)} for cls in classes]
    names = {name: None for part in known for name in part}
    for name in given:
        if name not in names:
            raise TypeError(f"there is no option '{name}'; options: {', '.join(names)}")
    return tuple(
        cls(**{name: part[name].check(value) for name, value in given.items() if name in part})
        for cls, part in zip(classes, known, strict=True)
    )


def command_words(cls: type, given: Mapping[str, Any]) -> list[str]:
    """Options as arguments of the command line; the values read back unchanged."""
    known = {one.name: one for one in options_of(cls)}
    words: list[str] = []
    for name, value in given.items():
        words += known[name].value.command_words(known[name].flags, value)
    return words


def with_defaults(options: T, usual: Mapping[str, Any]) -> T:
    """A copy of an options object, with the values `usual` for those options that are None."""
    missing = {name: value for name, value in usual.items() if getattr(options, name) is None}
    return dataclasses.replace(options, **missing)  # type: ignore[type-var]


def class_weights(where: str) -> Any:
    """The option `weights` of a trainer, which multiplies C for the rows that `where` describes."""
    return option(
        (),
        Weights(),
        f"Multiply C by NUMBER for {where}. "
        "balanced: weights in inverse proportion to the rows of each class.",
        "-w",
    )


def on_workers(does: str, **about: Any) -> Any:
    """The option `dask` of a command; `does` is a verb."""
    text = f"{does} on the workers of this Dask scheduler, or on N local ones (local:N)."
    return option(None, Text(), text, metavar="ADDRESS", **about)


def kept_in() -> Any:
    """The option `checkpoint` of a method."""
    return option(
        None,
        OutputFile(role="folder", folder=True, shared=True),
        "Keep intermediate results in this folder, from which the same command continues after an "
        "interruption.",
        metavar="FOLDER",
    )


def list_of_files(**about: Any) -> Any:
    """The option `files_from` of a command that takes several files."""
    return option(
        None,
        InputFile(),
        "Read more names of DATA from LIST, one per line or each followed by a NUL byte; '-' is standard "
        "input.",
        metavar="LIST",
        **about,
    )


@dataclass(frozen=True, kw_only=True)
class FilesFrom:
    """The option of methods that take several files; in Python, the names are a sequence."""

    files_from: str | None = list_of_files()


def changed_words(options: object) -> tuple[str, ...]:
    """The options of an object that differ from their defaults, as command-line arguments."""
    values = {one.name: getattr(options, one.name) for one in options_of(type(options))}
    defaults = {one.name: one.default for one in options_of(type(options))}
    changed = {name: value for name, value in values.items() if value != defaults[name]}
    return tuple(command_words(type(options), changed))


class Tasked:
    """Options of a trainer, among them `task`, which is svc for classes."""

    @property
    def is_classifier(self) -> bool:
        """Whether the task is classification."""
        return bool(vars(self)["task"] == "svc")

    def regularizations(self, hinge: bool) -> tuple[float, ...]:
        """The values of C for the squared hinge loss, otherwise those of lambda."""
        found: tuple[float, ...] = vars(self)["C" if hinge else "lambda_"]
        return found


@dataclass(frozen=True, kw_only=True)
class Seeded:
    """Options of a method that makes random choices."""

    seed: int = option(
        0,
        Whole(0, MOST_64),
        "Seed of every random choice; the same input and seed give the same bytes on the same instruction "
        "set.",
    )


@dataclass(frozen=True, kw_only=True)
class Bounded:
    """Options of a method that may need much memory."""

    memory: int = option(MEMORY, Bytes(), "Refuse models and work that need more memory.", shown="2G")


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The format of data: LIBSVM's text, and tables."""

    zero_based: bool = switch("Feature indices in the data start at 0 instead of 1.")
    dense: bool = switch("Each line of the data is a label and the values of all features, without indices.")
    lenient: bool = switch("Skip blank lines and sort features; duplicate features are still errors.")
    unlabelled: bool = switch(
        "The rows of the data have no labels: 'index:value ...', or with `dense` only values.",
    )

    scale: Any = option(
        None,
        ScalingFile(),
        "Scale every row with this range file of svm-scale (or with the scaling of this model), rounded as "
        "in svm-scale's output. A model that is written contains the scaling and accepts raw rows.",
    )

    label: str | None = option(
        None,
        Text(),
        "The column of a table (Parquet, Arrow, CSV) that holds the labels.",
        metavar="COLUMN",
        shown="that named in the model, else label",
    )
    features: tuple[str, ...] | None = option(
        None,
        Names(),
        "The columns of a table that hold the features, in this order.",
        metavar="A,B,...",
        shown="those named in the model, else all others",
    )
    exclude: tuple[str, ...] | None = option(
        None,
        Names(),
        "Columns of a table that are not features, such as an identifier.",
        metavar="A,B,...",
    )
    missing: str | None = option(
        None,
        Choice("refuse", "zero", "mean"),
        "Missing features of a table (empty fields, nulls, nan): refuse them, or take 0 or the mean of the "
        "column's values in the training rows. A model that is trained keeps the values.",
        shown="those of the model, else refuse",
    )

    def values_for_missing(self, count: int) -> list[float | None]:
        """The values in place of missing ones in the columns of features; None refuses them."""
        found = getattr(self.scale, "missing", None)
        if self.missing == "zero":
            return [0.0] * count
        if self.missing == "mean" and found is None:
            raise OptionError("`missing`: the model has no means; they are found when a model is trained")
        known = [] if found is None or self.missing == "refuse" else found.tolist()[:count]
        return [*known, *[None] * (count - len(known))]

    @property
    def names(self) -> tuple[str, ...] | None:
        """The columns of a table that hold the features, if the scaling names them."""
        return getattr(self.scale, "column_names", None)

    @property
    def as_read(self) -> Reading:
        """The same format without the scaling of rows and labels; its names are kept."""
        return self if self.scale is None else dataclasses.replace(self, scale=self.scale.only_names())

    @property
    def label_column(self) -> str | None:
        """The column of a table that holds the labels, if the option or the scaling's model names it."""
        return self.label or getattr(self.scale, "label_column", None)

    @property
    def class_names(self) -> Mapping[float, str] | None:
        """The names of the classes in a table, by label, if the scaling comes from a model that has them."""
        return getattr(self.scale, "names_of_labels", None)


#: Labelled LIBSVM text as svm-train reads it.
PLAIN = Reading()
