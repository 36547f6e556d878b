"""compress: replace thousands of support vectors by a few, in a model that LIBSVM can read.

After Xu et al., Compressed Support Vector Machines. A start selects initial vectors that represent many
others. Vectors, coefficients and offsets are then optimized together until the expansion is close to the
exact decision values on the support vectors and any given rows, and a final least squares fit sets the
coefficients. Held-out rows decide which start to use and when to stop. A second set of held-out rows, not
used before, measures the difference between the result and the exact model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from svmfast.caches import cached
from svmfast.errors import MemoryLimitError, NothingFitsError, UnsupportedError
from svmfast.methods.common.error_statement import TRAINED_ON, probabilities_after, refit_probabilities
from svmfast.methods.common.row_sample import RowSample
from svmfast.methods.compress import CompressOptions
from svmfast.methods.compress.data_split import (
    ENOUGH_ROWS,
    RANKS,
    bytes_each,
    class_sizes,
    gather,
    map_bytes,
    scale_of,
    target,
    vectors_for,
)
from svmfast.methods.compress.landmark_start import lars_bytes, start_vectors
from svmfast.methods.compress.made_model import Compressed, as_model, collapsed, rounded, with_head
from svmfast.methods.compress.metric import (
    DENSE_SHARE,
    Metric,
    has_center,
    has_metric,
    initial_metrics,
    matrix_of,
)
from svmfast.methods.compress.reduced_set import (
    ROUND,
    Optimized,
    ReducedSet,
    allocate,
    optimize,
    solve_coefficients,
)
from svmfast.methods.compress.report import CompressReport, compared, coordinates
from svmfast.methods.compress.score_fit import solve_scores
from svmfast.models.expansion import KernelExpansion
from svmfast.progress import Progress, silent
from svmfast.rows import FloatArray, Rows

K = TypeVar("K")


class Start(NamedTuple):
    """How vectors are found, the number of coordinates of a metric, and whether classes have scores."""

    name: str
    rank: int | None
    scores: bool


#: The most columns for which ``auto`` tries a metric of all, and for which it tries any.
MOST_FULL, MOST_COLUMNS = 64, 2000
#: Iterations after which ``auto`` compares its starts.
PROBE_ITERATIONS = 60
#: LARS squares a Gram matrix, which takes minutes for a class with more support vectors than this.
_AUTO_LARS_LIMIT = 6000


class Compressor:
    """Compresses a model to any size, on given rows; `labels` serve to refit the probabilities.

    `origin` is what files with a metric say about their origin.
    """

    def __init__(
        self,
        model: KernelExpansion,
        data: Rows | None = None,
        labels: FloatArray | None = None,
        options: CompressOptions | None = None,
        origin: Mapping[str, str] | None = None,
        *,
        threads: int = 1,
        progress: Progress = silent,
    ) -> None:
        self.model, self.options, self.threads = model, options or CompressOptions(), threads
        self._origin = origin or {}
        if model.kernel.kind == "precomputed":
            raise UnsupportedError(
                "a precomputed kernel is not a function of vectors", "compress needs a kernel of features"
            )
        if not len(model.sv) or not model.head.n_functions:
            raise UnsupportedError("the model has no support vectors", "there is nothing to compress")
        asked, kernel = self.options.metric not in ("none", "auto"), model.kernel
        if asked and not has_metric(kernel):
            which = (
                f"an rbf kernel with gamma {kernel.gamma:g}"
                if kernel.kind == "rbf"
                else f"a {kernel.kind} kernel"
            )
            raise UnsupportedError(f"no metric is learned for {which}", "leave `metric` out")
        head = model.head
        #: Whether starts have scores of classes.
        self._rules = {"pairs": [False], "classes": [True], "auto": [False, True]}[self.options.scores]
        if not (head.is_classifier and head.n_classes > 2):
            if self.options.scores == "classes":
                raise UnsupportedError("scores of classes need three classes or more", "leave `scores` out")
            self._rules = [False]
        self._notes: list[str] = []
        #: The only starts still to try.
        self._settled: list[Start] = []
        if data is not None and not len(data):
            data = None
        if data is None:
            self._notes.append(
                "without `data` the model is fitted and measured only on its support vectors, which lie "
                "where it is hardest to approximate; rows of data give a closer model and a better estimate"
            )
        vectors = vectors_for(model, self.options, from_data=data is not None)
        self._labelled = (data, labels) if data is not None and labels is not None else None
        if data is not None and self.options.rows is None and vectors < len(model.sv):
            sample = RowSample(ENOUGH_ROWS, self.options.seed)
            sample.add(data, np.zeros(len(data)))
            data, _ = sample.result()
        progress(0, None, "exact model on the rows")
        self.split = split = gather(model, data, vectors=vectors, seed=self.options.seed, threads=threads)
        if split.trained_on:
            self._notes.append(TRAINED_ON)
        scale = scale_of(model, split.fit.exact)
        self.fit = target(model, split, split.fit, scale, threads)
        if asked and not has_center(self.fit):
            raise UnsupportedError(
                "no metric is learned for rows without columns or of huge numbers", "leave `metric` out"
            )
        self.choosing = split.with_frequent(split.choose)
        self.choose = target(model, split, self.choosing, scale, threads)

    @property
    def smallest(self) -> int:
        """The fewest support vectors of a compressed model: one for each class that has any."""
        sizes = class_sizes(self.model)
        return 1 if len(sizes) == 1 else int(np.count_nonzero(sizes))

    @cached
    def _metrics(self) -> list[Metric]:
        return initial_metrics(self.fit, self.split, self.options.seed)

    def compress(
        self, count: int, *, limit: int | None = None, progress: Progress = silent
    ) -> tuple[Compressed, CompressReport]:
        """Make a model of `count` support vectors (below the model's own number) and its report.

        With a `limit` on bytes, each start has as many vectors as are estimated to take them.
        """
        notes = list(self._notes)
        if count < self.smallest:
            raise NothingFitsError(
                f"{count} support vectors are too few for {self.smallest} classes, which need one each"
            )
        reduced, how = self._find(count, progress, limit)
        compressed = as_model(
            self.model, self.split.columns, self._with_best_coefficients(reduced), self._origin
        )
        progress(0, None, "error on held-out rows")
        if reduced.scores:
            probabilities = probabilities_after(self.model.head, compressed.head)
            if probabilities == "dropped":
                notes.append("scores of classes give no probabilities, which the exact model has")
        else:
            head, probabilities = refit_probabilities(
                self.model, compressed, self._labelled, threads=self.threads, notes=notes
            )
            compressed = with_head(compressed, head)
        (statement, kept), (choosing, kept_choosing) = (
            compared(self.model, compressed, self.split, part, self.threads)
            for part in (self.split.state, self.split.choose)
        )
        return compressed, CompressReport(
            **how,
            support_vectors=len(reduced),
            source_support_vectors=len(self.model.sv),
            vectors_used=len(self.split.sv),
            rows_fitted=int(self.split.fit.times.sum()),
            rows_choosing=int(self.split.choose.times.sum()),
            statement=statement,
            choosing_difference=round(choosing.differing_percent / 100, 12),  # 9 of 250 rows are 3.6%
            kept=kept,
            kept_choosing=kept_choosing,
            probabilities=probabilities,
            notes=tuple(notes),
        )

    def _find(
        self, count: int, progress: Progress, limit: int | None = None
    ) -> tuple[ReducedSet, dict[str, Any]]:
        """Find `count` vectors: the sums of a linear kernel, or the best start, usually optimized.

        With them come the figures of the report that say how. Several starts are optimized for a few
        iterations, and the best of them is continued: of pairs and of scores each, as the latter need more.
        """
        sums = None if self._rules[0] else collapsed(self.model, self.split, count)
        if sums is not None:
            return sums, {"method": "collapse", "start": "collapse", "stopped": "exact"}
        most = self.options.iterations
        tried: dict[Start, ReducedSet] = {}
        how: dict[str, Any]
        for start, size in self._sized_starts(count, limit):
            shown = f"{start.name} start" if start.rank is None else f"metric of {coordinates(start.rank)}"
            progress(0, None, shown + ", scores of classes" * start.scores)
            self._check_memory(size, start)
            tried[start] = self._best_start(start, allocate(size, class_sizes(self.model)))
        spent = min(PROBE_ITERATIONS, most) if len(tried) > 1 and not self.options.select_only else 0
        if spent:
            tried = {key: self._moved(start, spent, progress).reduced for key, start in tried.items()}
        rules = ([start for start in tried if start.scores == scores] for scores in self._rules)
        best_of = (self._best({start: tried[start] for start in starts}) for starts in rules if starts)
        kept = {start: tried[start] for start in best_of}
        if self.options.select_only:
            best, how = self._best(kept), {"method": "selection", "stopped": "not moved"}
        else:
            moved = {start: self._moved(one, most - spent, progress) for start, one in kept.items()}
            kept = {start: one.reduced for start, one in moved.items()}
            best = self._pairs_or_scores(kept)
            how = {"method": "reduced set", "stopped": moved[best].stopped}
            how["iterations"] = spent + moved[best].iterations
            sized = self.options.max_bytes or self.options.max_flash
            if sized and "auto" in (self.options.metric, self.options.scores):
                self._settled = [best]  # the other sizes of the search are close to this one
        scores = "classes" if best.scores else "pairs"
        return kept[best], {**how, "start": best.name, "metric": best.rank, "scores": scores}

    def _moved(self, start: ReducedSet, iterations: int, progress: Progress) -> Optimized:
        return optimize(self.fit, start, self.choose, max_iterations=iterations, progress=progress)

    def _sized_starts(self, count: int, limit: int | None) -> list[tuple[Start, int]]:
        """The starts to try, and their numbers of vectors; only those within the limits, if there are any."""
        found, within = [], []
        for start in self._settled or self._starts():
            size = surely = count
            if limit is not None:  # an estimate, which the smallest model must not exceed
                size, surely = self._count_for(start, limit), self._count_for(start, limit - limit // 8)
            found.append((start, size))
            if surely >= self.smallest and self._memory(size, start) <= self.options.memory:
                within.append((start, size))
        if within:
            return within
        start, size = max(found, key=lambda one: one[1])
        return [(start, max(size, self.smallest))]

    def _starts(self) -> list[Start]:
        """The starts to try."""
        asked, d = self.options.metric, self.split.width
        ranks = [d] if asked == "full" else [min(asked, d)] if isinstance(asked, int) else []
        own: list[tuple[str, int | None]] = [] if ranks else [(name, None) for name in self._start_names()]
        if asked == "auto" and d <= MOST_COLUMNS and has_metric(self.model.kernel) and has_center(self.fit):
            ranks = [r for r in RANKS if r < d] + [d] * (d <= MOST_FULL)
        own += [("kmeans", rank) for rank in ranks]
        return [Start(*one, scores) for scores in self._rules for one in own]

    @property
    def largest(self) -> int:
        """The most support vectors of a compressed model."""
        return min(len(self.model.sv) - 1, len(self.split.sv))

    def _count_for(self, start: Start, limit: int) -> int:
        """About how many vectors take `limit` bytes; below 0 if a map takes more."""
        width = start.rank or self.split.width
        each = bytes_each(self.options, width, len(self.model.sv_coef), start.scores)
        return min(self.largest, (limit - map_bytes(self.options, self.split.width, start.rank)) // each)

    def _best_start(self, start: Start, sizes: NDArray[np.int64]) -> ReducedSet:
        """The start, with the best metric of its rank."""
        rank = start.rank
        metrics = [None] if rank is None else [Metric(one.map[:rank], one.center) for one in self._metrics]
        starts = dict(enumerate(self._start(start, sizes, metric) for metric in metrics))
        return starts[self._best(starts)]

    def _best(self, found: Mapping[K, ReducedSet]) -> K:
        errors = [self._choosing_error(one) for one in found.values()] if len(found) > 1 else [0.0]
        return list(found)[int(np.nan_to_num(errors, nan=np.inf).argmin())]

    def _start_names(self) -> list[str]:
        if self.options.start != "auto":
            return [self.options.start]
        n = int(self.split.sv_sizes.max())
        fits = n <= _AUTO_LARS_LIMIT and lars_bytes(n, self.split.width) <= self.options.memory
        return ["kmeans", "lars"] if fits else ["kmeans"]

    def _choosing_error(self, reduced: ReducedSet) -> float:
        """The figure by which starts are compared on the choosing rows; the smaller, the better.

        For labels it is the mean of r^2 / (r^2 + f^2), with the residual r of an exact value f: about 0 where
        the sign of f is safe, and about 1 where r exceeds f. In the squared error, a few rows with large
        residuals would decide.
        """
        if self.model.head.is_regression:
            return self.choose.error(reduced)
        if not len(self.choose.values):
            return 0.0  # the first start is taken
        f = self.choose.values
        r = self.choose.decisions(reduced) - f
        squared = r * r
        share = np.divide(squared, squared + f * f, out=np.zeros_like(r), where=r != 0)
        return float(np.average(share.mean(axis=1), weights=self.choosing.times))

    def _pairs_or_scores(self, found: Mapping[Start, ReducedSet]) -> Start:
        """Pairs, the first, unless scores change fewer labels by more than a standard deviation of chance."""
        if len(found) == 1:
            return next(iter(found))
        pairs, scores = found
        of_pairs, of_scores = (self._labels_changed(one) * len(self.choosing) for one in found.values())
        return scores if of_pairs - of_scores > np.sqrt(of_pairs + of_scores) else pairs

    def _labels_changed(self, reduced: ReducedSet) -> float:
        """The share of the rows for choices on which a pair of the winner changes its side.

        Scores have larger errors than pairs where these do not matter: far from the boundary.
        """
        changed = (self.choose.decisions(reduced) > 0) != (self.choose.values > 0)
        times = self.choosing.times
        return float(np.sum(changed.any(axis=1) * times) / max(1.0, float(np.sum(times))))

    def _start(self, start: Start, sizes: NDArray[np.int64], metric: Metric | None) -> ReducedSet:
        options, kernel, sv, width = self.options, self.model.kernel, self.split.sv, self.split.width
        if metric is not None:
            kernel, sv, width = ROUND, metric(matrix_of(sv, width)), len(metric.map)
        edge = np.concatenate([[0], np.cumsum(self.split.sv_sizes)])
        parts = []
        for g, size in enumerate(sizes):
            own = slice(int(edge[g]), int(edge[g + 1]))
            vectors = start_vectors(
                start.name,
                kernel,
                sv[own],
                np.ascontiguousarray(self.split.sv_coef[:, own]),
                int(size),
                n_columns=width,
                seed=options.seed,
                memory=options.memory,
            )
            parts.append(vectors)
        return self._solved(np.vstack(parts), sizes, metric, start.scores)

    def _solved(
        self, vectors: FloatArray, sizes: NDArray[np.int64], metric: Metric | None, scores: bool
    ) -> ReducedSet:
        if scores:
            return solve_scores(self.fit, vectors, metric)
        return solve_coefficients(self.fit, vectors, sizes, metric)

    def _with_best_coefficients(self, reduced: ReducedSet) -> ReducedSet:
        """Round the vectors as in a file, and use least-squares coefficients if they are better."""
        reduced = rounded(reduced)
        solved = self._solved(reduced.vectors, reduced.sizes, reduced.metric, reduced.scores)
        return solved if self.choose.error(solved) <= self.choose.error(reduced) else reduced

    def _check_memory(self, count: int, start: Start) -> None:
        needed = lars_bytes(int(self.split.sv_sizes.max()), self.split.width)
        if self.options.start == "lars" and needed > self.options.memory:
            raise MemoryLimitError(
                "starting from lars",
                needed,
                self.options.memory,
                "raise `memory`, or start from kmeans",
            )
        needed = self._memory(count, start)
        if needed > self.options.memory:
            raise MemoryLimitError(
                f"moving {count:,} vectors of {self.split.width:,} features",
                needed,
                self.options.memory,
                "raise `memory`, ask for fewer vectors, or use fewer rows of data (`rows`)",
            )

    def _memory(self, count: int, start: Start) -> int:
        rows, d, rank = self.split.fit.rows, self.split.width, start.rank
        numbers = count * ((rank or d) + self.model.sv_coef.shape[0] + start.scores) + (rank or 0) * d
        # L-BFGS keeps 2 x 20 corrections; there are 16 partial sums and a few working copies.
        needed = 8 * (numbers * 64 + rows.nnz * 2 + self.fit.values.size * 6)
        if rank is not None:  # mapped rows, dense rows and vectors, squares of the columns
            needed += 8 * (4 * len(rows) * rank + len(rows) * d * (rows.density > DENSE_SHARE))
            needed += 8 * (2 * len(self.split.sv) * d + 10 * d * d)
        return int(needed)
