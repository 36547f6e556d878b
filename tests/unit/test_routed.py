"""Routed models compared with a slow NumPy twin, LIBSVM's models and SciPy's distances; their file format.

Longer than 400 lines: every test uses the NumPy twin defined first.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from routed_models import routed
from scipy.spatial.distance import cdist
from sealing import packed, unpacked

from svmfast import compare
from svmfast.errors import ModelContentError, ModelFormatError, UnsupportedError
from svmfast.formats.model_files import load_model, model_bytes
from svmfast.formats.svmlight import read_svmlight
from svmfast.kernels import DecisionEngine, Kernel
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.models.pseudo import PseudoLandmarks
from svmfast.models.routed import RoutedModel
from svmfast.routing import Router, flat_tree
from svmfast.rows import Rows

FIXTURES = Path(__file__).parents[2] / "fixtures"
FloatArray = NDArray[np.float64]


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


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_a_rows_answer_depends_on_nothing_else(kernel: str) -> None:
    model = routed(kernel=kernel)
    rows = Rows.from_dense(data(3000))
    together = model.decision_values(rows)
    assert np.array_equal(together, model.decision_values(rows, threads=3))
    parts = [model.decision_values(rows[i : i + 7]) for i in range(0, 700, 7)]
    assert np.array_equal(together[:700], np.concatenate(parts))


def test_equally_near_centers_go_to_the_first() -> None:
    router = Router.flat(np.array([[1.0, 0], [0, 1], [1, 0], [5, 5]]))
    assert router.route(Rows.from_dense([[0, 0], [1, 0], [0, 2], [4, 6], [0.5, 0.5]])).tolist() == [
        0,
        0,
        1,
        3,
        0,
    ]


def test_grouping_keeps_the_order_within_a_cell() -> None:
    model, rows = routed(), Rows.from_dense(data())
    order, start, grouped = Router(model.children, model.centers).group(rows)
    cells = model.route(rows)
    assert np.array_equal(order, np.argsort(cells, kind="stable"))
    assert np.array_equal(np.diff(start), np.bincount(cells, minlength=6))
    assert np.array_equal(grouped.to_dense(), rows.to_dense()[order])


@pytest.mark.parametrize("name", ["breast_c_rbf", "wine_c_rbf_prob", "digits_nu_rbf"])
def test_a_cell_can_be_a_libsvm_model(name: str) -> None:
    """One cell, LIBSVM's arrangement: the model itself, but for the order of its sums."""
    exact = load_model(FIXTURES / "models" / f"{name}.model")
    assert isinstance(exact, KernelExpansion)
    assert exact.nr_sv is not None
    model = RoutedModel(
        exact.head,
        "rbf",
        np.array([exact.kernel.gamma]),
        flat_tree(1),
        np.zeros((1, 2)),
        exact.sv,
        np.array([len(exact.sv)]),
        exact.sv_coef,
        exact.rho[None],
        exact.nr_sv[None],
    )
    rows = read_svmlight(FIXTURES / "data" / f"{name.split('_')[0]}.test").rows
    ours, theirs = model.decision_values(rows), exact.decision_values(rows)
    # Either sum is within n u sum |terms| of the true one, in whatever order an instruction set adds; kernel
    # values are at most 1. Coefficients add up to hundreds here, of which values near 0 are left.
    terms = np.abs(exact.sv_coef).sum() + np.abs(exact.rho).max()
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=2 * len(exact.sv) * 2.0**-53 * terms)
    assert np.array_equal(model.head.predict(ours), exact.head.predict(theirs))
    again = load_model(model_bytes(model))
    assert np.array_equal(again.decision_values(rows), ours)


@pytest.mark.parametrize("seed", range(3))
def test_the_file_holds_the_model(seed: int) -> None:
    head = [Head("epsilon_svr"), Head("c_svc", np.array([3, 1, 2]), one_vs_rest=True), Head("one_class")][
        seed
    ]
    model = replace(routed(seed, head=head), provenance={"method": "test"})
    text = model_bytes(model)
    again = load_model(text)
    assert isinstance(again, RoutedModel)
    assert again.head.one_vs_rest == head.one_vs_rest
    assert model_bytes(again) == text
    rows = Rows.from_dense(data())
    assert np.array_equal(again.decision_values(rows), model.decision_values(rows))


def test_one_vs_rest_takes_the_largest_value() -> None:
    head = Head("c_svc", np.array([7, -2, 4]), one_vs_rest=True)
    assert head.n_functions == 3
    assert head.predict(np.array([[1.0, 2, 3], [3, 3, 1], [-5, -4, -6]])).tolist() == [4, 7, -2]
    with pytest.raises(UnsupportedError, match="does not support probability"):
        head.probabilities(np.zeros((1, 3)))


