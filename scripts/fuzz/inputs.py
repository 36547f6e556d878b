"""Feed the readers damaged files and compare their results with independent slow readers.

    scripts/fuzz/inputs [--runs N] [--model-runs N] [--seed S] [--only tokenizer,container,...]

Six targets, each until its number of inputs or its share of --seconds is reached:

- tokenizer: the native reader of data and support vectors (scripts/fuzz/native), built with
  AddressSanitizer and UndefinedBehaviorSanitizer, against a slow C++ reader. With clang++ it runs under
  libFuzzer, which is guided by coverage; with g++ alone under a driver that changes seeds at random.
  --fast leaves the sanitizers out.
- container, libsvm: whole model readers. An input is refused with one clear error, or the model that was
  read has the content of the file (tests/support/meaning.py). Inputs with a new kind of answer become seeds.
- schema: models whose sizes, starts and counts lie at the edges of their types (scripts/fuzz/schema.py,
  scripts/fuzz/model_mutations.py), each loaded, described and asked to predict: one clear error, or finite
  values, in 200 MB.
- data: whole data files against tests/support/svmlight_twin.py, in pieces and by several threads.
- containers: estimators and tables in other libraries' formats (scripts/fuzz/containers.py).

Every process may take 4 GB. An input counts as a hang after 20 s of processor time (under libFuzzer, which
knows no other clock, after 300 s). Prints the number of inputs of each target and ends with 1 at the first
failure, which is kept in build/fuzz.
"""

from __future__ import annotations

import argparse
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
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "fuzz"
sys.path.insert(0, str(ROOT / "tests" / "support"))
sys.path.insert(0, str(ROOT / "scripts" / "fuzz"))
SANITIZED = "SVMFAST_SANITIZED" in os.environ

from meaning import DAMAGE, FROZEN, alike, meaning  # noqa: E402
from schema import hang, peak_kib, run_schema  # noqa: E402
from sealing import resealed  # noqa: E402

from svmfast.errors import DataFormatError, EmptyDataError, ModelFormatError  # noqa: E402
from svmfast.formats.model_files import model_bytes, open_model  # noqa: E402
from svmfast.models.expansion import KernelExpansion  # noqa: E402
from svmfast.rows import Rows  # noqa: E402

NATIVE = {"tokenizer": ["svmlight.cpp", "svmlight_plain.cpp", "text.cpp"]}
LONGEST = 160  # most faults show in short texts, and short texts are fast


def seeds_of(target: str) -> list[bytes]:
    """Return the seeds of a native target: its two bytes of options, then text."""
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


