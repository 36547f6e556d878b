"""Many files in one process: the outputs of single runs, complete or absent; only missing ones are made."""

import os
import random
import shutil
import subprocess
import time

import pytest
from command import ran, report
from json_schema import faults
from program import PROGRAM, data, model

import svmfast as package
from svmfast.cli.report_schema import schema
from svmfast.errors import OptionError, WriteError

EXACT = model("photos_c_rbf")


@pytest.fixture
def parts(tmp_path):
    """Five files with different rows."""
    (tmp_path / "in").mkdir()
    lines = data("photos.test").read_bytes().splitlines(keepends=True)
    paths = [tmp_path / "in" / f"part-{number}" for number in range(5)]
    for number, path in enumerate(paths):
        path.write_bytes(b"".join(lines[number * 300 : (number + 1) * 300]))
    return paths


def expected(parts, *options):
    return {f"{one.name}.out": ran("predict", "-q", *options, one, EXACT, "-").stdout for one in parts}


def outputs(folder):
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("options", [(), ("--decision-values",), ("-j", "1")])
def test_each_output_is_that_of_a_separate_run(parts, tmp_path, options):
    done = ran("predict", *options, "--out-dir", tmp_path / "out", EXACT, *parts)
    assert done.stderr == b"svmfast: 5 of 5 files predicted\n"
    assert outputs(tmp_path / "out") == expected(parts, *options)
    (tmp_path / "whole").write_bytes(b"".join(part.read_bytes() for part in parts))
    assert done.stdout == ran("predict", tmp_path / "whole", EXACT, tmp_path / "one").stdout


@pytest.mark.parametrize("end", ["\n", "\0"])
def test_names_from_a_list_and_outputs_among_the_inputs(end, parts):
    folder, listed = parts[0].parent, "".join(f"{part}{end}" for part in parts[1:]).encode()
    ran("predict", "-q", "--out-dir", folder, "--files-from", "-", EXACT, parts[0], stdin=listed)
    assert outputs(folder) == {**expected(parts), **{part.name: part.read_bytes() for part in parts}}


def test_outputs_that_exist_are_left_out_on_request(parts, tmp_path):
    out = tmp_path / "out"

    def statuses(*options):
        found = report("predict", *options, "--out-dir", out, EXACT, *parts)
        assert faults(schema(), found) == []
        predicted = [one for one in found["files"] if one["status"] == "predicted"]
        assert found["rows"] == sum(one["rows"] for one in predicted) == 300 * len(predicted)
        assert found["correct"] == sum(one["correct"] for one in predicted)
        return "".join(one["status"][0] for one in found["files"])

    assert statuses("--skip-existing") == "ppppp"
    (out / "part-2.out").unlink()
    (out / "part-3.out").write_bytes(b"another's\n")
    assert statuses("--skip-existing") == "sspss"
    assert (out / "part-3.out").read_bytes() == b"another's\n"
    assert statuses() == "ppppp"
    assert outputs(out) == expected(parts)


def test_a_bad_input_is_named_and_the_others_are_finished(parts, tmp_path):
    parts[2].write_text("1 1:0.5\n1 x:1\n")
    (tmp_path / "empty").mkdir()
    words = ["predict", "--out-dir", tmp_path / "out", EXACT, *parts, tmp_path / "none", tmp_path / "empty"]
    done = ran(*words, status=2)
    assert done.stderr.decode().splitlines() == [
        f"{tmp_path / 'empty'}: is a folder; give its files: {tmp_path / 'empty'}/*",
        f"{parts[2]}:2: the index is not an integer ('x:1'); expected index:value with an integer from 1",
        f"{tmp_path / 'none'}: cannot be read: No such file or directory",
        "svmfast: 4 of 7 files predicted, 3 failed",
    ]
    assert sorted(outputs(tmp_path / "out")) == ["part-0.out", "part-1.out", "part-3.out", "part-4.out"]
    done = ran(*words, "-q", "--skip-existing", status=2)
    assert done.stderr.decode().splitlines()[-1] == "svmfast: 0 of 7 files predicted, 4 skipped, 3 failed"
    found = report(*words, "-q", "--skip-existing", status=2)
    assert [found[f"files_{what}"] for what in ("predicted", "skipped", "failed")] == [0, 4, 3]
    assert found["files"][2]["error"] == done.stderr.decode().splitlines()[1]