def test_one_vs_rest_needs_three_classes_and_no_probabilities() -> None:
    expected = (
        "decision: one decision value for each class in this model; "
        "expected this rule only with three or more classes and without probabilities"
    )
    for bad in (
        lambda: Head("c_svc", np.array([1, 2]), one_vs_rest=True),
        lambda: Head("epsilon_svr", one_vs_rest=True),
        lambda: Head("c_svc", np.arange(3), prob_a=np.zeros(3), prob_b=np.zeros(3), one_vs_rest=True),
    ):
        with pytest.raises(ModelContentError) as caught:
            bad()
        assert str(caught.value) == expected


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


@pytest.mark.parametrize("n", [1, 5, 24, 100])
def test_laplacian_kernel_values(n: int) -> None:
    rng = np.random.default_rng(n)
    x, z = rng.normal(size=(2 * n + 1, 7)), rng.normal(size=(n, 7))
    np.testing.assert_allclose(
        Kernel("laplacian", 0.3).matrix(x, z), np.exp(-0.3 * cdist(x, z, "cityblock")), rtol=1e-14
    )


def test_laplacian_decision_values_by_pairs() -> None:
    """Grouped by class, as LIBSVM arranges coefficients, against the definition."""
    rng = np.random.default_rng(0)
    sizes = np.array([4, 0, 9])
    sv, coef, rho = rng.normal(size=(13, 5)), rng.normal(size=(2, 13)), rng.normal(size=3)
    x = data(50, columns=6)
    values = DecisionEngine(Kernel("laplacian", 0.7), Rows.from_dense(sv), coef, rho, sizes).decision_values(
        Rows.from_dense(x)
    )
    k = np.exp(-0.7 * cdist(x, np.pad(sv, ((0, 0), (0, 1))), "cityblock"))
    a, c = slice(0, 4), slice(4, 13)
    expected = np.stack(
        [k[:, a] @ coef[0, a], k[:, a] @ coef[1, a] + k[:, c] @ coef[0, c], k[:, c] @ coef[1, c]], axis=1
    )
    np.testing.assert_allclose(values, expected - rho, rtol=1e-12, atol=1e-12)


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


@pytest.mark.parametrize("pseudo", [None, "poly", "triangle"])
def test_listed_landmarks_give_the_bits_of_dense_ones(pseudo: str | None) -> None:
    """Sparse landmarks far apart, alone, and with dense ones of no weight after them in the same cell."""
    rng = np.random.default_rng(4)
    few = np.where(rng.random((90, 50)) < 0.04, rng.normal(size=(90, 50)), 0)
    few[np.arange(50), np.arange(50)] = 1.0
    columns = np.arange(50, dtype=np.int32) * 1_000_003
    x = Rows.from_dense(np.where(rng.random((70, 50)) < 0.4, rng.normal(size=(70, 50)), 0))
    rows = Rows(x.indptr, columns[x.indices], x.values, 50_000_000)
    values = []
    for dense in (few, np.concatenate([few, rng.normal(size=(60, 50))])):
        m = len(dense)
        landmarks = Rows.from_dense(dense)
        coef = np.zeros((1, m))
        coef[0, :90] = np.random.default_rng(1).normal(size=90)
        extra = None
        if pseudo == "poly":
            pairs = np.array([[0, 1], [5, 5], [7, 80]])
            extra = PseudoLandmarks("poly", np.array([3]), np.array([[1.0, -2.0, 0.5]]), pairs, np.zeros(0))
        elif pseudo == "triangle":
            r = np.zeros(m)
            r[:90] = np.random.default_rng(2).uniform(1, 2, 90)
            extra = PseudoLandmarks("triangle", np.array([1]), np.ones((1, 1)), np.zeros((0, 2), np.int64), r)
        model = RoutedModel(
            Head("epsilon_svr"), "rbf", np.array([0.3]), np.array([0]), np.zeros((0, 1)),
            Rows(landmarks.indptr, columns[landmarks.indices], landmarks.values, 50_000_000),
            np.array([m]), coef, np.ones((1, 1)), pseudo=extra,
        )  # fmt: skip
        values.append(model.decision_values(rows))
    if pseudo != "triangle":  # there all landmarks take part in a maximum
        np.testing.assert_array_equal(*values)
    k = np.exp(-0.3 * cdist(x.to_dense(50), few, "sqeuclidean"))
    if pseudo is None:
        expected = k @ np.random.default_rng(1).normal(size=90) - 1
        np.testing.assert_allclose(values[0][:, 0], expected, rtol=1e-11, atol=1e-12)


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
