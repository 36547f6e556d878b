"""`svmfast predict`: svm-predict's output, and the features that svm-predict lacks."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from command import svmfast
from program import FIXTURES, data, model, started


def test_arguments_options_and_streams_of_the_program(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = svmfast("predict", "-b", "1", data("breast.test"), model("breast_c_rbf_prob"), out)
    golden = FIXTURES / "golden" / "breast_c_rbf_prob.b1"
    assert done.returncode == 0
    assert done.stdout == golden.with_suffix(".b1.stdout").read_bytes()
    assert out.read_bytes() == golden.with_suffix(".b1.out").read_bytes()
    differing = int(done.stderr.split(b" of ")[0].removeprefix(b"svmfast: "))
    voted = (FIXTURES / "golden" / "breast_c_rbf_prob.out").read_text().split()
    probable = [line.split()[0] for line in out.read_text().splitlines()[1:]]
    assert differing == sum(map(str.__ne__, voted, probable))


def test_accuracy_goes_to_stderr_if_predictions_go_to_stdout() -> None:
    done = svmfast("predict", data("iris.test"), model("iris_c_linear"))
    assert done.stdout == (FIXTURES / "golden" / "iris_c_linear.out").read_bytes()
    assert done.stderr == (FIXTURES / "golden" / "iris_c_linear.stdout").read_bytes()
    assert svmfast("predict", "-q", data("iris.test"), model("iris_c_linear")).stderr == b""


def test_standard_input_and_compressed_data(tmp_path: Path) -> None:
    text = data("breast.test").read_bytes()
    packed = tmp_path / "data"
    packed.write_bytes(gzip.compress(text))
    golden = (FIXTURES / "golden" / "breast_c_rbf.out").read_bytes()
    assert svmfast("predict", "-", model("breast_c_rbf"), stdin=text).stdout == golden
    assert svmfast("predict", packed, model("breast_c_rbf")).stdout == golden
    assert (
        svmfast("predict", data("breast.test"), "-", stdin=model("breast_c_rbf").read_bytes()).stdout
        == golden
    )


def test_decision_values_decide_the_labels() -> None:
    done = svmfast("predict", "--decision-values", data("iris.test"), model("iris_c_linear"))
    header, *lines = done.stdout.decode().splitlines()
    label, *pairs = header.split()
    assert label == "label"
    assert len(pairs) == 3
    for line in lines:
        got, *values = line.split()
        votes = [
            pair.split("/")[0 if float(value) > 0 else 1] for pair, value in zip(pairs, values, strict=True)
        ]
        assert votes.count(got) == max(map(votes.count, votes))
    regression = svmfast("predict", "--decision-values", data("diabetes.test"), model("diabetes_eps_linear"))
    first, *values = regression.stdout.decode().splitlines()
    assert first == "label decision"
    assert all(line.split()[0] == line.split()[1] for line in values)


def test_unknown_features_are_counted_and_named() -> None:
    done = svmfast("predict", data("iris_extra.test"), model("iris_c_linear"))
    rows = data("iris_extra.test").read_text().splitlines()
    indices = [[int(pair.split(":")[0]) for pair in row.split()[1:]] for row in rows]
    beyond = sum(max(row) > 4 for row in indices)
    assert beyond > 0
    expected = (
        f"svmfast: {beyond} of 50 rows have features that the model does not have "
        f"(index up to {max(map(max, indices))}, the model has 4)"
    )
    assert expected in done.stderr.decode()


def test_input_is_answered_line_by_line_as_it_arrives() -> None:
    rows = data("iris.test").read_bytes().splitlines(keepends=True)
    golden = (FIXTURES / "golden" / "iris_c_linear.out").read_bytes().splitlines(keepends=True)
    with started("predict", "-q", "-", model("iris_c_linear")) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        # If a line were not answered before the next one is sent, this would hang until the time limit.
        for row, answer in zip(rows[:5], golden[:5], strict=True):
            process.stdin.write(row)
            process.stdin.flush()
            assert process.stdout.readline() == answer
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait() == 0


@pytest.mark.parametrize(
    ("text", "where"), [(b"1 1:0.5 2:x\n", "1: "), (b"1 1:0.5\n" * 3 + b"1 2:1 1:1\n", "4: "), (b"", " ")]
)
def test_bad_data_is_one_line_and_keeps_the_old_output(tmp_path: Path, text: bytes, where: str) -> None:
    bad, out = tmp_path / "bad.txt", tmp_path / "out"
    bad.write_bytes(text)
    out.write_bytes(b"precious")
    done = svmfast("predict", bad, model("iris_c_linear"), out)
    assert done.returncode == 2
    lines = done.stderr.decode().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(f"{bad}:{where}")
    assert done.stdout == b""
    assert out.read_bytes() == b"precious"
    assert sorted(tmp_path.iterdir()) == [bad, out]


def test_a_remark_on_the_most_probable_label_only_if_it_matters() -> None:
    remark = b"the most probable label (-b 1) is not the label of the vote"
    for name, rows in (("iris", b""), ("breast", b"8 of 189 rows: ")):
        done = svmfast("predict", "-b", "1", data(f"{name}.test"), model(f"{name}_c_rbf_prob"), os.devnull)
        assert done.returncode == 0
        assert (rows + remark in done.stderr) if rows else (remark not in done.stderr)
