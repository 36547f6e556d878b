"""A run of ``svmfast frontier``: makes, measures and times candidates, chooses one and confirms it."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from svmfast.errors import SvmfastError
from svmfast.frontiers.child import Failed, OutOfTime, make
from svmfast.frontiers.entries import Entries, RunRequest
from svmfast.frontiers.folder import MadeRecord, file_hash
from svmfast.frontiers.grid import CandidateCommand, enlarged, plan
from svmfast.frontiers.racing import most_timing
from svmfast.frontiers.schedule import Schedule
from svmfast.methods.grid import Grid
from svmfast.progress import Progress, duration, silent

if TYPE_CHECKING:
    from svmfast.frontiers.report import Frontier, Missing


class FrontierRun:
    """The state of a run, from the first candidate to the report."""

    def __init__(self, request: RunRequest, progress: Progress = silent) -> None:
        self.request, self.folder, self.entries = request, request.folder, Entries(request)
        self._progress = progress
        self._candidates: list[CandidateCommand] = []  # all, with those that were added
        self._records: dict[str, MadeRecord] = {}  # by candidate

    def run(self) -> Frontier:
        """Plan, make, measure, time, choose and confirm."""
        from svmfast import __version__
        from svmfast.frontiers.pareto import choose, pareto
        from svmfast.frontiers.report import Frontier

        asked = self.request
        candidates, missing = plan(
            self._grid,
            asked.methods,
            proven=asked.limits.max_diff_percent == 0,
            labelled=asked.labelled,
            reading=asked.sets.reading,
        )
        self.folder.open()
        asked.sets.write(self.folder.path)
        late = self._make([candidate.in_memory(asked.memory) for candidate in candidates])
        # The size of another candidate's file may have shown that this one fits after all.
        tried = {candidate.name for candidate in self._candidates}
        missing = [one for one in missing if one.name not in tried]
        missing += [*self.entries.without_exact.values(), *self._not_made(late)]
        self._show("timing")
        self.entries.racing.finish(asked.end)
        points = self.entries.points()
        return Frontier(
            exact=asked.exact,
            origin=asked.origin,
            features=asked.measuring.columns,
            threads=asked.threads,
            seed=asked.seed,
            points=points,
            on_front=pareto(points),
            missing=missing,
            limits=asked.limits,
            choice=choose(points, asked.limits),
            complete=not late,
            version=__version__,
            class_names=None if asked.scaling is None else asked.scaling.names_of_labels,
            unlabelled=not asked.labelled,
        )

    @property
    def _grid(self) -> Grid:
        """The quantities from which the methods derive their candidates."""
        asked, size_of = self.request, None
        if asked.limits.max_bytes is not None:
            # Training on a named table gives a model with these names.
            size_of = lambda model: len(asked.stored(model)) + asked.sets.names_bytes  # noqa: E731
        return Grid(asked.model, asked.seed, asked.limits.max_bytes, size_of, asked.sets.columns)

    def _make(self, candidates: Sequence[CandidateCommand]) -> dict[str, str]:
        """Measure what an earlier run has made, make the others; return why some were not made in time."""
        self._candidates = list(candidates)
        waiting = []
        for candidate in candidates:
            following: CandidateCommand | None = candidate
            while following is not None:  # the next candidate may exist already
                if (record := self.folder.record(following)) is None:
                    waiting.append(following)
                    break
                self._show("measuring", following)
                if record.sha256 is not None:
                    self.entries.add(following, record)
                following = self._recorded(following, record)
        schedule = Schedule(waiting, self.request.deadline)
        for candidate, seconds in schedule.turns():
            try:
                record, final = self._made(candidate, seconds)
            except OutOfTime:
                schedule.postpone(candidate)
                continue
            if final:
                self.folder.keep(candidate, record)
            if (following := self._recorded(candidate, record)) is not None:
                schedule.add(following)
        return schedule.late()

    def _made(self, candidate: CandidateCommand, seconds: float) -> tuple[MadeRecord, bool]:
        """Make and measure a candidate; return its record, and whether another run would end the same way."""
        path, threads = self.folder.model(candidate), str(self.request.threads)
        arguments = candidate.filled(self.request.exact, self.request.sets.train, path)
        try:
            built = make(
                [*arguments, "-q", "-j", threads], seconds, tick=lambda: self._show("making", candidate)
            )
            record = MadeRecord(file_hash(path), built)
            self.entries.add(candidate, record)
        except Failed as error:  # after a full disk or a kill, the next run tries again
            return MadeRecord(reason=str(error), rejected=error.negative), error.final
        except SvmfastError as error:
            return MadeRecord(reason=str(error)), True
        return record, True

    def _recorded(self, candidate: CandidateCommand, record: MadeRecord) -> CandidateCommand | None:
        """Keep a record; return a larger candidate to try next, if the file leaves much of the limit."""
        self._records[candidate.name] = record
        if record.sha256 is None:
            return None
        n_bytes = os.path.getsize(self.folder.model(candidate))
        found = enlarged(candidate, n_bytes, self._grid, reading=self.request.sets.reading)
        if found is None or any(one.name == found.name for one in self._candidates):
            return None
        found = found.in_memory(self.request.memory)
        self._candidates.insert(self._candidates.index(candidate) + 1, found)
        return found

    def _not_made(self, late: dict[str, str]) -> list[Missing]:
        """List the candidates without a model, and why."""
        from svmfast.frontiers.report import Missing

        found = []
        for one in self._candidates:
            record = self._records.get(one.name, MadeRecord())
            if reason := late.get(one.name) or record.reason:
                reason = "rejected: " * record.rejected + reason
                command = self.entries.command(one)
                found.append(Missing(one.name, one.method, reason, command, late=one.name in late))
        return found

    def _show(self, what: str, candidate: CandidateCommand | None = None) -> None:
        """Show the step and the most time that is left; making takes 9 tenths of the bar, timing the rest."""
        asked, now, every = self.request, time.monotonic(), max(1, len(self._candidates))
        begin = now if candidate is None else max(now, asked.deadline)
        left = f"at most {duration(begin - now + most_timing(asked.end - begin))} left"
        if candidate is None:
            self._progress(0.9, 1.0, f"{what}, {left}")
            return
        done = min(len(self._records), every - 1)
        self._progress(0.9 * done / every, 1.0, f"{what} {candidate.name} ({done + 1} of {every}), {left}")
