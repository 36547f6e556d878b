"""The harness of the measuring scripts: data and models, processes, turns, the machine, tables in pages.

A script declares tables: cases, and a function that measures one and returns lines. `measure` is its command
line: it measures every case whose files exist, prints the tables, and puts them between the markers
``<!-- name -->`` and ``<!-- /name -->`` of --page. Without --data it measures on fixtures/.
(Over 400 lines, since every script takes its pieces from this one place.)
"""

import argparse
import datetime
import importlib.metadata
import json
import lzma
import os
import platform
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from svmfast.formats.svmlight import read_svmlight
from svmfast.rows import Rows

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(sys.executable).parent / "svmfast"
LIMIT = 60.0  # seconds after which a command or call is not repeated

#: Runs a command and writes status, seconds by the clock and of all cores, peak memory. A separate process,
#: and a small one: a child's peak begins with that of the process it was forked from, which may hold much.
METER = """
import resource, subprocess, sys, time
start = time.perf_counter()
status = subprocess.call(sys.argv[1:])
wall = time.perf_counter() - start
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print("\\n", status, wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)
"""


@dataclass(frozen=True)
class Finished:
    """A process that has ended: seconds by the clock and of all cores, peak memory in bytes, its output."""

    wall: float
    cpu: float
    peak: int
    status: int
    out: str


def run(command, *, stdin=subprocess.DEVNULL, statuses=(0,)):
    """Run a process to its end; RuntimeError unless it ends with one of the statuses."""
    words = [sys.executable, "-S", "-E", "-c", METER, *map(str, command)]
    done = subprocess.run(words, stdin=stdin, capture_output=True, text=True, check=True)
    out, _, measured = done.stdout.rpartition("\n ")
    status, wall, cpu, peak = measured.split()
    if int(status) not in statuses:
        raise RuntimeError(f"{shlex.join(map(str, command))}: exit {status}: {done.stderr.strip()}")
    return Finished(float(wall), float(cpu), int(peak), int(status), out)


# --- turns


def in_turn(actions, repeats):
    """Do every action once per round, so that a slow phase of the machine affects all equally."""
    seconds = {name: [] for name in actions}
    for _ in range(repeats):
        for name, action in actions.items():
            if sum(seconds[name]) <= LIMIT:
                seconds[name].append(action())
    return seconds


def medians(actions, repeats):
    """Do every action in turn; return the median of its seconds."""
    return {name: statistics.median(taken) for name, taken in in_turn(actions, repeats).items()}


def process(*command):
    """Return a process as an action."""
    return lambda: run(command).wall


def timed(call, least=0.0, clock=time.perf_counter):
    """Return a call as an action: the seconds of one call, repeated for at least so many seconds."""

    def action():
        count, start = 0, clock()
        while (passed := clock() - start) < least or not count:
            call()
            count += 1
        return passed / count

    return action


# --- data and models


class MissingError(Exception):
    """A file that a case needs is not there."""


@dataclass(frozen=True)
class Case:
    """A LIBSVM model: rows to predict, rows it was trained on, and how `svmfast train` makes it again.

    positive: the label that is +1, all others are -1; first: the number of training rows.
    """

    test: str
    train: str
    options: str
    positive: int | None = None
    first: int | None = None

    def option(self, flag):
        words = self.options.split()
        return float(words[words.index(flag) + 1])


