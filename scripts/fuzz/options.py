"""Run every command with random sets of options, and look for forbidden outcomes.

    scripts/fuzz/options [--sets N] [--first I] [--seed S] [--commands a,b] [--show]

Options and arguments are read from the declarations of the commands; values follow from their types: most
are plausible, some lie at the ends of the type's range or beyond. Half of the sets begin with a run that
succeeds (tests/support/every_command.py), and most files fit each other, so that commands do not fail early.
Set I of a seed is always the same command line (--first I --sets 1 --show runs it again and shows what it
says). Each runs in its own folder: in a fork of this process, in which everything is imported, and one in
fifty as the installed program. Forbidden are

- a status other than 0, 1 and 2; a Python trace or warning; status 1 or 2 without a word on stderr;
- 60 s of processor time; more than 6 GB of addresses are refused;
- a temporary file left behind; an output after status 2; an old output changed after status 1 or 2;
- a model that cannot be read again; an invalid JSON report.

Prints the number of sets of each command by status, and ends with 1 if anything was wrong; the folders of
wrong ones are kept in build/fuzz-options.
"""

import argparse
import contextlib
import gc
import importlib
import json
import math
import os
import random
import re
import resource
import shlex
import shutil
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "build" / "fuzz-options"
sys.path.insert(0, str(ROOT / "tests" / "support"))

from every_command import INPUTS, OUTPUTS, RUNS  # noqa: E402
from meaning import FROZEN  # noqa: E402
from program import PROGRAM  # noqa: E402

from svmfast import values  # noqa: E402
from svmfast.commands import command, commands  # noqa: E402
from svmfast.errors import MemoryLimitError, SvmfastError  # noqa: E402
from svmfast.formats.model_files import open_model  # noqa: E402
from svmfast.options import Option  # noqa: E402

MOST_SECONDS, ADDRESSES = 60, 6 << 30
#: Modules that commands import on use; importing them once here is faster.
IMPORTED = [
    *("rich.console", "rich.table", "rich.progress", "libsvm.svm", "svmfast.__main__"),
    *("scipy.linalg", "scipy.optimize", "scipy.sparse.linalg", "scipy.special"),
    *("sklearn.cluster", "sklearn.kernel_approximation", "sklearn.linear_model", "sklearn.utils.extmath"),
]
OLD = b"an old output\n"
_REMARK = re.compile(rb"^\S+:\d+: \w*Warning: |^Traceback ", re.MULTILINE)

# --- command lines

#: Amounts of work, of which a large one is no hang, and times.
WORK = {"--passes", "--iterations", "--repeats", "--time-limit"}
#: Options of rows, of which few fit.
RARE = {"--dense", "--zero-based", "--unlabelled", "--label", "--features", "--exclude"}
METHODS = ("linear", "compress", "approximate", "linear,compress", "all", "none", ",", "")
#: frontier runs many commands: it gets a tenth of the sets that others get.
SHARES = {"frontier": 0.1}
BAD_NUMBERS = [
    *("nan", "inf", "-inf", "1_000", "0x10", "1e400", "1e-400", "-0", "1,5", "٣", "-", " "),
    "9" * 400,
]
REALS = (0.001, 0.01, 0.1, 0.5, 1.0, 2.0, 10.0, 100.0)
EDGES = ("0", "-0.0", "-1", "1e-320", "5e-324", "1e-300", "1e-17", "-1e-300", "1e17", "1e150", "1e300")
WHOLES = (1000, 2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64, -(2**31), -(2**63))
#: Plausible values and odd ones, of kinds with one range.
KINDS = {
    values.OnOff: ("0 1", "2 -1"),
    values.Numbered: ("0 1 2 3 4", "-1 5 99"),
    values.Share: ("1% 5% 10% 50% 95% 99.9%", "0% 100% 0 0.5 1 1e-300% -1% 101%"),
    values.Bytes: ("64M 200MiB 1G 1.5k 20000", "1 0 4k -1 1M 8388607T 9223372036854775807"),
    values.Grid: ("0.01 0.1 0.5 1 2^-4,2^-2 0.01,0.1,1 10",
                  "1e-320 1e-300 1e300 0.1, 2^1e9 2^-1080 1e150,1e-150 1,1,1,1"),
    values.Names: ("a a,b label", " , a,a a, \u0663"),
    values.Text: ("x label", ""),
}  # fmt: skip


