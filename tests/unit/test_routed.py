"""Routed models compared with a slow NumPy twin and with LIBSVM, and their file format."""

from dataclasses import replace

import numpy as np
import pytest
from routed_models import routed

from svmfast import compare
from svmfast.kernels import Kernel, pairwise_coefficients
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.models.routed import RoutedModel, centers_on_the_way
from svmfast.routing import Router, flat_tree
from svmfast.rows import Rows

THREE = Head("c_svc", np.array([1, 2, 3]))
POLY = routed(tree=False, pseudo="poly").pseudo


def slow_cell(model, x):
    """The cell of one dense row, straight from the definition."""
    first = 1 + np.concatenate([[0], np.cumsum(model.children)[:-1]])
    leaves = np.cumsum(model.children == 0) - 1
    node, d = 0, model.centers.shape[1]
    while model.children[node]:
        own = np.arange(first[node], first[node] + model.children[node])
        node = own[np.argmin(((model.centers[own - 1] - x[:d]) ** 2).sum(axis=1))]
    return int(leaves[node])


def slow_values(model, x):
    landmarks, ends = model.landmarks.to_dense(x.shape[1]), np.cumsum(model.sizes)
    out = np.empty((len(x), model.head.n_functions))
    for i, row in enumerate(x):
        cell = slow_cell(model, row)
        own = slice(ends[cell] - model.sizes[cell], ends[cell])
        coef, difference = model.coef[:, own], landmarks[own] - row
        if model.nr_sv is not None:
            coef = pairwise_coefficients(coef, model.nr_sv[cell])
        power = (difference**2 if model.kernel == "rbf" else np.abs(difference)).sum(axis=1)
        values = np.exp(-model.gamma[cell] * power)
        out[i] = coef @ values - model.rho[cell]
        if model.pseudo is not None:
            out[i] += slow_pseudo(model, cell, np.sqrt(power), values)
    return out


def slow_pseudo(model, cell, r, values):
    pseudo = model.pseudo
    end = int(pseudo.sizes[: cell + 1].sum())
    at = int((pseudo.sizes * model.sizes)[:cell].sum())
    total = np.zeros(len(pseudo.coef))
    for t in range(end - int(pseudo.sizes[cell]), end):
        if pseudo.kind == "poly":
            value = values[pseudo.pairs[t, 0]] * values[pseudo.pairs[t, 1]]
        else:
            value = np.exp(-model.gamma[cell] * np.abs(r - pseudo.distances[at : at + len(r)]).max() ** 2)
            at += len(r)
        total += pseudo.coef[:, t] * value
    return total


