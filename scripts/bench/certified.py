"""Convert every model with chosen orders and cells, and check the certificate on every test row.

    python scripts/bench/certified.py                             # on fixtures/
    python scripts/bench/certified.py --data DIR --models DIR     # on the large public sets (plain or .xz)
    python scripts/bench/certified.py ... --only usps --json raw.json --readme docs/benchmarks.md

For each model: what `svmfast approximate --order auto --cells auto` chose, or that the exact model is better;
how many test rows are certified; rows whose error exceeds their bound (must be 0); labels that differ from
svm-predict's when the exact model answers the others (must be 0); and the gain in speed, exact labels
included. Both sides of a comparison run in turn. `--readme` puts the table between the markers
``<!-- certified -->`` and ``<!-- /certified -->``.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measuring import PROGRAM, ROOT, in_turn, machine, place, plain_file, run
from pages import put_into, read_records, write_records


@dataclass(frozen=True)
class Work:
    """A model, the rows it predicts, the rows the choice is made for, and the options.

    first: predict only this many rows, the first ones; train: make the model with these options of train.
    """

    model: str
    test: str
    data: tuple[str, ...]
    options: tuple[str, ...] = ("--order", "auto", "--cells", "auto")
    one_against_rest: int | None = None
    train: tuple[str, ...] = ()
    first: int | None = None

    @property
    def tested(self) -> str:
        return self.test if self.first is None else f"{self.test}, first {self.first:,} rows"


AUTO = Work.options
SMALL = [
    Work("breast_c_rbf.model", "breast.test", ("breast.train",)),
    Work("onehot_c_rbf.model", "onehot.test", ("onehot.train",)),
]
LARGE = [
    Work("a9a_g0.01.model", "a9a.t", ("a9a",)),
    Work("a9a_g0.01.model", "a9a.t", ("a9a",), ("--order", "3")),
    Work("a9a_g0.02.model", "a9a.t", ("a9a",), ("--order", "2")),
    Work("a9a_g0.02.model", "a9a.t", ("a9a",)),
    Work("a9a_g0.1.model", "a9a.t", ("a9a",)),
    *(Work(f"ijcnn1_c{c}.model", "ijcnn1.t", ("ijcnn1",)) for c in (1, 10, 100, 250, 1000)),
    Work("ijcnn1_c250.model", "ijcnn1.t", ("ijcnn1",), ("--order", "4")),
    Work("ijcnn1_c32_g2.model", "ijcnn1.t", ("ijcnn1",)),
    Work("ijcnn1_c32_g2.model", "ijcnn1.t", ("ijcnn1",), (*AUTO, "--max-bytes", "20M")),
    Work("ijcnn1_c32_g2.model", "ijcnn1.t", ("ijcnn1.t",), (*AUTO, "--max-bytes", "20M")),
    Work("ijcnn1_c32_g2.model", "ijcnn1.t", ("ijcnn1",), (*AUTO, "--max-bytes", "20M"), first=4000),
    Work("mnist1vr_c10_g1e-4.model", "mnist.scale.t", ("mnist.scale",), one_against_rest=1),
    Work("usps_c10.model", "usps.t", ("usps",)),
    Work("pendigits", "pendigits.scale.t", ("pendigits.scale",), train=("-c", "10", "-g", "0.125")),
    Work("letter_c16_g2.model", "letter.scale.t", ("letter.scale",)),
]


def measured(work: Work, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Convert, compare, and time whole processes."""
    data = [plain_file(options.data, name, folder, work.one_against_rest) for name in work.data]
    test = plain_file(options.data, work.test, folder, work.one_against_rest)
    if work.first is not None:
        lines = test.read_text().splitlines(keepends=True)[: work.first]
        test = folder / f"{work.test}.{work.first}"
        test.write_text("".join(lines))
    if work.train:
        exact = folder / work.model
        run([PROGRAM, "train", "-q", *work.train, data[0], exact])
    else:
        exact = plain_file(options.models, work.model, folder)
    fast = folder / "fast"
    given = [part for path in data for part in ("--data", path)]
    command = [
        PROGRAM,
        "approximate",
        exact,
        "-o",
        fast,
        "-q",
        "--json",
        "--embed-exact",
        *work.options,
        *given,
    ]
    done = subprocess.run([str(p) for p in command], capture_output=True, text=True, check=False)
    shown = " ".join([*work.options, *(f"--data {name}" for name in work.data)])
    found: dict[str, Any] = {
        "model": work.model.removesuffix(".model"),
        "options": shown,
        "test": work.tested,
    }
    if done.returncode == 1:
        return found | {"verdict": done.stderr.strip().removeprefix("svmfast: ").replace("\nsvmfast: ", "; ")}
    if done.returncode:
        raise RuntimeError(done.stderr)
    found |= {"report": json.loads(done.stdout)}
    compare = [
        PROGRAM,
        "compare",
        "-q",
        "--json",
        "--repeats",
        str(options.repeats),
        exact,
        fast,
        "--data",
        test,
    ]
    lines = json.loads(subprocess.run([str(p) for p in compare], capture_output=True, check=True).stdout)
    found |= {"compare": lines["models"][1] if isinstance(lines, dict) else lines[1]}
    outputs = {name: folder / f"{name}.out" for name in ("svm-predict", "svmfast")}
    commands = {
        "svmfast": [PROGRAM, "predict", "-q", test, fast, outputs["svmfast"]],
        "svmfast, exact model": [PROGRAM, "predict", "-q", test, exact, folder / "exact.out"],
    }
    if options.svm_predict:
        commands["svm-predict"] = [options.svm_predict, test, exact, outputs["svm-predict"]]
    samples = in_turn(
        {name: lambda command=command: run(command).wall for name, command in commands.items()},
        options.repeats,
    )
    found |= {"whole_process_seconds": samples.seconds}
    fallback, exactly = (samples.median(name) for name in ("svmfast", "svmfast, exact model"))
    if fallback and exactly:
        found |= {"gain_over_exact": exactly / fallback}
    if options.svm_predict:
        ours, theirs = (outputs[name].read_text().split("\n") for name in ("svmfast", "svm-predict"))
        assert len(ours) == len(theirs)
        found |= {"rows": len(ours) - 1}
        found |= {"labels_differing_from_svm_predict": sum(a != b for a, b in zip(ours, theirs, strict=True))}
        found |= {"gain": samples.median("svm-predict") / samples.median("svmfast")}
    return found


