"""The measured models of a run of ``svmfast frontier``: from a candidate's file to a point of the choice."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from svmfast.caches import cached
from svmfast.evaluation.benchmark import check_same_question
from svmfast.evaluation.subject import ComparedModel
from svmfast.evaluation.timing import Speed
from svmfast.formats.model_files import load_model
from svmfast.frontiers.choice import Point
from svmfast.frontiers.comparing import Measurements
from svmfast.frontiers.fallback import FALLBACK, with_exact
from svmfast.frontiers.folder import MadeRecord
from svmfast.frontiers.plan import CandidateCommand
from svmfast.frontiers.request import RunRequest
from svmfast.models.base import Model


@dataclass
class MeasuredModel:
    """A candidate's model, alone or with the exact one as fallback, and its figures."""

    #: Answers the rows, and leaves some to the fallback if there is one.
    model: Model
    #: The fields of its Point that do not depend on timing.
    known: dict[str, Any]
    #: With the exact model as fallback: both in one model, which no file in the folder's ``models`` holds.
    whole: Model | None = None

    @property
    def name(self) -> str:
        """The name of its Point."""
        return str(self.known["name"])


class MeasuredModels:
    """The exact model and every candidate that was made, alone and, where it helps, with the exact one.

    They have all figures but their speeds, which :meth:`points` takes.
    """

    def __init__(self, request: RunRequest) -> None:
        self.request = request
        self._all: dict[str, MeasuredModel] = {}

    def measure(self, candidate: CandidateCommand, record: MadeRecord) -> list[MeasuredModel]:
        """Measure a candidate's model; where the exact model may help as fallback, also with that."""
        asked, path = self.request, self.request.folder.model(candidate)
        model = load_model(path, memory=asked.memory).unscaled
        check_same_question(ComparedModel(asked.exact_path, asked.exact), ComparedModel(path, model))

        def known(name: str, n_bytes: int, command: str, measured: Measurements) -> dict[str, Any]:
            made = {"method": candidate.method, "build_seconds": record.build_seconds, "command": command}
            return {"name": name, "n_bytes": n_bytes, **made, **measured._asdict()}

        alone, name = asked.comparing.compare(model), candidate.name
        size = os.path.getsize(path)
        found = [MeasuredModel(model, known(name, size, asked.command(candidate), alone))]
        if (backed := with_exact(asked, candidate, model, alone)) is not None:
            size, both = len(asked.stored(backed.whole)), asked.comparing.compare(backed.model, backed=True)
            figures = known(name + FALLBACK, size, backed.command, both)
            found.append(MeasuredModel(backed.model, figures, backed.whole))
        self._all |= {one.name: one for one in found}
        return found

    def points(self, speeds: Mapping[str, Speed]) -> list[Point]:
        """The exact model and the measured ones that have been timed, with these speeds."""
        known = [self._known_of_exact, *(one.known for one in self._all.values())]
        return [Point(**one, speed=speeds[one["name"]]) for one in known if one["name"] in speeds]

    @cached
    def _known_of_exact(self) -> dict[str, Any]:
        found = self.request.comparing.of_exact()._asdict()
        return {"name": "exact", "method": "exact", "n_bytes": self.request.exact_bytes, **found}

    def content(self, point: Point) -> bytes:
        """The content of a point's file, which contains the exact model if that is the fallback."""
        whole = self._all[point.name].whole
        if whole is None:
            return (self.request.folder.models / point.name).read_bytes()
        return self.request.stored(whole)