#: The public models by the names of their files, and those of the fixtures.
MODELS = {
    **{f"a9a_g{gamma}": Case("a9a.t", "a9a", f"-c 1 -g {gamma}") for gamma in ("0.01", "0.02", "0.1")},
    **{f"ijcnn1_c{c}": Case("ijcnn1.t", "ijcnn1", f"-c {c} -g 0.05") for c in (1, 10, 100, 250, 1000)},
    "ijcnn1_c32_g2": Case("ijcnn1.t", "ijcnn1", "-c 32 -g 2"),
    "letter_c16_g2": Case("letter.scale.t", "letter.scale", "-c 16 -g 2"),
    "usps_c10": Case("usps.t", "usps", "-c 10 -g 0.0078125"),
    "mnist1vr_c10_g1e-4": Case("mnist.scale.t", "mnist.scale", "-c 10 -g 1e-4", positive=1),
    "mnist": Case("mnist.scale.t", "mnist.scale", "-c 10 -g 0.02"),
    "covtype20k": Case(*(f"covtype20k.libsvm.binary.scale.{end}" for end in ("s20", "s80")), "-c 32 -g 32"),
    "mnist20k": Case("mnist.scale.t", "mnist.scale", "-c 10 -g 0.02", first=20_000),
    "pendigits_g0.125": Case("pendigits.scale.t", "pendigits.scale", "-c 10 -g 0.125"),
    "pendigits_g0.5": Case("pendigits.scale.t", "pendigits.scale", "-c 10 -g 0.5"),
    "satimage": Case("satimage.scale.t", "satimage.scale", "-c 16 -g 2"),
    "phishing": Case("phishing.s20", "phishing.s80", "-c 8 -g 0.1"),
    "w8a": Case("w8a.s20", "w8a.s80", "-c 8 -g 0.05"),
    "magic04": Case("magic04_scale.s20", "magic04_scale.s80", "-c 100 -g 0.5"),
    "svmguide1": Case("svmguide1.scale.t", "svmguide1.scale", "-c 10 -g 2"),
    "abalone": Case("abalone_scale.s20", "abalone_scale.s80", "-s 3 -c 10 -g 0.5"),
    **{
        name: Case(f"{data}.test", f"{data}.train", options)
        for name, data, options in (
            ("photos_c_rbf", "photos", "-c 100 -g 0.01"),
            ("breast_c_rbf", "breast", "-c 10 -g 0.05"),
            ("onehot_c_rbf", "onehot", "-c 5 -g 0.01"),
            ("iris_c_rbf_prob", "iris", "-c 1 -g 0.5"),
            ("diabetes_eps_rbf", "diabetes", "-s 3 -c 100 -g 0.02 -p 5"),
        )
    },
}


def plain_file(where, name, folder, positive=None, first=None):
    """Return `name`, or a copy in `folder`: unpacked, with labels +1 and -1, of the first rows."""
    plain, packed = where / name, where / f"{name}.xz"
    if not plain.exists() and not packed.exists():
        raise MissingError(name)
    if plain.exists() and positive is None and first is None:
        return plain
    out = folder / ".".join(str(part) for part in (name, positive, first) if part is not None)
    if not out.exists():
        with (
            (plain.open if plain.exists() else partial(lzma.open, packed))("rb") as source,
            out.open("wb") as target,
        ):
            for line in islice(source, first):
                if positive is not None:
                    label, _, rest = line.partition(b" ")
                    line = (b"1 " if float(label) == positive else b"-1 ") + rest
                target.write(line)
    return out


class Bench:
    """The options of a run, its folder, and what every script does with files and the program."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.threads, self.repeats = options.threads, options.repeats

    def file(self, name, positive=None, first=None):
        """Return a plain file of data, or of a model if `name` ends so."""
        where = self.options.models if name.endswith(".model") else self.options.data
        return plain_file(where, name, self.folder, positive, first)

    def test(self, name):
        return self.file(MODELS[name].test, MODELS[name].positive)

    def train(self, name):
        return self.file(MODELS[name].train, MODELS[name].positive, MODELS[name].first)

    def model(self, name):
        """Return a model of MODELS; train it if there is no file."""
        try:
            return self.file(f"{name}.model")
        except MissingError:
            made, train = self.folder / f"{name}.model", self.train(name)
            if not made.exists():
                self.svmfast("train", "-m", 1000, *MODELS[name].options.split(), train, made)
            return made

    def read(self, *names):
        """Return the rows of these files, and their labels."""
        paths = [self.file(name) if isinstance(name, str) else name for name in names]
        found = [read_svmlight(path, threads=self.threads) for path in paths]
        return Rows.concatenate([one.rows for one in found]), np.concatenate([one.labels for one in found])

    def svmfast(self, *words, **more):
        return run([PROGRAM, *words, "-q"], **more)

    def report(self, *words):
        """Return the JSON report of a command."""
        return json.loads(self.svmfast(*words, "--json", statuses=(0, 1)).out)

    def predicted(self, model, test):
        out = self.folder / "predicted"
        self.svmfast("predict", test, model, out)
        return np.loadtxt(out)

    def svm_predict(self, model, test):
        """Return svm-predict's answers, computed once for each model and file."""
        out = self.folder / f"{model.name}.{test.name}.answers"
        if not out.exists():
            run([self.tool(), test, model, out])
        return np.loadtxt(out)

    def tool(self):
        if self.options.svm_predict is None:
            sys.exit("no svm-predict; install libsvm-tools or name it with --svm-predict")
        return str(self.options.svm_predict)