def without_folders(record: dict[str, Any]) -> dict[str, Any]:
    """Return the record with file names instead of paths on this machine."""
    for part in ("report", "compare"):
        for key in ("model", "output", "path"):
            if key in record.get(part, {}):
                record[part][key] = Path(record[part][key]).name
    return record


def table(records: list[dict[str, Any]]) -> list[str]:
    """Return the Markdown table."""
    head = (
        "model",
        "options",
        "rows",
        "cells",
        "order",
        "numbers, exact",
        "numbers",
        "certified",
        "violations",
        "labels differing",
        "whole process over svm-predict",
        "over svmfast, exact",
        "prediction step over our exact engine",
        "made in",
    )
    out = ["| " + " | ".join(head) + " |", "| --- | --- | --- |" + " ---: |" * (len(head) - 3)]
    for r in records:
        if "verdict" in r:
            verdict = ["the exact model is better", *[""] * (len(head) - 4)]
            cells = [r["model"], f"`{r['options']}`", r["test"], *verdict]
        else:
            report, line = r["report"], r["compare"]
            # Records of earlier versions have other names.
            report.setdefault("numbers_exact", report.get("numbers_before"))
            report.setdefault("numbers", report.get("coefficients"))
            differing = line.get("labels_differing_with_fallback", line["labels_differing"])
            gain, inside = r.get("gain"), line.get("speedup_with_fallback", line["speedup"])
            cells = [
                r["model"],
                f"`{r['options']}`",
                r["test"],
                f"{report['cells']:,}",
                "/".join(sorted(report.get("orders", [str(report["order"])]), key=int)),
                f"{report['numbers_exact']:,}",
                f"{report['numbers']:,}",
                f"{line['certified_percent']:.2f}%",
                f"{line['violations']:,}",
                f"{r.get('labels_differing_from_svm_predict', differing):,}",
                "" if gain is None else f"{gain:.1f}x",
                "" if "gain_over_exact" not in r else f"{r['gain_over_exact']:.1f}x",
                "" if inside is None else f"{inside:.1f}x",
                f"{report['seconds']:.1f} s",
            ]
        out.append("| " + " | ".join(cells) + " |")
    verdicts = [f"- {r['model']}: {r['verdict']}" for r in records if "verdict" in r]
    return [*out, *(["", *verdicts] if verdicts else [])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of data sets; default: the fixtures")
    parser.add_argument("--models", type=Path, help="folder of models; default: the same")
    parser.add_argument("--only", action="append", help="only models whose name starts so (repeatable)")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2, help="only named in the heading")
    parser.add_argument("--svm-predict", default=shutil.which("svm-predict"))
    parser.add_argument(
        "--json", type=Path, help="add the raw records to this file; replaces those of --only"
    )
    parser.add_argument("--readme", type=Path, help="put the table between the markers of this file")
    options = parser.parse_args()
    works = SMALL if options.data is None else LARGE
    if options.data is None:
        options.data, options.models = ROOT / "fixtures" / "data", ROOT / "fixtures" / "models"
    options.models = options.models or options.data
    earlier = read_records(options.json)
    heading = machine(options.threads, options.svm_predict)
    heading["command"] = " ".join(re.sub(r" --(only|json|readme) \S+", "", heading["command"]).split())
    records = []
    with tempfile.TemporaryDirectory() as folder:
        for work in works:
            name = work.model.removesuffix(".model")
            shown = " ".join([*work.options, *(f"--data {path}" for path in work.data)])
            if options.only and not any(name.startswith(start) for start in options.only):
                key = (name, shown, work.tested)
                records += [r for r in earlier if (r["model"], r["options"], r["test"]) == key]
                continue
            record = without_folders(measured(work, options, Path(folder)))
            records.append({**record, "commit": heading["commit"]})
            print(json.dumps(records[-1]), file=sys.stderr)
    write_records(options.json, heading, records)
    lines = [
        f"Measured on {place(heading)}; medians of {options.repeats}, both sides in turn. "
        "Labels and whole processes are of `svmfast predict TEST FAST OUT`, FAST made with `--embed-exact`, "
        "all rows that are named, reading included; the prediction step alone, rows and models in memory, is "
        "`compare`'s.",
        "",
        f"    {heading['command']}",
        "",
        *table(records),
    ]
    print("\n".join(lines))
    if options.readme:
        put_into(options.readme, lines, "certified")


if __name__ == "__main__":
    main()
