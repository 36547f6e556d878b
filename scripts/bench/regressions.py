"""Compare results of speed.py with earlier ones: gains over peers in the same run, and new wrong labels."""

from __future__ import annotations

import statistics
from typing import Any

Record = dict[str, Any]
Results = dict[str, list[Record]]

#: Section -> the key that identifies a record, and the pairs that are compared.
PEERS = {
    "whole process": ("model", "svm-predict", ("exact", "approximate")),
    "prediction step": ("model", "scikit-learn", ("exact", "approximate, 1 thread")),
    "parsing": ("data", "scikit-learn", ("svmfast, 1 thread", "svmfast, 2 threads")),
    "start-up": (None, 'python -c "import numpy"', ("svmfast --version", "svmfast --help")),
}


def gains(results: Results) -> dict[tuple[str, str, str], float]:
    """Return each of our speeds relative to its peer's: median over median, within one run."""
    out = {}
    for section, (key, peer, ours) in PEERS.items():
        for record in results.get(section, []):
            seconds = record["seconds"]
            for name in ours:
                if seconds.get(peer) and seconds.get(name):
                    gain = statistics.median(seconds[peer]) / statistics.median(seconds[name])
                    out[section, record[key] if key else "", name] = gain
    return out


def wrong(results: Results) -> dict[tuple[str, str], int]:
    """Return how many labels of the exact engine differ, which must be zero."""
    return {
        (section, record["model"]): record["differing"]["exact"]
        for section in ("whole process", "prediction step")
        for record in results.get(section, [])
    }


def regressions(new: Results, old: Results, tolerance: float) -> tuple[list[str], bool]:
    """Compare two runs.

    Returns
    -------
    lines : list of str
        One for each gain in both runs, and for each section with wrong labels.
    worse : bool
        A gain fell by more than `tolerance`, or labels of the exact engine differ that did not, or the runs
        have nothing in common.
    """
    now, before = gains(new), gains(old)
    lines, worse = [], False
    for key in (key for key in now if key in before):
        change = now[key] / before[key]
        slower = change < 1 / tolerance
        worse |= slower
        name = " ".join(part for part in key if part)
        verdict = "  SLOWER" if slower else ""
        lines.append(f"{name}: gain {before[key]:.2f}x -> {now[key]:.2f}x, ratio {change:.2f}{verdict}")
    earlier = wrong(old)
    for place, count in wrong(new).items():
        if count > earlier.get(place, 0):
            worse = True
            lines.append(f"{' '.join(place)}: {count} labels of the exact engine differ  WRONG")
    if not lines:
        return ["nothing to compare: the runs have no measurement in common"], True
    return lines, worse
