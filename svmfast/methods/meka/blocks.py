"""Local models (BKA): a tree of clusters, each with a model of its own rows and those near it.

The rows come in blocks, from memory, a temporary file or a cluster; then they are sent to the leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import ceil, inf, log, prod, sqrt

import numpy as np

from svmfast.errors import MemoryLimitError, OptionError, SingleClassError
from svmfast.kernels import Kernel
from svmfast.methods.common.resuming import kept_results
from svmfast.methods.meka import MekaOptions
from svmfast.methods.meka.approximation import triangle_bytes
from svmfast.methods.meka.local import CACHE_MEGABYTES, Cell, Local, local_model
from svmfast.methods.method import Setting
from svmfast.models.head import Head
from svmfast.models.routed import RoutedModel
from svmfast.rows import FloatArray
from svmfast.solvers.center_tree import MOST_CHILDREN, grown, leaf_of, sample
from svmfast.solvers.row_blocks import RowBlocks, Sums
from svmfast.solvers.training_data import WorkingSet, class_labels, expand

#: A cluster with more than so many times `cluster_rows`, which k-means could not divide, is sampled.
MOST_TIMES = 8
#: The size of the model is foreseen once so many local models are trained, and twice as many, and so on.
FORESEEN = 64
#: Landmarks of a cluster if exact blocks make too large a model; with fewer it is refused.
LANDMARKS = (16, 256)


class BlockWork:
    """The tree and its leaves, which all kernels and regularizations share."""

    def __init__(self, source: RowBlocks, options: MekaOptions, setting: Setting) -> None:
        if not source.n_rows:
            raise OptionError("no rows to train on")
        self.source, self.options, self.setting, self.n_rows = source, options, setting, source.n_rows
        self._kept = kept_results("meka", source, options, setting)
        self.labels, self.mean = np.zeros(0), 0.0
        if options.task == "svc":
            self.labels = class_labels(source.labels)
            if len(self.labels) < 2:
                raise SingleClassError(self.labels[0])
        else:
            (total,) = source.total(_label_sum, None, setting.threads)
            self.mean = float(total[0]) / source.n_rows
        leaves = options.clusters or ceil(source.n_rows / options.cluster_rows)
        centers = 16 * leaves * source.n_features
        self._check_memory(
            f"a center of {source.n_features:,} features for each of {leaves:,} clusters",
            centers,
            "use fewer `clusters` or larger `cluster_rows`",
        )
        setting.progress(0, None, "clusters")
        rows, self.sample_labels = sample(source, leaves, options.seed, setting.threads)
        self._held = 24 * rows.nnz + centers
        self._check_memory("a sample of the rows", self._held)
        self.tree, _ = grown(rows, self._branches(len(rows)), options.seed, options.overlap)
        self.sample = expand(rows, source.columns, source.n_features)
        setting.progress(0, None, "rows to clusters")
        self.leaves = source.sent(leaf_of, self.tree, len(self.tree.reach), setting.threads)
        self.ranks, self.links, self.bytes = tuple[int, ...](), 0, 0
        self._entries = rows.nnz // len(rows)

    def _branches(self, sampled: int) -> Callable[[int, int], int]:
        """The number of children of a node by its sampled rows and its level."""
        options, rows_each = self.options, self.source.n_rows / sampled

        def of_node(count: int, level: int) -> int:
            if options.clusters:
                return 0 if level else options.clusters
            leaves = count * rows_each / options.cluster_rows
            levels = max(1, ceil(log(max(leaves, 1.0), MOST_CHILDREN)))
            return round(leaves ** (1 / levels)) if leaves >= 1.5 else 0

        return of_node

    def models(self, gamma: float, regularizations: Sequence[float]) -> list[RoutedModel]:
        return [self._model(gamma, one) for one in regularizations]

    def _model(self, gamma: float, regularization: float) -> RoutedModel:
        try:
            return self._trained(self.options, gamma, regularization)
        except _TooLargeError as large:
            fitting = min(LANDMARKS[1], int(large.vectors * large.limit / (2 * large.needed)))
            if self.options.landmarks is not None or fitting < LANDMARKS[0]:
                raise
            some = 1 << fitting.bit_length() - 1
            fewer = replace(self.options, landmarks=some, rank=some)
            model = self._trained(fewer, gamma, regularization)
            self.setting.note(
                f"with exact blocks the model would need {large.needed:,} bytes, and the limit is "
                f"{large.limit:,} (`memory`); clusters have {some} `landmarks` instead"
            )
            return model

    def _trained(self, options: MekaOptions, gamma: float, regularization: float) -> RoutedModel:
        source, setting = self.source, self.setting
        kernel = Kernel(options.kernel_kind, gamma)
        weights = [prod(w for label, w in options.weights if label == own) for own in self.labels]
        most = inf if options.clusters else float(MOST_TIMES * options.cluster_rows)
        cache = self._cache(options)
        local = Local(options, kernel, regularization, self.labels, np.array(weights), self.mean, most, cache)
        cells: list[Cell] = []
        held = left_out = 0
        name = f"{gamma!r}-{regularization!r}-{options.landmarks}"
        for cell in self._cells(name, local):
            cells.append(cell)
            held += 12 * cell.vectors.nnz + 8 * (len(cell.vectors) + cell.coef.size)
            left_out += cell.left_out
            setting.progress(len(cells), len(self.leaves.sizes), "clusters trained")
            self._check_size(local, cells, held)
        if left_out:
            setting.note(f"{left_out:,} rows of clusters that k-means could not divide were left out")
        ranks = self.leaves.sizes
        if options.landmarks is not None:
            ranks = np.minimum(ranks, options.rank)
        self.ranks, self.bytes = tuple(ranks.tolist()), triangle_bytes(ranks)
        model = self._joined(local, cells)
        return replace(
            model,
            children=self.tree.children,
            centers=self._expanded(self.tree.centers),
            landmarks=expand(model.landmarks, source.columns, source.n_features),
        )

    def _joined(self, local: Local, cells: Sequence[Cell]) -> RoutedModel:
        """A model of one level in compact columns."""
        head = Head("epsilon_svr")
        if len(self.labels):
            rest = local.options.landmarks is not None and len(self.labels) > 2
            head = Head("c_svc", self.labels.astype(np.int64), one_vs_rest=rest)
        counts = [cell.nr_sv for cell in cells if cell.nr_sv is not None]
        vectors, coef = [cell.vectors for cell in cells], [cell.coef for cell in cells]
        rho, nr_sv = np.stack([cell.rho for cell in cells]), np.stack(counts) if counts else None
        return RoutedModel.flat(
            head, local.kernel, self.tree.leaf_centers[: len(cells)], vectors, coef, rho, nr_sv
        )

    def _check_size(self, local: Local, cells: Sequence[Cell], held: int) -> None:
        """Refuse a model that is too large to put together, beside the rows, or to predict with.

        What n cells foresee may be off by the share 2 / sqrt(n): a quarter for the first 64.
        """
        known, total = len(cells), len(self.leaves.sizes)
        memory, needed = self.options.memory, 4 * held
        if known == total or (known >= FORESEEN and known & (known - 1) == 0):
            needed = int(max(needed, held + self._joined(local, cells).working_bytes) / known * total)
            memory += 0 if known == total else int(2 / sqrt(known) * memory)
        if needed > memory:
            advice = f"raise `memory`, or use {'fewer ' if local.options.landmarks else ''}`landmarks`"
            vectors = sum(len(cell.vectors) for cell in cells) // known
            raise _TooLargeError("the model", needed, self.options.memory, advice, vectors)

    def _cells(self, name: str, local: Local) -> Iterator[Cell]:
        """The local models of all leaves in order, first those that an earlier run kept."""
        first, kept = 0, self._kept
        while kept is not None and (known := kept.load(f"{name}-{first}")) is not None:
            yield Cell.of(known)
            first += 1
        cells = self.leaves.each(local_model, replace(local, first=first), self.setting.threads)
        for number, cell in enumerate(cells):
            if cell is not None:
                if kept is not None:
                    kept.save(f"{name}-{number}", **cell.arrays())
                yield cell

    def _expanded(self, centers: FloatArray) -> FloatArray:
        """Centers in the input's own columns."""
        found = np.zeros((len(centers), self.source.n_features))
        found[:, self.source.columns] = centers
        return found

    def _cache(self, options: MekaOptions) -> int:
        """The megabytes that are left for LIBSVM's cache while each thread trains on a cluster."""
        largest, threads = int(max(self.leaves.sizes)), self.setting.threads
        needed = self._held + threads * largest * self._row_bytes(options, largest)
        smaller = "use more `clusters`, smaller `cluster_rows` or fewer `threads`"
        self._check_memory(f"training on clusters of up to {largest:,} rows", needed, smaller)
        return max(1, min(CACHE_MEGABYTES, (options.memory // 2 - needed) // threads >> 20))

    def _row_bytes(self, options: MekaOptions, largest: int) -> int:
        """Bound the bytes of the work on a row of a leaf, beyond LIBSVM's cache."""
        columns, functions = len(self.source.columns), max(1, len(self.labels))
        needed = 64 + 52 * self._entries  # three copies, one of LIBSVM's
        if options.landmarks is not None:
            return needed + 8 * (3 * options.landmarks + 8 * functions) + 8 * columns
        if options.task == "svc" and not options.laplacian:
            return needed
        # LIBSVM stores a precomputed value in a node of 16 bytes, in addition to the matrix itself.
        return needed + largest * (48 if options.task == "svc" else 24) + 8 * columns

    def _check_memory(self, what: str, needed: int, *instead: str) -> None:
        """Raise MemoryLimitError if the rows, which may take half of the memory, leave too little."""
        memory = self.options.memory
        if needed > memory // 2:
            advice = ", or ".join(["raise `memory`", *instead])
            raise MemoryLimitError(what, memory // 2 + needed, memory, advice)


class _TooLargeError(MemoryLimitError):
    """The model would be too large; its clusters have so many vectors on average."""

    def __init__(self, what: str, needed: int, limit: int, instead: str, vectors: int) -> None:
        super().__init__(what, needed, limit, instead)
        self.vectors = vectors


def _label_sum(block: WorkingSet, _: None) -> Sums:
    return [np.array([block.labels.sum()])]
