"""The results of budget.py as Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from pages import _table

Record = dict[str, Any]
#: Glasmachers and Qaadan, table 2, per (data, budget): mean and standard deviation of gss-precise, gss,
#: lookup-h, lookup-wd; the exact model's accuracy from table 1.
PAPER = {
    ("SKIN", 100): ((99.621, 0.711), (99.629, 0.852), (99.621, 0.201), (99.617, 0.877)),
    ("SKIN", 200): ((99.868, 0.033), (99.877, 0.053), (99.855, 0.054), (99.754, 0.089)),
    ("IJCNN", 100): ((97.141, 0.317), (96.807, 0.344), (97.132, 0.371), (97.130, 0.363)),
    ("IJCNN", 500): ((98.138, 0.158), (98.055, 0.334), (98.113, 0.448), (98.070, 0.372)),
    ("ADULT", 100): ((84.234, 0.883), (84.166, 0.701), (84.164, 0.988), (84.200, 0.798)),
    ("ADULT", 500): ((84.280, 0.800), (83.739, 1.303), (83.836, 1.157), (83.949, 1.001)),
    ("WEB", 100): ((98.805, 0.026), (98.793, 0.027), (98.783, 0.045), (98.793, 0.039)),
    ("WEB", 500): ((98.809, 0.023), (98.781, 0.047), (98.799, 0.029), (98.807, 0.016)),
    ("PHISHING", 100): ((96.554, 0.158), (96.254, 0.301), (96.539, 0.242), (96.389, 0.371)),
    ("PHISHING", 500): ((97.555, 0.187), (97.517, 0.292), (97.518, 0.280), (97.525, 0.201)),
}
PAPER_EXACT = {"SKIN": 99.96, "IJCNN": 98.77, "ADULT": 84.82, "WEB": 98.81, "PHISHING": 97.55}
#: Table 3: training time saved by lookup-wd against gss (%), per (data, budget).
PAPER_SAVED = {
    ("SKIN", 100): 17.788, ("SKIN", 200): 14.900, ("IJCNN", 100): 30.372, ("IJCNN", 500): 29.861,
    ("ADULT", 100): 18.452, ("ADULT", 500): 22.339, ("WEB", 100): 5.649, ("WEB", 500): 0.508,
    ("PHISHING", 100): 13.946, ("PHISHING", 500): 10.924,
}  # fmt: skip
PAPER_ORDER = ("gss-precise", "gss", "lookup-h", "lookup-wd")
MERGES = ("lookup-wd", "lookup-h", "gss", "gss-precise", "project", "remove")


def markdown(results: dict[str, Any]) -> str:
    """Return the tables of all parts that were made."""
    out: list[str] = []
    where: dict[str, list[str]] = {}
    for part, (title, make) in TABLES.items():
        if part in results:
            found = results[part]
            out += [f"### {title}", "", *make(found["records"], found["passes"]), ""]
            where.setdefault(found["machine"], []).append(part)
    out += [f"Measured ({', '.join(parts)}) on {machine}.\n" for machine, parts in where.items()]
    return "\n".join(out)


def _spread(values: list[float]) -> str:
    return f"{statistics.mean(values):.2f} ± {statistics.stdev(values) if len(values) > 1 else 0:.2f}"


def _seconds(values: list[float]) -> str:
    value = statistics.median(values)
    return f"{value:.1f} s" if value >= 10 else f"{value:.2f} s"


def _accuracy(records: list[Record], passes: int) -> list[str]:
    keys = list(dict.fromkeys((r["data"], r["budget"]) for r in records))
    found = {(r["data"], r["budget"], r["merge"]): r for r in records}
    out = [
        f"Percent of test rows, mean and standard deviation over seeds, {passes} passes. "
        "The models of `--keep last`:",
        "",
    ]
    paper = ["the paper's lookup-wd"]
    for which, title in (
        ("last", ""),
        ("returned", "The models of `--keep refit`, the default:"),
    ):
        rows = [["data", "B", *paper, *MERGES]]
        for data, budget in keys:
            theirs = PAPER.get((data, budget))
            row = [data, str(budget), "{:.2f} ± {:.2f}".format(*theirs[3]) if theirs else "-"]
            for merge in MERGES:
                one = found.get((data, budget, merge))
                row.append(_spread(one[which]) if one else "-")
            rows.append(row)
        out += ([title, ""] if title else []) + _table(*rows) + [""]
    rows = [["data", "B", *PAPER_ORDER]]
    for data, budget in keys:
        if (data, budget) not in PAPER:
            continue
        row = [data, str(budget)]
        for merge, (mean, deviation) in zip(PAPER_ORDER, PAPER[data, budget], strict=True):
            ours = [statistics.mean(found[data, budget, merge][which]) for which in ("last", "returned")]
            row.append(
                " / ".join(f"{o - mean:+.2f}{'' if o >= mean - deviation else ' *below*'}" for o in ours)
            )
        rows.append(row)
    if len(rows) > 1:
        out += [
            "Difference from the paper's mean, points: last iterate / returned; *below* is more than the",
            "",
        ]
        out[-2] += " paper's standard deviation below it:"
        out += _table(*rows)
    return out


def _exact(records: list[Record], _passes: int) -> list[str]:
    rows = [["data", "LIBSVM's solver", "support vectors", "the paper's LIBSVM"]]
    for r in records:
        theirs = PAPER_EXACT.get(r["data"])
        row = [r["data"], f"{r['accuracy']:.2f}", f"{r['vectors']:,}"]
        rows.append([*row, f"{theirs:.2f}" if theirs else "-"])
    return _table(*rows)


def _saved(slow: list[float], fast: list[float]) -> float:
    return statistics.median(1 - f / s for s, f in zip(slow, fast, strict=True))


def _time(records: list[Record], passes: int) -> list[str]:
    rows = [["data", "B", "lookup-wd: steps/s, median (least)", "lookup-h", "gss", "gss-precise",
             "time saved against gss", "paper: time saved"]]  # fmt: skip
    for r in records:
        speed = {m: [r["steps"] / s for s in r["seconds"][m]] for m in r["seconds"]}
        row = [r["data"], str(r["budget"])]
        row += [f"{statistics.median(speed['lookup-wd']):,.0f} ({min(speed['lookup-wd']):,.0f})"]
        row += [f"{statistics.median(speed[m]):,.0f}" for m in ("lookup-h", "gss", "gss-precise")]
        row += [f"{100 * _saved(r['seconds']['gss'], r['seconds']['lookup-wd']):.0f} %"]
        theirs = PAPER_SAVED.get((r["data"], r["budget"]))
        rows.append([*row, f"{theirs:.0f} %" if theirs is not None else "-"])
    return [
        f"{passes} passes, all methods in turn; processor time of one thread, without reading the data.",
        "",
        *_table(*rows),
    ]


def _keep(records: list[Record], passes: int) -> list[str]:
    names = ("last", "last, longer", "average", "refit")
    rows = [["data", "B", "last iterate", "last iterate of more passes, in the refit's time",
             "average of 16 iterates (16 B vectors)", "refit"]]  # fmt: skip
    for r in records:
        row = [r["data"], str(r["budget"])]
        row += [f"{_spread(r['scores'][n])}, {_seconds(r['seconds'][n])}" for n in names]
        rows.append(row)
    return [
        f"Percent of test rows and processor time of training; {passes} passes, lookup-wd, one thread.",
        "",
        *_table(*rows),
    ]


def _dual(records: list[Record], _passes: int) -> list[str]:
    passes = records[0]["passes"] if records else 0
    rows = [["data", "B", "C", "SGD: last", "refit", "dual: last", "refit", "steps that merge, SGD", "dual"]]
    for r in records:
        row = [r["data"], str(r["budget"]), f"{r['C']:g}"]
        row += [_spread(r[k]) for k in ("sgd_last", "sgd_refit", "dual_last", "dual_refit")]
        rows.append([*row, *(f"{100 * statistics.mean(r[k]):.1f} %" for k in ("sgd_merges", "dual_merges"))])
    return [
        f"Percent of test rows after {passes} passes; a step costs the same in both.",
        "",
        *_table(*rows),
    ]


def _nystroem(records: list[Record], passes: int) -> list[str]:
    rows = [["data", "vectors", "Nystroem + LinearSVC", "time", "budget-train", "time"]]
    for r in records:
        row = [r["data"], str(r["budget"]), _spread(r["scores"]), _seconds(r["seconds"])]
        rows.append([*row, _spread(r["our_scores"]), _seconds(r["our_seconds"])])
    return [
        f"Percent of test rows and processor time of training, one thread, {passes} passes of ours; "
        "the same C.",
        "",
        *_table(*rows),
    ]


TABLES: dict[str, tuple[str, Callable[[list[Record], int], list[str]]]] = {
    "accuracy": ("Accuracy", _accuracy),
    "exact": ("Without a budget", _exact),
    "time": ("Steps per second", _time),
    "keep": ("The last iterate, an average or a refit", _keep),
    "dual": ("Coordinate ascent in the dual instead", _dual),
    "nystroem": ("Nystroem features and a linear SVM", _nystroem),
}
