"""The measured models of a run of ``svmfast frontier``: their losses, sizes, speeds and commands."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from svmfast.caches import cached
from svmfast.display import shell_line
from svmfast.errors import OptionError, UnsupportedError
from svmfast.frontiers.folder import MadeRecord, RunFolder
from svmfast.frontiers.plan import CASCADE, CandidateCommand
from svmfast.frontiers.racing import Racing
from svmfast.frontiers.row_sets import CHOOSE_PART, RowSets
from svmfast.methods import registry
from svmfast.models.scaled import with_scaling
from svmfast.options import command_words

if TYPE_CHECKING:
    from svmfast.frontiers.choice import Limits, Point
    from svmfast.frontiers.measuring import Measuring
    from svmfast.frontiers.report import Origin
    from svmfast.models.base import Model
    from svmfast.models.expansion import KernelExpansion
    from svmfast.models.scaling import Scaling
    from svmfast.rows import Rows

#: Speeds are measured on the rows that the exact model answers in this share of the time limit, within limits
#: in seconds, and on at least LEAST_SAMPLE rows unless these take LEAST_FACTOR times as long. Where there are
#: fewer, they are repeated, up to about SAMPLE_BYTES: with few rows, the start of threads takes long.
SAMPLE_SHARE, SAMPLE_SECONDS = 1 / 1000, (0.01, 0.1)
LEAST_SAMPLE, LEAST_FACTOR, SAMPLE_BYTES = 1_000, 10, 1 << 24
#: The exact model is tried as fallback if at least this percentage of the choosing rows is certified.
LEAST_CERTIFIED = 5.0
FALLBACK = " + exact"


@dataclass(frozen=True)
class RunRequest:
    """The exact model, the rows, the limits, and what may be spent; times are those of ``time.monotonic``."""

    #: Path of the exact model, without its scaling, and the hash of its file.
    exact: str
    model: KernelExpansion
    sha256: str
    folder: RunFolder
    sets: RowSets
    measuring: Measuring
    origin: Origin
    methods: tuple[str, ...]
    limits: Limits
    #: No candidate is made after `deadline`, and no round of timing begins after `end`.
    deadline: float
    end: float
    seed: int
    threads: int
    memory: int
    #: Of `model` and all models made from it: here rows are scaled, and models take scaled rows.
    scaling: Scaling | None
    #: The training rows have labels.
    labelled: bool

    def stored(self, model: Model) -> bytes:
        """The content of a model's file, including the scaling."""
        from svmfast.formats.detect import model_bytes

        return model_bytes(with_scaling(model, self.scaling))


@dataclass
class _Entry:
    """A measured model: a candidate's file, alone or with the exact model as fallback."""

    model: Model
    #: The fields of its Point that do not depend on timing.
    known: dict[str, Any]
    #: The model and the exact one in one file, if that is the fallback.
    whole: Model | None = None