def build(target: str, fast: bool) -> tuple[Path, bool]:
    """Compile a target; return it, and whether it is libFuzzer's."""
    compiler = shutil.which("clang++")
    guided = compiler is not None and not fast
    compiler = compiler if guided else os.environ.get("CXX", "g++")
    sources = [ROOT / "scripts/fuzz/native" / f"{target}.cpp"]
    sources += [ROOT / "svmfast/_core" / name for name in NATIVE[target]]
    if not guided:
        sources.append(ROOT / "scripts/fuzz/native/driver.cpp")
    flags = ["-std=c++17", "-O2", "-g1", f"-I{ROOT / 'svmfast/_core'}"]
    if not fast:
        sanitizers = "fuzzer,address,undefined" if guided else "address,undefined"
        flags += [f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all"]
    if guided:
        flags.append("-fno-sanitize-coverage=trace-cmp")  # half of the time, and no branch more is found
    BUILD.mkdir(parents=True, exist_ok=True)
    program = BUILD / f"{target}{'-fast' if fast else ''}"
    subprocess.run([str(compiler), *flags, *map(str, sources), "-o", str(program)], check=True)
    return program, guided


def run_native(target: str, runs: int, seconds: float, seed: int, fast: bool) -> str:
    program, guided = build(target, fast)
    folder = BUILD / f"{target}-seeds"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    seeds = seeds_of(target)
    for i, text in enumerate(seeds):
        (folder / f"{i:04d}").write_bytes(text)
    environment = {**os.environ, "ASAN_OPTIONS": "quarantine_size_mb=1:malloc_context_size=0:detect_leaks=1"}
    if guided:
        corpus = BUILD / f"{target}-corpus"
        corpus.mkdir(exist_ok=True)
        arguments = [f"-runs={runs}", f"-max_total_time={max(1, round(seconds))}", f"-max_len={LONGEST}"]
        arguments += [f"-seed={seed + 1}", "-timeout=300", "-rss_limit_mb=4096", "-print_final_stats=1"]
        arguments += [f"-artifact_prefix={BUILD}/{target}-", str(corpus), str(folder)]
    else:
        arguments = [str(runs), str(seed), str(round(seconds)), str(BUILD / f"{target}-failed")]
        arguments += [str(path) for path in sorted(folder.iterdir())]
    done = subprocess.run(
        [program, *arguments], capture_output=True, text=True, env=environment, errors="replace"
    )
    if done.returncode:
        sys.exit(f"{target}: failed\n{(done.stdout + done.stderr)[-4000:]}")
    if not guided:
        how = "without sanitizers" if fast else "under AddressSanitizer and UndefinedBehaviorSanitizer"
        return f"{done.stdout.split()[0]} inputs {how}, not guided"
    executed = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    coverage = re.findall(r"cov: (\d+)", done.stderr)
    assert executed is not None
    return f"{int(executed[1]):,} inputs under sanitizers, guided by coverage ({coverage[-1]} edges)"


# --- whole readers, in Python

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
    found = [text for text in found if text.startswith(b"svmfast-model") == own]
    return [t for t in found if 0 < len(t) < 3000]


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


def run_python(
    read: Callable[[bytes], str],
    seeds: list[bytes],
    runs: int,
    seconds: float,
    seed: int,
    name: str,
    change: Callable[[bytes, list[bytes], random.Random], bytes] = damage,
) -> str:
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, resource.getrlimit(resource.RLIMIT_AS)[1]))
    chance = random.Random(seed)
    answers: Counter[str] = Counter()
    pool = list(seeds)
    signal.signal(signal.SIGPROF, hang)
    began = time.monotonic()
    done = 0
    while done < runs and time.monotonic() - began < seconds:
        text = pool[done] if done < len(seeds) else change(chance.choice(pool), seeds, chance)
        signal.setitimer(signal.ITIMER_PROF, 20)  # of processor time: the process may be stopped
        try:
            answer = read(text)
        except BaseException as error:
            BUILD.mkdir(parents=True, exist_ok=True)
            kept = BUILD / f"{name}-failed"
            kept.write_bytes(text)
            signal.setitimer(signal.ITIMER_PROF, 0)
            sys.exit(f"{name}: {type(error).__name__}: {error}\nthe input is {kept}")
        signal.setitimer(signal.ITIMER_PROF, 0)
        done += 1
        answers[answer] += 1
        if answers[answer] == 1 and done > len(seeds) and len(text) < 6000:
            pool.append(text)
    peak = peak_kib() // 1024
    accepted = sum(n for a, n in answers.items() if a.startswith(("libsvm-model", "svmfast-model", "read")))
    return (
        f"{done:,} inputs, {accepted:,} accepted, {len(answers)} kinds of answer, at most {peak} MiB in all"
    )


def main() -> None:
    # As in the program: NumPy's warnings about overflow are turned off.
    warnings.simplefilter("ignore", RuntimeWarning)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=10_000_000, help="inputs of each native target")
    parser.add_argument("--model-runs", type=int, default=1_000_000, help="inputs of each whole reader")
    parser.add_argument("--seconds", type=float, default=7200, help="most time for a target")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fast", action="store_true", help="native targets without sanitizers")
    parser.add_argument("--progress", type=Path, help="schema: what is done; a file to go on from")
    parser.add_argument("--keep-going", action="store_true", help="schema: go on after a failure")
    parser.add_argument("--only", default="tokenizer,container,schema,libsvm,data,containers")
    options = parser.parse_args()
    for name in options.only.split(","):
        began = time.monotonic()
        if name in NATIVE:
            result = run_native(name, options.runs, options.seconds, options.seed, options.fast)
        elif name == "schema":
            result = run_schema(
                options.model_runs,
                options.seconds,
                options.seed,
                BUILD,
                options.progress,
                options.keep_going,
            )
        elif name == "containers":
            import containers

            read, seeds = containers.reader(BUILD), containers.seeds()
            result = run_python(
                *(read, seeds, options.model_runs, options.seconds, options.seed, name), containers.change
            )
        else:
            read = read_data if name == "data" else read_model
            seeds = model_seeds(name == "container")
            if name == "data":
                seeds = [bytes([i % 7]) + s[2:] for i, s in enumerate(seeds_of("tokenizer")) if len(s) > 2]
            result = run_python(read, seeds, options.model_runs, options.seconds, options.seed, name)
        print(f"{name}: {result}, {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
