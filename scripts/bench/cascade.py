"""Join fast models with the exact one: does the guarantee hold for the files, and how fast are they?

    python scripts/bench/cascade.py                                                  # a check on fixtures/
    python scripts/bench/cascade.py --data DIR --models DIR --page docs/cascade.md

Table cascade: samples are drawn from the test rows, half as many as there are (or until a number of them are
different). Each decides whether to write a file and chooses the error; a file breaks the guarantee if the
share of all test rows whose label differs from the exact model's exceeds the limit. The last column decides
on the rows that choose the error instead. Table cascade-speed: `svmfast cascade` on all test rows, beside the
exact model and the fast one alone.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from harness import Bench, Table, measure

import svmfast
from svmfast.methods.cascade.threshold import Evaluated, choose, least_rows, smallest_error
from svmfast.methods.common.equal_rows import groups_of, row_keys
from svmfast.models.answer import answer
from svmfast.models.certified import label_margins
from svmfast.rows import Rows
from svmfast.solvers.intervals import CONFIDENCE, largest_count

#: Limits, each with the number of distinct rows to draw: half of the test rows, or a fifth more than suffice.
USUAL: dict[float, int | None] = {0.005: None, 0.001: None}
FEW: dict[float, int | None] = {0.005: 750, 0.001: 3000}
IJCNN1 = "ijcnn1_c32_g2"
CASES: list[tuple[str, str, dict[float, int | None]]] = [
    ("letter_c16_g2", "dcpred TRAIN -o OUT --from EXACT --max-operations 12", USUAL),
    (IJCNN1, "dcpred TRAIN -o OUT --from EXACT --max-operations 20", USUAL),
    (IJCNN1, "compress EXACT --sv 125 --data TRAIN -o OUT", USUAL),
    ("a9a_g0.1", "dcpred TRAIN -o OUT --from EXACT --max-operations 12", USUAL),
    ("a9a_g0.1", "compress EXACT --ratio 2% --data TRAIN -o OUT", USUAL),
    ("usps_c10", "dcpred TRAIN -o OUT --from EXACT --max-operations 14", USUAL),
    # Fast models so inaccurate that joining them is barely faster, or not faster.
    (IJCNN1, "compress EXACT --sv 500 --select-only --start kmeans -o OUT", FEW),
    (IJCNN1, "compress EXACT --sv 800 --select-only --start kmeans -o OUT", FEW),
]


def models(bench: Bench, name: str, command: str) -> tuple[Any, Any, Rows, np.ndarray, Evaluated]:
    """Return the exact and the fast model, the test rows, the exact labels, and the fast model's answers."""
    exact, made = bench.model(name), bench.folder / "fast"
    paths = {"TRAIN": bench.train(name), "EXACT": exact, "OUT": made}
    bench.svmfast(*(paths.get(word, word) for word in command.split()))
    fast, exact = svmfast.load_model(made), svmfast.load_model(exact)
    rows, _ = bench.read(bench.test(name))
    labels = answer(exact, rows, threads=bench.threads).predicted
    decisions = fast.decision_values(rows, threads=bench.threads)
    largest = float(np.abs(decisions).max()) if fast.head.one_vs_rest else 0.0
    differing, margins = fast.head.predict(decisions) != labels, label_margins(fast.head, decisions)
    return exact, fast, rows, labels, Evaluated(margins, differing, groups_of(row_keys(rows))[0], largest)


def share(count: int, total: int) -> str:
    return f"{count:,} ({count / total:.1%})" if total else f"{count:,}"


