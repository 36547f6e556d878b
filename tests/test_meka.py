"""`svmfast meka` and its method: models against dense solutions, LIBSVM, and scikit-learn; every option."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from svmfast.cli.main import run
from svmfast.errors import MemoryLimitError, OptionError, TrainingRowError, UnsupportedError
from svmfast.formats.detect import load_model, model_bytes
from svmfast.formats.svmlight import read_svmlight
from svmfast.kernels import Kernel
from svmfast.methods._meka_error import equal_memory_blocks, exact_blocks_bytes
from svmfast.methods._meka_solve import meka_svc, svc_targets
from svmfast.methods.meka import (
    MekaSettings,
    cross_validate_meka,
    fit_exact,
    fit_ridge,
    fit_svc,
    kernel_error,
    plan_bytes,
)
from svmfast.methods.train import TrainOptions, train
from svmfast.models.routed import RoutedModel
from svmfast.rows import Rows
from svmfast.solvers.kernel_clusters import kmeans_centers, partition
from svmfast.solvers.meka import MekaOptions, approximate_kernel

FIXTURES = Path(__file__).parents[1] / "fixtures"


def data(name: str) -> tuple[Rows, Any]:
    found = read_svmlight(FIXTURES / "data" / name)
    return found.rows, found.labels


def settings(**changes: Any) -> MekaSettings:
    base = MekaSettings(gammas=(0.1,), clusters=3, approximation=MekaOptions(rank=40))
    return replace(base, **changes)


def test_one_cluster_of_full_rank_is_kernel_ridge_regression() -> None:
    rows, y = data("diabetes.train")
    test, _ = data("diabetes.test")
    whole = settings(clusters=1, approximation=MekaOptions(rank=len(rows)), strengths=(0.3,))
    width = max(rows.n_columns, test.n_columns)
    other = KernelRidge(alpha=0.3, kernel="rbf", gamma=0.1).fit(rows.to_dense(width), y - y.mean())
    expected = other.predict(test.to_dense(width)) + y.mean()
    for psd in ("clip", "shift", "none"):
        model, report = fit_ridge(rows, y, replace(whole, psd=psd))
        np.testing.assert_allclose(model.decision_values(test)[:, 0], expected, rtol=1e-4)
        assert report.clusters == 1
    model, _ = fit_ridge(rows, y, replace(whole, block_only=True))
    np.testing.assert_allclose(model.decision_values(test)[:, 0], expected, rtol=1e-9)


def test_laplacian_ridge() -> None:
    rows, y = data("diabetes.train")
    whole = settings(
        clusters=1, approximation=MekaOptions(rank=len(rows)), strengths=(0.3,), kernel="laplacian"
    )
    other = KernelRidge(alpha=0.3, kernel="laplacian", gamma=0.1).fit(rows.to_dense(), y - y.mean())
    model, _ = fit_ridge(rows, y, whole)
    np.testing.assert_allclose(
        model.decision_values(rows)[:, 0], other.predict(rows.to_dense()) + y.mean(), rtol=1e-4
    )


def test_blocks_are_kernel_ridge_regression_of_each_cluster() -> None:
    rows, y = data("diabetes.train")
    model, report = fit_ridge(rows, y, settings(block_only=True, strengths=(0.5,)))
    cells, x = model.route(rows), rows.to_dense()
    assert report.clusters == 3
    for cell in range(3):
        own = cells == cell
        local = KernelRidge(alpha=0.5, kernel="rbf", gamma=0.1).fit(x[own], y[own] - y.mean())
        np.testing.assert_allclose(
            model.decision_values(rows.take(own))[:, 0], local.predict(x[own]) + y.mean(), rtol=1e-8
        )


def test_cross_validation_finds_its_way() -> None:
    rows, y = data("diabetes.train")
    grid = settings(gammas=(1e-3, 0.05, 20.0), strengths=(1e-4, 0.3, 1e4), folds=5)
    scores = cross_validate_meka("ridge", rows, y, grid)
    assert len(scores) == 9
    best = min(scores, key=lambda s: s.score)
    assert (best.gamma, best.strength) in ((0.05, 0.3), (1e-3, 1e-4))
    model, report = fit_ridge(rows, y, grid)
    assert (report.gamma, report.strength) == (best.gamma, best.strength)
    assert report.cross_validation == scores
    # A constant would score about the standard deviation.
    assert best.score < 0.85 * y.std() < min(s.score for s in scores if s.gamma == 20) * 1.1
    assert f"gamma {best.gamma!r}" in model.provenance["parameters"]


@pytest.mark.parametrize("name", ["breast", "wine", "digits"])
def test_svc(name: str) -> None:
    """As good as LIBSVM's own answers on these, within 2 points; labels in LIBSVM's order."""
    rows, y = data(f"{name}.train")
    test, truth = data(f"{name}.test")
    exact = train(rows, y, TrainOptions())
    gamma = exact.kernel.gamma
    model, report = fit_svc(rows, y, settings(gammas=(gamma,), strengths=(10.0,)), threads=2)
    libsvm = np.mean(exact.head.predict(exact.decision_values(test)) == truth)
    ours = np.mean(model.head.predict(model.decision_values(test)) == truth)
    assert ours >= libsvm - 0.02
    assert model.head.labels is not None
    assert model.head.labels.tolist() == exact.head.labels.tolist()  # type: ignore[union-attr]
    assert model.head.one_vs_rest == (len(exact.head.labels) > 2)  # type: ignore[arg-type]
    one = model_bytes(fit_svc(rows, y, settings(gammas=(gamma,), strengths=(10.0,)))[0])
    assert model_bytes(model) == one
    assert report.train_score > 95


@pytest.mark.parametrize("name", ["breast", "wine", "digits"])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_block_svc_is_a_libsvm_model_for_each_cluster(name: str, kernel: str) -> None:
    rows, y = data(f"{name}.train")
    test, _ = data(f"{name}.test")
    blocks = settings(clusters=4, block_only=True, strengths=(2.0,), gammas=(0.05,), kernel=kernel)
    model, _ = fit_svc(rows, y, blocks, threads=2)
    assert model_bytes(load_model(model_bytes(model))) == model_bytes(model)
    cells, own_cells = model.route(test), model.route(rows)
    said = model.head.predict(model.decision_values(test))
    checked = 0
    for cell in range(model.n_cells):
        there, own = test.take(cells == cell), own_cells == cell
        if len(np.unique(y[own])) == 1:
            assert set(said[cells == cell]) <= set(y[own])
            continue
        if kernel == "rbf":
            local = train(rows.take(own), y[own], TrainOptions(C=2.0, gamma=0.05))
            assert np.array_equal(said[cells == cell], local.head.predict(local.decision_values(there)))
        checked += 1
        assert set(said[cells == cell]) <= set(y[own])
    assert checked > 0


def test_every_cost_of_a_path_is_solved() -> None:
    """A start from the last C's solution must not be taken for the solution."""
    rows, y = data("breast.train")
    parted = partition(rows, kmeans_centers(rows, 2))
    meka = approximate_kernel(Kernel("rbf", 0.05), parted, MekaOptions(rank=40))
    _, targets = svc_targets(y[parted.order], pairs=False)
    costs = (0.5, 1.0, 2.0, 4.0)
    path = [inner for inner, _ in meka_svc(meka, targets, costs, "clip")]
    for cost, found in zip(costs, path, strict=True):
        ((alone, _),) = meka_svc(meka, targets, [cost], "clip")
        assert np.linalg.norm(found - alone) < 0.02 * np.linalg.norm(alone)


