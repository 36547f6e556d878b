"""Kill the program at random moments and check what is left: the old output, or the complete new one."""

import signal
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field

from program import PATIENCE, PROGRAM, data, model

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


def jobs(folder):
    """Return one job for each command. Writes their input into `folder`."""
    rows, photos = folder / "rows", data("photos.train")
    rows.write_bytes(data("photos.test").read_bytes() * 10)
    exact, odd = model("photos_c_rbf"), model("odd_c_rbf")
    lines = (
        f"approximate {odd} -q --force -o out",
        f"compress {exact} -q -o out --data {photos} --sv 8 --start kmeans --iterations 10",
        f"budget-train {photos} -o out -q -g 1 -B 50 --passes 2",
        f"predict -q {rows} {exact} out",
    )
    return {line.split()[0]: Job(line.split()) for line in lines}


def start(job, folder):
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([PROGRAM, *job.words], cwd=folder, **pipes)


def measure(job, folder):
    """Run the job once without a signal."""
    began = time.monotonic()
    process = start(job, folder)
    _, message = process.communicate(timeout=300 * PATIENCE)
    assert process.returncode == 0, message
    job.seconds = time.monotonic() - began
    job.expected = (folder / "out").read_bytes()
    (folder / "out").unlink()


def kill_once(job, folder, number, chance, tally):
    """Start the job, with or without an old output, end it at a random moment, and check the result."""
    out, before = folder / "out", OLD if chance.random() < 0.5 else None
    if before is not None:
        out.write_bytes(before)
    process = start(job, folder)
    time.sleep(chance.random() * 1.1 * job.seconds)
    process.send_signal(number)
    _, message = process.communicate(timeout=300 * PATIENCE)
    content, status = out.read_bytes() if out.exists() else None, process.returncode
    litter = [path for path in folder.iterdir() if path.name.startswith(".out")]
    tally.runs += 1
    tally.left["new"] += content == job.expected
    tally.left["old"] += content == before
    tally.left["litter of SIGKILL"] += len(litter)
    for wrong, what in (
        (content not in (job.expected, before), f"{-1 if content is None else len(content)} bytes are left"),
        (status == 0 and content != job.expected, "status 0 without the output"),
        (status not in STATUS[number] | {0}, f"status {status}"),
        (status in (0, 129, 130, 143) and message, f"status {status} and {message[-300:]!r}"),
        (litter and number != signal.SIGKILL, f"{litter} is left"),
    ):
        if wrong:
            tally.faults.append(f"{job.words[0]} {number.name}: {what}")
    for path in [*litter, out]:
        path.unlink(missing_ok=True)
