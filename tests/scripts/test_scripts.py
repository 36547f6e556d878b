"""Scripts of the tests: mutants, the fuzzer of options; all scripts find what they import from svmfast."""

import ast
import importlib
from importlib.util import find_spec

import pytest
from program import ROOT


@pytest.mark.parametrize(
    "name", sorted(str(path.relative_to(ROOT)) for path in (ROOT / "scripts").rglob("*.py"))
)
def test_every_script_finds_its_imports(name):
    for node in ast.walk(ast.parse((ROOT / name).read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("svmfast"):
            module = importlib.import_module(str(node.module))
            for alias in node.names:
                known = hasattr(module, alias.name) or find_spec(f"{node.module}.{alias.name}")
                assert known, f"{node.module} has no {alias.name}"


# --- scripts/mutants: which changes it makes, which tests it runs for them, and whether these notice

CODE = '''
LIMIT = 3


def clipped(values, limit=LIMIT):
    """At most `limit` each."""
    return [limit if value > limit else value for value in values]


def unused(value):
    return value + 1
'''
TEST = """
from svmfast.toy import clipped

def test_clipped():
    assert clipped([1, 3, 5]) == [1, 3, 3]

def test_none():
    assert clipped([]) == []
"""
NAMES = ["tests/unit/test_toy.py::test_clipped", "tests/unit/test_toy.py::test_none"]


@pytest.fixture
def scripts(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts" / "mutation"))
    import run

    return run


def test_an_equal_change_survives_and_another_is_killed(tmp_path, scripts):
    toy = tmp_path / "toy"
    given = {"svmfast/__init__.py": "", "svmfast/toy.py": CODE, "tests/unit/test_toy.py": TEST}
    for name, text in given.items():
        (toy / name).parent.mkdir(parents=True, exist_ok=True)
        (toy / name).write_text(text)
    record = scripts.Record("", {}, {"svmfast/toy.py": {NAMES[0]: 1 << 7}}, dict.fromkeys(NAMES, 0.1))
    place = scripts.Place(tmp_path / "work", toy)
    changes = {one.new: one for one in scripts.all_changes(toy, cpp=False)}
    # Of equal values it does not matter which one is taken.
    assert place.judge(changes["(value >= limit)"], record, 10) == ("survived", "2 of 2 tests pass")
    assert place.judge(changes["(not (value > limit))"], record, 10) == ("killed", f"FAILED {NAMES[0]}")
    assert place.judge(changes["(4)"], record, 10)[0] == "killed"  # no function: tests of any function
    assert (place.tree / "svmfast" / "toy.py").read_text() == (toy / "svmfast" / "toy.py").read_text() == CODE
    record.lines.clear()
    assert place.judge(changes["(value)"], record, 10) == ("not reached", "")
