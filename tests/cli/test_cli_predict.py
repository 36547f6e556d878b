"""`svmfast predict`: svm-predict's output, and labels that are proven or the exact model's."""

import gzip
import os

import pytest
from command import ran, report
from program import FIXTURES, data, model, started

import svmfast as package

GOLDEN = FIXTURES / "golden"
IRIS, BREAST, DIABETES = data("iris.test"), data("breast.test"), data("diabetes.test")
LINEAR, REGRESSION = model("iris_c_linear"), model("diabetes_eps_rbf")


def golden(name):
    return (GOLDEN / f"{name}.out").read_bytes()


def words_of(path):
    return [line.split() for line in path.read_text().splitlines()]


def test_probabilities_and_a_remark_where_they_disagree_with_the_vote(tmp_path):
    out, remark = tmp_path / "out", b"rows: the most probable label (-b 1) is not the label of the vote"
    done = ran("predict", "-b", "1", BREAST, model("breast_c_rbf_prob"), out)
    assert done.stdout == (GOLDEN / "breast_c_rbf_prob.b1.stdout").read_bytes()
    assert out.read_bytes() == golden("breast_c_rbf_prob.b1")
    voted, probable = golden("breast_c_rbf_prob").split(), out.read_bytes().splitlines()[1:]
    differing = sum(a != b.split()[0] for a, b in zip(voted, probable, strict=True))
    assert done.stderr.startswith(b"svmfast: %d of %d " % (differing, len(voted)) + remark)
    assert ran("predict", "-q", "-b", "1", BREAST, model("breast_c_rbf_prob"), out).stderr == b""
    assert remark not in ran("predict", "-b", "1", IRIS, model("iris_c_rbf_prob"), os.devnull).stderr


def test_accuracy_goes_to_stderr_if_predictions_go_to_stdout():
    done = ran("predict", IRIS, LINEAR)
    assert done.stdout == golden("iris_c_linear")
    assert done.stderr == (GOLDEN / "iris_c_linear.stdout").read_bytes()
    assert ran("predict", "-q", IRIS, LINEAR).stderr == b""


def test_standard_input_and_compressed_data(tmp_path):
    text, exact = BREAST.read_bytes(), model("breast_c_rbf")
    (tmp_path / "data").write_bytes(gzip.compress(text))
    for words, stdin in (
        (("-", exact), text),
        ((tmp_path / "data", exact), b""),
        ((BREAST, "-"), exact.read_bytes()),
    ):
        assert ran("predict", *words, stdin=stdin).stdout == golden("breast_c_rbf")


def test_unknown_features_are_counted_and_named():
    rows = data("iris_extra.test").read_text().splitlines()
    largest = [max(int(pair.split(":")[0]) for pair in row.split()[1:]) for row in rows]
    beyond = sum(one > 4 for one in largest)
    assert beyond > 0
    remark = f"{beyond} of 50 rows have features that the model does not have (index up to {max(largest)},"
    printed = ran("predict", data("iris_extra.test"), LINEAR).stderr.decode()
    assert f"svmfast: {remark} the model has 4)" in printed


def test_input_is_answered_line_by_line_as_it_arrives():
    rows, answers = (text.splitlines(keepends=True) for text in (IRIS.read_bytes(), golden("iris_c_linear")))
    with started("predict", "-q", "-", LINEAR) as process:
        # If a line were not answered before the next one is sent, this would hang until the time limit.
        for row, answer in zip(rows[:5], answers[:5], strict=True):
            process.stdin.write(row)
            process.stdin.flush()
            assert process.stdout.readline() == answer
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait() == 0


@pytest.mark.parametrize("more", [[], ["--decision-values"]])
def test_every_label_is_certified_beside_libsvms_values(more, tmp_path):
    exact = model("iris_nu_rbf_prob")
    done = ran("predict", IRIS, exact, tmp_path / "out", "--certify", *more)
    first, *rest = words_of(tmp_path / "out")
    assert (first[0], *first[-2:]) == ("label", "certified", "error_bound")
    assert [row[0] for row in rest] == golden("iris_nu_rbf_prob").decode().split()
    assert {(row[-2], float(row[-1])) for row in rest} == {("yes", 0.0)}
    assert b"50 rows certified (100%)" in done.stderr
    known = package.load_model(exact).libsvm_values(package.read_svmlight(IRIS).rows)
    assert [[float(word) for word in row[1:-2]] for row in rest] == (known.tolist() if more else [[]] * 50)


def test_regression_within_a_tolerance(tmp_path):
    out, values = tmp_path / "out", [float(word) for word in golden("diabetes_eps_rbf").split()]
    words = ("predict", DIABETES, REGRESSION, out)
    assert b"certified" not in ran(*words, "--tolerance", "0.01").stderr
    printed = [float(word) for word in out.read_text().split()]
    assert 0 < max(abs(a - b) for a, b in zip(printed, values, strict=True)) <= 0.01
    found = report(*words, "--tolerance", "0.01", "--certify")
    assert (found["certified"], found["options"]["tolerance"]) == (142, 0.01)
    rows = [(float(row[0]), float(row[2])) for row in words_of(out)[1:]]
    assert [answer for answer, _ in rows] == printed
    for (answer, bound), value in zip(rows, values, strict=True):
        assert abs(answer - value) <= bound <= 0.01


# --- an approximation, with its exact model


def converted(folder, name, *options):
    ran("approximate", model(name), "-o", folder / "fast", "-q", *options)
    return folder / "fast"


@pytest.mark.parametrize("embedded", [False, True])
def test_the_exact_model_of_a_regression_needs_a_tolerance(embedded, tmp_path):
    fast = converted(tmp_path, "diabetes_eps_rbf", *(["--embed-exact"] if embedded else []))
    words = ["predict", "-q", DIABETES, fast, tmp_path / "out"]
    words += [] if embedded else ["--exact", REGRESSION]
    instead = "--no-fallback" if embedded else "leave out --exact"
    assert ran(*words, status=2).stderr.decode() == (
        "svmfast: values are certified within a tolerance: the exact model answers the rows whose error "
        f"bound exceeds --tolerance; give it, or {instead} to predict with the approximation alone\n"
    )
    ran(*words, "--tolerance", "1")
    ran(*words[:5], "--no-fallback")
