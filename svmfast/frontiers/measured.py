"""The measured models of a run of ``svmfast frontier``: from a candidate's file to a point of the choice.

``NAME + exact`` is a candidate's model with the exact one as fallback. No process makes it, and it has
neither a file in the folder's ``models`` nor a record: every run, also one that continues, joins the two
models here. It is written only if it is recommended, as ``recommended``; its command makes the same bytes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from svmfast.caches import cached
from svmfast.display import shell_line
from svmfast.errors import OptionError, UnsupportedError
from svmfast.evaluation.benchmark import check_same_question
from svmfast.evaluation.subject import ComparedModel
from svmfast.evaluation.timing import Speed
from svmfast.formats.model_files import load_model
from svmfast.frontiers.choice import Point
from svmfast.frontiers.comparing import Measurements
from svmfast.frontiers.folder import MadeRecord
from svmfast.frontiers.plan import CASCADE, CandidateCommand
from svmfast.frontiers.request import RunRequest
from svmfast.frontiers.row_sets import CHOOSE_PART
from svmfast.methods import registry
from svmfast.methods.cascade.run import join_candidate
from svmfast.models.base import Model
from svmfast.options import command_words

#: The exact model is embedded if at least this percentage of the choosing rows is certified; else a
#: cascade may join it.
LEAST_CERTIFIED = 5.0
#: Ends the names of these models.
FALLBACK = " + exact"


class Backed(NamedTuple):
    """A model with the exact one as fallback."""

    #: Answers the rows, and leaves some to the exact model, which `answer` has to be given, even if it is
    #: inside: the candidate's model, or the cascade.
    model: Model
    #: Both in one model.
    whole: Model
    command: str


def with_exact(
    asked: RunRequest, candidate: CandidateCommand, model: Model, alone: Measurements
) -> Backed | None:
    """Embed the exact model, or join it by a cascade; None if that does not help.

    `alone` are the measurements of the candidate's `model`. The confirming rows play no part.
    """
    limit = asked.limits.max_bytes
    if limit is not None and asked.exact_bytes > limit:
        return None  # a file that contains the exact model is larger
    # The output of the command, which frontier itself does not run.
    method, together = registry.method(candidate.method), f"{asked.folder.model(candidate)}+exact"
    if method.embeds is not None and (alone.certified_choosing or 0.0) >= LEAST_CERTIFIED:
        words = asked.arguments(candidate, together) + command_words(method.options, {method.embeds: True})
        return Backed(model, model.with_exact(asked.exact), shell_line(["svmfast", *words]))
    percent = _allowance(asked)
    if percent is None or not alone.loss_choosing.labels_differing:
        return None
    return _joined(asked, candidate, model, percent, together)


def _joined(
    asked: RunRequest, candidate: CandidateCommand, model: Model, percent: float, together: str
) -> Backed | None:
    """The cascade of the candidate's model and the exact one, with thresholds from the choosing rows."""
    compared = asked.comparing.choosing
    try:
        found = join_candidate(
            model,
            asked.exact,
            compared.rows,
            compared.exact_answers.predicted,
            percent,
            source=asked.exact_identity,
            seed=asked.seed,
            threads=asked.threads,
            scaling=asked.scaling,
        )
    except (OptionError, UnsupportedError):  # too few rows, or models of different questions
        return None
    if found is None:
        return None
    whole, options = found
    data = os.fspath(asked.folder.path / CHOOSE_PART)
    inputs = {"fast": asked.folder.model(candidate), "exact": asked.exact_path, "data": data}
    words = registry.method(CASCADE).command_words(inputs, options, together)
    return Backed(whole, whole, f"{asked.command(candidate)} && {shell_line(['svmfast', *words])}")


def _allowance(asked: RunRequest) -> float | None:
    """The share of labels that a cascade may change, in percent; None if none is tried."""
    percent = asked.limits.max_diff_percent
    if percent is None and not asked.limits.balanced:
        # The loss of accuracy is at most the share of labels that differ.
        percent = asked.limits.max_loss_percent
    # No sample can show that no label differs; and if all labels may differ, no cascade is needed.
    tried = CASCADE in asked.methods and not asked.exact.head.is_regression
    return percent if tried and percent and percent < 100 else None


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
