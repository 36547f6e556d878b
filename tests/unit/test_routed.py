"""Routed models compared with a slow NumPy twin and with LIBSVM, and their file format."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from routed_models import routed
from sealing import packed, unpacked

import svmfast.models.routed as routed_kind
from svmfast import compare
from svmfast.errors import ModelContentError, ModelFormatError, UnsupportedError
from svmfast.formats.model_files import load_model, model_bytes
from svmfast.kernels import Kernel, pairwise_coefficients
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.models.routed import RoutedModel
from svmfast.routing import Router, flat_tree
from svmfast.rows import FloatArray, Rows

FIXTURES = Path(__file__).parents[2] / "fixtures"


def slow_cell(model: RoutedModel, x: FloatArray) -> int:
    """The cell of one dense row, straight from the definition."""
    first = 1 + np.concatenate([[0], np.cumsum(model.children)[:-1]])
    leaves = np.cumsum(model.children == 0) - 1
    node, d = 0, model.centers.shape[1]
    while model.children[node]:
        own = np.arange(first[node], first[node] + model.children[node])
        node = own[np.argmin(((model.centers[own - 1] - x[:d]) ** 2).sum(axis=1))]
    return int(leaves[node])


def slow_values(model: RoutedModel, x: FloatArray) -> FloatArray:
    landmarks = model.landmarks.to_dense(x.shape[1])
    ends = np.cumsum(model.sizes)
    out = np.empty((len(x), model.head.n_functions))
    for i, row in enumerate(x):
        cell = slow_cell(model, row)
        own = slice(ends[cell] - model.sizes[cell], ends[cell])
        difference = landmarks[own] - row
        power = (difference**2 if model.kernel == "rbf" else np.abs(difference)).sum(axis=1)
        values = np.exp(-model.gamma[cell] * power)
        out[i] = model.coef[:, own] @ values - model.rho[cell]
        if model.pseudo is not None:
            out[i] += slow_pseudo(model, cell, np.sqrt(power), values)
    return out


def slow_pseudo(model: RoutedModel, cell: int, r: FloatArray, values: FloatArray) -> FloatArray:
    pseudo = model.pseudo
    assert pseudo is not None
    end = int(pseudo.sizes[: cell + 1].sum())
    own = range(end - int(pseudo.sizes[cell]), end)
    at = int((pseudo.sizes * model.sizes)[:cell].sum())
    total = np.zeros(len(pseudo.coef))
    for t in own:
        if pseudo.kind == "poly":
            value = values[pseudo.pairs[t, 0]] * values[pseudo.pairs[t, 1]]
        else:
            distances = pseudo.distances[at : at + len(r)]
            at += len(r)
            value = np.exp(
                -model.gamma[cell] * max(abs(a - b) for a, b in zip(r, distances, strict=True)) ** 2
            )
        total += pseudo.coef[:, t] * value
    return total


def data(n: int = 500, seed: int = 1, columns: int = 12) -> FloatArray:
    """Rows wider than the model; the last is all zeros."""
    rng = np.random.default_rng(seed)
    x: FloatArray = np.where(rng.random((n, columns)) < 0.6, rng.normal(size=(n, columns)), 0)
    x[-1] = 0
    return x


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("tree", [False, True])
def test_values_are_those_of_the_definition(kernel: str, tree: bool) -> None:
    model = routed(kernel=kernel, head=Head("c_svc", np.array([1, 2, 3])), tree=tree)
    x = data()
    assert np.unique(model.route(Rows.from_dense(x))).size == model.n_cells
    np.testing.assert_allclose(
        model.decision_values(Rows.from_dense(x)), slow_values(model, x), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("pseudo", ["poly", "triangle"])
@pytest.mark.parametrize("share", [0.05, 0.6])
def test_pseudo_landmarks_are_those_of_the_definition(pseudo: str, share: float) -> None:
    """Sparse and dense rows go different ways, with the same bits alone and together."""
    model = routed(head=Head("c_svc", np.array([1, 2, 3])), pseudo=pseudo)
    rng = np.random.default_rng(3)
    x = np.where(rng.random((400, 40)) < share, rng.normal(size=(400, 40)), 0)
    wide = replace(
        model,
        landmarks=Rows.from_dense(np.hstack([model.landmarks.to_dense(), np.zeros((77, 31))])),
        centers=np.hstack([model.centers, np.zeros((8, 32))]),
    )
    for each in (model, wide):
        values = each.decision_values(Rows.from_dense(x), threads=2)
        np.testing.assert_allclose(values, slow_values(each, x), rtol=1e-11, atol=1e-11)
    assert np.array_equal(values, model.decision_values(Rows.from_dense(x)))


def test_a_constant_function_costs_nothing() -> None:
    model = routed(head=Head("c_svc", np.array([1, 2, 3])), tree=False)
    rows = Rows.from_dense(np.tile(model.centers[3], (5, 1)))
    before = model.decision_values(rows)
    coef = model.coef.copy()
    coef[1, 7:] = 0
    less = replace(model, coef=coef)
    after = less.decision_values(rows)
    assert np.array_equal(before[:, [0, 2]], after[:, [0, 2]])
    assert np.array_equal(after[:, 1], -model.rho[[3] * 5, 1])
    assert model.multiply_adds(rows) - less.multiply_adds(rows) == 30


def test_equally_near_centers_go_to_the_first() -> None:
    router = Router.flat(np.array([[1.0, 0], [0, 1], [1, 0], [5, 5]]))
    rows = Rows.from_dense([[0, 0], [1, 0], [0, 2], [4, 6], [0.5, 0.5]])
    assert router.route(rows).tolist() == [0, 0, 1, 3, 0]


def test_one_vs_rest_takes_the_largest_value() -> None:
    head = Head("c_svc", np.array([7, -2, 4]), one_vs_rest=True)
    assert head.n_functions == 3
    assert head.predict(np.array([[1.0, 2, 3], [3, 3, 1], [-5, -4, -6]])).tolist() == [4, 7, -2]
    with pytest.raises(UnsupportedError, match="does not support probability"):
        head.probabilities(np.zeros((1, 3)))


def test_one_vs_rest_needs_three_classes_and_no_probabilities() -> None:
    for bad in (
        lambda: Head("c_svc", np.array([1, 2]), one_vs_rest=True),
        lambda: Head("epsilon_svr", one_vs_rest=True),
        lambda: Head("c_svc", np.arange(3), prob_a=np.zeros(3), prob_b=np.zeros(3), one_vs_rest=True),
    ):
        with pytest.raises(ModelContentError, match="decision: one decision value for each class"):
            bad()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"children": np.array([4, 0, 0])}, "children: not the counts of a tree ('4')"),
        ({"children": np.array([0, 2, 0])}, "children: not the counts of a tree"),
        ({"centers": np.zeros((2, 3))}, "centers: shape (2, 3)"),
        ({"kernel": "linear"}, "kernel_type: unknown kernel ('linear')"),
        ({"gamma": np.array([1, 1, 0, 1.0])}, "gamma: not a positive width for each cell"),
        ({"sizes": np.array([5, 2, 0, 31])}, "sizes: not the sizes of the cells"),
        ({"rho": np.zeros((4, 2))}, "rho: rho of shape (4, 2)"),
        ({"coef": np.zeros((2, 37))}, "coef: coef of shape (2, 37)"),
        ({"nr_sv": np.zeros((4, 2), np.int64)}, "nr_sv: class sizes in a model without pairs of classes"),
    ],
)
def test_parts_that_contradict_each_other(change: dict[str, object], message: str) -> None:
    with pytest.raises(ModelContentError) as caught:
        replace(routed(tree=False), **change)  # type: ignore[arg-type]
    assert str(caught.value).startswith(f"{message}; expected")


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("poly", {"kind": "cubic"}, "pseudo_type: unknown kind ('cubic')"),
        ("poly", {"coef": np.zeros((2, 3))}, "pseudo_coef: 2 rows"),
        ("poly", {"sizes": np.array([1, 1, 1, 1])}, "pseudo_sizes: not the sizes of the cells"),
        ("poly", {"pairs": np.zeros((1, 2), np.int64)}, "pseudo_pair: pairs of shape (1, 2)"),
        ("poly", {"distances": np.zeros(3)}, "pseudo_pair: pairs of shape"),
        ("triangle", {"distances": np.zeros(3)}, "pseudo_distance: not the distances"),
    ],
)
def test_pseudo_landmarks_that_contradict_their_cells(
    kind: str, change: dict[str, object], message: str
) -> None:
    model = routed(tree=False, pseudo=kind)
    assert model.pseudo is not None
    with pytest.raises(ModelContentError) as caught:
        replace(model, pseudo=replace(model.pseudo, **change))  # type: ignore[arg-type]
    assert str(caught.value).startswith(message)
    if kind == "poly":
        pairs = model.pseudo.pairs.copy()
        pairs[0] = 40
        with pytest.raises(ModelContentError, match="pseudo_pair: a landmark that its cell does not have"):
            replace(model, pseudo=replace(model.pseudo, pairs=pairs))
    with pytest.raises(
        ModelContentError, match="pseudo_type: pseudo landmarks in a model that cannot have them"
    ):
        replace(model, kernel="laplacian")
    none = replace(model.pseudo, coef=np.zeros((0, model.pseudo.coef.shape[1])))
    with pytest.raises(ModelContentError, match="pseudo_coef: pseudo landmarks without decision functions"):
        none.check(model.sizes, 0)


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        (("kernel",), "sigmoid", r"kernel_type: unknown kernel \('sigmoid'\)"),
        (("pseudo", "kind"), "triangle", "pseudo_distance: not the distances"),
        (("pseudo", "sizes"), None, "missing 1 required positional argument: 'sizes'"),
        (("landmarks", "indptr"), lambda a: a[::-1].copy(), "indptr does not ascend"),
        (("landmarks", "indptr"), lambda a: np.maximum(a, 1), "landmarks: not starts of all values"),
        (("landmarks", "indices"), lambda a: a + 100, "out of range for 9 columns"),
        (("landmarks", "indices"), lambda a: a * 0, "not in ascending order"),
        (("landmarks", "values"), lambda a: a[:-1], "inconsistent"),
        (("centers",), lambda a: a.ravel(), "centers: shape"),
        (("children",), lambda a: a[:, None], "children: not the counts of a tree"),
    ],
)
def test_files_that_contradict_themselves(part: tuple[str, ...], value: Any, message: str) -> None:
    tree = unpacked(model_bytes(routed(tree=False, pseudo="poly")))
    *outer, name = part
    inside = tree[outer[0]] if outer else tree
    inside[name] = value(inside[name]) if callable(value) else value
    if value is None:
        del inside[name]
    with pytest.raises(ModelFormatError, match=f"<bytes>: not a valid model .*{message}"):
        load_model(packed(tree))


def test_counted_cost() -> None:
    """Flat, all rows in the last cell: 4 centers and 30 landmarks of 9 columns, one function."""
    model = routed(tree=False)
    rows = Rows.from_dense(np.tile(model.centers[3], (5, 1)))
    assert model.multiply_adds(rows) == 4 * 9 + 30 * (9 + 1)


def test_compare_leaves_out_errors_of_values_that_do_not_correspond() -> None:
    rows = Rows.from_dense(data(40))
    labels = np.array([1, 2, 3])
    pairs, classes = (routed(head=Head("c_svc", labels, one_vs_rest=b)) for b in (False, True))
    result = compare({"a": pairs, "b": classes}, rows, np.zeros(40), repeats=1)
    assert result.models[0].mean_abs_error == 0
    assert result.models[1].mean_abs_error is None
    assert result.models[1].labels_differing == np.count_nonzero(
        pairs.head.predict(pairs.decision_values(rows)) != classes.head.predict(classes.decision_values(rows))
    )


def test_libsvm_models_have_libsvm_kernels() -> None:
    exact = load_model(FIXTURES / "models" / "breast_c_rbf.model")
    with pytest.raises(ModelContentError, match=r"kernel_type: not a LIBSVM kernel \('laplacian'\)"):
        replace(exact, kernel=Kernel("laplacian", 1.0))  # type: ignore[type-var]


def test_sparse_landmarks_against_the_definition() -> None:
    for kernel, pseudo in (("rbf", "triangle"), ("rbf", "poly"), ("rbf", None), ("laplacian", None)):
        model = routed(kernel=kernel, pseudo=pseudo)
        thin = np.where(np.random.default_rng(9).random(model.landmarks.to_dense().shape) < 0.05, 1.5, 0.0)
        model = replace(model, landmarks=Rows(*thinned(thin), n_columns=9))
        x = data()
        values = model.decision_values(Rows.from_dense(x))
        np.testing.assert_allclose(values, slow_values(model, x), rtol=1e-10, atol=1e-11)


def thinned(dense: FloatArray) -> tuple[NDArray[np.int64], NDArray[np.int32], FloatArray]:
    rows = Rows.from_dense(dense)
    return rows.indptr, rows.indices, rows.values


def test_a_tree_as_deep_as_it_has_cells_is_walked() -> None:
    # Every node has a leaf and one deeper node: the row that lies at none of the leaves goes to the last.
    depth = 3000
    children = np.array([2, *[0, 2] * (depth - 1), 0, 0])
    centers = np.tile([[-1.0], [1.0]], (depth, 1))
    router = Router(children, centers)
    assert router.n_cells == depth + 1
    assert router.route(Rows.from_dense([[-0.5], [0.5]])).tolist() == [0, depth]


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e7])
@pytest.mark.parametrize("scale", [1e-160, 1.0, 1e160])
def test_rows_far_from_the_origin_go_to_the_nearest_center(offset: float, scale: float) -> None:
    rng = np.random.default_rng(7)
    centers, points = (offset + rng.normal(size=(n, 6)) for n in (70, 300))
    centers[40] = centers[3]  # of equals the first
    cell = Router.flat(scale * centers).route(Rows.from_dense(scale * points))
    distances = ((points[:, None] - centers[None]) ** 2).sum(axis=2)
    # Rounding of ||c||^2 - 2 x.c may choose between centers that are as near as that.
    slack = 1e-14 * (1 + offset) ** 2
    assert (distances[np.arange(300), cell] <= distances.min(axis=1) + slack).all()
    assert 40 not in cell


def _model(rng: np.random.Generator, k: int, sizes: list[list[int]], d: int) -> RoutedModel:
    nr_sv = np.array(sizes, dtype=np.int64)
    m, cells = int(nr_sv.sum()), len(sizes)
    return RoutedModel(
        head=Head("c_svc", np.arange(10, 10 + k)),
        kernel="rbf",
        gamma=rng.uniform(0.1, 0.4, cells),
        children=flat_tree(cells),
        centers=rng.standard_normal((cells, d)),
        landmarks=Rows.from_dense(rng.standard_normal((m, d))),
        sizes=nr_sv.sum(axis=1),
        coef=rng.standard_normal((k - 1, m)),
        rho=rng.standard_normal((cells, k * (k - 1) // 2)) * 0.1,
        nr_sv=nr_sv,
    )


def _twin(model: RoutedModel, x: FloatArray) -> FloatArray:
    """The slow way, cell by cell."""
    assert model.nr_sv is not None
    u, end = model.landmarks.to_dense(x.shape[1]), np.cumsum(model.sizes)
    out = np.empty((len(x), model.head.n_functions))
    for i, cell in enumerate(model.route(Rows.from_dense(x))):
        part = slice(end[cell] - model.sizes[cell], end[cell])
        coef = pairwise_coefficients(model.coef[:, part], model.nr_sv[cell])
        squares = ((u[part] - x[i]) ** 2).sum(axis=1)
        out[i] = coef @ np.exp(-model.gamma[cell] * squares) - model.rho[cell]
    return out


@pytest.mark.parametrize(
    ("k", "sizes"),
    [
        (2, [[5, 4], [1, 0]]),
        (3, [[9, 17, 3]]),
        (4, [[1, 0, 2, 30], [0, 0, 0, 0], [3, 3, 3, 3]]),
        (10, [[14, 13, 14, 14, 14, 13, 14, 14, 14, 14]]),
    ],
)
@pytest.mark.parametrize("d", [3, 40])
def test_values_are_those_of_the_formula(k: int, sizes: list[list[int]], d: int) -> None:
    rng = np.random.default_rng(k)
    model = _model(rng, k, sizes, d)
    x = rng.standard_normal((77, d)) * (rng.random((77, d)) < 0.8)
    x[50:] *= rng.random((27, d)) < 0.2  # few entries: the sparse way
    rows = Rows.from_dense(x)
    got = model.decision_values(rows)
    assert model._cells is not None
    np.testing.assert_allclose(got, _twin(model, x), rtol=1e-11, atol=1e-12)
    # However rows are batched, and for any number of threads: the same bytes.
    for first, last in ((0, 77), (3, 4), (10, 61)):
        for threads in (1, 3):
            part = model.decision_values(rows[first:last], threads=threads)
            assert part.tobytes() == got[first:last].tobytes()


def test_a_vote_that_hangs_on_rounding_is_libsvms() -> None:
    """Coefficients that cancel exactly in LIBSVM's order: its bits, so its votes, for the rows in doubt."""
    rng = np.random.default_rng(0)
    u = rng.standard_normal((6, 12))
    coef = np.array([[0.1, 0.2, 0.3, -0.1, -0.2, -0.3], [0.7, -0.5, 0.3, 0.2, 0.1, 0.6]])
    # Class 1 has class 0's vectors with opposite coefficients: pair (0, 1) is nothing but rounding.
    sv = Rows.from_dense(np.vstack([u[:3], u[:3], u[3:]]))
    wide = np.hstack([coef, rng.standard_normal((2, 3))])
    head = Head("c_svc", np.array([3, 1, 2]))
    nr_sv, rho = np.array([3, 3, 3]), np.array([0.0, 0.1, -0.2])
    exact = KernelExpansion(head, Kernel("rbf", 0.05), sv, wide, rho, nr_sv)
    model = RoutedModel(
        head, "rbf", np.array([0.05]), flat_tree(1), np.zeros((1, 12)), sv, np.array([9]), wide, rho[None],
        nr_sv[None],
    )  # fmt: skip
    rows = Rows.from_dense(rng.standard_normal((40, 12)))
    theirs = exact._engine.decision_values(rows, libsvm_order=True)
    assert np.abs(theirs[:, 0]).max() < 1e-15
    assert model._cells is not None
    cell = model.route(rows)
    doubtful = model._cells.decide(cell, rows, 1)[1]
    assert doubtful.tolist() == list(range(40))
    ours = model.decision_values(rows, threads=2)
    assert ours.tobytes() == theirs.tobytes()
    assert (model.head.predict(ours) == head.predict(theirs)).all()


def test_sparse_and_laplacian_landmarks_are_met_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    model = _model(rng, 3, [[4, 5, 6], [2, 2, 2]], 30)
    rows = Rows.from_dense(rng.standard_normal((20, 30)))
    dense = model.decision_values(rows)
    monkeypatch.setattr(routed_kind, "_DENSE_SHARE", 2.0)
    other = replace(model)
    np.testing.assert_allclose(other.decision_values(rows), dense, rtol=1e-11, atol=1e-12)
    assert other._cells is None
    assert replace(model, kernel="laplacian")._cells is None
