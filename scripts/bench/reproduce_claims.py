"""The figures that reproduce.py measures: the paper's figure, and how ours is made."""

from __future__ import annotations

import json
import math
import shlex
import statistics
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from measuring import PROGRAM

from svmfast.formats.svmlight import read_svmlight, write_svmlight
from svmfast.rows import Rows


@dataclass(frozen=True)
class Claim:
    """One figure of a paper, and how ours is measured.

    Attributes
    ----------
    paper, what : str
    theirs : str
        As printed in the paper.
    inputs : tuple of str
        Files needed, NAME.model from the models' folder.
    measure : callable
        Takes a :class:`Bench` and returns our figure as text.
    quick : bool
    remark : str
        How our data or settings differ from the paper's.
    """

    paper: str
    what: str
    theirs: str
    inputs: tuple[str, ...]
    measure: Callable[[Bench], str]
    quick: bool = True
    remark: str = ""


class Bench:
    """Runs svmfast and records the commands."""

    def __init__(self, data: Path, models: Path, scratch: Path, threads: int) -> None:
        self.data, self.models, self.scratch, self.threads = data, models, scratch, threads
        self.commands: list[str] = []

    def find(self, name: str) -> Path:
        return (self.models if name.endswith(".model") else self.data) / name

    def run(self, *words: object, fails: Sequence[int] = ()) -> str:
        """Run ``svmfast WORDS``; words with a dot or a known name are files."""
        arguments = [str(word) for word in words]
        shown = [word.replace(f"{self.scratch}/", "").replace(f"{self.data}/", "") for word in arguments]
        self.commands.append(shlex.join(["svmfast", *(w.replace(f"{self.models}/", "") for w in shown)]))
        done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)
        if done.returncode and done.returncode not in fails:
            raise RuntimeError(f"{self.commands[-1]}: {done.stderr.strip().splitlines()[-1]}")
        return done.stdout

    def made(self, name: str) -> Path:
        return self.scratch / name

    def accuracy(self, model: Path, test: str) -> float:
        printed = self.run("predict", self.find(test), model, self.made("labels"), "-j", self.threads)
        return float(printed.split("Accuracy = ")[1].split("%")[0])


def gamma_max(data: str) -> Callable[[Bench], str]:
    def measure(bench: Bench) -> str:
        found = json.loads(bench.run("bound-check", bench.find(data), "--json"))
        return f"{found['paper']['gamma_max']:.4f}"

    return measure


def approximated(model: str, test: str, what: str, center: str) -> Callable[[Bench], str]:
    """Return the differing labels, or the sizes, of the second-order approximation."""

    def measure(bench: Bench) -> str:
        exact, fast = bench.find(model), bench.made(f"{model}.{center}")
        bench.run("approximate", exact, "--order", 2, "--center", center, "-o", fast, "-q", "--force")
        if what == "sizes":
            before, after = exact.stat().st_size, fast.stat().st_size
            return f"{before / 1000:,.0f} -> {after / 1000:,.1f} kB (1/{before / after:.1f})"
        found = json.loads(
            bench.run("compare", exact, fast, "--data", bench.find(test), "--repeats", 1, "--json")
        )
        row = found["models"][1]
        return f"{row['labels_differing_percent']:.2f}%"

    return measure


def budgeted(train: str, test: str, cost: float, gamma: float, size: int) -> Callable[[Bench], str]:
    def measure(bench: Bench) -> str:
        model = bench.made(f"{train}.{size}")
        bench.run(
            "budget-train", bench.find(train), model, "-c", cost, "-g", gamma, "-B", size, "--passes", 10,
            "-j", bench.threads, "-q",
        )  # fmt: skip
        return f"{bench.accuracy(model, test):.2f}%"

    return measure


