"""The tasks of dcpred's and meka's ``fit``, each as a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from svmfast.methods.method import ALONE, Setting


def tasks(fit: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return ``(rows, labels, options, setting=ALONE)`` for svc and for ridge."""

    def of_task(task: str) -> Callable[..., Any]:
        def fitted(rows: Any, labels: Any, options: Any, setting: Setting = ALONE) -> Any:
            return fit(rows, labels, replace(options, task=task), setting)

        return fitted

    return of_task("svc"), of_task("ridge")
