"""One run of ``svmfast frontier``: its data, its candidates made and measured, its points."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from svmfast.cli.frontier_child import Failed, OutOfTime, make
from svmfast.cli.frontier_join import Joined, Joiner
from svmfast.cli.frontier_plan import JOINING, Candidate, plan
from svmfast.cli.frontier_run import Folder, file_hash, run_all
from svmfast.cli.messages import remarks
from svmfast.cli.options import DataFormat
from svmfast.display import shell_line
from svmfast.errors import OptionError, SvmfastError, UnsupportedError

if TYPE_CHECKING:
    from svmfast.evaluation.compare import Ground
    from svmfast.evaluation.frontier_report import Frontier, Missing
    from svmfast.evaluation.pareto import Limits, Point
    from svmfast.formats.svmlight import Dataset
    from svmfast.models.base import Model
    from svmfast.models.expansion import KernelExpansion
    from svmfast.rows import FloatArray, Rows

#: Without --test so large a part of the rows is held out, and at most so many.
HELD_OUT, MOST_HELD_OUT = 0.2, 20_000
#: Seconds after which no further round of timing begins.
RACE_SECONDS = 20.0
#: Percent of the rows below which a certificate with the exact model for the rest is left out.
LEAST_CERTIFIED = 5.0
FALLBACK = " + exact"
EMBED = "--embed-exact"


def _with_fallback(row: dict[str, Any]) -> bool:
    """Whether the exact model can answer what is not certified, at a gain.

    A certificate that covers next to nothing makes no such point: that would be the exact model again.
    """
    return row["predict_seconds_with_fallback"] is not None and row["certified_percent"] >= LEAST_CERTIFIED


def with_exact(model: Model, exact: KernelExpansion) -> bytes:
    """Return a certified model's file with the exact one inside, as ``--embed-exact`` makes it."""
    from svmfast.formats.detect import model_bytes
    from svmfast.models.polynomial import PolynomialModel

    assert isinstance(model, PolynomialModel)
    return model_bytes(replace(model, embedded_exact=exact))


