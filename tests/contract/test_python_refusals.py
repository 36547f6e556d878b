"""Calls of tests/python_refusals.tsv end with their errors, each of one line, and leave no file."""

from dataclasses import replace

import numpy as np
import pandas
import pipelines
import polars
import pyarrow as pa
import pytest
import scipy
from estimators import changed
from program import ROOT, cells_of, data, model
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import linear_kernel

import svmfast
from svmfast.formats.libsvm_model import libsvm_model_bytes
from svmfast.kernels import Kernel
from svmfast.methods.budget.sgd import StepOptions
from svmfast.methods.train.training import TrainOptions, cross_validate, train
from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import Scaling
from svmfast.options import Reading
from svmfast.rows import Rows, as_rows

X, Y = load_iris(return_X_y=True)
KINDS = np.array(["out", "in", "on"])[Y]
FRAME = pandas.DataFrame(X, columns=[*"abcd"]).assign(day="monday", kind=KINDS)
MODEL = svmfast.load_model(model("iris_c_rbf_prob"))
THINGS = (svmfast, scipy, pandas, polars, replace, changed, linear_kernel, Kernel, Scaling, ScaledModel)
THINGS += (Reading, Rows, as_rows, StepOptions, TrainOptions, cross_validate, train, libsvm_model_bytes)
NAMES = {
    **pipelines.NAMES,
    **{one.__name__: one for one in THINGS},
    **{"X": X, "Y": Y, "KINDS": KINDS, "FRAME": FRAME, "TABLE": pa.Table.from_pandas(FRAME), "MODEL": MODEL},
    **{"PATH": model("iris_c_rbf_prob"), "ROWS": svmfast.read_svmlight(data("iris.train"))},
    "LARGE": np.full((1, 4), 10**400, dtype=object),
    "INFINITE": Rows([0, 1, 1, 3], [0, 0, 1], [1, 2, np.inf], 2),
    "MISSING": Rows([0, 3, 5], [0, 1, 2, 0, 2], [1.0, 5, 4, 2, 6], 3),
}


@pytest.mark.parametrize(("call", "kind", "message"), cells_of(ROOT / "tests" / "python_refusals.tsv")[1:])
def test_refused(call, kind, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for wrong in (3, object()) if "wrong" in call else (None,):
        with pytest.raises(svmfast.SvmfastError, match=message) as caught:
            eval(call, NAMES | {"wrong": wrong})
        assert type(caught.value).__name__ == kind
        assert "\n" not in str(caught.value)
    assert not [*tmp_path.iterdir()]