def plausible_and_odd(option):
    """Return values of an option, and those at the ends of its range and beyond."""
    kind, flags = option.value, set(option.flags)
    if option.name == "methods":
        return METHODS[:4], METHODS[4:]
    if isinstance(kind, values.Choice):
        return kind.words, ("other", "")
    for known, (usual, odd) in KINDS.items():
        if isinstance(kind, known):
            return usual.split(" "), odd.split(" ")
    if isinstance(kind, values.Whole):
        likely = [n for n in (0, 1, 2, 3, 4, 5, 8, 12, 40) if kind.least <= n <= kind.most]
        ends = [*(end + step for end in (kind.least, kind.most) for step in (-1, 0, 1)), *WHOLES]
        if flags & WORK:
            likely, ends = [n for n in likely if n < 12], [n for n in ends if n < 12 or n > kind.most]
        words = [*kind.words] * 3 if isinstance(kind, values.WholeOr) else []
        return [*map(str, likely), *words], list(map(str, ends))
    if flags & WORK:
        return ("0.2", "1", "2", "6"), ("1e-9", "0", "-1", "2147483648", "1e300")
    assert isinstance(kind, values.Real), f"no values for the kind {type(kind).__name__}; add them here"
    limits = [repr(x) for x in (kind.least, kind.most) if math.isfinite(x)]
    return [repr(x) for x in REALS if kind.least <= x <= kind.most], [*EDGES, *limits]


