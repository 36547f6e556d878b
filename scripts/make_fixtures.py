"""Make everything under fixtures/: data, models, golden predictions and the manifest.

Run with the real LIBSVM tools, built from its sources (3.37: older ones know no one-class probabilities):

    python scripts/make_fixtures.py --svm-train /path/svm-train --svm-predict /path/svm-predict

The data come from the sets bundled with scikit-learn (Pillow is needed to read its two photographs), so no
network is used. Commands run inside fixtures/ and are recorded word for word in MANIFEST.tsv.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
from sklearn import datasets

ROOT = Path(__file__).resolve().parent.parent / "fixtures"
SCRIPT = "scripts/make_fixtures.py"

# model name, data set it is trained and tested on, svm-train's options
MODELS = [
    # binary, 30 dense features
    ("breast_c_linear", "breast", "-s 0 -t 0 -c 1"),
    ("breast_c_poly1", "breast", "-s 0 -t 1 -d 1 -g 0.1 -r 1 -c 1"),
    ("breast_c_poly2", "breast", "-s 0 -t 1 -d 2 -g 0.1 -r 1 -c 1"),
    ("breast_c_poly3_prob", "breast", "-s 0 -t 1 -d 3 -g 0.1 -r 0.5 -c 1 -b 1"),
    ("breast_c_rbf", "breast", "-s 0 -t 2 -g 0.05 -c 10"),
    ("breast_c_rbf_prob", "breast", "-s 0 -t 2 -g 0.02 -c 1 -b 1"),
    ("breast_c_rbf_weights", "breast", "-s 0 -t 2 -g 0.02 -c 1 -w1 5 -w-1 2"),
    ("breast_c_sigmoid", "breast", "-s 0 -t 3 -g 0.01 -r -0.5 -c 10"),
    ("breast_nu_linear", "breast", "-s 1 -t 0 -n 0.1"),
    ("breast_nu_rbf_prob", "breast", "-s 1 -t 2 -g 0.02 -n 0.2 -b 1"),
    # binary, one-hot features: the sparse path
    ("onehot_c_linear_prob", "onehot", "-s 0 -t 0 -c 0.1 -b 1"),
    ("onehot_c_rbf", "onehot", "-s 0 -t 2 -g 0.01 -c 5"),
    ("onehot_c_poly2", "onehot", "-s 0 -t 1 -d 2 -g 0.02 -r 1 -c 1"),
    ("onehot_nu_sigmoid", "onehot", "-s 1 -t 3 -g 0.01 -n 0.3"),
    # three classes
    ("iris_c_linear", "iris", "-s 0 -t 0 -c 1"),
    ("iris_c_poly3", "iris", "-s 0 -t 1 -d 3 -g 0.5 -r 1 -c 1"),
    ("iris_c_rbf_prob", "iris", "-s 0 -t 2 -g 0.5 -c 1 -b 1"),
    ("iris_c_sigmoid", "iris", "-s 0 -t 3 -g 0.1 -r -1 -c 10"),
    ("iris_nu_rbf_prob", "iris", "-s 1 -t 2 -g 0.5 -n 0.3 -b 1"),
    ("wine_c_rbf_prob", "wine", "-s 0 -t 2 -g 0.05 -c 1 -b 1"),
    ("wine_nu_sigmoid", "wine", "-s 1 -t 3 -g 0.02 -n 0.3"),
    ("wine_nu_poly2_prob", "wine", "-s 1 -t 1 -d 2 -g 0.1 -r 1 -n 0.2 -b 1"),
    # ten classes, 64 half-empty features
    ("digits_c_rbf_prob", "digits", "-s 0 -t 2 -g 0.01 -c 10 -b 1"),
    ("digits_c_poly2", "digits", "-s 0 -t 1 -d 2 -g 0.1 -r 1 -c 1"),
    ("digits_nu_rbf", "digits", "-s 1 -t 2 -g 0.02 -n 0.1"),
    # odd against even digits, and texture patches of two photographs: gamma inside the Maclaurin bound
    ("odd_c_rbf", "odd", "-s 0 -t 2 -g 0.01 -c 10"),
    ("photos_c_rbf", "photos", "-s 0 -t 2 -g 0.01 -c 100"),
    # one-class: trained on one species of iris, tested on all
    ("normal_one_linear", "normal", "-s 2 -t 0 -n 0.2"),
    ("normal_one_rbf", "normal", "-s 2 -t 2 -g 0.5 -n 0.1"),
    ("normal_one_rbf_prob", "normal", "-s 2 -t 2 -g 0.5 -n 0.3 -b 1"),
    ("normal_one_poly2", "normal", "-s 2 -t 1 -d 2 -g 0.5 -r 1 -n 0.2"),
    ("normal_one_sigmoid", "normal", "-s 2 -t 3 -g 0.1 -n 0.2"),
    # regression
    ("diabetes_eps_linear", "diabetes", "-s 3 -t 0 -c 10"),
    ("diabetes_eps_poly2", "diabetes", "-s 3 -t 1 -d 2 -g 0.1 -r 1 -c 10"),
    ("diabetes_eps_rbf", "diabetes", "-s 3 -t 2 -g 0.02 -c 100 -p 5"),
    ("diabetes_eps_rbf_prob", "diabetes", "-s 3 -t 2 -g 0.05 -c 100 -b 1"),
    ("diabetes_eps_sigmoid", "diabetes", "-s 3 -t 3 -g 0.01 -c 10"),
    ("diabetes_nu_poly3", "diabetes", "-s 4 -t 1 -d 3 -g 0.1 -r 1 -c 10 -n 0.5"),
    ("diabetes_nu_rbf_prob", "diabetes", "-s 4 -t 2 -g 0.02 -c 100 -n 0.5 -b 1"),
    # quirks of labels
    ("single_class", "single", "-s 0 -t 2"),
    ("minus_first_prob", "minus_first", "-s 0 -t 2 -g 0.5 -b 1"),
    ("unsorted_labels_prob", "unsorted", "-s 0 -t 2 -g 0.5 -b 1"),
    ("large_labels_prob", "large_labels", "-s 0 -t 2 -g 0.5 -b 1"),
    ("large_labels_two", "large_labels_two", "-s 0 -t 2 -g 0.5"),
    ("iris_precomputed", "precomputed", "-s 0 -t 4"),
]

# model written by hand or by rewriting another, data set it is tested on
HANDMADE = [
    ("tie_zero_decision", "tie"),
    ("tie_votes", "tie_votes"),
    ("tie_votes_prob", "tie_votes"),
    ("tie_votes_four", "tie_votes"),
    ("tie_one_class", "tie"),
    ("thunder_order_prob", "iris"),
    ("crlf", "iris"),
    ("no_last_newline", "iris"),
]
# models tested on a second data set: features the model never saw
EXTRA = [
    (model, "iris_extra")
    for model in ("iris_c_linear", "iris_c_poly3", "iris_c_rbf_prob", "iris_nu_rbf_prob", "iris_c_sigmoid")
] + [("normal_one_rbf_prob", "iris_extra"), ("iris_c_rbf_prob", "iris_label_only")]


class Manifest:
    """Collects how every file was made and writes MANIFEST.tsv."""

    def __init__(self) -> None:
        self.lines: dict[str, tuple[str, str]] = {}

    def add(self, path: str, tool: str, command: str) -> None:
        self.lines[path] = (tool, command)

    def write(self) -> None:
        out = ["file\tbytes\tsha256\ttool\tcommand"]
        # Files of released versions are kept as they are: scripts/freeze_models.py.
        kept = [
            line for line in (ROOT / "MANIFEST.tsv").read_text().splitlines() if line.startswith("frozen/")
        ]
        for path in sorted(self.lines):
            content = (ROOT / path).read_bytes()
            tool, command = self.lines[path]
            out.append(f"{path}\t{len(content)}\t{hashlib.sha256(content).hexdigest()}\t{tool}\t{command}")
        (ROOT / "MANIFEST.tsv").write_text("\n".join([out[0], *sorted(out[1:] + kept)]) + "\n")


def number(value: float) -> str:
    return f"{value:.17g}" if value == int(value) else f"{value:.4g}"


def svmlight(labels: np.ndarray, features: np.ndarray, first_index: int = 1) -> str:
    """LIBSVM text without stored zeros; features at 4 digits, which keeps the files small and exact."""
    lines = []
    for label, row in zip(labels, features, strict=True):
        pairs = [f"{j + first_index}:{number(v)}" for j, v in enumerate(row) if v != 0]
        lines.append(" ".join([number(float(label)), *pairs]))
    return "\n".join(lines) + "\n"


def minmax(features: np.ndarray, low: float = -1.0) -> np.ndarray:
    lowest, highest = features.min(axis=0), features.max(axis=0)
    return low + (1 - low) * (features - lowest) / (highest - lowest)


def shuffled(count: int) -> np.ndarray:
    return np.random.default_rng(0).permutation(count)


def one_hot(features: np.ndarray, bins: int = 4) -> np.ndarray:
    """Each feature as `bins` indicator columns of its quantile range."""
    columns = []
    for column in features.T:
        edges = np.quantile(column, np.arange(1, bins) / bins)
        columns.append(np.eye(bins)[np.searchsorted(edges, column)])
    return np.hstack(columns)


def photo_patches(count: int) -> tuple[np.ndarray, np.ndarray]:
    """A pixel and its four neighbours, in colour, and which of the two bundled photographs it is from."""
    rng = np.random.default_rng(0)
    labels, patches = [], []
    for label, image in zip((1, -1), datasets.load_sample_images().images, strict=True):
        scaled = image / 127.5 - 1
        row = rng.integers(1, image.shape[0] - 1, count // 2)
        column = rng.integers(1, image.shape[1] - 1, count // 2)
        cross = ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1))
        patches.append(np.hstack([scaled[row + down, column + right] for down, right in cross]))
        labels.append(np.full(count // 2, label))
    order = shuffled(count // 2 * 2)
    return np.concatenate(labels)[order], np.round(np.vstack(patches), 2)[order]


def make_data() -> dict[str, str]:
    """Every data file as text, named without folder."""
    files: dict[str, str] = {}

    def split(name: str, labels: np.ndarray, features: np.ndarray, train: int, total: int = 0) -> None:
        order = shuffled(len(labels))[: total or None]
        for part, which in (("train", order[:train]), ("test", order[train:])):
            files[f"{name}.{part}"] = svmlight(labels[which], features[which])

    breast = datasets.load_breast_cancer()
    sign = np.where(breast.target == 1, 1, -1)
    split("breast", sign, minmax(breast.data), 380)
    split("onehot", sign, one_hot(breast.data), 380)
    iris = datasets.load_iris()
    flowers = minmax(iris.data)
    split("iris", iris.target + 1, flowers, 100)
    wine = datasets.load_wine()
    split("wine", wine.target + 1, minmax(wine.data), 120)
    digits = datasets.load_digits()
    split("digits", digits.target, digits.data / 16, 500, 800)
    split("odd", np.where(digits.target % 2, 1, -1), digits.data / 16, 700, 1300)
    diabetes = datasets.load_diabetes()
    split("diabetes", diabetes.target, minmax(diabetes.data), 300)
    labels, patches = photo_patches(6500)
    files["photos.train"] = svmlight(labels[:2500], patches[:2500])
    files["photos.test"] = svmlight(labels[2500:], patches[2500:])

    order = shuffled(150)
    species = iris.target[order]
    files["normal.train"] = svmlight(np.ones(30), flowers[order][species == 1][:30])
    files["normal.test"] = svmlight(np.where(species == 1, 1, -1), flowers[order])

    # Quirks. Labels: one class only; -1 met before +1; not ascending; too long for six digits.
    split("single", np.full(150, 7), flowers, 20, 30)
    two = order[species != 2]
    signs = np.where(iris.target[two] == 1, 1, -1)
    first = np.argsort(signs[:60] == 1, kind="stable")
    files["minus_first.train"] = svmlight(signs[:60][first], flowers[two][:60][first])
    files["minus_first.test"] = svmlight(signs[60:], flowers[two][60:])
    for name, names in (
        ("unsorted", (5, -3, 2)),
        ("large_labels", (1234567, -2147483648, 2147483647)),
    ):
        split(name, np.array(names)[iris.target], flowers, 90)
    split("large_labels_two", np.where(iris.target == 1, 123456789, -1), flowers, 90)
    # Features no training row had, labels outside the model, a real-valued label, rows without features.
    test = svmlight(iris.target[order[100:]] + 1, flowers[order[100:]]).splitlines()
    files["iris_extra.test"] = "".join(
        f"{line} {5 + i % 3}:{0.5 + i / 50:.4g}\n" for i, line in enumerate(test)
    )
    files["iris_label_only.test"] = f"1\n2 \n{test[0]}\n9 1:0.5\n1.5 2:-0.25\n-0\n1e0 4:1\n"
    # x = 0 gives decision 0, which belongs to the second label; votes of three classes in a circle.
    files["tie.test"] = "1\n-1\n1 1:1\n-1 1:-1\n1 2:5\n1 1:1e-300\n-1 1:-1e-300\n"
    files["tie_votes.test"] = "9\n2\n3 1:0.5\n1 1:-2\n3 1:2\n2 2:4\n1 1:1 2:-4\n4 1:-1 2:3\n"
    gram = flowers[order] @ flowers[order].T
    serial = np.arange(1, 151)[:, None]
    rows = np.hstack([serial, np.round(gram, 3)])
    files["precomputed.train"] = svmlight(iris.target[order[:40]] + 1, rows[:40, :41], first_index=0)
    files["precomputed.test"] = svmlight(iris.target[order[40:60]] + 1, rows[40:60, :41], first_index=0)
    return files


def make_handmade() -> dict[str, str]:
    """Models no training gives but LIBSVM loads: exact ties, other key orders and line ends."""
    iris = (ROOT / "models/iris_c_rbf_prob.model").read_text()
    plain = (ROOT / "models/iris_c_poly3.model").read_text()
    head, vectors = iris.split("SV\n", 1)
    keys = dict(line.split(" ", 1) for line in head.splitlines())
    thunder = [
        "svm_type",
        "kernel_type",
        "gamma",
        "nr_class",
        "total_sv",
        "rho",
        "label",
        "nr_sv",
        "probA",
        "probB",
    ]
    real = {"gamma", "rho", "probA", "probB"}
    lines = [
        f"{key} {' '.join(f'{float(v):.6g}' for v in keys[key].split()) if key in real else keys[key]} "
        for key in thunder
    ]
    # Three classes: one vote each for every x != 0. Four: two votes each for the second and the third.
    circle = (
        "svm_type c_svc\nkernel_type linear\nnr_class 3\ntotal_sv 3\nrho 0 0 0\nlabel 3 1 2\n{}"
        "nr_sv 1 1 1\nSV\n0.5 -0.5 1:1 2:1 \n0.5 0.5 1:1 \n-0.5 0.5 1:1 \n"
    )
    four = (
        "svm_type c_svc\nkernel_type linear\nnr_class 4\ntotal_sv 4\nrho 1 1 -1 -1 1 -1\nlabel 9 4 2 7\n"
        "nr_sv 1 1 1 1\nSV\n1 0 0 1:1 \n0 1 0 1:1 \n0 0 1 1:1 \n0.5 0.5 0.5 1:1 \n"
    )
    zero = "svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 2\nrho 0\nlabel 1 -1\nnr_sv 1 1\nSV\n"
    one = "svm_type one_class\nkernel_type linear\nnr_class 2\ntotal_sv 2\nrho 0\nSV\n"
    return {
        "tie_zero_decision": zero + "0.5 1:1 \n-0.5 1:-1 \n",
        "tie_one_class": one + "0.5 1:1 \n0.5 1:1 \n",
        "tie_votes_four": four,
        "tie_votes": circle.format(""),
        "tie_votes_prob": circle.format("probA -1 -2 -0.5\nprobB 0.1 0 -0.2\n"),
        "thunder_order_prob": "\n".join(lines) + "\nSV\n" + vectors,
        "crlf": plain.replace("\n", "\r\n"),
        "no_last_newline": plain.rstrip("\n"),
    }


def version_of(tool: Path) -> str:
    """LIBSVM's tools tell no version; svm.h of the build folder or the Debian package does."""
    header = tool.resolve().parent / "svm.h"
    if header.exists():
        found = re.search(r"LIBSVM_VERSION (\d)(\d+)", header.read_text())
        if found:
            return f"{found[1]}.{found[2]}"
    owner = subprocess.run(["dpkg", "-S", str(tool.resolve())], capture_output=True, text=True, check=False)
    if owner.returncode == 0:
        name = owner.stdout.split(":")[0]
        shown = subprocess.run(
            ["dpkg-query", "-W", "-f", "${Version}", name], capture_output=True, text=True, check=True
        )
        return f"{shown.stdout} (Debian)"
    raise SystemExit(f"{tool}: cannot tell its version; no svm.h beside it and no package owns it")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--svm-train", default="svm-train", help="default: svm-train on PATH")
    parser.add_argument("--svm-predict", default="svm-predict", help="default: svm-predict on PATH")
    options = parser.parse_args()
    tools = {}
    for name in ("svm_train", "svm_predict"):
        found = shutil.which(getattr(options, name))
        if found is None:
            sys.exit(f"{getattr(options, name)}: not found")
        tools[name] = Path(found).resolve()
    trainer, predictor = (
        f"LIBSVM {version_of(tools[n])} {n.replace('_', '-')}" for n in ("svm_train", "svm_predict")
    )
    maker = f"{SCRIPT} scikit-learn {importlib.metadata.version('scikit-learn')}"
    manifest = Manifest()
    for folder in ("data", "models", "golden"):
        shutil.rmtree(ROOT / folder, ignore_errors=True)
        (ROOT / folder).mkdir(parents=True)

    for name, text in make_data().items():
        (ROOT / "data" / name).write_text(text, newline="")
        manifest.add(f"data/{name}", maker, SCRIPT)

    def run(tool: str, arguments: str, stdout: str | None = None) -> None:
        done = subprocess.run([tools[tool], *arguments.split()], cwd=ROOT, capture_output=True, check=False)
        if done.returncode:
            sys.exit(f"{tool} {arguments}: exit {done.returncode}: {done.stderr.decode()}")
        if stdout is not None:
            (ROOT / stdout).write_bytes(done.stdout)

    for name, data, flags in MODELS:
        arguments = f"{flags} -q data/{data}.train models/{name}.model"
        run("svm_train", arguments)
        manifest.add(f"models/{name}.model", trainer, f"svm-train {arguments}")
    for name, text in make_handmade().items():
        (ROOT / f"models/{name}.model").write_text(text, newline="")
        manifest.add(f"models/{name}.model", SCRIPT, SCRIPT)

    tested = [(model, data, "") for model, data, _ in MODELS] + [
        (model, data, "") for model, data in HANDMADE
    ]
    tested += [(model, data, f".{data}") for model, data in EXTRA]
    for model, data, suffix in tested:
        for flag in ("", "-b 1 ") if model.endswith("_prob") else ("",):
            stem = f"golden/{model}{suffix}{'.b1' if flag else ''}"
            arguments = f"{flag}data/{data}.test models/{model}.model {stem}.out"
            run("svm_predict", arguments, f"{stem}.stdout")
            manifest.add(f"{stem}.out", predictor, f"svm-predict {arguments}")
            manifest.add(f"{stem}.stdout", predictor, f"svm-predict {arguments} > {stem}.stdout")
    manifest.write()
    total = sum(path.stat().st_size for path in ROOT.rglob("*") if path.is_file())
    print(f"{len(manifest.lines)} files, {total:,} bytes under {ROOT}", file=sys.stderr)


if __name__ == "__main__":
    main()
