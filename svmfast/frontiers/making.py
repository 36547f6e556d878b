"""Makes the candidates of a run within the time limit, one process after the other, and records them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from svmfast.errors import SvmfastError
from svmfast.frontiers.child import Failed, make
from svmfast.frontiers.folder import Folder, Record, file_hash
from svmfast.frontiers.forecast import Forecast
from svmfast.frontiers.grid import CandidateCommand
from svmfast.frontiers.schedule import run_all

if TYPE_CHECKING:
    from svmfast.frontiers.request import Request

#: Shows the share of the whole run that has passed, and what is being done.
Show = Callable[[float, str], None]


class Making:
    """The candidates of a run, and the record of each.

    Parameters
    ----------
    request : Request
    folder : Folder
    train : str
        The file of the training rows.
    measure : callable
        Measures a candidate's file.
    enlarged : callable
        Returns a larger candidate to try after one whose file is smaller than its bound, or None.
    forecast : Forecast
    show : callable

    Attributes
    ----------
    candidates : list of CandidateCommand
        All, with those that were added.
    records : dict of str to Record
        By name.
    late : dict of str to str
        The reasons for those that were not made in time.
    """

    def __init__(
        self,
        request: Request,
        folder: Folder,
        train: str,
        *,
        measure: Callable[[CandidateCommand, Record], None],
        enlarged: Callable[[CandidateCommand, Record], CandidateCommand | None],
        forecast: Forecast,
        show: Show,
    ) -> None:
        self._request, self._folder, self._train = request, folder, train
        self._measure, self._enlarged, self._forecast, self._show = measure, enlarged, forecast, show
        self.candidates: list[CandidateCommand] = []
        self.records: dict[str, Record] = {}
        self.late: dict[str, str] = {}
        self._quick: set[str] = set()  # made by an earlier run

    def run(self, candidates: Sequence[CandidateCommand]) -> None:
        """Measure what an earlier run has made, and make the others."""
        self.candidates = list(candidates)
        self._quick = {one.name for one in candidates if self._folder.record(one) is not None}
        waiting = []
        for candidate in candidates:
            following: CandidateCommand | None = candidate
            while following is not None:  # an earlier run has perhaps made what follows too
                if (record := self._folder.record(following)) is None:
                    waiting.append(following)
                    break
                self._show_step(following, "measuring")
                if record.sha256 is not None:
                    self._measure(following, record)
                following = self._recorded(following, record)
        self.late = run_all(waiting, self._attempt, self._request.deadline)

    def _recorded(self, candidate: CandidateCommand, record: Record) -> CandidateCommand | None:
        """Keep a record; return the candidate to try next, if the result suggests one."""
        self.records[candidate.name] = record
        following = None if record.sha256 is None else self._enlarged(candidate, record)
        if following is None or any(one.name == following.name for one in self.candidates):
            return None
        self.candidates.insert(self.candidates.index(candidate) + 1, following)
        return following

    def _attempt(self, candidate: CandidateCommand, seconds: float) -> CandidateCommand | None:
        """Make and measure a candidate, and record the result or why there is none."""
        self._forecast.start(candidate, seconds)
        finished = False
        try:
            record, final = self._made(candidate, seconds)
            finished = True
        finally:
            self._forecast.stop(finished=finished)
        if final:
            self._folder.keep(candidate, record)
        return self._recorded(candidate, record)

    def _made(self, candidate: CandidateCommand, seconds: float) -> tuple[Record, bool]:
        """Return the record of a candidate, and whether another run would end in the same way."""
        path, threads = self._folder.model(candidate), str(self._request.threads)
        arguments = [*candidate.filled(self._request.exact, self._train, path), "-q", "-j", threads]
        try:
            built = make(arguments, seconds, tick=lambda share: self._show_step(candidate, "making"))
            record = Record(file_hash(path), built)
            self._measure(candidate, record)
        except Failed as error:  # after a full disk or a kill, the next run tries again
            return Record(reason=str(error), rejected=error.negative), error.final
        except SvmfastError as error:
            return Record(reason=str(error)), True
        return record, True

    def _show_step(self, candidate: CandidateCommand, what: str) -> None:
        waiting = [
            one
            for one in self.candidates
            if one.name not in self.records and one.name not in self._quick and one != candidate
        ]
        left = self._forecast.left(waiting, len(self.candidates))
        number = min(len(self.records) + 1, len(self.candidates))
        words = f"{what} {candidate.name} ({number} of {len(self.candidates)}), {left}"
        self._show(self._forecast.share(left), words)
