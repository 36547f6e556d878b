"""The measured models of a run of ``svmfast frontier``, from a candidate's file to a point of the choice."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from svmfast.caches import cached
from svmfast.frontiers.fallback import FALLBACK, with_exact
from svmfast.frontiers.plan import CandidateCommand
from svmfast.frontiers.racing import Racing, timed_rows

if TYPE_CHECKING:
    from svmfast.frontiers.choice import Point
    from svmfast.frontiers.folder import MadeRecord
    from svmfast.frontiers.measuring import Measurements
    from svmfast.frontiers.request import RunRequest
    from svmfast.models.base import Model
    from svmfast.models.expansion import KernelExpansion
    from svmfast.rows import Rows


@dataclass
class _Measured:
    """A measured model: a candidate's file, alone or with the exact model as fallback."""

    model: Model
    #: The fields of its Point that do not depend on timing.
    known: dict[str, Any]
    #: The model and the exact one in one file, if that is the fallback.
    whole: Model | None = None


class MeasuredModels:
    """The exact model and every candidate that was made, alone and, where it helps, with the exact one."""

    def __init__(self, request: RunRequest) -> None:
        self.request = request
        self._all: dict[str, _Measured] = {}

    def measure(self, candidate: CandidateCommand, record: MadeRecord) -> None:
        """Measure a candidate's model, also with the exact model as fallback where that may help."""
        from svmfast.evaluation.benchmark import check_same_question
        from svmfast.evaluation.subject import ComparedModel
        from svmfast.formats.detect import load_model

        asked, path = self.request, self.request.folder.model(candidate)
        model = load_model(path, memory=asked.memory).unscaled
        check_same_question(ComparedModel(asked.exact, asked.model), ComparedModel(path, model))

        def known(name: str, n_bytes: int, command: str, measured: Measurements) -> dict[str, Any]:
            made = {"method": candidate.method, "build_seconds": record.build_seconds, "command": command}
            return {"name": name, "n_bytes": n_bytes, **made, **measured._asdict()}

        alone, name = asked.measuring.measure(model), candidate.name
        size = os.path.getsize(path)
        found = [_Measured(model, known(name, size, asked.command(candidate), alone))]
        if (backed := with_exact(asked, candidate, model, alone)) is not None:
            size, both = len(asked.stored(backed.whole)), asked.measuring.measure(backed.model, backed=True)
            figures = known(name + FALLBACK, size, backed.command, both)
            found.append(_Measured(backed.model, figures, backed.whole))
        for one in found:
            self._all[one.known["name"]] = one
            call = self._call(one.model, asked.model if one.whole is not None else None)
            self.racing.add(one.known["name"], call)
        self.racing.between()

    @cached
    def racing(self) -> Racing:
        """The rounds of timing, which begin with the first measured model.

        They go to the contenders by the speeds so far (:meth:`points`). The confirming rows play no part, so
        that they confirm without bias.
        """
        from svmfast.frontiers.choice import contenders

        return Racing(
            self._call(self.request.model),
            lambda: [point.name for point in contenders(self.points(), self.request.limits)],
        )

    def points(self) -> list[Point]:
        """The measured models that have been timed, with their speeds so far."""
        from svmfast.frontiers.choice import Point

        timed = self.racing.result()
        found = []
        for known in (self._of_exact, *(one.known for one in self._all.values())):
            if (speed := timed.speeds.get(known["name"])) is not None:
                found.append(Point(**known, speed=speed))
        return found

    @cached
    def _of_exact(self) -> dict[str, Any]:
        size = os.path.getsize(self.request.exact)
        found = self.request.measuring.of_exact()._asdict()
        return {"name": "exact", "method": "exact", "n_bytes": size, **found}

    @cached
    def _timed_rows(self) -> Rows:
        asked, measuring = self.request, self.request.measuring
        left = asked.end - time.monotonic()
        return timed_rows(measuring.choosing.rows, measuring.exact_seconds, left, asked.scaling, asked.seed)

    def _call(self, model: Model, fallback: KernelExpansion | None = None) -> Callable[[], object]:
        from svmfast.models.answer import answer

        return partial(answer, model, self._timed_rows, exact=fallback, threads=self.request.threads)

    def content(self, point: Point) -> bytes:
        """The content of a point's file, which contains the exact model if that is the fallback."""
        whole = self._all[point.name].whole
        if whole is None:
            return (self.request.folder.models / point.name).read_bytes()
        return self.request.stored(whole)
