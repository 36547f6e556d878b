"""The report of ``svmfast frontier`` as text, Markdown and plain values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import fill

from svmfast.class_scores import MAX_LINES
from svmfast.display import count, shell_line, shown
from svmfast.evaluation.skill import Skill
from svmfast.evaluation.words import WIDTH, aligned, faster, markdown, percent, times
from svmfast.frontiers.pareto import Choice, Limits, Point, best_of_the_rest
from svmfast.frontiers.words import (
    best_beyond,
    gain,
    losses,
    lost_class,
    refusal,
    rule,
    timing,
    too_few_rows,
    undecided,
)


@dataclass(frozen=True)
class Missing:
    """A candidate without a point, and why.

    Attributes
    ----------
    name, method, reason : str
    command : str or None
    bytes : int or None
        The most bytes that its file can take, if that is the reason.
    late : bool
        Whether the reason is the time limit.
    """

    name: str
    method: str
    reason: str
    command: str | None = None
    bytes: int | None = None
    late: bool = False


@dataclass(frozen=True)
class Origin:
    """The origin of the three sets of rows.

    Attributes
    ----------
    train : str
        The file on which EXACT was trained.
    test : str or None
        The file of which the choosing and the confirming rows are halves; None if they are parts of `train`.
    trained_rows : int
        Number of rows in `train`.
    trained_skill, unseen_skill : Skill or None
        EXACT's skill on some rows of `train`, and on the choosing and confirming rows together; None without
        labels.
    choosing, confirming : int
        Numbers of rows.
    """

    train: str
    test: str | None
    trained_rows: int
    trained_skill: Skill | None
    unseen_skill: Skill | None
    choosing: int
    confirming: int

    @property
    def source(self) -> str:
        """The file of the choosing and confirming rows."""
        return self.test or self.train


@dataclass(frozen=True)
class Frontier:
    """The results of ``svmfast frontier``.

    Attributes
    ----------
    exact : str
        Path as given.
    origin : Origin
    features, threads, seed : int
    points : sequence of Point
        The exact model first.
    on_front : sequence of bool
        For each point, whether it is on the Pareto front.
    missing : sequence of Missing
    limits : Limits
    choice : Choice
        The recommendation.
    complete : bool
        Whether every candidate was tried within the time limit.
    version : str
    class_names : mapping of float to str, or None
        The name of each label, if the model's classes have names.
    copy : str or None
        The file of the recommended model, which contains the exact model if that is the fallback.
    unlabelled : bool
        Whether the rows were read as rows without labels.
    """

    exact: str
    origin: Origin
    features: int
    threads: int
    seed: int
    points: Sequence[Point]
    on_front: Sequence[bool]
    missing: Sequence[Missing]
    limits: Limits
    choice: Choice
    complete: bool
    version: str
    class_names: Mapping[float, str] | None = None
    copy: str | None = None
    unlabelled: bool = False

    @property
    def regression(self) -> bool:
        """Whether the exact model predicts values rather than labels."""
        return self.limits.regression

    @property
    def labelled(self) -> bool:
        """Whether the rows have labels, by which models are scored."""
        return self.points[0].confirming.lost is not None

    @property
    def recommended(self) -> Point | None:
        """The recommended model; None for the exact model."""
        return self.choice.recommended


#: Columns of the table: head, cell, and whether only the report in the folder shows it.
_COLUMNS: tuple[tuple[str, Callable[[Point], str], bool], ...] = (
    ("", lambda point: "", False),  # a star
    ("accuracy", lambda point: percent(point.confirming.quality.accuracy, 2), False),
    ("balanced", lambda point: percent(point.confirming.quality.balanced_accuracy, 2), True),
    ("lowest recall", lambda point: percent(point.confirming.quality.lowest_recall, 2), True),
    ("ROC AUC", lambda point: figure(point.confirming.quality.auc), True),
    ("MSE", lambda point: figure(point.confirming.quality.mse), False),
    ("RMSE", lambda point: figure(point.confirming.quality.rmse), True),
    ("MAE", lambda point: figure(point.confirming.quality.mae), True),
    ("R^2", lambda point: figure(point.confirming.quality.r2), True),
    ("differ", lambda point: percent(point.confirming.differing.value, 3), False),
    ("interval", lambda point: point.confirming.differing.ends(3), True),
    ("choosing", lambda point: percent(point.choosing.differing.value, 3), False),
    ("of allowance", lambda point: percent(point.spent_percent, 0), True),
    ("bytes", lambda point: f"{point.n_bytes:,}", False),
    ("speed-up", lambda point: faster(point.speed), False),
    ("rows/s", lambda point: f"{float(f'{point.rows_per_second:.3g}'):,.0f}", True),
    ("cost", lambda point: times(point.linear_cost), True),
    ("counted", lambda point: times(point.linear_cost_counted), False),
    ("certified", lambda point: percent(point.certified_percent, 2), False),
    ("built in", lambda point: "-" if point.build_seconds is None else f"{point.build_seconds:.1f} s", True),
)


def figure(value: float | None) -> str:
    """Return a number with four digits, or a dash."""
    return "-" if value is None or math.isnan(value) else f"{value:.4g}"


def cells(found: Frontier, *, wide: bool = False) -> tuple[list[str], list[list[str]]]:
    """Return the heads and lines of the table; a star marks the points on the Pareto front."""
    columns = [["model", *(point.name for point in found.points)]]
    for head, get, detail in _COLUMNS:
        column = (
            ["*" if front else "" for front in found.on_front] if not head else list(map(get, found.points))
        )
        wanted = wide or not detail or (head == "balanced" and found.limits.balanced)
        if set(column) != {"-"} and wanted:
            columns.append([head, *column])
    heads, *lines = zip(*columns, strict=True)
    return list(heads), [list(line) for line in lines]


#: Explanations of the columns; `{what}` is what differs. Only columns in the table are explained.
_MEANINGS = (
    ("balanced", "balanced: balanced accuracy, the mean recall of the classes"),
    ("differ", "differ: {what}"),
    ("interval", "interval: with 95 % confidence"),
    (
        "choosing",
        "choosing: the same figure on the choosing rows, by which the recommendation is made",
    ),
    ("of allowance", "of allowance: how much of the share of labels that may differ a cascade spent"),
    (
        "speed-up",
        "speed-up: relative to the exact model, on the choosing rows, ~ if its 95 % interval is wider than a "
        "tenth",
    ),
    ("cost", "cost: time relative to a linear model's"),
    ("counted", "counted: multiply-adds relative to a linear model's"),
    ("certified", "certified: rows whose label is proven to be the exact model's"),
    ("", "*: no other model is as close to the exact one, as fast and as small at once"),
)
_FALLBACK = (
    "+ exact: the exact model answers the rows that are not certified, or that lie near a cascade's "
    "boundary, with a threshold from the choosing rows"
)


def legend(found: Frontier, *, wide: bool = True) -> str:
    """Return an explanation of the columns of the table, `wide` or as on the terminal."""
    what = (
        "root mean square difference from the exact values, in percent of their spread (standard deviation)"
        if found.regression
        else "labels that are not the exact model's"
    )
    heads, _ = cells(found, wide=wide)
    meanings = [text.format(what=what) for head, text in _MEANINGS if head in heads]
    if any(point.speed.processor for point in found.points):
        meanings.append("Speed-ups are of processor time, because wall-clock times varied too much")
    if any(point.name.endswith(" + exact") for point in found.points):
        meanings.append(_FALLBACK)
    origin = "Figures of the answers are measured on the confirming rows, which influenced no choice, but "
    origin += "`choosing`."
    return f"{origin} {'. '.join(meanings)}."


def title(found: Frontier) -> str:
    """Return a description of the exact model and of the run."""
    threads = "1 thread" if found.threads == 1 else f"{found.threads} threads"
    exact = found.points[0]
    rate = float(f"{exact.rows_per_second:.3g}")
    size = f"{exact.n_bytes:,} bytes, {found.features:,} features"
    return f"{found.exact}: {size}, {rate:,.0f} rows per second; {threads}"


def origins(found: Frontier) -> list[str]:
    """Return lines that describe the three sets of rows."""
    origin = found.origin
    seen, known = "", origin.trained_skill
    if known is not None:
        seen = f"; the exact model there: {_figure_of(known, regression=found.regression)}"
        seen += "" if known.rows == origin.trained_rows else f" (on {known.rows:,} of them)"
    where = f"of {origin.source}" if origin.test else f"held out of {origin.train}"
    thresholds = "" if found.regression else " and the thresholds of cascades"
    lines = [
        f"trained on  {origin.trained_rows:,} rows of {origin.train}{seen}",
        f"choosing    {origin.choosing:,} rows {where}: select the model{thresholds}",
        f"confirming  {origin.confirming:,} other rows {where}: give the figures below",
    ]
    if origin.test is None:
        lines.append(
            "note        the exact model was trained on all these rows and predicts them better than others; "
            "use `test` for rows that it has not seen"
        )
    if not found.labelled:
        what = "values" if found.regression else "labels"
        lines.append(
            f"note        no labels say what is right: models are compared by the exact model's {what}"
        )
    return lines


def _figure_of(known: Skill, *, regression: bool) -> str:
    return f"MSE {known.found:.4g}" if regression else f"{known.found:.2f}%"


def verdict(found: Frontier) -> list[str]:
    """Return the lines of the recommendation: the model, its losses, and the command that makes it."""
    exact, best, limits = found.points[0], found.recommended, found.limits
    few = too_few_rows(found.points, limits)
    few_lines = [] if few is None else [f"too few rows: {few}"]
    if best is None:
        if found.choice.refused:
            why = f"the confirming rows show no model to be within the limits ({limits})"
        else:
            shown_within = "shown to be " * limits.of_quality
            why = f"no candidate is {shown_within}within the limits ({limits})"
            why += " and faster" * limits.fits(exact)
        instead = "the exact model as it is" if limits.fits(exact) else "none, not the exact model either"
        lines = [f"recommended: {instead}; {why}"]
        lines += _refusals(found) + few_lines
        if (rest := best_of_the_rest(found.points, limits)) is not None:
            lines.append(f"best beyond the limits: {rest.name}, {best_beyond(rest)}")
            lines += [f"lost class: {lost_class(one, found.class_names)}" for one in rest.lost_choosing[:1]]
        return lines + _hidden_by_accuracy(exact, found) + _left_out(found)
    first, *scores = losses(best, exact, limits)
    lines = [
        f"recommended: {best.name}, {gain(best.speed, best, exact)}{undecided(found.choice)}",
        f"{'confirmed' if limits.of_quality else 'measured'}: {first}",
        *(f"quality: {text}" for text in scores),
    ]
    if (note := timing(best.speed)) is not None:
        lines.append(f"timing: {note}")
    lines += few_lines + _hidden_by_accuracy(best, found) + _refusals(found) + _left_out(found)
    lines += [f"rule: {rule(limits)}", f"made by: {best.command}"]
    if found.copy is not None:
        words = ["svmfast", "predict", "DATA", found.copy, "OUT", *["--unlabelled"] * found.unlabelled]
        lines.append(f"used by: {shell_line(words)}")
    return lines


def _refusals(found: Frontier) -> list[str]:
    """Return lines on the models that the confirming rows refused."""
    refused = found.choice.refused
    lines = [
        f"refused: {point.name}, {refusal(point, by, found.limits, found.class_names)}"
        for point, by in refused[:MAX_LINES]
    ]
    return lines + [f"refused: {len(refused) - MAX_LINES:,} more"] * (len(refused) > MAX_LINES)


def _left_out(found: Frontier) -> list[str]:
    """Return a line on the candidates that the time limit left out, if any."""
    late = sum(one.late for one in found.missing)
    if not late:
        return []
    return [
        f"not everything was tried: the time limit left out {count(late, 'candidate')}; run again to continue"
    ]


def _hidden_by_accuracy(point: Point, found: Frontier) -> list[str]:
    """Return lines on the classes that `point` loses, and on others with a recall far below the accuracy."""
    lost = {one.score.label: one for one in point.lost_confirming}
    quality = point.confirming.quality
    rest = replace(quality, classes=tuple(one for one in quality.classes if one.label not in lost))
    lines = [f"lost class: {lost_class(one, found.class_names)}" for one in list(lost.values())[:MAX_LINES]]
    if len(lost) > MAX_LINES:
        lines.append(f"lost classes: {len(lost) - MAX_LINES:,} more")
    return lines + [f"remark: {line}" for line in rest.neglected_lines(found.class_names)]


def as_text(found: Frontier) -> str:
    """Return the table in aligned plain text, then the candidates without a point and the legend."""
    heads, lines = cells(found)
    table = aligned(heads, lines, WIDTH)
    missing = "".join(f"{one.name}: {shown(one.reason)}\n" for one in found.missing)
    return f"{table}{missing}{fill(legend(found, wide=False), WIDTH)}\n"


def as_markdown(found: Frontier) -> str:
    """Return the whole report in Markdown."""
    out = [f"# {markdown(title(found))}", ""]
    for line in origins(found):
        name, text = line[:12].strip(), line[12:]
        out.append(f"- {name}: {markdown(text)}")
    out.append("")
    for line in verdict(found):
        name, _, text = line.partition(": ")
        if name in ("made by", "used by"):
            out += [f"{name[0].upper()}{name[1:]}:", "", f"    {text}", ""]
        else:
            out += [f"**{name[0].upper()}{name[1:]}**: {markdown(text)}." if text else markdown(line), ""]
    heads, lines = cells(found, wide=True)
    rules = ["---", "---"] + ["---:"] * (len(heads) - 2)
    table = [heads, rules, *lines]
    out += [f"| {' | '.join(map(markdown, line))} |" for line in table]
    out += ["", markdown(legend(found)), ""]
    made = [point for point in found.points if point.command and " + " not in point.name]
    if made:
        out += ["## Commands", ""]
        out += ["```sh", *(f"{point.command}" for point in made), "```", ""]
    if found.missing:
        out += ["## Not in the table", ""]
        out += [markdown(f"- {one.name}: {one.reason}") for one in found.missing]
        out.append("")
    return "\n".join(out)
