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
from svmfast.frontiers.folder import Folder, Record
from svmfast.frontiers.grid import CandidateCommand, joining_methods
from svmfast.frontiers.racing import Racing
from svmfast.frontiers.request import Request
from svmfast.frontiers.row_sets import CHOOSE_PART, RowSets
from svmfast.methods import registry
from svmfast.methods.grid import Joiner, Joining
from svmfast.methods.method import Method
from svmfast.options import command_words

if TYPE_CHECKING:
    from svmfast.frontiers.measuring import Losses, Measuring
    from svmfast.frontiers.pareto import Point
    from svmfast.frontiers.report import Missing
    from svmfast.models.base import Model
    from svmfast.models.expansion import KernelExpansion
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
class _Places:
    """Paths in the commands of a candidate; `model` is the candidate alone."""

    exact: str
    train: str
    choosing: str
    model: str

    @property
    def joined(self) -> str:
        """The file that contains the exact model too."""
        return f"{self.model}+exact"


class _Embedded:
    """The exact model as fallback of a model with a certificate, whose own command keeps it in the file."""

    allowance_percent = None

    def __init__(self, method: Method, switch: str) -> None:
        self._words = command_words(method.options, {switch: True})

    def in_one_file(self, model: Model, exact: KernelExpansion) -> Model:
        return model.with_exact(exact)

    def made_by(self, candidate: CandidateCommand, at: _Places) -> str:
        """The command line that makes both in one file, like the recommended copy."""
        return shell_line(["svmfast", *candidate.filled(at.exact, at.train, at.joined), *self._words])

    def used_by(self, at: _Places) -> list[str]:
        return ["svmfast", "predict", "DATA", at.model, "OUT", "--exact", at.exact]


class _Joined:
    """The exact model as fallback of another model: a method joins both under the limit of `joiner`."""

    def __init__(self, method: Method, joiner: Joiner) -> None:
        self._method, self._joiner = method, joiner
        #: Share of the labels that may differ.
        self.allowance_percent = joiner.max_percent

    def in_one_file(self, model: Model, exact: KernelExpansion) -> Model:
        return model  # a joined one

    def made_by(self, candidate: CandidateCommand, at: _Places) -> str:
        """The command lines that make the candidate and join it."""
        inputs = {"fast": at.model, "exact": at.exact, "data": at.choosing}
        words = self._method.command_words(inputs, self._joiner.options, at.joined)
        return f"{candidate.command(at.exact, at.train, at.model)} && {shell_line(['svmfast', *words])}"

    def used_by(self, at: _Places) -> list[str]:
        return ["svmfast", "predict", "DATA", at.joined, "OUT"]


@dataclass
class _Entry:
    """A measured model: a candidate's file, alone or with the exact model as fallback."""

    name: str
    candidate: CandidateCommand
    model: Model
    losses: Losses
    n_bytes: int
    build_seconds: float | None
    fallback: _Embedded | _Joined | None = None


class Entries:
    """The exact model and every candidate that was made, alone and, where it helps, with the exact one."""

    def __init__(self, request: Request, folder: Folder, sets: RowSets, measuring: Measuring) -> None:
        self.request, self.folder, self.sets, self.measuring = request, folder, sets, measuring
        #: Why there is no entry with the exact model, by candidate.
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
                found.append(self._backed(found[0], model, _Embedded(method, method.embeds)))
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

    def _backed(self, plain: _Entry, model: Model, fallback: _Embedded | _Joined) -> _Entry:
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
            # The loss of accuracy is at most the share of labels that differ.
            percent = asked.limits.max_loss_percent
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
        """The candidate joined with the exact model, or nothing if that is impossible or no faster."""
        from svmfast.frontiers.report import Missing

        try:
            model = joiner.join(plain.model)
        except OptionError as error:  # the same for all
            self.without_exact[method.name] = Missing(f"a candidate{FALLBACK}", method.name, str(error))
            return []
        except UnsupportedError as error:
            self.without_exact[plain.name] = Missing(plain.name + FALLBACK, method.name, str(error))
            return []
        return [] if model is None else [self._backed(plain, model, _Joined(method, joiner))]

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
        """The measured models that have been timed, with their speeds so far."""
        from svmfast.frontiers.pareto import Point

        asked, rows = self.request, self._timed_rows
        timed = self.racing.result()
        seconds, speeds = timed.timings["exact"].seconds, timed.speeds
        unit, of_exact = self._linear_seconds, self._of_exact

        def point(entry: _Entry | None) -> Point:
            name = entry.name if entry else "exact"
            losses, speed = entry.losses if entry else of_exact, speeds[name]
            made, used = self._commands(entry) if entry else (None, None)
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
                command=made,
                use=used,
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
        """The command line that makes a candidate."""
        return candidate.command(self.request.exact, self.sets.train, self.folder.model(candidate))

    def _commands(self, entry: _Entry) -> tuple[str, str]:
        """The command lines that make a model and that predict with it."""
        choosing, model = os.fspath(self.folder.path / CHOOSE_PART), self.folder.model(entry.candidate)
        at = _Places(self.request.exact, self.sets.train, choosing, model)
        if entry.fallback is None:
            made, used = self.command(entry.candidate), ["svmfast", "predict", "DATA", model, "OUT"]
        else:
            made, used = entry.fallback.made_by(entry.candidate, at), entry.fallback.used_by(at)
        return made, " ".join([shell_line(used), *([] if self.request.labelled else ["--unlabelled"])])

    def content(self, point: Point) -> bytes:
        """The content of a point's file, which contains the exact model if that is the fallback."""
        entry = next(entry for entry in self._all if entry.name == point.name)
        if entry.fallback is None:
            return (self.folder.models / point.name).read_bytes()
        return self.request.stored(entry.fallback.in_one_file(entry.model, self.request.model))
