"""The run of ``svmfast frontier``: makes, measures and times candidates, chooses one and confirms it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from svmfast import __version__
from svmfast.caches import cached
from svmfast.errors import MemoryLimitError, SvmfastError
from svmfast.evaluation.timing import Speed
from svmfast.frontiers.child import Failed, OutOfTime, make
from svmfast.frontiers.choice import choose, contenders, pareto
from svmfast.frontiers.folder import MadeRecord, file_hash
from svmfast.frontiers.measured import MeasuredModels
from svmfast.frontiers.plan import CandidateCommand, Missing, Schedule, plan
from svmfast.frontiers.racing import LEAST_TIMING, MOST_TIMING, Racing, timed_rows
from svmfast.frontiers.report import Frontier
from svmfast.frontiers.request import RunRequest
from svmfast.methods.candidates import CandidateRequest
from svmfast.models.answer import answer
from svmfast.models.base import Model
from svmfast.models.expansion import KernelExpansion
from svmfast.progress import Progress, duration, silent
from svmfast.rows import Rows


class FrontierRun:
    """The state of a run, from the first candidate to the report."""

    def __init__(self, request: RunRequest, progress: Progress = silent) -> None:
        self.request, self.folder, self.measured = request, request.folder, MeasuredModels(request)
        self._progress = progress
        self._candidates: Sequence[CandidateCommand] = ()
        self._records: dict[str, MadeRecord] = {}  # by candidate

    def run(self) -> Frontier:
        """Plan; make, measure and time each candidate; time them all on; choose and confirm."""
        asked, limit = self.request, self.request.limits.max_bytes
        if limit is not None and asked.exact_bytes <= limit:
            limit = None
        candidates, missing = plan(
            CandidateRequest(asked.exact, asked.seed, limit),
            asked.methods,
            proven=asked.limits.max_diff_percent == 0,
            unlabelled=asked.unlabelled,
            reading=asked.sets.reading,
            memory=asked.memory,
        )
        self.folder.open()
        asked.sets.write(self.folder.path)
        late = self._make_all(candidates)
        missing += self._not_made(late)
        self._show("timing")
        self._racing.finish(asked.end, self._contenders)
        points = self.measured.points(self._racing.speeds())
        return Frontier(
            exact_path=asked.exact_path,
            origin=asked.origin,
            features=asked.comparing.columns,
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
            unlabelled=asked.unlabelled,
        )

    def _make_all(self, candidates: Sequence[CandidateCommand]) -> dict[str, str]:
        """Measure what an earlier run has made, make the others; return why some were not made in time."""
        self._candidates = candidates
        waiting = []
        for candidate in candidates:
            if (record := self.folder.record(candidate)) is None:
                waiting.append(candidate)
                continue
            self._show("measuring", candidate)
            if record.sha256 is not None:
                # The run that made it has measured it; an error now means foreign content, and ends the run.
                self._measure(candidate, record)
            self._records[candidate.name] = record
        schedule = Schedule(waiting, self.request.deadline)
        for candidate, seconds in schedule.turns():
            try:
                record, final = self._make_one(candidate, seconds)
            except OutOfTime:
                schedule.postpone(candidate)
                continue
            if final:
                self.folder.keep(candidate, record)
            self._records[candidate.name] = record
        return schedule.late()

    def _make_one(self, candidate: CandidateCommand, seconds: float) -> tuple[MadeRecord, bool]:
        """Make and measure a candidate; return its record, and whether another run would end the same way."""
        arguments = [*self.request.arguments(candidate), "-q", "-j", str(self.request.threads)]
        try:
            built = make(arguments, seconds, tick=lambda: self._show("making", candidate))
            record = MadeRecord(file_hash(self.folder.model(candidate)), built)
            self._measure(candidate, record)
        except Failed as error:  # the next run tries again, unless the answer was negative
            return MadeRecord(reason=str(error), rejected=error.negative), error.negative
        except SvmfastError as error:
            return MadeRecord(reason=str(error)), not isinstance(error, MemoryLimitError)
        return record, True

    def _measure(self, candidate: CandidateCommand, record: MadeRecord) -> None:
        """Measure a candidate's model, alone and where it helps with a fallback, and begin to time it."""
        for one in self.measured.measure(candidate, record):
            fallback = None if one.whole is None else self.request.exact
            self._racing.add(one.name, self._timed_call(one.model, fallback))
        self._racing.between(self._contenders)

    @cached
    def _racing(self) -> Racing:
        """The rounds of timing, which begin with the first measured model."""
        return Racing(self._timed_call(self.request.exact))

    def _timed_call(self, model: Model, fallback: KernelExpansion | None = None) -> Callable[[], object]:
        return partial(answer, model, self._timed_rows, exact=fallback, threads=self.request.threads)

    @cached
    def _timed_rows(self) -> Rows:
        asked, comparing = self.request, self.request.comparing
        left = asked.end - time.monotonic()
        return timed_rows(comparing.choosing.rows, comparing.exact_seconds, left, asked.scaling, asked.seed)

    def _contenders(self, speeds: Mapping[str, Speed]) -> list[str]:
        """The models whose speeds decide, as far as these tell.

        The confirming rows play no part, so that they confirm without bias.
        """
        return [point.name for point in contenders(self.measured.points(speeds), self.request.limits)]

    def _not_made(self, late: dict[str, str]) -> list[Missing]:
        """List the candidates without a measured model, and why."""
        found = []
        for one in self._candidates:
            record = self._records.get(one.name, MadeRecord())
            if reason := late.get(one.name) or record.reason:
                reason = "rejected: " * record.rejected + reason
                command = self.request.command(one)
                found.append(Missing(one.name, one.method, reason, command, late=one.name in late))
        return found

    def _show(self, what: str, candidate: CandidateCommand | None = None) -> None:
        """Show the step and the most time that is left; making takes 9 tenths of the bar, timing the rest."""
        every, left = max(1, len(self._candidates)), max(self.request.end - time.monotonic(), LEAST_TIMING)
        done = min(len(self._records), every - 1)
        if candidate is None:
            done, left = every, min(left, MOST_TIMING)
        else:
            what += f" {candidate.name} ({done + 1} of {every})"
        text = f"{what}, at most {duration(left + LEAST_TIMING)} left"
        self._progress(0.9 * done / every, 1.0, text)