class OptionSet:
    """Set `number` of a seed: words, the files that it reads as ``in/NAME``, and its standard input."""

    def __init__(self, seed, number, names):
        self.chance = random.Random(f"{seed} {number}")
        name = self.chance.choices(names, [SHARES.get(n, 1) for n in names])[0]
        self.stdin = None
        self.inputs = set()
        self.outputs = 0
        data = sorted(path for path in (ROOT / "fixtures/data").iterdir() if path.stat().st_size < 150_000)
        models = [*sorted((ROOT / "fixtures/models").iterdir()), *sorted(FROZEN.glob("*/*.model"))]
        self.pools = {"data": [path for path in data if path.suffix != ".ranges"], "model": models}
        self.pools["ranges"] = [path for path in data if path.suffix == ".ranges"]
        # The smaller, the more often.
        weights = [1 / (2_000 + path.stat().st_size) for path in self.pools["data"]]
        self.stem = self.chance.choices(self.pools["data"], weights)[0].name.split(".")[0]
        self.words = [name, *self.made(name)]

    def made(self, name):
        chance, declared = self.chance, command(name)
        assert declared is not None
        often, started = chance.choice((0, 0.03, 0.1, 0.2)), chance.random() < 0.5
        words, arguments = self.start(name) if started else [], list[str]()
        for option in declared.params:
            if not option.flags:
                if not started and (option.required or chance.random() < 0.6):
                    for _ in range(chance.choice((1, 1, 2)) if option.many else 1):
                        arguments += self.value(option)
                continue
            if {*option.flags} & {*words} and not option.many and chance.random() < 0.9:
                continue
            usual = max(often, 0.2) if isinstance(option.value, values.InputFile) else often
            if option.required or chance.random() < (0.03 if {*option.flags} & RARE else usual):
                for _ in range(chance.choice((1, 1, 2)) if option.many else 1):
                    words += self.option(option)
        if name == "frontier":
            words += [] if "--time-limit" in words else ["--time-limit", chance.choice(("1", "3", "8"))]
            words += [] if "--methods" in words else ["--methods", chance.choice(METHODS)]
        words += ["--debug"] * (chance.random() < 0.02)
        if chance.random() < 0.01 and arguments:
            arguments.pop()
        return arguments + words if chance.random() < 0.5 else words + arguments

    def start(self, name):
        """Return the words of a run that succeeds, with other files now and then."""
        words = []
        for word in self.chance.choice([run for run in RUNS.values() if run[0] == name])[1:]:
            if word in OUTPUTS:
                word = self.output()
            elif word in INPUTS and self.chance.random() < 0.85:
                word = self.read(INPUTS[word])
            elif word in INPUTS:
                word = self.input(values.InputFile("data" if word in ("TRAIN", "TEST") else "model"))
            words.append(word)
        return words

    def option(self, option):
        flag = self.chance.choice([one for flag in option.flags for one in flag.split("/")])
        if isinstance(option.value, values.Switch) and not isinstance(option.value, values.OnOff):
            return [flag]
        if isinstance(option.value, values.Weights):
            labels = ("1", "-1", "2", " balanced", "", "x", "2147483648")
            name = f"{flag}{self.chance.choice(labels)}".split()
            return [*name, *(self.chance.choice(("5", "0.5", "0", "x")),) * (len(name) == 1)]
        found = self.value(option)
        if flag.startswith("--") and len(found) == 1 and self.chance.random() < 0.3:
            return [f"{flag}={found[0]}"]
        return [flag, *found]

    def value(self, option):
        """Return the words of a value."""
        if isinstance(option.value, values.InputFile):
            return [self.input(option.value)]
        if isinstance(option.value, values.OutputFile):
            return [self.output()]
        if isinstance(option.value, values.Pair):
            return [word for _ in range(2) for word in self.value(Option(option.name, values.Real()))]
        usual, odd = plausible_and_odd(option)
        return [self.chance.choice(usual if self.chance.random() < 0.85 else [*odd, *BAD_NUMBERS])]

    def read(self, path):
        """Return the name of a file in the set's own folder."""
        self.inputs.add(path)
        return f"in/{path.name}"

    def input(self, kind):
        """Return the path of a file to read; most fit the others of the set."""
        chance = self.chance
        if chance.random() < 0.03:
            return chance.choice(("missing", ".", "/dev/null", "", str(ROOT / "README.md")))
        content = "ranges" if isinstance(kind, values.ScalingFile) else kind.content
        if content not in self.pools or chance.random() < 0.02:
            content = chance.choice(("model", "data"))
        pool = self.pools[content]
        mine = [path for path in pool if path.name.startswith(self.stem)]
        path = chance.choice(mine if mine and chance.random() < 0.8 else pool)
        if not kind.repeated and self.stdin is None and chance.random() < 0.03:
            self.stdin = self.read(path)
            return "-"
        return self.read(path)

    def output(self):
        """Return the path of a file to write, in the set's own folder."""
        self.outputs += 1
        usual = f"out{self.outputs}"
        odd = (f"{usual}.gz", f"{usual}.xz", "-", "no/out", "", ".", f"{usual}/", "old")
        return usual if self.chance.random() < 0.7 else self.chance.choice(odd)

    def line(self):
        return shlex.join(["svmfast", *self.words]) + (f" <{self.stdin}" if self.stdin else "")


# --- runs


def run_one(made, folder, as_program):
    """Run a set in `folder`; return its status, negative for a signal, and its seconds of processor time."""
    child = os.fork()
    if child == 0:
        try:
            _become(made, folder, as_program)
        finally:
            os._exit(99)
    _, status, used = os.wait4(child, 0)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what it has started
    code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
    return code, used.ru_utime + used.ru_stime


def _become(made, folder, as_program):
    os.setsid()
    os.chdir(folder)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # as in Python
    signal.alarm(10 * MOST_SECONDS)  # if it waits
    for limit, most in (("AS", ADDRESSES), ("CORE", 0), ("CPU", MOST_SECONDS)):
        resource.setrlimit(getattr(resource, f"RLIMIT_{limit}"), (most, most))
    writing = os.O_WRONLY | os.O_CREAT
    files = ((made.stdin or "/dev/null", os.O_RDONLY), ("stdout", writing), ("stderr", writing))
    for descriptor, (path, flags) in enumerate(files):
        os.dup2(os.open(path, flags, 0o600), descriptor)
    os.closerange(3, 20)
    if as_program:
        os.execv(PROGRAM, ["svmfast", *made.words])
    from svmfast.__main__ import console

    sys.argv = ["svmfast", *made.words]
    console()


