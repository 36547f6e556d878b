"""The measuring scripts: their harness, and a short run of each on the fixtures."""

import re
import shutil
import subprocess
import sys

import pytest
from program import FIXTURES, ROOT

BENCH = ROOT / "scripts" / "bench"


@pytest.fixture(autouse=True)
def _scripts(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))


def run(script, *words):
    """Run a script; return the cells of the lines of all tables that it prints, without their heads."""
    command = [sys.executable, BENCH / script, "--repeats", "1", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    rows = [line[2:-2].split(" | ") for line in done.stdout.splitlines() if line.startswith("| ")]
    rules = [i for i, row in enumerate(rows) if set(row[0]) == {"-"}]
    return [row for i, row in enumerate(rows) if i not in rules and i + 1 not in rules]


def test_a_process_has_its_output_status_and_memory():
    from harness import run as harness_run

    done = harness_run([sys.executable, "-c", "x = b'x' * 50_000_000; print('a\\nb')"])
    assert (done.status, done.out) == (0, "a\nb\n")
    assert 50e6 < done.peak < 100e6
    with pytest.raises(RuntimeError, match=r"exit 3: what$"):
        harness_run([sys.executable, "-c", "import sys; print('what', file=sys.stderr); sys.exit(3)"])


#: Two tables on one page, and one that has a case without data.
SCRIPT = f"""
import sys
sys.path.insert(0, {str(BENCH)!r})
from harness import Table, measure
def count(bench, name):
    yield name, str(len(bench.read(name)[1]))
def two(bench, name):
    yield name, "x", ""
measure("doc", [
    Table("one", "data | rows", ("iris.train", "iris.test"), count, marks="page"),
    Table("two", "data | rows | ", ("wine.train",), two, marks="page", note="N."),
    Table("other", "data | rows", ("iris.train", "nowhere"), count),
], versions=("numpy",))
"""


def test_tables_go_between_the_marks_of_a_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("above\n<!-- page -->\nold\n<!-- /page -->\n<!-- other -->\nold\n<!-- /other -->\n")
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, tmp_path / "script.py", "--data", FIXTURES / "data", "--page", page]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "other: left out for want of nowhere\n" in done.stderr
    text = page.read_text()
    assert text.startswith("above\n<!-- page -->\nMeasured on ")
    assert text.endswith("\n\nN.\n<!-- /page -->\n<!-- other -->\nold\n<!-- /other -->\n")
    assert "\n| data | rows |\n| --- | ---: |\n| iris.train | 100 |\n| iris.test | 50 |\n" in text
    # No paths of this machine.
    assert re.search(r"^    python \S*script.py --data DIR$", text, re.MULTILINE)
    part = subprocess.run([*command, "--table", "one"], capture_output=True, text=True)
    assert part.returncode == 0
    assert "page is incomplete" in part.stderr
    assert page.read_text() == text


@pytest.mark.skipif(shutil.which("svm-predict") is None, reason="no svm-predict")
def test_labels_and_certificates_are_measured():
    exact, certified = run("speed.py", "--table", "exact", "--table", "certified", "--only", "photos_c_rbf")
    assert (exact[0], exact[1], exact[5]) == ("photos_c_rbf", "4,000", "0")
    assert float(exact[4].rstrip("%")) > 97
    assert certified[:2] == ["photos_c_rbf", "`--order 2`"]
    assert certified[7:9] == ["0", "0"]


def test_the_papers_figures_are_measured():
    found = {row[1]: row[4] for row in run("reproduce.py", "--only", "gamma_max", "--only", "sizes")}
    assert found["gamma_max"] == "0.0170"
    assert found["sizes"].endswith("(1/25.2)")
    exact, *meka = run("papers.py", "--table", "budget-exact", "--table", "meka")
    assert exact == ["breast", "97.88", "51", "-"]  # by svm-predict: fixtures/golden/breast_c_rbf.stdout
    assert float(meka[0][5]) < 0.02


@pytest.mark.parametrize(
    ("script", "words", "count"),
    [
        ("in_process.py", ("--table", "one-row", "--only", "Rows"), 1),
        pytest.param("cascade.py", ("--drawings", "5"), 1, marks=pytest.mark.nightly),
        ("export.py", ("--table", "labels", "--only", "breast"), 1),
    ],
)
def test_a_script_runs_on_the_fixtures(script, words, count):
    if shutil.which("svm-scale") is None:
        pytest.skip("no LIBSVM programs")
    if script == "export.py" and shutil.which("gcc") is None:
        pytest.skip("no gcc: C files cannot be compiled")
    assert len(run(script, *words)) == count