def classes(sizes, d, kernel="rbf", share=1.0):
    """A model in LIBSVM's layout, with the sizes of each cell's classes."""
    nr_sv = np.array(sizes, dtype=np.int64)
    (cells, k), m, rng = nr_sv.shape, int(nr_sv.sum()), np.random.default_rng(len(sizes[0]))
    landmarks = Rows.from_dense(np.where(rng.random((m, d)) < share, rng.standard_normal((m, d)), 0))
    return RoutedModel(
        Head("c_svc", np.arange(10, 10 + k)), kernel, rng.uniform(0.1, 0.4, cells), flat_tree(cells),
        rng.standard_normal((cells, d)), landmarks, nr_sv.sum(axis=1), rng.standard_normal((k - 1, m)),
        rng.standard_normal((cells, k * (k - 1) // 2)) * 0.1, nr_sv,
    )  # fmt: skip


def wide(model):
    """The model with 40 columns: its landmarks are sparse."""
    centers = np.hstack([model.centers, np.zeros((len(model.centers), 40 - model.centers.shape[1]))])
    return replace(model, landmarks=Rows.from_dense(model.landmarks.to_dense(40)), centers=centers)


def thin(model):
    few = np.random.default_rng(9).random((len(model.landmarks), 9)) < 0.05
    return replace(model, landmarks=Rows.from_dense(np.where(few, 1.5, 0.0)))


def apart(model):
    """The model with gaps between its landmarks' columns, beyond those of the centers."""
    return replace(model, landmarks=model.landmarks.renumbered(model.landmarks.indices * 4, 36))


UNEVEN = [[1, 0, 2, 30], [0, 0, 0, 0], [3, 3, 3, 3]]
MODELS = {
    "two classes": classes([[5, 4], [1, 0]], 3), "wide two classes": classes([[5, 4], [1, 0]], 40),
    "three classes": classes([[9, 17, 3]], 40), "ten classes": classes([[14, 13] * 5], 3),
    "four classes": classes(UNEVEN, 3), "wide four classes": classes(UNEVEN, 40),
    "thin four classes": classes(UNEVEN, 40, share=0.1),
    "laplacian four classes": classes(UNEVEN, 40, "laplacian"),
}  # fmt: skip
for tree in (True, False):
    MODELS |= {f"{kernel} {tree}": routed(0, kernel, THREE, tree) for kernel in ("rbf", "laplacian")}
for pseudo in ("poly", "triangle", None):
    model = routed(head=THREE, pseudo=pseudo)
    MODELS |= {f"{pseudo}": model, f"wide {pseudo}": wide(model), f"thin {pseudo}": thin(model)}
    MODELS |= {f"{pseudo} apart": apart(model), f"thin {pseudo} apart": apart(thin(model))}
MODELS["thin laplacian"] = thin(routed(kernel="laplacian"))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("share", [0.05, 0.2, 0.6])
def test_values_are_those_of_the_definition(name, share):
    """Sparse and dense rows go different ways; batches of them and threads change no bit."""
    model = MODELS[name]
    rng = np.random.default_rng(3)
    x = np.where(rng.random((200, 43)) < share, rng.normal(size=(200, 43)), 0)
    x[-1] = 0
    rows = Rows.from_dense(x)
    assert share < 0.6 or np.unique(model.route(rows)).size == model.n_cells
    found = model.decision_values(rows)
    np.testing.assert_allclose(found, slow_values(model, x), rtol=1e-12, atol=1e-12)
    one_by_one = model.kernel == "laplacian" or name == "thin four classes"
    assert (model._cells is None) == one_by_one
    for first, last, threads in ((0, 200, 3), (3, 4, 1), (10, 61, 2)):
        assert np.array_equal(model.decision_values(rows[first:last], threads=threads), found[first:last])


def test_counted_cost_and_a_constant_function_that_costs_nothing():
    """Flat, all rows in the last cell: 4 centers and 30 landmarks of 9 columns."""
    model = routed(head=THREE, tree=False)
    rows = Rows.from_dense(np.tile(model.centers[3], (5, 1)))
    assert model.multiply_adds(rows) == 4 * 9 + 30 * (9 + 3)
    coef = model.coef.copy()
    coef[1, 7:] = 0
    less = replace(model, coef=coef)
    before, after = model.decision_values(rows), less.decision_values(rows)
    assert np.array_equal(before[:, [0, 2]], after[:, [0, 2]])
    assert np.array_equal(after[:, 1], -model.rho[[3] * 5, 1])
    assert less.multiply_adds(rows) == 4 * 9 + 30 * (9 + 2)
    idle = replace(POLY, coef=np.zeros((3, len(POLY.pairs))))
    assert replace(model, pseudo=idle).multiply_adds(rows) == 4 * 9 + 30 * (9 + 3) + POLY.sizes[3] * (1 + 3)
    assert centers_on_the_way(np.array([1, 2, 0, 0])).tolist() == [2, 2]


def test_equally_near_centers_go_to_the_first():
    router = Router.flat(np.array([[1.0, 0], [0, 1], [1, 0], [5, 5]]))
    rows = Rows.from_dense([[0, 0], [1, 0], [0, 2], [4, 6], [0.5, 0.5]])
    assert router.route(rows).tolist() == [0, 0, 1, 3, 0]


def test_rows_beyond_single_precision_go_to_the_nearest_center():
    """A number that is infinite there says nothing about a sum; columns of landmarks alone take no part."""
    centers = np.tile([[-1e-5, 1.0]], (32, 1)) * np.linspace(1, 0.9, 32)[:, None]
    centers[0] *= -1
    head, numbers = Head("epsilon_svr"), np.arange(32.0)[:, None]
    landmarks = [Rows.from_dense(np.eye(1, 30, i)) for i in (5, 9) * 16]
    model = RoutedModel.flat(head, Kernel("rbf", 1.0), centers, landmarks, [np.zeros((1, 1))] * 32, numbers)
    x = np.zeros((4, 30))
    x[:, :2] = [[4e38, 3e38], [4e30, 3e30], [4e38, -3e38], [0, 2]]
    x[1::2, [5, 7, 9]] = 3
    rows = Rows.from_dense(x)
    assert model.route(rows).tolist() == [1, 1, 0, 1]
    assert model.decision_values(rows).tolist() == [[-1], [-1], [0], [-1]]


def test_one_vs_rest_takes_the_largest_value_of_three_classes_without_probabilities():
    head = Head("c_svc", np.array([7, -2, 4]), one_vs_rest=True)
    assert head.n_functions == 3
    assert head.predict(np.array([[1.0, 2, 3], [3, 3, 1], [-5, -4, -6]])).tolist() == [4, 7, -2]


def test_compare_leaves_out_errors_of_values_that_do_not_correspond():
    rows = Rows.from_dense(np.random.default_rng(1).normal(size=(40, 12)))
    pairs, rest = (routed(head=replace(THREE, one_vs_rest=one)) for one in (False, True))
    first, second = compare({"a": pairs, "b": rest}, rows, np.zeros(40), repeats=1).models
    assert (first.mean_abs_error, second.mean_abs_error) == (0, None)
    labels = [model.head.predict(model.decision_values(rows)) for model in (pairs, rest)]
    assert second.labels_differing == np.count_nonzero(labels[0] != labels[1])


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e7])
@pytest.mark.parametrize("scale", [1e-160, 1.0, 1e160])
def test_rows_far_from_the_origin_go_to_the_nearest_center(offset, scale):
    rng = np.random.default_rng(7)
    centers, points = (offset + rng.normal(size=(n, 6)) for n in (70, 300))
    centers[40] = centers[3]  # of equals the first
    cell = Router.flat(scale * centers).route(Rows.from_dense(scale * points))
    distances = ((points[:, None] - centers[None]) ** 2).sum(axis=2)
    # Rounding of ||c||^2 - 2 x.c may choose between centers that are as near as that.
    slack = 1e-14 * (1 + offset) ** 2
    assert (distances[np.arange(300), cell] <= distances.min(axis=1) + slack).all()
    assert 40 not in cell


