"""Which tests reach which lines, and so which tests may notice a change."""

import ast
import hashlib
import json
import re
from collections import Counter
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

#: Follows the name of a test in records of the processes that it starts.
PROGRAM = "\tprogram"
#: The test files of each C++ file, of which nothing is recorded.
CPP_TESTS = Path(__file__).with_name("cpp_tests.tsv")


@dataclass
class Record:
    """What runs of the tests have shown."""

    #: Hashes of the code and of the test files of which this is the record.
    code: str
    files: dict[str, str] = field(default_factory=dict)
    #: file -> test -> a bit for each line that it reaches; tests that do so in a program have PROGRAM added.
    lines: dict[str, dict[str, int]] = field(default_factory=dict)
    #: Times of the tests that pass.
    seconds: dict[str, float] = field(default_factory=dict)

    def add(self, notes, tree):
        """Add what the processes of a run have written to a folder."""
        from coverage import CoverageData
        from coverage.exceptions import CoverageException

        for path in notes.glob("lines.*"):
            data = CoverageData(path)
            try:
                data.read()
            except CoverageException:
                continue  # of a process that a test has killed
            for file in data.measured_files():
                known = self.lines.setdefault(Path(file).relative_to(tree).as_posix(), {})
                for line, contexts in data.contexts_by_lineno(file).items():
                    for context in contexts:
                        test = re.sub(r" \((setup|call|teardown)\)$", PROGRAM, context)
                        known[test] = known.get(test, 0) | 1 << line
        without = set()
        for test, seconds, passed in map(json.loads, (notes / "reports").read_text().splitlines()):
            self.seconds[test] = self.seconds.get(test, 0.0) + seconds
            without |= set() if passed else {test}
        for test in without:
            self.seconds.pop(test, None)

    def near(self, change, source):
        """The tests that may notice a change, those most likely to fail first."""
        if not change.file.endswith(".py"):
            return self._ordered(_listed(change.file, self.seconds), change.file)
        tree = ast.parse(source)
        statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
        holding = [node for node in statements if node.lineno <= change.line <= node.end_lineno]
        holding.sort(key=lambda node: node.end_lineno - node.lineno)
        places = [_bodies(node) for node in (*holding, tree)]
        if any(isinstance(node, ast.FunctionDef) for node in holding[1:]):
            body = getattr(holding[0], "body", None)
            end = max(body[0].lineno, holding[0].lineno + 1) if body else holding[0].end_lineno + 1
            places.insert(0, _bits(range(holding[0].lineno, end)))
        # A line outside of functions runs on import, in whatever test is first.
        direct = next(filter(None, (self._reaching(change.file, bits) for bits in places)), set())
        if not direct:
            beside = [file for file in self.lines if Path(file).parent == Path(change.file).parent]
            direct = {test for file in beside for test in self._reaching(file, -1)}
        # What is computed once for several tests is recorded for the first of them, of the same file usually.
        files = {name.partition("::")[0] for name in direct}
        others = {name for name in self.seconds if name.partition("::")[0] in files} - direct
        return [*dict.fromkeys(self._ordered(direct, change.file) + self._ordered(others, change.file))]

    def _reaching(self, file, bits):
        return {test for test, reached in self.lines.get(file, {}).items() if reached & bits and test}

    def _ordered(self, names, file):
        """The tests that pass: near, inside this process and quick first, a few cases of each function."""
        path = Path(file)
        stem = path.parent.name if path.stem in ("__init__", "run") else path.stem
        inside = {name for name in names if not name.endswith(PROGRAM)}
        known = [one for one in {name.removesuffix(PROGRAM) for name in names} if one in self.seconds]
        known.sort(key=lambda name: (stem not in name, name not in inside, self.seconds[name], name))
        count = Counter()
        turns = {}
        for name in known:
            function = name.partition("[")[0]
            turns[name] = count[function] // 3
            count[function] += 1
        return sorted(known, key=turns.__getitem__)


def _bits(lines):
    return sum(1 << line for line in set(lines))


def _bodies(scope):
    """The lines of the bodies of a scope's functions."""
    if not isinstance(scope, ast.Module | ast.ClassDef | ast.FunctionDef):
        return 0
    functions = [node for node in ast.walk(scope) if isinstance(node, ast.FunctionDef)]
    return _bits(line for node in functions for line in range(node.body[0].lineno, node.end_lineno + 1))


def _listed(file, known):
    """The tests of a C++ file: of its first line in the table."""
    for row in CPP_TESTS.read_text().splitlines()[1:]:
        pattern, files = row.split("\t")
        if fnmatch(file.removeprefix("svmfast/_core/"), pattern):
            names = {f"tests/{name}.py" for name in files.split()}
            return {name for name in known if name.partition("::")[0] in names}
    return set()


def content_hash(*paths):
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()
