"""The measured models of a run of ``svmfast frontier``: their losses, sizes, speeds and commands."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from svmfast.caches import cached
from svmfast.display import shell_line
from svmfast.errors import OptionError, UnsupportedError
from svmfast.frontiers.fallback import Embedded, Fallback, Joined, Places
from svmfast.frontiers.folder import Folder, Record
from svmfast.frontiers.grid import CandidateCommand, joining_methods
from svmfast.frontiers.racing import Racing
from svmfast.frontiers.request import Request
from svmfast.frontiers.row_sets import CHOOSE_PART, RowSets
from svmfast.methods import registry
from svmfast.methods.grid import Joiner, Joining
from svmfast.methods.method import Method

if TYPE_CHECKING:
    from svmfast.frontiers.measuring import Losses, Measuring
    from svmfast.frontiers.pareto import Point
    from svmfast.frontiers.report import Missing
    from svmfast.models.base import Model
    from svmfast.rows import Rows

#: Speeds are measured on the rows that the exact model answers in this share of the time limit, within limits
#: in seconds, and on at least LEAST_SAMPLE rows unless these take LEAST_FACTOR times as long. Where there are
#: fewer, they are repeated, up to about SAMPLE_BYTES: with few rows, the start of threads takes long.
SAMPLE_SHARE, SAMPLE_SECONDS = 1 / 1000, (0.01, 0.1)
LEAST_SAMPLE, LEAST_FACTOR, SAMPLE_BYTES = 1_000, 10, 1 << 24
#: The exact model is tried as fallback if at least this percentage of the choosing rows is certified.
LEAST_CERTIFIED = 5.0
FALLBACK = " + exact"


@dataclass
class _Entry:
    """A measured model: a candidate's file, alone or with the exact model as fallback."""

    name: str
    candidate: CandidateCommand
    model: Model
    losses: Losses
    n_bytes: int
    build_seconds: float | None
    fallback: Fallback | None = None


