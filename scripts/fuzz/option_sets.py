"""Random command lines: what scripts/fuzz/options runs.

Options and arguments are read from the commands themselves, so new ones are tried automatically; their
values follow from their types. Most are plausible, some lie at the ends of the type's range or beyond. Half
of the sets begin with a run that succeeds (tests/support/every_command.py), and most files fit each other,
so that commands do not fail early.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import click
from every_command import INPUTS, OUTPUTS, RUNS
from meaning import FROZEN

from svmfast.cli.command import Typed
from svmfast.cli.main import program
from svmfast.values import (
    Bytes,
    Grid,
    InputFile,
    Names,
    Numbered,
    OnOff,
    OutputFile,
    Real,
    Share,
    Value,
    Weights,
    Whole,
    WholeOrAuto,
)

ROOT = Path(__file__).resolve().parents[2]
#: Amounts of work: a large one is not a hang, it takes the requested time.
WORK = {"--passes", "--iterations", "--repeats", "-v"}
#: Flags that describe the data; chosen by `Files`, so that they fit most data.
FLAVOURS = {"dense": "--dense", "zero": "--zero-based", "unlabelled": "--unlabelled"}
#: Words of options that are plain text to click.
WORDS = {"--methods": ("linear", "compress", "approximate", "linear,compress", "all", "none", ",", "")}
#: Share of the sets that each command gets, as a multiple of that of the others: frontier runs many commands.
SHARES = {"frontier": 0.1}
BAD_NUMBERS = [
    *["nan", "inf", "-inf", "1_000", "0x10", "1e400", "1e-400", "-0", "1,5", "٣", "-"],
    "",
    " ",
    "9" * 400,
]

#: Plausible values and those at the ends of the range, of kinds with one range.
KINDS: dict[type[Value], tuple[str, str]] = {
    Weights: ("balanced", "unbalanced"),
    OnOff: ("0 1", "2 -1"),
    Numbered: ("0 1 2 3 4", "-1 5 99"),
    Share: ("1% 5% 10% 50% 95% 99.9%", "0% 100% 0 0.5 1 1e-300% -1% 101%"),
    Bytes: ("64M 200MiB 1G 1.5k 20000", "1 0 4k -1 1M 8388607T 9223372036854775807"),
    Grid: ("0.01 0.1 0.5 1 2^-4,2^-2 0.01,0.1,1 10",
           "1e-320 1e-300 1e300 0.1, 2^1e9 2^-1080 1e150,1e-150 1,1,1,1"),
    Names: ("a a,b label", " , a,a a, \u0663"),
}  # fmt: skip


@dataclass
class Files:
    """The fixtures, and copies of some data as a dense table, with indices from zero, and without labels."""

    data: dict[str, list[Path]] = field(default_factory=dict)
    models: list[Path] = field(default_factory=list)

    @classmethod
    def make(cls, folder: Path) -> Files:
        """Write the copies to `folder`."""
        sparse = sorted((ROOT / "fixtures/data").iterdir(), key=lambda path: path.stat().st_size)
        models = sorted((ROOT / "fixtures/models").iterdir()) + sorted(FROZEN.glob("*/*.model"))
        made = cls({"": [p for p in sparse if p.stat().st_size < 150_000]}, models)
        for flavour in FLAVOURS:
            made.data[flavour] = []
            for stem in ("iris", "wine", "single"):
                for end in ("train", "test"):
                    lines = (ROOT / f"fixtures/data/{stem}.{end}").read_text().splitlines()
                    rows = [_row(line.split(), flavour) for line in lines]
                    path = folder / f"{stem}.{flavour}.{end}"
                    path.write_text("\n".join(rows) + "\n")
                    made.data[flavour].append(path)
        return made


def _row(words: list[str], flavour: str) -> str:
    entries = [word.split(":") for word in words[1:]]
    if flavour == "dense":
        values = {int(index): value for index, value in entries}
        return " ".join([words[0], *(values.get(i, "0") for i in range(1, 14))])
    if flavour == "zero":
        return " ".join([words[0], *(f"{int(index) - 1}:{value}" for index, value in entries)])
    return " ".join(words[1:]) or "1:0"


def commands() -> dict[str, click.Command]:
    """Return every command of the program."""
    context = click.Context(program)
    found = {name: program.get_command(context, name) for name in program.list_commands(context)}
    assert all(found.values())
    return found


@dataclass(frozen=True)
class OptionSet:
    """Words of a command line, the files that it reads as ``in/NAME``, and its standard input, if any."""

    words: list[str]
    inputs: tuple[Path, ...] = ()
    stdin: str | None = None


class Maker:
    """Makes the set of a number; the same for the same seed."""

    def __init__(self, files: Files, seed: int, only: Iterable[str] = ()) -> None:
        self.files, self.seed = files, seed
        chosen = set(only)
        self.commands = {n: c for n, c in commands().items() if not chosen or n in chosen}

    def make(self, number: int) -> OptionSet:
        """Return set `number`."""
        chance = random.Random(f"{self.seed} {number}")
        names = list(self.commands)
        name = chance.choices(names, [SHARES.get(n, 1) for n in names])[0]
        return _Set(self.files, chance, self.commands[name]).made(name)


class _Set:
    def __init__(self, files: Files, chance: random.Random, command: click.Command) -> None:
        self.files, self.chance, self.command = files, chance, command
        self.flavour = chance.choice(list(FLAVOURS)) if chance.random() < 0.15 else ""
        pool = files.data[self.flavour]
        # The smaller, the more often.
        weights = [1 / (2_000 + path.stat().st_size) for path in pool]
        self.stem = chance.choices(pool, weights)[0].name.split(".")[0]
        self.stdin: str | None = None
        self.inputs: set[Path] = set()
        self.outputs = 0

    def made(self, name: str) -> OptionSet:
        """Return the set of the command `name`."""
        chance = self.chance
        options = [p for p in self.command.params if isinstance(p, click.Option)]
        often = chance.choice((0, 0.05, 0.1, 0.2, 0.35))
        started = chance.random() < 0.5
        words, arguments = self.start(name) if started else [], list[str]()
        for option in options:
            if any(word in option.opts for word in words) and not option.multiple and chance.random() < 0.9:
                continue
            if set(option.opts) & set(FLAVOURS.values()):
                mine = bool(self.flavour) and FLAVOURS[self.flavour] in option.opts
                given = mine != (chance.random() < 0.03)
            elif isinstance(getattr(option.type, "value", None), InputFile):
                given = option.required or chance.random() < max(often, 0.2)
            else:
                given = option.required or chance.random() < often
            for _ in range(given * (chance.choice((1, 1, 2)) if option.multiple else 1)):
                words += self.option(option)
        if name == "frontier" and "--time-limit" not in words:
            words += ["--time-limit", chance.choice(("1", "3", "8"))]
        if name == "frontier" and "--methods" not in words:
            words += ["--methods", chance.choice(WORDS["--methods"])]
        for parameter in self.command.params:
            if (
                isinstance(parameter, click.Argument)
                and not started
                and (parameter.required or chance.random() < 0.6)
            ):
                for _ in range(1 if parameter.nargs == 1 else chance.choice((1, 1, 2))):
                    arguments += self.value(parameter.type, parameter)
        if chance.random() < 0.01 and arguments:
            arguments.pop()
        words = arguments + words if chance.random() < 0.5 else words + arguments
        return OptionSet([name, *words], tuple(sorted(self.inputs)), self.stdin)

    def start(self, name: str) -> list[str]:
        """Return the words of a run that succeeds, with other files now and then."""
        self.flavour = ""
        run = self.chance.choice([run for run in RUNS.values() if run[0] == name])
        words: list[str] = []
        for word in run[1:]:
            if word in OUTPUTS:
                words.append(self.output())
            elif word in INPUTS and self.chance.random() < 0.85:
                words.append(self.read(INPUTS[word]))
            elif word in INPUTS:
                words.append(self.input(InputFile("data" if word in ("TRAIN", "TEST") else "model")))
            else:
                words.append(word)
        return words

    def read(self, path: Path) -> str:
        """Return the name of a file in the set's own folder."""
        self.inputs.add(path)
        return f"in/{path.name}"

    def option(self, option: click.Option) -> list[str]:
        """Return the words of one option."""
        flag = self.chance.choice([*option.opts, *option.secondary_opts])
        if option.is_flag:
            return [flag]
        values = self.value(option.type, option)
        if flag.startswith("--") and len(values) == 1 and self.chance.random() < 0.3:
            return [f"{flag}={values[0]}"]
        return [flag, *values]

    def value(self, kind: click.ParamType, parameter: click.Parameter) -> list[str]:
        """Return words for a value of type `kind`."""
        if isinstance(kind, click.Tuple):
            return [word for part in kind.types for word in self.value(part, parameter)]
        value = getattr(kind, "value", None)
        if isinstance(value, InputFile):
            return [self.input(value)]
        if isinstance(value, OutputFile):
            return [self.output()]
        chance = self.chance
        if isinstance(kind, click.Choice):
            return [str(chance.choice([*kind.choices] * 8 + ["other", ""]))]
        if type(kind) is type(click.STRING):
            return [chance.choice(next((WORDS[o] for o in parameter.opts if o in WORDS), ("x", "")))]
        assert isinstance(kind, Typed), f"no values for the type {type(kind).__name__} of {parameter.opts}"
        plausible, edges = self.numbers(kind.value, parameter)
        return [chance.choice(plausible if chance.random() < 0.85 else [*edges, *BAD_NUMBERS])]

    def numbers(self, kind: Value, parameter: click.Parameter) -> tuple[list[str], list[str]]:
        """Return plausible values of a kind of number, and those at the ends of its range."""
        if isinstance(kind, Whole):
            likely = [n for n in (0, 1, 2, 3, 4, 5, 8, 12, 40) if kind.least <= n <= kind.most]
            ends = [end + step for end in (kind.least, kind.most) for step in (-1, 0, 1)]
            ends += [1000, *(2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64), -(2**31), -(2**63)]
            if set(parameter.opts) & WORK:
                likely, ends = [n for n in likely if n < 12], [n for n in ends if n < 12 or n > kind.most]
            more = ["auto"] * 3 if isinstance(kind, WholeOrAuto) else []
            return [*map(str, likely), *more], list(map(str, ends))
        if type(kind) is Real:
            if "--time-limit" in parameter.opts:
                return ["0.2", "1", "2", "6"], ["1e-9", "0", "-1", "2147483648", "1e300"]
            reals = [
                x for x in (0.001, 0.01, 0.1, 0.5, 1.0, 2.0, 10.0, 100.0) if kind.least <= x <= kind.most
            ]
            edges = (
                "0 -0.0 -1 1e-320 5e-324 1e-300 1e-150 1e-17 -1e-300 1e17 1e150 1e300 1.7976931348623157e308"
            )
            limits = [f"{x!r}" for x in (kind.least, kind.most) if math.isfinite(x)]
            return list(map(repr, reals)), [*edges.split(), *limits]
        for known, (plausible, odd) in KINDS.items():
            if isinstance(kind, known):
                return plausible.split(" "), odd.split(" ")
        raise TypeError(f"no values for the kind {type(kind).__name__} of {parameter.opts}; add them here")

    def input(self, kind: InputFile) -> str:
        """Return the path of a file to read; most fit the others of the set."""
        chance = self.chance
        odd = chance.random()
        if odd < 0.03:
            return chance.choice(
                ("missing", ".", "/dev/null", "", str(ROOT / "README.md"), str(ROOT / "pyproject.toml"))
            )
        content = kind.content if odd > 0.05 else chance.choice(("model", "data"))
        pool = (
            self.files.models
            if (content or chance.choice(("model", "data"))) == "model"
            else self.files.data[self.flavour]
        )
        mine = [path for path in pool if path.name.startswith(self.stem)]
        path = chance.choice(mine if mine and chance.random() < 0.8 else pool)
        if not kind.repeated and self.stdin is None and chance.random() < 0.03:
            self.stdin = self.read(path)
            return "-"
        return self.read(path)

    def output(self) -> str:
        """Return the path of a file to write, in the set's own folder."""
        self.outputs += 1
        usual = f"out{self.outputs}"
        return self.chance.choice(
            [usual] * 20 + [f"{usual}.gz", f"{usual}.xz", "-", "no/out", "", ".", f"{usual}/", "old"]
        )
