"""Every command writes the same bytes with other threads, another locale or hash seed, or from a pipe."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from command import svmfast
from every_command import INPUTS, RUNS
from nightly import nightly_but
from program import PROGRAM, lines_of, words_of

from svmfast import _core
from svmfast.cli import main

#: Runs with other code or other output than the quick run of every command. COARSE differs so often that a
#: cascade needs the exact model.
MORE = lines_of("determinism")
#: Files are written to OUT and SAVED; printed text is compared as well.
COMMANDS = {
    **{name: RUNS[name] for name in (*main.commands(), "dcpred from a model")},
    "compare": [*RUNS["compare"], "--json"],
    **{name: line.split() for name, line in MORE.items()},
}
#: Measured times and figures that follow from them; everything else is compared.
CLOCK = re.compile(rb'"[a-z_]*(seconds|speedup|linear_cost|threads)[a-z_]*": (\[[^]]*\]|[^\n]*)')


@pytest.fixture(scope="session")
def decimal_comma(tmp_path_factory):
    """The environment of a locale whose numbers have a decimal comma, if one can be made."""
    made = tmp_path_factory.mktemp("locales") / "de_DE.UTF-8"
    if shutil.which("localedef") is not None:
        subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", made], capture_output=True)
    return {"LOCPATH": str(made.parent), "LC_ALL": made.name if made.exists() else "C.UTF-8"}


@pytest.fixture(scope="session")
def elsewhere(decimal_comma):
    """Other numbers of threads, and other environments, which Python reads at its start."""
    return [(2, {"LC_ALL": "C", "PYTHONHASHSEED": "0"}), (4, {**decimal_comma, "PYTHONHASHSEED": "1"})]


def environment(**own):
    """Return that of the tests with other variables, and none for another locale or hash seed."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("LC_", "LANG", "PYTHONHASHSEED"))}
    return {**kept, **own}


def run(name, folder, threads, stdin=b"", **variables):
    """Return the file that a command writes, and what it prints on stdout.

    If it has `variables` of its own, the executable runs.
    """
    out, saved = folder / "out", folder / "saved"
    paths = {**INPUTS, "OUT": out, "SAVED": saved, **({"TRAIN": "-"} if stdin else {})}
    words = [str(paths.get(word, word)) for word in COMMANDS[name]]
    words += ["-j", str(threads)] if words[0] != "import" else []
    if variables:
        own = environment(**variables)
        done = subprocess.run([PROGRAM, *words], input=stdin, capture_output=True, env=own)
    else:
        done = svmfast(*words, stdin=stdin, shortened=True)
    assert done.returncode in (0, 1), done.stderr
    written = contents(out) + contents(saved)
    if name == "frontier":  # its recommendation may depend on timing; its models do not
        return written
    clock = CLOCK if done.stdout.startswith(b"{") else re.compile(rb"(?m)^(time|raced) .*$")
    return written + b"\0" + clock.sub(b"", done.stdout).replace(os.fsencode(out), b"OUT")


def contents(out):
    """Return what was written (all models, if it is a folder) and remove it."""
    if out.is_dir():
        models = sorted(out.joinpath("models").iterdir())
        written = b"\0".join(path.name.encode() + b"\0" + path.read_bytes() for path in models)
        shutil.rmtree(out)
        return written
    written = out.read_bytes() if out.exists() else b""
    out.unlink(missing_ok=True)
    return written


#: One that predicts, one that trains, one that converts, one that scales, one that reports. Every
#: method's model for two numbers of threads is compared by test_method_registry.py.
ALWAYS = ("predict", "budget-train", "approximate, searching", "scale", "compare")


@pytest.mark.parametrize("name", nightly_but(ALWAYS, COMMANDS))
def test_the_environment_does_not_change_the_bytes(name, tmp_path, elsewhere):
    """Threads, locale and hash seed all differ between any two of three runs; that of the first is random."""
    expected = run(name, tmp_path, 1)
    assert len(expected) > 20
    for threads, variables in elsewhere:
        assert run(name, tmp_path, threads, **variables) == expected


def test_the_other_locale_has_a_decimal_comma(decimal_comma):
    code = "import locale; locale.setlocale(locale.LC_ALL, ''); print(locale.localeconv()['decimal_point'])"
    point = subprocess.check_output([sys.executable, "-c", code], env=environment(**decimal_comma))
    assert point == (b".\n" if decimal_comma["LC_ALL"] == "C.UTF-8" else b",\n")


@pytest.mark.parametrize("name", nightly_but(["budget-train"], ["budget-train", "meka", "dcpred", "train"]))
def test_a_pipe_gives_the_same_as_the_file(name, tmp_path):
    expected = run(name, tmp_path, 1).partition(b"\0")[0]
    text = INPUTS["TRAIN"].read_bytes()
    assert run(name, tmp_path, 2, stdin=text).partition(b"\0")[0] == expected


@pytest.mark.parametrize(
    "line",
    [
        # k-means on more rows than one thread takes at a time; and blocks, and their solution.
        "compress models/photos_c_rbf.model --data data/photos.train --sv 20 --start kmeans --iterations 3",
        "meka data/breast.train --task ridge --rank 30 --clusters 4",
        "meka data/breast.train --task svc -c 2 --rank 30 --clusters 4",
    ],
)
def test_threads_of_openmp_and_blas_change_no_byte(line, tmp_path):
    """In a process that has not loaded these libraries before."""
    words = [*words_of(line), "-q", "-o"]
    assert svmfast(*words, tmp_path / "1", "-j", "1").returncode == 0  # as all tests, with one thread of each
    own = environment(OMP_NUM_THREADS="4", OPENBLAS_NUM_THREADS="4")
    subprocess.run([PROGRAM, *words, tmp_path / "4", "-j", "3"], env=own, check=True)
    assert (tmp_path / "1").read_bytes() == (tmp_path / "4").read_bytes()


@pytest.mark.parametrize(
    "name", nightly_but(["cascade, unscaled"], ["meka", "dcpred from a model", "cascade, unscaled"])
)
def test_a_model_names_the_instruction_set_that_its_last_digits_depend_on(name, tmp_path):
    run_on = {isa: run(name, tmp_path, 1, SVMFAST_ISA=isa) for isa in ("baseline", "avx2")}
    for isa, written in run_on.items():
        *_inside, line = re.findall(rb'"arithmetic":"([^"]*)"', written)
        known = isa.encode() if _core.isa() != "baseline" else b"baseline"
        assert line.startswith(known + b", BLAS ")
        assert written.startswith(b"svmfast-model 1.0 ")
