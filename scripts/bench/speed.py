"""svmfast beside svm-predict, scikit-learn and scikit-learn-intelex: processes, labels, parsing, start-up.

    python scripts/bench/speed.py                                                    # on fixtures/
    python scripts/bench/speed.py --data DIR --models DIR --page docs/benchmarks.md  # the large public sets

Every time comes with the number of labels that differ from svm-predict's. Table exact: rows and model in
memory to labels in memory; the other libraries fit the same training rows with the model's options. Table
certified: what `svmfast approximate --order auto --cells auto` chose, or that the exact model is better; test
rows certified; rows whose error exceeds their bound (must be 0); labels that differ from svm-predict's when
the exact model answers the others (must be 0); and the gain in speed, those included.
"""

import sys

import numpy as np
from harness import PROGRAM, Table, measure, medians, peers, process, seconds, timed

import svmfast

SMALL = ("photos_c_rbf", "onehot_c_rbf")
LARGE = (
    *("ijcnn1_c250", "ijcnn1_c32_g2", "letter_c16_g2", "pendigits_g0.125", "usps_c10", "a9a_g0.01"),
    *("a9a_g0.1", "phishing", "w8a", "mnist1vr_c10_g1e-4", "mnist20k"),
)


def whole(bench, test, exact, fast):
    """Predict by svm-predict and by two models; return the medians of their seconds, and the labels."""
    outputs = {way: bench.folder / f"{way}.out" for way in ("svm-predict", "exact", "fast")}
    actions = {"svm-predict": process(bench.tool(), "-q", test, exact, outputs["svm-predict"])}
    for way, model in (("exact", exact), ("fast", fast)):
        actions[way] = process(PROGRAM, "predict", "-q", "-j", bench.threads, test, model, outputs[way])
    taken = medians(actions, bench.repeats)
    return taken, {way: np.loadtxt(path) for way, path in outputs.items()}


def processes(bench, name):
    """svm-predict, svmfast predict with the model, and with an expansion of second order."""
    model, test = bench.model(name), bench.test(name)
    small = bench.folder / f"{name}.small"
    bench.svmfast("approximate", model, "-o", small, "--force")
    taken, labels = whole(bench, test, model, small)
    vectors = len(svmfast.load_model(model).sv)
    line = [name, f"{len(labels['exact']):,}", f"{vectors:,}", seconds(taken["svm-predict"])]
    for way in ("exact", "fast"):
        line += [seconds(taken[way]), f"{taken['svm-predict'] / taken[way]:.1f}x"]
        line.append(f"{np.count_nonzero(labels[way] != labels['svm-predict']):,}")
    yield [*line, f"1/{model.stat().st_size / small.stat().st_size:.1f}"]


def exact(bench, name):
    """Labels in memory, which rows single precision proves, and one row at a time."""
    model = svmfast.load_model(bench.model(name))
    rows, _ = bench.read(bench.test(name))
    expected = bench.svm_predict(bench.model(name), bench.test(name))
    predictor, some = svmfast.Predictor(model), [rows[i : i + 1] for i in range(min(len(rows), 200))]
    calls = {"svmfast": lambda: predictor.answer(rows, threads=bench.threads).predicted}
    calls |= peers(bench, name, rows)
    actions = {library: timed(call, 0.05) for library, call in calls.items()}
    actions["one row"] = timed(lambda: [predictor.answer(row, threads=1) for row in some], 0.05)
    taken = medians(actions, bench.repeats)
    _, counts = model._engine.labels(rows, threads=bench.threads)
    proven = "one-hot" if model._engine.one_hot else f"{100 * counts.single / len(rows):.2f}%"
    line = [name, f"{len(rows):,}", f"{len(model.sv):,}", f"{1000 * taken['svmfast']:.1f} ms", proven]
    for library in ("svmfast", "scikit-learn", "scikit-learn-intelex"):
        if library != "svmfast":
            line.append(f"{taken[library] / taken['svmfast']:.1f}x" if library in taken else "-")
        line.append(str(np.count_nonzero(calls[library]() != expected)) if library in calls else "-")
    yield [*line, f"{1e6 * taken['one row'] / len(some):.1f} us"]


def parsing(bench, name):
    """Text to arrays, by svmfast with one and all threads, and by scikit-learn."""
    from sklearn.datasets import load_svmlight_file

    path = bench.file(name)
    readers = {
        f"svmfast, -j {n}": lambda n=n: svmfast.read_svmlight(path, threads=n) for n in (1, bench.threads)
    }
    theirs, _ = load_svmlight_file(str(path), zero_based=False)
    off = abs(svmfast.read_svmlight(path).rows.to_scipy() - theirs).max()
    readers["scikit-learn"] = lambda: load_svmlight_file(str(path), zero_based=False)
    taken = medians({reader: timed(call) for reader, call in readers.items()}, bench.repeats)
    size = path.stat().st_size / 1e6
    for reader in readers:
        yield f"{name}, {size:.1f} MB", reader, f"{size / taken[reader]:.0f}", f"{off:g}"


