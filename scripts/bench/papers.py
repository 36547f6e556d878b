"""The tables of the papers on budget-train, meka and dcpred, and of compress with a learned metric.

    python scripts/bench/papers.py                                                     # a check on fixtures/
    python scripts/bench/papers.py --data DIR --models DIR --table dcpred --page docs/papers.md

DIR holds LIBSVM data sets and models under their usual names; NAME.s80 and NAME.s20 are four fifths of the
rows to train on, and the others. Costs are multiples of a linear model's multiply-adds. Tables:

budget-accuracy, budget-exact, budget-time   Glasmachers and Qaadan (2018), tables 2, 1 and 3
meka                                         Si, Hsieh and Dhillon (JMLR 2017), table 7
dcpred                                       Hsieh, Si and Dhillon (NIPS 2014), table 1
metric                                       compress with and without `--metric` at equal tables in C
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from harness import MODELS, Table, measure, medians, seconds, spread

import svmfast
from svmfast.formats.svmlight import write_svmlight
from svmfast.methods.meka import MekaOptions
from svmfast.methods.meka.error import kernel_error
from svmfast.methods.method import Setting
from svmfast.rows import Rows
from svmfast.solvers.kernel_clusters import kmeans_centers
from svmfast.threads import one_blas_thread


def reported(kind):
    """Yield the cells of each line of papers.tsv of a kind: JSON, or else words."""
    for line in Path(__file__).with_suffix(".tsv").read_text().splitlines()[1:]:
        of, *cells = line.split("\t")
        if of == kind:
            yield [json.loads(one) if re.match(r"[-\d.]+$|[\[{\"]|true|false", one) else one for one in cells]


def unit(bench, *names):
    """Return a file of all rows with every column scaled to [0, 1], as the paper's data probably were."""
    rows, labels = bench.read(*names)
    x, place = rows.to_dense(), bench.folder / f"{names[0]}.unit"
    made = (x - x.min(axis=0)) / np.maximum(np.ptp(x, axis=0), 1e-300)
    write_svmlight(place, svmfast.Rows.from_dense(made), labels)
    return place


def run_command(bench, text):
    """Run a command and return its JSON report.

    data/NAME and model/NAME are files, unit/A,B scaled rows of two files, and OUT is a model to write.
    """
    places = {"data": bench.file, "model": bench.model, "unit": lambda names: unit(bench, *names.split(","))}
    words = []
    for word in text.split():
        kind, _, name = word.partition("/")
        words.append(places[kind](name) if name else bench.folder / "OUT" if word == "OUT" else word)
    return bench.report(*words)


def compared(bench, test, exact=None):
    """Return the figures of OUT by `svmfast compare`."""
    out = bench.folder / "OUT"
    return bench.report("compare", exact or out, out, "--data", bench.file(test), "--repeats", 1)["models"][1]


# --- budget-train

MERGES = ("lookup-wd", "lookup-h", "gss", "gss-precise")
#: Only at the smaller budget: the cost of projection grows with the square of the budget.
REMOVALS = ("project", "remove")
PASSES, SEEDS = 20, 5


@dataclass(frozen=True)
class Budgeted:
    """A data set with the paper's parameters, and its tables 1 to 3.

    paper: the mean and standard deviation of MERGES at each budget; exact: LIBSVM's accuracy; saved: percent
    of the training time saved by lookup-wd over gss.
    """

    name: str
    train: str
    test: str
    C: float
    gamma: float
    paper: dict[str, tuple[str, ...]]
    exact: str = "-"
    saved: tuple[str, ...] = ("-", "-")


BUDGETED = [Budgeted(*one) for one in reported("budget")]
BREAST = [Budgeted("breast", "breast.train", "breast.test", 10, 0.05, {"10": ("",) * 4, "20": ("",) * 4})]


def percent(bench, problem, model):
    """Return the accuracy by predict."""
    return bench.report("predict", bench.file(problem.test), model, bench.folder / "labels")["accuracy"]


def budget_accuracy(bench, problem):
    """The paper's table 2."""
    train, model = bench.file(problem.train), bench.folder / "model"
    for budget, paper in problem.paper.items():
        yield [problem.name, str(budget), "the paper", *paper, "-", "-"]
        for keep in ("last", "refit"):
            line = [problem.name, str(budget), f"`--keep {keep}`"]
            for merge in (*MERGES, *REMOVALS):
                if merge in REMOVALS and budget != min(problem.paper):
                    line.append("-")
                    continue
                found = []
                for seed in range(1 if problem in BREAST else SEEDS):
                    words = ("-c", problem.C, "-g", problem.gamma, "-B", budget, "--passes", PASSES)
                    more = ("--merge", merge, "--keep", keep, "--seed", seed)
                    bench.svmfast("budget-train", train, model, *words, *more)
                    found.append(percent(bench, problem, model))
                line.append(spread(found))
            yield line


