"""Files and modules in the current folder run no code; no connection and no other file is opened."""

import gzip
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from program import FIXTURES, PROGRAM, data, metered, model
from sealing import packed, unpacked

from svmfast import import_path
from svmfast.frontiers.child import child_command

#: Prints every file that is opened, every connection and every process: Python's own audit events.
AUDITED = """
import sys
def hook(event, arguments):
    if event == "open" and isinstance(arguments[0], str):
        print(event, arguments[0], arguments[1], file=sys.__stderr__)
    elif event.split(".")[0] in ("socket", "subprocess") or event in ("os.system", "os.exec"):
        print("FORBIDDEN", event, file=sys.__stderr__)
sys.addaudithook(hook)
from svmfast.cli.main import run
sys.exit(run(sys.argv[1:]))
"""


def test_a_run_opens_only_the_given_files_and_no_connection(tmp_path):
    tree = unpacked((FIXTURES / "frozen/1.0/polynomial_one_class.model").read_bytes())
    hostile = f"{tmp_path}/touched $(touch {tmp_path}/touched)"
    tree["provenance"] = {"source": "../../../../etc/passwd", "data": hostile}
    (tmp_path / "evil.model").write_bytes(packed(tree))
    for words in (["info", "evil.model"], ["predict", "-q", data("normal.test"), "evil.model", "out"]):
        command = [sys.executable, "-c", AUDITED, *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert not re.search("FORBIDDEN|passwd|touched", done.stderr)
    assert {p.name for p in tmp_path.iterdir()} == {"evil.model", "out"}


@pytest.mark.skipif("SVMFAST_SANITIZED" in os.environ, reason="sanitizers take memory too")
def test_a_small_packed_file_cannot_fill_the_memory(tmp_path):
    bomb = tmp_path / "rows.gz"
    bomb.write_bytes(gzip.compress(b"1 1:0.5 2:0.25 3:1\n" * (24 << 18), compresslevel=1))
    words = ("predict", "-q", bomb, FIXTURES / "models" / "tie_votes.model", tmp_path / "out")
    done, peak = metered(tmp_path, *words)
    assert done.returncode == 0
    assert (tmp_path / "out").read_bytes().count(b"\n") == 24 << 18
    # All rows take 350, their values alone 150; what is read ahead depends on which thread comes first.
    assert peak < 150


#: Names of modules that the program imports; a file of this name in the current folder records that it ran.
PACKAGES = {"numpy", "click", "scipy", "sklearn", "rich", "threadpoolctl", "libsvm"}
#: These are looked for in the current folder before any code of ours runs. By ``python -m svmfast`` two: see
#: SECURITY.md. With an empty entry of PYTHONPATH those that Python and the installed script import first.
PYTHONS_OWN = {"svmfast", "contextlib"}
FIRST = PYTHONS_OWN | {"json", "subprocess", "typing", "__future__", "sitecustomize", "usercustomize"}
TRAIN = ["train", "-q", str(data("breast.train")), "made"]
FRONTIER = [
    *("frontier", str(model("breast_c_rbf")), "--data", str(data("breast.train"))),
    *("--test", str(data("breast.test")), "--methods", "linear", "--max-diff", "50%", "-o", "made"),
]


@pytest.fixture
def trap(tmp_path):
    """A folder in which every planted module writes its name to the file ``run``."""
    for name in PACKAGES | FIRST:
        text = f"open({str(tmp_path / 'run')!r}, 'a').write({name!r} + ' ')\nraise SystemExit(66)\n"
        (tmp_path / f"{name}.py").write_text(text)
    return tmp_path


def start(cwd, *words, **more):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | more
    return subprocess.run([*words], cwd=cwd, env=environment, capture_output=True, text=True)


M = [sys.executable, "-m", "svmfast"]


@pytest.mark.parametrize(
    ("program", "words", "safe", "more"),
    [
        ([PROGRAM], TRAIN, set(), {}),
        (M, TRAIN, PYTHONS_OWN, {}),
        # ``PYTHONPATH=$PYTHONPATH:/more`` puts the current folder on the path if it was unset.
        ([PROGRAM], TRAIN, FIRST, {"PYTHONPATH": os.pathsep + "/nowhere"}),
        pytest.param([PROGRAM], FRONTIER, set(), {}, marks=pytest.mark.nightly),
    ],
)
def test_nothing_is_imported_from_the_current_folder(program, words, safe, more, trap):
    for name in safe:
        (trap / f"{name}.py").unlink()
    done = start(trap, *program, *words, **more)
    assert not (trap / "run").exists(), (trap / "run").read_text()
    assert done.returncode in (0, 1), done.stderr  # frontier's recommendation depends on timing
    assert (trap / ("made" if words == TRAIN else "made/models/linear")).is_file()


def test_a_child_finds_modules_where_its_parent_did(trap, monkeypatch):
    """Also if the parent's path is not that of an installation."""
    place = trap / "elsewhere"
    place.mkdir()
    (place / "only_here.py").write_text("")
    monkeypatch.chdir(trap)
    monkeypatch.setattr(sys, "path", ["", str(place), *sys.path])
    words = child_command([])
    code = words[words.index("-c") + 1].split(";")[:-2]
    check = "import only_here, os; assert os.getcwd() not in sys.path and '' not in sys.path"
    done = start(trap, *words[: words.index("-c")], "-c", ";".join([*code, check]))
    assert (done.returncode, done.stderr) == (0, "")


def test_only_the_current_folder_leaves_the_path(tmp_path, monkeypatch):
    """But that of an installation by ``pip install --target`` stays."""
    home = Path(import_path.__file__).parent.parent
    monkeypatch.chdir(home)
    assert import_path.without_current_folder(["", "/usr"]) == [str(home), "/usr"]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    link = tmp_path.parent / f"{tmp_path.name}-link"
    link.symlink_to(tmp_path)
    path = ["", ".", str(tmp_path), str(link), "sub", str(tmp_path / "sub"), "/nowhere", "/usr"]
    assert import_path.without_current_folder(path) == ["sub", str(tmp_path / "sub"), "/nowhere", "/usr"]
