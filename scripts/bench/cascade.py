"""Join fast models with the exact one: does the guarantee hold for the files? docs/methods.md.

    python scripts/bench/cascade.py                                                  # a check on fixtures/
    python scripts/bench/cascade.py --data DIR --models DIR --page docs/methods.md

Samples are drawn from the test rows, half as many as there are (or until a number of them are different).
Each decides whether to write a file and chooses the error; a file breaks the guarantee if the share of all
test rows whose label differs from the exact model's exceeds the limit. The last columns decide on the rows
that choose the error instead.
"""

import numpy as np
from harness import Table, measure

import svmfast
from svmfast.methods.cascade.threshold import Evaluated, choose, least_rows, smallest_error
from svmfast.methods.common.equal_rows import groups_of, row_keys
from svmfast.models.answer import answer
from svmfast.models.certified import label_margins
from svmfast.solvers.intervals import CONFIDENCE, largest_count

#: Limits, each with the number of distinct rows to draw (None: half of the test rows).
USUAL = {0.005: None, 0.001: None}
FEW = {0.005: 750, 0.001: 3000}  # a fifth more than suffice
IJCNN1 = "ijcnn1_c32_g2"
CASES = [
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
SMALL = [("photos_c_rbf", "compress EXACT --sv 30 --select-only --start kmeans -o OUT", {0.01: None})]


def share(count, total):
    return f"{count:,} ({count / total:.1%})" if total else f"{count:,}"


def sample(rng, group, different):
    """Draw row numbers with replacement: half as many as there are, or until so many rows are different."""
    drawn = rng.integers(0, len(group), len(group) // 2 if different is None else 2 * different)
    if different is None:
        return drawn
    first = np.zeros(len(drawn), dtype=bool)
    first[np.unique(group[drawn], return_index=True)[1]] = True
    return drawn[: int(np.searchsorted(np.cumsum(first), different)) + 1]


def guarantee(bench, case):
    """Make the fast model; draw, choose and count."""
    name, command, limits = case
    paths = {"TRAIN": bench.train(name), "EXACT": bench.model(name), "OUT": bench.folder / "fast"}
    bench.svmfast(*(paths.get(word, word) for word in command.split()))
    fast, exact = svmfast.load_model(paths["OUT"]), svmfast.load_model(paths["EXACT"])
    rows, _ = bench.read(bench.test(name))
    decisions = fast.decision_values(rows, threads=bench.threads)
    wrong = fast.head.predict(decisions) != answer(exact, rows, threads=bench.threads).predicted
    margin, group = label_margins(fast.head, decisions), groups_of(row_keys(rows))[0]
    largest = float(np.abs(decisions).max()) if fast.head.one_vs_rest else 0.0
    costs = {"cost_fast": fast.multiply_adds(rows), "cost_exact": exact.multiply_adds(rows)}
    title, rng = [name, f"`{command}`, {wrong.mean():.2%}"], np.random.default_rng(0)

    def broken(error, limit):
        return bool(((margin > error) & wrong).mean() > limit)

    for limit, different in limits.items():
        counts, means = np.zeros(5, int), []
        for number in range(bench.options.drawings):
            drawn = sample(rng, group, different)
            part = Evaluated(margin[drawn], wrong[drawn], group[drawn], largest)
            if len(np.unique(part.group)) < least_rows(limit, CONFIDENCE):
                break
            chosen = choose(part, limit, CONFIDENCE, seed=number, **costs)
            answered = margin > chosen.error
            slower = costs["cost_fast"] >= answered.mean() * costs["cost_exact"]
            error = smallest_error(part.margin[part.differing], largest_count(len(drawn), limit, CONFIDENCE))
            same = costs["cost_fast"] < float((part.margin > error).mean()) * costs["cost_exact"]
            written = chosen.cheaper
            counts += [written, written and broken(chosen.error, limit), written and slower,
                       same, same and broken(error, limit)]  # fmt: skip
            others = np.setdiff1d(np.arange(len(rows)), drawn)
            means.append([len(drawn), answered[others].mean(), (answered & wrong)[others].mean()])
        if not means:
            yield [*title, "", f"{limit:.1%}", "too few rows", *[""] * 6]
            continue
        drawn_rows, kept, unseen = np.mean(means, axis=0)
        written, bad, slow, same, same_bad = map(int, counts)
        line = [f"{drawn_rows:,.0f}", f"{limit:.1%}", f"{kept:.1%}", f"{unseen:.3%}"]
        line += [f"{written:,} of {len(means):,}", share(bad, written), f"{slow:,}"]
        yield [*title, *line, f"{same:,}", share(same_bad, same)]


HEAD = (
    "exact model | fast model, and how much differs | rows drawn | limit | answered by the fast one "
    "| differ, unseen rows | written | broken | no faster | on the same rows: written | broken"
)
TABLES = [Table("cascade", HEAD, CASES, guarantee, SMALL, left=2)]

if __name__ == "__main__":
    measure(__doc__, TABLES, arguments={"--drawings": {"type": int, "default": 1000}}, repeats=1)
