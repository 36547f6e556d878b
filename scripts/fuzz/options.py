"""Run every command with random sets of options, and look for forbidden outcomes.

    scripts/fuzz/options [--sets N] [--first I] [--seed S] [--commands a,b] [--show]

Set I of a seed is always the same command line (--first I --sets 1 --show runs it again and shows what it
says). Each runs in its own folder: in a fork of this process, in which everything is imported, and one
in fifty as the installed program. Forbidden are

- a status other than 0, 1 and 2; a Python trace or warning; status 1 or 2 without a word on stderr;
- 60 s of processor time, or ten minutes;
- a temporary file left behind; an output after status 2; an old output changed after status 1 or 2;
- a model that cannot be read again; an invalid JSON report.

A set may take 6 GB of addresses. Prints the number of sets of each command by status, and ends with 1 if
anything was wrong; the folders of wrong ones are kept in build/fuzz-options.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import re
import resource
import shlex
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "build" / "fuzz-options"
sys.path.insert(0, str(ROOT / "tests" / "support"))
sys.path.insert(0, str(ROOT / "scripts" / "fuzz"))

from option_sets import Files, Maker, OptionSet, commands  # noqa: E402
from program import PROGRAM  # noqa: E402

from svmfast.errors import MemoryLimitError, SvmfastError  # noqa: E402

MOST_SECONDS, MOST_BY_THE_CLOCK = 60, 600
ADDRESSES = 6 << 30
#: Modules that commands import on use; importing them once here is faster.
IMPORTED = [
    *("rich.console", "rich.table", "rich.progress", "libsvm.svm", "svmfast.commands"),
    *("scipy.linalg", "scipy.optimize", "scipy.sparse.linalg", "scipy.special"),
    *("sklearn.cluster", "sklearn.kernel_approximation", "sklearn.linear_model", "sklearn.utils.extmath"),
]
OLD = b"an old output\n"
_REMARK = re.compile(rb"^\S+:\d+: \w*Warning: |^Traceback ", re.MULTILINE)


def run_one(made: OptionSet, folder: Path, as_program: bool) -> tuple[int, float]:
    """Run a set in `folder`; return its status, negative for a signal, and its seconds."""
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        try:
            _become(made, folder, as_program)
        finally:
            os._exit(99)
    pause = 0.001
    while True:
        pid, status, used = os.wait4(child, os.WNOHANG)
        if pid:
            code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
            return code, used.ru_utime + used.ru_stime
        if _processor_seconds(child) > MOST_SECONDS or time.monotonic() - began > MOST_BY_THE_CLOCK:
            os.killpg(child, signal.SIGKILL)
            os.wait4(child, 0)
            return -signal.SIGKILL, time.monotonic() - began
        time.sleep(pause)
        pause = min(2 * pause, 0.05)


def _become(made: OptionSet, folder: Path, as_program: bool) -> None:
    os.setsid()
    os.chdir(folder)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # as in Python
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for descriptor, path, flags in (
        (0, made.stdin or "/dev/null", os.O_RDONLY),
        (1, "stdout", os.O_WRONLY | os.O_CREAT),
        (2, "stderr", os.O_WRONLY | os.O_CREAT),
    ):
        opened = os.open(path, flags, 0o600)
        os.dup2(opened, descriptor)
        os.close(opened)
    if as_program:
        os.execv(PROGRAM, ["svmfast", *made.words])
    from svmfast.__main__ import console

    sys.argv = ["svmfast", *made.words]
    console()


def _processor_seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def faults(made: OptionSet, folder: Path, status: int) -> list[str]:
    """Return the faults in the files that a set left."""
    out, err = ((folder / name).read_bytes() for name in ("stdout", "stderr"))
    found: list[str] = []
    if status not in (0, 1, 2):
        found.append("killed after its time" if status == -signal.SIGKILL else f"status {status}")
        return found
    debug = "--debug" in made.words
    if _REMARK.search(err) and not (debug and status):
        found.append("a trace or a warning of Python")
    if status == 2 and not err.strip():
        found.append("no word about status 2")
    for path in made.inputs:
        if (folder / "in" / path.name).read_bytes() != path.read_bytes():
            found.append(f"the input {path.name} is another")
    if (folder / "old").read_bytes() != OLD and status:
        found.append("an old output is gone")
    for path in folder.rglob("*"):
        name = path.name
        if name.endswith(".tmp"):
            found.append(f"{name} left")
        elif status == 2 and path.is_file() and name.startswith("out"):
            found.append(f"{path.relative_to(folder)} after status 2")
        elif status == 0 and path.is_file() and name.startswith("out") and path.parent == folder:
            found += _unreadable(made, path)
    if "--json" in made.words and status == 0 and made.words[0] != "train" and not _to_stdout(made):
        try:
            json.loads(out)
        except ValueError:
            found.append("the report is not JSON")
    return found


def _to_stdout(made: OptionSet) -> bool:
    return any(word in ("-", "-o=-", "--output=-") for word in made.words)


def _unreadable(made: OptionSet, path: Path) -> list[str]:
    """Return the faults of an existing output."""
    from svmfast.formats.model_files import open_model

    if made.words[0] in ("predict", "frontier", "scale", "export"):
        return [] if path.stat().st_size or made.words[0] == "predict" else [f"{path.name} is empty"]
    try:
        open_model(os.fspath(path))
    except MemoryLimitError:
        return []  # a large model, as requested
    except SvmfastError as error:
        return [f"{path.name} cannot be read again: {error}"]
    return []


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first set")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--commands", default="", help="only these, with other sets than a full run")
    parser.add_argument("--list", action="store_true", help="print the command lines, and run nothing")
    parser.add_argument("--show", action="store_true", help="show every command line and what it says")
    options = parser.parse_args()
    if not hasattr(os, "fork") or not Path("/proc/self/stat").exists():
        sys.exit("scripts/fuzz/options needs Linux")
    for name in () if options.list else IMPORTED:
        importlib.import_module(name)
    everything = commands()
    gc.freeze()  # a fork copies the pages that garbage collection touches
    counts: dict[str, Counter[str]] = {name: Counter() for name in everything}
    wrong, done = 0, 0
    longest = (0.0, "")
    with tempfile.TemporaryDirectory(prefix="svmfast-options-") as place:
        maker = Maker(Files.make(Path(place)), options.seed, filter(None, options.commands.split(",")))
        for number in range(options.first, options.first + options.sets):
            made = maker.make(number)
            line = shlex.join(["svmfast", *made.words]) + (f" <{made.stdin}" if made.stdin else "")
            if options.list:
                print(line)
                continue
            folder = Path(tempfile.mkdtemp(dir=place))
            (folder / "old").write_bytes(OLD)
            (folder / "in").mkdir()
            for path in made.inputs:
                shutil.copy(path, folder / "in")
            status, seconds = run_one(made, folder, as_program=number % 50 == 0)
            found = faults(made, folder, status)
            longest = max(longest, (seconds, line))
            done += 1
            counts[made.words[0]][str(status)] += 1
            if options.show:
                print(line, f"-> {status}", (folder / "stderr").read_text(errors="replace"), sep="\n")
            if found:
                wrong += 1
                KEPT.mkdir(parents=True, exist_ok=True)
                kept = KEPT / f"{options.seed}-{number}"
                shutil.rmtree(kept, ignore_errors=True)
                shutil.copytree(folder, kept, symlinks=True)
                (kept / "command").write_text(line + "\n")
                print(f"set {number}: {'; '.join(found)}\n  {line}\n  kept: {kept}", flush=True)
            shutil.rmtree(folder, ignore_errors=True)
    if options.list:
        return 0
    for name, by_status in counts.items():
        if by_status:
            counts = ", ".join(f"{n} of status {status}" for status, n in sorted(by_status.items()))
            print(f"{name}: {by_status.total()} sets: {counts}")
    print(f"the longest: {longest[0]:.1f} s of processor time, {longest[1]}")
    print(f"{done} sets, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
