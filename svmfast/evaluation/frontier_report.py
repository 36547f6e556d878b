"""The report of ``svmfast frontier`` as text, Markdown and plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from svmfast.evaluation.pareto import Limits, Point
from svmfast.evaluation.report import markdown, percent, times


@dataclass(frozen=True)
class Missing:
    """A candidate without a point, and why."""

    name: str
    method: str
    reason: str
    command: str | None = None


@dataclass(frozen=True)
class Frontier:
    """All that ``svmfast frontier`` found.

    Attributes
    ----------
    exact, train, test : str
        Paths as they were given; `test` is the held-out part where none was.
    held_out : bool
    rows, features, threads, seed : int
    regression : bool
    points : sequence of Point
        The exact model first.
    on_front : sequence of bool
        For each point: does no other beat it.
    missing : sequence of Missing
    limits : Limits
    recommended : Point or None
    complete : bool
        Every candidate had its turn within the time limit.
    version : str
    """

    exact: str
    train: str
    test: str
    held_out: bool
    rows: int
    features: int
    threads: int
    seed: int
    regression: bool
    points: Sequence[Point]
    on_front: Sequence[bool]
    missing: Sequence[Missing]
    limits: Limits
    recommended: Point | None
    complete: bool
    version: str


def as_dict(found: Frontier) -> dict[str, Any]:
    """Return plain values for JSON."""
    values = asdict(found)
    values["points"] = [
        {**asdict(point), "pareto": front} for point, front in zip(found.points, found.on_front, strict=True)
    ]
    del values["on_front"]
    return values


def cells(found: Frontier) -> tuple[list[str], list[list[str]]]:
    """Return the heads and lines of the table; a star marks the points that no other beats."""
    heads = [
        "model",
        "",
        "MSE" if found.regression else "accuracy",
        "difference" if found.regression else "differ",
        "bytes",
        "rows/s",
        "speed-up",
        "cost",
        "counted",
        "certified",
        "built in",
    ]
    lines = []
    for point, front in zip(found.points, found.on_front, strict=True):
        built = "-" if point.build_seconds is None else f"{point.build_seconds:.1f} s"
        quality = f"{point.mse:.4g}" if found.regression else percent(point.accuracy, 2)
        lines.append(
            [
                point.name,
                "*" if front else "",
                quality,
                percent(point.differing_percent, 3),
                f"{point.n_bytes:,}",
                f"{float(f'{point.rows_per_second:.3g}'):,.0f}",
                times(point.speedup),
                times(point.linear_cost),
                times(point.linear_cost_counted),
                percent(point.certified_percent, 2),
                built,
            ]
        )
    return heads, lines


_LEGEND = (
    "* no other model is at once as close to the exact one, as fast and as small. differ: {what}. "
    "cost: time over a linear model's; counted: multiply-adds over a linear model's. + exact: the exact "
    "model answers what is not certified, or by a promise of cascade what the model is not sure of; made and "
    "chosen on these very rows, so look at the winner once more on others."
)


def legend(found: Frontier) -> str:
    """Say what the columns mean."""
    what = (
        "root mean square difference from the exact values, over their spread"
        if found.regression
        else "labels that are not the exact model's"
    )
    return _LEGEND.format(what=what)


def title(found: Frontier) -> str:
    """Say on what was measured."""
    threads = "1 thread" if found.threads == 1 else f"{found.threads} threads"
    rows = f"{found.rows:,} rows, {found.features:,} features; {threads}"
    where = f"{found.rows:,} rows held out of {found.train}" if found.held_out else found.test
    return f"{found.exact} on {where}: {rows}"


def verdict(found: Frontier) -> list[str]:
    """Return the lines that say what to do: the model, and the command that makes it."""
    best = found.recommended
    if best is None:
        said = f"nothing faster or smaller than the exact model keeps to the limits: {found.limits}"
        return [said if found.complete else f"{said}; not everything was tried, run again to go on"]
    shrink = found.points[0].n_bytes / best.n_bytes
    size = f"{shrink:.3g} times smaller" if shrink >= 1 else f"{1 / shrink:.3g} times LARGER"
    lines = [
        f"recommended: {best.name} ({found.limits}): {best.speedup:.3g} times as fast, {size}, "
        f"{best.differing_percent:.3g}% differ",
        f"made by: {best.command}",
    ]
    if best.use is not None and "--exact" in best.use:
        lines.append(f"used by: {best.use}")
    return lines


def as_text(found: Frontier) -> str:
    """Return the table in aligned plain text, then what is missing."""
    heads, lines = cells(found)
    widths = [max(map(len, column)) for column in zip(heads, *lines, strict=True)]
    out = []
    for line in (heads, *lines):
        aligned = [
            cell.ljust(width) if i < 2 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        out.append("  ".join(aligned).rstrip() + "\n")
    out += [f"{one.name}: {one.reason}\n" for one in found.missing]
    return "".join(out)


def as_markdown(found: Frontier, *, figure: bool = True) -> str:
    """Return the whole report in Markdown, `figure` with the picture beside it."""
    heads, lines = cells(found)
    rules = ["---", "---"] + ["---:"] * (len(heads) - 2)
    out = [f"# {markdown(title(found))}", ""]
    if found.held_out:
        out += [
            "The exact model was trained on these rows too, so its accuracy here flatters it; labels that "
            "differ do not suffer from that. Give --test for rows that nobody saw.",
            "",
        ]
    first, *rest = verdict(found)
    out += [markdown(first[0].upper() + first[1:] + "."), ""]
    for line in rest:
        out += [f"    {line.split(': ', 1)[1]}", ""]
    if figure:
        out += ["![accuracy and agreement against speed](figure.svg)", ""]
    table = [heads, rules, *lines]
    out += [f"| {' | '.join(map(markdown, line))} |" for line in table]
    out += ["", legend(found), ""]
    made = [point for point in found.points if point.command and " + " not in point.name]
    if made:
        out += ["## Commands", ""]
        out += ["```sh", *(f"{point.command}" for point in made), "```", ""]
    if found.missing:
        out += ["## Not in the table", ""]
        out += [markdown(f"- {one.name}: {one.reason}") for one in found.missing]
        out.append("")
    return "\n".join(out)
