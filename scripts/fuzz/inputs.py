"""Feed the readers damaged files and compare their results with independent slow readers.

    scripts/fuzz/inputs [--runs N] [--model-runs N] [--seed S] [--only tokenizer,container,...]

Six targets, each until its number of inputs or its share of --seconds is reached:

- tokenizer: the native reader of data and support vectors (scripts/fuzz/native), built with
  AddressSanitizer and UndefinedBehaviorSanitizer, against a slow C++ reader. With clang++ it runs under
  libFuzzer, which is guided by coverage; with g++ alone under a driver that changes seeds at random.
  --fast leaves the sanitizers out.
- container, libsvm: whole model readers. An input is refused with one clear error, or the model that was
  read has the content of the file (tests/support/meaning.py). Inputs with a new kind of answer become seeds.
- schema: models whose sizes, starts and counts lie at the edges of their types (scripts/fuzz/schema.py), each
  loaded, described and asked to predict: one clear error, or finite values, in 200 MB.
- data: whole data files against tests/support/svmlight_twin.py, in pieces and by several threads.
- containers: estimators and tables in other libraries' formats (scripts/fuzz/containers.py).

Every target but the first runs in processes of at most 4 GB, and an input counts as a hang after 20 s of
processor time (under libFuzzer, which knows no other clock, after 300 s). Prints the number of inputs of each
target and ends with 1 at the first failure; the input is kept in build/fuzz, also after a crash.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "fuzz"
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "scripts" / "fuzz")]
SANITIZED = "SVMFAST_SANITIZED" in os.environ

from meaning import DAMAGE, FROZEN, alike, meaning  # noqa: E402
from sealing import resealed  # noqa: E402

from svmfast.errors import DataFormatError, EmptyDataError, ModelFormatError  # noqa: E402
from svmfast.formats.model_files import model_bytes, open_model  # noqa: E402
from svmfast.models.expansion import KernelExpansion  # noqa: E402
from svmfast.rows import Rows  # noqa: E402

SOURCES = ("svmlight.cpp", "text.cpp", "interrupt.cpp")
LONGEST = 160  # most faults show in short texts, and short texts are fast

# --- the native reader


def native_seeds() -> list[bytes]:
    """Return the seeds of the tokenizer: its two bytes of options, then text."""
    found: list[bytes] = []
    for path in sorted((ROOT / "tests/robustness/bad/data").iterdir()):
        shape = 4 if path.name.startswith("dense") else 6 if path.name.startswith(("pre", "serial")) else 0
        for flags in (shape, shape | 8, shape | 65, shape | 16):
            # Sixteen thousand plain characters take a hundred times as long as a short text: few of them.
            for plain in (0, 40, 250) if flags & 64 else (0, 40):
                found.append(bytes([flags, plain]) + path.read_bytes()[:2000])
    for path in sorted((ROOT / "fixtures/data").iterdir()):
        found.append(b"\0\0" + b"".join(path.read_bytes().splitlines(keepends=True)[:3])[:700])
    models = [*(ROOT / "fixtures/models").iterdir(), *(ROOT / "tests/robustness/bad/models").glob("*.model")]
    for path in sorted(models):
        _, start, vectors = path.read_bytes().partition(b"\nSV\n")
        if start:
            found.append(b"\x80\0" + b"".join(vectors.splitlines(keepends=True)[:4])[:600])
    return found


def build(fast: bool) -> tuple[Path, bool]:
    """Compile the target; return it, and whether it is libFuzzer's."""
    compiler = shutil.which("clang++")
    guided = compiler is not None and not fast
    native, core = ROOT / "scripts/fuzz/native", ROOT / "svmfast/_core"
    sources = [native / "tokenizer.cpp", *(core / name for name in SOURCES)]
    flags = ["-std=gnu++17", "-O2", "-g1", "-pthread", f"-I{core}"]
    if not guided:
        sources.append(native / "driver.cpp")
    if not fast:
        sanitizers = "fuzzer,address,undefined" if guided else "address,undefined"
        flags += [f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all"]
    if guided:
        flags.append("-fno-sanitize-coverage=trace-cmp")  # half of the time, and no branch more is found
    BUILD.mkdir(parents=True, exist_ok=True)
    program = BUILD / f"tokenizer{'-fast' if fast else ''}"
    words = [compiler if guided else os.environ.get("CXX", "g++"), *flags, *sources, "-o", program]
    subprocess.run([str(word) for word in words], check=True)
    return program, guided


def run_native(runs: int, seconds: float, seed: int, fast: bool) -> str:
    program, guided = build(fast)
    folder, corpus = BUILD / "tokenizer-seeds", BUILD / "tokenizer-corpus"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for i, text in enumerate(native_seeds()):
        (folder / f"{i:04d}").write_bytes(text)
    environment = {**os.environ, "ASAN_OPTIONS": "quarantine_size_mb=1:malloc_context_size=0:detect_leaks=1"}
    if guided:
        corpus.mkdir(exist_ok=True)
        arguments = [f"-runs={runs}", f"-max_total_time={max(1, round(seconds))}", f"-max_len={LONGEST}"]
        arguments += [f"-seed={seed + 1}", "-timeout=300", "-rss_limit_mb=4096", "-print_final_stats=1"]
        arguments += [f"-artifact_prefix={BUILD}/tokenizer-", str(corpus), str(folder)]
    else:
        arguments = [str(runs), str(seed), str(round(seconds)), str(BUILD / "tokenizer-failed")]
        arguments += [str(path) for path in sorted(folder.iterdir())]
    done = subprocess.run(
        [program, *arguments], capture_output=True, text=True, env=environment, errors="replace"
    )
    if done.returncode:
        sys.exit(f"tokenizer: failed\n{(done.stdout + done.stderr)[-4000:]}")
    if not guided:
        how = "without sanitizers" if fast else "under AddressSanitizer and UndefinedBehaviorSanitizer"
        return f"{done.stdout.split()[0]} inputs {how}, not guided"
    executed = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    coverage = re.findall(r"cov: (\d+)", done.stderr)
    assert executed is not None
    return f"{int(executed[1]):,} inputs under sanitizers, guided by coverage ({coverage[-1]} edges)"


# --- targets in Python


@dataclass(frozen=True)
class Target:
    """What reads an input and returns the kind of answer, seeds, and what changes them.

    edges: inputs that are tried one after the other, in a long run; part: inputs of a process; deeper: share
    of inputs made from accepted ones, which lead deeper; most_kib: peak of memory.
    """

    read: Callable[[bytes], str]
    seeds: list[bytes]
    change: Callable[[bytes, list[bytes], random.Random], bytes]
    edges: Callable[[], Iterator[bytes]] | None = None
    part: int = sys.maxsize
    deeper: float = 0.0
    most_kib: int | None = None


PIECES = [
    *DAMAGE,
    b"nan",
    b"inf",
    b"1e999",
    b"99999999999",
    b"-1",
    b"0.5",
    b'{"kind":',
    b"],",
    b"SV\n",
    b"\r\n",
]
PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"\x04\x22\x4d", b"\x1f\x9d")
ROWS = Rows.from_dense([[0.5, -1.0, 0.0, 2.0], [0.0] * 4])