def budget_exact(bench, problem):
    """The paper's table 1."""
    model, solver = bench.folder / "model", ("-c", problem.C, "-g", problem.gamma)
    bench.svmfast("train", *solver, bench.file(problem.train), model)
    vectors = len(svmfast.load_model(model).sv)
    yield problem.name, f"{percent(bench, problem, model):.2f}", f"{vectors:,}", problem.exact


def budget_time(bench, problem):
    """The paper's table 3."""
    train, model = bench.file(problem.train), bench.folder / "model"
    for budget, saved in zip(problem.paper, problem.saved, strict=True):
        words = ("-c", problem.C, "-g", problem.gamma, "-B", budget, "--passes", PASSES, "-j", 1)

        def per_step(merge, words=words):
            found = bench.report("budget-train", train, model, *words, "--merge", merge)
            return float(found["train_seconds"] / found["steps"])

        taken = medians({merge: lambda merge=merge: per_step(merge) for merge in MERGES}, bench.repeats)
        speeds = [f"{1 / taken[merge]:,.0f}" for merge in MERGES]
        ours = f"{100 * (1 - taken['lookup-wd'] / taken['gss']):.0f}%"
        yield [problem.name, str(budget), *speeds, ours, saved]


# --- meka

FEATURES = ("Nystrom", "k-means Nystrom", "random Fourier")
#: Rank, gamma, clusters, whether columns are scaled to [0, 1]; the errors of MEKA and FEATURES in the paper.
ERRORS = [*reported("meka")]


def features(method, x, gamma, rank, seed=0):
    """Return a map to `rank` features whose inner products approximate the Gaussian kernel of rows x."""
    from sklearn.kernel_approximation import Nystroem, RBFSampler

    if method == "random Fourier":
        made = RBFSampler(gamma=gamma, n_components=rank, random_state=seed).fit(x[:1])
    else:
        centers = x if method == "Nystrom" else kmeans_centers(Rows.from_dense(x), rank, seed=seed)
        rank = min(rank, len(centers))
        made = Nystroem(gamma=gamma, n_components=rank, random_state=seed).fit(centers)
    return made.transform


def error_of(method, x, gamma, rank):
    """Return the relative error of an approximation on at most 5,000 rows."""
    from sklearn.metrics.pairwise import rbf_kernel

    some = x[np.sort(np.random.default_rng(0).permutation(len(x))[:5000])]
    with one_blas_thread():
        phi, exact = features(method, x, gamma, rank)(some), rbf_kernel(some, gamma=gamma)
        return float(np.linalg.norm(exact - phi @ phi.T) / np.linalg.norm(exact))


def meka(bench, case):
    """MEKA's error, and that of the others with as many numbers per row as MEKA, and with its rank."""
    names, rank, gamma, clusters, scaled, paper = case
    x = bench.read(*((unit(bench, *names),) if scaled else names))[0].to_dense()
    options = MekaOptions(gamma=(gamma,), clusters=clusters, rank=rank, psd="none")
    report = kernel_error(Rows.from_dense(x), options, Setting(bench.threads))
    title = [names[0], f"{len(x):,}", f"{gamma:g}"]
    yield [*title, "MEKA", str(rank), f"{report.relative_error:.4f}", paper[0], seconds(report.seconds)]
    for size in (max(1, round(report.bytes / (8 * len(x)))), rank):
        for method, theirs in zip(FEATURES, paper[1:], strict=True):
            shown = theirs if size == rank else ""
            yield [*title, method, str(size), f"{error_of(method, x, gamma, size):.4f}", shown, ""]


# --- dcpred


@dataclass(frozen=True)
class Routed:
    """A data set with our settings, its exact SVM (a name of MODELS), and the paper's (cost, accuracy)."""

    name: str
    train: str
    test: str
    gamma: float
    cost: float
    shape: str
    exact: str
    paper: tuple[tuple[str, float, float], ...] = ()


ROUTED = [Routed(*one) for one in reported("dcpred")]
SMALL = Routed("iris", "iris.train", "iris.test", 0.5, 10, "--clusters 2 --landmarks 8", "iris_c_rbf_prob")


def per_row(found, rows):
    return f"{1e6 * found['predict_seconds'] / rows:.2f} us"