class Entries:
    """The exact model and every candidate that was made, alone and, where it helps, with the exact one."""

    def __init__(self, request: RunRequest) -> None:
        self.request = request
        self._all: dict[str, _Entry] = {}

    def add(self, candidate: CandidateCommand, record: MadeRecord) -> None:
        """Measure a candidate's file, also with the exact model as fallback where that may help."""
        from svmfast.evaluation.benchmark import ComparedModel, check_same_question
        from svmfast.formats.detect import load_model

        asked, path = self.request, self.request.folder.model(candidate)
        model = load_model(path, memory=asked.memory).unscaled
        check_same_question(ComparedModel(asked.exact, asked.model), ComparedModel(path, model))
        alone = self._entry(candidate, record, model, self.command(candidate))
        fallback = self._with_exact(candidate, record, alone)
        for entry in [alone] if fallback is None else [alone, fallback]:
            name = entry.known["name"]
            self._all[name] = entry
            self.racing.add(name, self._call(entry.model, asked.model if entry.whole is not None else None))
        self.racing.between()

    def _entry(
        self,
        candidate: CandidateCommand,
        record: MadeRecord,
        model: Model,
        command: str,
        whole: Model | None = None,
    ) -> _Entry:
        """Measure a model, alone or with the exact one: `whole` has both."""
        asked, backed = self.request, whole is not None
        path = asked.folder.model(candidate)
        known = {
            "name": candidate.name + FALLBACK * backed,
            "method": candidate.method,
            "n_bytes": os.path.getsize(path) if whole is None else len(asked.stored(whole)),
            "build_seconds": record.build_seconds,
            "command": command,
            **asked.measuring.losses(model, backed=backed)._asdict(),
        }
        return _Entry(model, known, whole)

    def _with_exact(self, candidate: CandidateCommand, record: MadeRecord, alone: _Entry) -> _Entry | None:
        """The candidate with the exact model as fallback, embedded or joined; None if that does not help."""
        from svmfast.methods.cascade.run import join_candidate

        asked, model, method = self.request, alone.model, registry.method(candidate.method)
        path = asked.folder.model(candidate)
        together, train = f"{path}+exact", asked.sets.train
        limit = asked.limits.max_bytes
        if limit is not None and os.path.getsize(asked.exact) > limit:
            return None  # a file that contains the exact model is larger
        if method.embeds is not None and (alone.known["certified_choosing"] or 0.0) >= LEAST_CERTIFIED:
            made = candidate.filled(asked.exact, train, together)
            made += command_words(method.options, {method.embeds: True})
            command = shell_line(["svmfast", *made])
            return self._entry(candidate, record, model, command, model.with_exact(asked.model))
        percent, choosing = self._allowance, asked.measuring.choosing
        if percent is None or not alone.known["choosing"].labels_differing:
            return None
        try:
            found = join_candidate(
                model,
                asked.model,
                choosing.rows,
                choosing.exact.predicted,
                percent,
                source=f"sha256:{asked.sha256}",
                seed=asked.seed,
                threads=asked.threads,
                scaling=asked.scaling,
            )
        except (OptionError, UnsupportedError):  # too few rows, or models of different questions
            return None
        if found is None:
            return None
        whole, options = found
        inputs = {"fast": path, "exact": asked.exact, "data": os.fspath(asked.folder.path / CHOOSE_PART)}
        words = registry.method(CASCADE).command_words(inputs, options, together)
        made_by = f"{alone.known['command']} && {shell_line(['svmfast', *words])}"
        return self._entry(candidate, record, whole, made_by, whole)

    @property
    def _allowance(self) -> float | None:
        """The share of labels that a cascade may change, in percent; None if none is tried."""
        asked = self.request
        percent = asked.limits.max_diff_percent
        if percent is None and not asked.limits.balanced:
            # The loss of accuracy is at most the share of labels that differ.
            percent = asked.limits.max_loss_percent
        # No sample can show that no label differs; and if all labels may differ, no cascade is needed.
        tried = CASCADE in asked.methods and not asked.model.head.is_regression
        return percent if tried and percent and percent < 100 else None

    @cached
    def racing(self) -> Racing:
        """The rounds of timing; the confirming rows play no part, so that they confirm without bias."""
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
        """Enough of the choosing rows to compare speeds, and few enough for many rounds."""
        import numpy as np

        rows, scaling = self.request.measuring.choosing.rows, self.request.scaling
        left, (least, most) = self.request.end - time.monotonic(), SAMPLE_SECONDS
        rate = len(rows) / max(self.request.measuring.exact_seconds, 1e-9)
        n = max(1, int(rate * min(most, max(least, SAMPLE_SHARE * left))))
        cells = rows.nnz if scaling is None else max(rows.nnz, len(rows) * scaling.moved_zeros)
        room = SAMPLE_BYTES * len(rows) // (16 * (cells + len(rows)))
        n = max(min(max(len(rows), room), n), min(LEAST_SAMPLE, LEAST_FACTOR * n))
        n = n if scaling is None else min(n, scaling.timed_rows)
        order = np.random.default_rng(self.request.seed).permutation(len(rows))
        rows = rows.take(np.sort(np.resize(order, n)))
        return rows if scaling is None else scaling.apply(rows)

    def _call(self, model: Model, fallback: KernelExpansion | None = None) -> Callable[[], object]:
        from svmfast.models.answer import answer

        return partial(answer, model, self._timed_rows, exact=fallback, threads=self.request.threads)

    def command(self, candidate: CandidateCommand) -> str:
        """The command line that makes a candidate."""
        asked = self.request
        words = candidate.filled(asked.exact, asked.sets.train, asked.folder.model(candidate))
        return shell_line(["svmfast", *words])

    def content(self, point: Point) -> bytes:
        """The content of a point's file, which contains the exact model if that is the fallback."""
        whole = self._all[point.name].whole
        if whole is None:
            return (self.request.folder.models / point.name).read_bytes()
        return self.request.stored(whole)
