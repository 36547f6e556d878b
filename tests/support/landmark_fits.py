"""The tasks of dcpred's and meka's ``fit``, each as a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from svmfast.methods.method import ALONE, Setting


def tasks(fit: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """Return ``(rows, labels, options, setting=ALONE)`` for svc, for ridge, and for the scores of a grid."""

    def of_task(task: str) -> Callable[..., Any]:
        def fitted(rows: Any, labels: Any, options: Any, setting: Setting = ALONE) -> Any:
            return fit(rows, labels, replace(options, task=task), setting)

        return fitted

    def scores(rows: Any, labels: Any, options: Any) -> Any:
        return fit(rows, labels, options, Setting(1, writes=False))[1].cross_validation

    return of_task("svc"), of_task("ridge"), scores