@pytest.mark.parametrize(
    ("name", "rows_of"),
    [
        ("breast_c_rbf_prob", "breast"),
        ("wine_c_rbf_prob", "wine"),
        ("diabetes_eps_rbf_prob", "diabetes"),
        ("normal_one_rbf_prob", "normal"),
    ],
)
def test_from_exact_fits_decision_values_of_any_type(name: str, rows_of: str) -> None:
    exact = load_model(FIXTURES / "models" / f"{name}.model")
    rows = Rows.concatenate([data(f"{rows_of}.train")[0], data(f"{rows_of}.test")[0]])
    gamma = exact.kernel.gamma  # type: ignore[attr-defined]
    model, report = fit_exact(rows, exact, settings(gammas=(gamma,), strengths=(), clusters=2))
    wanted = exact.decision_values(rows)
    miss = np.abs(model.decision_values(rows) - wanted)
    assert np.median(miss) < 0.05 * wanted.std()
    assert model.head is exact.head
    assert report.held_out is not None
    assert (
        report.held_out["q50"] <= report.held_out["q90"] <= report.held_out["q99"] <= report.held_out["max"]
    )
    assert report.held_out["q50"] < 0.1 * wanted.std()
    assert ("labels_differing" in report.held_out) == (not exact.head.is_regression)