def start_up(bench, words):
    program = PROGRAM if words[0] == "svmfast" else sys.executable
    taken = medians({"": process(program, *words[1:])}, 2 * bench.repeats + 1)
    yield f"`{' '.join(words)}`", seconds(taken[""])


AUTO = "--order auto --cells auto"
#: Without letter, whose 26 classes have 325 functions: AUTO takes many minutes to find that none is worth it.
CERTIFIED = [
    ("a9a_g0.01", "--order 3"),
    ("a9a_g0.02", "--order 2"),
    *((f"a9a_g{gamma}", AUTO) for gamma in ("0.01", "0.02", "0.1")),
    *((f"ijcnn1_c{c}", AUTO) for c in (1, 10, 100, 250, 1000)),
    ("ijcnn1_c250", "--order 4"),
    *(("ijcnn1_c32_g2", words) for words in (AUTO, f"{AUTO} --max-bytes 20M")),
    *((name, AUTO) for name in ("mnist1vr_c10_g1e-4", "usps_c10", "pendigits_g0.125")),
]
CERTIFIED_HEAD = (
    "model | options | cells | order | numbers, exact | numbers | certified | violations | labels differing "
    "| whole process over svm-predict | over svmfast, exact | prediction step over our exact engine | made in"
)


def certified(bench, case):
    """Convert, compare, and time whole processes."""
    name, options = case
    exact, train, test, fast = bench.model(name), bench.train(name), bench.test(name), bench.folder / "fast"
    words = ["approximate", exact, "-o", fast, "--embed-exact", *options.split(), "--data", train]
    fast.unlink(missing_ok=True)
    found = bench.report(*words)
    if not fast.exists():
        yield [name, f"`{options}`", "the exact model is better", *[""] * (CERTIFIED_HEAD.count("|") - 2)]
        return
    compare = ("compare", "-j", bench.threads, "--repeats", bench.repeats, exact, fast, "--data", test)
    compared = bench.report(*compare)["models"][1]
    taken, labels = whole(bench, test, exact, fast)
    step = compared.get("speedup_with_fallback", compared["speedup"])
    yield [
        name,
        f"`{options}`",
        f"{found['cells']:,}",
        "/".join(sorted(found.get("orders", [str(found["order"])]), key=int)),
        f"{found['numbers_exact']:,}",
        f"{found['numbers']:,}",
        f"{compared['certified_percent']:.2f}%",
        f"{compared['violations']:,}",
        f"{np.count_nonzero(labels['fast'] != labels['svm-predict']):,}",
        f"{taken['svm-predict'] / taken['fast']:.1f}x",
        f"{taken['exact'] / taken['fast']:.1f}x",
        "" if step is None else f"{step:.1f}x",
        f"{found['seconds']:.1f} s",
    ]


CERTIFIED_SMALL = [("breast_c_rbf", AUTO), ("photos_c_rbf", "--order 2"), ("onehot_c_rbf", AUTO)]
NOTE = (
    "Labels and whole processes are of `svmfast predict TEST FAST OUT`, FAST made with `--embed-exact`, "
    "reading included; the prediction step alone, rows and models in memory, is `compare`'s."
)

STARTS = (("svmfast", "--version"), ("svmfast", "--help"), ("python", "-c", "import numpy"))
TABLES = [
    Table(
        "processes",
        "whole process | rows | SVs | svm-predict | svmfast, exact | gain | labels differing "
        "| svmfast, approximated | gain | labels differing | model size",
        LARGE, processes, SMALL, marks="bench",
    ),
    Table("parsing", "parsing | reader | MB/s | largest difference", ["ijcnn1.t"], parsing, ["photos.test"],
          marks="bench", left=2),
    Table("start-up", "start-up | time", STARTS, start_up, STARTS, marks="bench"),
    Table(
        "exact",
        "model | rows | SVs | svmfast | proven by single precision | labels differing | over scikit-learn "
        "| its labels differing | over scikit-learn-intelex | its labels differing | one row",
        LARGE, exact, SMALL,
    ),
    Table("certified", CERTIFIED_HEAD, CERTIFIED, certified, CERTIFIED_SMALL, left=2, note=NOTE),
]  # fmt: skip

if __name__ == "__main__":
    measure(__doc__, TABLES, versions=("svm-predict", "scikit-learn", "scikit-learn-intelex"))
