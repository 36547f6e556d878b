"""The fitted estimators in fixtures/estimators, written by one version of scikit-learn."""

import io
import warnings
from zipfile import ZIP_DEFLATED, ZipFile

from program import FIXTURES

SVM, PIPELINE = FIXTURES / "estimators/iris_svc.skops", FIXTURES / "estimators/iris_pipeline.skops"


def fitted(path):
    """Load an estimator; older versions of scikit-learn warn that a newer one wrote it."""
    import skops.io  # takes a second, so not while tests are collected

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Trying to unpickle estimator")
        return skops.io.load(path)


def changed(estimator, name, value):
    setattr(estimator, name, value)
    return estimator


def dump_skops(estimator, path):
    """Write an estimator, or another object, as ``skops.io.dump`` does."""
    import skops.io

    skops.io.dump(estimator, path)


def members(content):
    with ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def pack(content, packing=ZIP_DEFLATED):
    out = io.BytesIO()
    with ZipFile(out, "w", packing) as archive:
        for name, one in content.items():
            archive.writestr(name, one)
    return out.getvalue()
