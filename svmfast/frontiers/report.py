"""The report of ``svmfast frontier``: its figures and its table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any, NamedTuple

from svmfast.class_scores import NamedFigures
from svmfast.display import aligned, shown
from svmfast.evaluation.words import faster, share, times, whole
from svmfast.figures import ABSENT, cell, computed, figure
from svmfast.frontiers.choice import Limits, Point, Recommendation
from svmfast.frontiers.plan import Missing
from svmfast.frontiers.row_sets import Origin
from svmfast.pages.notebook import plain_table, table_of_lines


@dataclass(frozen=True)
class Frontier(NamedFigures):
    """The results of ``svmfast frontier``; docs/frontier.md explains every key."""

    exact_path: str = figure("Path of the exact model as given.", key="exact")
    origin: Origin  # type: ignore[misc]  # figures look like defaults
    features: int = figure("Features: the largest index.")
    threads: int = figure("Threads.")
    seed: int = figure("Seed of every random choice.")
    #: The exact model first; for each point, whether it is on the Pareto front.
    points: Sequence[Point]  # type: ignore[misc]
    on_front: Sequence[bool]  # type: ignore[misc]
    missing: Sequence[Missing] = figure("Candidates without figures, and why.")
    limits: Limits = figure("The limits of the recommendation.")
    choice: Recommendation  # type: ignore[misc]
    complete: bool = figure("Whether every candidate was tried within the time limit.")
    version: str  # type: ignore[misc]
    #: The name of each label, if the model's classes have names.
    class_names: Mapping[float, str] | None = None
    #: The file of the recommended model, which contains the exact model if that is the fallback.
    copy: str | None = None
    #: The rows were read as rows without labels.
    unlabelled: bool = False

    def lines(self) -> list[str]:
        """The rows, and the table of the models."""
        return [title(self), *origins(self), *table_lines(self)]

    def html(self) -> list[str]:
        return [table_of_lines(origins(self)), plain_table(*cells(self))]

    @property
    def regression(self) -> bool:
        """Whether the exact model predicts values rather than labels."""
        return self.limits.regression

    @computed.figure("classification or regression.", key="task")
    def _task(self) -> str:
        return "regression" if self.regression else "classification"

    @property
    def scored(self) -> bool:
        """Whether the rows have true labels, by which models are scored."""
        return self.points[0].loss_confirming.lost is not None

    @computed.figure("One of the models; null: keep the exact model.")
    def recommended(self) -> Point | None:
        """The recommended model; None for the exact model."""
        return self.choice.recommended

    @computed.figure(
        "Every model with its figures, the exact one first; pareto: no other is at once as close, "
        "as fast and as small.",
        key="models",
    )
    def _models(self) -> list[dict[str, Any]]:
        pairs = zip(self.points, self.on_front, strict=True)
        return [{**point.to_dict(), "pareto": front} for point, front in pairs]

    @computed.figure(
        "The models that were chosen first and that the confirming rows refused: `name`, and `by`: `answers` "
        "or `classes`.",
        key="refused",
    )
    def _refused(self) -> list[dict[str, str]]:
        return [{"name": point.name, "by": by} for point, by in self.choice.refused]

    @computed.figure(
        "The models of which timing did not decide whether they are faster than the recommended one.",
        key="undecided",
    )
    def _undecided(self) -> list[str]:
        return [point.name for point in self.choice.undecided]

    @computed.figure(
        "The rows by their use: `trained`, `choosing` and `confirming`, each with its file and how many "
        "there are; `held_out_of_training`: whether the last two come from the training data.",
        key="row_sets",
    )
    def _row_sets(self) -> dict[str, Any]:
        origin = self.origin
        return {
            "trained": {"path": origin.train, "rows": origin.trained_rows},
            "choosing": {"path": origin.source, "rows": origin.choosing_rows},
            "confirming": {"path": origin.source, "rows": origin.confirming_rows},
            "held_out_of_training": origin.test is None,
        }


class Column(NamedTuple):
    """A column of the tables: its head, the figure that it shows, and the words for it."""

    head: str
    value: Callable[[Point], Any]
    words: Callable[[Any], str]
    #: Shown on the terminal too, not only on the page.
    main: bool = False

    def cell(self, point: Point) -> str:
        return cell(self.value(point), self.words)


#: Width of the legend in characters.
_WIDTH = 100
_COLUMNS = (
    Column("accuracy", lambda p: p.loss_confirming.quality.accuracy, share(2), main=True),
    Column("balanced", lambda p: p.loss_confirming.quality.balanced_accuracy, share(2)),
    Column("lowest recall", lambda p: p.loss_confirming.quality.lowest_recall, share(2)),
    Column("MSE", lambda p: p.loss_confirming.quality.mse, "{:.4g}".format, main=True),
    Column("R^2", lambda p: p.loss_confirming.quality.r2, "{:.4g}".format),
    Column("differ", lambda p: p.loss_confirming.differing.value, share(3), main=True),
    Column("interval", lambda p: p.loss_confirming.differing, lambda found: found.ends(3)),
    Column("choosing", lambda p: p.loss_choosing.differing.value, share(3), main=True),
    Column("bytes", lambda p: p.n_bytes, whole, main=True),
    Column("speed-up", lambda p: p.speed, faster, main=True),
    Column("counted", lambda p: p.linear_cost_counted, times, main=True),
    Column("certified", lambda p: p.certified_confirming, share(2), main=True),
    Column("built in", lambda p: p.build_seconds, "{:.1f} s".format),
)


def cells(found: Frontier, *, main: bool = False) -> tuple[list[str], list[list[str]]]:
    """The heads and lines of the table, of the `main` columns or of all that show something.

    A star marks the points on the Pareto front.
    """
    shown = [
        one
        for one in _COLUMNS
        if (one.main or not main or (one.head == "balanced" and found.limits.balanced))
        and any(one.cell(point) != ABSENT for point in found.points)
    ]
    points = zip(found.points, found.on_front, strict=True)
    lines = [[p.name, "*" * front, *(one.cell(p) for one in shown)] for p, front in points]
    return ["model", "", *(one.head for one in shown)], lines


def legend(found: Frontier) -> str:
    """An explanation of the columns of the tables."""
    what = "labels that are not the exact model's"
    if found.regression:
        what = "root mean square difference from the exact values, in percent of their standard deviation"
    clock = " in processor time, because wall-clock times varied too much"
    clock *= any(point.speed.processor for point in found.points)
    meanings = [
        "Figures of the answers are measured on the confirming rows, which select no model but may refuse "
        "the selected one",
        f"differ: {what}",
        "choosing: the same on the choosing rows, by which the recommendation is made",
        f"speed-up: relative to the exact model{clock}, on the choosing rows, ~ if its 95 % interval is "
        "wider than a tenth",
        "counted: multiply-adds relative to a linear model's",
        "*: no other model is as close to the exact one, as fast and as small at once",
    ]
    if any(point.certified_confirming is not None for point in found.points):
        meanings.append("certified: rows whose label is proven to be the exact model's")
    if any(point.name.endswith(" + exact") for point in found.points):
        meanings.append(
            "+ exact: the exact model answers the rows that are not certified, or that lie near a cascade's "
            "boundary"
        )
    return f"{'. '.join(meanings)}."


def title(found: Frontier) -> str:
    """A description of the exact model and of the run."""
    threads = "1 thread" if found.threads == 1 else f"{found.threads} threads"
    size = f"{found.points[0].n_bytes:,} bytes, {found.features:,} features"
    return f"{found.exact_path}: {size}; {threads}"


def origins(found: Frontier) -> list[str]:
    """Lines that describe the three sets of rows."""
    origin = found.origin
    where = f"of {origin.source}" if origin.test else f"held out of {origin.train}"
    thresholds = "" if found.regression else " and the thresholds of cascades"
    lines = [
        f"trained on  {origin.trained_rows:,} rows of {origin.train}",
        f"choosing    {origin.choosing_rows:,} rows {where}: select the model{thresholds}",
        f"confirming  {origin.confirming_rows:,} other rows {where}: give the figures below",
    ]
    if origin.test is None:
        lines.append(
            "note        the exact model was trained on all these rows and predicts them better than others; "
            "use `test` for rows that it has not seen"
        )
    if not found.scored:
        what = "values" if found.regression else "labels"
        lines.append(
            f"note        no labels say what is right: models are compared by the exact model's {what}"
        )
    return lines


def table_lines(found: Frontier) -> list[str]:
    """The table in plain text, then the candidates without a point and the legend."""
    missing = [f"{one.name}: {shown(one.reason)}" for one in found.missing]
    return [*aligned(*cells(found, main=True)), *missing, *wrap(legend(found), _WIDTH)]
