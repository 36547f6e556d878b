"""Every command writes the same bytes with other threads, another locale or hash seed, or from a pipe."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from meaning import FROZEN
from program import PROGRAM, data, model, svmfast

from svmfast import _core
from svmfast.methods.registry import methods

IRIS, EXACT = str(data("iris.train")), str(model("iris_c_rbf_prob"))
FAST = str(FROZEN / "1.1/routed_pseudo_poly.model")
SMALL = ["--clusters", "3", "--landmarks", "4"]

#: Files are written to OUT; printed text is compared as well.
COMMANDS: dict[str, list[str]] = {
    "approximate": ["approximate", EXACT, "--embed-exact", "-o", "OUT"],
    "compress": ["compress", EXACT, "--sv", "6", "--data", IRIS, "--iterations", "20", "-o", "OUT"],
    "budget-train": ["budget-train", IRIS, "OUT", "-g", "0.5", "-B", "5", "--passes", "2", "-b", "1"],
    "meka": ["meka", IRIS, "-o", "OUT", "--task", "ridge", *SMALL, "--rank", "2"],
    "dcpred": ["dcpred", IRIS, "-o", "OUT", "--task", "svc", *SMALL, "--iterations", "4"],
    "nystrom": ["nystrom", IRIS, "-o", "OUT", "--task", "svc", "--landmarks", "8"],
    "train": ["train", IRIS, "OUT"],
    "train, silently": ["train", IRIS, "-q", "-o", "OUT"],
    "predict": ["predict", "-b", "1", "--decision-values", str(data("iris.test")), EXACT, "OUT"],
    "bound-check": ["bound-check", IRIS, "--model", EXACT],
    "info": ["info", EXACT],
    "linear": ["linear", IRIS, "-o", "OUT"],
    "export": ["export", EXACT, "--to", "c", "--test", IRIS, "-o", "OUT"],
    "compare": ["compare", EXACT, EXACT, "--data", str(data("iris.test")), "--json", "--repeats", "1"],
    "frontier": [
        *("frontier", EXACT, "--data", IRIS, "--test", str(data("iris.test")), "-o", "OUT", "-q"),
        *("--methods", "linear"),
    ],
    "approximate in cells": [
        "approximate",
        EXACT,
        "--cells",
        "3",
        "--order",
        "auto",
        "--force",
        "--data",
        IRIS,
        "-o",
        "OUT",
    ],
    "meka from a model": ["meka", "--from", EXACT, IRIS, "-o", "OUT", *SMALL, "--rank", "2"],
    "dcpred from a model": ["dcpred", "--from", EXACT, IRIS, "-o", "OUT", *SMALL, "--iterations", "4"],
    "cascade": ["cascade", FAST, EXACT, "--data", IRIS, "--max-diff", "10%", "-o", "OUT"],
}
#: Measured times and figures that follow from them; everything else is compared.
CLOCK = re.compile(rb'"[a-z_]*(seconds|speedup|linear_cost|threads)[a-z_]*": [^\n]*')


@pytest.fixture(scope="session")
def decimal_comma(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str] | None:
    """The environment of a locale whose numbers have a decimal comma: the system's, or one made for this."""
    listed = subprocess.run(["locale", "-a"], capture_output=True, text=True).stdout.split()
    for name in listed:
        if re.match(r"(de|fr|it|pl|ru|cs)_", name):
            return {"LC_ALL": name}
    folder = tmp_path_factory.mktemp("locales")
    if shutil.which("localedef") is None:
        return None
    made = folder / "de_DE.UTF-8"
    subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", made], capture_output=True)
    return {"LOCPATH": str(folder), "LC_ALL": made.name} if made.exists() else None


def run(name: str, folder: Path, threads: int, stdin: bytes = b"", **environment: str) -> bytes:
    """Return the file that a command writes, and what it prints on stdout.

    With an environment of its own, of which Python reads much at its start, the executable runs.
    """
    out = folder / "out"
    words = [str(out) if word == "OUT" else word for word in COMMANDS[name]]
    if stdin:
        words = ["-" if word == IRIS else word for word in words]
    words += ["-j", str(threads)]
    if environment:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("LC_", "LANG", "PYTHONHASHSEED"))}
        done = subprocess.run(
            [PROGRAM, *words], input=stdin, capture_output=True, env={**clean, **environment}
        )
    else:
        done = svmfast(*words, stdin=stdin)
    assert done.returncode in (0, 1), done.stderr
    written = contents(out)
    if name == "frontier":  # its recommendation may depend on timing; its models do not
        return written
    return written + b"\0" + without_clock(done.stdout).replace(os.fsencode(out), b"OUT")


