"""compress: thousands of support vectors become a few, in a model LIBSVM loads.

After Xu et al., Compressed Support Vector Machines. A start picks vectors that may stand for many; vectors,
coefficients and offsets are moved together until the expansion is close to the exact decision values on the
support vectors and on any rows given; a last exact least squares sets the coefficients. Rows held out choose
the start and when to stop; others, never looked at before, tell how far the result is from the exact model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import MemoryLimitError, NothingFitsError, UnsupportedError
from svmfast.methods.common.refit_probabilities import refit_probabilities
from svmfast.methods.compress.data_split import DataSplit, gather, scale_of, target
from svmfast.methods.compress.landmark_start import lars_bytes, start_bytes, start_vectors
from svmfast.methods.compress.options import CompressOptions
from svmfast.methods.compress.reduced_set import ReducedSet, Target, allocate, optimize, solve_coefficients
from svmfast.methods.compress.report import CompressReport, StartReport
from svmfast.methods.compress.statement import caution, error_statement
from svmfast.models.expansion import KernelExpansion
from svmfast.progress import Progress, silent
from svmfast.rows import FloatArray, Rows
from svmfast.solvers.file_digits import eight_digits

#: Iterations after which ``auto`` compares its starts.
PROBE_ITERATIONS = 60
#: LARS squares a Gram matrix: beyond this many support vectors a class that takes minutes.
_AUTO_LARS_LIMIT = 6000


@dataclass(frozen=True, eq=False)
class Compressor:
    """One model with the rows it is compressed on; gives models of any size.

    Made by :func:`prepare`.
    """

    model: KernelExpansion
    options: CompressOptions
    threads: int
    split: DataSplit
    fit: Target
    choose: Target
    notes: tuple[str, ...]
    labelled: tuple[Rows, FloatArray] | None

    def compress(self, count: int, *, progress: Progress = silent) -> tuple[KernelExpansion, CompressReport]:
        """Return a model of `count` support vectors (below the model's own number) and its report."""
        split = self.split
        notes = list(self.notes)
        if count < self.smallest:
            raise NothingFitsError(
                f"{count} support vectors are too few for {self.smallest} classes, each needs one"
            )
        sizes = allocate(count, self._groups())
        starts: tuple[StartReport, ...] = ()
        collapsed = self._collapse(count)
        if collapsed is not None:
            reduced, best = collapsed, "collapse"
            iterations = evaluations = 0
            stopped, method = "exact", "collapse"
        else:
            self._check_memory(count, sizes)
            tried = []
            for name in self._start_names(count):
                progress(0, None, f"{name} start")
                tried.append(self._start(name, sizes, notes))
            starts = tuple(self._report_start(name, reduced) for name, reduced in tried)
            method, iterations, evaluations, stopped = "selection", 0, 0, "not moved"
            if self.options.select_only:
                best, reduced = min(tried, key=lambda t: self.choose.error(t[1]))
            else:
                method = "reduced set"
                best, reduced, iterations, evaluations, stopped = self._move(tried, progress)
        reduced = self._finish(reduced, moved=method == "reduced set", notes=notes, progress=progress)
        compressed = self._expansion(reduced)
        progress(0, None, "error on held-out rows")
        head, probabilities = refit_probabilities(
            self.model, compressed, self.labelled, threads=self.threads, notes=notes
        )
        compressed = replace(compressed, head=head)
        statement = error_statement(self.model, compressed, split, threads=self.threads)
        few = caution(statement)
        if few is not None and method != "collapse":
            notes.append(few)
        return compressed, CompressReport(
            method=method,
            support_vectors=len(compressed.sv),
            source_support_vectors=len(self.model.sv),
            bytes=None,
            source_bytes=None,
            start=best,
            starts=starts,
            iterations=iterations,
            evaluations=evaluations,
            stopped=stopped,
            rows_fitted=len(split.fit),
            rows_choosing=len(split.choose),
            statement=statement,
            probabilities=probabilities,
            notes=tuple(notes),
        )

    @property
    def smallest(self) -> int:
        """Fewest support vectors a compressed model may have: one for each class that has any."""
        groups = self._groups()
        return 1 if len(groups) == 1 else int(np.count_nonzero(groups))

    def _groups(self) -> NDArray[np.int64]:
        nr_sv = self.model.nr_sv
        return np.array([len(self.model.sv)]) if nr_sv is None or len(nr_sv) <= 2 else nr_sv

    def _start_names(self, count: int) -> list[str]:
        if self.options.start != "auto":
            return [self.options.start]
        largest, memory = int(self._groups().max()), self.options.memory
        lars = largest <= _AUTO_LARS_LIMIT and lars_bytes(largest) <= memory
        second = "lars" if lars else "greedy"
        fits = start_bytes(second, largest, self.split.width, count) <= memory
        return ["kmeans", second] if fits else ["kmeans"]

    def _start(self, name: str, sizes: NDArray[np.int64], notes: list[str]) -> tuple[str, ReducedSet]:
        options, model = self.options, self.model
        edge = np.concatenate([[0], np.cumsum(self._groups())])
        parts = []
        for g, size in enumerate(sizes):
            own = slice(int(edge[g]), int(edge[g + 1]))
            vectors, remarks = start_vectors(
                name,
                model.kernel,
                self.split.sv[own],
                np.ascontiguousarray(model.sv_coef[:, own]),
                int(size),
                n_columns=self.split.width,
                seed=options.seed,
                memory=options.memory,
            )
            parts.append(vectors)
            notes += [text for text in remarks if text not in notes]
        return name, solve_coefficients(self.fit, np.vstack(parts), sizes)

    def _report_start(self, name: str, reduced: ReducedSet) -> StartReport:
        statement = error_statement(
            self.model, self._expansion(_rounded(reduced)), self.split, threads=self.threads
        )
        return StartReport(name, statement.label_agreement, statement.median, self.choose.error(reduced))

    def _move(
        self, tried: list[tuple[str, ReducedSet]], progress: Progress
    ) -> tuple[str, ReducedSet, int, int, str]:
        """Move from every start a little, then from the best to the end."""
        iterations = evaluations = 0
        limit = self.options.iterations
        probe = min(PROBE_ITERATIONS, limit)
        best, reduced, error = "", tried[0][1], np.inf
        if len(tried) == 1:
            best, reduced = tried[0]
        else:
            for name, start in tried:
                moved = optimize(
                    self.fit,
                    start,
                    held_out=self.choose,
                    max_iterations=probe,
                    progress=progress,
                    what=f"from {name}",
                )
                evaluations += moved.evaluations
                reached = self.choose.error(moved.reduced)
                if reached < error:
                    best, reduced, error = name, moved.reduced, reached
            iterations = probe
        moved = optimize(
            self.fit,
            reduced,
            held_out=self.choose,
            max_iterations=max(limit - iterations, 0),
            progress=progress,
        )
        return (
            best,
            moved.reduced,
            iterations + moved.iterations,
            evaluations + moved.evaluations,
            moved.stopped,
        )

    def _finish(
        self, reduced: ReducedSet, *, moved: bool, notes: list[str], progress: Progress
    ) -> ReducedSet:
        """Round to the file's digits, drop small entries if asked, and solve the coefficients exactly."""
        tolerance = self.options.sparse_tolerance
        if tolerance and moved:
            largest = np.abs(self.split.sv.values).max(initial=0.0)
            keep = np.abs(reduced.vectors) > tolerance * largest
            thinned = solve_coefficients(self.fit, np.where(keep, reduced.vectors, 0.0), reduced.sizes)
            # The remaining entries compensate for the dropped ones.
            reduced = optimize(
                self.fit,
                thinned,
                held_out=self.choose,
                max_iterations=min(PROBE_ITERATIONS, self.options.iterations),
                keep=keep,
                progress=progress,
                what="after thinning",
            ).reduced
            notes.append(f"{1 - keep.mean():.1%} of the vectors' entries were dropped (`sparse_tolerance`)")
        reduced = _rounded(reduced)
        solved = solve_coefficients(self.fit, reduced.vectors, reduced.sizes)
        return solved if self.choose.error(solved) <= self.choose.error(reduced) else reduced

    def _collapse(self, count: int) -> ReducedSet | None:
        """A linear kernel's sums over support vectors are vectors themselves: one a coefficient row."""
        model, groups = self.model, self._groups()
        width = model.sv_coef.shape[0]
        if model.kernel.kind != "linear" or count < len(groups) * width:
            return None
        edge = np.concatenate([[0], np.cumsum(groups)])
        sv = self.split.sv.to_dense(self.split.width)
        vectors = np.vstack(
            [model.sv_coef[:, edge[g] : edge[g + 1]] @ sv[edge[g] : edge[g + 1]] for g in range(len(groups))]
        )
        coef = np.tile(np.eye(width), len(groups))
        return ReducedSet(vectors, coef, model.rho, np.full(len(groups), width))

    def _check_memory(self, count: int, sizes: NDArray[np.int64]) -> None:
        start, own = self.options.start, self._groups()
        needed = max(
            start_bytes(start, int(n), self.split.width, int(m)) for n, m in zip(own, sizes, strict=True)
        )
        if needed > self.options.memory:
            raise MemoryLimitError(
                f"starting from {start} with dense support vectors",
                needed,
                self.options.memory,
                "raise `memory`, or start from kmeans",
            )
        numbers = count * (self.split.width + self.model.sv_coef.shape[0])
        # L-BFGS keeps 2 x 20 corrections; the sums of 16 shares; a handful of working copies.
        needed = 8 * (numbers * 64 + self.split.fit.rows.nnz * 2 + self.fit.values.size * 6)
        if needed > self.options.memory:
            raise MemoryLimitError(
                f"moving {count:,} vectors of {self.split.width:,} features",
                needed,
                self.options.memory,
                "raise `memory`, ask for fewer vectors, or use fewer rows of data (`rows`)",
            )

    def _expansion(self, reduced: ReducedSet) -> KernelExpansion:
        """Return the set as a LIBSVM model, in the original columns."""
        model, columns = self.model, self.split.columns
        rows = Rows.from_dense(reduced.vectors)
        width = max(model.sv.n_columns, int(columns[-1]) + 1 if len(columns) else 0)
        sv = rows.renumbered(columns[rows.indices].astype(np.int32), width)
        coef, rho = reduced.coef, reduced.rho
        if model.nr_sv is None:
            return KernelExpansion(model.head, model.kernel, sv, coef, rho)
        if len(reduced.sizes) > 1:
            return KernelExpansion(model.head, model.kernel, sv, coef, rho, reduced.sizes)
        # One function of two classes: as LIBSVM has it, the first class's coefficients are the positive ones.
        order = np.argsort(coef[0] <= 0, kind="stable")
        first = int(np.count_nonzero(coef[0] > 0))
        return KernelExpansion(
            model.head,
            model.kernel,
            sv.take(order),
            np.ascontiguousarray(coef[:, order]),
            rho,
            np.array([first, len(order) - first]),
        )


def prepare(
    model: KernelExpansion,
    data: Rows | None = None,
    labels: FloatArray | None = None,
    options: CompressOptions | None = None,
    *,
    threads: int = 1,
    progress: Progress = silent,
) -> Compressor:
    """Check the model and gather the rows.

    Parameters
    ----------
    model : KernelExpansion
    data : Rows, optional
        Rows like those to predict; labels are not needed.
    labels : (n,) float64, optional
        Labels or values of `data`, if known: they serve the probabilities.
    options : CompressOptions, optional
    threads : int
    progress : Progress

    Raises
    ------
    UnsupportedError
        A precomputed kernel, or a model without support vectors.
    """
    options = options or CompressOptions()
    if model.kernel.kind == "precomputed":
        raise UnsupportedError(
            "a precomputed kernel has no function of vectors", "compress needs a kernel of features"
        )
    if not len(model.sv) or not model.head.n_functions:
        raise UnsupportedError("the model has no support vectors", "there is nothing to compress")
    notes = []
    if data is not None and not len(data):
        data = None
    if data is None:
        notes.append(
            "without `data` the model is fitted and measured on its support vectors alone, which lie where "
            "it is hardest to copy; rows of data give a closer model and a better estimate"
        )
    progress(0, None, "exact model on the rows")
    split = gather(model, data, seed=options.seed, threads=threads)
    if split.trained_on:
        notes.append(
            "the model was trained on rows of `data`, its support vectors are among them: "
            "expect somewhat more differences on new rows than stated"
        )
    scale = scale_of(model, split.fit.exact)
    fit = target(model, split, split.fit, scale, threads)
    choose = target(model, split, split.choose, scale, threads)
    labelled = (data, labels) if data is not None and labels is not None else None
    return Compressor(model, options, threads, split, fit, choose, tuple(notes), labelled)


def _rounded(reduced: ReducedSet) -> ReducedSet:
    """Round the vectors to the 8 digits LIBSVM's files keep, so that the file is the model judged."""
    return replace(reduced, vectors=eight_digits(reduced.vectors))
