"""Records and Markdown pages of the measuring scripts, and the tables of speed.py."""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path
from typing import Any

Record = dict[str, Any]


def markdown(machine: dict[str, str], results: dict[str, list[Record]]) -> str:
    """Return all tables with the machine, versions and command."""
    versions = ", ".join(
        f"{name} {machine[name]}" for name in ("scikit-learn", "scikit-learn-intelex", "numpy")
    )
    out = [
        f"Measured on {machine['machine']} ({machine['system']}), {machine['date']}: "
        f"svmfast {machine['svmfast']} ({machine['commit']}), svm-predict of {machine['svm-predict']}, "
        f"{versions}. Medians; both sides of a comparison run in turn.",
        "",
        f"    {machine['command']}",
        "",
    ]
    for section, make in TABLES.items():
        if section in results:
            out += [*make(results[section]), ""]
    return "\n".join(out)


def tables_of(path: Path, name: str = "bench") -> tuple[str, str, str]:
    """Return a page up to the line ``<!-- name -->``, its tables, and the rest from ``<!-- /name -->`` on."""
    begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->\n"
    text = path.read_text()
    if begin not in text or end not in text:
        sys.exit(f"{path}: no lines '{begin.strip()}' and '{end.strip()}' to put the tables between")
    before, rest = text.split(begin, 1)
    tables, after = rest.split(end, 1)
    return before + begin, tables, end + after


def put_into(path: Path, tables: str | list[str], name: str = "bench") -> None:
    """Replace the tables of a page."""
    before, _, after = tables_of(path, name)
    if not isinstance(tables, str):
        tables = "\n".join(tables) + "\n"
    path.write_text(before + tables + after)


def read_records(path: Path | None) -> list[Record]:
    """Return the records that :func:`write_records` wrote; none if there is no file."""
    return json.loads(path.read_text())["records"] if path and path.exists() else []


def write_records(path: Path | None, machine: dict[str, str], records: list[Record]) -> None:
    """Write the records of a run with those of earlier runs, and the machine of this run."""
    if path:
        path.write_text(json.dumps({"machine": machine, "records": records}, indent=1) + "\n")


def _median(record: Record, name: str) -> float | None:
    samples = record["seconds"].get(name)
    return statistics.median(samples) if samples else None


def _table(*rows: list[str]) -> list[str]:
    header, *body = rows
    ruler = ["---", *["---:"] * (len(header) - 1)]
    return ["| " + " | ".join(row) + " |" for row in (header, ruler, *body)]


def _seconds(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.2f} s"


def _times(slow: float | None, fast: float | None) -> str:
    return "-" if slow is None or fast is None else f"{slow / fast:.1f}x"


def _whole_process(records: list[Record]) -> list[str]:
    header = "whole process|rows|SVs|svm-predict|svmfast, exact|gain|labels differing"
    header += "|svmfast, approximated|gain|labels differing|model size"
    rows = [header.split("|")]
    for r in records:
        base, exact, small = (_median(r, name) for name in ("svm-predict", "exact", "approximate"))
        row = [r["model"], f"{r['rows']:,}", f"{r['svs']:,}", _seconds(base), _seconds(exact)]
        row += [_times(base, exact), f"{r['differing']['exact']:,}", _seconds(small), _times(base, small)]
        if small:
            row += [
                f"{r['differing']['approximate']:,}",
                f"1/{r['bytes_exact'] / r['bytes_approximate']:.1f}",
            ]
        rows.append(row if small else [*row, "-", "-"])
    return _table(*rows)


def _prediction_step(records: list[Record]) -> list[str]:
    header = "prediction step, ns per kernel value|svmfast, exact|scikit-learn-intelex|labels differing"
    header += "|scikit-learn|labels differing|approximated, 1 thread: us per row"
    rows = [header.split("|")]
    for r in records:
        row = [r["model"], _per_value(r, "exact")]
        twins = [name for name in r["seconds"] if name.startswith("scikit-learn-intelex")]
        fastest = min(twins, key=lambda name, r=r: _median(r, name) or 0.0, default="none")
        for name in (fastest, "scikit-learn"):
            form = f" ({name.rsplit(', ')[1]})" if ", " in name else ""
            row += [_per_value(r, name) + form, f"{r['differing'].get(name, '-')}"]
        small = _median(r, "approximate, 1 thread")
        rows.append([*row, "-" if small is None else f"{small / r['rows'] * 1e6:.3f}"])
    return _table(*rows)


def _per_value(record: Record, name: str) -> str:
    seconds = _median(record, name)
    return "-" if seconds is None else f"{seconds / (record['rows'] * record['svs']) * 1e9:.2f}"


def _parsing(records: list[Record]) -> list[str]:
    rows = [["parsing", "reader", "MB/s", "largest difference"]]
    for r in records:
        for name in r["seconds"]:
            speed = r["bytes"] / (_median(r, name) or 1.0) / 1e6
            rows.append(
                [
                    f"{r['data']}, {r['bytes'] / 1e6:.1f} MB",
                    name,
                    f"{speed:.0f}",
                    f"{r['largest_difference']:g}",
                ]
            )
    return _table(*rows)


def _start_up(records: list[Record]) -> list[str]:
    rows = [["start-up", "time"]]
    for r in records:
        rows += [[f"`{name}`", _seconds(_median(r, name))] for name in r["seconds"]]
    return _table(*rows)


def _busy(records: list[Record]) -> list[str]:
    rows = [["exact, whole process", "alone", "next to a busy process", "ratio"]]
    for r in records:
        alone, beside = _median(r, "alone"), _median(r, "beside")
        rows.append([r["model"], _seconds(alone), _seconds(beside), _times(beside, alone)])
    return _table(*rows)


def _streaming(records: list[Record]) -> list[str]:
    rows = [["streamed predict", "text", "rows in", "rows out", "time", "peak memory"]]
    for r in records:
        text, peak = f"{r['bytes'] / 1e6:,.0f} MB", f"{r['peak_memory'] / 1e6:.0f} MB"
        counts = [f"{r['rows']:,}", f"{r['rows_written']:,}"]
        rows.append([r["model"], text, *counts, _seconds(_median(r, "predict")), peak])
    return _table(*rows)


TABLES = {
    "whole process": _whole_process,
    "prediction step": _prediction_step,
    "parsing": _parsing,
    "start-up": _start_up,
    "busy neighbour": _busy,
    "streaming": _streaming,
}
