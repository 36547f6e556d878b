"""Join fast models with the exact one, and see whether what is promised holds on rows that took no part.

    python scripts/bench_cascade.py --data DIR --models DIR --page docs/cascade.md [--only letter]

Half as many rows as there are test rows are drawn from them with replacement, many times: on these the error
is chosen, on the rows not drawn it is counted how many labels differ from the exact model's; a promise is
broken where the share of all test rows, from which was drawn, is larger. Then the speed on all test rows, the
error chosen on all, beside the exact model and the fast one alone, taken in turn. `--page` puts the table
between the markers ``<!-- cascade -->`` and ``<!-- /cascade -->``.
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

from svmfast.errors import OptionError
from svmfast.formats.detect import load_model
from svmfast.formats.svmlight import read_svmlight
from svmfast.methods.cascade import join
from svmfast.models.answer import answer
from svmfast.models.certified import certainty
from svmfast.models.expansion import KernelExpansion
from svmfast.threads import usable_cores

BEGIN, END = "<!-- cascade -->\n", "<!-- /cascade -->\n"
LIMITS = (0.005, 0.001)


@dataclass(frozen=True)
class Case:
    """A fast model and its exact one; EXACT, TRAIN and OUT stand for paths."""

    model: str
    train: str
    test: str
    command: str


CASES = [
    Case("letter_c16_g2.model", "letter.scale", "letter.scale.t", "dcpred TRAIN OUT --from EXACT --cost 12x"),
    Case("ijcnn1_c32_g2.model", "ijcnn1", "ijcnn1.t", "dcpred TRAIN OUT --from EXACT --cost 20x"),
    Case("ijcnn1_c32_g2.model", "ijcnn1", "ijcnn1.t", "compress EXACT --sv 125 --data TRAIN -o OUT"),
    Case("a9a_g0.1.model", "a9a", "a9a.t", "dcpred TRAIN OUT --from EXACT --cost 12x"),
    Case("a9a_g0.1.model", "a9a", "a9a.t", "compress EXACT --ratio 2% --data TRAIN -o OUT"),
    Case("usps_c10.model", "usps", "usps.t", "dcpred TRAIN OUT --from EXACT --cost 14x"),
]


def measured(case: Case, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Make the fast model, split, join, count and time."""
    train, test = (plain_file(options.data, name, folder) for name in (case.train, case.test))
    source = plain_file(options.models, case.model, folder)
    paths = {"TRAIN": train, "EXACT": source, "OUT": folder / "fast"}
    run([PROGRAM, *(paths.get(word, word) for word in case.command.split()), "-q"])
    exact, fast, threads = load_model(source), load_model(folder / "fast"), usable_cores()
    assert isinstance(exact, KernelExpansion)
    rows = read_svmlight(test).rows
    labels = answer(exact, rows, threads=threads).predicted
    decisions = fast.decision_values(rows, threads=threads)
    differing, sure = fast.head.predict(decisions) != labels, certainty(fast.head, decisions)
    found: dict[str, Any] = {
        "model": case.model.removesuffix(".model"),
        "command": case.command,
        "rows": len(rows),
        "differing_fast": float(differing.mean()),
        "limits": [],
    }
    for limit in LIMITS:
        rng, wrong, shares, kept = np.random.default_rng(0), 0, [], []
        for _ in range(options.splits):
            # Independent rows: halves without replacement would vary less than rows to come do.
            chosen = rng.integers(0, len(rows), len(rows) // 2)
            others = np.setdiff1d(np.arange(len(rows)), chosen)
            try:
                _, report = join(
                    fast, exact, rows.take(chosen), max_diff=limit, labels=labels[chosen], threads=threads
                )
            except OptionError as error:  # too few rows
                found["limits"].append({"max_diff": limit, "refused": str(error)})
                break
            answered = sure[others] > report.error
            shares.append(float((answered & differing[others]).mean()))
            kept.append(float(answered.mean()))
            # The truth of this experiment is what all rows together have.
            wrong += bool(((sure > report.error) & differing).mean() > limit)
        else:
            found["limits"].append(timing(limit, fast, exact, rows, labels, options) | {
                "splits": options.splits,
                "differing_unseen": float(np.mean(shares)),
                "answered_unseen": float(np.mean(kept)),
                "broken": wrong,
            })  # fmt: skip
    return found


def timing(
    limit: float, fast: Any, exact: KernelExpansion, rows: Any, labels: Any, options: Any
) -> dict[str, Any]:
    """Join on all rows, and take the speeds in turn."""
    threads = usable_cores()
    joined, report = join(fast, exact, rows, max_diff=limit, labels=labels, threads=threads)
    calls = {
        "exact": partial(answer, exact, rows, threads=threads),
        "fast": partial(answer, fast, rows, threads=threads),
        "joined": partial(answer, joined, rows, exact=exact, threads=threads),
    }
    samples = in_turn({name: timed(call) for name, call in calls.items()}, options.repeats)
    seconds = {name: samples.median(name) for name in calls}
    return {"max_diff": limit, "answered": report.answered / len(rows), "seconds": seconds}


def table(records: list[dict[str, Any]]) -> list[str]:
    """Return the Markdown table."""
    out = [
        "| exact model | fast model | alone: differ, speed | promised | answered by the fast one "
        "| differ, unseen rows | promise broken | speed over the exact model |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for r in records:
        for line in r["limits"]:
            head = [r["model"], f"`{r['command']}`"]
            if "refused" in line:
                cells = [*head, f"{r['differing_fast']:.2%}", f"{line['max_diff']:.1%}", "too few rows"]
                out.append(f"| {' | '.join(cells)} | | | |")
                continue
            s = line["seconds"]
            cells = [
                *head,
                f"{r['differing_fast']:.2%}, {s['exact'] / s['fast']:.1f}x",
                f"{line['max_diff']:.1%}",
                f"{line['answered_unseen']:.1%}",
                f"{line['differing_unseen']:.3%}",
                f"{line['broken']} of {line['splits']}",
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
    parser.add_argument("--splits", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write the raw records")
    parser.add_argument("--page", type=Path, help="put the table between the markers of this file")
    options = parser.parse_args()
    options.models = options.models or options.data
    records = []
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            if options.only and not any(case.model.startswith(start) for start in options.only):
                continue
            records.append(measured(case, options, Path(folder)))
            print(json.dumps(records[-1]), file=sys.stderr)
    heading = machine(usable_cores())
    if options.json:
        options.json.write_text(json.dumps({"machine": heading, "records": records}, indent=1) + "\n")
    lines = [
        f"Measured on {place(heading)}; {options.splits} drawings; speeds are medians of "
        f"{options.repeats} predictions of all test rows, the error chosen on all, in turn.",
        "",
        f"    {heading['command']}",
        "",
        *table(records),
    ]
    print("\n".join(lines))
    if options.page:
        before, rest = options.page.read_text().split(BEGIN)
        after = rest.split(END)[1]
        options.page.write_text(before + BEGIN + "\n".join(lines) + "\n" + END + after)


if __name__ == "__main__":
    main()