def damage(text: bytes, seeds: list[bytes], chance: random.Random) -> bytes:
    out = bytearray(text)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        at = chance.randrange(len(out) + 1)
        how = chance.randrange(6)
        if how == 0 and at < len(out):
            out[at] ^= 1 << chance.randrange(8)
        elif how == 1:
            del out[at : at + chance.choice((1, 1, 2, 8, 60))]
        elif how == 2:  # a line more, or a line less
            lines = out.splitlines(keepends=True) or [b""]
            i = chance.randrange(len(lines))
            lines[i : i + chance.randrange(2)] = [lines[chance.randrange(len(lines))]] * chance.randrange(2)
            out = bytearray(b"".join(lines))
        elif how == 3:
            other = chance.choice(seeds)
            start = chance.randrange(len(other) + 1)
            out[at:at] = other[start : start + chance.randrange(80)]
        else:
            out[at : at + chance.choice((0, 1, 1, 3))] = chance.choice(PIECES)
    return bytes(out)


def read_model(text: bytes) -> str:
    """Return the kind of answer for a model file; raise AssertionError for a wrong one."""
    text = resealed(text)  # otherwise nearly all would end at the checksum
    try:
        loaded = open_model(text)
    except ModelFormatError as error:
        if error.exit_code != 2 or "\n" in str(error):
            raise AssertionError(f"not one line with status 2: {error}") from error
        return f"{type(error).__name__} {re.sub(r'[0-9]+', '', error.what)[:40]}"
    model = loaded.model
    written, result = meaning(model_bytes(model)), meaning(text)
    assert alike(written, result), f"{written} instead of {result}"
    if not (isinstance(model, KernelExpansion) and model.kernel.kind == "precomputed"):
        assert model.decision_values(ROWS).shape == (2, model.head.n_functions)
    return f"{loaded.format} {len(loaded.warnings)}"


