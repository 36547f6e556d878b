"""Files cannot run code, reach the network or make other files be opened, as SECURITY.md says."""

from __future__ import annotations

import ast
import gzip
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from program import FIXTURES, ROOT, metered
from sealing import packed, unpacked

from svmfast.errors import ModelFormatError
from svmfast.formats.model_files import load_model

FORBIDDEN_MODULES = {
    *("pickle", "cPickle", "dill", "marshal", "shelve", "joblib", "cloudpickle", "code", "runpy", "ctypes"),
    *("socket", "ssl", "http", "urllib", "requests", "ftplib", "smtplib", "xmlrpc", "asyncio"),
    *("subprocess", "multiprocessing", "pty"),
}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__", "system", "popen", "literal_eval"}
#: frontier starts svmfast itself with a list of arguments; LIBSVM is called through its own bindings.
#: `svmfast import` loads a pickle if the user declares it to be trusted.
ALLOWED = {
    "frontiers/child.py": {"subprocess"},
    "importers/files.py": {"joblib"},
    "methods/train/libsvm.py": {"ctypes"},
}
SOURCES = sorted((ROOT / "svmfast").rglob("*.py"))


def forbidden_words(node: ast.AST) -> Iterator[str]:
    """Yield the modules and calls of a statement or expression that no module may use."""
    if isinstance(node, ast.Import):
        yield from {alias.name.split(".")[0] for alias in node.names} & FORBIDDEN_MODULES
    elif isinstance(node, ast.ImportFrom):
        yield from {(node.module or "").split(".")[0]} & FORBIDDEN_MODULES
    elif isinstance(node, ast.Call):
        yield from (f"{word.arg}=" for word in node.keywords if word.arg == "shell")
        if isinstance(node.func, ast.Name):
            yield from {node.func.id} & FORBIDDEN_CALLS
        elif isinstance(node.func, ast.Attribute):
            # re.compile is not compile().
            yield from {node.func.attr} & (FORBIDDEN_CALLS - {"compile"})


def test_no_module_can_run_code_or_open_a_connection() -> None:
    found = {
        path.relative_to(ROOT / "svmfast").as_posix(): {
            word for node in ast.walk(ast.parse(path.read_text())) for word in forbidden_words(node)
        }
        for path in SOURCES
    }
    assert {name: words for name, words in found.items() if words} == ALLOWED


def test_a_run_opens_only_the_given_files_and_no_connection(tmp_path: Path) -> None:
    """Python's own audit events: every file opened for writing, every connection, every process."""
    evil = tmp_path / "evil.model"
    tree = unpacked((FIXTURES / "frozen/1.0/polynomial_one_class.model").read_bytes())
    hostile = f"{tmp_path}/touched $(touch {tmp_path}/touched)"
    tree["provenance"] = {"source": "../../../../etc/passwd", "data": hostile}
    evil.write_bytes(packed(tree))
    code = (
        "import sys\n"
        "def hook(event, arguments):\n"
        "    if event == 'open' and isinstance(arguments[0], str):\n"
        "        print(event, arguments[0], arguments[1], file=sys.__stderr__)\n"
        "    elif event.split('.')[0] in ('socket', 'subprocess') or event in ('os.system', 'os.exec'):\n"
        "        print('FORBIDDEN', event, file=sys.__stderr__)\n"
        "sys.addaudithook(hook)\n"
        "from svmfast.cli.main import run\n"
        "sys.exit(run(sys.argv[1:]))\n"
    )
    out = tmp_path / "out"
    for words in (
        ["info", str(evil)],
        ["predict", "-q", str(FIXTURES / "data/normal.test"), str(evil), str(out)],
    ):
        done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "FORBIDDEN" not in done.stderr
        assert "passwd" not in done.stderr
        assert "touched" not in done.stderr
    assert {p.name for p in tmp_path.iterdir()} == {"evil.model", "out"}


@pytest.mark.parametrize("text", ["\x1b[2J", "\x07", "a\rb", "\u202e", "\x9b"])
def test_provenance_cannot_act_on_a_terminal(text: str) -> None:
    tree = unpacked((FIXTURES / "frozen/1.0/polynomial_one_class.model").read_bytes())
    tree["provenance"]["method"] = text
    with pytest.raises(ModelFormatError, match="expected one line of printable text"):
        load_model(packed(tree))


def test_a_small_packed_file_cannot_fill_the_memory(tmp_path: Path) -> None:
    bomb = tmp_path / "rows.gz"
    bomb.write_bytes(gzip.compress(b"1 1:0.5 2:0.25 3:1\n" * (24 << 18), compresslevel=1))
    words = ("predict", "-q", bomb, FIXTURES / "models" / "tie_votes.model", tmp_path / "out")
    done, peak = metered(tmp_path, *words)
    assert done.returncode == 0
    assert (tmp_path / "out").read_bytes().count(b"\n") == 24 << 18
    # All rows take 350, their values alone 150; what is read ahead depends on which thread comes first.
    assert peak < 150
