"""The report of ``svmfast frontier`` as plain values for JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from svmfast.class_scores import shown_label, with_names
from svmfast.evaluation.skill import Skill
from svmfast.frontiers.pareto import Point
from svmfast.frontiers.report import Frontier
from svmfast.frontiers.words import rule


def as_dict(found: Frontier) -> dict[str, Any]:
    """Return plain values for JSON; docs/frontier.md explains every key."""
    origin = found.origin
    task = "regression" if found.regression else "classification"
    best = found.recommended
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
        "recommended": None if best is None else _model(best, found),
        "refused": [{"name": point.name, "by": by} for point, by in found.choice.refused],
        "undecided": [point.name for point in found.choice.undecided],
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
        "lost_classes": [
            shown_label(label)
            for label in sorted({one.score.label for one in (*point.lost_choosing, *point.lost_confirming)})
        ],
        "build_seconds": point.build_seconds,
        "command": point.command,
        "use": point.use,
    }
    named: dict[str, Any] = with_names(values, found.class_names)
    return named


def _limits(found: Frontier) -> dict[str, Any]:
    """Return the limits, and the score to which they apply."""
    metric = "balanced-accuracy" if found.limits.balanced else "accuracy"
    return {
        "max_diff_percent": found.limits.max_diff_percent,
        "max_loss_percent": found.limits.max_loss_percent,
        "metric": "mse" if found.regression else metric,
        "max_bytes": found.limits.max_bytes,
        "max_operations": found.limits.max_operations,
        "lose_classes": found.limits.lost_classes,
    }


def _of_exact(known: Skill | None, task: str) -> dict[str, Any]:
    if known is None:
        return {}
    return {"sampled": known.rows, "mse" if task == "regression" else "accuracy": known.found}