def libraries():
    """Return the module of estimators of scikit-learn and, if installed, of scikit-learn-intelex."""
    import sklearn.svm

    found = {"scikit-learn": sklearn.svm}
    try:
        import sklearnex.svm

        found["scikit-learn-intelex"] = sklearnex.svm
    except ImportError:
        print("scikit-learn-intelex is not installed: left out", file=sys.stderr)
    return found


def peers(bench, name, rows):
    """Return predict of these libraries, for the training rows.

    Where most values are zero scikit-learn is faster with sparse rows; the other is with dense ones.
    """
    from scipy.sparse import csr_matrix

    train, labels = bench.read(bench.train(name))
    width, calls = max(rows.n_columns, train.n_columns), {}

    def form(r, sparse):
        if not sparse:
            return Rows(r.indptr, r.indices, r.values, width).to_dense()
        return csr_matrix((r.values, r.indices, r.indptr.astype(np.int32)), shape=(len(r), width))

    for library, module in libraries().items():
        sparse = library == "scikit-learn" and rows.density < 0.3
        made = module.SVC(C=MODELS[name].option("-c"), gamma=MODELS[name].option("-g"), cache_size=1000)
        calls[library] = partial(made.fit(form(train, sparse), labels).predict, form(rows, sparse))
    return calls


# --- the machine


def version_of(tool):
    """Return LIBSVM's version from svm.h in the build folder or from the Debian package."""
    header = tool.resolve().parent / "svm.h"
    if header.exists():
        found = re.search(r"LIBSVM_VERSION (\d)(\d+)", header.read_text())
        if found:
            return f"{found[1]}.{found[2]}"
    owner = _said("dpkg", "-S", str(tool.resolve()))
    if owner:
        return f"{_said('dpkg-query', '-W', '-f', '${Version}', owner.split(':')[0])} (Debian)"
    raise SystemExit(f"{tool}: unknown version; no svm.h next to it and no package owns it")


def _said(*words):
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    return "" if done.returncode else done.stdout.strip()


def machine(threads, svm_predict=None):
    """Return what the numbers depend on: processor, system, versions, commit, day and command.

    The commit is ``-dirty`` if the product differs from it; pages and results that a script writes do not
    count.
    """
    info = Path("/proc/cpuinfo")
    names = re.findall(r"^model name\s*: (.*)$", info.read_text(), re.M) if info.exists() else []
    name, used = (names or [platform.machine()])[0], "1 thread" if threads == 1 else f"{threads} threads"
    found = {"machine": f"{name}, {os.cpu_count()} cores, {used} used"}
    if hasattr(os, "sched_getscheduler") and os.sched_getscheduler(0) in (os.SCHED_FIFO, os.SCHED_RR):
        found["machine"] += ", with real-time priority"
    found["system"] = f"{platform.system()} {platform.release()}, Python {platform.python_version()}"
    for package in ("svmfast", "numpy", "scikit-learn", "scikit-learn-intelex"):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "not installed"
    changed = _said("git", "status", "--porcelain", "--", "svmfast", "pyproject.toml")
    found["commit"] = (_said("git", "describe", "--always") or "unknown") + "-dirty" * bool(changed)
    if svm_predict is not None:
        found["svm-predict"] = f"LIBSVM {version_of(Path(svm_predict))}"
    found["date"] = datetime.date.today().isoformat()
    # Paths of this machine's folders are not published.
    before, folders = ["", *sys.argv], ("--data", "--models")
    shown = ["DIR" if last in folders else word for last, word in zip(before, sys.argv, strict=False)]
    command = f"python {shlex.join(shown)}".replace(f"{ROOT}/", "")
    found["command"] = re.sub(r" --page \S+", "", command)
    return found


def place(found, versions=()):
    """Return the result of :func:`machine` as one line, with these versions."""
    named = "".join(f", {name} {found[name]}" for name in versions if name in found)
    where = f"{found['machine']} ({found['system']}), {found['date']}"
    return f"{where}: svmfast {found['svmfast']} ({found['commit']}){named}"


# --- tables and pages


