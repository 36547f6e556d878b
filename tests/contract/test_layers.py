"""The imports that docs/design.md allows between layers, checked in the syntax trees."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "svmfast"

#: group -> the groups below it that it may import, its own always included
BELOW = {
    "display": set[str](),
    "import_path": set[str](),
    "errors": {"display"},
    "progress": set[str](),
    "caches": set[str](),
    "threads": {"errors"},
    "prefetch": {"threads", "errors"},
    "arguments": {"errors"},
    "values": {"display"},
    "libsvm_names": set[str](),
    "pages": {"display"},
    "options": {"display", "errors", "values"},
    "class_scores": {"display"},
    "rows": {"errors"},
    "roc_auc": set[str](),
    "score": {"class_scores", "roc_auc", "rows"},
    "_core": set[str](),
    "kernels": {"_core", "libsvm_names", "rows", "errors"},
    "kernel_memory": {"_core", "kernels", "rows"},
    "certificate": {"_core", "rows", "errors"},
    "routing": {"_core", "rows", "errors"},
    "probability": {"_core", "rows"},
}
BELOW["models"] = {*BELOW}
BELOW["solvers"] = {*BELOW} - {"models"}
for upper in ("formats", "methods", "evaluation", "exports"):
    BELOW[upper] = {*BELOW} - {"formats", "methods", "evaluation", "exports"}
BELOW["importers"] = {*BELOW["models"], "models"}
BELOW["frontiers"] = {*BELOW}
BELOW["api"] = {*BELOW}
BELOW["dask"] = {*BELOW}
BELOW["cli"] = {*BELOW}
BELOW["sklearn"] = {*BELOW} - {"cli"}
BELOW["__init__"] = {*BELOW} - {"cli", "sklearn"}
BELOW["__main__"] = {"cli", "import_path"}

#: only these touch the native core
NATIVE = {
    "kernels.py",
    "kernel_memory.py",
    "certificate.py",
    "routing.py",
    "probability.py",
    "models/polynomial.py",
    "models/scaling.py",
}
NATIVE_FOLDERS = {"solvers", "formats", "_core"}
#: and these modules of the methods, which contain their loops
NATIVE_OF_METHODS = {
    "approximate/taylor.py",
    "budget/merge_table.py",
    "budget/refit.py",
    "budget/sgd.py",
    "compress/reduced_set.py",
    "dcpred/cell_fit.py",
}

#: A method's package imports its own modules and ``common``. What one offers others besides: training by
#: LIBSVM and compression.
OFFERED = {
    "svmfast.methods.train.training",
    "svmfast.methods.compress.compressor",
    "svmfast.methods.compress.options",
}

#: What a command may import from below the API: declarations, and the places and kinds of files.
BELOW_THE_API = {
    "models",
    "solvers",
    "formats",
    "methods",
    "evaluation",
    "importers",
    "exports",
    "frontiers",
    "_core",
    "kernels",
    "rows",
}
SEEN_BY_COMMANDS = {
    "svmfast.methods.registry",
    "svmfast.methods.method",
    "svmfast.methods.given",
    "svmfast.frontiers.options",
    "svmfast.formats.target",
    "svmfast.formats.detect",
    "svmfast.evaluation.json_values",
    "svmfast.exports.languages",
    "svmfast.exports.devices",
}

#: what only the command line knows
TERMINAL = {"click", "rich"}


def files() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if "_core" not in path.parts)


def group(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def imports(path: Path) -> list[str]:
    """Every module the file imports anywhere, ``from a import b`` as ``a.b``."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


