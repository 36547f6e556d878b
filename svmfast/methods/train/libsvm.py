"""LIBSVM's own solver, called with arrays, without a Python object per row.

The wheel ``libsvm-official`` contains LIBSVM's library. Its Python interface builds one ctypes array per row
and parses text in Python, which often takes longer than the training. Here NumPy lays out the array of nodes,
and the library is called directly.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from svmfast.errors import MissingPackageError, OptionError
from svmfast.rows import FloatArray, IntArray, Rows
from svmfast.threads import interruptible, set_openmp_threads

T = TypeVar("T")
Log = Callable[[str], None]

#: LIBSVM's ``svm_node``: an int and a double, with the padding that a C compiler inserts.
NODE = np.dtype(
    {"names": ["index", "value"], "formats": [np.int32, np.float64], "offsets": [0, 8], "itemsize": 16}
)
DENSITY_MARKS = 10


@dataclass(frozen=True, eq=False)
class Solution:
    """A copy of LIBSVM's ``svm_model``. Parts that a model does not have are None or empty."""

    #: (n,) indices, from 0, of the training rows that became support vectors, grouped by class.
    sv_indices: IntArray
    #: (nr_class - 1, n)
    sv_coef: FloatArray
    #: As `prob_a` and `prob_b`, a number for each pair of classes.
    rho: FloatArray
    #: As `nr_sv`, a number for each class.
    label: IntArray | None
    nr_sv: IntArray | None
    prob_a: FloatArray | None = None
    prob_b: FloatArray | None = None
    #: (10,)
    density_marks: FloatArray | None = None


class Problem:
    """Rows, labels and parameters in LIBSVM's memory layout; OptionError if LIBSVM refuses them.

    `parameters` are fields of ``svm_parameter`` by name; `first_index` is that of column 0.
    """

    def __init__(
        self,
        rows: Rows,
        labels: FloatArray,
        parameters: Mapping[str, float],
        weights: tuple[tuple[int, float], ...] = (),
        first_index: int = 1,
    ) -> None:
        self._api = api = _libsvm()
        self._labels, self.first_index = labels, first_index
        self._validating = False
        n = len(rows)
        starts = rows.indptr + np.arange(n + 1)  # one terminating node a row
        self._nodes = np.zeros(starts[-1], dtype=NODE)
        stored = np.ones(starts[-1], dtype=bool)
        stored[starts[1:] - 1] = False
        self._nodes["index"][~stored] = -1
        self._nodes["index"][stored] = rows.indices + np.int32(first_index)
        self._nodes["value"][stored] = rows.values
        self._pointers = starts[:-1].astype(np.uint64) * np.uint64(NODE.itemsize)
        self._pointers += np.uint64(self._nodes.ctypes.data)

        self._problem = api.svm_problem.__new__(api.svm_problem)  # its __init__ walks the rows in Python
        self._problem.l = n
        self._problem.y = labels.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
        node_pointers = ctypes.POINTER(ctypes.POINTER(api.svm_node))
        self._problem.x = ctypes.cast(self._pointers.ctypes.data, node_pointers)
        # Without -q this would restore LIBSVM's printing to stdout for the whole process, including trainings
        # in other threads.
        self._parameter = api.svm_parameter("-q")
        # Older versions install a printer that is freed together with the parameter.
        api.libsvm.svm_set_print_string_function(self._mute())
        for name, value in parameters.items():
            setattr(self._parameter, name, value)
        self._parameter.nr_weight = len(weights)
        self._parameter.weight_label = (ctypes.c_int * len(weights))(*(label for label, _ in weights))
        self._parameter.weight = (ctypes.c_double * len(weights))(*(weight for _, weight in weights))
        refusal = api.libsvm.svm_check_parameter(self._problem, self._parameter)
        if refusal:
            raise OptionError(f"LIBSVM refuses: {refusal.decode()}")

    @property
    def _order_matters(self) -> bool:
        """Whether the result depends on sums whose order LIBSVM's threads determine.

        libsvm-official is built with OpenMP. Training and classification do not depend on the number of
        threads. The sums for predictions of regression and one-class models do, and these determine sigma,
        density marks and the results of cross-validation.
        """
        return bool(
            self._parameter.svm_type in (2, 3, 4) and (self._parameter.probability or self._validating)
        )

    def train(self, log: Log | None = None) -> Solution:
        """Train; `log` is called from another thread with pieces of the solver's messages."""
        library = self._api.libsvm
        pointer = self._run(lambda: library.svm_train(self._problem, self._parameter), log)
        try:
            return _copied(pointer.contents)
        finally:
            library.svm_free_and_destroy_model(ctypes.pointer(pointer))

    def cross_validate(self, folds: int, log: Log | None = None) -> FloatArray:
        self._validating = True
        targets = np.zeros(len(self._labels))
        where = targets.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
        library = self._api.libsvm
        self._run(
            lambda: library.svm_cross_validation(self._problem, self._parameter, folds, where), log, targets
        )
        return targets

    def _mute(self) -> Any:
        """Return a C function that takes a string and does nothing.

        A thread that an interrupt has abandoned continues to print, even while the interpreter shuts down,
        when a call into Python would crash. C's strlen takes a string and has no effect.
        """
        return ctypes.cast(ctypes.CDLL(None).strlen, self._api.PRINT_STRING_FUN)

    def _run(self, call: Callable[[], T], log: Log | None, *keep: object) -> T:
        """Return ``call()``, run in its own thread so that an interrupt takes effect at once.

        LIBSVM cannot be stopped, and the main thread would notice Ctrl-C only after the C call returns. The
        thread keeps the data alive while it runs, and does not prevent the process from exiting.
        """
        failures: list[BaseException] = []

        def forward(message: bytes) -> None:
            if log is not None:
                try:
                    log(message.decode("ascii", "replace"))
                except BaseException as failure:  # ctypes would only print it
                    failures.append(failure)

        # All threads share LIBSVM's printer, so without a log it must outlive this call.
        printer = self._mute() if log is None else self._api.PRINT_STRING_FUN(forward)
        kept = (self, printer, keep)
        alone = threading.current_thread() is threading.main_thread()

        library = self._api.libsvm

        def work() -> T:
            # OpenMP's threads synchronize at every kernel column and spin while they wait; on a busy
            # machine pendigits took 50 s instead of 1 s. If this is not the main thread, others may be
            # training too.
            set_openmp_threads(library, several=alone and not self._order_matters)
            found = call()
            assert kept
            return found

        library.svm_set_print_string_function(printer)
        # LIBSVM draws folds with C's rand(). Reset it to its state at the start of a program, so that equal
        # calls draw equal folds and a model equals svm-train's.
        ctypes.CDLL(None).srand(1)
        try:
            found = interruptible(work)
        finally:
            library.svm_set_print_string_function(self._mute())
        if failures:
            raise failures[0]
        return found


