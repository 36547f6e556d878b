"""Scaling inside models against LIBSVM's svm-scale and svm-predict: docs/data.md. Fails if a byte differs.

python scripts/bench/scaling.py                  # on fixtures/
python scripts/bench/scaling.py --data DIR --page docs/data.md
"""

from harness import PROGRAM, Table, measure, run

import svmfast


def predict(bench, case):
    """Scale, train and predict with LIBSVM's programs; put the ranges into the model and predict raw rows."""
    (train, test), folder = map(bench.file, case[:2]), bench.folder
    ranges, exact, fast, scaled = (folder / name for name in ("ranges", "exact", "fast", "scaled"))
    outs = [folder / name for name in ("theirs", "ours")]
    scaled.write_text(run(["svm-scale", "-s", ranges, train]).out)
    bench.svmfast("train", *case[2].split(), scaled, exact)
    svmfast.save_model(svmfast.ScaledModel(svmfast.load_model(exact), svmfast.read_ranges(ranges)), fast)
    scaled.write_text(run(["svm-scale", "-r", ranges, test]).out)
    theirs, ours = run([bench.tool(), scaled, exact, outs[0]]), run([PROGRAM, "predict", test, fast, outs[1]])
    written = [path.read_bytes() for path in outs]
    if theirs.out != ours.out or written[0] != written[1]:
        raise SystemExit(f"scaling: the bytes for {test} differ")
    yield test.name, f"{written[0].count(10):,}", "0"


PREDICTED = [
    ("svmguide1", "svmguide1.t", "-c 2 -g 2"),
    ("page-blocks_scale.s80", "page-blocks_scale.s20", "-c 32 -g 2"),
    ("magic04_scale.s80", "magic04_scale.s20", "-c 8 -g 1"),
    ("skin_nonskin.s80", "skin_nonskin.s20", "-c 8 -g 8"),
]
HEAD = "`svm-scale -r` then `svm-predict`, compared with `svmfast predict` with the range file inside"
TABLES = [
    Table("scaling", f"{HEAD} | rows | bytes that differ", PREDICTED, predict,
          [("breast.train", "breast.test", "-c 10 -g 0.02")]),
]  # fmt: skip

if __name__ == "__main__":
    measure(__doc__, TABLES)
