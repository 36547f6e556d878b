"""A pytest plugin that gives coverage.py the names of tests and keeps their times, or runs chosen tests.

While tests are recorded, every Python process of the environment calls :func:`start` when it begins,
before pytest sees this file (PYTEST_DONT_REWRITE).
"""

import json
import os
from pathlib import Path

_FOLDER = os.environ.get("MUTANTS_RECORD")


def start():
    """Record what this process and its forks reach under the name of the test that runs."""
    _name()
    os.register_at_fork(after_in_child=_name)


def _name(test=None):
    import coverage

    # pytest adds " (call)" to a name, which tells programs and forks from the test's own process.
    coverage.Coverage.current().switch_context(test or os.environ.get("PYTEST_CURRENT_TEST", ""))


def pytest_runtest_logstart(nodeid):
    if _FOLDER:
        _name(nodeid)


def pytest_runtest_logreport(report):
    if _FOLDER and "PYTEST_XDIST_WORKER" not in os.environ:
        with Path(_FOLDER, "reports").open("a") as file:
            print(json.dumps([report.nodeid, report.duration, report.passed]), file=file)


def pytest_collection_modifyitems(items):
    if "MUTANTS_TESTS" in os.environ:
        place = {name: i for i, name in enumerate(json.loads(Path(os.environ["MUTANTS_TESTS"]).read_text()))}
        items[:] = sorted((one for one in items if one.nodeid in place), key=lambda one: place[one.nodeid])