def faults(made, folder, status):
    """Return the faults in the files that a set left."""
    out, err = ((folder / name).read_bytes() for name in ("stdout", "stderr"))
    found = []
    if status not in (0, 1, 2):
        return [f"status {status}"]
    if _REMARK.search(err) and not ("--debug" in made.words and status):
        found.append("a trace or a warning of Python")
    if status == 2 and not err.strip():
        found.append("no word about status 2")
    for path in made.inputs:
        if (folder / "in" / path.name).read_bytes() != path.read_bytes():
            found.append(f"the input {path.name} is another")
    if (folder / "old").read_bytes() != OLD and status:
        found.append("an old output is gone")
    for path in folder.rglob("*"):
        if path.name.endswith(".tmp"):
            found.append(f"{path.name} left")
        elif path.is_file() and path.name.startswith("out"):
            if status == 2:
                found.append(f"{path.relative_to(folder)} after status 2")
            elif status == 0 and path.parent == folder:
                found += _unreadable(made, path)
    to_stdout = any(word in ("-", "-o=-", "--output=-") for word in made.words)
    if "--json" in made.words and status == 0 and made.words[0] != "train" and not to_stdout:
        try:
            json.loads(out)
        except ValueError:
            found.append("the report is not JSON")
    return found


def _unreadable(made, path):
    """Return the faults of an existing output."""
    if made.words[0] in ("predict", "frontier", "scale", "export"):
        return [] if path.stat().st_size or made.words[0] == "predict" else [f"{path.name} is empty"]
    try:
        open_model(os.fspath(path))
    except MemoryLimitError:
        return []  # a large model, as requested
    except SvmfastError as error:
        return [f"{path.name} cannot be read again: {error}"]
    return []


def tried(made, folder, as_program):
    """Run a set in a new folder; return its status, its seconds and the faults."""
    (folder / "in").mkdir(parents=True)
    (folder / "old").write_bytes(OLD)
    for path in made.inputs:
        shutil.copy(path, folder / "in")
    status, seconds = run_one(made, folder, as_program)
    return status, seconds, faults(made, folder, status)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first set")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--commands", help="only these, with other sets than a full run")
    parser.add_argument("--show", action="store_true", help="show every command line and what it says")
    options = parser.parse_args()
    names = options.commands.split(",") if options.commands else list(commands())
    numbers = range(options.first, options.first + options.sets)
    sets = ((number, OptionSet(options.seed, number, names)) for number in numbers)
    for name in IMPORTED:
        importlib.import_module(name)
    gc.freeze()  # a fork copies the pages that garbage collection touches
    counts = {name: Counter() for name in names}
    wrong, longest = 0, (0.0, "")
    with tempfile.TemporaryDirectory(prefix="svmfast-options-") as place:
        for number, made in sets:
            folder = Path(place, str(number))
            status, seconds, found = tried(made, folder, number % 50 == 0)
            longest = max(longest, (seconds, made.line()))
            counts[made.words[0]][status] += 1
            if options.show:
                said = (folder / "stderr").read_text(errors="replace")
                print(f"{made.line()} -> {status}\n{said}")
            if found:
                wrong, kept = wrong + 1, KEPT / f"{options.seed}-{number}"
                shutil.rmtree(kept, ignore_errors=True)
                shutil.copytree(folder, kept, symlinks=True)
                print(f"set {number}: {'; '.join(found)}\n  {made.line()}\n  kept: {kept}", flush=True)
            shutil.rmtree(folder, ignore_errors=True)
    for name, by_status in counts.items():
        listed = ", ".join(f"{n} of status {status}" for status, n in sorted(by_status.items()))
        print(f"{name}: {by_status.total()} sets: {listed}")
    print(f"the longest: {longest[0]:.1f} s of processor time, {longest[1]}")
    print(f"{options.sets} sets, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
