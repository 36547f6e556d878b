"""The target `schema` of scripts/fuzz/inputs: models whose sizes, starts and numbers have edge values.

First, every size, count, start and scalar of every seed is set to every edge value, one at a time; then come
random mutations, several at once. These come in parts of 20,000, each in its own process and derived from the
run's seed and the part's number alone. So a run can continue where it ended (--progress keeps a line for each
part), a part can be run again, and memory stays bounded. (A run of one part skips the first stage.) Every
input is loaded, described and asked to predict, with probabilities and error bounds where the model has them;
it must be refused in one line with status 2, or give finite values, within 200 MB and 20 s of processor time.
The input being read is in build/fuzz/schema-SEED-PART-reading; a crash leaves it there.
"""

from __future__ import annotations

import json
import mmap
import os
import random
import re
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
from meaning import FROZEN
from model_mutations import every_edge, mutate
from sealing import resealed

from svmfast.errors import SvmfastError
from svmfast.evaluation.describe import describe_model
from svmfast.formats.model_files import open_model
from svmfast.models.answer import answer
from svmfast.models.expansion import KernelExpansion
from svmfast.models.requirements import Columns, missing_probability
from svmfast.rows import Rows

ROOT = Path(__file__).resolve().parents[2]
SANITIZED = "SVMFAST_SANITIZED" in os.environ
PART = 20_000
#: The number of the part that tries every edge of every size, count and start, one at a time.
SYSTEMATIC = -1
LONGEST = 12_000
#: Rows of ordinary numbers, one without entries, and one with columns that no seed has.
ROWS = Rows.from_dense([[0.5, -1.0, 0.0, 2.0, 0.0], [0.0] * 5, [-3.0, 0.25, 7.5, -0.125, 1.0]])
#: Peak of memory above which an input has taken too much, in KB: 200 MB, the interpreter's own included.
MOST_MEMORY = 200_000_000 // 1024


def use_model(text: bytes) -> str:
    """Load a model, describe it and predict: accept a SvmfastError, or finite values in little memory."""
    try:
        model = open_model(text).model
        describe_model(model)
        exact = getattr(model, "embedded_exact", None)
        answered = answer(model, ROWS, exact=None if model.head.is_regression else exact)
        values, labels = model.decision_values(ROWS), answered.predicted
        if missing_probability(model) is None:
            shares = answer(model, ROWS, columns=Columns(probability=True)).probabilities
            shares = np.empty(0) if shares is None else shares  # a regression has none for a row
            assert ((shares >= 0) & (shares <= 1 + 1e-9)).all(), f"probabilities {shares}"
        if model.certifies:
            bounds = answer(model, ROWS, columns=Columns(certify=True)).error_bounds
            assert bounds is not None
            assert (bounds >= 0).all(), f"error bounds {bounds}"
    except SvmfastError as error:
        if error.exit_code != 2 or "\n" in str(error):
            raise AssertionError(f"not one line with status 2: {error}") from error
        return f"{type(error).__name__} {re.sub(r'[0-9]+', '', str(error))[:60]}"
    if not isinstance(model, KernelExpansion):  # LIBSVM's models answer as svm-predict does
        assert np.isfinite(values).all(), f"decision values {values}"
        assert np.isfinite(labels).all(), f"labels {labels}"
    return f"svmfast-model {model.kind}"


