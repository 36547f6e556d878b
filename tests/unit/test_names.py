"""One rule for the names of features and classes, wherever they come from."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from program import model
from pyarrow import parquet
from sealing import packed, unpacked
from sklearn.svm import SVC

import svmfast as package
from svmfast import display
from svmfast.errors import SvmfastError, TableError
from svmfast.formats.model_files import load_model
from svmfast.models.scaled import with_scaling
from svmfast.models.scaling import Scaling

CONTROL = "a control character or line end"


@pytest.mark.parametrize(
    ("name", "kind"),
    [("a\nb", CONTROL), ("a\x1b[2J", CONTROL), ("a\u2028", CONTROL), ("\ud800", "half a surrogate pair")],
)
def test_names_that_no_source_may_have(name: str, kind: str, tmp_path: Path) -> None:
    """Models, estimators, headers, labels, lists of names."""
    shown = display.shown(name)
    with pytest.raises(SvmfastError, match=re.escape(f"feature_names: a name with {kind} ('{shown}')")):
        Scaling(np.zeros(1), np.ones(1), feature_names=(name,))
    path = tmp_path / "model"
    scaling = Scaling(np.zeros(4), np.ones(4), class_names=("one", "two", "three"))
    package.save_model(with_scaling(load_model(model("iris_c_rbf_prob")), scaling), path)
    tree = unpacked(path.read_bytes())
    tree["scaling"]["class_names"][1] = name
    (tmp_path / "made").write_bytes(packed(tree))
    with pytest.raises(SvmfastError, match=re.escape(f"class_names: a name with {kind} ('{shown}')")):
        load_model(tmp_path / "made")
    X = np.eye(4)
    y = ["a", name] * 2
    with pytest.raises(SvmfastError, match=re.escape(f"a name with {kind} ('{shown}')")):
        package.from_sklearn(SVC().fit(X, np.array(y, dtype=object)))
    with pytest.raises(SvmfastError, match=re.escape(f"a class has a name with {kind} ('{shown}')")):
        package.train(X, y)
    if kind == CONTROL:  # UTF-8 has no surrogates
        parquet.write_table(pa.table({name: [0.5], "label": [1.0]}), tmp_path / "table.parquet")
        with pytest.raises(TableError, match=re.escape(f"a column has a name with {kind} ('{shown}')")):
            package.predict(path, tmp_path / "table.parquet")
