"""The click command of a declaration (:mod:`svmfast.command`).

Class weights have svm-train's form, ``-w-1 2``, and with svm-train's command line ``-h`` has a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from svmfast.cli.flags import with_flags
from svmfast.cli.front import Front
from svmfast.cli.parsing import debug_option
from svmfast.command import Command, Verb
from svmfast.display import shown
from svmfast.options import Option
from svmfast.values import Choice, OnOff, Pair, Real, Switch, Text, Value, Weights
from svmfast.values.files import File

if TYPE_CHECKING:
    _ParamType = click.ParamType[Any]
else:
    _ParamType = click.ParamType  # not generic in older click
import re
from typing import Any

import click

from svmfast.values import BALANCED


class ClassWeight(click.Option):
    """Class weights, shown in the help as they are typed, with the label in the option's name."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        return "-wI NUMBER", f"{self.help} Examples: -w1 5 -w-1 2, -w {BALANCED}."


class WeightsCommand(click.Command):
    """A command with class weights: ``-w-1 2`` is for the class labelled -1."""

    #: Whether the command line is svm-train's.
    strict = False

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        options = [p for p in self.params if isinstance(p, click.Option)]
        takes_value = {name for p in options if not p.is_flag for name in p.opts}
        flags = {name for p in options if p.is_flag for name in p.opts}
        weights: list[Any] = []
        out: list[str] = []
        rest = list(args)
        if self.strict and rest[-1:] == ["-h"] and "-h" in takes_value and "--" not in rest:
            # svm-train's -h is followed by a value.
            rest[-1] = "--help"
        while rest:
            word = rest.pop(0)
            if word == "--":
                out += [word, *rest]
                break
            if word.startswith("-w"):
                weights.append(_weight(word, rest, ctx))
            elif word in takes_value:
                out += [word, *rest[:1]]
                del rest[:1]
            elif self.strict and re.match("-[a-z].", word) and (word[:2] in takes_value | flags):
                # svm-train would ignore what follows the letter and use the next word as the value.
                raise click.UsageError(
                    f"'{word}': write the value as a separate word, {word[:2]} {word[2:]}", ctx
                )
            else:
                out.append(word)
        if BALANCED in weights and len(weights) > 1:
            raise click.UsageError(
                f"-w {BALANCED} sets the weights of all classes; leave out the others", ctx
            )
        left = super().parse_args(ctx, out)
        ctx.params["weights"] = BALANCED if BALANCED in weights else tuple(weights)
        return left


def _weight(word: str, rest: list[str], ctx: click.Context) -> Any:
    """A pair of label and weight, or ``balanced``; the words that belong to it are taken from `rest`."""
    if word == "-w":
        if rest[:1] == [BALANCED]:
            return rest.pop(0)
        raise click.UsageError(
            f"'{word}': the label belongs to the name, as in -w1 5 -w-1 2; or -w {BALANCED}", ctx
        )
    if not rest:
        raise click.UsageError(f"'{word}': a number is missing, as in {word} 5", ctx)
    kind, text = Weights(), rest.pop(0)
    label, weight = kind.label.read(word[2:]), kind.weight.of_text(text)
    if label is None:
        raise click.UsageError(f"'{shown(word[2:], 60)}' is not a label of LIBSVM, a 32-bit integer", ctx)
    if weight is None:
        raise click.UsageError(f"'{word} {shown(text, 60)}': expected {kind.weight.expected()}", ctx)
    return label, weight


class Typed(_ParamType):
    """A value of some kind, read from text."""

    def __init__(self, value: Value) -> None:
        self.value, self.name = value, value.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value  # a default
        found = self.value.of_text(value)
        if found is None:
            self.fail(f"'{shown(value, 60)}' is not {self.value.expected()}", param, ctx)
        return found


class Place(click.Path):
    """A file, whose name the shell completes."""

    def __init__(self, value: File) -> None:
        super().__init__(readable=False)  # that is found on reading
        self.value = value


def _kind(value: Value) -> Any:
    if isinstance(value, Choice):
        return click.Choice(value.words)
    if isinstance(value, Text):
        return str
    if isinstance(value, File):
        return Place(value)
    return (Typed(Real()), Typed(Real())) if isinstance(value, Pair) else Typed(value)


def _param(one: Option, options: tuple[Option, ...]) -> click.Parameter:
    """The click parameter of a declared option."""
    names, default, words = [*one.flags, one.name], one.default, one.shown
    switch = isinstance(one.value, Switch) and not isinstance(one.value, OnOff)
    if isinstance(default, str):
        default = one.value.text(default)  # parsed like a word that the user typed
    if words is None and default is not None and not switch:
        words = one.value.text(one.default)
    usual: dict[str, Any] = {} if default is None else {"default": default}  # click takes None for a value
    if not one.flags:
        return click.Argument(
            names,
            type=_kind(one.value),
            **usual,
            required=one.required,
            nargs=-1 if one.many else 1,
            metavar=one.metavar,
        )
    text = one.help
    if one.only_with:
        text = f"With `{one.only_with}`: {text[0].lower()}{text[1:]}"
    text = with_flags(text, options)
    if isinstance(one.value, Weights):
        return ClassWeight(names, multiple=True, help=text)
    if words is not None:
        text += f"  [default: {with_flags(words, options)}]"
    if switch:
        return click.Option(names, is_flag=True, default=default, help=text)
    return click.Option(
        names,
        type=_kind(one.value),
        **usual,
        metavar=one.metavar or (None if isinstance(one.value, Choice) else one.value.name),
        help=text,
        required=one.required,
        multiple=one.many,
    )


class _Predict(click.Command):
    """The two forms of predict: for one file, or for many with ``--out-dir``."""

    forms: tuple[click.Command, ...] = ()

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parse the arguments by the form that they select."""
        words = args[: args.index("--")] if "--" in args else args
        if any(word == "--out-dir" or word.startswith("--out-dir=") for word in words):
            return self.forms[0].make_context(info_name, args, parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Show both forms."""
        super().format_usage(ctx, formatter)
        formatter.write_usage(ctx.command_path, "[OPTIONS] --out-dir OUT MODEL DATA...", prefix="       ")


def click_command(command: Command) -> click.Command:
    """The click command of a declaration."""
    if command.name != "predict":
        return _made(command)
    from svmfast.commands.predict import MANY

    made = _made(command, _Predict)
    made.forms = (_made(MANY),)  # type: ignore[attr-defined]
    return made


def _made(command: Command, kind: type[click.Command] = click.Command) -> click.Command:
    options = command.params
    params = [_param(one, options) for one in options]
    if any(isinstance(param, ClassWeight) for param in params):
        kind = WeightsCommand
    if isinstance(command, Verb):
        run = command.run
    else:
        from svmfast.cli.method_command import run

    def callback(**given: Any) -> int | None:
        return Front(command, options, given).run(run)

    made = kind(
        command.name,
        params=[*params, debug_option()],
        callback=callback,
        short_help=command.summary,
        help=with_flags(command.description or "", options),
    )
    if isinstance(made, WeightsCommand):
        made.strict = getattr(command, "svm_train_output", False)
    return made