def model_seeds(own: bool) -> list[bytes]:
    paths = [*FROZEN.glob("*/*.model"), *(ROOT / "fixtures/models").iterdir()]
    paths += (ROOT / "tests/robustness/bad/models").glob("*.model")
    found = [path.read_bytes() for path in sorted(paths)]
    return [text for text in found if text.startswith(b"svmfast-model") == own and 0 < len(text) < 3000]


def read_data(text: bytes) -> str:
    from reading import arguments
    from svmlight_twin import TwinError, parse

    from svmfast.formats.svmlight import read_svmlight

    flags = text[0] if text else 0
    how = {"lenient": bool(flags & 1), "zero_based": bool(flags & 2), "dense": flags % 8 == 4}
    body = text[1:]
    if body.startswith(PACKED):
        return "packed"
    try:
        labels, rows, width = parse(body, **how)
        expected: tuple[object, ...] = (labels, [c for r in rows for c in r], width) if rows else ("empty",)
    except TwinError as error:
        expected = ("refused", error.line)
    try:
        data = read_svmlight(body, threads=1 + flags % 3, **arguments(**how))
        entries = list(zip(data.rows.indices.tolist(), data.rows.values.tolist(), strict=True))
        got: tuple[object, ...] = (data.labels.tolist(), entries, data.rows.n_columns)
    except EmptyDataError:
        got = ("empty",)
    except DataFormatError as error:
        got = ("refused", error.line)
    assert got == expected, f"{got} instead of {expected}"
    return f"{got[0]}" if isinstance(got[0], str) else "read"


def target(name: str) -> Target:
    if name == "containers":
        import containers

        return Target(containers.reader(BUILD), containers.seeds(), containers.change)
    if name == "schema":
        import schema

        seeds = schema.seeds()
        edges = lambda: (changed for text in seeds for changed in schema.every_edge(text))  # noqa: E731
        # 200 MB, the interpreter's own included.
        return Target(schema.use_model, seeds, schema.mutate, edges, 20_000, 0.8, 200_000_000 // 1024)
    if name == "data":
        seeds = [bytes([i % 7]) + text[2:] for i, text in enumerate(native_seeds()) if len(text) > 2]
        return Target(read_data, seeds, damage)
    return Target(read_model, model_seeds(name == "container"), damage)


def peak_kib() -> int:
    """Return the most memory held by this process; getrusage also counts its parent before exec."""
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return int(found[1]) if found else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def hang(_signal: int, _frame: object) -> None:
    raise AssertionError("20 s of processor time on one input")


def inputs_of(
    aim: Target, part: int, chance: random.Random, good: list[bytes], odd: list[bytes]
) -> Iterator[bytes]:
    """Yield the inputs of a part: the edges, or the seeds and then changes of seeds and of what was found."""
    if part < 0 and aim.edges is not None:
        yield from aim.edges()
        return
    yield from aim.seeds if part == 0 else ()
    while True:
        pool = good if good and chance.random() < aim.deeper else odd
        yield aim.change(chance.choice(pool), aim.seeds, chance)


def run_part(aim: Target, part: int, runs: int, seed: int, kept: Path, deadline: float) -> dict[str, Any]:
    """Try `runs` inputs; return the counts, or under "failed" the fault."""
    signal.signal(signal.SIGPROF, hang)
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, resource.getrlimit(resource.RLIMIT_AS)[1]))
    chance, answers = random.Random(f"{seed} {part}"), Counter[str]()
    good: list[bytes] = []
    odd, text = list(aim.seeds), b""
    kept.write_bytes(b"\0" * (1 << 20))
    with kept.open("r+b") as file:
        reading = mmap.mmap(file.fileno(), 0)
    try:
        for text in inputs_of(aim, part, chance, good, odd):
            done = answers.total()
            if done >= runs or time.monotonic() > deadline:
                break
            reading[:8], reading[8 : len(text) + 8] = len(text).to_bytes(8, "big"), text
            signal.setitimer(signal.ITIMER_PROF, 20)  # of processor time: the process may be stopped
            answer = aim.read(text)
            signal.setitimer(signal.ITIMER_PROF, 0)
            answers[answer] += 1
            if accepted(answer) and aim.deeper and len(text) < 12_000:
                if len(good) < 300:
                    good.append(text)
                elif chance.random() < 0.05:
                    good[chance.randrange(300)] = text
            elif answers[answer] == 1 and done >= len(aim.seeds) and len(text) < 6000:
                odd.append(text)
            if aim.most_kib and not SANITIZED and done % 16 == 0 and peak_kib() > aim.most_kib:
                raise AssertionError(f"{peak_kib() // 1024} MiB, by this input or the fifteen before it")
    except BaseException as error:
        signal.setitimer(signal.ITIMER_PROF, 0)
        kept.write_bytes(text)
        return {"failed": f"{type(error).__name__}: {error}\nthe input is {kept}"}
    kept.unlink()
    right = sum(n for answer, n in answers.items() if accepted(answer))
    return {"inputs": answers.total(), "accepted": right, "answers": sorted(answers), "kib": peak_kib()}


