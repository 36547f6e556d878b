"""The report of ``svmfast frontier`` as plain values for JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from svmfast.class_scores import with_names
from svmfast.evaluation.skill import Skill
from svmfast.frontiers.pareto import Point
from svmfast.frontiers.report import Frontier
from svmfast.frontiers.words import rule


def as_dict(found: Frontier) -> dict[str, Any]:
    """Return plain values for JSON; docs/frontier.md explains every key."""
    origin = found.origin
    task = "regression" if found.regression else "classification"
    chosen = _chosen(found)
    return {
        "exact": found.exact,
        "task": task,
        "row_sets": {
            "trained": {
                "path": origin.train,
                "rows": origin.trained_rows,
                **_of_exact(origin.trained_skill, task),
            },
            "choosing": {"path": origin.source, "rows": origin.choosing},
            "confirming": {"path": origin.source, "rows": origin.confirming},
            "held_out_of_training": origin.test is None,
        },
        "features": found.features,
        "threads": found.threads,
        "seed": found.seed,
        "limits": _limits(found),
        "rule": rule(found.limits),
        "models": [
            {**_model(point, found), "pareto": front}
            for point, front in zip(found.points, found.on_front, strict=True)
        ],
        "missing": [asdict(one) for one in found.missing],
        "recommended": chosen if found.recommended else None,
        "refuted": {**chosen, "by": found.refuted} if found.refuted else None,
        "complete": found.complete,
    }


def _model(point: Point, found: Frontier) -> dict[str, Any]:
    """Return the figures of one model."""
    values = {
        "name": point.name,
        "method": point.method,
        "bytes": point.n_bytes,
        "speedup": point.speed.ratio,
        "speedup_interval": [point.speed.low, point.speed.high],
        "speedup_clock": point.speed.clock,
        "rows_per_second": point.rows_per_second,
        "linear_cost": point.linear_cost,
        "linear_cost_counted": point.linear_cost_counted,
        "certified_percent": point.certified_percent,
        "allowance_percent": point.allowance_percent,
        "spent_percent": point.spent_percent,
        "choosing": point.choosing.as_dict(),
        "confirming": point.confirming.as_dict(),
        "build_seconds": point.build_seconds,
        "command": point.command,
        "use": point.use,
    }
    named: dict[str, Any] = with_names(values, found.class_names)
    return named


def _chosen(found: Frontier) -> dict[str, Any]:
    """Return the figures of the model that was chosen, with its confirmed speed; empty if there is none."""
    point, speed = found.chosen, found.confirmed_speed
    if point is None or speed is None:
        return {}
    shown = found.limits.shown_by(point.confirming) if found.limits.of_quality else None
    return {
        **_model(point, found),
        "confirmed_speedup": speed.ratio,
        "confirmed_speedup_interval": [speed.low, speed.high],
        "confirmed_speedup_clock": speed.clock,
        "limits_shown": shown,
    }


def _limits(found: Frontier) -> dict[str, Any]:
    """Return the limits, and the score to which they apply."""
    metric = "balanced-accuracy" if found.limits.balanced else "accuracy"
    return {
        "max_diff_percent": found.limits.max_diff_percent,
        "max_loss_percent": found.limits.max_loss_percent,
        "metric": "mse" if found.regression else metric,
        "max_bytes": found.limits.max_bytes,
        "max_operations": found.limits.max_operations,
    }


def _of_exact(known: Skill | None, task: str) -> dict[str, Any]:
    if known is None:
        return {}
    return {"sampled": known.rows, "mse" if task == "regression" else "accuracy": known.found}