def ids(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def test_every_group_has_its_place() -> None:
    assert {group(path) for path in files()} | {"_core"} == set(BELOW)


@pytest.mark.parametrize("path", files(), ids=ids)
def test_imports_point_downwards(path: Path) -> None:
    own = group(path)
    for name in imports(path):
        parts = name.split(".")
        if parts[0] != "svmfast" or parts[1].startswith("__version"):
            continue
        assert parts[1] == own or parts[1] in BELOW[own], f"{ids(path)} imports {name}"


@pytest.mark.parametrize("path", [path for path in files() if group(path) == "cli"], ids=ids)
def test_commands_go_through_the_api(path: Path) -> None:
    for name in imports(path):
        parts = name.split(".")
        if parts[0] == "svmfast" and parts[1] in BELOW_THE_API:
            assert ".".join(parts[:3]) in SEEN_BY_COMMANDS, f"{ids(path)} imports {name}"


@pytest.mark.parametrize("path", files(), ids=ids)
def test_only_the_command_line_knows_the_terminal(path: Path) -> None:
    if group(path) == "cli":
        return
    tree = ast.parse(path.read_text())
    assert not TERMINAL & {name.split(".")[0] for name in imports(path)}
    for node in ast.walk(tree):
        assert not (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
        ), f"{ids(path)}:{node.lineno} prints"
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "sys":
            allowed = {"stdin", "stdout"} if group(path) == "formats" else set()
            # How Python was started, and where it looks for modules: for child processes.
            if ids(path) in ("frontiers/child.py", "import_path.py"):
                allowed = {"path", "executable", "flags"}
            assert node.attr in allowed | {"byteorder", "maxsize", "float_info", "modules"}, (
                f"{ids(path)}:{node.lineno}"
            )


@pytest.mark.parametrize("path", [path for path in files() if group(path) == "cli"], ids=ids)
def test_one_module_prints(path: Path) -> None:
    """cli/messages.py, which escapes control characters and handles closed pipes."""
    if path.name == "messages.py":
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            printing = ("print", "click.echo", "click.secho", "click.echo_via_pager")
            writing = name.startswith("sys.std") and name.endswith((".write", ".writelines"))
            prints = name in printing or writing
            where = f"{ids(path)}:{node.lineno}"
            assert not prints, f"{where}: print with svmfast.cli.messages, not {name}"


@pytest.mark.parametrize("path", files(), ids=ids)
def test_only_the_numerical_modules_use_the_native_core(path: Path) -> None:
    native = {*NATIVE, *(f"methods/{name}" for name in NATIVE_OF_METHODS)}
    if group(path) in NATIVE_FOLDERS or ids(path) in native:
        return
    assert not [name for name in imports(path) if name.startswith("svmfast._core")]


#: Modules of svmfast.methods that every method may import.
SHARED_BY_METHODS = {"common", "method", "given", "grid"}
METHODS = [path for path in files() if group(path) == "methods" and path.name != "registry.py"]


@pytest.mark.parametrize("path", METHODS, ids=ids)
def test_methods_do_not_import_each_other(path: Path) -> None:
    own = path.relative_to(PACKAGE).parts[1]
    for name in imports(path):
        if name.startswith("svmfast.methods.") and name.split(".")[2] not in {own, *SHARED_BY_METHODS}:
            assert name.rpartition(".")[0] in OFFERED, f"{ids(path)} imports {name}"


@pytest.mark.parametrize("path", files(), ids=ids)
def test_methods_open_no_file(path: Path) -> None:
    if group(path) not in ("methods", "models", "solvers", "evaluation", "exports"):
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            assert name not in ("open", "read_text", "read_bytes", "write_text", "write_bytes"), ids(path)


@pytest.mark.parametrize("path", [path for path in files() if group(path) != "cli"], ids=ids)
def test_messages_below_the_command_line_name_no_flags(path: Path) -> None:
    """They name parameters in backquotes, which cli/flags.py replaces; a flag by itself is a declaration."""
    if ids(path).startswith("exports/c_"):  # C text, where -- is an operator
        return
    tree = ast.parse(path.read_text())
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            assert not (" " in node.value and "--" in node.value), f"{ids(path)}:{node.lineno}"


def test_intrinsics_are_used_only_in_three_headers() -> None:
    """For a port to another machine, all vector instructions are in one folder."""
    core = PACKAGE / "_core"
    found = {
        str(path.relative_to(core))
        for path in core.rglob("*.[ch]pp")
        if re.search(r"\b_mm\d*_|\bv[a-z]+q_[fsu]\d|intrin\.h|arm_neon\.h", path.read_text())
    }
    of_the_clock = {"ticks.hpp"}
    assert found == {"simd/characters.hpp", "simd/integers.hpp", "simd/vec.hpp"} | of_the_clock


@pytest.mark.parametrize("path", [path for path in files() if path.name != "threads.py"], ids=ids)
def test_threads_are_started_and_limited_in_one_module(path: Path) -> None:
    found = re.findall(
        r"\bThread\(|threadpool_limits|ThreadPoolExecutor|environ.*OMP_|\bomp_\w+\(", path.read_text()
    )
    assert not found
