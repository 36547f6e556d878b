"""Compare `svmfast scale` and scaling inside models with LIBSVM's svm-scale and svm-predict.

    python scripts/bench/scaling.py --data DIR

DIR holds LIBSVM's data sets, plain or packed. Three tables: bytes of rows, range files and warnings of
`svmfast scale` against svm-scale on every set, with times; `svm-scale | svm-predict` against
`svmfast predict` of a model with the range file inside; certificates with a scaling, every row, with values
of the exact model in 50 digits for some. The exit status is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import lzma
import random
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import mpmath
import numpy as np

import svmfast
from svmfast.models.expansion import KernelExpansion

PROGRAM = Path(sysconfig.get_path("scripts")) / "svmfast"
#: training rows, test rows, options of svm-train
PREDICTED = [
    ("svmguide1", "svmguide1.t", "-c 2 -g 2"),
    ("page-blocks_scale.s80", "page-blocks_scale.s20", "-c 32 -g 2"),
    ("magic04_scale.s80", "magic04_scale.s20", "-c 8 -g 1"),
    ("skin_nonskin.s80", "skin_nonskin.s20", "-c 8 -g 8"),
]
CERTIFIED = ("svmguide1", "skin_nonskin.s80")
#: Number of rows whose exact value is computed in 50 digits.
ROWS_IN_50_DIGITS = 40


def timed(words: Sequence[object], out: Path, folder: Path) -> tuple[float, bytes]:
    """Run a command with its output in a file; return the seconds and its warnings."""
    begin = time.perf_counter()
    with out.open("wb") as file:
        done = subprocess.run([str(w) for w in words], stdout=file, stderr=subprocess.PIPE, cwd=folder)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: exit {done.returncode}: {done.stderr.decode()}")
    return time.perf_counter() - begin, done.stderr


def unpacked(path: Path, folder: Path) -> Path:
    """Return a plain copy of a data set."""
    place = folder / path.name.removesuffix(".xz")
    if not place.exists():
        place.write_bytes(lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes())
    return place


def find(folder: Path, name: str) -> Path:
    """Return the file of a data set."""
    return next(path for path in (folder / name, folder / f"{name}.xz") if path.exists())


def compare_scale(raw: Path, folder: Path, repeats: int) -> tuple[str, bool]:
    """Return a line of the first table, and whether all bytes are equal."""
    same = True
    seconds: dict[str, list[float]] = {"svm-scale": [], "svmfast": []}
    for words in (["-s", "RANGES"], ["-r", "svm-scale.ranges"], ["-l", "0", "-y", "0", "1"]):
        warned = {}
        for _ in range(repeats if words[0] == "-s" else 1):
            for name, program in (("svm-scale", ["svm-scale"]), ("svmfast", [PROGRAM, "scale"])):
                given = [f"{name}.ranges" if word == "RANGES" else word for word in words]
                took, warned[name] = timed([*program, *given, raw.name], folder / f"{name}.out", folder)
                if words[0] == "-s":
                    seconds[name].append(took)
        both = [(folder / f"{name}.out").read_bytes() for name in seconds]
        same &= both[0] == both[1] and warned["svm-scale"] == warned["svmfast"]
    both = [(folder / f"{name}.ranges").read_bytes() for name in seconds]
    same &= both[0] == both[1]
    theirs, ours = (sorted(seconds[name])[len(seconds[name]) // 2] for name in seconds)
    size = raw.stat().st_size
    cells = [raw.name, f"{size:,}", "0" if same else "DIFFERENT", f"{theirs:.2f}", f"{ours:.2f}"]
    return f"| {' | '.join([*cells, f'{theirs / ours:.1f}'])} |", same


def compare_predict(train: Path, test: Path, options: str, folder: Path) -> tuple[str, bool, Path]:
    """Return a line of the second table, whether all bytes are equal, and the LIBSVM model."""
    ranges, exact, fast = (folder / f"{train.name}.{name}" for name in ("ranges", "exact", "carrying"))
    timed(["svm-scale", "-s", ranges, train.name], folder / "scaled", folder)
    timed([PROGRAM, "train", "-q", *options.split(), "scaled", exact], folder / "log", folder)
    timed(["svm-scale", "-r", ranges, test.name], folder / "scaled.t", folder)
    begin = time.perf_counter()
    timed(["svm-scale", "-r", ranges, test.name], folder / "scaled.t", folder)
    timed(["svm-predict", "scaled.t", exact, "theirs"], folder / "accuracy", folder)
    theirs = time.perf_counter() - begin
    model = svmfast.ScaledModel(svmfast.load_model(exact), svmfast.read_ranges(ranges))
    svmfast.save_model(model, fast)
    ours, _ = timed([PROGRAM, "predict", test.name, fast, "ours"], folder / "our_accuracy", folder)
    same = (folder / "theirs").read_bytes() == (folder / "ours").read_bytes()
    same &= (folder / "accuracy").read_bytes() == (folder / "our_accuracy").read_bytes()
    accuracy = (folder / "accuracy").read_text().split(" (")[0].removeprefix("Accuracy = ")
    rows = (folder / "theirs").read_bytes().count(b"\n")
    cells = [train.name, test.name, f"{rows:,}", accuracy, "0" if same else "DIFFERENT"]
    return f"| {' | '.join([*cells, f'{theirs:.2f}', f'{ours:.2f}'])} |", same, fast


def exact_value(model: KernelExpansion, row: dict[int, float]) -> mpmath.mpf:
    """Return the decision value of a two-class RBF model in 50 digits, from the doubles of its file."""
    total = -mpmath.mpf(float(model.rho[0]))
    sv = model.sv
    for i in range(len(sv)):
        part = slice(sv.indptr[i], sv.indptr[i + 1])
        vector = dict(zip(sv.indices[part].tolist(), sv.values[part].tolist(), strict=True))
        columns = vector.keys() | row.keys()
        squared = mpmath.fsum((mpmath.mpf(vector.get(j, 0.0)) - row.get(j, 0.0)) ** 2 for j in columns)
        total += mpmath.mpf(float(model.sv_coef[0, i])) * mpmath.exp(-model.kernel.gamma * squared)
    return total


def scaled_by_text(line: str) -> dict[int, float]:
    """Return a row that svm-scale has written as a dict by column."""
    return {int(index) - 1: float(value) for index, value in (part.split(":") for part in line.split()[1:])}


def compare_certificate(train: Path, test: Path, fast: Path, folder: Path) -> tuple[str, bool]:
    """Return a line of the third table, and whether all bounds hold and no label differs."""
    made = folder / f"{train.name}.fast"
    words = ["approximate", fast, "--order", "auto", "--cells", "auto", "--data", train.name, "--force"]
    timed([PROGRAM, *words, "-q", "--embed-exact", "-o", made], folder / "log", folder)
    timed([PROGRAM, "predict", "-q", test.name, made, "ours"], folder / "log", folder)
    timed(["svm-scale", "-r", f"{train.name}.ranges", test.name], folder / "scaled.t", folder)
    exact = svmfast.load_model(fast).unscaled
    assert isinstance(exact, KernelExpansion)
    svmfast.save_model(exact, folder / "exact")
    timed(["svm-predict", "scaled.t", "exact", "theirs"], folder / "log", folder)
    labels = [(folder / name).read_text().split() for name in ("ours", "theirs")]
    differing = sum(a != b for a, b in zip(*labels, strict=True))
    raw, scaled = (svmfast.read_svmlight(folder / name) for name in (test.name, "scaled.t"))
    found = svmfast.predict(made, raw, certify=True, no_fallback=True)
    assert found.error_bounds is not None
    assert found.certified is not None
    gaps = np.abs(found.decisions - exact.decision_values(scaled.rows))[:, 0]
    violations = int(np.count_nonzero(gaps > found.error_bounds))
    lines = (folder / "scaled.t").read_text().splitlines()
    broken = 0
    chosen = random.Random(0).sample(range(len(lines)), ROWS_IN_50_DIGITS)
    for i in chosen:
        value = exact_value(exact, scaled_by_text(lines[i]))
        broken += abs(value - mpmath.mpf(float(found.decisions[i, 0]))) > float(found.error_bounds[i])
    share = 100 * float(found.certified.mean())
    cells = [test.name, f"{len(lines):,}", f"{share:.2f}%", str(violations), f"{broken} of {len(chosen)}"]
    return f"| {' | '.join([*cells, str(differing)])} |", not (violations or broken or differing)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", action="append", help="a set of the first table; may be repeated")
    options = parser.parse_args()
    if shutil.which("svm-scale") is None:
        sys.exit("svm-scale: not found; install libsvm-tools")
    mpmath.mp.dps = 50
    good = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print("| set | bytes | bytes that differ | svm-scale, s | svmfast scale, s | gain |")
        print("| --- | ---: | ---: | ---: | ---: | ---: |")
        for path in sorted(options.data.iterdir()):
            if path.suffix == ".tsv" or (options.only and path.name.removesuffix(".xz") not in options.only):
                continue
            raw = unpacked(path, folder)
            line, same = compare_scale(raw, folder, options.repeats)
            print(line, flush=True)
            good &= same
            raw.unlink()
        heads = "trained on | predicted | rows | accuracy | bytes that differ"
        print(f"\n| {heads} | svm-scale, svm-predict, s | svmfast, s |")
        print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
        carrying: dict[str, tuple[Path, Path, Path]] = {}
        for train, test, flags in PREDICTED:
            places = [unpacked(find(options.data, one), folder) for one in (train, test)]
            line, same, fast = compare_predict(places[0], places[1], flags, folder)
            carrying[train] = (places[0], places[1], fast)
            print(line, flush=True)
            good &= same
        print("\n| rows | number | certified | violations | in 50 digits | labels differing |")
        print("| --- | ---: | ---: | ---: | ---: | ---: |")
        for train in CERTIFIED:
            line, same = compare_certificate(*carrying[train], folder)
            print(line, flush=True)
            good &= same
    sys.exit(not good)


if __name__ == "__main__":
    main()
