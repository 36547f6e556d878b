"""Feed the readers damaged files and compare what they read with the files' content.

    scripts/fuzz/inputs [--runs N] [--seconds S] [--seed S] [--only tokenizer,container,...]

Six targets, each until its number of inputs or its --seconds are reached:

- tokenizer: the native reader of data text (native/tokenizer.cpp) under AddressSanitizer,
  UndefinedBehaviorSanitizer and libFuzzer, which is guided by coverage; needs clang++. Ten times --runs.
- data: whole data files against tests/support/svmlight_twin.py, those that the tokenizer's run has found too.
- container, libsvm: whole model readers. An input is refused with one clear error, or the model that was
  read has the content of the file (tests/support/meaning.py).
- schema: models whose sizes, starts and numbers lie at the edges of their types (schema.py), each loaded,
  described and asked to predict: one clear error, or finite values, in 200 MB.
- skops: scikit-learn's estimators, read and asked to predict: one clear error, or none.

Inputs with a new kind of answer become seeds. Every target but the first runs in processes of at most 4 GB,
and an input counts as a hang after 20 s of processor time (under libFuzzer after 300 s). Prints the number of
inputs of each target and ends with 1 at the first failure; build/fuzz has its input, also after a crash.
"""

import argparse
import io
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
import zipfile
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "fuzz"
CORPUS = BUILD / "tokenizer-corpus"
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "scripts" / "fuzz")]
SANITIZED = "SVMFAST_SANITIZED" in os.environ

import schema  # noqa: E402
from meaning import DAMAGE, FROZEN, alike, meaning  # noqa: E402
from reading import arguments  # noqa: E402
from sealing import resealed  # noqa: E402
from svmlight_twin import TwinError, parse  # noqa: E402

from svmfast.errors import DataFormatError, EmptyDataError, ModelFormatError, SvmfastError  # noqa: E402
from svmfast.formats.model_files import model_bytes, open_model  # noqa: E402
from svmfast.formats.svmlight import read_svmlight  # noqa: E402
from svmfast.importers.files import model_of_file  # noqa: E402
from svmfast.models.expansion import KernelExpansion  # noqa: E402

LONGEST = 160  # most faults show in short texts, and short texts are fast
PART = 20_000  # inputs of a process

# --- the native reader


def text_seeds():
    """Return texts of data after two bytes: options, and the amount of plain text before them."""
    found = []
    for path in sorted((ROOT / "tests/robustness/bad/data").iterdir()):
        shape = 4 if path.name.startswith("dense") else 6 if path.name.startswith(("pre", "serial")) else 0
        for flags, plain in ((shape, 0), (shape | 8, 40), (shape | 65, 250), (shape | 16, 0)):
            found.append(bytes([flags, plain]) + path.read_bytes()[:2000])
    for path in sorted((ROOT / "fixtures/data").iterdir()):
        found.append(b"\0\0" + b"".join(path.read_bytes().splitlines(keepends=True)[:3])[:700])
    for path in sorted((ROOT / "fixtures/models").iterdir()):
        _, start, vectors = path.read_bytes().partition(b"\nSV\n")
        if start:
            found.append(b"\x80\0" + b"".join(vectors.splitlines(keepends=True)[:4])[:600])
    return found


def run_native(runs, seconds, seed):
    compiler = shutil.which("clang++")
    if compiler is None:
        return "left out, no clang++ here"
    folder, core, program = BUILD / "tokenizer-seeds", ROOT / "svmfast/_core", BUILD / "tokenizer"
    flags = ["-std=gnu++17", "-O2", "-g1", "-pthread", f"-I{core}", "-fsanitize=fuzzer,address,undefined"]
    flags += ["-fno-sanitize-recover=all", "-fno-sanitize-coverage=trace-cmp"]  # twice as fast, as deep
    sources = [core / f"{name}.cpp" for name in ("svmlight", "text")]
    shutil.rmtree(folder, ignore_errors=True)
    for path in (folder, CORPUS):
        path.mkdir(parents=True, exist_ok=True)
    target = ROOT / "scripts/fuzz/native/tokenizer.cpp"
    subprocess.run([compiler, *flags, target, *sources, "-o", program], check=True)
    for i, text in enumerate(text_seeds()):
        (folder / f"{i:04d}").write_bytes(text)
    limits = [f"-runs={runs}", f"-max_total_time={max(1, round(seconds))}", f"-max_len={LONGEST}"]
    limits += [f"-seed={seed + 1}", "-timeout=300", "-rss_limit_mb=4096", "-print_final_stats=1"]
    words = [program, *limits, f"-artifact_prefix={BUILD}/tokenizer-", CORPUS, folder]
    done = subprocess.run(words, capture_output=True, text=True, errors="replace")
    executed = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    if done.returncode or executed is None:
        sys.exit(f"tokenizer: failed\n{done.stderr[-4000:]}")
    edges = re.findall(r"cov: (\d+)", done.stderr)[-1]
    return f"{int(executed[1]):,} inputs under sanitizers, guided by coverage ({edges} edges)"


