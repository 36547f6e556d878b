"""The figures that the five papers report, and ours from the same data: docs/papers.md.

    python scripts/bench/reproduce.py                                                   # a check on fixtures/
    python scripts/bench/reproduce.py --data DIR --models DIR --page docs/papers.md
    python scripts/bench/reproduce.py --data DIR --models DIR --only meka               # one paper

DIR holds LIBSVM data sets and models under their usual names. Every figure comes from svmfast commands.
Deviations over seeds and other methods: papers.py.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import MODELS, Bench, Table, measure
from papers import BUDGETED, ERRORS, ROUTED, compared, run_command


@dataclass(frozen=True)
class Claim:
    """A figure of a paper as printed there, the command and the figure of ours, and what differs.

    It is taken from the command's report, or from OUT, the model that it writes; `of` is a file or a model.
    """

    paper: str
    what: str
    theirs: str
    command: str
    ours: Callable[[Bench, dict[str, Any], str], str]
    of: str = ""
    remark: str = ""


def accuracy(bench, _, test):
    return f"{compared(bench, test)['accuracy']:.2f}%"


def at_cost(bench, _, test):
    """Accuracy, and multiply-adds relative to a linear model's."""
    found = compared(bench, test)
    return f"{found['accuracy']:.2f}% at {found['linear_cost_counted']:.1f}x"


def differing(bench, _, name):
    found = compared(bench, MODELS[name].test, bench.model(name))
    return f"{found['labels_differing_percent']:.2f}%"


def sizes(bench, report, name):
    before, after = bench.model(name).stat().st_size, report["bytes"]
    return f"{before / 1000:,.0f} -> {after / 1000:,.1f} kB (1/{before / after:.1f})"


def rmse(bench, _, test):
    values = bench.predicted(bench.folder / "OUT", bench.file(test))
    return f"{np.sqrt(np.mean((values - bench.read(test)[1]) ** 2)):.3f}"


def gamma_max(_bench, report, _):
    return f"{report['paper']['gamma_max']:.4f}"


def error(_bench, report, _):
    return f"{report['relative_error']:.4f}"


CLAESEN, XU, BSGD = "Claesen et al., approximate", "Xu et al., compress", "Glasmachers, budget-train"
MEKA, DCPRED = "Si et al., meka", "Hsieh et al., dcpred"
ORIGIN, AUTO = "the paper's expansion", "with our choice of center"
RIDGE = "other scaling and split; gamma and lambda by cross-validation"
SECOND = "-o OUT --order 2 --force"
CLAIMS = [
    Claim(CLAESEN, "a9a: gamma_max", "0.018", "bound-check data/a9a", gamma_max),
    Claim(CLAESEN, "ijcnn1: gamma_max", "0.064", "bound-check data/ijcnn1", gamma_max),
    *(
        Claim(CLAESEN, what, theirs, f"approximate model/{name} {SECOND} --center {center}", figure, name,
              remark)
        for what, theirs, name, center, figure, remark in [
            ("a9a, gamma 0.10: labels differing", "3.5%", "a9a_g0.1", "origin", differing,
             f"C not stated; {ORIGIN}"),
            ("a9a, gamma 0.10: labels differing", "3.5%", "a9a_g0.1", "auto", differing,
             f"C not stated; {AUTO}"),
            ("ijcnn1: labels differing", "0.46%", "ijcnn1_c250", "origin", differing,
             f"4,135 SVs for 4,044; {ORIGIN}"),
            ("a9a: model size", "830 -> 111 kB", "a9a_g0.01", "auto", sizes, ""),
            ("ijcnn1: model size", "628 -> 4.2 kB", "ijcnn1_c250", "auto", sizes, ""),
        ]
    ),
    Claim(XU, "ijcnn1, 5% of the SVs: accuracy", "a curve",
          "compress model/ijcnn1_c32_g2 --sv 124 --data data/ijcnn1 -o OUT", accuracy, "ijcnn1.t",
          "figure 3 has no numbers; exact 98.70%"),
    *(
        Claim(BSGD, f"{one.name}, budget {size}", f"{theirs[0].split()[0]}%",
              f"budget-train data/{one.train} OUT -c {one.C} -g {one.gamma} -B {size} --passes 10",
              accuracy, one.test, "rows split 80:20" * one.train.endswith(".s80"))
        for one in BUDGETED
        for size, theirs in one.paper.items()
    ),
    *(
        Claim(MEKA, f"{names[0].split('.')[0]}, k {k}, gamma {gamma:g}, c {clusters}: kernel error",
              theirs[0], f"meka {'unit' if scaled else 'data'}/{','.join(names) if scaled else names[0]} "
              f"--task error -g {gamma} --rank {k} --clusters {clusters} --psd none", error, "",
              "columns scaled to [0, 1]" * scaled)
        for names, k, gamma, clusters, scaled, theirs in ERRORS
    ),
    *(
        Claim(MEKA, f"{name}, ridge, k {k}: RMSE", theirs, f"meka data/{name}_scale.s80 -o OUT --task ridge "
              f"-g {gamma} --lambda {2**-8} --clusters 5 --rank {k}", rmse, f"{name}_scale.s20", RIDGE)
        for name, k, gamma, theirs in [("cpusmall", 256, 0.25, "6.11"), ("cadata", 128, 1.0, "0.1209")]
    ),
    Claim(MEKA, "ijcnn1, BKA-SVM, 64 clusters: accuracy", "98.49%",
          "meka data/ijcnn1 -o OUT --task svc --block-only -g 2 -c 32 --clusters 64", accuracy, "ijcnn1.t"),
    *(
        Claim(DCPRED, f"{one.name}: accuracy at cost", f"{one.paper[0][2]}% at {one.paper[0][1]}x",
              f"dcpred data/{one.train} -o OUT --task svc -g {one.gamma} -c {one.cost} {one.shape}",
              at_cost, one.test, "20,000 rows of 581,012" * one.name.startswith("covtype"))
        for one in ROUTED if one.paper
    ),
]  # fmt: skip
#: A check on the fixtures, of no paper.
TRIALS = [
    Claim("trial", *claim)
    for claim in (
        ("gamma_max", "", "bound-check data/photos.train", gamma_max),
        ("sizes", "", f"approximate model/photos_c_rbf {SECOND}", sizes, "photos_c_rbf"),
        ("compressed", "", "compress model/breast_c_rbf --sv 5 --data data/breast.train -o OUT",
         accuracy, "breast.test"),
        ("error", "", "meka unit/iris.train --task error -g 0.5 --rank 8 --clusters 2", error),
        ("routed", "", "dcpred data/iris.train -o OUT --task svc -g 0.5 --clusters 2 --landmarks 4",
         at_cost, "iris.test"),
    )
]  # fmt: skip


def reproduced(bench, claim):
    begin = time.perf_counter()
    ours = claim.ours(bench, run_command(bench, claim.command), claim.of)
    yield claim.paper, claim.what, claim.remark, claim.theirs, ours, f"{time.perf_counter() - begin:.0f}"


HEAD = "paper | what | remark | paper's figure | ours | seconds"
TABLES = [Table("reproduce", HEAD, CLAIMS, reproduced, TRIALS, marks="reproduce", left=3)]

if __name__ == "__main__":
    measure(__doc__, TABLES, repeats=1)
