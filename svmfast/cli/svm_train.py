"""svm-train's command line: ``-w-1 2``, and ``-h`` with a value."""

from __future__ import annotations

import re

import click


class ClassWeight(click.Option):
    """Class weights, shown in the help as they are typed, with the label in the option's name."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        return "-wI NUMBER", self.help or ""


class SvmTrainCommand(click.Command):
    """A command that parses svm-train's command line, in which ``-w-1 2`` weights the class labelled -1."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        takes_value = {
            name for p in self.params if isinstance(p, click.Option) and not p.is_flag for name in p.opts
        }
        flags = {name for p in self.params if isinstance(p, click.Option) and p.is_flag for name in p.opts}
        out: list[str] = []
        rest = list(args)
        if rest[-1:] == ["-h"] and "-h" in takes_value and "--" not in rest:
            # svm-train's -h is followed by a value.
            rest[-1] = "--help"
        while rest:
            word = rest.pop(0)
            weight = re.fullmatch(r"-w([+-]?[0-9]+)", word)
            if weight:
                out += ["-w", weight[1], *rest[:1]]
                del rest[:1]
            elif word == "--":
                return super().parse_args(ctx, [*out, word, *rest])
            elif word in takes_value and word != "-w":
                out += [word, *rest[:1]]
                del rest[:1]
            elif word == "-w" or word.startswith("-w"):
                raise click.UsageError(f"'{word}': the label belongs to the name, as in -w1 5 -w-1 2", ctx)
            elif re.match("-[a-z].", word) and (word[:2] in takes_value or word[:2] in flags):
                # svm-train would ignore what follows the letter and use the next word as the value.
                raise click.UsageError(
                    f"'{word}': write the value as a word of its own, {word[:2]} {word[2:]}", ctx
                )
            else:
                out.append(word)
        return super().parse_args(ctx, out)