def accepted(answer: str) -> bool:
    return answer.startswith(("libsvm-model", "svmfast-model", "read"))


def forked(work: Callable[[], dict[str, Any]], kept: Path) -> dict[str, Any]:
    """Return the result of `work`, run in a separate process; keep the input of one that crashes."""
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
        found: dict[str, Any] = json.loads(answered)
        return found
    if kept.exists():
        text = kept.read_bytes()
        kept.write_bytes(text[8 : 8 + int.from_bytes(text[:8], "big")])
    return {"failed": f"the process ended with status {status}\nthe input is {kept}"}


def run_python(name: str, runs: int, seconds: float, seed: int) -> str:
    """Try `runs` inputs, in processes; end the program at a failure."""
    BUILD.mkdir(parents=True, exist_ok=True)
    aim, deadline, parts = target(name), time.monotonic() + seconds, []
    first = -1 if aim.edges is not None and runs > aim.part else 0
    for part in range(first, -(-runs // aim.part)):
        kept = BUILD / f"{name}-{seed}-{part}-failed"
        many = sys.maxsize if part < 0 else min(aim.part, runs - part * aim.part)
        found = forked(lambda: run_part(aim, part, many, seed, kept, deadline), kept)  # noqa: B023
        if "failed" in found:
            sys.exit(f"{name}, seed {seed}, part {part}: {found['failed']}")
        parts.append(found)
    done, right = (sum(part[key] for part in parts) for key in ("inputs", "accepted"))
    kinds = {kind for part in parts for kind in part["answers"]}
    peak = max(part["kib"] for part in parts) // 1024
    return f"{done:,} inputs, {right:,} accepted, {len(kinds)} kinds of answer, at most {peak} MiB in all"


def main() -> None:
    # As in the program: NumPy's warnings about overflow are turned off.
    warnings.simplefilter("ignore", RuntimeWarning)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=10_000_000, help="inputs of the native target")
    parser.add_argument("--model-runs", type=int, default=1_000_000, help="inputs of each whole reader")
    parser.add_argument("--seconds", type=float, default=7200, help="most time for a target")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fast", action="store_true", help="the native target without sanitizers")
    parser.add_argument("--only", default="tokenizer,container,schema,libsvm,data,containers")
    options = parser.parse_args()
    for name in options.only.split(","):
        began = time.monotonic()
        if name == "tokenizer":
            result = run_native(options.runs, options.seconds, options.seed, options.fast)
        else:
            result = run_python(name, options.model_runs, options.seconds, options.seed)
        print(f"{name}: {result}, {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
