"""Common parts of the measuring scripts: processes, their time and memory, turns, the machine."""

from __future__ import annotations

import datetime
import importlib.metadata
import lzma
import os
import platform
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(sys.executable).parent / "svmfast"
LIMIT = 60.0  # seconds after which a command or call is not repeated

#: Runs a command and writes status, seconds by the clock and of all cores, peak memory. A separate process,
#: and a small one: a child's peak begins with that of the process it was forked from, which may hold much.
METER = """
import resource, subprocess, sys, time
start = time.perf_counter()
status = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
wall = time.perf_counter() - start
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(status, wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)
"""


def version_of(tool: Path) -> str:
    """Return LIBSVM's version from svm.h in the build folder or from the Debian package."""
    header = tool.resolve().parent / "svm.h"
    if header.exists():
        found = re.search(r"LIBSVM_VERSION (\d)(\d+)", header.read_text())
        if found:
            return f"{found[1]}.{found[2]}"
    owner = subprocess.run(["dpkg", "-S", str(tool.resolve())], capture_output=True, text=True, check=False)
    if owner.returncode == 0:
        name = owner.stdout.split(":")[0]
        shown = subprocess.run(
            ["dpkg-query", "-W", "-f", "${Version}", name], capture_output=True, text=True, check=True
        )
        return f"{shown.stdout} (Debian)"
    raise SystemExit(f"{tool}: unknown version; no svm.h next to it and no package owns it")


@dataclass(frozen=True)
class Finished:
    """A process that has succeeded: wall-clock seconds, seconds of all cores, peak memory in bytes."""

    wall: float
    cpu: float
    peak: int


def run(command: Sequence[Any], stdin: Any = subprocess.DEVNULL) -> Finished:
    """Run a process to its end; RuntimeError unless it ends with 0."""
    words = [sys.executable, "-S", "-E", "-c", METER, *map(str, command)]
    done = subprocess.run(words, stdin=stdin, capture_output=True, text=True, check=True)
    status, wall, cpu, peak = done.stdout.split()
    if status != "0":
        raise RuntimeError(f"{shlex.join(map(str, command))}: exit {status}: {done.stderr.strip()}")
    return Finished(float(wall), float(cpu), int(peak))


class Samples:
    """Seconds by name, in the order in which they were taken."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = {}

    def add(self, name: str, seconds: float) -> None:
        self.seconds.setdefault(name, []).append(seconds)

    def enough(self, name: str) -> bool:
        return sum(self.seconds.get(name, [])) > LIMIT

    def median(self, name: str) -> float | None:
        return statistics.median(self.seconds[name]) if self.seconds.get(name) else None


def in_turn(actions: dict[str, Callable[[], float]], repeats: int) -> Samples:
    """Do every action once per round, so that a slow phase of the machine affects all equally."""
    samples = Samples()
    for _ in range(repeats):
        for name, action in actions.items():
            if not samples.enough(name):
                samples.add(name, action())
    return samples


def timed(call: Callable[[], Any]) -> Callable[[], float]:
    """Return a call as an action."""

    def action() -> float:
        start = time.perf_counter()
        call()
        return time.perf_counter() - start

    return action


def plain_file(where: Path, name: str, folder: Path, one_against_rest: int | None = None) -> Path:
    """Return `name`, or a plain copy of it or of `name`.xz in `folder`, with labels +1 and -1 on request."""
    plain, packed = where / name, where / f"{name}.xz"
    if plain.exists() and one_against_rest is None:
        return plain
    out = folder / (name if one_against_rest is None else f"{name}.{one_against_rest}vr")
    if not out.exists():
        if not plain.exists() and not packed.exists():
            raise FileNotFoundError(f"neither {plain} nor {packed}")
        with (
            plain.open("rb") if plain.exists() else lzma.open(packed) as source,
            out.open("wb") as target,
        ):
            if one_against_rest is None:
                shutil.copyfileobj(source, target)
            else:
                for line in source:
                    label, _, rest = line.partition(b" ")
                    target.write(b"1 " if float(label) == one_against_rest else b"-1 ")
                    target.write(rest)
    return out


def processor() -> str:
    """Return the processor's name."""
    try:
        info = Path("/proc/cpuinfo").read_text()
        return next(line.split(":")[1].strip() for line in info.splitlines() if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def machine(threads: int | str, svm_predict: str | Path | None = None) -> dict[str, str]:
    """Return everything that the numbers depend on: processor, system, versions, commit, day and command.

    The commit is ``-dirty`` if the product differs from it; pages and results that a script writes do not
    count.
    """
    used = "1 thread" if str(threads) == "1" else f"{threads} threads"
    found = {"machine": f"{processor()}, {os.cpu_count()} cores, {used} used"}
    if hasattr(os, "sched_getscheduler") and os.sched_getscheduler(0) in (os.SCHED_FIFO, os.SCHED_RR):
        found["machine"] += ", with real-time priority"
    found["system"] = f"{platform.system()} {platform.release()}, Python {platform.python_version()}"
    packages = ("svmfast", "numpy", "scikit-learn", "scikit-learn-intelex")
    for name in packages:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    commit = _git("describe", "--always") or "unknown"
    found["commit"] = commit + "-dirty" * bool(
        _git("status", "--porcelain", "--", "svmfast", "pyproject.toml")
    )
    if svm_predict is not None:
        found["svm-predict"] = f"LIBSVM {version_of(Path(svm_predict))}"
    found["date"] = datetime.date.today().isoformat()
    found["command"] = f"python {shlex.join(shown(sys.argv))}"
    return found


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def place(found: dict[str, str], *versions: str) -> str:
    """Return the result of :func:`machine` as one line, with these versions."""
    named = "".join(f", {name} {found[name]}" for name in versions)
    where = f"{found['machine']} ({found['system']}), {found['date']}"
    return f"{where}: svmfast {found['svmfast']} ({found['commit']}){named}"


def shown(words: Sequence[str]) -> list[str]:
    """Return a command line without the paths of this machine's folders of data and models."""
    before = ("", *words)
    folders = ("--data", "--models")
    return ["DIR" if last in folders else word for last, word in zip(before, words, strict=False)]
