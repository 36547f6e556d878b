"""All inputs of a method's run as declared: opened, checked against each other, sampled and scaled."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from svmfast.commands.data_check import DataCheck
from svmfast.commands.given import DATA, checked_labels, data_of, model_of, paths_of, with_scaling_of
from svmfast.commands.training import TrainingNames, training_labels, with_means
from svmfast.display import named_labels
from svmfast.errors import (
    EmptyDataError,
    OptionError,
    UnsupportedError,
    WrongTypeError,
)
from svmfast.formats.classes import TrainingClasses
from svmfast.formats.data import read_data, stream_data
from svmfast.formats.dataset import Notes, as_one_dataset, naming_file
from svmfast.formats.files_read import FilesRead
from svmfast.formats.model_files import identity_of
from svmfast.formats.spool import PARTS_PER_SET, Spool
from svmfast.methods.common.row_sample import RowSample
from svmfast.methods.method import GivenModel, GivenRows, GivenStream, Input, Inputs, Method, Setting
from svmfast.models.memory import MEMORY
from svmfast.options import Reading
from svmfast.rows import FloatArray, IntArray, Rows, as_rows, with_zeros

_PARSED_AT_ONCE = 4 << 20


@contextmanager
def opened_inputs(
    method: Method, given: Mapping[str, Any], labels: ArrayLike | None, options: Any, reading: Reading,
    setting: Setting,
) -> Iterator[Inputs]:  # fmt: skip
    """Read the inputs of a run; errors of rows raised inside the block name the line of the file.

    `given` are the inputs by name: each a path, an object or None, or a sequence of these where several are
    allowed; `labels` those of the first rows whose labels are used. Of the method's `options`, ``memory``,
    ``seed`` and ``rows`` (the size limit of a sample) matter here.
    """
    inputs, memory = Inputs(), getattr(options, "memory", MEMORY)
    models = [one for one in method.inputs if one.content != "rows"]
    for spec in models:
        one = given.get(spec.name)
        missing = one is None and not spec.required
        inputs[spec.name] = None if missing else _model(one, spec, memory, setting)
    opened = {name: one for name, one in inputs.items() if one is not None}
    reading = with_scaling_of(reading, [(one.name, one.model) for one in opened.values()], memory=memory)
    inputs.scaling = reading.scale
    for name, one in opened.items():
        if one.model.scaling is not None:  # models converted from a scaled one name the model in it as source
            inner = one.model.unscaled
            inputs[name] = replace(one, model=inner)
    names = TrainingNames(method, given, options, reading)
    # The model whose width and scale the rows must match: the exact one, if there is one.
    models.sort(key=lambda one: one.content != "exact model")
    reference = next((inputs[one.name].model for one in models if inputs[one.name] is not None), None)
    with ExitStack() as stack:
        reader = _Reader(options, DataCheck(reference, reading, setting), setting, stack, names)
        for spec in (one for one in method.inputs if one.content == "rows"):
            trains = spec.required and method.group == "train"
            data = given.get(spec.name)
            if trains and names.keeps and reading.missing == "mean" and not _is_shared(options, data):
                reading = with_means(reading, data, setting.threads, labels)
            reader = replace(reader, check=replace(reader.check, reading=reading), trains=trains)
            own, labels = (None, labels) if spec.labels == "ignored" else (labels, None)
            inputs[spec.name] = one = reader.read(data, own, spec)
            if trains:
                assert one is not None
                width = one.rows.n_columns if isinstance(one, GivenRows) else one.source.n_features
                reading = replace(reading, scale=names.on(reading.scale, width))
                inputs.scaling = reading.scale
                if names.of_classes is not None:
                    meaning = named_labels(names.of_classes)
                    setting.note(f"{one.name}: labels stand for classes: {meaning}")
        yield inputs


def _model(given: Any, spec: Input, memory: int, setting: Setting) -> GivenModel:
    model, file = model_of(given, f"`{spec.name}`", setting.note, memory)
    name, size = (f"`{spec.name}`", None) if file is None else (os.fspath(given), file.n_bytes)
    found = GivenModel(model, name, identity_of, size)
    if spec.content == "exact model" and model.unscaled.expansion is None:
        raise UnsupportedError(f"{found.name} is a {model.unscaled.kind} model", "give the LIBSVM model")
    return found


@dataclass(frozen=True, eq=False)
class _Reader:
    """Reads the rows of a run: open, compare with the model, sample or spool, scale."""

    #: Those of the method; ``memory``, ``seed``, ``rows`` (the limit of a sample) and ``precomputed`` matter.
    options: Any
    #: With the model whose width and scale the rows must match, if any, and the format of the rows.
    check: DataCheck
    setting: Setting
    #: Closes opened files after the run.
    stack: ExitStack
    names: TrainingNames
    #: Whether the rows are trained on.
    trains: bool = False
    #: The memory of the scaled rows of each input, since one allowance serves them all.
    held: list[int] = field(default_factory=list)

    @property
    def _classes(self) -> TrainingClasses | None:
        return self.names.classes if self.trains else None

    @property
    def _precomputed(self) -> bool:
        return getattr(self.options, "precomputed", False)

    @property
    def _memory(self) -> int:
        return getattr(self.options, "memory", MEMORY)

    def see(self, name: str, columns: Sequence[str] | None, *, in_memory: bool = False) -> None:
        """Take note of the columns of a table; `in_memory` for a DataFrame."""
        self.check.columns(name, columns, in_memory=in_memory)
        self.names.see(columns)

    def read(self, given: Any, labels: ArrayLike | None, spec: Input) -> GivenRows | GivenStream | None:
        """The rows of an input; None if none are given."""
        if spec.spooled and not getattr(self.options, "in_memory", False):
            return self._stream(given, labels, spec)
        if given is None or (isinstance(given, list | tuple) and not given):
            if spec.required:
                raise WrongTypeError(f"`{spec.name}`", given, DATA)
            return None
        if self.check.reading.unlabelled and spec.labels == "needed":
            raise OptionError(f"`unlabelled`: `{spec.name}` needs labels")
        paths = paths_of(given, several=spec.many)
        if paths is None:
            return self._in_memory(given, labels, spec)
        return self._files(paths, spec) if spec.most is None else self._sampled_files(paths, spec)

    def _files(self, paths: Sequence[Any], spec: Input) -> GivenRows:
        """All rows of the files."""
        self.setting.progress(0, None, "read")
        files, blocks = FilesRead(f"`{spec.name}`"), []
        for path in paths:
            try:
                dataset = read_data(
                    path,
                    self.check.reading.as_read,
                    threads=self.setting.threads,
                    precomputed=self._precomputed,
                    classes=self._classes,
                    memory=self._memory,
                )
            except EmptyDataError as error:
                files.add_empty(error)
                continue
            blocks.append(dataset)
            files.add(dataset.path, len(dataset), dataset.notes, dataset.first_line)
            self.see(dataset.path, dataset.columns)
            self.check.width(dataset.path, dataset.rows, dataset.columns)
            self.check.scale(dataset.path, dataset.rows)
        files.finish(self.setting.note)
        if spec.required:  # only rows that are trained on; other rows are checked against the model
            self.stack.enter_context(files.naming_lines())
        whole = blocks[0] if len(blocks) == 1 else as_one_dataset(blocks)
        with naming_file(files.name):
            return self._given(spec, whole.rows, self._used(whole.labels, spec), files.name)

    def _sampled_files(self, paths: Sequence[Any], spec: Input) -> GivenRows:
        """A sample of the rows of all files; the reference is compared with the first of each."""
        sample = self._sample(spec)
        for path in paths:
            name, first = os.fspath(path), True
            with stream_data(path, self.check.reading.as_read, threads=self.setting.threads) as stream:
                for block in stream:
                    if first and len(block.rows):
                        self.see(name, block.columns)
                        self.check.width(name, block.rows, block.columns)
                        first = False
                    self._note(name, block.notes)
                    sample.add(block.rows, block.labels)
                    self.setting.progress(stream.bytes_read, stream.bytes_total, "read")
        rows, labels = self._taken(sample, spec)
        self.check.scale(f"`{spec.name}`", rows)
        name = f"`{spec.name}`" if len(paths) > 1 else os.fspath(paths[0])
        with naming_file(name):
            return self._given(spec, rows, self._used(labels, spec), name, sample.numbers)

    def _in_memory(self, given: Any, labels: ArrayLike | None, spec: Input) -> GivenRows:
        """The rows of an object, or a sample of them."""
        if labels is None and spec.flag is not None and isinstance(given, tuple) and len(given) == 2:
            given, labels = given
        if self._precomputed and self.check.reading.scale is not None:
            raise OptionError(
                "`scale`: rows of a precomputed kernel are kernel values; scale the rows before"
            )
        name = f"`{spec.name}`"
        form = with_zeros if self._precomputed else as_rows
        rows, values = self._rows(given, labels, spec, name, form)
        self.check.width(name, rows)
        self.check.scale(name, rows)
        sample = None if spec.most is None else self._sample(spec)
        if sample is None or len(rows) <= sample.limit:
            return self._given(spec, rows, values, name)
        sample.add(rows, np.zeros(len(rows)) if values is None else values)
        rows, kept = self._taken(sample, spec)
        return self._given(spec, rows, None if values is None else kept, name, sample.numbers)

    def _given(
        self,
        spec: Input,
        rows: Rows,
        labels: FloatArray | None,
        name: str,
        numbers: IntArray | None = None,
    ) -> GivenRows:
        """Scale the rows and their labels, unless the run does; an error names the row by its number."""
        scaling = self.check.reading.scale
        if labels is not None and self._classes is not None:
            labels = self._classes.final(labels)
        if scaling is not None:
            if spec.copies:
                needed = scaling.zero_bytes(rows, spec.copies)
                rows = scaling.apply(
                    rows,
                    first=1 if numbers is None else numbers,
                    memory=self._memory,
                    copies=spec.copies,
                    held=sum(self.held),
                )
                self.held.append(needed)
            labels = None if labels is None else scaling.apply_labels(labels)
        return GivenRows(rows, labels, name)

    def _stream(self, given: Any, labels: ArrayLike | None, spec: Input) -> GivenStream:
        """A stream of rows that is parsed once, into memory or a temporary file."""
        paths, files = paths_of(given, several=spec.many), FilesRead(f"`{spec.name}`")
        name = files.name
        if _is_shared(self.options, given):
            return self._of_workers(given, labels, files, spec)
        spool = self.stack.enter_context(Spool(self.options.memory))
        if paths is not None:
            spool.progress = self.setting.progress
            for number, path in enumerate(paths):
                try:
                    self._spool_file(os.fspath(path), spool, files, (number, len(paths)))
                except EmptyDataError as error:
                    files.add_empty(error)
            files.finish(self.setting.note)
            self.stack.enter_context(files.naming_lines())
            name = files.name
        else:
            rows, values = self._rows(given, labels, spec, name, as_rows)
            assert values is not None, "they are needed"
            if self.check.reading.scale is not None:
                values = self.check.reading.scale.apply_labels(values)
            spool.add(self._given(spec, rows, None, name).rows, values)
        if self._classes is not None:
            spool.relabel(self._classes.final)
        spool.finish()
        return GivenStream(spool, name)

    def _of_workers(self, given: Any, labels: Any, files: FilesRead, spec: Input) -> GivenStream:
        """Rows that the workers of a cluster read and hold."""
        from svmfast.commands.cluster import check_scheduler, connected
        from svmfast.commands.cluster_reading import ClusterReader

        address: str | None = getattr(self.options, "dask", None)
        check_scheduler(address)
        paths = paths_of(given, several=spec.many)
        if paths is None and not hasattr(given, "__dask_graph__"):
            raise OptionError(f"`dask`: `{spec.name}` is in memory; expected files, or a collection of Dask")
        if self.check.reading.missing == "mean":
            raise OptionError(
                "`missing`: workers find no means; give zero, or `scale` with a model that has them"
            )
        self.setting.progress(0, None, "workers")
        workers = self.stack.enter_context(connected(address, holds_rows=True))
        setting, checked = self.setting, (self.check.reading, self._classes, self.see, files)
        reader = ClusterReader(workers, *checked, self._memory, setting.note, setting.progress)
        if paths is None:
            rows = reader.read_collection(given, labels)
        else:
            rows = reader.read_files([os.fspath(path) for path in paths])
        self.stack.enter_context(rows)
        self.stack.enter_context(files.naming_lines())
        return GivenStream(rows, files.name)

    def _spool_file(self, path: str, spool: Spool, files: FilesRead, place: tuple[int, int]) -> None:
        """Add all rows of a file, which are scaled while they are read: file `place[0]` of ``place[1]``."""
        # Each part is a fraction of a working set; a row's text is about as long as its numbers.
        piece = max(1 << 16, min(_PARSED_AT_ONCE, self.options.memory // 2 // PARTS_PER_SET))
        first_line, threads, before = 0, self.setting.threads, spool.n_rows
        with stream_data(
            path, self.check.reading, chunk_bytes=piece, threads=threads, classes=self._classes
        ) as stream:
            for block in stream:
                if not first_line:
                    self.see(path, block.columns)
                first_line = first_line or block.first_line
                spool.add(block.rows, block.labels)
                size, (number, count) = stream.bytes_total, place
                done = number + (stream.bytes_read / size if size else 0)
                self.setting.progress(done, count if size or count > 1 else None, "read")
        files.add(path, spool.n_rows - before, stream.notes, first_line)

    def _rows(
        self, given: Any, labels: ArrayLike | None, spec: Input, name: str, form: Callable[[Any], Rows]
    ) -> tuple[Rows, FloatArray | None]:
        """Rows in memory, and their labels as numbers, provisional ones of names."""
        see, used = partial(self.see, name, in_memory=True), spec.labels != "ignored"
        how: dict[str, Any] = {"labels": labels, "labelled": used, "classes": self._classes}
        rows, labels = data_of(given, form, self.check.reading, see, self.check.array, **how)
        if labels is None and spec.labels == "needed":
            what = "pass them with the data, or pass a Dataset, or a table with their column (`label`)"
            raise OptionError(f"`labels` are missing: {what}")
        if labels is None or not used:
            return rows, None
        if self._classes is not None:
            labels = training_labels(labels, self._classes)
        return rows, checked_labels(rows, labels, self.check.reading.class_names)

    def _used(self, labels: FloatArray, spec: Input) -> FloatArray | None:
        """The labels of a file, if it has any and the run uses them."""
        return None if self.check.reading.unlabelled or spec.labels == "ignored" else labels

    def _note(self, path: str, notes: Notes) -> None:
        for note in notes.messages():
            self.setting.note(f"{path}: {note}")

    def _sample(self, spec: Input) -> RowSample:
        """An empty sample of as many rows as are used: the option `rows`, or the declared limit."""
        limit = getattr(self.options, "rows", None) or spec.most
        return RowSample(sys.maxsize if limit is None else limit, getattr(self.options, "seed", 0))

    def _taken(self, sample: RowSample, spec: Input) -> tuple[Rows, FloatArray]:
        """The rows of a sample and their labels, with a remark if they are not all rows."""
        if sample.seen > sample.limit:
            how = " (`rows`)" if hasattr(self.options, "rows") else ""
            self.setting.note(f"{sample.limit:,} of {sample.seen:,} rows of `{spec.name}` are used{how}")
        return sample.result()


def _is_shared(options: Any, given: Any) -> bool:
    """Whether rows are read by the workers of a cluster, or are a collection of Dask."""
    return getattr(options, "dask", None) is not None or hasattr(given, "__dask_graph__")