# --- targets in Python


@dataclass(frozen=True)
class Target:
    """What reads an input and returns the kind of answer, seeds, and what changes them.

    deeper: share of inputs made from accepted ones, which lead deeper; most_kib: peak of memory.
    """

    read: Callable[[bytes], str]
    seeds: list[bytes]
    change: Callable[[bytes, list[bytes], random.Random], bytes]
    deeper: float = 0.0
    most_kib: int | None = None


PIECES = [*DAMAGE, *b'nan inf 1e999 99999999999 -1 0.5 {"kind": ], SV\n \r\n'.split(b" ")]
#: Integers of binary formats.
INTEGERS = [v.to_bytes(n, "little", signed=True) for n in (4, 8) for v in (-1, 2, 127, 2**31 - 1, -(2**31))]
INTEGERS += [v.to_bytes(8, "little", signed=True) for v in (2**40, 2**63 - 1, -(2**63))]
PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"\x04\x22\x4d", b"\x1f\x9d")


def damage(text, seeds, chance):
    out = bytearray(text)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        at, how = chance.randrange(len(out) + 1), chance.randrange(7)
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
        elif how == 4:  # integers of Arrow and NumPy are aligned
            number = chance.choice(INTEGERS)
            out[at - at % 4 : at - at % 4 + len(number)] = number
        else:
            out[at : at + chance.choice((0, 1, 1, 3))] = chance.choice(PIECES)
    return bytes(out)


def damage_member(text, seeds, chance):
    """Damage a file, mostly a whole one, or a member of an archive, whose checksum is then right."""
    text = text if chance.random() < 0.2 else chance.choice(seeds)
    if not text.startswith(b"PK") or chance.random() < 0.3 or not zipfile.is_zipfile(io.BytesIO(text)):
        return damage(text, seeds, chance)
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(text)) as archive, zipfile.ZipFile(out, "w") as changed:
        members = {name: archive.read(name) for name in archive.namelist()}
        which = chance.choice([*members])
        for name, content in members.items():
            # Most members are short arrays of NumPy: mostly change their numbers.
            start = 128 if content.startswith(b"\x93NUMPY") and chance.random() < 0.9 else 0
            rest = content[start:]
            changed.writestr(
                name, content[:start] + damage(rest, seeds, chance) if name == which else content
            )
    return out.getvalue()


def read_model(text):
    """Return the kind of answer for a model file; raise AssertionError for a wrong one."""
    text = resealed(text)  # otherwise nearly all would end at the checksum
    try:
        loaded = open_model(text)
    except ModelFormatError as error:
        return schema.refused(error, error.what)
    model = loaded.model
    written, result = meaning(model_bytes(model)), meaning(text)
    assert alike(written, result), f"{written} instead of {result}"
    if not (isinstance(model, KernelExpansion) and model.kernel.kind == "precomputed"):
        assert model.decision_values(schema.ROWS).shape == (3, model.head.n_functions)
    return f"{loaded.format} {len(loaded.warnings)}"


def read_data(text):
    flags, body = text[0] if text else 0, text[2:]
    how = {"lenient": bool(flags & 8), "dense": flags & 6 == 4, "precomputed": flags & 6 == 6}
    how |= {"zero_based": flags & 5 == 1, "labelled": not flags & 16}
    if body.startswith(PACKED):
        return "packed"
    try:
        labels, rows, width = parse(body, **how)
        entries = [entry for row in rows for entry in row]
        expected = (str(labels), entries, width) if rows else ("empty",)
    except TwinError as error:
        expected = ("refused", error.line)
    try:
        data = read_svmlight(body, threads=1 + flags % 3, **arguments(**how))
        entries = list(zip(data.rows.indices.tolist(), data.rows.values.tolist(), strict=True))
        got = (str(data.labels.tolist()), entries, data.rows.n_columns)
    except EmptyDataError:
        got = ("empty",)
    except DataFormatError as error:
        got = ("refused", error.line)
    assert got == expected, f"{got} instead of {expected}"
    return str(got[0]) if len(got) < 3 else "read"


def read_skops(text):
    """Read an estimator and predict with it."""
    place = BUILD / "skops-reading"
    place.write_bytes(text)
    try:
        model_of_file(place, memory=200_000_000)[0].decision_values(schema.ROWS)
    except SvmfastError as error:
        return schema.refused(error, str(error).removeprefix(str(place)))
    return "read"


