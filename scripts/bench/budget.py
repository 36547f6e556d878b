"""Measure budget-train against its paper and other methods.

    python scripts/bench/budget.py                              # a quick check on fixtures/
    python scripts/bench/budget.py --data DIR                   # the paper's data sets, an hour
    python scripts/bench/budget.py --data DIR --quick           # one seed, 3 passes
    python scripts/bench/budget.py --data DIR --part time --only IJCNN   # the others stay in --json

DIR contains ijcnn1 and ijcnn1.t, a9a and a9a.t, and phishing, skin_nonskin and w8a as NAME.s80 and NAME.s20
(four fifths of the rows to train on, the others to test on), plain or .xz. Parts:

accuracy   every way to keep the budget, mean and standard deviation over 5 seeds, last iterate and result
exact      LIBSVM's solver on the same rows
time       steps of all merging methods in turn, one core
keep       the possible results: last iterate, average of iterates, refitted coefficients
dual       coordinate ascent in the dual on the same budget, in NumPy (budget_dual.py; slow)
nystroem   scikit-learn's Nystroem features with LinearSVC, one core

Results go to --json, tables to --page between its markers. `accuracy`, `exact` and
`dual` may share the machine with other work (--jobs); the others are timed: processor time of
one thread, which other work slows down too.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from budget_dual import dual_ascent

from svmfast.formats.spool import Spool
from svmfast.formats.svmlight import Dataset, read_svmlight
from svmfast.methods.budget import BudgetTrainOptions, training
from svmfast.methods.budget.finish import Finished, Refit, assemble, finish
from svmfast.methods.budget.training import BudgetRun
from svmfast.methods.train.training import TrainOptions, train
from svmfast.models.base import Model
from svmfast.threads import one_blas_thread

ROOT = Path(__file__).resolve().parents[2]
MERGES = ("lookup-wd", "lookup-h", "gss", "gss-precise")
#: Compared only at the smaller budget: the cost of projection grows with the square of the budget.
BASELINES = ("remove", "project")
PASSES, SEEDS, REPEATS = 20, 5, 3
MEMORY = 4 << 30


@dataclass(frozen=True)
class Problem:
    """A data set with the paper's parameters and its two budgets."""

    name: str
    train: str
    test: str
    C: float
    gamma: float
    budgets: tuple[int, int]


PAPER = [
    Problem("SKIN", "skin_nonskin.s80", "skin_nonskin.s20", 32, 2**-7, (100, 200)),
    Problem("IJCNN", "ijcnn1", "ijcnn1.t", 32, 2, (100, 500)),
    Problem("ADULT", "a9a", "a9a.t", 32, 2**-7, (100, 500)),
    Problem("WEB", "w8a.s80", "w8a.s20", 8, 2**-5, (100, 500)),
    Problem("PHISHING", "phishing.s80", "phishing.s20", 8, 8, (100, 500)),
]
#: The problems on which the dual is tried, and its passes; its NumPy steps take a minute per million.
DUAL_PASSES = 5
DUAL = ("IJCNN", "ADULT", "PHISHING", "breast")
FIXTURES = [Problem("breast", "breast.train", "breast.test", 10, 0.05, (10, 20))]
NAMES = [problem.name for problem in PAPER + FIXTURES]


class Data:
    """A problem's rows, read once."""

    def __init__(self, problem: Problem, folder: Path) -> None:
        self.problem = problem
        self.train, self.test = (self._read(folder, name) for name in (problem.train, problem.test))
        spool = Spool(MEMORY)
        spool.add(self.train.rows, self.train.labels)
        self.source = spool.finish()

    @staticmethod
    def _read(folder: Path, name: str) -> Dataset:
        path = folder / name
        return read_svmlight(path if path.exists() else folder / f"{name}.xz", threads=2)

    def run(self, budget: int, passes: int, merge: str = "lookup-wd", **more: Any) -> BudgetRun:
        """Return a run that has not started, on one core."""
        p = self.problem
        options = BudgetTrainOptions(
            **{"C": p.C, **more},
            gamma=p.gamma,
            budget=budget,
            passes=passes,
            maintenance=merge,
            memory=MEMORY,
        )
        return BudgetRun(self.source, options)

    def accuracy(self, model: Model) -> float:
        """Percent of the test rows."""
        assert model.head is not None
        predicted = model.head.predict(model.decision_values(self.test.rows))
        return 100.0 * float(np.mean(predicted == self.test.labels))


def to_the_end(run: BudgetRun) -> BudgetRun:
    while not run.ended:
        run.advance()
    return run


def iterate(run: BudgetRun) -> Model:
    """The present iterate as a model."""
    found = (pair.machine.expansion() for pair in run.pairs)
    return assemble(run, [Finished(one, one.coef > 0) for one in found])


