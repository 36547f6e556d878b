"""Many files in one process: the outputs of single runs, complete or absent; only missing ones are made."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from command import svmfast
from json_schema import faults
from program import PROGRAM, data, model

import svmfast as package
from svmfast.cli.report_schema import schema
from svmfast.errors import OptionError, WriteError

EXACT = model("photos_c_rbf")
SCHEMA: dict[str, Any] = schema()


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    """Five files with different rows."""
    folder = tmp_path / "in"
    folder.mkdir()
    lines = data("photos.test").read_bytes().splitlines(keepends=True)
    for number in range(5):
        (folder / f"part-{number}").write_bytes(b"".join(lines[number * 300 : (number + 1) * 300]))
    return folder


def expected(path: Path, *options: str) -> bytes:
    return svmfast("predict", "-q", *options, path, EXACT, "-").stdout


def outputs(folder: Path) -> dict[str, bytes]:
    """The contents of a folder."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("options", [(), ("--decision-values",), ("-j", "1")])
def test_each_output_is_that_of_a_separate_run(
    inputs: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    parts = sorted(inputs.iterdir())
    done = svmfast("predict", *options, "--out-dir", tmp_path / "out", EXACT, *parts)
    assert done.returncode == 0
    assert done.stderr.decode() == "svmfast: 5 of 5 files predicted\n"
    assert outputs(tmp_path / "out") == {f"{part.name}.out": expected(part, *options) for part in parts}
    whole = tmp_path / "whole"
    whole.write_bytes(b"".join(part.read_bytes() for part in parts))
    assert done.stdout == svmfast("predict", whole, EXACT, tmp_path / "one").stdout


def test_names_from_a_list(inputs: Path, tmp_path: Path) -> None:
    parts = sorted(inputs.iterdir())
    text = "".join(f"{part}\n" for part in parts[1:]).encode()
    for listed in (text, text.replace(b"\n", b"\0")):
        out = tmp_path / f"out{listed[-1]}"
        words = ("predict", "-q", "--out-dir", out, "--files-from", "-", EXACT, parts[0])
        assert svmfast(*words, stdin=listed).returncode == 0
        assert sorted(outputs(out)) == [f"{part.name}.out" for part in parts]


def test_outputs_that_exist_are_left_out_on_request(inputs: Path, tmp_path: Path) -> None:
    parts, out = sorted(inputs.iterdir()), tmp_path / "out"

    def statuses(*options: str) -> str:
        done = svmfast("predict", "--json", *options, "--out-dir", out, EXACT, *parts)
        report = json.loads(done.stdout)
        assert faults(SCHEMA, report) == []
        predicted = [one for one in report["files"] if one["status"] == "predicted"]
        assert report["rows"] == sum(one["rows"] for one in predicted) == 300 * len(predicted)
        assert report["correct"] == sum(one["correct"] for one in predicted)
        return "".join(one["status"][0] for one in report["files"])

    assert statuses("--skip-existing") == "ppppp"
    assert statuses("--skip-existing") == "sssss"
    (out / "part-2.out").unlink()
    (out / "part-3.out").write_bytes(b"another's\n")
    assert statuses("--skip-existing") == "sspss"
    assert statuses() == "ppppp"
    assert outputs(out) == {f"{part.name}.out": expected(part) for part in parts}


def test_a_bad_input_is_named_and_the_others_are_finished(inputs: Path, tmp_path: Path) -> None:
    parts, out = sorted(inputs.iterdir()), tmp_path / "out"
    parts[2].write_text("1 1:0.5\n1 x:1\n")
    words = ["predict", "--out-dir", out, EXACT, *parts, tmp_path / "none"]
    done = svmfast(*words)
    assert (done.returncode, done.stderr.decode().splitlines()) == (
        2,
        [
            f"{parts[2]}:2: the index is not an integer ('x:1'); expected index:value with an integer from 1",
            f"{tmp_path / 'none'}: cannot be read: No such file or directory",
            "svmfast: 4 of 6 files predicted, 2 failed",
        ],
    )
    assert sorted(outputs(out)) == ["part-0.out", "part-1.out", "part-3.out", "part-4.out"]
    again = svmfast(*words, "--json", "-q", "--skip-existing")
    report = json.loads(again.stdout)
    assert again.returncode == 2
    assert [report[f"files_{what}"] for what in ("predicted", "skipped", "failed")] == [0, 4, 2]
    assert report["files"][2]["error"] == done.stderr.decode().splitlines()[0]
    assert again.stderr.decode().splitlines()[-1] == "svmfast: 0 of 6 files predicted, 4 skipped, 2 failed"


def test_a_folder_as_input_is_refused(inputs: Path, tmp_path: Path) -> None:
    (inputs / ".hidden").write_text("")
    (tmp_path / "empty").mkdir()
    part = sorted(inputs.glob("part-*"))[0]
    part.rename(inputs / "a.txt")
    words = ("predict", "--out-dir", tmp_path / "out", EXACT)
    done = svmfast(*words, inputs, tmp_path / "empty", inputs / "a.txt")
    assert done.returncode == 2
    assert done.stderr.decode().splitlines() == [
        f"{inputs}: is a folder; give its files: {inputs}/*",
        f"{tmp_path / 'empty'}: is a folder; give its files: {tmp_path / 'empty'}/*",
        "svmfast: 1 of 3 files predicted, 2 failed",
    ]
    done = svmfast(*words, f"{inputs}/")
    assert f"'{inputs}/' is a folder's name; give its files: {inputs}/*" in done.stderr.decode()


def test_relative_paths_are_kept(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / "in" / folder).mkdir(parents=True)
        shutil.copy(data("photos.test"), tmp_path / "in" / folder / "rows.out.gz")
    files = sorted((tmp_path / "in").rglob("*.gz"))
    words = ("predict", "-q", "--out-dir", tmp_path / "out", "--suffix", ".out.gz", EXACT, *files)
    done = svmfast(*words)
    assert done.returncode == 2
    assert b"would both be written to" in done.stderr
    assert b"give --relative-to, a folder that contains both" in done.stderr
    assert svmfast(*words, "--relative-to", tmp_path / "in").returncode == 0
    found = outputs(tmp_path / "out")
    assert sorted(found) == ["a/rows.out.gz", "b/rows.out.gz"]
    assert found["a/rows.out.gz"].startswith(b"\x1f\x8b")
    done = svmfast(*words, "--relative-to", tmp_path / "in" / "a")
    assert done.stderr.decode().endswith(f"is not in '{tmp_path / 'in' / 'a'}' (--relative-to)\n")


def test_inputs_may_be_in_the_output_folder(inputs: Path) -> None:
    parts = sorted(inputs.iterdir())
    assert svmfast("predict", "-q", "--out-dir", inputs, EXACT, *parts).returncode == 0
    assert outputs(inputs)["part-1.out"] == expected(parts[1])


def test_an_unwritable_output_ends_the_run(inputs: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError):
        package.predict_files(EXACT, sorted(inputs.iterdir()), tmp_path / "file")
    (tmp_path / "out" / "part-0.out").mkdir(parents=True)
    with pytest.raises(WriteError, match=r"part-0\.out: cannot be written: Is a directory"):
        package.predict_files(EXACT, sorted(inputs.iterdir()), tmp_path / "out")


@pytest.mark.nightly
def test_a_run_killed_at_any_moment_can_be_repeated(tmp_path: Path) -> None:
    """At no moment is there half a file under an output's name, and the next run completes the rest."""
    lines = data("photos.test").read_bytes().splitlines(keepends=True)
    files = [tmp_path / f"rows-{number:03}" for number in range(150)]
    for number, file in enumerate(files):
        file.write_bytes(b"".join(lines[number * 20 : number * 20 + 200]))
    names = "".join(f"{file}\n" for file in files).encode()
    words = ("predict", "-q", "--skip-existing", "--files-from", "-", EXACT, "--out-dir")
    began = time.monotonic()
    assert svmfast(*words, tmp_path / "whole", stdin=names).returncode == 0
    seconds = time.monotonic() - began
    whole, out = outputs(tmp_path / "whole"), tmp_path / "out"
    chance, unfinished = random.Random(21), 0
    for _ in range(10):
        process = subprocess.Popen([PROGRAM, *words, out], stdin=subprocess.PIPE)
        assert process.stdin is not None
        process.stdin.write(names)
        process.stdin.close()
        time.sleep(chance.uniform(0.3, 0.9) * seconds)
        process.kill()
        process.wait()
        found = outputs(out) if out.exists() else {}
        unfinished += any(name.endswith(".tmp") for name in found)
        visible = {name: text for name, text in found.items() if not name.startswith(".")}
        assert visible.items() <= whole.items()
        if len(visible) == len(whole):
            shutil.rmtree(out)
    assert svmfast(*words, out, stdin=names).returncode == 0
    left = outputs(out)
    assert {name: text for name, text in left.items() if not name.startswith(".")} == whole


def test_two_inputs_whose_paths_only_look_the_same(inputs: Path, tmp_path: Path) -> None:
    part, link = inputs / "part-0", inputs / "link"
    (tmp_path / "far" / "away").mkdir(parents=True)
    shutil.copy(part, tmp_path / "far" / part.name)
    link.symlink_to(tmp_path / "far" / "away")
    other = f"{link}/../{part.name}"
    with pytest.raises(OptionError, match=r"and '.*/link/\.\./part-0' would both be written to"):
        package.predict_files(EXACT, [part, other], tmp_path / "out")
    link.unlink()
    link.symlink_to(inputs)
    assert package.predict_files(EXACT, [part, f"{link}/part-0"], tmp_path / "out").files_predicted == 1


def test_a_pipe_in_the_folder_is_refused(inputs: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "part-0.out")
    with pytest.raises(OptionError, match=r"part-0\.out' is not a regular file; remove it"):
        package.predict_files(EXACT, [inputs / "part-0"], tmp_path)
