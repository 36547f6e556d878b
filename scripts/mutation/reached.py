"""A pytest plugin that records the lines which each test reaches, or runs chosen tests in a given order.

Tests start programs and fork: every Python process of the environment calls :func:`start` when it begins,
before pytest sees this file (PYTEST_DONT_REWRITE).
"""

import atexit
import json
import os
import pickle
import uuid
from pathlib import Path

#: Follows the name of a test in records of the processes that it starts.
PROGRAM = "\tprogram"
_FOLDER = os.environ.get("MUTANTS_RECORD")
_seconds = {}
_without = set()
_coverage = None


def start():
    """Record this process and its forks."""
    import coverage

    global _coverage
    sources = os.environ["MUTANTS_SOURCES"] + "/*"
    _coverage = coverage.Coverage(data_file=None, config_file=False, include=[sources])
    _coverage.set_option("run:disable_warnings", ["no-data-collected"])
    _coverage.start()
    _switch(_now())
    leave = os._exit

    def write_and_leave(status):
        _write()
        leave(status)

    os._exit = write_and_leave
    os.register_at_fork(after_in_child=lambda: _switch(_now()))
    atexit.register(_write)


def _place():
    """The file with the name of the test that runs; programs read it too."""
    return Path(str(_FOLDER), f"now-{os.environ.get('PYTEST_XDIST_WORKER', '')}")


def _now():
    return _place().read_text() + PROGRAM if _place().exists() else ""


def _switch(context):
    _coverage.switch_context(context)


def _write():
    data, lines = _coverage.get_data(), {}
    for file in data.measured_files():
        name = os.path.relpath(file, os.path.dirname(os.environ["MUTANTS_SOURCES"]))
        reached = lines.setdefault(name, {})
        for line, contexts in data.contexts_by_lineno(file).items():
            for context in contexts:
                reached[context] = reached.get(context, 0) | 1 << line
    Path(str(_FOLDER), f"{uuid.uuid4()}.pickle").write_bytes(pickle.dumps((lines, _seconds, _without)))


def pytest_runtest_logstart(nodeid):
    if _coverage is not None:
        _place().write_text(nodeid)
        _switch(nodeid)


def pytest_runtest_logreport(report):
    _seconds[report.nodeid] = _seconds.get(report.nodeid, 0.0) + report.duration
    if not report.passed:
        _without.add(report.nodeid)


def pytest_sessionfinish():
    if _coverage is not None:
        _write()


def pytest_collection_modifyitems(items):
    if "MUTANTS_TESTS" in os.environ:
        place = {name: i for i, name in enumerate(json.loads(Path(os.environ["MUTANTS_TESTS"]).read_text()))}
        items[:] = sorted((one for one in items if one.nodeid in place), key=lambda one: place[one.nodeid])
