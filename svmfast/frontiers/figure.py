"""The figure of ``svmfast frontier``: quality and agreement against speed."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from typing import Any

from svmfast.display import shown
from svmfast.frontiers.pareto import Point
from svmfast.frontiers.report import Frontier
from svmfast.methods.registry import methods

#: Legend entries for markers with a thick edge and for unfilled ones, in gray.
_MEANING: dict[str, dict[str, Any]] = {
    "+ exact": {"marker": "o", "markersize": 9, "markeredgewidth": 2.2},
    "beaten": {"marker": "o", "markersize": 7, "markeredgewidth": 1.3},
}


def _styles() -> dict[str, tuple[str, str]]:
    """Return the color and the marker of every method."""
    return {one.name: (one.style.color, one.style.marker) for one in methods()}


#: The lowest percentage on an axis: one row of 100,000.
_LOWEST_SHARE = 1e-3


def draw(found: Frontier) -> dict[str, bytes]:
    """Return the figure as ``svg`` and ``png``; equal reports give identical bytes.

    Raises
    ------
    ImportError
        matplotlib is not installed.
    """
    import matplotlib

    rules: Any = {  # Any, because the parameter names in matplotlib's types depend on its version
        "svg.hashsalt": "svmfast",
        "svg.fonttype": "path",
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # ignore any matplotlibrc
        matplotlib.rcParams.update(rules)
        figure = Figure(figsize=(9.5, 8), layout="constrained")
        FigureCanvasAgg(figure)
        if found.labelled:
            upper, lower = figure.subplots(2, 1, sharex=True)
        else:
            lower = upper = figure.subplots()
        # File names are not formulas.
        figure.suptitle(_title(found), fontsize=11, x=0.02, ha="left", parse_math=False)
        if found.labelled:
            _quality(upper, found)
        placed = _agreement(lower, found)
        _speeds(lower, found)
        _name_points(lower, found, placed)
        handles, labels = upper.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(4, len(labels)), frameon=False)
        out = {}
        for kind, extra in (("svg", {"Date": None}), ("png", {"Software": None})):
            file = io.BytesIO()
            figure.savefig(file, format=kind, dpi=120, metadata=extra)
            out[kind] = file.getvalue()
        return out


def _title(found: Frontier) -> str:
    name, source = (
        shown(path.replace("\\", "/").rsplit("/", 1)[-1]) for path in (found.exact, found.origin.source)
    )
    where = "of" if found.origin.test else "held out of"
    threads = f"{found.threads} thread{'s' * (found.threads != 1)}"
    text = f"{name}: {found.origin.confirming:,} confirming rows {where} {source}, {threads}"
    best = found.recommended
    if best is not None:
        text += f"\nrecommended: {best.name}, {best.speed.ratio:.3g} times as fast ({found.limits})"
    return text


def _others(found: Frontier) -> list[Point]:
    return [point for point in found.points if point.method != "exact"]


def _scatter(axes: Any, found: Frontier, height: Any) -> None:
    """Draw every point: filled if it is on the front, with a thick edge if it has the exact fallback."""
    used = {point.method for point in found.points} - {"exact"}
    styles = _styles()
    for method in [known for known in styles if known in used]:
        color, marker = styles[method]
        first = True
        for point, front in zip(found.points, found.on_front, strict=True):
            if point.method != method:
                continue
            fallback = point.name.endswith("+ exact")
            if point.spent_percent:
                _fill_part(axes, (point.speed.ratio, height(point)), color, point.spent_percent / 100)
            axes.plot(
                point.speed.ratio,
                height(point),
                linestyle="none",
                marker=marker,
                markersize=9 if front else 7,
                markerfacecolor=color if front and not fallback else "white",
                markeredgecolor=color,
                markeredgewidth=2.2 if fallback else 1.3,
                alpha=1.0 if front else 0.75,
                label=method if first else None,
                zorder=3,
                clip_on=False,
            )
            first = False
    meaning: dict[str, dict[str, Any]] = dict(_MEANING)
    if any(point.spent_percent is not None for point in found.points):
        filled = {"marker": _sector(0.6), "markersize": 9, "markerfacecolor": "#777777"}
        meaning["filled: how much of its allowance a cascade spent"] = filled
    for label, style in meaning.items():
        axes.plot(
            [], [], linestyle="none", label=label, **{"color": "#777777", "markerfacecolor": "white", **style}
        )
    best = found.recommended
    if best is not None:
        axes.plot(
            best.speed.ratio,
            height(best),
            linestyle="none",
            marker="o",
            markersize=18,
            markerfacecolor="none",
            markeredgecolor="black",
            markeredgewidth=1.5,
            label="recommended",
            zorder=4,
            clip_on=False,
        )


def _fill_part(axes: Any, place: tuple[float, float], color: str, part: float) -> None:
    """Fill a cascade's marker in proportion to the part of its allowance that it spent."""
    sector = _sector(part)
    axes.plot(*place, linestyle="none", marker=sector, markersize=7, markeredgewidth=0, color=color, zorder=4)


