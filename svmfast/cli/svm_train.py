"""Class weights in svm-train's form, ``-w-1 2``, and svm-train's command line, where ``-h`` has a value."""

from __future__ import annotations

import re
from typing import Any

import click

from svmfast.values import BALANCED

EXAMPLES = f"-w1 5 -w-1 2, -w {BALANCED}"


class ClassWeight(click.Option):
    """Class weights, shown in the help as they are typed, with the label in the option's name."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        return "-wI NUMBER", f"{self.help} Examples: {EXAMPLES}."


def weights(ctx: click.Context, _param: click.Parameter, given: tuple[Any, ...]) -> Any:
    """All class weights of a command line: pairs, or ``balanced``."""
    if BALANCED not in given:
        return given
    if len(given) > 1:
        raise click.UsageError(f"-w {BALANCED} sets the weights of all classes; leave out the others", ctx)
    return BALANCED


class WeightsCommand(click.Command):
    """A command with class weights: ``-w-1 2`` is for the class labelled -1."""

    #: Whether the command line is svm-train's.
    strict = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for param in self.params:
            if isinstance(param, click.Option) and "-h" in param.opts:
                text, default, words = str(param.help).partition("  [default: ")
                param.help = f"{text} As the last word, -h shows this help.{default}{words}"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        options = [p for p in self.params if isinstance(p, click.Option)]
        takes_value = {name for p in options if not p.is_flag for name in p.opts}
        flags = {name for p in options if p.is_flag for name in p.opts}
        out: list[str] = []
        rest = list(args)
        if self.strict and rest[-1:] == ["-h"] and "-h" in takes_value and "--" not in rest:
            # svm-train's -h is followed by a value.
            rest[-1] = "--help"
        while rest:
            word = rest.pop(0)
            if word == "--":
                return super().parse_args(ctx, [*out, word, *rest])
            if word.startswith("-w"):
                out += ["-w", self._weight(word, rest, ctx)]
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
        return super().parse_args(ctx, out)

    def _weight(self, word: str, rest: list[str], ctx: click.Context) -> str:
        """Return ``LABEL:NUMBER`` or ``balanced``, and take the words that belong to it from `rest`."""
        if word == "-w" and rest[:1] == [BALANCED]:
            return rest.pop(0)
        label = word[2:]
        if not label:
            raise click.UsageError(
                f"'{word}': the label belongs to the name, as in -w1 5 -w-1 2; or -w {BALANCED}", ctx
            )
        if not rest:
            raise click.UsageError(f"'{word}': a number is missing, as in {word} 5", ctx)
        return f"{label}:{rest.pop(0)}"


class SvmTrainCommand(WeightsCommand):
    """A command with svm-train's command line."""

    strict = True
