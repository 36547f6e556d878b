"""`svmfast scale` and scaling inside models against LIBSVM's svm-scale and svm-predict: docs/data.md.

    python scripts/bench/scaling.py                  # on fixtures/
    python scripts/bench/scaling.py --data DIR

Tables: scale (bytes of rows, range files and warnings, with times), predict (`svm-scale | svm-predict` and
`svmfast predict` of a model with the range file inside), certificate (with a scaling, every row). Fails if
anything differs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from harness import PROGRAM, Bench, Table, measure, medians, run, seconds

import svmfast
from svmfast.models.expansion import KernelExpansion


def same(*pairs: tuple[object, object]) -> str:
    """Return 0, the bytes that differ; fail otherwise."""
    if any(a != b for a, b in pairs):
        raise SystemExit("scaling: the bytes differ")
    return "0"


def scale(bench: Bench, name: str) -> Iterator[Sequence[str]]:
    """Three ways to call both programs; the first is timed."""
    raw, ranges = bench.file(name), bench.folder / "ranges"
    programs = {"svm-scale": ["svm-scale"], "svmfast": [PROGRAM, "scale"]}
    said: dict[str, list[object]] = {side: [] for side in programs}

    def once(side: str, *words: object) -> float:
        done = run([*programs[side], *words, raw])
        said[side] += [done.out, done.err, ranges.read_bytes()]
        return done.wall

    first = {side: lambda side=side: once(side, "-s", ranges) for side in programs}
    taken = medians(first, bench.repeats)
    for words in (("-r", ranges), ("-l", "0", "-y", "0", "1")):
        for side in programs:
            once(side, *words)
    theirs, ours = taken["svm-scale"], taken["svmfast"]
    size, equal = raw.stat().st_size, same(*zip(said["svm-scale"], said["svmfast"], strict=True))
    yield name, f"{size:,}", equal, seconds(theirs), seconds(ours), f"{theirs / ours:.1f}x"


def carrying(bench: Bench, train: Path, options: str) -> tuple[Path, Path, Path]:
    """Return a range file, the LIBSVM model of the scaled rows, and the model with the ranges inside."""
    ranges, scaled, exact, fast = (
        bench.folder / f"{train.name}.{n}" for n in ("ranges", "x", "exact", "fast")
    )
    scaled.write_text(run(["svm-scale", "-s", ranges, train]).out)
    bench.svmfast("train", *options.split(), scaled, exact)
    model = svmfast.ScaledModel(svmfast.load_model(exact), svmfast.read_ranges(ranges))
    svmfast.save_model(model, fast)
    return ranges, exact, fast


def predict(bench: Bench, case: tuple[str, str, str]) -> Iterator[Sequence[str]]:
    train, test = map(bench.file, case[:2])
    ranges, exact, fast = carrying(bench, train, case[2])
    scaled, outs = bench.folder / "scaled.t", [bench.folder / name for name in ("theirs", "ours")]
    done = run(["svm-scale", "-r", ranges, test])
    scaled.write_text(done.out)
    theirs, ours = run([bench.tool(), scaled, exact, outs[0]]), run([PROGRAM, "predict", test, fast, outs[1]])
    equal = same((theirs.out, ours.out), (outs[0].read_bytes(), outs[1].read_bytes()))
    accuracy, rows = ours.out.split(" (")[0].removeprefix("Accuracy = "), outs[1].read_bytes().count(b"\n")
    times = seconds(done.wall + theirs.wall), seconds(ours.wall)
    yield train.name, test.name, f"{rows:,}", accuracy, equal, *times


def certificate(bench: Bench, case: tuple[str, str, str]) -> Iterator[Sequence[str]]:
    train, test = map(bench.file, case[:2])
    ranges, exact, fast = carrying(bench, train, case[2])
    made, scaled = bench.folder / "made", bench.folder / "scaled.t"
    words = ("--order", "auto", "--cells", "auto", "--data", train, "--force", "--embed-exact")
    bench.svmfast("approximate", fast, *words, "-o", made)
    scaled.write_text(run(["svm-scale", "-r", ranges, test]).out)
    differing = np.count_nonzero(bench.predicted(made, test) != bench.svm_predict(exact, scaled))
    model = svmfast.load_model(exact)
    assert isinstance(model, KernelExpansion)
    found = svmfast.predict(made, svmfast.read_svmlight(test), certify=True, no_fallback=True)
    assert found.error_bounds is not None
    assert found.certified is not None
    gaps = np.abs(found.decisions - model.decision_values(bench.read(scaled)[0]))[:, 0]
    violations = int((gaps > found.error_bounds).sum())
    same((violations, 0), (differing, 0))
    yield case[1], f"{len(gaps):,}", f"{100 * found.certified.mean():.2f}%", str(violations), str(differing)


PREDICTED = [
    ("svmguide1", "svmguide1.t", "-c 2 -g 2"),
    ("page-blocks_scale.s80", "page-blocks_scale.s20", "-c 32 -g 2"),
    ("magic04_scale.s80", "magic04_scale.s20", "-c 8 -g 1"),
    ("skin_nonskin.s80", "skin_nonskin.s20", "-c 8 -g 8"),
]
SETS = [name for names in PREDICTED for name in names[:2]]
SETS += [
    "a9a",
    "abalone_scale.s80",
    "ijcnn1",
    "letter.scale",
    "mnist.scale",
    "phishing.s80",
    "usps",
    "w8a.s80",
]
SMALL = [("breast.train", "breast.test", "-c 10 -g 0.02")]
TABLES = [
    Table("scale", "set | bytes | bytes that differ | svm-scale | svmfast scale | gain", SETS, scale,
          ["iris.train", "diabetes.train", "onehot.train"]),
    Table("predict", "trained on | predicted | rows | accuracy | bytes that differ | svm-scale, svm-predict "
          "| svmfast", PREDICTED, predict, SMALL, left=2),
    Table("certificate", "rows | number | certified | violations | labels differing",
          [PREDICTED[0], PREDICTED[3]], certificate, SMALL),
]  # fmt: skip

if __name__ == "__main__":
    measure(__doc__, TABLES)
