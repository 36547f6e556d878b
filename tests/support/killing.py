"""Kill the program at random moments and check what is left: the old output, or the complete new one."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from program import FIXTURES, PATIENCE, PROGRAM, data, model

OLD = b"what stood there before\n"
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
#: The program's message when a signal ends it; before its first line runs, Python ends in its own way.
STATUS = {
    signal.SIGKILL: {-9},
    signal.SIGTERM: {143, -15},
    signal.SIGINT: {130, -2, 1},
    signal.SIGHUP: {129, -1},
}


@dataclass
class Job:
    """A command that writes the file `out`, how long it takes, and what it then holds."""

    words: list[str]
    expected: bytes = b""
    seconds: float = 0.0


@dataclass
class Tally:
    """The outcomes of the runs."""

    runs: int = 0
    left: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


def jobs(folder: Path, scale: int = 1) -> dict[str, Job]:
    """Return one job for each command; `scale` makes them longer. Writes their input into `folder`."""
    rows = folder / "rows"
    rows.write_bytes(data("photos.test").read_bytes() * (10 * scale))
    photos = str(FIXTURES / "data" / "photos.train")
    return {
        "approximate": Job(["approximate", str(model("odd_c_rbf")), "-q", "--force", "-o", "out"]),
        "compress": Job(
            [
                *("compress", str(model("photos_c_rbf")), "-q", "-o", "out", "--data", photos),
                *("--sv", "8", "--start", "kmeans", "--iterations", str(10 * scale)),
            ]
        ),
        "budget-train": Job(
            ["budget-train", photos, "out", "-q", "-g", "1", "-B", "50", "--passes", str(2 * scale)]
        ),
        "predict": Job(["predict", "-q", str(rows), str(model("photos_c_rbf")), "out"]),
    }


def start(job: Job, folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [PROGRAM, *job.words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def measure(job: Job, folder: Path) -> None:
    """Run the job once without a signal."""
    began = time.monotonic()
    process = start(job, folder)
    _, message = process.communicate(timeout=300 * PATIENCE)
    assert process.returncode == 0, message
    job.seconds = time.monotonic() - began
    job.expected = (folder / "out").read_bytes()
    (folder / "out").unlink()


def kill_once(job: Job, folder: Path, number: signal.Signals, chance: random.Random, tally: Tally) -> None:
    """Start the job, with or without an old output, end it at a random moment, and check the result."""
    before = chance.random() < 0.5
    out = folder / "out"
    if before:
        out.write_bytes(OLD)
    process = start(job, folder)
    time.sleep(chance.random() * 1.1 * job.seconds)
    process.send_signal(number)
    _, message = process.communicate(timeout=300 * PATIENCE)
    where = f"{job.words[0]} {number.name}"
    content = out.read_bytes() if out.exists() else None
    tally.runs += 1
    if content == job.expected:
        tally.left["new"] += 1
    elif content == (OLD if before else None):
        tally.left["old"] += 1
    else:
        tally.faults.append(f"{where}: {-1 if content is None else len(content)} bytes are left")
    if process.returncode == 0:
        if content != job.expected:
            tally.faults.append(f"{where}: status 0 without the output")
    elif process.returncode not in STATUS[number]:
        tally.faults.append(f"{where}: status {process.returncode}")
    if process.returncode in (0, 129, 130, 143) and message:
        tally.faults.append(f"{where}: status {process.returncode} and {message[-300:]!r}")
    litter = [p for p in folder.iterdir() if p.name.startswith(".out")]
    if litter and number != signal.SIGKILL:
        tally.faults.append(f"{where}: {litter[0].name} is left")
    tally.left["litter of SIGKILL"] += len(litter)
    for path in [*litter, out]:
        path.unlink(missing_ok=True)
