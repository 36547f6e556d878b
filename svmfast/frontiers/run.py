"""A run of ``svmfast frontier``: makes, measures and times candidates, chooses one and confirms it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from svmfast.display import shell_line
from svmfast.errors import OptionError, SvmfastError, UnsupportedError
from svmfast.frontiers.child import Failed, OutOfTime, make
from svmfast.frontiers.folder import Folder, Record, file_hash
from svmfast.frontiers.grid import CandidateCommand, joining_methods, plan
from svmfast.frontiers.join import Joiner
from svmfast.frontiers.row_sets import CHOOSE_PART, RowSets
from svmfast.frontiers.schedule import run_all
from svmfast.models.scaled import unscaled, with_scaling
from svmfast.progress import Progress, silent

if TYPE_CHECKING:
    from svmfast.evaluation.timing import Speed
    from svmfast.frontiers.measuring import Losses, Measuring
    from svmfast.frontiers.pareto import Limits, Point
    from svmfast.frontiers.report import Frontier, Missing, Origin
    from svmfast.models.base import Model
    from svmfast.models.expansion import KernelExpansion
    from svmfast.models.scaling import Scaling
    from svmfast.rows import Rows

#: Speeds are measured on the rows that the exact model answers in SAMPLE_SECONDS, at least LEAST_SAMPLE.
SAMPLE_SECONDS, LEAST_SAMPLE = 0.01, 1_000
#: Limits on the seconds after which no further round of timing begins.
MOST_RACE, LEAST_RACE = 20.0, 3.0
#: Number of rounds in which all models are timed.
FEW_ROUNDS = 6
#: The exact model is tried as fallback if at least this percentage of the confirming rows is certified.
LEAST_CERTIFIED = 5.0
FALLBACK = " + exact"
EMBED = "--embed-exact"


@dataclass(frozen=True)
class Request:
    """What the caller wants.

    Attributes
    ----------
    exact : str
        Path of the exact model.
    model : KernelExpansion
    sha256 : str
        Hash of its file.
    methods : tuple of str
    limits : Limits
    deadline, end : float
        In the time of ``time.monotonic``: no candidate is made after `deadline`, and no round of timing
        begins after `end`.
    seed, threads, memory : int
    scaling : Scaling or None
        The scaling of `model`, and of all models made from it. In this module rows are scaled, and models
        take scaled rows.
    """

    exact: str
    model: KernelExpansion
    sha256: str
    methods: tuple[str, ...]
    limits: Limits
    deadline: float
    end: float
    seed: int
    threads: int
    memory: int
    scaling: Scaling | None = None

    def stored(self, model: Model) -> bytes:
        """Return the content of a model's file, including the scaling."""
        from svmfast.formats.detect import model_bytes

        return model_bytes(with_scaling(model, self.scaling))


@dataclass
class _Entry:
    """A measured model: a candidate's file, alone or with the exact model as fallback."""

    name: str
    candidate: CandidateCommand
    model: Model
    losses: Losses
    n_bytes: int
    build_seconds: float | None
    backed: bool = False