def dcpred(bench, problem):
    """Ours, maps of features at the same cost with the exact SVM's options, that SVM, and the paper's."""
    from sklearn.svm import LinearSVC

    options = f"-g {problem.gamma} -c {problem.cost} {problem.shape}"
    taken = run_command(bench, f"dcpred data/{problem.train} -o OUT --task svc {options}")["seconds"]
    found = compared(bench, problem.test)
    (rows, labels), (asked, truth) = bench.read(problem.train), bench.read(problem.test)
    cost, solver = found["linear_cost_counted"], MODELS[problem.exact]
    d = max(rows.n_columns, asked.n_columns)
    line = [f"**{found['accuracy']:.2f}**", f"{cost:.1f}x", per_row(found, len(truth)), seconds(taken)]
    yield [problem.name, f"**dcpred** `{options}`", *line]
    functions = len(np.unique(labels)) if len(np.unique(labels)) > 2 else 1
    rank = max(2, int(cost * d * functions / (d + functions)))
    with one_blas_thread():
        x, z = (np.pad(r.to_dense(), ((0, 0), (0, d - r.n_columns))) for r in (rows, asked))
        for method in ("k-means Nystrom", "random Fourier"):
            phi = features(method, x, solver.option("-g"), rank)
            linear = LinearSVC(C=solver.option("-c"), dual=False).fit(phi(x), labels)
            right = linear.predict(phi(z)) == truth
            counted = rank * (d + functions) / (d * functions)
            name = f"{method}, {rank} features, linear SVM"
            yield ["", name, f"{100 * right.mean():.2f}", f"{counted:.1f}x", "", ""]
    model, test = bench.model(problem.exact), bench.test(problem.exact)
    exact = bench.report("compare", model, model, "--data", test, "--repeats", 1)["models"][0]
    yield ["", "exact SVM", f"{exact['accuracy']:.2f}", "", per_row(exact, len(truth)), ""]
    for method, theirs, accuracy in problem.paper:
        yield ["", f"{method}, the paper's own", f"{accuracy:.2f}", f"{theirs:g}x", "", ""]


# --- compress

#: Exact models, bytes of their tables in C, and accuracies that others publish (for mnist with all 60,000
#: rows): ProtoNN's in its authors' Table 2, at 63 to 64 kB, and Bonsai's (Kumar, Goyal and Varma, ICML 2017)
#: in their Table 3.
SIZES = [*reported("metric")]


def metric(bench, case):
    """Medians of three seeds: the accuracy of the tables' model, and labels unlike the exact model's."""
    name, limit, published = case
    model, train, line, of_exact = bench.model(name), bench.train(name), [], 0.0
    for how in ("none", "auto"):
        found = []
        for seed in range(3):
            out = bench.folder / "OUT"
            size = ("--max-flash", limit, "--metric", how, "--seed", seed)
            bench.svmfast("compress", model, "--data", train, "-o", out, *size)
            both = bench.report("compare", model, out, "--data", bench.test(name), "--repeats", 1)["models"]
            of_exact = both[0]["accuracy"]
            found.append((both[1]["accuracy"], both[1]["labels_differing_percent"]))
        line += [f"{one:.2f}" for one in np.median(found, axis=0)]
    yield [name, limit, f"{of_exact:.2f}", *line, published]


TABLES = [
    Table("budget-accuracy", f"data | B | accuracy, % | {' | '.join((*MERGES, *REMOVALS))}", BUDGETED,
          budget_accuracy, BREAST, marks="budget", left=3,
          note=f"Mean and standard deviation over {SEEDS} seeds; {PASSES} passes."),
    Table("budget-exact", "data | LIBSVM's solver, % | support vectors | the paper's LIBSVM", BUDGETED,
          budget_exact, BREAST, marks="budget"),
    Table("budget-time", f"data | B | steps/s: {' | '.join(MERGES)} | time saved against gss | the paper's",
          BUDGETED, budget_time, BREAST, marks="budget",
          note=f"{PASSES} passes; training time of one thread, without reading the data."),
    Table("meka", "data | rows | gamma | approximation | rank | error | the paper's | build", ERRORS,
          meka, [(("iris.train", "iris.test"), 8, 0.5, 2, True, ("",) * 4)], left=4),
    Table("dcpred", "data | method | accuracy, % | counted cost | time per row | training", ROUTED, dcpred,
          [SMALL], left=2),
    Table("metric", "model | tables | exact | none | differing | auto | differing | published", SIZES, metric,
          [("photos_c_rbf", "2k", "")], note="Percent of the test rows."),
]  # fmt: skip

if __name__ == "__main__":
    measure(__doc__, TABLES)