def test_a_vote_that_hangs_on_rounding_is_libsvms():
    """Coefficients that cancel exactly in LIBSVM's order: its bits, so its votes, for the rows in doubt."""
    rng = np.random.default_rng(0)
    u = rng.standard_normal((6, 12))
    coef = np.array([[0.1, 0.2, 0.3, -0.1, -0.2, -0.3], [0.7, -0.5, 0.3, 0.2, 0.1, 0.6]])
    # Class 1 has class 0's vectors with opposite coefficients: pair (0, 1) is nothing but rounding.
    sv, coef = (
        Rows.from_dense(np.vstack([u[:3], u[:3], u[3:]])),
        np.hstack([coef, rng.standard_normal((2, 3))]),
    )
    head, nr_sv, rho = Head("c_svc", np.array([3, 1, 2])), np.array([3, 3, 3]), np.array([0.0, 0.1, -0.2])
    exact = KernelExpansion(head, Kernel("rbf", 0.05), sv, coef, rho, nr_sv)
    model = RoutedModel(
        head, "rbf", np.array([0.05]), flat_tree(1), np.zeros((1, 12)), sv, np.array([9]), coef, rho[None],
        nr_sv[None],
    )  # fmt: skip
    rows = Rows.from_dense(rng.standard_normal((40, 12)))
    theirs = exact._engine.decision_values(rows, libsvm_order=True)
    assert np.abs(theirs[:, 0]).max() < 1e-15
    assert model.decision_values(rows, threads=2).tobytes() == theirs.tobytes()
    assert (model.labels(rows) == head.predict(theirs)).all()


@pytest.mark.parametrize("seed", range(12))
def test_labels_are_those_of_the_values(seed):
    """Single precision proves no wrong label: coefficients cancel, scales are odd, rows lie on boundaries."""
    rng = np.random.default_rng(seed)
    k, d, m = int(rng.choice([2, 3, 7, 20])), int(rng.choice([2, 9, 40])), int(rng.choice([1, 8, 33]))
    one_vs_rest = k > 2 and bool(rng.integers(2))
    head = Head("c_svc", np.arange(k) * 3 - 1, one_vs_rest=one_vs_rest)
    cells, p, scale = 3, head.n_functions, 10.0 ** rng.integers(-12, 12)
    coef = rng.standard_normal((p, cells * m)) * 10.0 ** rng.integers(-9, 9, (p, 1))
    coef[:, 1::2] = -coef[:, : coef[:, 1::2].shape[1]] * (1 + 1e-6 * rng.standard_normal())
    coef[rng.random(p) < 0.2] = 0
    landmarks = rng.standard_normal((cells * m, d)) * (rng.random((cells * m, d)) < rng.choice([0.05, 1.0]))
    landmarks[1::2] = landmarks[: len(landmarks[1::2])] + 1e-3 * rng.standard_normal(landmarks[1::2].shape)
    model = RoutedModel(
        head, "rbf", rng.uniform(1e-3, 2, cells) / d / scale**2, flat_tree(cells),
        scale * rng.standard_normal((cells, d)), Rows.from_dense(scale * landmarks), np.full(cells, m), coef,
        rng.standard_normal((cells, p)) * np.abs(coef).sum(axis=1) * rng.choice([0.0, 1e-7, 0.5]),
    )  # fmt: skip
    x = rng.standard_normal((300, d + 2)) * (rng.random((300, d + 2)) < rng.choice([0.2, 1.0]))
    x[:, d:] *= rng.random() < 0.5
    x[-9:] *= 10.0 ** np.arange(-4, 5)[:, None]
    rows = Rows.from_dense(scale * x)
    values = model.decision_values(rows)
    np.testing.assert_array_equal(model.labels(rows), head.predict(values))
    # On the boundary: the rows' own values are the offsets.
    if not one_vs_rest:
        some = model.route(rows) == model.route(rows)[0]
        on = replace(model, rho=np.tile((values + model.rho[model.route(rows)])[0], (cells, 1)))
        few = rows.take(np.flatnonzero(some))
        np.testing.assert_array_equal(on.labels(few), head.predict(on.decision_values(few)))
    for first, threads in ((0, 2), (7, 1), (299, 1)):
        part = model.decision_values(rows[first:], threads=threads)
        assert part.tobytes() == values[first:].tobytes()
