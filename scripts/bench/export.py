"""Exported C and ONNX: speed, labels and values against svm-predict, flash on a Cortex-M4: docs/export.md.

    python scripts/bench/export.py                                                 # on fixtures/
    python scripts/bench/export.py --data DIR --models DIR --page docs/export.md [--table labels]

Tables: speed (an SVC of scikit-learn in every way, labels compared with its own, processor time of a thread),
flash (accuracy against bytes on a Cortex-M4 of a model made by every method; needs arm-none-eabi-gcc), labels
(files on every test row against svm-predict, values against LIBSVM's own library), certain (the labels that
an exported approximation proves), embedded (emulated boards: scripts/embedded, which takes other models too).
"""

import sys
import tempfile
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import onnxruntime
from harness import MODELS, ROOT, Table, measure, medians, timed

import svmfast
from svmfast.errors import UnsupportedError

sys.path.extend((f"{ROOT}/scripts", f"{ROOT}/tests/support"))
from boards import BOARDS, TooLargeError, flash_of, on_board
from c_exports import compiled, fused


def session(model):
    """Return an ONNX file, opened for one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def in_onnx(opened, x):
    """Return all outputs, in batches of 1,000 rows."""
    name = opened.get_inputs()[0].name
    parts = [opened.run(None, {name: x[at : at + 1000]}) for at in range(0, len(x), 1000)]
    return [np.concatenate(one) for one in zip(*parts, strict=True)]


def speed(bench, case):
    """Every way to predict with an SVC."""
    from skl2onnx import to_onnx
    from sklearn.svm import SVC

    warnings.simplefilter("ignore", FutureWarning)
    name, most = case
    rows, labels = bench.read(bench.train(name))
    c, gamma, d = MODELS[name].option("-c"), MODELS[name].option("-g"), rows.n_columns
    fitted = SVC(C=c, gamma=gamma).fit(rows.to_dense(d)[:most], labels[:most].astype(int))
    x = np.ascontiguousarray(bench.read(bench.test(name))[0].to_dense(d)[:4000])
    model, wanted = svmfast.from_sklearn(fitted), fitted.predict(x)
    own = lambda: svmfast.predict(model, x, threads=1).predicted  # noqa: E731
    found = {"`svmfast predict`, in process": (own, "", "")}
    for precision, real in (("double", np.float64), ("float", np.float32)):
        begin, z = time.perf_counter(), x.astype(real)
        made = compiled(svmfast.export(model, "c", precision=precision), bench.folder)
        about = f"{time.perf_counter() - begin:.1f}", f"{Path(made.loaded._name).stat().st_size:,}"
        found[f"`export --to c`, {precision}"] = (lambda made=made, z=z: made.answers(z), *about)
        onnx = svmfast.export(model, "onnx", precision=precision)
        opened = session(onnx.data)
        answer = lambda opened=opened, z=z: in_onnx(opened, z)[0].ravel()  # noqa: E731
        found[f"`export --to onnx`, {precision}"] = (answer, "", f"{len(onnx.data):,}")
    theirs = to_onnx(fitted, x[:1].astype(np.float32), options={id(fitted): {"zipmap": False}})
    data, z = theirs.SerializeToString(), x.astype(np.float32)
    other = session(data)
    found["sklearn-onnx's SVMClassifier"] = (lambda: in_onnx(other, z)[0], "", f"{len(data):,}")
    title = f"{name}, {len(fitted.support_):,} vectors"
    for way, (call, compiling, size) in found.items():
        taken = medians({way: timed(call, 0.05, time.process_time)}, bench.repeats)[way]
        micro = 1e6 * taken / len(x)
        yield title, way, compiling, size, f"{micro:.1f}", str(np.count_nonzero(call() != wanted))


def flash(bench, name):
    """Every method at several sizes; the accuracy is that of the same file compiled here."""
    train, test = bench.file(MODELS[name].train, first=20_000), bench.file(MODELS[name].test, first=10_000)
    solver, exact = MODELS[name].options, bench.folder / "exact"
    bench.svmfast("train", *solver.split(), train, exact)
    ways = [("exact", "", ""), ("linear", "", f"linear {train}")]
    for order in (1, 2, 3, 4):
        ways.append(("approximate", f"order {order}", f"approximate {exact} --order {order} --force"))
    for sv in (10, 20, 40, 80, 160, 320):
        words = f"compress {exact} --data {train} --sv {sv} --rows 6000 --iterations 300"
        ways.append(("compress", f"{sv} vectors", words))
    for size in (20, 80, 320):
        ways.append(("budget-train", f"budget {size}", f"budget-train {train} {solver} -B {size}"))
    for clusters, landmarks in ((2, 8), (4, 16), (8, 32)):
        shape = f"--clusters {clusters} --landmarks {landmarks} --pseudo none"
        words = f"dcpred {train} --task svc {solver} {shape}"
        ways.append(("dcpred", f"{clusters} x {landmarks} landmarks", words))
    rows, y = bench.read(test)
    x = rows.to_dense(svmfast.load_model(exact).n_features)
    for method, size, words in ways:
        model = bench.folder / "made" if words else exact
        if words and bench.svmfast(*words.split(), "-o", model, statuses=(0, 1)).status:
            continue
        made = svmfast.export(model, "c")
        try:
            needed = flash_of(made.text, "Cortex-M4", bench.folder)
        except TooLargeError:
            continue
        right = 100 * np.mean(compiled(made, bench.folder).answers(x) == y)
        yield name, method, size, f"{right:.2f} %", f"{needed:,}"


def apart(found, expected):
    """Return the largest difference relative to the largest value."""
    return f"{np.abs(found.reshape(expected.shape) - expected).max() / np.abs(expected).max():.0e}"


def labels(bench, name):
    """One model in C, in both precisions, and in ONNX."""
    from libsvm import svmutil

    model, test, regression = bench.model(name), bench.test(name), "-s 3" in MODELS[name].options
    x = bench.read(test)[0].to_dense(svmfast.load_model(model).n_features)
    expected = bench.svm_predict(model, test)
    answer, some = svmfast.predict(model, str(test)), x[:4000]
    theirs = np.array(svmutil.svm_predict([], some, svmutil.svm_load_model(str(model)), "-q")[2])
    cells = []
    for precision in ("double", "float"):
        exported = svmfast.export(model, "c", precision=precision)
        made = compiled(exported, bench.folder, regression=regression)
        found = made.answers(x)
        differ = f"{np.count_nonzero(found != expected)} differ"
        cells.append(apart(found[: len(some)], theirs) if regression else differ)
        if precision == "double":
            cells.append(apart(found[: len(some)] if regression else made.decisions(some), theirs))
    first, *more = in_onnx(session(svmfast.export(model, "onnx").data), x)
    if regression:
        cells += [apart(first, answer.predicted)] * 2
    else:
        cells += [f"{np.count_nonzero(first.ravel() != expected)} differ", apart(more[0], answer.decisions)]
    yield [name, f"{len(x):,}", *cells]


def certain(bench, case):
    """The labels that an exported approximation proves, with contracted multiply-adds and without."""
    (name, order), fast = case, bench.folder / "fast"
    bench.svmfast("approximate", "--force", bench.model(name), "-o", fast, "--order", order)
    test, expected = bench.test(name), bench.svm_predict(bench.model(name), bench.test(name))
    answer = svmfast.predict(fast, str(test), certify=True)
    assert answer.certified is not None
    x = bench.read(test)[0].to_dense(svmfast.load_model(fast).n_features)
    wrong, shares = int((answer.predicted != expected)[answer.certified].sum()), [answer.certified.mean()]
    for precision in ("double", "float"):
        exported = svmfast.export(fast, "c", precision=precision)
        files = [compiled(exported, bench.folder, *flags) for flags in ((), fused())]
        proven = [file.certain(x) for file in files]
        for one, of in zip(files, proven, strict=True):
            wrong += int((one.answers(x) != expected)[of].sum())
        shares.append(min(float(of.mean()) for of in proven))
    yield [f"{name}, order {order}", f"{len(x):,}", *(f"{100 * one:.2f} %" for one in shares), str(wrong)]


def embedded(bench, fixtures):
    """One model and its rows on every emulated board, in both arithmetics; wrong labels end the script."""
    given = list(map(Path, bench.options.triples))
    triples = list(zip(given[::3], given[1::3], given[2::3], strict=True)) or fixtures
    for (model, rows, data), board, fixed in product(triples, BOARDS, (None, 16)):
        name = [model.stem, board, "float" if fixed is None else "integers"]
        try:
            with tempfile.TemporaryDirectory() as folder:
                found = on_board(model, rows, board, Path(folder), fixed=fixed, data=fixed and data)
        except TooLargeError:
            yield [*name, "does not fit", *[""] * 6]
        except UnsupportedError:
            continue
        else:
            yield [*name, *("" if n is None else f"{n:,}" for n in found.values())]
            if found["wrong"]:
                raise SystemExit(f"embedded: {found['wrong']} labels are not those of svmfast predict")


FIXTURES, FROZEN = ROOT / "fixtures", ROOT / "fixtures/frozen/1.0"
EMBEDDED = [
    (model, *(FIXTURES / f"data/{name}.{part}" for part in ("test", "train")))
    for model, name in (
        (FROZEN / "polynomial_three_classes.model", "iris"),
        (FIXTURES / "models/digits_c_rbf_prob.model", "digits"),
        (FROZEN / "routed_pseudo_triangle.model", "iris"),
        (FIXTURES / "models/diabetes_eps_rbf.model", "diabetes"),
    )
]
LABELS = ("a9a_g0.01", "ijcnn1_c32_g2", "letter_c16_g2", "usps_c10", "pendigits_g0.5", "abalone")
CERTAIN = [(name, 2) for name in ("ijcnn1_c1", "a9a_g0.01", "a9a_g0.02")]
CERTAIN += [(f"ijcnn1_c{c}", 3) for c in (10, 100, 250)]
FLASH = ("ijcnn1_c100", "magic04", "pendigits_g0.5", "svmguide1")
SPEED = [("svmguide1", 3089), ("pendigits_g0.5", 7494), ("ijcnn1_c32_g2", 10_000)]
TABLES = [
    Table("speed", "SVC | way | compile, s | size, bytes | microseconds per row | labels that differ", SPEED,
          speed, [("breast_c_rbf", 400), ("iris_c_rbf_prob", 100)], marks="export speed", left=2),
    Table("flash", "set | method | size | accuracy | flash", FLASH, flash, ["breast_c_rbf"],
          marks="export flash", left=3),
    Table("labels", "model | rows | C in double | C values | C in float | ONNX in double | ONNX values",
          LABELS, labels, ("breast_c_rbf", "iris_c_rbf_prob", "diabetes_eps_rbf"), marks="export labels"),
    Table("certain", "approximation | rows | certain in `predict` | C, double | C, float | certain and wrong",
          CERTAIN, certain, [("photos_c_rbf", 2)], marks="export certain"),
    Table("embedded", "model | board | numbers | rows | wrong | flash | with certain | tables | stack "
          "| instructions per row", [EMBEDDED], embedded, [EMBEDDED], marks="embedded", left=3),
]  # fmt: skip


if __name__ == "__main__":
    more = {"--triples": {"nargs": "*", "default": []}}
    measure(__doc__, TABLES, arguments=more, versions=("svm-predict", "scikit-learn"))