class Bench:
    """Computes the results of the parts: lists of plain records."""

    def __init__(self, sets: list[Data], quick: bool, jobs: int) -> None:
        self.sets, self.jobs = sets, jobs
        self.passes, self.seeds, self.repeats = (3, 1, 1) if quick else (PASSES, SEEDS, REPEATS)

    def each(self, work: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> list[Any]:
        with ThreadPoolExecutor(self.jobs) as pool:
            return list(pool.map(lambda a: work(*a), arguments))

    def accuracy(self) -> Iterable[dict[str, Any]]:
        for data in self.sets:
            for budget in data.problem.budgets:
                merges = MERGES + (BASELINES if budget == data.problem.budgets[0] else ())

                def one(merge: str, seed: int, data=data, budget=budget):  # type: ignore[no-untyped-def]
                    run = to_the_end(data.run(budget, self.passes, merge, seed=seed))
                    last = data.accuracy(iterate(run))
                    finished = finish(run)
                    return last, data.accuracy(assemble(run, finished))

                pairs = [(merge, seed) for merge in merges for seed in range(self.seeds)]
                found = self.each(one, pairs)
                for merge in merges:
                    mine = [f for f, (of, _) in zip(found, pairs, strict=True) if of == merge]
                    yield {
                        "data": data.problem.name,
                        "budget": budget,
                        "merge": merge,
                        "last": [f[0] for f in mine],
                        "returned": [f[1] for f in mine],
                    }

    def exact(self) -> Iterable[dict[str, Any]]:
        def one(data: Data) -> dict[str, Any]:
            p = data.problem
            model = train(data.train.rows, data.train.labels, TrainOptions(gamma=p.gamma, C=p.C))
            return {"data": p.name, "accuracy": data.accuracy(model), "vectors": len(model.sv)}

        return self.each(one, [(data,) for data in self.sets])

    def time(self) -> Iterable[dict[str, Any]]:
        for data in self.sets:
            for budget in data.problem.budgets:
                seconds: dict[str, list[float]] = {merge: [] for merge in MERGES}
                for seed in range(self.repeats):
                    for merge in MERGES:  # in turn, so that a slow phase of the machine affects all equally
                        run = data.run(budget, self.passes, merge, seed=seed)
                        begin = time.thread_time()
                        to_the_end(run)
                        seconds[merge].append(time.thread_time() - begin)
                rows = data.source.n_rows
                yield {
                    "data": data.problem.name,
                    "budget": budget,
                    "steps": rows * self.passes,
                    "seconds": seconds,
                }

    def keep(self) -> Iterable[dict[str, Any]]:
        snapshots, segment = 16, training.SEGMENT
        for data in self.sets:
            for budget in data.problem.budgets:
                scores: dict[str, list[float]] = {}
                seconds: dict[str, list[float]] = {}

                def add(name: str, score: float, spent: float, scores=scores, seconds=seconds) -> None:  # type: ignore[no-untyped-def]
                    scores.setdefault(name, []).append(score)
                    seconds.setdefault(name, []).append(spent)

                for seed in range(self.seeds):
                    begin = time.thread_time()
                    run = data.run(budget, self.passes, seed=seed)
                    total = np.zeros((len(data.test.labels), 1))
                    away = 0.0
                    while not run.ended:
                        last = run.epoch == self.passes - 1
                        training.SEGMENT = run.source.n_rows // snapshots if last else segment
                        run.advance()
                        if last:
                            paused = time.thread_time()
                            total += iterate(run).decision_values(data.test.rows)
                            away += time.thread_time() - paused
                    spent = time.thread_time() - begin - away
                    model = iterate(run)
                    assert model.head is not None
                    averaged = np.mean(model.head.predict(total) == data.test.labels)
                    add("last", data.accuracy(model), spent)
                    add("average", 100.0 * float(averaged), spent)
                    begin = time.thread_time()
                    returned = assemble(run, finish(run))
                    add("refit", data.accuracy(returned), spent + time.thread_time() - begin)
                    # The number of passes that take as long as the refit.
                    longer = max(1, round(self.passes * seconds["refit"][-1] / spent))
                    begin = time.thread_time()
                    long = to_the_end(data.run(budget, longer, seed=seed))
                    add("last, longer", data.accuracy(iterate(long)), time.thread_time() - begin)
                yield {"data": data.problem.name, "budget": budget, "scores": scores, "seconds": seconds}

    def dual(self) -> Iterable[dict[str, Any]]:
        passes = min(self.passes, DUAL_PASSES)
        for data in self.sets:
            if data.problem.name not in DUAL:
                continue
            budget, gamma = data.problem.budgets[0], data.problem.gamma
            x = data.train.rows.to_dense()
            for cost in (1.0, data.problem.C):

                def one(seed, data=data, budget=budget, gamma=gamma, x=x, cost=cost):  # type: ignore[no-untyped-def]
                    run = to_the_end(data.run(budget, passes, seed=seed, C=cost))
                    pair, (steps, full) = run.pairs[0], run.pairs[0].machine.counts()
                    last = data.accuracy(iterate(run))
                    refitted = data.accuracy(assemble(run, finish(run)))
                    working = run.rows.prepared(0, 0)
                    everything = np.arange(len(working.labels))
                    block, _ = run.rows.of_pair(pair.first, pair.second, working, everything)
                    made, merges = dual_ascent(x, block.targets, budget, gamma, cost, passes, seed)
                    fit = Refit(made, pair.count, pair.machine.options)
                    while not fit.done:
                        fit.add(block, everything)
                        fit.advance()
                    scores = [
                        data.accuracy(assemble(run, [Finished(e, e.coef > 0)]))
                        for e in (made, fit.expansion())
                    ]
                    return last, refitted, *scores, full / steps, merges / steps

                found = self.each(one, [(seed,) for seed in range(min(3, self.seeds))])
                names = ("sgd_last", "sgd_refit", "dual_last", "dual_refit", "sgd_merges", "dual_merges")
                columns = dict(zip(names, map(list, zip(*found, strict=True)), strict=True))
                yield {"data": data.problem.name, "budget": budget, "C": cost, "passes": passes, **columns}

    def nystroem(self) -> Iterable[dict[str, Any]]:
        from sklearn.kernel_approximation import Nystroem
        from sklearn.svm import LinearSVC

        for data in self.sets:
            p = data.problem
            width = max(data.train.rows.n_columns, data.test.rows.n_columns)
            x, tx = (rows.to_scipy() for rows in (data.train.rows, data.test.rows))
            x.resize(x.shape[0], width)
            tx.resize(tx.shape[0], width)
            for budget in p.budgets:
                scores, seconds, ours, our_seconds = [], [], [], []
                for seed in range(self.seeds):
                    with one_blas_thread():
                        begin = time.thread_time()
                        features = Nystroem(gamma=p.gamma, n_components=budget, random_state=seed).fit(x)
                        linear = LinearSVC(C=p.C, dual=False).fit(features.transform(x), data.train.labels)
                        seconds.append(time.thread_time() - begin)
                        predicted = linear.predict(features.transform(tx))
                    scores.append(100.0 * float(np.mean(predicted == data.test.labels)))
                    begin = time.thread_time()
                    run = to_the_end(data.run(budget, self.passes, seed=seed))
                    model = assemble(run, finish(run))
                    our_seconds.append(time.thread_time() - begin)
                    ours.append(data.accuracy(model))
                yield {
                    "data": p.name,
                    "budget": budget,
                    "scores": scores,
                    "seconds": seconds,
                    "our_scores": ours,
                    "our_seconds": our_seconds,
                }


PARTS = ("accuracy", "exact", "time", "keep", "dual", "nystroem")


def main() -> None:
    from budget_tables import markdown
    from pages import put_into

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder with the paper's data sets (default: fixtures)")
    parser.add_argument("--only", action="append", metavar="NAME", help="only this data set (repeatable)")
    parser.add_argument("--part", action="append", choices=PARTS, help="only this part (repeatable)")
    parser.add_argument("--quick", action="store_true", help="one seed, 3 passes")
    parser.add_argument("--jobs", type=int, default=1, help="trainings at a time where nothing is timed")
    parser.add_argument("--json", type=Path, help="write results here; parts not made now are kept")
    parser.add_argument("--page", type=Path, help="replace the tables in this file")
    parser.add_argument("--tables", action="store_true", help="measure nothing; make the tables of --json")
    given = parser.parse_args()
    problems = [p for p in (PAPER if given.data else FIXTURES) if not given.only or p.name in given.only]
    sets = [Data(p, given.data or ROOT / "fixtures/data") for p in problems]
    bench = Bench(sets, given.quick, given.jobs)
    results: dict[str, Any] = {}
    if given.json and given.json.exists():
        results = json.loads(given.json.read_text())
    for part in () if given.tables else given.part or PARTS:
        old = results.get(part, {"records": []})["records"]
        made = [r for r in old if r["data"] not in {p.name for p in problems}]
        for record in getattr(bench, part)():
            print(f"{part}: {json.dumps(record)}", file=sys.stderr, flush=True)
            made.append(record)
        made.sort(key=lambda record: NAMES.index(record["data"]))
        results[part] = {"machine": machine(), "passes": bench.passes, "records": made}
        if given.json:
            given.json.write_text(json.dumps(results, indent=1) + "\n")
    tables = markdown(results)
    if given.page:
        put_into(given.page, tables, "budget")
    else:
        print(tables)


def machine() -> str:
    """Return everything that the numbers depend on."""
    import measuring

    return measuring.place(measuring.machine(1), "scikit-learn", "numpy")


if __name__ == "__main__":
    main()
