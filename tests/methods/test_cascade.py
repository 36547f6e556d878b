"""`svmfast cascade`: the program, its file and predictions, and what it refuses."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from cascade_problems import PHOTOS, ROWS, coarse, compressed, exact_model
from command import ran, svmfast
from meaning import FROZEN
from rbf_models import rbf_model
from sealing import packed, unpacked

from svmfast import cascade, predict
from svmfast.errors import ModelFormatError, OptionError
from svmfast.formats.model_files import load_model, model_bytes, save_model
from svmfast.formats.svmlight import read_svmlight
from svmfast.methods.cascade import CascadeOptions
from svmfast.methods.cascade.join import join
from svmfast.methods.cascade.run import run
from svmfast.methods.method import GivenModel, GivenRows, Inputs, Setting
from svmfast.models.answer import answer
from svmfast.models.head import Head
from svmfast.rows import Rows

TWO = CascadeOptions(max_diff=0.02)


def cascading(fast, exact, rows, options=TWO, **setting):
    """Run the method on models and rows."""
    one, other = (lambda model, text=text: text for text in ("one", "other"))
    given = {"fast": GivenModel(fast, "fast", one, 0), "exact": GivenModel(exact, "exact", other, 0)}
    setting = Setting(**{"threads": 1, **setting})
    return run(Inputs(data=GivenRows(rows, None, "rows"), **given), options, setting)


@pytest.fixture
def rows():
    return read_svmlight(ROWS).rows


def test_the_program(tmp_path):
    save_model(compressed(8), tmp_path / "fast")
    how = (PHOTOS, "--data", ROWS)
    done = ran("cascade", "fast", *how, "--max-diff", "2%", "--json", "--force", cwd=tmp_path)
    report, name = json.loads(done.stdout), "fast.cascade.model"
    assert report["labels_differing_limit_percent"] <= 2
    assert report["bytes"] == (tmp_path / name).stat().st_size

    def labels(*more):
        result = svmfast("predict", "-q", ROWS, *more, cwd=tmp_path)
        assert (result.returncode, result.stderr) == (0, b"")
        return np.array(result.stdout.split())

    exact, plain, both = labels(PHOTOS), labels("fast"), labels(name)
    assert (labels("--no-fallback", name) == plain).all()
    assert (plain != exact).sum() == report["labels_differing_without_fallback"]
    assert (both != exact).sum() == report["labels_differing"]
    joined = ("--model", name, "--require-certified", "1%")
    for words in (("predict", "--certify", ROWS, name), ("bound-check", ROWS, *joined)):
        refused = ran(*words, cwd=tmp_path, status=2)
        assert b"the model has no certificate" in refused.stderr
    # compare measures what predict answers.
    shown = svmfast("compare", PHOTOS, name, "--data", ROWS, "--json", cwd=tmp_path)
    line = json.loads(shown.stdout)["models"][1]
    assert line["labels_differing"] == report["labels_differing"]
    assert line["exact_percent"] == pytest.approx(100 * (1 - report["answered"] / report["rows"]))
    share = report["measured_answered"] / report["measured_rows"]
    average = report["multiply_adds_fast"] + (1 - share) * report["multiply_adds_exact"]
    assert report["multiply_adds"] == pytest.approx(average)
    assert line["multiply_adds"] == pytest.approx(average, rel=0.1)
    # Of a cascade, its fast model is joined.
    ran("cascade", name, *how, "--max-diff", "2%", "--force", "-o", "again", cwd=tmp_path)
    assert (tmp_path / "again").read_bytes() == (tmp_path / name).read_bytes()


def test_the_program_gives_a_negative_answer(tmp_path):
    exact = exact_model()
    twice = np.repeat(np.arange(len(exact.sv)), 2)
    sv, coef = exact.sv.take(twice), exact.sv_coef[:, twice] / 2
    save_model(replace(exact, sv=sv, sv_coef=coef, nr_sv=2 * exact.nr_sv), tmp_path / "fast")
    done = ran("cascade", "fast", PHOTOS, "--data", ROWS, "--json", cwd=tmp_path, status=1)
    reason = b"the exact model alone costs no more (timed on this machine), by the 800 rows that decide"
    assert done.stderr.endswith(reason + b"; nothing was written\n")
    report = json.loads(done.stdout)
    assert (report["cheaper"], report["outputs"], report["bytes"]) == (False, {"model": None}, None)
    assert [path.name for path in tmp_path.iterdir()] == ["fast"]


def test_files_that_contradict_themselves():
    tree, routed = (
        unpacked((FROZEN / "1.0" / f"{name}.model").read_bytes())
        for name in ("cascade_of_expansions", "routed_pseudo_poly")
    )
    for change, message in (
        ({"fast": model_bytes(exact_model("breast_c_rbf"))}, "has a different type or different labels"),
        ({"fast": tree}, "fast: a scaled model or a cascade"),
        ({"exact": routed}, "exact: a model of kind routed"),
        ({"fast": {**routed, "kernel_typo": 1}}, r"fast: an unknown part \('kernel_typo'\)"),
    ):
        with pytest.raises(ModelFormatError, match=message):
            load_model(packed({**tree, **change}))


def test_labels_in_another_order_and_other_trainers(tmp_path, rows):
    """A fast model from nu-SVC with the labels in the opposite order: only the labels matter."""
    exact, fast = exact_model(), compressed(8)
    turned = np.roll(np.arange(len(fast.sv)), -fast.nr_sv[0])
    other = replace(
        fast, head=Head("nu_svc", fast.head.labels[::-1].copy()), sv=fast.sv.take(turned),
        sv_coef=-fast.sv_coef[:, turned], rho=-fast.rho, nr_sv=fast.nr_sv[::-1].copy(),
    )  # fmt: skip
    np.testing.assert_array_equal(answer(other, rows).predicted, answer(fast, rows).predicted)
    (joined, report), (straight, same) = (join(one, exact, rows, TWO) for one in (other, fast))
    assert (report.answered, report.labels_differing) == (same.answered, same.labels_differing)
    assert 0 < report.answered < len(rows)
    expected = answer(straight, rows, exact=exact).predicted
    np.testing.assert_array_equal(answer(joined, rows, exact=exact).predicted, expected)
    np.testing.assert_array_equal(predict(joined, rows, exact=joined.exact).predicted, expected)
    save_model(joined, tmp_path / "joined")
    refused = ran("predict", "-q", "--decision-values", ROWS, tmp_path / "joined", status=2)
    assert b"values for different classes or pairs of classes" in refused.stderr


def test_repeated_rows_count_once_and_repeated_draws_are_no_copies(rows):
    fast, exact = compressed(8), exact_model()
    with pytest.raises(OptionError, match="610 rows, 590 of them distinct, cannot show with"):
        join(fast, exact, rows.take(np.r_[:590, :20]), CascadeOptions())
    _, report = join(fast, exact, rows.take(np.random.default_rng(0).integers(0, len(rows), 4000)), TWO)
    assert (report.rows, report.rows_deciding) == (4000, 800)
    assert report.different_rows < 2700


def test_the_seed_divides_the_rows(tmp_path, rows):
    save_model(compressed(8), tmp_path / "fast")
    given = (tmp_path / "fast", PHOTOS, rows)
    made = [cascade(*given, seed=seed, max_diff=0.02, force=True) for seed in (0, 0, 1, 2)]
    assert model_bytes(made[0].model) == model_bytes(made[1].model)
    assert len({one.report.error for one in made}) > 1
    assert b'"seed":"1"' in model_bytes(made[2].model)


def test_timing_decides_only_whether_to_join(rows):
    fast, exact, raced = compressed(8), exact_model(), []
    counted, report = join(fast, exact, rows, TWO)
    assert (report.cheaper, report.speedup_with_fallback) == (True, None)
    for speed, cheaper in ((0.5, False), (1.0, False), (50.0, True)):

        def race(one, other, speed=speed):
            raced.append([one().predicted, other().predicted])
            return speed

        made, report = join(fast, exact, rows, TWO, Setting(1, race=race))
        assert (report.cheaper, report.speedup_with_fallback) == (cheaper, speed if cheaper else None)
        assert model_bytes(made) == model_bytes(counted)
    # The exact model first, on its own support vectors; then the result on the rows that decide.
    own = exact.sv.take(np.resize(np.arange(len(exact.sv)), 4000))
    for found, model in zip(raced[0], (exact, fast), strict=True):
        np.testing.assert_array_equal(found, predict(model, own).predicted)
    assert len(raced) == 4
    assert np.mean(raced[-1][0] != raced[-1][1]) < 0.03


def test_a_result_that_is_slower_is_refused(rows):
    """The fast model alone is faster, so rows that decide are for joining; the race of the result is not."""
    speeds = iter([50.0, 0.9])
    outcome = cascading(compressed(8), exact_model(), rows, race=lambda one, other: next(speeds))
    assert outcome.model is None
    assert str(outcome.refusal).endswith("the two together are 0.90 times as fast as the exact model alone")


@pytest.mark.parametrize(("max_diff", "kind"), [(0.01, "cascade"), (0.2, "libsvm")])
def test_a_fast_model_that_is_written_alone_may_lose_the_probabilities(max_diff, kind, rows):
    """Beside the exact model nothing is lost, since that computes all probabilities."""
    exact, warnings = exact_model(), []
    able = replace(exact, head=replace(exact.head, prob_a=np.array([-1.0]), prob_b=np.array([0.0])))
    options = CascadeOptions(max_diff=max_diff)
    assert cascading(compressed(8), able, rows, options, warn=warnings.append).model.kind == kind
    lost = "the result has no probabilities, though exact has: the model does not support probability"
    assert warnings == [f"{lost} estimates"] * (kind != "cascade")


def test_a_result_that_loses_a_class_is_refused():
    """Few labels differ, but all of those of a rare class."""
    rng, given = np.random.default_rng(0), []
    for n, coef in ((1, 0.1), (99, 1.0)):
        sv = [[0.0, 0.0], *[[9.0 + i / 99, 0.0] for i in range(n)]]
        given.append(rbf_model(sv, [coef, *[-1.0] * n], 1.0, rho=0.5))
    x = np.concatenate([rng.normal(size=(30, 2)) * 0.1, rng.normal(size=(12_000, 2)) + 5])
    outcome = cascading(*given, Rows.from_dense(x), CascadeOptions())
    assert outcome.model is None
    assert str(outcome.refusal).startswith("a class is lost: 100% of the labels differ on the ")
    assert str(outcome.advice) == "`force` writes it anyway"
    assert cascading(*given, Rows.from_dense(x), CascadeOptions(force=True)).model is not None


def test_a_result_that_is_not_faster_is_reported(rows):
    """Of 598 rows none is left to decide, and the cost of the chosen error does not prevent writing."""
    few, warnings = rows[:598], []
    fast, exact = coarse(exact_model(), 200), exact_model()
    report = cascading(fast, exact, few, CascadeOptions(force=True), warn=warnings.append).report
    assert (report.rows_deciding, report.cheaper) == (0, True)
    assert report.operations > report.operations_exact
    assert re.search(r" \(1\.\d+x MORE; counted\)", "\n".join(report.lines()))
    assert warnings[0].startswith("with the error that the guarantee needs the two together cost ")