def test_a_folders_name_is_refused(parts, tmp_path):
    folder = f"{parts[0].parent}/"
    done = ran("predict", "--out-dir", tmp_path / "out", EXACT, folder, status=2)
    assert f"'{folder}' is a folder's name; give its files: {folder}*" in done.stderr.decode()


def test_relative_paths_are_kept(tmp_path):
    source = tmp_path / "in"
    for folder in ("a", "b"):
        (source / folder).mkdir(parents=True)
        shutil.copy(data("photos.test"), source / folder / "rows.out.gz")
    words = ("predict", "-q", "--out-dir", tmp_path / "out", "--suffix", ".out.gz", EXACT)
    words = (*words, *sorted(source.rglob("*.gz")))
    done = ran(*words, status=2)
    assert b"would both be written to" in done.stderr
    assert b"give --relative-to, a folder that contains both" in done.stderr
    ran(*words, "--relative-to", source)
    found = outputs(tmp_path / "out")
    assert sorted(found) == ["a/rows.out.gz", "b/rows.out.gz"]
    assert found["a/rows.out.gz"].startswith(b"\x1f\x8b")
    done = ran(*words, "--relative-to", source / "a", status=2)
    assert done.stderr.decode().endswith(f"is not in '{source / 'a'}' (--relative-to)\n")


def test_two_inputs_whose_paths_only_look_the_same(parts, tmp_path):
    part, link = parts[0], parts[0].with_name("link")
    (tmp_path / "far" / "away").mkdir(parents=True)
    shutil.copy(part, tmp_path / "far" / part.name)
    link.symlink_to(tmp_path / "far" / "away")
    with pytest.raises(OptionError, match=r"and '.*/link/\.\./part-0' would both be written to"):
        package.predict_files(EXACT, [part, f"{link}/../{part.name}"], tmp_path / "out")
    link.unlink()
    link.symlink_to(part.parent)
    assert package.predict_files(EXACT, [part, f"{link}/part-0"], tmp_path / "out").files_predicted == 1


def test_an_unwritable_output_ends_the_run(parts, tmp_path):
    with pytest.raises(WriteError):
        package.predict_files(EXACT, parts, parts[0])
    (tmp_path / "out" / "part-0.out").mkdir(parents=True)
    with pytest.raises(WriteError, match=r"part-0\.out: cannot be written: Is a directory"):
        package.predict_files(EXACT, parts, tmp_path / "out")
    os.mkfifo(tmp_path / "part-0.out")
    with pytest.raises(OptionError, match=r"part-0\.out' is not a regular file; remove it"):
        package.predict_files(EXACT, parts, tmp_path)


@pytest.mark.nightly
def test_a_run_killed_at_any_moment_can_be_repeated(tmp_path):
    """At no moment is there half a file under an output's name, and the next run completes the rest."""
    lines = data("photos.test").read_bytes().splitlines(keepends=True)
    files = [tmp_path / f"rows-{number:03}" for number in range(150)]
    for number, file in enumerate(files):
        file.write_bytes(b"".join(lines[number * 20 : number * 20 + 200]))
    names = "".join(f"{file}\n" for file in files).encode()
    words = ("predict", "-q", "--skip-existing", "--files-from", "-", EXACT, "--out-dir")
    began = time.monotonic()
    ran(*words, tmp_path / "whole", stdin=names)
    seconds = time.monotonic() - began
    whole, out, chance = outputs(tmp_path / "whole"), tmp_path / "out", random.Random(21)

    def visible():
        return {name: text for name, text in outputs(out).items() if not name.startswith(".")}

    for _ in range(10):
        process = subprocess.Popen([PROGRAM, *words, out], stdin=subprocess.PIPE)
        process.stdin.write(names)
        process.stdin.close()
        time.sleep(chance.uniform(0.3, 0.9) * seconds)
        process.kill()
        process.wait()
        assert visible().items() <= whole.items()
        if len(visible()) == len(whole):
            shutil.rmtree(out)
    ran(*words, out, stdin=names)
    assert visible() == whole
