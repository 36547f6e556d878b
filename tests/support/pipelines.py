"""The pipelines of tests/pipelines.tsv: fitted, converted in memory and from a skops file, and compared."""

from pathlib import Path

import numpy as np
import skops.io
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.gaussian_process.kernels import RBF, Matern, WhiteKernel
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import StandardScaler
from sklearn.utils import all_estimators

import svmfast
from svmfast.errors import UnsupportedError
from svmfast.formats.model_files import model_bytes, open_model

LOADED = {"two": load_breast_cancer, "three": load_wine, "value": load_diabetes}
TABLE = Path(__file__).resolve().parents[1] / "pipelines.tsv"
CASES = [(*line.split("\t"), "")[:3] for line in TABLE.read_text().splitlines() if line[0] != "#"]


def after(*steps):
    return make_pipeline(StandardScaler(), *steps)


def columns(*parts, **others):
    return ColumnTransformer([(f"part{i}", *part) for i, part in enumerate(parts)], **others)


NAMES = dict(all_estimators(), np=np, after=after, columns=columns, make_union=make_union)
NAMES |= {"make_pipeline": make_pipeline, "RBF": RBF, "Matern": Matern, "WhiteKernel": WhiteKernel}


def loaded(name):
    """Rows, their labels, and other rows, some of which are far away; of a table, which may have words."""
    table, y = LOADED[name.split()[0]](return_X_y=True, as_frame=True)
    table, y = table.iloc[:, :10], np.array(["c", "a", "b"])[y] if "words" in name else y.to_numpy()
    rng = np.random.default_rng(1)
    order = rng.permutation(len(y))
    train, test = order[:120], order[120:400]
    if "constant" in name:
        table = table.assign(constant=7.0)
    n = np.arange(len(table))
    if "kinds" in name:
        table.insert(3, "kind", np.array(["x", "y z", "=w"])[n % 3])
        table["town"] = np.array(list("aaabbbcde"))[n % 9]
    if "codes" in name or "kinds" in name:
        table["code"] = np.array([0, 2.5, 7, -1])[n % 4]
    if "holes" in name:
        table = table.where(rng.random(table.shape) > 0.1)
    if "unknown" in name:
        table.iloc[test[::5], [3, -2]] = "new", "other"
    if "table" in name:
        return table.iloc[train], y[train], table.iloc[test]
    X = table.to_numpy()
    return X[train], y[train], np.vstack([X[test], X[test] * 1.2, 1e3 * X[test[:9]]])


def near_boundaries(fitted, rows):
    """Rows between others of different classes, close to where the class changes."""
    low, high = rows[:-1], rows[1:]
    differ = fitted.predict(low) != fitted.predict(high)
    low, high = low[differ], high[differ]
    for _ in range(20 if len(low) else 0):
        middle = (low + high) / 2
        same = (fitted.predict(middle) == fitted.predict(low))[:, None]
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return np.vstack([rows, low, high])


def made(estimator):
    """The model, or the message."""
    try:
        return svmfast.from_sklearn(estimator)
    except UnsupportedError as error:
        return str(error)


def converted(data, expression, folder):
    """The message if an estimator has no model; else the labels that differ, and how far values differ."""
    X, y, rows = loaded(data)
    fitted, path = eval(expression, NAMES), folder / "fitted.skops"
    fitted.set_params(**{name: 0 for name in fitted.get_params() if name.endswith("random_state")})
    skops.io.dump(fitted.fit(X, y), path)
    model, same = made(fitted), made(path)
    if isinstance(model, str):
        assert same == model
        return model
    assert model_bytes(same) == model_bytes(model)
    if isinstance(rows, np.ndarray) and "value" not in data:
        rows = near_boundaries(fitted, rows)
    found, expected = svmfast.predict(path, rows), fitted.predict(rows)  # a skops file is a model, too
    assert np.array_equal(
        svmfast.predict(open_model(model_bytes(model)).model, rows).predicted, found.predicted
    )
    if model.head.is_regression:
        return 0, np.abs(found.predicted - expected).max() / np.abs(expected).max()
    differing = int(np.count_nonzero((found.predicted if found.names is None else found.names) != expected))
    if model.head.has_probability:  # LIBSVM keeps them 1e-7 from 0 and 1; the second class comes first
        estimates = svmfast.predict(model, rows, probability=True).probabilities[:, ::-1]
        assert np.abs(estimates - fitted.predict_proba(rows)).max() < 1.1e-7
    if "Threshold" in expression or not hasattr(fitted, "decision_function"):
        return differing, None
    values, expected = found.decisions, fitted.decision_function(rows)
    if values.shape[1] == 1:
        values, expected = np.abs(values[:, 0]), np.abs(expected)
    same = values.shape == expected.shape and (expected.ndim == 1 or model.head.one_vs_rest)
    return differing, np.abs(values - expected).max() / np.abs(expected).max() if same else None
