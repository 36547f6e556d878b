"""Drawing and saving of the figures in the documentation: the same bytes for the same results."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def svg_pyplot(salt: str) -> Any:
    """Return matplotlib's pyplot, set up for SVG files whose ids come from `salt` alone.

    Raises
    ------
    ImportError
        matplotlib is not installed.
    """
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = salt
    matplotlib.rcParams["svg.fonttype"] = "none"
    from matplotlib import pyplot

    return pyplot


def log_log(panel: Any, xticks: list[float], labels: list[str], *, minor_y: bool) -> None:
    """Make both axes logarithmic: the given ticks below, plain numbers on the left.

    Parameters
    ----------
    panel : matplotlib Axes
    xticks : list of float
    labels : list of str
        One for each of `xticks`.
    minor_y : bool
        Whether minor ticks of the left axis have numbers too.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    plain = FuncFormatter(lambda v, _: f"{v:g}")
    panel.set_xticks(xticks, labels)
    panel.xaxis.set_minor_formatter(NullFormatter())
    panel.yaxis.set_major_formatter(plain)
    panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5)))
    panel.yaxis.set_minor_formatter(plain if minor_y else NullFormatter())


def label_outside(panels: Any, below: str, left: str) -> None:
    """Label the axes of a grid of panels at its lower and left edges, with a legend in the first panel."""
    for panel in panels[:, 0]:
        panel.set_ylabel(left)
    for panel in panels[-1]:
        panel.set_xlabel(below)
    panels.flat[0].legend(fontsize="small")


def save(figure: Any, path: Path) -> None:
    """Write a figure as SVG without the date, and without the blanks that matplotlib leaves at line ends."""
    figure.savefig(path, metadata={"Date": None})
    path.write_text("".join(f"{line.rstrip()}\n" for line in path.read_text().splitlines()))