def guarantee(bench: Bench, case: tuple[str, str, dict[float, int | None]]) -> Iterator[Sequence[str]]:
    """Draw, choose and count."""
    name, command, limits = case
    exact, fast, rows, _, known = models(bench, name, command)
    n, rng = len(rows), np.random.default_rng(0)
    costs = {"cost_fast": fast.multiply_adds(rows), "cost_exact": exact.multiply_adds(rows)}
    title = [name, f"`{command}`, {known.differing.mean():.2%}"]

    def broken(error: float, limit: float) -> bool:
        return bool(((known.margin > error) & known.differing).mean() > limit)

    for limit, different in limits.items():
        counts, sizes, kept, wrong = np.zeros(5, int), [], [], []
        for number in range(bench.options.drawings):
            drawn = rng.integers(0, n, n // 2 if different is None else 2 * different)
            if different is not None:
                first = np.zeros(len(drawn), dtype=bool)
                first[np.unique(known.group[drawn], return_index=True)[1]] = True
                drawn = drawn[: int(np.searchsorted(np.cumsum(first), different)) + 1]
            part = Evaluated(known.margin[drawn], known.differing[drawn], known.group[drawn], known.largest)
            if len(np.unique(part.group)) < least_rows(limit, CONFIDENCE):
                break
            chosen = choose(part, limit, CONFIDENCE, seed=number, **costs)
            answered = known.margin > chosen.error
            slower = costs["cost_fast"] >= answered.mean() * costs["cost_exact"]
            error = smallest_error(part.margin[part.differing], largest_count(len(drawn), limit, CONFIDENCE))
            same = costs["cost_fast"] < float((part.margin > error).mean()) * costs["cost_exact"]
            written = chosen.cheaper
            counts += [written, written and broken(chosen.error, limit), written and slower,
                       same, same and broken(error, limit)]  # fmt: skip
            others = np.setdiff1d(np.arange(n), drawn)
            sizes.append(len(drawn))
            kept.append(answered[others].mean())
            wrong.append((answered & known.differing)[others].mean())
        if not sizes:
            yield [*title, "", f"{limit:.1%}", "too few rows", *[""] * 5]
            continue
        unseen = [f"{np.mean(kept):.1%}", f"{np.mean(wrong):.3%}"]
        written, bad, slow, same, same_bad = map(int, counts)
        line = [f"{np.mean(sizes):,.0f}", f"{limit:.1%}", *unseen, f"{written:,} of {len(sizes):,}"]
        yield [*title, *line, share(bad, written), f"{slow:,}", f"{same:,}, {share(same_bad, same)}"]


def speed(bench: Bench, case: tuple[str, str, dict[float, int | None]]) -> Iterator[Sequence[str]]:
    """Join on all rows, and compare the three models in turn."""
    name, command, limits = case
    models(bench, name, command)
    exact, fast, test, joined = (
        bench.model(name),
        bench.folder / "fast",
        bench.test(name),
        bench.folder / "joined",
    )
    for limit in limits:
        words = (fast, exact, "--data", test, "--max-diff", f"{100 * limit:g}%", "-o", joined, "--force")
        found = bench.report("cascade", *words)
        compare = ("compare", exact, fast, joined, "--data", test, "--repeats", bench.repeats)
        _, alone, both = bench.report(*compare)["models"]
        ours = f"{alone['labels_differing_percent']:.2f}%, {alone['speedup']:.1f}x"
        share = f"{100 * found['answered'] / found['rows']:.1f}%"
        yield [name, f"`{command}`", ours, f"{limit:.1%}", share, f"{both['speedup']:.1f}x"]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--drawings", type=int, default=1000)


SMALL = [("photos_c_rbf", "compress EXACT --sv 30 --select-only --start kmeans -o OUT", {0.01: None})]
TABLES = [
    Table(
        "cascade",
        "exact model | fast model, and how much differs | rows drawn | limit | answered by the fast one "
        "| differ, unseen rows | written | broken | no faster | on the same rows: written, broken",
        CASES, guarantee, SMALL, left=2,
    ),
    Table(
        "cascade-speed",
        "exact model | fast model | alone: differ, speed | limit | answered by the fast one | speed",
        CASES[:6], speed, SMALL, left=2,
    ),
]  # fmt: skip

if __name__ == "__main__":
    measure(__doc__, TABLES, arguments=arguments, repeats=5)