class Fold(NamedTuple):
    """Numbers of rows, in the order in which LIBSVM takes them."""

    inside: IntArray
    outside: IntArray


def libsvm_folds(labels: FloatArray, folds: int, *, stratified: bool) -> list[Fold]:
    """The folds of LIBSVM's svm_cross_validation at the start of a program.

    `stratified` folds have equal shares of each class, as LIBSVM draws them for classifiers.
    """
    library = ctypes.CDLL(None)
    library.srand(1)
    draw = library.rand
    n = len(labels)
    groups = [np.arange(n)]
    if stratified and folds < n:
        truncated = np.trunc(labels)
        known, first = np.unique(truncated, return_index=True)
        order = known[np.argsort(first)]  # of appearance
        if order.tolist() == [-1, 1]:
            order = order[::-1]
        groups = [np.flatnonzero(truncated == label) for label in order]
    parts: list[list[IntArray]] = [[] for _ in range(folds)]
    for members in groups:
        count = len(members)
        for i in range(count):
            j = i + draw() % (count - i)
            members[i], members[j] = members[j], members[i]
        for f, part in enumerate(parts):
            part.append(members[f * count // folds : (f + 1) * count // folds])
    found = [np.concatenate(part) for part in parts]
    return [Fold(np.concatenate(found[:f] + found[f + 1 :]), outside) for f, outside in enumerate(found)]


def _copied(model: Any) -> Solution:
    k, n = model.nr_class, model.l
    pairs = k * (k - 1) // 2

    def copied(pointer: Any, count: int, dtype: Any) -> Any:
        return np.array(pointer[:count], dtype=dtype) if pointer else None

    coefficients = np.empty((k - 1, n))
    for row in range(k - 1 if n else 0):
        coefficients[row] = np.ctypeslib.as_array(model.sv_coef[row], (n,))
    rho = copied(model.rho, pairs, np.float64)
    return Solution(
        sv_indices=np.ctypeslib.as_array(model.sv_indices, (n,)).astype(np.int64) - 1
        if n
        else np.zeros(0, np.int64),
        sv_coef=coefficients,
        rho=np.zeros(0) if rho is None else rho,
        label=copied(model.label, k, np.int64),
        nr_sv=copied(model.nSV, k, np.int64),
        prob_a=copied(model.probA, pairs, np.float64),
        prob_b=copied(model.probB, pairs, np.float64),
        density_marks=copied(model.prob_density_marks, DENSITY_MARKS, np.float64),
    )


def _libsvm() -> Any:
    """Return LIBSVM's module (MissingPackageError if it is not installed)."""
    try:
        from libsvm import svm  # imported late, because it imports scipy.sparse
    except ImportError as error:
        if error.name not in ("libsvm", "libsvm.svm"):
            raise
        instead = "pip install 'svmfast[train]' (needs a C++ compiler)"
        raise MissingPackageError("models are trained", "libsvm-official", instead=instead) from None
    return svm