def test_kernel_error_report() -> None:
    rows, _ = data("digits.train")
    found = kernel_error(rows, settings(gammas=(0.02,)), compare=True)
    alone = kernel_error(rows, settings(gammas=(0.02,), approximation=MekaOptions(rank=40, links=False)))
    assert found.relative_error < 0.5 * found.block_diagonal_error
    assert alone.relative_error == found.block_diagonal_error == alone.block_diagonal_error
    assert [b.name for b in found.baselines] == [
        "nystrom", "randomized-nystrom", "kmeans-nystrom", "ensemble-nystrom", "random-fourier", "fastfood"
    ]  # fmt: skip
    for b in found.baselines:
        assert b.bytes == pytest.approx(found.bytes, rel=0.02)
        assert 0 < b.relative_error < 1
    assert found.bytes == alone.bytes + 8 * 3 * 40 * 40


def test_exact_blocks_leave_only_the_error_between_clusters() -> None:
    rows, _ = data("digits.train")
    found = kernel_error(rows, settings(block_only=True, gammas=(0.02,)))
    near = kernel_error(rows, settings(gammas=(0.02,), approximation=MekaOptions(rank=300, links=False)))
    assert found.relative_error == pytest.approx(near.relative_error, rel=1e-6)
    assert found.links == 0


@pytest.mark.parametrize("gamma", [2.0**e for e in range(-6, 7, 2)])
def test_never_worse_than_blocks_of_the_same_memory(gamma: float) -> None:
    """Where no low-rank form is any good, exact blocks of smaller clusters take its place."""
    rows, _ = data("digits.train")
    wanted = settings(gammas=(gamma,), approximation=MekaOptions(rank=20), psd="none")
    found = kernel_error(rows, wanted)
    assert found.relative_error <= found.block_diagonal_error * 1.01
    small = found.exact_blocks
    if small is None:
        assert found.relative_error == found.low_rank_error
        assert found.relative_error <= 0.01
        return
    alone = kernel_error(rows, replace(wanted, block_only=True, clusters=small.clusters))
    assert alone.relative_error == pytest.approx(small.relative_error, rel=1e-9)
    assert (found.form == "exact-blocks") == (small.relative_error < (found.low_rank_error or 0))
    assert found.relative_error == min(small.relative_error, found.low_rank_error or 0)
    assert small.bytes <= 8 * (20 * len(rows) + 3 * 20 + 3 * 20 * 20)
    if found.form == "exact-blocks":
        assert (found.clusters, found.links, found.bytes) == (small.clusters, 0, small.bytes)
        assert gamma >= 1
    else:
        assert gamma < 4


def test_blocks_of_one_row_still_do_not_fit() -> None:
    """Rank 1: less memory than the diagonal and the links take; nothing is tried in vain."""
    rows, _ = data("iris.train")
    assert equal_memory_blocks(rows, 8 * len(rows) - 8, 0) is None
    apart = equal_memory_blocks(rows, 8 * 20 * len(rows), 0)
    assert apart is not None
    assert exact_blocks_bytes(apart) <= 8 * 20 * len(rows)


@pytest.mark.parametrize("psd", ["clip", "shift", "none"])
def test_repairs_in_the_kernel_error(psd: str) -> None:
    rows, _ = data("digits.train")
    rough = settings(gammas=(0.02,), clusters=8, approximation=MekaOptions(rank=6, rho=0.0), psd=psd)
    bare = kernel_error(rows, replace(rough, psd="none")).low_rank_error
    found = kernel_error(rows, rough)
    if psd == "none":
        assert found.smallest_eigenvalue is None
    else:
        assert found.smallest_eigenvalue is not None
        assert found.smallest_eigenvalue < 0
        assert found.low_rank_error is not None
        assert bare is not None
        assert found.low_rank_error < bare if psd == "clip" else found.low_rank_error > bare * 0.9