def saved_by_lookup(train: str, cost: float, gamma: float, size: int) -> Callable[[Bench], str]:
    """Return the training time saved by table lookup over golden section search: one thread, median of 3."""

    def measure(bench: Bench) -> str:
        seconds: dict[str, list[float]] = {"gss": [], "lookup-wd": []}
        for merge in list(seconds) * 3:  # in turn
            found = json.loads(
                bench.run(
                    "budget-train", bench.find(train), bench.made("merged"), "-c", cost, "-g", gamma,
                    "-B", size, "--passes", 5, "--merge", merge, "-j", 1, "--json", "-q",
                )
            )  # fmt: skip
            seconds[merge].append(found["train_seconds"])
        slow, fast = (statistics.median(samples) for samples in seconds.values())
        return f"{100 * (1 - fast / slow):.0f}%"

    return measure


def ridge(train: str, test: str, gamma: float, lambda_: float, rank: int) -> Callable[[Bench], str]:
    def measure(bench: Bench) -> str:
        model = bench.made(f"{train}.ridge")
        bench.run(
            "meka", bench.find(train), "-o", model, "--task", "ridge", "-g", gamma, "--lambda", lambda_,
            "--clusters", 5, "--rank", rank, "-q", "-j", bench.threads,
        )  # fmt: skip
        printed = bench.run("predict", bench.find(test), model, bench.made("values"), "-j", bench.threads)
        return f"{math.sqrt(float(printed.split('Mean squared error = ')[1].split()[0])):.3f}"

    return measure


def exactly(model: str, test: str) -> Callable[[Bench], str]:
    return lambda bench: f"{bench.accuracy(bench.find(model), test):.2f}%"


def compressed(model: str, train: str, test: str, size: int) -> Callable[[Bench], str]:
    def measure(bench: Bench) -> str:
        small = bench.made(f"{model}.{size}")
        bench.run(
            "compress", bench.find(model), "--sv", size, "--data", bench.find(train), "-o", small, "-q",
            "-j", bench.threads,
        )  # fmt: skip
        return f"{bench.accuracy(small, test):.2f}%"

    return measure


def scaled_to_unit(bench: Bench, names: Sequence[str]) -> Path:
    """Return a file of all rows with every column scaled to [0, 1], as the paper's data probably were."""
    sets = [read_svmlight(bench.find(name)) for name in names]
    x = Rows.concatenate([one.rows for one in sets]).to_dense()
    low, spread = x.min(axis=0), np.ptp(x, axis=0)
    rows = Rows.from_dense((x - low) / np.where(spread > 0, spread, 1))
    place = bench.made(f"{names[0]}.unit")
    write_svmlight(place, rows, np.concatenate([one.labels for one in sets]))
    return place


def kernel_error(
    names: Sequence[str], gamma: float, rank: int, clusters: int, *, unit: bool = False
) -> Callable[[Bench], str]:
    def measure(bench: Bench) -> str:
        data = scaled_to_unit(bench, names) if unit else bench.find(names[0])
        found = json.loads(
            bench.run(
                "meka", data, "--task", "error", "-g", gamma, "--rank", rank,
                "--clusters", clusters, "--psd", "none", "--json", "-q", "-j", bench.threads,
            )
        )  # fmt: skip
        return f"{found['relative_error']:.4f}"

    return measure


def blocks(train: str, test: str, gamma: float, cost: float, clusters: int) -> Callable[[Bench], str]:
    def measure(bench: Bench) -> str:
        model = bench.made(f"{train}.bka")
        bench.run(
            "meka", bench.find(train), "-o", model, "--task", "svc", "--block-only", "-g", gamma, "-c", cost,
            "--clusters", clusters, "-q", "-j", bench.threads,
        )  # fmt: skip
        return f"{bench.accuracy(model, test):.2f}%"

    return measure


def routed(train: str, test: str, *words: object) -> Callable[[Bench], str]:
    """Accuracy and counted cost of DC-Pred++."""

    def measure(bench: Bench) -> str:
        model = bench.made(f"{train}.dcpred")
        bench.run(
            "dcpred", bench.find(train), "-o", model, "--task", "svc", *words, "-q", "-j", bench.threads
        )
        found = json.loads(
            bench.run("compare", model, model, "--data", bench.find(test), "--repeats", 1, "--json")
        )
        row = found["models"][0]
        return f"{row['accuracy']:.2f}% at {row['linear_cost_counted']:.1f}x"

    return measure


