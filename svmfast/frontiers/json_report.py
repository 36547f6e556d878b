"""The report of ``svmfast frontier`` as plain values for JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from svmfast.class_scores import with_names
from svmfast.evaluation.skill import Skill
from svmfast.evaluation.timing import Speed
from svmfast.frontiers.pareto import Point
from svmfast.frontiers.report import Frontier
from svmfast.frontiers.words import rule


def as_dict(found: Frontier) -> dict[str, Any]:
    """Return plain values for JSON; docs/frontier.md explains every key."""
    origin = found.origin
    task = "regression" if found.regression else "classification"

    def model(point: Point, front: bool | None = None) -> dict[str, Any]:
        values = {
            "name": point.name,
            "method": point.method,
            "bytes": point.n_bytes,
            "speedup": point.speed.ratio,
            "speedup_interval": [point.speed.low, point.speed.high],
            "speedup_clock": _clock(point.speed),
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
        values = with_names(values, found.class_names)
        return values if front is None else {**values, "pareto": front}

    chosen: dict[str, Any] = {}
    if found.chosen is not None and found.confirmed_speed is not None:
        speed = found.confirmed_speed
        chosen = {
            **model(found.chosen),
            "confirmed_speedup": speed.ratio,
            "confirmed_speedup_interval": [speed.low, speed.high],
            "confirmed_speedup_clock": _clock(speed),
            "limits_shown": found.limits.shown_by(found.chosen.confirming)
            if found.limits.of_quality
            else None,
        }
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
        "limits": {
            "max_diff_percent": found.limits.max_diff,
            "max_loss_percent": found.limits.max_loss,
            "metric": "mse"
            if found.regression
            else "balanced-accuracy"
            if found.limits.balanced
            else "accuracy",
            "max_bytes": found.limits.max_bytes,
            "max_operations": found.limits.max_operations,
        },
        "rule": rule(found.limits),
        "models": [model(*pair) for pair in zip(found.points, found.on_front, strict=True)],
        "missing": [asdict(one) for one in found.missing],
        "recommended": chosen if found.recommended else None,
        "refuted": {**chosen, "by": found.refuted} if found.refuted else None,
        "complete": found.complete,
    }


def _clock(speed: Speed) -> str:
    return "processor" if speed.processor else "wall"


def _of_exact(known: Skill, task: str) -> dict[str, Any]:
    return {"sampled": known.rows, "mse" if task == "regression" else "accuracy": known.found}