def test_refusals() -> None:
    rows, y = data("breast.train")
    with pytest.raises(OptionError, match=r"several gammas, lambdas or Cs need cross validation \(-v\)"):
        fit_ridge(rows, y, settings(strengths=(1.0, 2.0)))
    with pytest.raises(OptionError, match="svc needs a positive semidefinite approximation"):
        fit_svc(rows, y, settings(psd="none"))
    with pytest.raises(UnsupportedError, match="all rows have label 3"):
        fit_svc(rows, np.full(len(rows), 3.0), settings())
    with pytest.raises(TrainingRowError, match="class label is not an integer"):
        fit_svc(rows, y + 0.5, settings())
    with pytest.raises(MemoryLimitError, match=r"the work needs [\d,]+ bytes, the limit is 1,000,000; raise"):
        fit_ridge(rows, y, settings(memory=1_000_000))
    # Of equal size three clusters would fit; these are not.
    lopsided = np.r_[np.random.default_rng(0).normal(size=(900, 2)), [[90, 0], [0, 90]]]
    tight = settings(block_only=True, memory=150 * 2**20 + 4_000_000)
    with pytest.raises(MemoryLimitError, match=r"the exact block of [\d,]+ rows needs"):
        fit_ridge(Rows.from_dense(lopsided), np.zeros(902), tight)
    with pytest.raises(OptionError, match=r"999 folds \(-v\) of 380 rows"):
        fit_ridge(rows, y, settings(folds=999))
    for change, message in (
        ({"kernel": "linear"}, "kernel is 'linear'; it must be one of rbf, laplacian"),
        ({"psd": "x"}, "psd is 'x'; it must be one of clip, shift, none"),
        ({"gammas": (0.0,)}, "gamma must be positive"),
        ({"gammas": ()}, "no gamma is given"),
        ({"clusters": 0}, "0 clusters; at least 1 is needed"),
        ({"folds": 1}, r"1 folds \(-v\); cross validation needs at least 2"),
    ):
        with pytest.raises(OptionError, match=message):
            settings(**change)


# --- the command