class Work:
    """One run of the command; what it knows between reading and reporting."""

    def __init__(
        self,
        folder: Folder,
        exact: str,
        model: KernelExpansion,
        train: str,
        test: str | None,
        seed: int,
        jobs: int,
        how: DataFormat,
        quiet: bool,
        memory: int,
    ) -> None:
        self.folder, self.exact, self.model = folder, exact, model
        self.train, self.test, self.seed, self.jobs = train, test, seed, jobs
        self.how, self.quiet, self.memory = how, quiet, memory
        self._ground: Ground | None = None
        self._seconds: dict[str, float] = {}  # by point; known when all are made
        self._joiner: Joiner | None = None
        self._joined: dict[str, Joined] = {}  # by candidate
        self._linear_seconds = math.nan
        self.used_train, self.used_test = train, test or ""
        self.reading: tuple[str, ...] = tuple(
            f"--{name.replace('_', '-')}" for name, given in asdict(how).items() if given
        )

    def go(self, methods: tuple[str, ...], limits: Limits, deadline: float) -> Frontier:
        """Make, measure and judge everything."""
        from svmfast.cli.progress import progress_bar
        from svmfast.evaluation.frontier_report import Frontier, Missing
        from svmfast.evaluation.pareto import pareto, recommend

        rows, labels = self._data()
        candidates, missing = plan(self.model, methods, seed=self.seed, limits=limits, reading=self.reading)
        candidates = [candidate.in_memory(self.memory) for candidate in candidates]
        self.folder.open()
        if self.test is None:
            self._write_split()
        known = {c.name: record for c in candidates if (record := self.folder.record(c)) is not None}
        ground = self._exact_record(rows, labels)
        with progress_bar(self.quiet) as progress:

            def attempt(candidate: Candidate, seconds: float) -> None:
                progress(len(known), len(candidates), "models")
                known[candidate.name] = self._attempt(candidate, seconds, rows, labels)

            waiting = [candidate for candidate in candidates if candidate.name not in known]
            late = run_all(waiting, attempt, deadline)
        measured = [c for c in candidates if "row" in known.get(c.name, {})]
        labelled = not self.model.head.is_regression
        percent = limits.max_differing_percent
        # That none differ is not to be shown on any number of rows, and all may differ without a promise.
        if JOINING in methods and labelled and percent is not None and 0 < percent < 100:
            model, sha256 = self.model, self.folder.identity["model"]
            self._joiner = Joiner(model, sha256, rows, labels, percent, self.jobs)
            missing += self._join(measured, known)
        self._race(measured, known, rows)
        points = [self._point("exact", "exact", ground["row"], ground["rows"])]
        for candidate in candidates:
            record = known.get(candidate.name, {})
            points += self._points(candidate, record)
            reason = late.get(candidate.name) or record.get("reason")
            if reason:
                missing.append(Missing(candidate.name, candidate.method, reason, self._command(candidate)))
        from svmfast import __version__

        return Frontier(
            exact=self.exact,
            train=self.train,
            test=self.used_test,
            held_out=self.test is None,
            rows=len(rows),
            features=rows.n_columns,
            threads=self.jobs,
            seed=self.seed,
            regression=self.model.head.is_regression,
            points=points,
            on_front=pareto(points),
            missing=missing,
            limits=limits,
            recommended=recommend(points, limits),
            complete=not late,
            version=__version__,
        )

    def _data(self) -> tuple[Rows, FloatArray]:
        """Return the rows to measure on; without --test, say which files the two parts become."""
        dataset = self._read(self.test or self.train)
        if self.test is not None:
            return dataset.rows, dataset.labels
        import numpy as np

        n = len(dataset.rows)
        held = min(MOST_HELD_OUT, int(n * HELD_OUT))
        if not held:
            raise UnsupportedError(f"{self.train} has {n} rows, too few to hold some out", "give --test")
        order = np.random.default_rng(self.seed).permutation(n)
        # In the order of the file: labels keep their order of first occurrence.
        out, rest = np.sort(order[:held]), np.sort(order[held:])
        self._split = [
            ("test.part", dataset.rows.take(out), dataset.labels[out]),
            ("train.part", dataset.rows.take(rest), dataset.labels[rest]),
        ]
        self.reading = ()
        self.used_test, self.used_train = (os.fspath(self.folder.path / name) for name, *_ in self._split)
        return self._split[0][1:]

    def _read(self, path: str) -> Dataset:
        from svmfast.formats.svmlight import read_svmlight

        dataset = read_svmlight(path, threads=self.jobs, **self.how.reading())
        remarks((f"{path}: {note}" for note in dataset.notes.messages()), self.quiet)
        return dataset

    def _write_split(self) -> None:
        from svmfast.formats.svmlight import write_svmlight

        for name, rows, labels in self._split:
            place = self.folder.path / name
            if not place.exists():
                write_svmlight(place, rows, labels)

    def _exact_record(self, rows: Rows, labels: FloatArray) -> dict[str, Any]:
        """The exact model, measured once for a folder."""
        record = self.folder.record(_EXACT)
        if record is None:
            ground = self._measuring(rows, labels)
            record = {"row": asdict(ground.row(ground.exact)), "rows": len(rows)}
            self.folder.keep(_EXACT, record)
        return record

    def _join(self, candidates: Sequence[Candidate], known: dict[str, dict[str, Any]]) -> list[Missing]:
        """Put the exact model behind those whose certificate does not; return what is missing for that."""
        from svmfast.evaluation.frontier_report import Missing
        from svmfast.formats.detect import load_model

        assert self._joiner is not None
        missing = []
        for candidate in candidates:
            row = known[candidate.name]["row"]
            if _with_fallback(row) or row["labels_differing_percent"] == 0:
                continue
            try:
                joined = self._joiner.join(load_model(self.folder.model(candidate), memory=self.memory))
            except OptionError as error:
                return [Missing(f"a candidate{FALLBACK}", JOINING, str(error))]
            except UnsupportedError as error:
                missing.append(Missing(candidate.name + FALLBACK, JOINING, str(error)))
                continue
            if joined is not None:
                self._joined[candidate.name] = joined
        return missing

    def _race(self, candidates: Sequence[Candidate], known: dict[str, dict[str, Any]], rows: Rows) -> None:
        """Time all models in turn, now that nothing else of ours runs."""
        from svmfast.evaluation.linear import linear_seconds
        from svmfast.evaluation.timing import race
        from svmfast.formats.detect import load_model
        from svmfast.models.answer import answer

        calls = {"exact": partial(answer, self.model, rows, threads=self.jobs)}
        for candidate in candidates:
            joined = self._joined.get(candidate.name)
            model = joined.model if joined else load_model(self.folder.model(candidate), memory=self.memory)
            calls[candidate.name] = partial(answer, model, rows, threads=self.jobs)
            if joined or _with_fallback(known[candidate.name]["row"]):
                calls[candidate.name + FALLBACK] = partial(
                    answer, model, rows, exact=self.model, threads=self.jobs
                )
        self._seconds = race(calls, limit_seconds=RACE_SECONDS)
        self._linear_seconds = linear_seconds(self.model.head, rows, threads=self.jobs).fastest

    def _measuring(self, rows: Rows, labels: FloatArray) -> Ground:
        """The exact model's answers, needed only when there is something new to measure."""
        if self._ground is None:
            from svmfast.evaluation.compare import Entrant, Ground

            identity = self.folder.identity
            entrant = Entrant(self.exact, self.model, os.path.getsize(self.exact), None, identity["model"])
            self._ground = Ground(
                entrant,
                rows,
                labels,
                threads=self.jobs,
                repeats=1,
            )
        return self._ground

    def _command(self, candidate: Candidate) -> str:
        return candidate.command(self.exact, self.used_train, self.folder.model(candidate))

    def _attempt(
        self, candidate: Candidate, seconds: float, rows: Rows, labels: FloatArray
    ) -> dict[str, Any]:
        """Make and measure a candidate, and put on record what came of it, or why nothing did."""
        path = self.folder.model(candidate)
        arguments = candidate.filled(self.exact, self.used_train, path)
        try:
            built = make([*arguments, "-q", "-j", str(self.jobs)], seconds)
            record = self._measure(path, rows, labels)
            record["build_seconds"] = built
        except OutOfTime:
            raise
        except (Failed, SvmfastError) as error:
            record = {"reason": str(error)}
            if isinstance(error, Failed) and not error.final:
                return record  # a full disk or a kill: the next run tries again
        self.folder.keep(candidate, record)
        return record

    def _measure(self, path: str, rows: Rows, labels: FloatArray) -> dict[str, Any]:
        from svmfast.evaluation.compare import Entrant
        from svmfast.formats.detect import open_model

        opened = open_model(path, memory=self.memory)
        entrant = Entrant(
            path, opened.model, os.path.getsize(path), None, opened.sha256, opened.provenance.get("source")
        )
        ground = self._measuring(rows, labels)
        ground.check(entrant)
        row = asdict(ground.row(entrant))
        found = {"sha256": file_hash(path), "row": row, "rows": len(rows)}
        if _with_fallback(row):
            found["bytes_with_exact"] = len(with_exact(opened.model, self.model))
        return found

    def content(self, point: Point) -> bytes:
        """Return the file of a point; where the exact model stands behind it, a file that has it inside."""
        from svmfast.formats.detect import load_model, model_bytes

        name = point.name.removesuffix(FALLBACK)
        if name == point.name:
            return (self.folder.models / name).read_bytes()
        if name in self._joined:
            return model_bytes(self._joined[name].model)
        return with_exact(load_model(self.folder.models / name, memory=self.memory), self.model)

    def _points(self, candidate: Candidate, record: dict[str, Any]) -> list[Point]:
        """A candidate's point, and where it can fall back a second one: with the exact model for the rest."""
        if "row" not in record:
            return []
        row, n, built = record["row"], record["rows"], record["build_seconds"]
        path, made = self.folder.model(candidate), self._command(candidate)
        use = shell_line(["svmfast", "predict", "DATA", path, "OUT"])
        plain = self._point(candidate.name, candidate.method, row, n, built, made, use)
        from svmfast.evaluation.score import percent

        name, whole = candidate.name + FALLBACK, f"{path}+exact"
        joined = self._joined.get(candidate.name)
        if joined is not None and self._joiner is not None:
            both = {
                **row,
                "labels_differing_percent": joined.differing_percent,
                "linear_cost_counted": None,
                "n_bytes": joined.n_bytes,
                "accuracy": joined.accuracy,
            }
            join = self._joiner.command(path, self.exact, self.used_test, self.reading, whole)
            made, use = f"{made} && {join}", shell_line(["svmfast", "predict", "DATA", whole, "OUT"])
            return [plain, self._point(name, candidate.method, both, n, built, made, use)]
        if not _with_fallback(row):
            return [plain]
        both = {
            **row,
            "labels_differing_percent": percent(row["labels_differing_with_fallback"], n),
            "linear_cost_counted": None,
            "n_bytes": record["bytes_with_exact"],
            "accuracy": row["accuracy_with_fallback"],
        }
        # Named so, the model holds the exact one: it falls back by itself, and so does the recommended copy.
        made = shell_line(["svmfast", *candidate.filled(self.exact, self.used_train, whole), EMBED])
        use = shell_line([*("svmfast", "predict", "DATA", path, "OUT"), "--exact", self.exact])
        return [plain, self._point(name, candidate.method, both, n, built, made, use)]

    def _point(
        self,
        name: str,
        method: str,
        row: dict[str, Any],
        n: int,
        built: float | None = None,
        made: str | None = None,
        use: str | None = None,
    ) -> Point:
        from svmfast.evaluation.pareto import Point

        differing = row["labels_differing_percent"]
        return Point(
            name=name,
            method=method,
            differing_percent=row["values_differing_percent"] if differing is None else differing,
            accuracy=row["accuracy"],
            mse=row["mse"],
            n_bytes=row["n_bytes"],
            rows_per_second=n / self._seconds[name],
            speedup=self._seconds["exact"] / self._seconds[name],
            linear_cost=self._seconds[name] / self._linear_seconds,
            linear_cost_counted=row["linear_cost_counted"],
            certified_percent=row["certified_percent"],
            build_seconds=built,
            command=made,
            use=use,
        )


#: The exact model's place among the records.
_EXACT = Candidate("exact", "exact", 0, ())
