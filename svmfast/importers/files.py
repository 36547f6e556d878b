"""Reads estimators from files: skops, which contains no code, and pickles if the caller trusts them."""

from __future__ import annotations

import os
import re
import stat
import warnings
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from svmfast.errors import (
    FileAccessError,
    InputError,
    ModelContentError,
    ModelFormatError,
    OptionError,
    UnsupportedError,
)
from svmfast.foreign import foreign
from svmfast.importers.estimators import model_of
from svmfast.models.base import Model
from svmfast.models.memory import MEMORY, Allowance
from svmfast.sparse import csr_arrays, is_sparse

#: The first bytes of a skops file, which is a zip archive.
_ZIP = b"PK\x03\x04"
#: The first bytes of a pickle of protocol 2 or later, and of the formats in which joblib compresses pickles:
#: zlib, gzip, bzip2, xz, lzma and lz4.
_PICKLES = (b"\x80", b"\x78", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x5d\x00\x00", b"\x04\x22\x4d\x18")
#: Types in scikit-learn's estimators that skops does not trust by default, but that only hold numbers or
#: estimators; those in a search: how it splits rows, and its scorers, whose functions only compute.
_HARMLESS = re.compile(
    r"numpy\.dtype|scipy\.sparse\._(\w+)\.\1_(matrix|array)"
    r"|sklearn\.(calibration\._(CalibratedClassifier|SigmoidCalibration)|multiclass\._ConstantPredictor"
    r"|gaussian_process\.kernels\.(RBF|Matern|\w+Kernel|Sum|Product|Exponentiation|RationalQuadratic|DotProduct)"
    r"|feature_selection\._(univariate_selection\.(f_classif|chi2|\w_regression)|mutual_info\.mutual_info_\w+)"
    r"|model_selection\._split\.\w+|utils\._metadata_requests\.(Method)?MetadataRequest"
    r"|metrics\._scorer\.(_PassthroughScorer|_MultimetricScorer|_Scorer|_CurveScorer))"
)
#: Bytes that a byte of JSON may take: "[]," becomes an empty list and a pointer to it.
_JSON_BYTES = 32
#: Limits on the memory for an archive's content, and on its ratio to the archive's size.
_UNPACKED_BYTES, _UNPACKED_RATIO = 128 << 20, 100
_EXPECTED = "expected an estimator that skops.io.dump wrote"


def model_of_file(
    path: str | os.PathLike[str], *, trust_pickle: bool = False, memory: int = MEMORY
) -> tuple[Model, tuple[str, ...]]:
    """The model of an estimator in a file, and the warnings of the library that read it.

    `memory` limits the content of a skops file.
    """
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            start, is_pipe = file.read(8), stat.S_ISFIFO(os.fstat(file.fileno()).st_mode)
    except OSError as error:
        raise FileAccessError(name, None, f"cannot be read: {error.strerror or error}") from error
    if is_pipe:
        raise FileAccessError(name, None, "is read twice and cannot be a pipe", expected="give a file")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if start.startswith(_ZIP):
            found = _from_skops(name, memory)
        elif start.startswith(_PICKLES):
            found = _from_pickle(name, trust_pickle)
        elif start.startswith(b"svm_type") or start.startswith(b"svmfast"):
            raise ModelFormatError(name, None, "a model, not an estimator", None, "use it as it is")
        else:
            raise ModelFormatError(name, None, "not an estimator", None, _EXPECTED)
    remarks = dict.fromkeys(" ".join(str(one.message).split()) for one in caught)
    # The attributes may not be those of a fit.
    expected = "expected those of a fitted estimator"
    odd = (ModelContentError, OptionError)
    with foreign(name, "inconsistent attributes", expected, ModelFormatError, also=odd):
        _check_matrices(found, Allowance(memory, name))
        return model_of(found), tuple(remarks)


def _from_skops(name: str, memory: int) -> Any:
    from zipfile import ZipFile

    try:
        import skops.io
    except ImportError as error:
        raise UnsupportedError(
            f"{name}: reading it needs skops, which is not installed", "pip install 'svmfast[sklearn]'"
        ) from error
    with foreign(name, "skops cannot read it", _EXPECTED, ModelFormatError):
        with ZipFile(name) as archive:
            # A small archive may unpack to a large one.
            sizes = {one.filename: one.file_size for one in archive.infolist()}
            needed = 2 * sum(sizes.values()) + _JSON_BYTES * sizes.get("schema.json", 0)
            Allowance(memory, name, "estimator").check(needed)
            if needed > max(_UNPACKED_BYTES, _UNPACKED_RATIO * os.path.getsize(name)):
                what = f"it unpacks to more than {_UNPACKED_RATIO} times its size in memory"
                raise InputError(name, None, what, None, _EXPECTED)
        types = skops.io.get_untrusted_types(file=name)
        if odd := ", ".join(sorted(set(types) - _trusted(types))):
            raise ModelFormatError(
                name,
                None,
                "types that skops does not trust",
                odd,
                "expected only types of scikit-learn; of a search, dump its best_estimator_, and of an "
                "estimator of svmfast.sklearn save svmfast.from_sklearn(estimator)",
            )
        return skops.io.load(name, trusted=types)


def _check_matrices(found: Any, allowance: Allowance) -> None:
    """Raise an error if a sparse matrix in an object from a file has invalid indices.

    Arithmetic with an attribute that should be an array would else run SciPy's native loops on them.
    """
    waiting, seen = [found], {}
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, type | ModuleType):
            continue
        seen[id(one)] = one
        if is_sparse(one):
            allowance.check(16 * sum(one.shape))
            csr_arrays(one)
        elif isinstance(one, np.ndarray):
            waiting += one.ravel().tolist() if one.dtype.hasobject else []
        else:
            waiting += one.values() if isinstance(one, dict) else []
            waiting += one if isinstance(one, list | tuple | set | frozenset) else []
            waiting += getattr(one, "__dict__", {}).values()


def _trusted(types: Sequence[str]) -> set[str]:
    """Those of the types of a skops file that scikit-learn's own estimators and searches hold."""
    from sklearn.metrics import get_scorer, get_scorer_names

    functions = [getattr(get_scorer(name), "_score_func", None) for name in get_scorer_names()]
    metrics = {f"{one.__module__}.{one.__qualname__}" for one in functions if one is not None}
    return {one for one in types if one in metrics or _HARMLESS.fullmatch(one)}


def _from_pickle(name: str, trusted: bool) -> Any:
    if not trusted:
        raise UnsupportedError(
            f"{name}: a pickle, which can run any code when it is loaded",
            "write the estimator with skops.io.dump, or load one of your own with `trust_pickle`",
        )
    expected = "expected a file that joblib or pickle dumped in this environment"
    with foreign(name, "the pickle cannot be loaded", expected, ModelFormatError):
        import joblib  # reads what pickle wrote, too

        try:
            return joblib.load(name)
        except (SystemExit, GeneratorExit) as error:
            raise ValueError("it ends the program that loads it") from error