def peak_kib() -> int:
    """Return the most memory held by this process; getrusage also counts its parent before exec."""
    status = Path("/proc/self/status")
    if status.exists():
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        if found:
            return int(found[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def schema_seeds() -> list[bytes]:
    """Return small models of every kind: frozen ones, and some that once caused faults (attacks)."""
    paths = [*sorted(FROZEN.glob("*/*.model")), *sorted((ROOT / "tests/robustness/attacks").glob("*.model"))]
    texts = [path.read_bytes() for path in paths]
    return [text for text in texts if text.startswith(b"svmfast-model") and len(text) < 8000]


def run_part(part: int, runs: int, seed: int, kept: Path, deadline: float) -> dict[str, object]:
    """Try `runs` inputs; return the counts, or under "failed" the fault."""
    chance = random.Random(f"{seed} {part}")
    seeds = schema_seeds()
    answers: Counter[str] = Counter()
    good: list[bytes] = []  # models that are accepted lead deeper than those that are refused
    odd = list(seeds)
    edges = (changed for text in seeds for changed in every_edge(text))
    with kept.open("w+b") as file:
        file.truncate(4 * LONGEST)
        reading = mmap.mmap(file.fileno(), 0)
    text = b""
    done = 0
    try:
        while done < runs and time.monotonic() < deadline:
            if part == SYSTEMATIC:
                text = next(edges, b"")
                if not text:
                    break
            elif part == 0 and done < len(seeds):
                text = seeds[done]
            else:
                pool = good if good and chance.random() < 0.8 else odd
                text = mutate(chance.choice(pool), seeds, chance)[: 4 * LONGEST - 1]
            reading[: len(text) + 1] = text + b"\0"
            signal.setitimer(signal.ITIMER_PROF, 20)  # of processor time: the process may be stopped
            text = resealed(text)[: 4 * LONGEST - 1]  # otherwise nearly all would end at the checksum
            reading[: len(text) + 1] = text + b"\0"
            answered = use_model(text)
            signal.setitimer(signal.ITIMER_PROF, 0)
            done += 1
            answers[answered] += 1
            if len(text) < LONGEST:
                if answered.startswith("svmfast-model"):
                    if len(good) < 300:
                        good.append(text)
                    elif chance.random() < 0.05:
                        good[chance.randrange(len(good))] = text
                elif answers[answered] == 1 and done > len(seeds):
                    odd.append(text)
            if not SANITIZED and done % 16 == 0 and peak_kib() > MOST_MEMORY:
                raise AssertionError(f"{peak_kib() // 1024} MiB, by this input or the fifteen before it")
    except BaseException as error:
        signal.setitimer(signal.ITIMER_PROF, 0)
        kept.write_bytes(text)
        return {"part": part, "failed": f"{type(error).__name__}: {error}\nthe input is {kept}"}
    kept.unlink()
    accepted = sum(n for a, n in answers.items() if a.startswith("svmfast-model"))
    kinds = sorted(answers)
    return {"part": part, "inputs": done, "accepted": accepted, "answers": kinds, "kib": peak_kib()}


def forked(work: Callable[[], dict[str, object]], kept: Path) -> dict[str, object]:
    """Return the result of `work`, run in a separate process."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        status = 1
        try:
            with os.fdopen(write, "w") as pipe:
                json.dump(work(), pipe)
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read) as pipe:
        answered = pipe.read()
    _, status = os.waitpid(child, 0)
    if status == 0 and answered:
        found: dict[str, object] = json.loads(answered)
        return found
    if kept.exists():
        kept.write_bytes(kept.read_bytes().split(b"\0", 1)[0])
    return {"failed": f"the process ended with status {status}\nthe input is {kept}"}


def hang(_signal: int, _frame: object) -> None:
    raise AssertionError("20 s of processor time on one input")


def run_schema(runs: int, seconds: float, seed: int, build: Path, progress: Path | None, keep: bool) -> str:
    """Try `runs` inputs, including those that `progress` already counts; end the program at a failure.

    With `keep`, a failed input is kept and noted, and the next part begins.
    """
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, resource.getrlimit(resource.RLIMIT_AS)[1]))
    signal.signal(signal.SIGPROF, hang)
    build.mkdir(parents=True, exist_ok=True)
    parts: list[dict[str, object]] = []
    if progress is not None and progress.exists():
        parts = [json.loads(line) for line in progress.read_text().splitlines()]
    deadline = time.monotonic() + seconds
    have = {part["part"] for part in parts}
    for part in range(SYSTEMATIC if runs > PART else 0, -(-runs // PART)):
        if part in have or time.monotonic() >= deadline:
            continue
        kept = build / f"schema-{seed}-{part}-reading"
        many = sys.maxsize if part == SYSTEMATIC else min(PART, runs - part * PART)
        found = forked(lambda: run_part(part, many, seed, kept, deadline), kept)  # noqa: B023
        if "failed" in found:
            answered = f"schema, seed {seed}, part {part}: {found['failed']}"
            if not keep:
                sys.exit(answered)
            print(answered, flush=True)
            continue
        parts.append(found)
        if progress is not None:
            with progress.open("a") as file:
                file.write(json.dumps(found) + "\n")
    done = sum(int(str(part["inputs"])) for part in parts)
    accepted = sum(int(str(part["accepted"])) for part in parts)
    kinds = {kind for part in parts for kind in list(part["answers"])}  # type: ignore[call-overload]
    peak = max((int(str(part["kib"])) for part in parts), default=0) // 1024
    return f"{done:,} inputs, {accepted:,} accepted, {len(kinds)} kinds of answer, at most {peak} MiB in all"