class FrontierRun:
    """The state of a run, from reading to reporting."""

    def __init__(
        self,
        request: Request,
        folder: Folder,
        sets: RowSets,
        measuring: Measuring,
        origin: Origin,
        progress: Progress = silent,
    ) -> None:
        self.request, self.folder, self.sets, self.measuring = request, folder, sets, measuring
        self._origin, self._progress = origin, progress
        self._entries: dict[str, list[_Entry]] = {}  # by candidate
        self._joiner: Joiner | None = None

    def run(self) -> Frontier:
        """Make, measure, choose and confirm."""
        from svmfast.frontiers.pareto import recommend
        from svmfast.frontiers.report import Missing

        asked = self.request
        candidates, missing = plan(
            asked.model, asked.methods, seed=asked.seed, limits=asked.limits, reading=self.sets.reading
        )
        candidates = [candidate.in_memory(asked.memory) for candidate in candidates]
        self.folder.open()
        self.sets.write(self.folder.path)
        records, late = self._make_all(candidates)
        missing += self._join_all()
        self._show_step(candidates, len(candidates), "timing")
        points = self._points()
        best = recommend(points, asked.limits)
        self._show_step(candidates, len(candidates) + 1, "confirming")
        speed = None if best is None else self._confirm_speed(best)
        for candidate in candidates:
            record = records.get(candidate.name)
            reason = late.get(candidate.name) or (record.reason if record else None)
            if reason:
                rejected = "rejected: " if record and record.rejected else ""
                command = self._command(candidate)
                missing.append(Missing(candidate.name, candidate.method, rejected + reason, command))
        return self._found(points, missing, best, speed, complete=not late)

    def _found(
        self,
        points: list[Point],
        missing: list[Missing],
        best: Point | None,
        speed: Speed | None,
        *,
        complete: bool,
    ) -> Frontier:
        from svmfast import __version__
        from svmfast.frontiers.pareto import pareto
        from svmfast.frontiers.report import Frontier

        asked, measuring = self.request, self.measuring
        return Frontier(
            exact=asked.exact,
            origin=self._origin,
            features=max(measuring.choosing.rows.n_columns, measuring.confirming.rows.n_columns),
            threads=asked.threads,
            seed=asked.seed,
            points=points,
            on_front=pareto(points),
            missing=missing,
            limits=asked.limits,
            chosen=best,
            confirmed_speed=speed,
            complete=complete,
            version=__version__,
            class_names=None if asked.scaling is None else asked.scaling.names_of_labels,
        )

    def _show_step(self, candidates: Sequence[CandidateCommand], done: float, what: str) -> None:
        self._progress(done, len(candidates) + 2, what)

    def _make_all(self, candidates: Sequence[CandidateCommand]) -> tuple[dict[str, Record], dict[str, str]]:
        """Return the record of each candidate, and the reason for those that were not made in time."""
        records: dict[str, Record] = {}
        for candidate in candidates:
            if (record := self.folder.record(candidate)) is not None:
                self._show_step(candidates, len(records), f"measuring {candidate.name}")
                if record.sha256 is not None:
                    self._measure(candidate, record)
                records[candidate.name] = record

        def attempt(candidate: CandidateCommand, seconds: float) -> None:
            def tick(share: float) -> None:
                # Never complete, since the model must still be measured.
                self._show_step(candidates, len(records) + 0.95 * share, f"making {candidate.name}")

            records[candidate.name] = self._attempt(candidate, seconds, tick)

        waiting = [candidate for candidate in candidates if candidate.name not in records]
        return records, run_all(waiting, attempt, self.request.deadline)

    def _attempt(self, candidate: CandidateCommand, seconds: float, tick: Callable[[float], None]) -> Record:
        """Make and measure a candidate, and record the result or why there is none."""
        path, threads = self.folder.model(candidate), str(self.request.threads)
        arguments = candidate.filled(self.request.exact, self.sets.train, path)
        try:
            built = make([*arguments, "-q", "-j", threads], seconds, tick=tick)
            record = Record(file_hash(path), built)
            self._measure(candidate, record)
        except OutOfTime:
            raise
        except Failed as error:
            record = Record(reason=str(error), rejected=error.negative)
            if not error.final:
                return record  # after a full disk or a kill, the next run tries again
        except SvmfastError as error:
            record = Record(reason=str(error))
        self.folder.keep(candidate, record)
        return record

    def _measure(self, candidate: CandidateCommand, record: Record) -> None:
        """Measure a candidate's file; if it has a certificate, also with the exact model as fallback."""
        from svmfast.evaluation.benchmark import ComparedModel, check_same_question
        from svmfast.formats.detect import load_model
        from svmfast.models.polynomial import PolynomialModel

        path = self.folder.model(candidate)
        model = unscaled(load_model(path, memory=self.request.memory))
        check_same_question(ComparedModel(self.request.exact, self.request.model), ComparedModel(path, model))
        losses, built = self.measuring.alone(model), record.build_seconds
        found = [_Entry(candidate.name, candidate, model, losses, os.path.getsize(path), built)]
        covered = (losses.certified_percent or 0.0) >= LEAST_CERTIFIED
        if covered and isinstance(model, PolynomialModel):
            together, name = self.measuring.backed(model), candidate.name + FALLBACK
            size = len(self.request.stored(replace(model, embedded_exact=self.request.model)))
            found.append(_Entry(name, candidate, model, together, size, built, backed=True))
        self._entries[candidate.name] = found

    def _join_all(self) -> list[Missing]:
        """Join the exact model with candidates without a certificate; return those that cannot be joined."""
        from svmfast.frontiers.report import Missing

        asked = self.request
        percent = asked.limits.max_diff
        if percent is None and not asked.limits.balanced:
            percent = asked.limits.max_loss  # the loss of accuracy is at most the share of labels that differ
        # A sample cannot show that no label differs; and if all labels may differ, no cascade is needed.
        joining = next((name for name in joining_methods() if name in asked.methods), None)
        if joining is None or asked.model.head.is_regression or not percent or percent >= 100:
            return []
        self._joiner = Joiner(
            asked.model,
            asked.sha256,
            self.measuring.choosing.rows,
            self.measuring.choosing_labels,
            percent,
            seed=asked.seed,
            threads=asked.threads,
        )
        missing: list[Missing] = []
        for found in list(self._entries.values()):
            plain = found[0]
            if len(found) > 1 or not plain.losses.choosing.labels_differing:
                continue
            name = plain.name + FALLBACK
            try:
                model = self._joiner.join(plain.model)
            except OptionError as error:
                return [*missing, Missing(f"a candidate{FALLBACK}", joining, str(error))]
            except UnsupportedError as error:
                missing.append(Missing(name, joining, str(error)))
                continue
            if model is not None:
                losses, size = self.measuring.backed(model), len(asked.stored(model))
                found.append(_Entry(name, plain.candidate, model, losses, size, plain.build_seconds, True))
        return missing

    def _points(self) -> list[Point]:
        """Time all measured models in turn, while nothing else runs, and return the points."""
        from svmfast.evaluation.linear import linear_seconds
        from svmfast.evaluation.timing import race
        from svmfast.frontiers.pareto import Point

        asked, entries = self.request, [entry for found in self._entries.values() for entry in found]
        rows = self._timing_rows(self.measuring.choosing.rows)
        left = asked.end - time.monotonic()
        calls = {"exact": self._call(None, rows), **{e.name: self._call(e, rows) for e in entries}}
        seconds, speeds = race(calls, limit_seconds=_bounded(0.25 * left), rounds=FEW_ROUNDS)
        # Only models that may be recommended need precise speeds.
        good = {e.name for e in entries if asked.limits.kept_by(e.losses.choosing) and e.losses.skilled}
        calls = {name: call for name, call in calls.items() if name == "exact" or name in good}
        if len(calls) > 1:
            speeds |= race(calls, limit_seconds=_bounded(0.5 * left))[1]
        unit = linear_seconds(asked.model.head, rows, threads=asked.threads).seconds
        of_exact = self.measuring.of_exact()

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
                certified_percent=losses.certified_percent,
                skilled=losses.skilled,
                build_seconds=entry.build_seconds if entry else None,
                command=self._made_by(entry) if entry else None,
                use=self._used_by(entry) if entry else None,
                allowance_percent=self._allowance(entry) if entry else None,
            )

        return [point(None), *map(point, entries)]

    def _allowance(self, entry: _Entry) -> float | None:
        if self._joiner is None or not _is_cascade(entry.model):
            return None
        return self._joiner.max_percent

    def _confirm_speed(self, best: Point) -> Speed:
        """Time the chosen model and the exact model again, on rows that did not influence the choice."""
        from svmfast.evaluation.timing import race

        entry = next(e for found in self._entries.values() for e in found if e.name == best.name)
        rows = self._timing_rows(self.measuring.confirming.rows)
        left = self.request.end - time.monotonic()
        calls = {"exact": self._call(None, rows), best.name: self._call(entry, rows)}
        return race(calls, limit_seconds=_bounded(left))[1][best.name]

    def _timing_rows(self, rows: Rows) -> Rows:
        """Return enough rows to compare speeds, and few enough for many rounds."""
        import numpy as np

        rate = len(self.measuring.choosing) / max(self.measuring.exact_seconds, 1e-9)
        n = max(LEAST_SAMPLE, min(len(rows), int(rate * SAMPLE_SECONDS)))
        order = np.random.default_rng(self.request.seed).permutation(len(rows))
        return rows.take(np.sort(np.resize(order, n)))  # repeated if there are fewer

    def _call(self, entry: _Entry | None, rows: Rows) -> Callable[[], object]:
        from svmfast.models.answer import answer

        model = self.request.model if entry is None else entry.model
        threads = self.request.threads
        if entry is None or not entry.backed:
            return partial(answer, model, rows, threads=threads)
        return partial(answer, model, rows, exact=self.request.model, threads=threads)

    def _command(self, candidate: CandidateCommand) -> str:
        return candidate.command(self.request.exact, self.sets.train, self.folder.model(candidate))

    def _made_by(self, entry: _Entry) -> str:
        path = self.folder.model(entry.candidate)
        if not entry.backed:
            return self._command(entry.candidate)
        if _is_cascade(entry.model):
            assert self._joiner is not None
            choosing = os.fspath(self.folder.path / CHOOSE_PART)
            join = self._joiner.command(path, self.request.exact, choosing, path + "+exact")
            return f"{self._command(entry.candidate)} && {join}"
        # The model with this name contains the exact model as its fallback, like the recommended copy.
        words = entry.candidate.filled(self.request.exact, self.sets.train, path + "+exact")
        return shell_line(["svmfast", *words, EMBED])

    def _used_by(self, entry: _Entry) -> str:
        path = self.folder.model(entry.candidate)
        if entry.backed and _is_cascade(entry.model):
            path += "+exact"
        words = ["svmfast", "predict", "DATA", path, "OUT"]
        if entry.backed and not _is_cascade(entry.model):
            words += ["--exact", self.request.exact]
        return shell_line(words)

    def content(self, point: Point) -> bytes:
        """Return the content of a point's file, which contains the exact model if that is the fallback."""
        from svmfast.models.polynomial import PolynomialModel

        entry = next(e for found in self._entries.values() for e in found if e.name == point.name)
        if not entry.backed:
            return (self.folder.models / point.name).read_bytes()
        if isinstance(entry.model, PolynomialModel):
            # As with --embed-exact.
            return self.request.stored(replace(entry.model, embedded_exact=self.request.model))
        return self.request.stored(entry.model)


def _bounded(seconds: float) -> float:
    return min(MOST_RACE, max(LEAST_RACE, seconds))


def _is_cascade(model: Model) -> bool:
    from svmfast.models.cascade import CascadeModel

    return isinstance(model, CascadeModel)