def _sector(part: float) -> Any:
    """Return a marker that is a sector of the unit circle, starting at the top."""
    from matplotlib.path import Path

    return Path.unit_circle() if part >= 1 else Path.wedge(90 - 360 * part, 90)


def _quality(axes: Any, found: Frontier) -> None:
    """Draw the plot of accuracy, or of mean squared error, with the better values at the top."""

    def value(point: Point) -> float:
        worth = point.confirming.quality
        known = worth.mse if found.regression else worth.accuracy
        return math.nan if known is None else known

    sign = -1.0 if found.regression else 1.0
    reference = value(found.points[0])
    # Very bad models must not squeeze the others into a line. The axis covers the better three quarters, and
    # the other points are drawn at its edge.
    losses = sorted(sign * (reference - value(point)) for point in _others(found))
    depth = 1.2 * max(losses[: max(1, 3 * len(losses) // 4)], default=0.0)
    # The axis needs a height even if all values are equal, or all 0.
    depth = max(depth, 0.01 * abs(reference)) or 1.0
    gain = max(0.0, -min(losses, default=0.0))
    edge = reference - sign * depth

    def height(point: Point) -> float:
        return edge if sign * (value(point) - edge) < 0 else value(point)

    _scatter(axes, found, height)
    axes.set_ylabel("mean squared error" if found.regression else "accuracy, %")
    margin = 0.1 * (depth + gain)
    axes.set_ylim(edge - sign * margin, reference + sign * (gain + 2.5 * margin))
    if any(height(point) != value(point) for point in _others(found)):
        axes.axhline(edge, color="#bbbbbb", linewidth=1, linestyle=(0, (1, 4)), zorder=0)
        _write(axes, "worse models, drawn at the edge", edge, "#888888", left=True)
    axes.axhline(reference, color="black", linewidth=1, zorder=1)
    _write(axes, f"exact {reference:.4g}", reference, "black")
    for point in found.points:
        if point.name == "linear":
            axes.axhline(height(point), color="#555555", linewidth=1, linestyle=":", zorder=1)
            _write(axes, f"linear {value(point):.4g}", height(point), "#555555")


def _write(axes: Any, text: str, height: float, color: str, *, left: bool = False) -> None:
    axes.annotate(
        text,
        (0.005 if left else 0.995, height),
        xycoords=("axes fraction", "data"),
        xytext=(0, 2),
        textcoords="offset points",
        ha="left" if left else "right",
        va="bottom",
        fontsize=9,
        color=color,
    )


def _agreement(axes: Any, found: Frontier) -> Callable[[Point], float]:
    """Plot the share that differs on a logarithmic axis, best at the top, with a separate position for 0.

    Return the function that gives the height of a point.
    """
    shares = [
        point.confirming.differing.value for point in _others(found) if point.confirming.differing.value > 0
    ]
    lowest = max(_LOWEST_SHARE, min(shares, default=1.0))
    limit = found.limits.max_diff_percent
    if limit:
        lowest = min(lowest, limit)
    none = 10 ** (math.floor(math.log10(lowest)) - 0.6)

    def height(point: Point) -> float:
        return max(point.confirming.differing.value, none)

    _scatter(axes, found, height)
    axes.set_yscale("log")
    worst = min(100.0, max([*shares, limit or 0.0, lowest * 10]) * 1.6)
    axes.set_ylim(worst, none / (worst / none) ** 0.15)
    ticks = [10.0**k for k in range(math.ceil(math.log10(none * 1.01)), 3) if 10.0**k <= worst]
    axes.set_yticks([none, *ticks], ["none", *(f"{tick:g}%" for tick in ticks)])
    axes.minorticks_off()
    what = (
        "difference from exact values, % of their spread"
        if found.regression
        else "labels that differ from exact"
    )
    axes.set_ylabel(what)
    axes.axhline(none, color="black", linewidth=1, zorder=1)
    axes.annotate("exact", (1, none), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=9)
    if limit:
        axes.axhspan(limit, worst, color="#000000", alpha=0.05, zorder=0)
        axes.annotate(
            f"more than {limit:g}%",
            (0.995, limit),
            xycoords=("axes fraction", "data"),
            xytext=(0, -4),
            textcoords="offset points",
            ha="right",
            va="top",
            fontsize=9,
            color="#555555",
        )
    return height


def _name_points(axes: Any, found: Frontier, height: Callable[[Point], float]) -> None:
    """Label the points on the front where there is room, starting with those closest to the exact model."""
    axes.figure.canvas.draw()
    where = {
        point.name: axes.transData.transform((point.speed.ratio, height(point))) for point in _others(found)
    }
    taken = [(x - 6, y - 6, x + 6, y + 6) for x, y in where.values()]
    best = found.recommended
    if best is not None:
        x, y = where[best.name]
        axes.annotate(
            best.name,
            (best.speed.ratio, height(best)),
            xytext=(0, 14),
            textcoords="offset points",
            ha="center",
            fontweight="bold",
            fontsize=9,
        )
        taken.append((x - 4 * len(best.name), y - 12, x + 4 * len(best.name), y + 34))
    pairs = zip(found.points, found.on_front, strict=True)
    for point in sorted(
        (p for p, front in pairs if front), key=lambda p: (p.confirming.differing.value, -p.speed.ratio)
    ):
        if point.name not in where or point == best:
            continue
        text = point.name.removeprefix(f"{point.method}-") if point.name != point.method else ""
        x, y = where[point.name]
        box = (x + 7, y + 3, x + 9 + 5.5 * len(text), y + 15)
        if any(box[0] < t[2] and t[0] < box[2] and box[1] < t[3] and t[1] < box[3] for t in taken):
            continue
        taken.append(box)
        color = _styles()[point.method][0]
        place = (point.speed.ratio, height(point))
        axes.annotate(text, place, (6, 4), textcoords="offset points", fontsize=7.5, color=color)


def _speeds(axes: Any, found: Frontier) -> None:
    axes.set_xscale("log")
    axes.set_xlabel(
        f"rows per second, relative to the exact model's "
        f"{float(f'{found.points[0].rows_per_second:.3g}'):,.0f}"
    )
    exact = found.points[0]
    # Only the product of rows and weights, without labels or a model.
    linear = exact.linear_cost / exact.speed.ratio
    speeds = [point.speed.ratio for point in found.points] + [linear]
    low, high = min(speeds) / 1.5, max(speeds) * 1.5
    axes.set_xlim(low, high)
    decades = [10.0**k for k in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
    axes.set_xticks([x for x in decades if low <= x <= high])
    axes.xaxis.set_major_formatter(lambda x, _position: f"{x:g}x")
    for one in axes.figure.axes:
        one.grid(True, which="major", color="#dddddd", linewidth=0.7, zorder=0)
        one.set_axisbelow(True)
        for x, name, style in ((1.0, "exact", "-"), (linear, "a linear product", ":")):
            one.axvline(
                x, color="black" if style == "-" else "#555555", linewidth=1, linestyle=style, zorder=1
            )
            one.annotate(
                name,
                (x, 0.02),
                xycoords=("data", "axes fraction"),
                xytext=(3 if style == "-" else -3, 0),
                textcoords="offset points",
                ha="left" if style == "-" else "right",
                fontsize=9,
                color="black" if style == "-" else "#555555",
            )