CLAESEN, XU, BSGD, MEKA, DCPRED = (
    "Claesen et al., approximate", "Xu et al., compress", "Glasmachers, budget-train", "Si et al., meka",
    "Hsieh et al., dcpred",
)  # fmt: skip
SPLIT = "rows split 80:20"
SAMPLE = "20,000 rows of 581,012"
ORIGIN, AUTO = "the paper's expansion", "with our choice of center"
A9A, IJCNN = ("a9a_g0.1.model", "a9a.t"), ("ijcnn1_c250.model", "ijcnn1.t")
COVTYPE = "covtype20k.libsvm.binary.scale"
PENDIGITS = ("pendigits.scale", "pendigits.scale.t")
CLAIMS = [
    Claim(CLAESEN, "a9a: gamma_max", "0.018", ("a9a",), gamma_max("a9a")),
    Claim(CLAESEN, "ijcnn1: gamma_max", "0.064", ("ijcnn1",), gamma_max("ijcnn1")),
    Claim(CLAESEN, "a9a, gamma 0.10: labels differing", "3.5%", A9A,
          approximated(*A9A, "differ", "origin"), remark=f"C not stated; {ORIGIN}"),
    Claim(CLAESEN, "a9a, gamma 0.10: labels differing", "3.5%", A9A,
          approximated(*A9A, "differ", "auto"), remark=f"C not stated; {AUTO}"),
    Claim(CLAESEN, "ijcnn1: labels differing", "0.46%", IJCNN,
          approximated(*IJCNN, "differ", "origin"), remark=f"4,135 SVs for 4,044; {ORIGIN}"),
    Claim(CLAESEN, "a9a: model size", "830 -> 111 kB", ("a9a_g0.01.model",),
          approximated("a9a_g0.01.model", "a9a.t", "sizes", "auto")),
    Claim(CLAESEN, "ijcnn1: model size", "628 -> 4.2 kB", IJCNN, approximated(*IJCNN, "sizes", "auto")),
    Claim(XU, "ijcnn1, 5% of the SVs: accuracy", "a curve", ("ijcnn1_c32_g2.model", "ijcnn1", "ijcnn1.t"),
          compressed("ijcnn1_c32_g2.model", "ijcnn1", "ijcnn1.t", 124), quick=False,
          remark="figure 3 has no numbers; exact 98.70%"),
    Claim(BSGD, "IJCNN, exact", "98.77%", ("ijcnn1_c32_g2.model", "ijcnn1.t"),
          exactly("ijcnn1_c32_g2.model", "ijcnn1.t")),
    *(
        Claim(BSGD, f"{name}, budget {size}", theirs, (train, test), budgeted(train, test, cost, gamma, size),
              quick=size == 100, remark=remark)
        for name, train, test, cost, gamma, figures, remark in [
            ("IJCNN", "ijcnn1", "ijcnn1.t", 32, 2, {100: "97.1%", 500: "98.1%"}, ""),
            ("ADULT", "a9a", "a9a.t", 32, 2**-7, {100: "84.2%", 500: "83.9%"}, ""),
            ("WEB", "w8a.s80", "w8a.s20", 8, 2**-5, {500: "98.8%"}, SPLIT),
            ("PHISHING", "phishing.s80", "phishing.s20", 8, 8, {100: "96.4%", 500: "97.5%"}, SPLIT),
            ("SKIN", "skin_nonskin.s80", "skin_nonskin.s20", 32, 2**-7, {100: "99.6%", 200: "99.8%"}, SPLIT),
        ]
        for size, theirs in figures.items()
    ),
    Claim(BSGD, "ADULT, budget 100: training time saved by the lookup", "44% at best", ("a9a",),
          saved_by_lookup("a9a", 32, 2**-7, 100), remark="of ours with golden section search"),
    Claim(MEKA, "pendigits, k 128, gamma 2, c 5: kernel error", "0.0811", PENDIGITS,
          kernel_error(PENDIGITS, 2, 128, 5, unit=True), quick=False,
          remark="columns scaled to [0, 1]"),
    Claim(MEKA, "ijcnn1, k 128, gamma 1, c 10: kernel error", "0.0082", ("ijcnn1",),
          kernel_error(("ijcnn1",), 1, 128, 10), quick=False),
    Claim(MEKA, "covtype, k 256, gamma 10, c 15: kernel error", "0.1192", (f"{COVTYPE}.s80",),
          kernel_error((f"{COVTYPE}.s80",), 10, 256, 15), quick=False,
          remark=f"{SAMPLE}, scaling not stated"),
    *(
        Claim(MEKA, f"{name}, ridge, k {rank}: RMSE", theirs, (f"{name}_scale.s80", f"{name}_scale.s20"),
              ridge(f"{name}_scale.s80", f"{name}_scale.s20", gamma, 2**-8, rank), quick=False,
              remark="other scaling and split; gamma and lambda by cross-validation")
        for name, rank, gamma, theirs in [("cpusmall", 256, 0.25, "6.11"), ("cadata", 128, 1.0, "0.1209")]
    ),
    Claim(MEKA, "ijcnn1, BKA-SVM, 64 clusters: accuracy", "98.49%", ("ijcnn1", "ijcnn1.t"),
          blocks("ijcnn1", "ijcnn1.t", 2, 32, 64)),
    Claim(DCPRED, "Letter: accuracy at cost", "95.90% at 12.8x", ("letter.scale", "letter.scale.t"),
          routed("letter.scale", "letter.scale.t", "-g", 1, "-c", 10, "--clusters", 30, "--landmarks", 140),
          quick=False),
    Claim(DCPRED, "Usps: accuracy at cost", "95.56% at 14.4x", ("usps", "usps.t"),
          routed("usps", "usps.t", "-g", 2**-6, "-c", 10, "--clusters", 1, "--landmarks", 138,
                 "--kmeans", "plain"), quick=False),
    Claim(DCPRED, "a9a: accuracy at cost", "83.9% at 12.5x", ("a9a", "a9a.t"),
          routed("a9a", "a9a.t", "-g", 0.02, "-c", 1, "--clusters", 1, "--landmarks", 11), quick=False),
    Claim(DCPRED, "CovType: accuracy at cost", "95.19% at 18.8x", (f"{COVTYPE}.s80", f"{COVTYPE}.s20"),
          routed(f"{COVTYPE}.s80", f"{COVTYPE}.s20", "-g", 10, "-c", 10, "--clusters", 4, "--landmarks", 14),
          quick=False, remark=SAMPLE),
]  # fmt: skip
#: A quick check on the fixtures that every measurement runs; these figures concern no paper.
TRIALS = [
    Claim("trial", "gamma_max", "", ("photos.train",), gamma_max("photos.train")),
    *(
        Claim("trial", what, "", ("photos_c_rbf.model", "photos.test"),
              approximated("photos_c_rbf.model", "photos.test", what, "auto"))
        for what in ("differ", "sizes")
    ),
    Claim("trial", "budget", "", ("breast.train",), budgeted("breast.train", "breast.test", 10, 0.05, 10)),
    Claim("trial", "exact", "", ("breast_c_rbf.model",), exactly("breast_c_rbf.model", "breast.test")),
    Claim("trial", "compressed", "", (), compressed("breast_c_rbf.model", "breast.train", "breast.test", 5)),
    Claim("trial", "error", "", ("iris.train",), kernel_error(("iris.train",), 0.5, 8, 2, unit=True)),
    Claim("trial", "saved", "", ("breast.train",), saved_by_lookup("breast.train", 10, 0.05, 10)),
    Claim("trial", "ridge", "", ("iris.train",), ridge("iris.train", "iris.test", 0.5, 0.1, 8)),
    Claim("trial", "blocks", "", ("breast.train",), blocks("breast.train", "breast.test", 0.05, 10, 2)),
    Claim("trial", "routed", "", ("iris.train",),
          routed("iris.train", "iris.test", "-g", 0.5, "--clusters", 2, "--landmarks", 4)),
]  # fmt: skip
