"""`svmfast scale` and scaling inside models against LIBSVM's svm-scale and svm-predict: docs/data.md.

    python scripts/bench/scaling.py                  # on fixtures/
    python scripts/bench/scaling.py --data DIR --page docs/data.md

Tables: predict (`svm-scale | svm-predict` and `svmfast predict` of a model with the range file inside), scale
(bytes of rows, range files and warnings, with times). Fails if any byte differs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness import PROGRAM, Bench, Table, measure, medians, run, seconds

import svmfast


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


def predict(bench: Bench, case: tuple[str, str, str]) -> Iterator[Sequence[str]]:
    """Scale, train and predict with LIBSVM's programs; put the ranges into the model and predict raw rows."""
    (train, test), folder = map(bench.file, case[:2]), bench.folder
    ranges, exact, fast, scaled = (folder / name for name in ("ranges", "exact", "fast", "scaled"))
    outs = [folder / name for name in ("theirs", "ours")]
    scaled.write_text(run(["svm-scale", "-s", ranges, train]).out)
    bench.svmfast("train", *case[2].split(), scaled, exact)
    svmfast.save_model(svmfast.ScaledModel(svmfast.load_model(exact), svmfast.read_ranges(ranges)), fast)
    scaled.write_text(run(["svm-scale", "-r", ranges, test]).out)
    theirs, ours = run([bench.tool(), scaled, exact, outs[0]]), run([PROGRAM, "predict", test, fast, outs[1]])
    equal = same((theirs.out, ours.out), (outs[0].read_bytes(), outs[1].read_bytes()))
    yield test.name, f"{outs[1].read_bytes().count(10):,}", equal


PREDICTED = [
    ("svmguide1", "svmguide1.t", "-c 2 -g 2"),
    ("page-blocks_scale.s80", "page-blocks_scale.s20", "-c 32 -g 2"),
    ("magic04_scale.s80", "magic04_scale.s20", "-c 8 -g 1"),
    ("skin_nonskin.s80", "skin_nonskin.s20", "-c 8 -g 8"),
]
SETS = [
    *(name for names in PREDICTED for name in names[:2]),
    *("a9a", "abalone_scale.s80", "ijcnn1", "letter.scale", "mnist.scale", "phishing.s80", "usps", "w8a.s80"),
]
HEAD = "`svm-scale -r` then `svm-predict`, compared with `svmfast predict` with the range file inside"
TABLES = [
    Table("predict", f"{HEAD} | rows | bytes that differ", PREDICTED, predict,
          [("breast.train", "breast.test", "-c 10 -g 0.02")], marks="scaling"),
    Table("scale", "set | bytes | bytes that differ | svm-scale | svmfast scale | gain", SETS, scale,
          ["iris.train", "diabetes.train", "onehot.train"]),
]  # fmt: skip

if __name__ == "__main__":
    measure(__doc__, TABLES)