def model_seeds(own):
    paths = [*FROZEN.glob("*/*.model"), *(ROOT / "fixtures/models").iterdir()]
    paths += (ROOT / "tests/robustness/bad/models").glob("*.model")
    found = [path.read_bytes() for path in sorted(paths)]
    return [text for text in found if text.startswith(b"svmfast-model") == own and 0 < len(text) < 3000]


TARGETS = {
    "container": lambda: Target(read_model, model_seeds(True), damage),
    # 200 MB, the interpreter's own included.
    "schema": lambda: Target(schema.use_model, schema.seeds(), schema.mutate, 0.8, 200_000_000 // 1024),
    "libsvm": lambda: Target(read_model, model_seeds(False), damage),
    "data": lambda: Target(
        read_data, [*text_seeds(), *(path.read_bytes() for path in sorted(CORPUS.glob("*")))], damage
    ),
    "skops": lambda: Target(
        read_skops,
        [path.read_bytes() for path in (ROOT / "fixtures/estimators").glob("*.skops")],
        damage_member,
    ),
}


def peak_kib():
    """Return the most memory held by this process; getrusage also counts its parent before exec."""
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return int(found[1]) if found else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def hang(_signal, _frame):
    raise AssertionError("20 s of processor time on one input")


def run_part(name, part, runs, seed, kept, deadline):
    """Try the seeds (in the first part) and then changed inputs; return the counts."""
    warnings.simplefilter("ignore")  # as in the program
    signal.signal(signal.SIGPROF, hang)
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, resource.getrlimit(resource.RLIMIT_AS)[1]))
    aim, chance, answers = TARGETS[name](), random.Random(f"{seed} {part}"), Counter[str]()
    good = []
    odd, first, right = list(aim.seeds), [] if part else aim.seeds[::-1], 0
    while answers.total() < runs and time.monotonic() < deadline:
        pool = good if good and chance.random() < aim.deeper else odd
        text = first.pop() if first else aim.change(chance.choice(pool), aim.seeds, chance)
        kept.write_bytes(text)
        signal.setitimer(signal.ITIMER_PROF, 20)  # of processor time: the process may be stopped
        answer = aim.read(text)
        signal.setitimer(signal.ITIMER_PROF, 0)
        answers[answer] += 1
        if answer.startswith(("libsvm-model", "svmfast-model", "read")):
            right += 1
            if aim.deeper and len(text) < 12_000 and (len(good) < 300 or chance.random() < 0.05):
                good[chance.randrange(300) if len(good) == 300 else len(good) :][:1] = [text]
        elif answers[answer] == 1 and not first and len(text) < 6000:
            odd.append(text)
        if aim.most_kib and not SANITIZED and answers.total() % 16 == 0 and peak_kib() > aim.most_kib:
            raise AssertionError(f"{peak_kib() // 1024} MiB, by this input or the fifteen before it")
    kept.unlink(missing_ok=True)
    return {"inputs": answers.total(), "accepted": right, "answers": set(answers), "kib": peak_kib()}


def run_python(name, runs, seconds, seed):
    """Try `runs` inputs, in processes; end the program at a failure."""
    BUILD.mkdir(parents=True, exist_ok=True)
    deadline, parts = time.monotonic() + seconds, []
    for part in range(-(-runs // PART)):
        kept = BUILD / f"{name}-{seed}-{part}-failed"
        many = min(PART, runs - part * PART)
        try:
            with ProcessPoolExecutor(1, get_context("fork")) as pool:
                parts.append(pool.submit(run_part, name, part, many, seed, kept, deadline).result())
        except Exception as error:  # BrokenProcessPool after a crash
            sys.exit(f"{name}: {type(error).__name__}: {error}\nthe input is {kept}")
    done, right = (sum(part[key] for part in parts) for key in ("inputs", "accepted"))
    kinds, peak = set().union(*(part["answers"] for part in parts)), max(part["kib"] for part in parts)
    return f"{done:,} inputs, {right:,} accepted, {len(kinds)} kinds of answer, at most {peak // 1024} MiB"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=1_000_000, help="inputs of each target")
    parser.add_argument("--seconds", type=float, default=7200, help="most time for a target")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default=",".join(("tokenizer", *TARGETS)))
    options = parser.parse_args()
    for name in options.only.split(","):
        began = time.monotonic()
        if name == "tokenizer":
            result = run_native(10 * options.runs, options.seconds, options.seed)
        else:
            result = run_python(name, options.runs, options.seconds, options.seed)
        print(f"{name}: {result}, {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