def contents(out: Path) -> bytes:
    """Return what was written (all models, if it is a folder) and remove it."""
    if out.is_dir():
        models = sorted(out.joinpath("models").iterdir())
        written = b"\0".join(path.name.encode() + b"\0" + path.read_bytes() for path in models)
        shutil.rmtree(out)
        return written
    written = out.read_bytes() if out.exists() else b""
    out.unlink(missing_ok=True)
    return written


def without_clock(message: bytes) -> bytes:
    """Return a JSON report without seconds and speeds; return other text unchanged."""
    return (
        CLOCK.sub(b"", message)
        if message.startswith(b"{")
        else re.sub(rb"(?m)^(time|raced) .*$", b"", message)
    )


def test_every_method_is_run() -> None:
    missing = {one.name for one in methods()} - {words[0] for words in COMMANDS.values()}
    assert not missing, "COMMANDS of this file"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_environment_does_not_change_the_bytes(
    name: str, tmp_path: Path, decimal_comma: dict[str, str] | None
) -> None:
    """Threads, locale and hash seed all differ between any two of three runs; that of a fork is random."""
    expected = run(name, tmp_path, 1)
    assert len(expected) > 20
    comma = decimal_comma or {"LC_ALL": "C.UTF-8"}
    for threads, locale, seed in ((2, {"LC_ALL": "C"}, "0"), (4, comma, "1")):
        assert run(name, tmp_path, threads, PYTHONHASHSEED=seed, **locale) == expected


def test_the_locale_has_decimal_commas(decimal_comma: dict[str, str] | None) -> None:
    if decimal_comma is None:
        pytest.skip("this system has no locale with decimal commas, nor what makes one")
    code = "import locale; locale.setlocale(locale.LC_ALL, ''); print(locale.localeconv()['decimal_point'])"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **decimal_comma}, capture_output=True
    )
    assert done.stdout == b",\n", done.stderr


@pytest.mark.parametrize("name", ["budget-train", "meka", "dcpred", "train"])
def test_a_pipe_gives_the_same_as_the_file(name: str, tmp_path: Path) -> None:
    expected = run(name, tmp_path, 1).partition(b"\0")[0]
    text = Path(IRIS).read_bytes()
    assert run(name, tmp_path, 2, stdin=text).partition(b"\0")[0] == expected


PHOTOS, ROWS = str(model("photos_c_rbf")), str(data("photos.train"))


@pytest.mark.parametrize(
    "words",
    [
        ["approximate", PHOTOS, "--order", "1", "--cells", "10", "--data", ROWS],
        ["compress", PHOTOS, "--sv", "20", "--start", "kmeans", "--iterations", "3", "--data", ROWS],
    ],
    ids=["approximate", "compress"],
)
def test_openmp_threads_change_no_byte(words: list[str], tmp_path: Path) -> None:
    # k-means on more rows than one thread takes at a time, in a process that has not loaded it before.
    assert svmfast(*words, "-q", "-o", tmp_path / "1").returncode == 0  # as all tests, with one thread
    environment = {**os.environ, "OMP_NUM_THREADS": "4"}
    subprocess.run([PROGRAM, *words, "-q", "-o", tmp_path / "4"], env=environment, check=True)
    made = [(tmp_path / threads).read_bytes() for threads in ("1", "4")]
    assert made[0] == made[1]


@pytest.mark.parametrize("name", ["meka", "dcpred", "cascade"])
def test_a_model_names_the_instruction_set_that_its_last_digits_depend_on(name: str, tmp_path: Path) -> None:
    run_on = {isa: run(name, tmp_path, 1, SVMFAST_ISA=isa) for isa in ("baseline", "avx2")}
    for isa, written in run_on.items():
        (line,) = re.findall(rb"^arithmetic (.*)$", written, re.MULTILINE)
        known = isa.encode() if _core.isa() != "baseline" else b"baseline"
        assert line.startswith(known + b", BLAS ")
        assert written.startswith(b"svmfast-model 1.4\n")
