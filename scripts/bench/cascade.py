"""Join fast models with the exact one: does the guarantee hold for the files, and how fast are they?

    python scripts/bench/cascade.py --data DIR --models DIR --page docs/cascade.md [--only NAME] [--no-speed]

The guarantee: many samples are drawn independently from the test rows: half as many rows as there are or, if
joining is hardly faster, until a number of them are different. Each sample decides whether to write a file,
and chooses the error. A file violates the guarantee if the share of all test rows whose label differs from
the exact model's exceeds the limit.
A second experiment decides on the rows that choose the error.

The speed: on all test rows, the error chosen on them, beside the exact model and the fast one alone, taken in
turn. `--page` puts the tables between the markers ``<!-- cascade -->`` and ``<!-- cascade-speed -->``.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from measuring import PROGRAM, in_turn, machine, place, plain_file, run, timed
from pages import put_into

from svmfast.formats.model_files import load_model
from svmfast.formats.svmlight import read_svmlight
from svmfast.methods.cascade import CascadeOptions
from svmfast.methods.cascade.join import join
from svmfast.methods.cascade.threshold import Evaluated, choose, least_rows, smallest_error
from svmfast.methods.common.equal_rows import groups_of, row_keys
from svmfast.methods.method import Setting
from svmfast.models.answer import answer
from svmfast.models.certified import label_margins
from svmfast.models.expansion import KernelExpansion
from svmfast.rows import Rows
from svmfast.solvers.intervals import CONFIDENCE, largest_count
from svmfast.threads import usable_cores

#: Half of the test rows, at 0.5 % and 0.1 %.
USUAL: tuple[tuple[float, int | None], ...] = ((0.005, None), (0.001, None))
#: The smallest sufficient number of distinct rows at the limit, and a fifth more to decide.
FEW: tuple[tuple[float, int | None], ...] = ((0.005, 750), (0.001, 3000))


@dataclass(frozen=True)
class Case:
    """A fast model and its exact one; EXACT, TRAIN and OUT stand for paths.

    Limits, each with the number of distinct rows to draw.
    """

    model: str
    train: str
    test: str
    command: str
    limits: tuple[tuple[float, int | None], ...] = USUAL


A9A = ("a9a_g0.1.model", "a9a", "a9a.t")
IJCNN1 = ("ijcnn1_c32_g2.model", "ijcnn1", "ijcnn1.t")
LETTER = ("letter_c16_g2.model", "letter.scale", "letter.scale.t")
CASES = [
    Case(
        "letter_c16_g2.model",
        "letter.scale",
        "letter.scale.t",
        "dcpred TRAIN -o OUT --from EXACT --max-operations 12",
    ),
    Case(*IJCNN1, "dcpred TRAIN -o OUT --from EXACT --max-operations 20"),
    Case(*IJCNN1, "compress EXACT --sv 125 --data TRAIN -o OUT"),
    Case(*A9A, "dcpred TRAIN -o OUT --from EXACT --max-operations 12"),
    Case(*A9A, "compress EXACT --ratio 2% --data TRAIN -o OUT"),
    Case("usps_c10.model", "usps", "usps.t", "dcpred TRAIN -o OUT --from EXACT --max-operations 14"),
    # Fast models so inaccurate that joining them is barely faster, or not faster.
    Case(*IJCNN1, "compress EXACT --sv 500 --select-only --start kmeans -o OUT", FEW),
    Case(*IJCNN1, "compress EXACT --sv 800 --select-only --start kmeans -o OUT", FEW),
]


@dataclass(frozen=True, eq=False)
class Known:
    """Both models, the test rows, and the predictions for them."""

    exact: KernelExpansion
    fast: Any
    rows: Rows
    labels: np.ndarray
    evaluated: Evaluated

    def draw(self, rng: np.random.Generator, different: int | None) -> np.ndarray:
        n = len(self.rows)
        if different is None:
            return rng.integers(0, n, n // 2)
        drawn = rng.integers(0, n, 2 * different)
        seen = np.zeros(len(drawn), dtype=bool)
        seen[np.unique(self.evaluated.group[drawn], return_index=True)[1]] = True
        return drawn[: int(np.searchsorted(np.cumsum(seen), different)) + 1]

    def broken(self, error: float, limit: float) -> bool:
        """Whether the share among all rows exceeds the limit."""
        return bool(((self.evaluated.margin > error) & self.evaluated.differing).mean() > limit)

    def part(self, drawn: np.ndarray) -> Evaluated:
        one = self.evaluated
        return Evaluated(one.margin[drawn], one.differing[drawn], one.group[drawn], one.largest)


def known(case: Case, options: argparse.Namespace, folder: Path) -> Known:
    """Make the fast model, and predict every test row with both."""
    train, test = (plain_file(options.data, name, folder) for name in (case.train, case.test))
    source = plain_file(options.models, case.model, folder)
    paths = {"TRAIN": train, "EXACT": source, "OUT": folder / "fast"}
    run([PROGRAM, *(paths.get(word, word) for word in case.command.split()), "-q"])
    exact, fast, threads = load_model(source), load_model(folder / "fast"), usable_cores()
    assert isinstance(exact, KernelExpansion)
    rows = read_svmlight(test).rows
    labels = answer(exact, rows, threads=threads).predicted
    decisions = fast.decision_values(rows, threads=threads)
    differing, sure = fast.head.predict(decisions) != labels, label_margins(fast.head, decisions)
    largest = float(np.abs(decisions).max()) if fast.head.one_vs_rest else 0.0
    group, _ = groups_of(row_keys(rows))
    evaluated = Evaluated(sure, differing, group, largest)
    return Known(exact, fast, rows, labels, evaluated)


def drawings(found: Known, limit: float, different: int | None, count: int) -> dict[str, Any]:
    """Draw, choose and count."""
    evaluated, rng = found.evaluated, np.random.default_rng(0)
    fast, exact = found.fast.multiply_adds(found.rows), found.exact.multiply_adds(found.rows)
    cost = {"cost_fast": fast, "cost_exact": exact}
    total = {"written": 0, "broken": 0, "slower": 0, "written_same_rows": 0, "broken_same_rows": 0}
    shares, kept, sizes = [], [], []
    for number in range(count):
        drawn = found.draw(rng, different)
        part = found.part(drawn)
        sizes.append(len(drawn))
        if len(np.unique(part.group)) < least_rows(limit, CONFIDENCE):
            return {"refused": "too few rows"}
        chosen = choose(part, limit, CONFIDENCE, seed=number, **cost)
        answered = evaluated.margin > chosen.error
        total["written"] += chosen.cheaper
        total["broken"] += chosen.cheaper and found.broken(chosen.error, limit)
        total["slower"] += chosen.cheaper and bool(fast >= answered.mean() * exact)
        others = np.setdiff1d(np.arange(len(evaluated.margin)), drawn)
        shares.append(float((answered & evaluated.differing)[others].mean()))
        kept.append(float(answered[others].mean()))
        error = smallest_error(part.margin[part.differing], largest_count(len(drawn), limit, CONFIDENCE))
        if fast < float((part.margin > error).mean()) * exact:
            total["written_same_rows"] += 1
            total["broken_same_rows"] += found.broken(error, limit)
    means = {"rows": float(np.mean(sizes)), "differing_unseen": float(np.mean(shares))}
    means["answered_unseen"] = float(np.mean(kept))
    return {**total, **means, "drawings": count}


def timing(found: Known, limit: float, repeats: int) -> dict[str, Any]:
    """Join on all rows, and measure the speeds in turn."""
    threads, exact, rows = usable_cores(), found.exact, found.rows
    options = CascadeOptions(max_diff=limit)
    joined, report = join(found.fast, exact, rows, options, Setting(threads), labels=found.labels)
    calls = {
        "exact": partial(answer, exact, rows, threads=threads),
        "fast": partial(answer, found.fast, rows, threads=threads),
        "joined": partial(answer, joined, rows, exact=exact, threads=threads),
    }
    samples = in_turn({name: timed(call) for name, call in calls.items()}, repeats)
    seconds = {name: samples.median(name) for name in calls}
    return {"answered": report.answered / len(rows), "seconds": seconds}


def guarantee_table(records: list[dict[str, Any]]) -> list[str]:
    """Return the Markdown table of the drawings."""
    out = [
        "| exact model | fast model, and how much differs | rows drawn | limit | answered by the fast one "
        "| differ, unseen rows | written | broken | no faster | on the same rows: written | broken |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for r in records:
        for line in r["limits"]:
            limit = f"{line['max_diff']:.1%}"
            cells = [r["model"], f"`{r['command']}`, {r['differing_fast']:.2%}"]
            if "refused" in line:
                cells += ["", limit, line["refused"], *[""] * 6]
            else:
                cells += [
                    f"{line['rows']:,.0f}",
                    limit,
                    f"{line['answered_unseen']:.1%}",
                    f"{line['differing_unseen']:.3%}",
                    f"{line['written']:,} of {line['drawings']:,}",
                    of(line["broken"], line["written"]),
                    f"{line['slower']:,}",
                    f"{line['written_same_rows']:,}",
                    of(line["broken_same_rows"], line["written_same_rows"]),
                ]
            out.append(f"| {' | '.join(cells)} |")
    return out


def of(count: int, total: int) -> str:
    """Return a count with its share."""
    return f"{count:,} ({count / total:.1%})" if total else f"{count:,}"


def speed_table(records: list[dict[str, Any]]) -> list[str]:
    """Return the Markdown table of the speeds over the exact model."""
    out = [
        "| exact model | fast model | alone: differ, speed | limit | answered by the fast one | speed |",
        "| --- | --- | --- | ---: | ---: | ---: |",
    ]
    for r in records:
        for line in r["limits"]:
            if "seconds" in line:
                s = line["seconds"]
                cells = [
                    r["model"],
                    f"`{r['command']}`",
                    f"{r['differing_fast']:.2%}, {s['exact'] / s['fast']:.1f}x",
                    f"{line['max_diff']:.1%}",
                    f"{line['answered']:.1%}",
                    f"{s['exact'] / s['joined']:.1f}x",
                ]
                out.append(f"| {' | '.join(cells)} |")
    return out


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of data sets, plain or .xz")
    parser.add_argument("--models", type=Path, help="folder of models; default: the same")
    parser.add_argument("--only", action="append", help="only models whose name starts so (repeatable)")
    parser.add_argument("--drawings", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--no-speed", action="store_true", help="draw only; time nothing")
    parser.add_argument("--json", type=Path, help="write the raw records")
    parser.add_argument("--page", type=Path, help="put the tables between the markers of this file")
    options = parser.parse_args()
    options.models = options.models or options.data
    records = []
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            if options.only and not any(case.model.startswith(start) for start in options.only):
                continue
            found = known(case, options, Path(folder))
            record: dict[str, Any] = {
                "model": case.model.removesuffix(".model"),
                "command": case.command,
                "rows": len(found.rows),
                "differing_fast": float(found.evaluated.differing.mean()),
                "limits": [],
            }
            for limit, different in case.limits:
                line = {"max_diff": limit, **drawings(found, limit, different, options.drawings)}
                if not options.no_speed and different is None and "refused" not in line:
                    line |= timing(found, limit, options.repeats)
                record["limits"].append(line)
            records.append(record)
            print(json.dumps(record), file=sys.stderr)
    heading = machine(usable_cores())
    if options.json:
        options.json.write_text(json.dumps({"machine": heading, "records": records}, indent=1) + "\n")
    note = [f"Measured on {place(heading)}", "", f"    {heading['command']}", ""]
    tables = {"cascade": guarantee_table(records)}
    if not options.no_speed:
        tables["cascade-speed"] = speed_table(records)
    for name, table in tables.items():
        print("\n".join(table))
        if options.page:
            put_into(options.page, note + table, name)


if __name__ == "__main__":
    main()