def call(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    status = run([str(w) for w in ("meka", *words)])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_command_ridge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train_file, model = FIXTURES / "data" / "diabetes.train", tmp_path / "m"
    words = [
        train_file,
        model,
        "--task",
        "ridge",
        "--rank",
        30,
        "--clusters",
        2,
        "--lambda",
        "2^-2",
        "-g",
        0.05,
    ]
    status, out, err = call(capsys, *words, "--json")
    assert status == 0
    report = json.loads(out)
    assert report["strength"] == 0.25
    assert report["prediction"]["linear_cost"] > 0
    assert "svmfast: memory: at most" in err
    made = load_model(model)
    assert isinstance(made, RoutedModel)
    text = model.read_bytes()
    status, out, err = call(capsys, *words, "-q", "-j", 1)
    assert (status, out, err) == (0, "", "")
    assert model.read_bytes() == text
    assert run(["predict", str(FIXTURES / "data" / "diabetes.test"), str(model), str(tmp_path / "out")]) == 0
    assert "Mean squared error" in capsys.readouterr().out
    test = data("diabetes.test")[0]
    assert np.array_equal(np.loadtxt(tmp_path / "out"), made.decision_values(test)[:, 0])


def test_command_scores_only(capsys: pytest.CaptureFixture[str]) -> None:
    file = FIXTURES / "data" / "iris.train"
    status, out, _ = call(
        capsys, file, "--task", "svc", "-v", 5, "-c", "1,10", "-g", "0.1,1", "--rank", 10, "-q"
    )
    lines = out.splitlines()
    assert status == 0
    assert len(lines) == 5
    assert lines[-1].startswith("Cross Validation Accuracy = 9")
    status, out, _ = call(capsys, file, "--task", "ridge", "-v", 5, "--rank", 10, "--json", "-q")
    assert json.loads(out)["best"]["score"] < 0.4


def test_command_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exact, model = FIXTURES / "models" / "wine_c_rbf_prob.model", tmp_path / "m"
    file = FIXTURES / "data" / "wine.train"
    status, _, err = call(capsys, file, model, "--from", exact, "--rank", 40, "--clusters", 2)
    assert status == 0
    assert "held out" in err
    test = data("wine.test")[0]
    a, b = load_model(model), load_model(exact)
    assert np.mean(a.head.predict(a.decision_values(test)) == b.head.predict(b.decision_values(test))) > 0.9
    assert a.head.has_probability
    linear = FIXTURES / "models" / "breast_c_linear.model"
    status, _, err = call(capsys, FIXTURES / "data" / "breast.train", model, "--from", linear)
    assert (status, err) == (
        2,
        "svmfast: the exact model's kernel is linear; give the width of ours with -g\n",
    )


def test_command_error(capsys: pytest.CaptureFixture[str]) -> None:
    file = FIXTURES / "data" / "digits.train"
    words = [file, "--task", "error", "--rank", 20, "--clusters", 4, "-g", 0.02, "--compare"]
    status, out, _ = call(capsys, *words, "--json", "-q")
    report = json.loads(out)
    assert status == 0
    assert {"relative_error", "seconds", "bytes"} <= set(report)
    assert len(report["baselines"]) == 6
    assert all({"name", "relative_error", "seconds", "bytes"} <= set(b) for b in report["baselines"])
    status, out, _ = call(capsys, *words, "--kernel", "laplacian", "--sample", 200, "--strategy", "eigen")
    assert status == 0
    assert "fastfood" not in out
    assert "kmeans-nystrom" in out
    status, out, _ = call(capsys, *words[:-2], 8, "-q")
    assert (
        "; exact blocks of smaller clusters are closer at the same memory (to train so: --block-only" in out
    )
    status, out, _ = call(capsys, file, "--task", "error", "--block-only", "-q")
    assert out.splitlines()[2].startswith("exact blocks")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "say what to do: --task ridge, svc or error, or --from EXACT"),
        (["--task", "ridge"], "give MODEL, where to write; without it only -v has something to do"),
        (["m", "--task", "error"], "--task error makes no model; leave out 'm'"),
        (["--task", "error", "-v", "3"], "--task error has nothing to cross-validate; leave out -v"),
        (["m", "--task", "ridge", "-c", "1"], "-c is the cost of --task svc; ridge has --lambda"),
        (["m", "--task", "svc", "--lambda", "1"], "--lambda belongs to ridge; --task svc does not use it"),
        (["m", "--task", "svc", "--compare"], "--compare belongs to --task error"),
        (
            ["m", "--task", "svc", "--from", "x"],
            "--from fits decision values by ridge regression; leave out --task svc",
        ),
        (["m", "--from", "x", "-v", "3"], "--from chooses its lambda on held-out rows; leave out -v"),
        (["-", "--task", "svc", "--json"], "the model and --json cannot both go to standard output"),
    ],
)
def test_options_that_do_not_fit(
    words: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert call(capsys, FIXTURES / "data" / "iris.train", *words) == (2, "", f"svmfast: {message}\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("value", ["0", "-1", "1,,2", "nan", "1e999", "0^-1", "x", "(-8)^0.5", "1_0"])
def test_grids_that_are_none(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = call(capsys, FIXTURES / "data" / "iris.train", "--task", "error", "-g", value)
    assert status == 2
    assert f"'{value}': expected positive numbers such as 0.5, 2^-4 or 0.01,0.1,1" in err


def test_memory_limit_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, model = FIXTURES / "data" / "iris.train", tmp_path / "m"
    status, _, err = call(capsys, file, model, "--task", "svc", "--memory", "1.5K")
    assert status == 2
    assert "bytes, the limit is 1,536; raise --memory" in err
    assert not model.exists()
    status, _, err = call(capsys, file, model, "--task", "svc", "--memory", "much")
    assert "'much': expected a size such as 500MiB or 2G" in err


def test_uneven_clusters_are_counted_when_they_are_known() -> None:
    """999 rows in one corner, one far away: what fits two equal clusters does not fit these."""
    x = np.random.default_rng(0).normal(size=(1000, 2))
    x[0] = 1e3
    rows = Rows.from_dense(x)
    wanted = settings(clusters=2, approximation=MekaOptions(rank=100, strategy="size"))
    equal = plan_bytes(rows, wanted, "ridge", 1)
    assert plan_bytes(rows, wanted, "ridge", 1, largest=999) > equal
    for task in ("ridge", "error"):
        wanted = replace(wanted, memory=plan_bytes(rows, wanted, task, 1, sample=1000))
        fit = fit_ridge if task == "ridge" else kernel_error
        targets = (x[:, 0],) if task == "ridge" else ()
        with pytest.raises(MemoryLimitError, match="raise --memory"):
            fit(rows, *targets, wanted)


@pytest.mark.skipif("SVMFAST_SANITIZED" in os.environ, reason="sanitizers take memory of their own")
@pytest.mark.parametrize("words", [["--task", "error"], ["MODEL", "--task", "svc"]])
def test_the_memory_said_before_is_not_exceeded(words: list[str], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    file = tmp_path / "d"
    x = rng.normal(size=(20_000, 8))
    lines = zip(np.where(x[:, 0] > 0, 1, -1), x, strict=True)
    file.write_text(
        "".join(f"{y} " + " ".join(f"{j}:{v:.4f}" for j, v in enumerate(r, 1)) + "\n" for y, r in lines)
    )
    words = [str(tmp_path / "m") if word == "MODEL" else word for word in words]
    size = ["--rank", "60", "--clusters", "6", "--sample", "3000", "-j", "2", "--json", "-q"]
    # A child starts with its parent's peak: this process is large by now, so a small one stands between.
    small = (
        "import resource, subprocess, sys; code = subprocess.run(sys.argv[1:]).returncode; "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr); sys.exit(code)"
    )
    program = [sys.executable, "-m", "svmfast", "meka", str(file), *words, *size]
    done = subprocess.run(
        [sys.executable, "-c", small, *program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    report, peak = json.loads(done.stdout), int(done.stderr.split()[-1])
    assert 0.3 * report["planned_bytes"] < peak * 1024 <= report["planned_bytes"]


@pytest.mark.parametrize("words", [["--task", "ridge"], ["--task", "svc", "-c", "2"], ["--from"]])
def test_the_same_bytes_for_any_number_of_threads(words: list[str], tmp_path: Path) -> None:
    """k-means, blocks and the solution; however many threads BLAS and OpenMP would take by themselves."""
    words = [*words, str(FIXTURES / "models" / "breast_c_rbf_prob.model")] if words == ["--from"] else words
    made = []
    for jobs, openmp in (("1", "1"), ("2", "2"), ("3", "5")):
        model = tmp_path / f"m{jobs}"
        command = [
            sys.executable,
            "-m",
            "svmfast",
            "meka",
            str(FIXTURES / "data" / "breast.train"),
            str(model),
        ]
        environment = {**os.environ, "OMP_NUM_THREADS": openmp, "OPENBLAS_NUM_THREADS": openmp}
        subprocess.run(
            [*command, *words, "--rank", "30", "--clusters", "4", "-j", jobs, "-q"],
            check=True,
            env=environment,
        )
        made.append(model.read_bytes())
    assert made[0] == made[1] == made[2]


def test_a_label_that_is_no_class_names_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "d"
    file.write_text("1 1:1\n2 1:2\n1.5 1:3\n")
    status, _, err = call(capsys, file, tmp_path / "m", "--task", "svc", "-q")
    assert status == 2
    assert err == (
        f"{file}:3: class label is not an integer ('1.5'); "
        "expected integers of 32 bits for classes, or --task ridge for real targets\n"
    )
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("text", ["1\n2\n1\n", "1 1:1\n2 1:1\n1 1:1\n2 1:1\n", "2 3:1\n1 1:2\n"])
def test_next_to_nothing_is_data_too(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No features, one point only, fewer rows than clusters."""
    file, model = tmp_path / "d", tmp_path / "m"
    file.write_text(text)
    for words in (["--task", "svc"], ["--task", "svc", "--block-only"], ["--task", "ridge"]):
        assert call(capsys, file, model, *words, "-q")[0] == 0
        assert np.isfinite(load_model(model).decision_values(read_svmlight(file).rows)).all()
    assert call(capsys, file, "--task", "error", "--compare", "-q")[0] == 0


def test_data_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "d"
    file.write_text("1 1:1\n2 1:2\n")
    status, _, err = call(capsys, file, file, "--task", "svc")
    assert (status, err) == (2, f"svmfast: MODEL is DATA itself, '{file}'; it would be lost\n")