@dataclass(frozen=True)
class Table:
    """A table: its columns (the first `left` ones are text), its cases, and a function that measures one.

    `cases` are measured with --data, `small` on the fixtures. Tables with equal `marks` are written together.
    """

    name: str
    head: str
    cases: Sequence[Any]
    lines: Callable[[Bench, Any], Iterable[Sequence[str]]]
    small: Sequence[Any] = ()
    marks: str = ""
    left: int = 1
    note: str = ""

    def markdown(self, lines):
        """Return the table in Markdown."""
        heads = self.head.split(" | ")
        rule = ["---" if i < self.left else "---:" for i in range(len(heads))]
        below = ["", self.note] if self.note else []
        return [*(f"| {' | '.join(line)} |" for line in (heads, rule, *lines)), *below, ""]


def put_into(path, tables, name):
    """Replace what stands between the lines ``<!-- name -->`` and ``<!-- /name -->`` of a page."""
    begin, end, text = f"<!-- {name} -->\n", f"<!-- /{name} -->\n", path.read_text()
    if begin not in text or end not in text:
        sys.exit(f"{path}: no lines '{begin.strip()}' and '{end.strip()}' to put the tables between")
    before, rest = text.split(begin, 1)
    path.write_text(before + begin + "\n".join(tables).rstrip() + "\n" + end + rest.split(end, 1)[1])


def options(doc, repeats=3):
    """Return the command line that all scripts share."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of data sets, plain or .xz (default: fixtures)")
    parser.add_argument("--models", type=Path, help="folder of models (default: that of the data)")
    parser.add_argument("--repeats", type=int, default=repeats, help="rounds of turns")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--svm-predict", default=shutil.which("svm-predict"), help="default: on PATH")
    return parser


def measure(doc, tables, *, versions=(), repeats=3, arguments=None):
    """Measure tables: the command line of a script."""
    parser, names = options(doc, repeats), [one.name for one in tables]
    parser.add_argument("--table", action="append", choices=names, help="only this one (repeatable)")
    parser.add_argument("--only", action="append", metavar="WORD", help="only cases that contain this word")
    parser.add_argument("--page", type=Path, help="put complete tables between the markers of this page")
    for flag, how in (arguments or {}).items():
        parser.add_argument(flag, **how)
    asked = parser.parse_args()
    if asked.only and asked.page:
        parser.error("--page takes whole tables, not --only some cases")
    large = asked.data is not None
    if not large:
        asked.data, asked.models = ROOT / "fixtures/data", ROOT / "fixtures/models"
    asked.models = asked.models or asked.data
    chosen = [one for one in tables if one.name in (asked.table or names)]
    found = machine(asked.threads, asked.svm_predict)
    pages = {}
    incomplete = {one.marks or one.name for one in tables if one not in chosen}
    for table in chosen:
        lines, missing = _measured(table, asked, large)
        if missing:
            print(f"{table.name}: left out for want of {', '.join(sorted(missing))}", file=sys.stderr)
            incomplete.add(table.marks or table.name)
        pages.setdefault(table.marks or table.name, []).extend(table.markdown(lines) if lines else [])
    turns = f"; medians of {asked.repeats}, in turn" if asked.repeats > 1 else ""
    where = f"Measured on {place(found, versions)}{turns}."
    for marks, text in pages.items():
        text = [where, "", f"    {found['command']}", "", *text]
        print("\n".join(text))
        if asked.page and marks in incomplete:
            print(f"{asked.page}: {marks} is incomplete and stays as it was", file=sys.stderr)
        elif asked.page:
            put_into(asked.page, text, marks)


def _measured(table, options, large):
    """Measure the cases of a table; return its lines and the names of missing files."""
    lines = []
    missing = set()
    with tempfile.TemporaryDirectory(prefix="svmfast-bench-") as folder:
        bench = Bench(options, Path(folder))
        for case in table.cases if large else table.small:
            if options.only and not any(word in str(case) for word in options.only):
                continue
            try:
                for line in table.lines(bench, case):
                    print(f"{table.name}: {' | '.join(line)}", file=sys.stderr, flush=True)
                    lines.append(line)
            except MissingError as error:
                missing.add(str(error))
    return lines, missing


# --- words of cells


def seconds(value):
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.2f} s" if value < 10 else f"{value:.1f} s"


def spread(values):
    return f"{statistics.mean(values):.2f} ± {statistics.stdev(values) if len(values) > 1 else 0:.2f}"
