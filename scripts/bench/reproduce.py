"""The figures that the five papers report, and ours from the same data: docs/papers.md.

    python scripts/bench/reproduce.py DIR [--models DIR] [--quick] [--only PAPER] [--page docs/papers.md]
    python scripts/bench/reproduce.py --tables --page docs/papers.md      # measure nothing
    python scripts/bench/reproduce.py                                        # a quick check on fixtures/

DIR holds LIBSVM data sets under their usual names, --models (default: DIR) the LIBSVM models. Every figure
comes from svmfast commands, which are recorded in scripts/bench/results/reproduce.json with machine,
versions, commit, and the seconds of each row. --quick measures only what takes seconds; rows of
earlier runs are kept. Curves, deviations over seeds and comparisons with baselines are measured by
budget.py, meka.py, dcpred.py and frontier_compress.py. Rows whose files are missing are
left out, and named.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from measuring import ROOT, machine, place
from pages import put_into
from reproduce_claims import CLAIMS, TRIALS, Bench, Claim

RESULTS = ROOT / "scripts/bench/results/reproduce.json"


def measure_all(claims: Sequence[Claim], bench: Bench) -> tuple[list[dict[str, Any]], list[str]]:
    """Measure every row whose files exist; return the rows and the names of missing files."""
    rows: list[dict[str, Any]] = []
    absent: set[str] = set()
    for claim in claims:
        lacking = [name for name in claim.inputs if not bench.find(name).exists()]
        absent |= set(lacking)
        if lacking:
            continue
        bench.commands.clear()
        begin = time.perf_counter()
        ours = claim.measure(bench)
        row = {
            "paper": claim.paper,
            "what": claim.what,
            "theirs": claim.theirs,
            "ours": ours,
            "remark": claim.remark,
            "seconds": round(time.perf_counter() - begin, 2),
            "commands": list(bench.commands),
        }
        print(
            f"{claim.paper}; {claim.what}: {claim.theirs}; {ours} ({row['seconds']:.0f} s)", file=sys.stderr
        )
        rows.append(row)
    return rows, sorted(absent)


def merged(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Replace older rows by those measured now, and keep the others."""

    def key(row: dict[str, Any]) -> tuple[str, ...]:
        return row["paper"], row["what"], row["remark"]

    order = {(c.paper, c.what, c.remark): i for i, c in enumerate(CLAIMS)}
    rows = {key(row): row for row in old} | {key(row): row for row in new}
    return sorted(rows.values(), key=lambda row: order.get(key(row), len(order)))


def tables(found: dict[str, Any]) -> str:
    """Return a Markdown table of all rows."""
    where = found["machine"]
    out = [
        f"Measured on {place(where, 'numpy')}.",
        "",
        f"    {where['command']}",
        "",
        "| paper | what | paper's figure | ours | seconds | remark |",
        "| --- | --- | ---: | ---: | ---: | --- |",
    ]
    for row in found["rows"]:
        cells = (
            row["paper"],
            row["what"],
            row["theirs"],
            row["ours"],
            f"{row['seconds']:.0f}",
            row["remark"],
        )
        out.append(f"| {' | '.join(cells)} |")
    return "\n".join([*out, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, nargs="?", help="folder of data sets (default: fixtures)")
    parser.add_argument("--models", type=Path, help="folder of models (default: that of the data)")
    parser.add_argument("--quick", action="store_true", help="only what takes seconds")
    parser.add_argument("--only", action="append", metavar="WORD", help="papers whose name has this word")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path, help=f"results (default: {RESULTS.relative_to(ROOT)} with DIR)")
    parser.add_argument("--page", type=Path, help="put the table between this file's markers")
    parser.add_argument("--tables", action="store_true", help="measure nothing, read the results")
    given = parser.parse_args()
    results = given.json or (RESULTS if given.data or given.tables else None)
    if given.tables:
        found = json.loads(RESULTS.read_text() if given.json is None else given.json.read_text())
    else:
        claims = [
            claim
            for claim in (CLAIMS if given.data else TRIALS)
            if (claim.quick or not given.quick)
            and (not given.only or any(word in claim.paper for word in given.only))
        ]
        data = given.data or ROOT / "fixtures/data"
        models = given.models or (given.data or ROOT / "fixtures/models")
        with tempfile.TemporaryDirectory(prefix="svmfast-reproduce-") as scratch:
            rows, absent = measure_all(claims, Bench(data, models, Path(scratch), given.threads))
        if absent:
            print(f"left out for want of {', '.join(absent)}", file=sys.stderr)
        old = json.loads(results.read_text())["rows"] if results and results.exists() else []
        where = machine(given.threads)
        # Do not publish the paths of this machine.
        shown = [
            "scripts/bench/reproduce.py",
            *(["DIR"] if given.data else []),
            *(["--quick"] if given.quick else []),
        ]
        found = {"machine": {**where, "command": f"python {shlex.join(shown)}"}, "rows": merged(old, rows)}
        if results:
            results.parent.mkdir(parents=True, exist_ok=True)
            results.write_text(json.dumps(found, indent=1) + "\n")
    text = tables(found)
    if given.page:
        put_into(given.page, text, "reproduce")
    print(text, end="")


if __name__ == "__main__":
    main()
