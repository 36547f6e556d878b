"""`svmfast cascade`: the program, its file and predictions, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cascade_problems import PHOTOS, ROWS, coarse, compressed, exact_model
from command import svmfast
from meaning import FROZEN
from sealing import packed, unpacked

from svmfast import cascade, predict
from svmfast.errors import ModelFormatError, OptionError, UnsupportedError
from svmfast.formats.model_files import load_model, model_bytes, save_model
from svmfast.formats.svmlight import read_svmlight
from svmfast.kernels import Kernel
from svmfast.methods.cascade import CascadeOptions
from svmfast.methods.cascade.join import join
from svmfast.methods.cascade.run import run
from svmfast.methods.method import GivenModel, GivenRows, Inputs, Race, Setting
from svmfast.models.answer import answer
from svmfast.models.cascade import CascadeModel
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.rows import Rows


def inputs(fast: KernelExpansion, exact: KernelExpansion, rows: Rows) -> Inputs:
    return Inputs(
        fast=GivenModel(fast, "fast", "one", 0),
        exact=GivenModel(exact, "exact", "other", 0),
        data=GivenRows(rows, None, "rows"),
    )


def test_models_that_cannot_be_joined() -> None:
    exact, rows = exact_model(), read_svmlight(ROWS).rows
    with pytest.raises(OptionError, match=r"`max_diff` is 1\.0; expected a share above 0% and below 100%"):
        cascade(compressed(8), exact, rows, max_diff=1.0)
    with pytest.raises(OptionError, match="`fast` is `exact` itself"):
        cascade(exact, exact, rows)
    with pytest.raises(UnsupportedError, match="`exact` is a cascade model; give the LIBSVM model"):
        cascade(exact, CascadeModel(compressed(8), exact, 0.1), rows)
    with pytest.raises(UnsupportedError, match="has a different type or different labels"):
        join(exact_model("iris_c_rbf_prob"), exact, rows)
    regression = exact_model("diabetes_eps_rbf")
    with pytest.raises(UnsupportedError, match="does not distinguish rows in regression"):
        join(regression, regression, rows)


def test_the_program(tmp_path: Path) -> None:
    fast = compressed(8)
    save_model(fast, tmp_path / "fast")
    words = ("cascade", "fast", PHOTOS, "--data", ROWS, "--max-diff", "2%", "--json", "--force")
    done = svmfast(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["labels_differing_limit_percent"] <= 2
    assert report["bytes"] == (tmp_path / "fast.cascade.model").stat().st_size

    def labels(*more: str | Path) -> list[bytes]:
        result = svmfast("predict", "-q", ROWS, *more, cwd=tmp_path)
        assert (result.returncode, result.stderr) == (0, b"")
        return result.stdout.split()

    exact, plain, both = labels(PHOTOS), labels("fast"), labels("fast.cascade.model")
    assert labels("--no-fallback", "fast.cascade.model") == plain
    assert (
        sum(a != b for a, b in zip(plain, exact, strict=True)) == report["labels_differing_without_fallback"]
    )
    assert sum(a != b for a, b in zip(both, exact, strict=True)) == report["labels_differing"]

    open_rows = report["rows"] - report["answered"]
    joined = ("--model", "fast.cascade.model", "--require-certified", "1%")
    for words in (("predict", "--certify", ROWS, "fast.cascade.model"), ("bound-check", ROWS, *joined)):
        refused = svmfast(*words, cwd=tmp_path)
        assert refused.returncode == 2
        assert b"the model has no certificate" in refused.stderr

    shown = svmfast("compare", PHOTOS, "fast.cascade.model", "--data", ROWS, "--json", cwd=tmp_path)
    line = json.loads(shown.stdout)["models"][1]
    # compare measures what predict answers.
    assert line["labels_differing"] == report["labels_differing"]
    assert line["exact_percent"] == pytest.approx(100 * open_rows / report["rows"])
    share = report["measured_answered"] / report["measured_rows"]
    average = report["multiply_adds_fast"] + (1 - share) * report["multiply_adds_exact"]
    assert report["multiply_adds"] == pytest.approx(average)
    assert line["multiply_adds"] == pytest.approx(average, rel=0.1)
    assert (line["certified_percent"], line["violations"]) == (None, None)
    for limit, status in (("2%", 0), ("1%", 1)):
        words = ("compare", PHOTOS, "fast.cascade.model", "--data", ROWS, "--repeats", "1")
        assert svmfast(*words, "--max-diff", limit, cwd=tmp_path).returncode == status

    again = svmfast(
        "cascade", "fast.cascade.model", PHOTOS, "--data", ROWS, "--max-diff", "2%", "--force", cwd=tmp_path
    )
    assert again.returncode == 0
    name = "fast.cascade.cascade.model"
    assert (tmp_path / name).read_bytes() == (tmp_path / "fast.cascade.model").read_bytes()


def test_the_program_gives_a_negative_answer(tmp_path: Path) -> None:
    exact = exact_model()
    twice = np.repeat(np.arange(len(exact.sv)), 2)
    assert exact.nr_sv is not None
    larger = replace(
        exact, sv=exact.sv.take(twice), sv_coef=exact.sv_coef[:, twice] / 2, nr_sv=2 * exact.nr_sv
    )
    save_model(larger, tmp_path / "fast")
    done = svmfast("cascade", "fast", PHOTOS, "--data", ROWS, "--json", cwd=tmp_path)
    assert done.returncode == 1
    reason = b"the exact model alone costs no more (timed on this machine), by the 800 rows that decide"
    assert done.stderr.endswith(reason + b"; nothing was written\n")
    report = json.loads(done.stdout)
    assert (report["cheaper"], report["outputs"], report["bytes"]) == (False, {"model": None}, None)
    assert [path.name for path in tmp_path.iterdir()] == ["fast"]


def test_files_that_contradict_themselves(tmp_path: Path) -> None:
    exact = exact_model("iris_c_rbf_prob")
    whole = model_bytes(CascadeModel(coarse(exact, 3), exact, 0.25))
    assert model_bytes(load_model(whole)) == whole
    tree = unpacked(whole)
    assert packed(tree) == whole
    routed = unpacked((FROZEN / "1.0/routed_pseudo_poly.model").read_bytes())
    for change, message in (
        ({"fast": None}, "fast: not an object"),
        ({"error": -1}, r"error: not an error \('-1'\); expected a number"),
        ({"fast": model_bytes(exact_model("breast_c_rbf"))}, "has a different type or different labels"),
        ({"fast": tree}, "fast: a scaled model or a cascade"),
        ({"exact": routed}, "exact: a model of kind routed"),
        ({"fast": {**routed, "kernel_typo": 1}}, r"fast: an unknown part \('kernel_typo'\)"),
    ):
        with pytest.raises(ModelFormatError, match=message):
            load_model(packed({**tree, **change}))


def test_labels_in_another_order_and_other_trainers(tmp_path: Path) -> None:
    """A fast model from nu-SVC with the labels in the opposite order: only the labels matter."""
    exact, rows = exact_model(), read_svmlight(ROWS).rows
    fast = compressed(8)
    assert fast.head.labels is not None
    assert fast.nr_sv is not None
    turned = np.concatenate([np.arange(fast.nr_sv[0], len(fast.sv)), np.arange(fast.nr_sv[0])])
    other = replace(
        fast,
        head=Head("nu_svc", fast.head.labels[::-1].copy()),
        sv=fast.sv.take(turned),
        sv_coef=-fast.sv_coef[:, turned],
        rho=-fast.rho,
        nr_sv=fast.nr_sv[::-1].copy(),
    )
    np.testing.assert_array_equal(answer(other, rows).predicted, answer(fast, rows).predicted)
    joined, report = join(other, exact, rows, CascadeOptions(max_diff=0.02))
    straight, same = join(fast, exact, rows, CascadeOptions(max_diff=0.02))
    assert (report.answered, report.labels_differing) == (same.answered, same.labels_differing)
    assert 0 < report.answered < len(rows)
    np.testing.assert_array_equal(
        answer(joined, rows, exact=exact).predicted, answer(straight, rows, exact=exact).predicted
    )
    both = predict(joined, rows, exact=joined.exact).predicted
    np.testing.assert_array_equal(both, answer(joined, rows, exact=exact).predicted)
    save_model(joined, tmp_path / "joined")
    refused = svmfast("predict", "-q", "--decision-values", ROWS, tmp_path / "joined")
    assert refused.returncode == 2
    assert b"values for different classes or pairs of classes" in refused.stderr


def test_copies_are_refused_and_repeated_draws_are_not(tmp_path: Path) -> None:
    save_model(compressed(8), tmp_path / "fast")
    lines = ROWS.read_bytes().splitlines(keepends=True)
    few, copies = lines[:300], b"the rows are copies of each other: more of them occur twice than"
    (tmp_path / "few").write_bytes(b"".join(few))
    (tmp_path / "mixed").write_bytes(b"".join(few[:200] + lines[300:900] + few))
    (tmp_path / "nearly").write_bytes(b"".join(lines[:590] + lines[:20]))
    rng = np.random.default_rng(0)
    (tmp_path / "drawn").write_bytes(b"".join(lines[i] for i in rng.integers(0, len(lines), 4000)))
    for names, message in (
        ("few few", copies),
        ("mixed", copies),
        ("nearly", b"610 rows, 590 of them distinct, cannot show with 0.95 confidence that at most 0.5000%"),
    ):
        words = [word for name in names.split() for word in ("--data", name)]
        done = svmfast("cascade", "fast", PHOTOS, *words, "-o", "out", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, b"")
        assert len(done.stderr.splitlines()) == 1
        assert message in done.stderr
        assert not (tmp_path / "out").exists()
    done = svmfast(
        "cascade", "fast", PHOTOS, "--data", "drawn", "--max-diff", "2%", "--json", "--force", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["rows"], report["rows_deciding"]) == (4000, 800)
    assert report["different_rows"] < 2700


def test_the_seed_divides_the_rows(tmp_path: Path) -> None:
    save_model(compressed(8), tmp_path / "fast")
    rows = read_svmlight(ROWS)
    options = {"max_diff": 0.02, "force": True}
    made = [cascade(tmp_path / "fast", PHOTOS, rows, seed=seed, **options) for seed in (0, 0, 1, 2)]
    assert model_bytes(made[0].model) == model_bytes(made[1].model)
    assert len({one.report.error for one in made}) > 1
    assert b'"seed":"1"' in model_bytes(made[2].model)


def test_timing_decides_only_whether_to_join(monkeypatch: pytest.MonkeyPatch) -> None:
    fast, exact, rows = compressed(8), exact_model(), read_svmlight(ROWS).rows
    raced: list[list[float]] = []

    def race(speed: float) -> Race:
        def run(one: Callable[[], object], other: Callable[[], object]) -> float:
            said = [one(), other()]
            raced.append([answers.predicted.tolist() for answers in said])  # type: ignore[attr-defined]
            return speed

        return run

    options = CascadeOptions(max_diff=0.02)
    counted, report = join(fast, exact, rows, options)
    assert (report.cheaper, report.speedup_with_fallback) == (True, None)
    for speed, cheaper in ((0.5, False), (1.0, False), (50.0, True)):
        made, report = join(fast, exact, rows, options, Setting(1, race=race(speed)))
        assert (report.cheaper, report.speedup_with_fallback) == (cheaper, speed if cheaper else None)
        assert model_bytes(made) == model_bytes(counted)
    # The exact model first, on its own support vectors; then the result on the rows that decide.
    own = exact.sv.take(np.resize(np.arange(len(exact.sv)), len(raced[0][0])))
    assert raced[0] == [predict(exact, own).predicted.tolist(), predict(fast, own).predicted.tolist()]
    assert len(raced) == 4
    assert np.mean(np.array(raced[-1][0]) != raced[-1][1]) < 0.03


def test_a_result_that_is_slower_is_refused() -> None:
    """The fast model alone is faster, so rows that decide are for joining; the race of the result is not."""
    speeds = iter([50.0, 0.9])
    fast, exact, rows = compressed(8), exact_model(), read_svmlight(ROWS).rows
    given = inputs(fast, exact, rows)
    setting = Setting(threads=1, race=lambda one, other: next(speeds))
    outcome = run(given, CascadeOptions(max_diff=0.02), setting)
    assert outcome.model is None
    assert str(outcome.refusal).endswith("the two together are 0.90 times as fast as the exact model alone")


@pytest.mark.parametrize("max_diff", [0.01, 0.2])
def test_a_fast_model_that_is_written_alone_may_lose_the_probabilities(max_diff: float) -> None:
    """Beside the exact model nothing is lost, since that computes all probabilities."""
    exact, warnings = exact_model(), list[str]()
    able = replace(exact, head=replace(exact.head, prob_a=np.array([-1.0]), prob_b=np.array([0.0])))
    given = inputs(compressed(8), able, read_svmlight(ROWS).rows)
    model = run(given, CascadeOptions(max_diff=max_diff), Setting(threads=1, warn=warnings.append)).model
    assert model is not None
    assert warnings == (
        []
        if model.kind == "cascade"
        else [
            "the result has no probabilities, though exact has: the model does not support probability "
            "estimates"
        ]
    )
    assert (model.kind == "cascade") == (max_diff == 0.01)


def test_a_result_that_loses_a_class_is_refused() -> None:
    """Few labels differ, but all of those of a rare class."""
    rng = np.random.default_rng(0)
    fast, exact = (
        KernelExpansion(
            Head("c_svc", np.array([1, -1])),
            Kernel("rbf", 1.0),
            Rows.from_dense(np.array([[0.0, 0.0], *[[9.0 + i / 99, 0.0] for i in range(n)]])),
            np.array([[first, *[-1.0] * n]]),
            np.array([0.5]),
            np.array([1, n]),
        )
        for n, first in ((1, 0.1), (99, 1.0))
    )
    x = np.concatenate([rng.normal(size=(30, 2)) * 0.1, rng.normal(size=(12_000, 2)) + 5])
    rows = Rows.from_dense(x)
    given = inputs(fast, exact, rows)
    outcome = run(given, CascadeOptions(), Setting(threads=1))
    assert outcome.model is None
    assert str(outcome.refusal).startswith("a class is lost: 100% of the labels differ on the ")
    assert str(outcome.advice) == "`force` writes it anyway"
    assert run(given, CascadeOptions(force=True), Setting(threads=1)).model is not None


def test_a_file_that_is_not_faster_is_reported(tmp_path: Path) -> None:
    """Of 598 rows none is left to decide, and the cost of the chosen error does not prevent writing."""
    save_model(coarse(exact_model(), 200), tmp_path / "fast")
    (tmp_path / "few").write_bytes(b"".join(ROWS.read_bytes().splitlines(keepends=True)[:598]))
    words = ("cascade", "fast", PHOTOS, "--data", "few", "--json", "--force")
    done = svmfast(*words, "-q", cwd=tmp_path)
    report = json.loads(done.stdout)
    assert (done.returncode, report["rows_deciding"], report["cheaper"]) == (0, 0, True)
    assert report["multiply_adds"] > report["multiply_adds_exact"]
    assert (tmp_path / "fast.cascade.model").exists()
    cost = f"{report['multiply_adds']:,.0f} multiply-adds per row"
    message = f"svmfast: warning: with the error that the guarantee needs the two together cost {cost}"
    assert done.stderr.decode().startswith(message)
