"""A copy of the repository, in which mutants are made and tested."""

import contextlib
import importlib.util
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

from record import content_hash

HERE = Path(__file__).resolve().parent
#: Tests of about so many seconds are run first; the others in a second process if these pass.
FIRST = 4.0
#: So many test files are recorded in one run of pytest.
TOGETHER = 5
#: Options of all runs of pytest. Where hypothesis searches must not depend on earlier mutants.
PYTEST = ["-q", "--tb=no", "-rfE", "-p", "reached", "-p", "no:cacheprovider", "--hypothesis-seed=0"]
#: Options of coverage.py.
COVERAGE = """[run]
include = {tree}/svmfast/*
data_file = {notes}/lines
parallel = true
patch = fork, _exit
disable_warnings = no-data-collected
"""
_LEFT_OUT = (".git", ".venv", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", "build")


class Place:
    """A folder with a copy, its environment and its build, for one mutant at a time."""

    def __init__(self, folder, root):
        self.folder, self.tree = folder, folder / "tree"
        self.bin, self.core = folder / "env" / "bin", self.tree / "svmfast" / "_core"
        self._mutants = 0
        shutil.rmtree(self.tree, ignore_errors=True)
        shutil.copytree(root, self.tree, ignore=shutil.ignore_patterns(*_LEFT_OUT), symlinks=True)
        if not self.bin.exists():
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", self.bin.parent], check=True)
        (self.site,) = self.bin.parent.glob("lib/python*/site-packages")
        shutil.copy(HERE / "reached.py", self.site)
        # Packages come from the environment that runs this. coverage.py's own .pth file is read before.
        start = "import os; 'MUTANTS_RECORD' in os.environ and __import__('reached').start()"
        lines = [str(self.tree), *(path for path in sys.path if path.endswith("-packages")), start]
        (self.site / "mutants.pth").write_text("\n".join(lines))
        program = self.bin / "svmfast"
        call = "import sys\nfrom svmfast.__main__ import console\nsys.exit(console())\n"
        program.write_text(f"#!{self.bin}/python\n{call}")
        program.chmod(0o755)
        native = Path(sysconfig.get_path("scripts"), "svmfast-predict")
        if native.exists():
            shutil.copy(native, self.bin)
        if self.core.exists() and not [*self.core.glob("_native*.so")]:  # an editable install
            shutil.copy(str(importlib.util.find_spec("svmfast._core._native").origin), self.core)

    def pytest(self, words, seconds, **environment):
        """Run pytest in the copy; return its status, -1 after this time, and its output."""
        own = {k: v for k, v in os.environ.items() if not k.startswith(("MUTANTS_", "COVERAGE_"))}
        own["HYPOTHESIS_STORAGE_DIRECTORY"] = f"{self.folder}/examples"
        process = subprocess.Popen(
            [self.bin / "python", "-m", "pytest", *PYTEST, f"--basetemp={self.folder}/tmp", *words],
            cwd=self.tree,
            env={**own, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        late = False
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            late = True
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # with what its tests have started
        return (-1, "more time") if late else (process.returncode, output)

    def record(self, record, save, jobs):
        """Record the test files that are new or have changed, some at a time so that little is lost."""
        paths = sorted(self.tree.glob("tests/*/test_*.py"))
        hashes = {path.relative_to(self.tree).as_posix(): content_hash(path) for path in paths}
        new = [name for name in hashes if record.files.get(name) != hashes[name]]
        if new and not (self.site / "coverage").exists():
            words = ["-m", "pip", "install", "-q", "--target", self.site, "coverage>=7.13"]
            subprocess.run([sys.executable, *words], check=True, stdout=sys.stderr)
        sys.path.append(str(self.site))  # with coverage.py
        notes, options = self.folder / "notes", self.folder / "coveragerc"
        options.write_text(COVERAGE.format(tree=self.tree, notes=notes))
        variables = {"MUTANTS_RECORD": str(notes), "COVERAGE_PROCESS_START": str(options)}
        parallel = ["-n", str(jobs), "--dist", "worksteal"] if jobs > 1 else []
        for at in range(0, len(new), TOGETHER):
            some = new[at : at + TOGETHER]
            print(f"recording {at} to {at + len(some)} of {len(new)} test files", file=sys.stderr)
            shutil.rmtree(notes, ignore_errors=True)
            notes.mkdir()
            status, output = self.pytest([*parallel, *some], 7200, **variables)
            if status:
                print(output[-2000:], file=sys.stderr)
            if status not in (0, 1):
                raise SystemExit(f"pytest ends with status {status}")
            record.add(notes, self.tree)
            record.files.update((name, hashes[name]) for name in some)
            save.write_bytes(pickle.dumps(record))

    def judge(self, change, record, seconds):
        """The status of a mutant, and the test that failed or how many passed."""
        path = self.tree / change.file
        source, before = path.read_bytes(), path.stat().st_mtime_ns
        tests = record.near(change, source)
        if not tests:
            return "not reached", ""
        self._mutants += 1
        cpp = path.suffix != ".py"
        path.write_bytes(change.applied(source))
        try:
            if cpp:
                if problem := self.build():
                    return problem, ""
            else:
                # For Python, a compiled file is up to date if the source has the same size and time.
                os.utime(path, ns=(before, before + self._mutants * 10 * 10**9))
            return self._tested(tests, record, seconds)
        finally:
            path.write_bytes(source)
            os.utime(path, ns=(before, before))
            if cpp:
                self._restore_build()

    def _tested(self, tests, record, seconds):
        parts = ([], [])
        spent = 0.0
        for name in tests:
            spent += record.seconds[name]
            if parts[0] and spent > seconds:
                break
            parts[bool(parts[0]) and spent > FIRST].append(name)
        chosen = self.folder / "tests.json"
        for part in filter(None, parts):
            files = [*dict.fromkeys(name.partition("::")[0] for name in part)]
            part.sort(key=lambda name: files.index(name.partition("::")[0]))
            chosen.write_text(json.dumps(part))
            limit = 30 + 4 * sum(record.seconds[name] for name in part)
            status, output = self.pytest(["-x", *files], limit, MUTANTS_TESTS=str(chosen))
            if status not in (0, 5):
                lines = output.split("\n")
                failed = [line.split(" - ")[0] for line in lines if line.startswith(("FAILED ", "ERROR "))]
                return "killed", (failed or [output.strip().rpartition("\n")[2]])[0]
        return "survived", f"{sum(map(len, parts))} of {len(tests)} tests pass"

    def build(self):
        """Compile what has changed; return why there is nothing to test."""
        build, built = self.folder / "build", self.folder / "built"
        if not (build / "Makefile").exists():
            options = [f"-DPython_EXECUTABLE={self.bin}/python", "-DSKBUILD_PROJECT_NAME=svmfast"]
            words = ["cmake", "-S", self.core, "-B", build, *options, "-DSKBUILD_PROJECT_VERSION=0"]
            subprocess.run(words, check=True, stdout=sys.stderr)
        words = ["make", "-C", build, "_native", "svmfast-predict"]
        if subprocess.run(words, capture_output=True).returncode:
            return "does not compile"
        if not built.exists():  # the unchanged code
            shutil.copytree(build, built, symlinks=True)
        self._install(build)
        same = (one.read_bytes() == (built / one.name).read_bytes() for one in _results(build))
        return "same code" if all(same) else None

    def _install(self, build):
        for path, folder in zip(_results(build), (self.core, self.bin), strict=True):
            shutil.copy(path, folder)

    def _restore_build(self):
        """Put the objects of the unchanged code back, instead of compiling them again."""
        build, built = self.folder / "build", self.folder / "built"
        for path in built.rglob("*"):
            now = build / path.relative_to(built)
            if path.is_file() and not (now.exists() and now.stat().st_mtime_ns == path.stat().st_mtime_ns):
                shutil.copy2(path, now)
        self._install(built)


def _results(build):
    return [*build.glob("_native*.so"), build / "svmfast-predict"]
