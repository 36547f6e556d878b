"""Class weights in svm-train's form, ``-w-1 2``, and svm-train's command line, where ``-h`` has a value."""

from __future__ import annotations

import re
from typing import Any

import click

from svmfast.display import shown
from svmfast.values import BALANCED, Weights


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