class Entries:
    """The exact model and every candidate that was made, each alone and, where it helps, with the exact one.

    Attributes
    ----------
    without_exact : dict of str to Missing
        Why there is no entry with the exact model, by candidate.
    """

    def __init__(self, request: Request, folder: Folder, sets: RowSets, measuring: Measuring) -> None:
        self.request, self.folder, self.sets, self.measuring = request, folder, sets, measuring
        self.without_exact: dict[str, Missing] = {}
        self._entries: dict[str, list[_Entry]] = {}  # by candidate

    def add(self, candidate: CandidateCommand, record: Record) -> None:
        """Measure a candidate's file; if it has a certificate, also with the exact model as fallback."""
        from svmfast.evaluation.benchmark import ComparedModel, check_same_question
        from svmfast.formats.detect import load_model

        path = self.folder.model(candidate)
        model = load_model(path, memory=self.request.memory).unscaled
        check_same_question(ComparedModel(self.request.exact, self.request.model), ComparedModel(path, model))
        losses, built = self.measuring.alone(model), record.build_seconds
        found = [_Entry(candidate.name, candidate, model, losses, os.path.getsize(path), built)]
        method, (certified, _) = registry.method(candidate.method), losses.certified_percent or (0.0, 0.0)
        if method.embeds is not None and certified >= LEAST_CERTIFIED:
            if self._has_room_for_exact:
                found.append(self._backed(found[0], model, Embedded(method, method.embeds)))
            else:
                self.without_exact[candidate.name] = self._no_room(candidate.method, candidate.name)
        elif losses.choosing.labels_differing and self._joining is not None:
            found += self._joined(found[0], *self._joining)
        self._entries[candidate.name] = found
        for entry in found:
            self.racing.add(entry.name, self._call(entry))
        self.racing.between()

    @cached
    def _has_room_for_exact(self) -> bool:
        """Whether the exact model is within the limit on the size, so that another file may contain it."""
        limit = self.request.limits.max_bytes
        return limit is None or len(self.request.stored(self.request.model)) <= limit

    def _no_room(self, method: str, name: str = "a candidate") -> Missing:
        from svmfast.frontiers.report import Missing

        most = self.request.limits.max_bytes
        reason = f"not tried: the exact model alone takes more than {most:,} bytes"
        return Missing(name + FALLBACK, method, reason)

    def _backed(self, plain: _Entry, model: Model, fallback: Fallback) -> _Entry:
        """Measure a candidate's model with the exact model as fallback."""
        losses, exact = self.measuring.backed(model), self.request.model
        size = len(self.request.stored(fallback.in_one_file(model, exact)))
        name = plain.name + FALLBACK
        return _Entry(name, plain.candidate, model, losses, size, plain.build_seconds, fallback)

    @cached
    def _joining(self) -> tuple[Method, Joiner] | None:
        """What joins the exact model with candidates without a certificate, if anything does."""
        asked = self.request
        percent = asked.limits.max_diff_percent
        if percent is None and not asked.limits.balanced:
            percent = (
                asked.limits.max_loss_percent
            )  # the loss of accuracy is at most the share of labels that differ
        name = next((name for name in joining_methods() if name in asked.methods), None)
        if name is None:
            return None
        method, choosing = registry.method(name), self.measuring.choosing.rows
        labels, source = self.measuring.choosing_labels, f"sha256:{asked.sha256}"
        joiner = method.joiner(
            Joining(asked.model, source, choosing, labels, percent, asked.seed, asked.threads, asked.scaling)
        )
        if joiner is not None and not self._has_room_for_exact:
            self.without_exact[name] = self._no_room(name)
            return None
        return None if joiner is None else (method, joiner)

    def _joined(self, plain: _Entry, method: Method, joiner: Joiner) -> list[_Entry]:
        """Return the candidate joined with the exact model, or nothing if that is impossible or no faster."""
        from svmfast.frontiers.report import Missing

        try:
            model = joiner.join(plain.model)
        except OptionError as error:  # the same for all
            self.without_exact[method.name] = Missing(f"a candidate{FALLBACK}", method.name, str(error))
            return []
        except UnsupportedError as error:
            self.without_exact[plain.name] = Missing(plain.name + FALLBACK, method.name, str(error))
            return []
        return [] if model is None else [self._backed(plain, model, Joined(method, joiner))]

    @property
    def _all(self) -> list[_Entry]:
        return [entry for found in self._entries.values() for entry in found]

    @cached
    def racing(self) -> Racing:
        """The rounds of timing; the confirming rows play no part, so that they confirm without bias."""
        return Racing(self._call(None), self._wanted)

    def _wanted(self) -> list[str]:
        from svmfast.frontiers.pareto import contenders

        return [point.name for point in contenders(self.points(), self.request.limits)]

    def points(self) -> list[Point]:
        """Return the measured models that have been timed, with their speeds so far."""
        from svmfast.frontiers.pareto import Point

        asked, rows = self.request, self._timed_rows
        timed = self.racing.result()
        seconds, speeds = timed.timings["exact"].seconds, timed.speeds
        unit, of_exact = self._linear_seconds, self._of_exact

        def point(entry: _Entry | None) -> Point:
            name = entry.name if entry else "exact"
            losses, speed = entry.losses if entry else of_exact, speeds[name]
            return Point(
                name=name,
                method=entry.candidate.method if entry else "exact",
                choosing=losses.choosing,
                confirming=losses.confirming,
                n_bytes=entry.n_bytes if entry else os.path.getsize(asked.exact),
                speed=speed,
                rows_per_second=len(rows) / seconds * speed.ratio,
                linear_cost=seconds / speed.ratio / unit,
                linear_cost_counted=losses.linear_cost_counted,
                certified_percent=losses.certified_percent and losses.certified_percent[1],
                skilled=losses.skilled,
                lost_choosing=losses.lost[0],
                lost_confirming=losses.lost[1],
                build_seconds=entry.build_seconds if entry else None,
                command=self._made_by(entry) if entry else None,
                use=self._used_by(entry) if entry else None,
                allowance_percent=entry.fallback.allowance_percent if entry and entry.fallback else None,
            )

        return [point(None), *(point(entry) for entry in self._all if entry.name in speeds)]

    @cached
    def _of_exact(self) -> Losses:
        return self.measuring.of_exact()

    @cached
    def _linear_seconds(self) -> float:
        from svmfast.evaluation.linear import linear_seconds

        return linear_seconds(self.request.model.head, self._timed_rows, threads=self.request.threads).seconds

    @cached
    def _timed_rows(self) -> Rows:
        """Enough of the choosing rows to compare speeds, and few enough for many rounds."""
        import numpy as np

        rows, left = self.measuring.choosing.rows, self.request.end - time.monotonic()
        least, most = SAMPLE_SECONDS
        rate = len(self.measuring.choosing) / max(self.measuring.exact_seconds, 1e-9)
        n = max(1, int(rate * min(most, max(least, SAMPLE_SHARE * left))))
        scaling = self.request.scaling
        cells = rows.nnz if scaling is None else max(rows.nnz, len(rows) * scaling.moved_zeros)
        room = SAMPLE_BYTES * len(rows) // (16 * (cells + len(rows)))
        n = max(min(max(len(rows), room), n), min(LEAST_SAMPLE, LEAST_FACTOR * n))
        n = n if scaling is None else min(n, scaling.timed_rows)
        order = np.random.default_rng(self.request.seed).permutation(len(rows))
        rows = rows.take(np.sort(np.resize(order, n)))
        return rows if scaling is None else scaling.apply(rows)

    def _call(self, entry: _Entry | None) -> Callable[[], object]:
        from svmfast.models.answer import answer

        model = self.request.model if entry is None else entry.model
        threads, rows = self.request.threads, self._timed_rows
        if entry is None or entry.fallback is None:
            return partial(answer, model, rows, threads=threads)
        return partial(answer, model, rows, exact=self.request.model, threads=threads)

    def command(self, candidate: CandidateCommand) -> str:
        return candidate.command(self.request.exact, self.sets.train, self.folder.model(candidate))

    def _places(self, entry: _Entry) -> Places:
        choosing = os.fspath(self.folder.path / CHOOSE_PART)
        return Places(self.request.exact, self.sets.train, choosing, self.folder.model(entry.candidate))

    def _made_by(self, entry: _Entry) -> str:
        if entry.fallback is None:
            return self.command(entry.candidate)
        return entry.fallback.made_by(entry.candidate, self._places(entry))

    def _used_by(self, entry: _Entry) -> str:
        at = self._places(entry)
        if entry.fallback is None:
            line = shell_line(["svmfast", "predict", "DATA", at.model, "OUT"])
        else:
            line = entry.fallback.used_by(at)
        return " ".join([line] if self.request.labelled else [line, "--unlabelled"])

    def content(self, point: Point) -> bytes:
        """Return the content of a point's file, which contains the exact model if that is the fallback."""
        entry = next(entry for entry in self._all if entry.name == point.name)
        if entry.fallback is None:
            return (self.folder.models / point.name).read_bytes()
        return self.request.stored(entry.fallback.in_one_file(entry.model, self.request.model))
