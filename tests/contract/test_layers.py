"""The imports that docs/design.md allows between layers, checked in the syntax trees."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "svmfast"

#: group -> the groups below it that it may import, its own always included
BELOW = {
    "display": set[str](),
    "import_path": set[str](),
    "errors": {"display"},
    "progress": set[str](),
    "figures": set[str](),
    "caches": set[str](),
    "threads": {"errors"},
    "values": {"display"},
    "libsvm_names": set[str](),
    "pages": {"display"},
    "options": {"display", "errors", "values"},
    "command": {"options", "values"},
    "prediction_words": {"display"},
    "class_scores": {"display", "figures", "prediction_words"},
    "foreign": {"errors"},
    "sparse": {"errors"},
    "rows": {"errors", "sparse"},
    "score": {"class_scores", "figures", "rows"},
    "_core": set[str](),
    "laplacian": {"rows"},
    "kernels": {"_core", "laplacian", "libsvm_names", "rows", "errors"},
    "kernel_memory": {"kernels", "laplacian", "rows"},
    "votes": set[str](),
    "certificate": {"_core", "rows", "votes"},
    "validity_bound": {"rows", "errors"},
    "routing": {"_core", "rows", "errors"},
    "monomials": {"_core", "rows"},
}
BELOW["models"] = {*BELOW}
BELOW["solvers"] = {*BELOW} - {"models"}
for upper in ("formats", "methods", "evaluation", "exports"):
    BELOW[upper] = {*BELOW} - {"formats", "methods", "evaluation", "exports"}
BELOW["importers"] = {*BELOW["models"], "models"}
BELOW["frontiers"] = {*BELOW}
BELOW["commands"] = {*BELOW}
BELOW["dask"] = {*BELOW}
BELOW["cli"] = {*BELOW}
BELOW["sklearn"] = {*BELOW} - {"cli"}
BELOW["__init__"] = {*BELOW} - {"cli", "sklearn"}
BELOW["__main__"] = {"cli", "import_path"}

#: only these touch the native core
NATIVE = {
    "cli/plain.py",
    "commands/predict.py",
    "kernels.py",
    "certificate.py",
    "monomials.py",
    "routing.py",
    "models/head.py",
    "models/polynomial.py",
    "models/routed.py",
    "models/scaling.py",
}
NATIVE_FOLDERS = {"solvers", "formats", "_core"}
#: and these modules of the methods, which contain their loops
NATIVE_OF_METHODS = {
    "budget/finish.py",
    "budget/sgd.py",
    "compress/reduced_set.py",
    "dcpred/leaf.py",
}

#: A method's package imports its own modules and ``common``. What one offers others besides: training by
#: LIBSVM.
OFFERED = {"svmfast.methods.train.training"}

#: What the command line may import from below the commands: declarations, and the places of files.
BELOW_THE_COMMANDS = {
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
SEEN_BY_CLI = {
    "svmfast._core.predict_plain",
    "svmfast._core.Prediction",
    "svmfast.methods.registry",
    "svmfast.methods.method",
    "svmfast.formats.target",
}

#: what only the command line knows
TERMINAL = {"click", "rich"}


SHORT_FLAG = re.compile(r" [(`'\"]?-[a-zA-Z](?![\w(*])|^-[a-zA-Z] ")
#: A flag of one of LIBSVM's programs, and svm-scale's own warning, which is repeated word for word.
LIBSVMS = re.compile(r"svm-(train|predict|scale)( -[a-z]( \d)?)?|use -l 0 rather than the default -l -1")


@cache
def files() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if "_core" not in path.parts)


@cache
def nodes(path: Path) -> list[ast.AST]:
    """Every node of a file's syntax tree, the module first."""
    return [*ast.walk(ast.parse(path.read_text(), str(path)))]


def group(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


@cache
def imports(path: Path) -> list[str]:
    """Every module the file imports anywhere, ``from a import b`` as ``a.b``."""
    found = []
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


def ids(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


#: Modules of svmfast.methods that every method may import.
SHARED_BY_METHODS = {"common", "method", "candidates"}


def test_every_group_has_its_place() -> None:
    assert {group(path) for path in files()} | {"_core"} == set(BELOW)


def test_imports_point_downwards() -> None:
    wrong = []
    for path in files():
        own = group(path)
        for name in imports(path):
            parts = name.split(".")
            if parts[0] != "svmfast" or parts[1].startswith("__version"):
                continue
            if parts[1] != own and parts[1] not in BELOW[own]:
                wrong.append(f"{ids(path)} imports {name}")
    assert not wrong


def test_the_command_line_goes_through_the_commands() -> None:
    wrong = []
    for path in files():
        for name in imports(path) if group(path) == "cli" else ():
            parts = name.split(".")
            below = parts[0] == "svmfast" and parts[1] in BELOW_THE_COMMANDS
            if below and ".".join(parts[:3]) not in SEEN_BY_CLI:
                wrong.append(f"{ids(path)} imports {name}")
    assert not wrong


def terminal(path: Path) -> Iterator[str]:
    """Yield each use of the terminal."""
    yield from (f"{ids(path)} imports {name}" for name in imports(path) if name.split(".")[0] in TERMINAL)
    for node in nodes(path):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            yield f"{ids(path)}:{node.lineno} prints"
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "sys":
            allowed = {"stdin", "stdout"} if group(path) == "formats" else set()
            # How Python was started, and where it looks for modules: for child processes.
            if ids(path) in ("frontiers/child.py", "import_path.py"):
                allowed = {"path", "executable", "flags"}
            if node.attr not in allowed | {"byteorder", "maxsize", "float_info", "modules"}:
                yield f"{ids(path)}:{node.lineno} uses sys.{node.attr}"


def test_only_the_command_line_knows_the_terminal() -> None:
    assert not [use for path in files() if group(path) != "cli" for use in terminal(path)]


def test_one_module_prints() -> None:
    """cli/messages.py, which escapes control characters and handles closed pipes."""
    wrong = []
    for path in files():
        if group(path) != "cli" or path.name == "messages.py":
            continue
        for node in nodes(path):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                printing = ("print", "click.echo", "click.secho", "click.echo_via_pager")
                writing = name.startswith("sys.std") and name.endswith((".write", ".writelines"))
                if name in printing or writing:
                    wrong.append(f"{ids(path)}:{node.lineno}: print with svmfast.cli.messages, not {name}")
    assert not wrong


def test_only_the_numerical_modules_use_the_native_core() -> None:
    native = {*NATIVE, *(f"methods/{name}" for name in NATIVE_OF_METHODS)}
    others = [path for path in files() if group(path) not in NATIVE_FOLDERS and ids(path) not in native]
    assert not [
        ids(path) for path in others if any(name.startswith("svmfast._core") for name in imports(path))
    ]


def test_methods_do_not_import_each_other() -> None:
    wrong = []
    for path in files():
        if group(path) != "methods" or path.name == "registry.py":
            continue
        own = path.relative_to(PACKAGE).parts[1]
        for name in imports(path):
            if not name.startswith("svmfast.methods.") or name.rpartition(".")[0] in OFFERED:
                continue
            if name.split(".")[2] not in {own, *SHARED_BY_METHODS}:
                wrong.append(f"{ids(path)} imports {name}")
    assert not wrong


def test_methods_open_no_file() -> None:
    wrong = []
    for path in files():
        if group(path) not in ("methods", "models", "solvers", "evaluation", "exports"):
            continue
        for node in nodes(path):
            if isinstance(node, ast.Call):
                name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
                if name in ("open", "read_text", "read_bytes", "write_text", "write_bytes"):
                    wrong.append(f"{ids(path)}:{node.lineno}")
    assert not wrong


def flags(path: Path) -> Iterator[str]:
    """Yield each string that contains a flag, except docstrings."""
    docstrings = {
        id(node.body[0].value)
        for node in nodes(path)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in nodes(path):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in docstrings:
            continue
        short = SHORT_FLAG.search(LIBSVMS.sub("", node.value))
        if " " in node.value and ("--" in node.value or short):
            yield f"{ids(path)}:{node.lineno}"


def test_messages_below_the_command_line_name_no_flags() -> None:
    """They name parameters in backquotes, which cli/flags.py replaces; a flag by itself is a declaration."""
    below = [path for path in files() if group(path) != "cli"]
    # In exports/c_*.py, -- is an operator of C.
    assert not [flag for path in below if not ids(path).startswith("exports/c_") for flag in flags(path)]


#: SciPy and pyarrow trust the indices, offsets and lengths that a file gives them: the attributes that use
#: these, and the modules that have checked them.
UNCHECKED = {"tocsr", "tocsc", "tocoo", "asformat", "toarray", "todense", "sum_duplicates", "sort_indices"}
UNCHECKED |= {"buffers", "dictionary_decode"}
CHECKED = {"sparse.py", "formats/_arrow.py", "methods/linear/fit.py"}  # in linear: a matrix made of Rows
#: What reads a foreign file; the modules where it need not be inside ``with foreign(...)``, and why.
FOREIGN = {"json.loads", "json.load", "np.load", "joblib.load", "skops.io.load", "ZipFile", "zipfile.ZipFile"}
FOREIGN |= {"ipc.open_file", "ipc.open_stream", "parquet.ParquetFile", "parquet.read_metadata"}
REPORTED_OTHERWISE = {
    "formats/tables.py": "called by the constructor inside _reporting()",
    "frontiers/folder.py": "what does not parse is made again",
    "formats/container.py": "called by parse_model inside foreign()",
}


def test_what_trusts_a_files_indices_is_called_where_they_are_checked() -> None:
    assert not [
        f"{ids(path)}:{node.lineno} uses {node.attr}: take Rows.from_scipy, or svmfast.formats._arrow"
        for path in files()
        for node in nodes(path)
        if isinstance(node, ast.Attribute) and node.attr in UNCHECKED and ids(path) not in CHECKED
    ]


def test_foreign_files_are_read_where_every_exception_becomes_one_line() -> None:
    reading: dict[str, list[str]] = {}
    for path in files():
        guarded = {
            id(inner)
            for node in nodes(path)
            if isinstance(node, ast.With)
            and any(ast.unparse(item.context_expr).startswith("foreign(") for item in node.items)
            for inner in ast.walk(node)
        }
        for node in nodes(path):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in FOREIGN and id(node) not in guarded:
                reading.setdefault(ids(path), []).append(f"{ids(path)}:{node.lineno}")
    assert not [place for path in {*reading} - {*REPORTED_OTHERWISE} for place in reading[path]]
    assert {*reading} == {*REPORTED_OTHERWISE}


def test_intrinsics_are_used_only_in_three_headers() -> None:
    """For a port to another machine, all vector instructions are in one folder."""
    core = PACKAGE / "_core"
    found = {
        str(path.relative_to(core))
        for path in core.rglob("*.[ch]pp")
        if re.search(r"\b_mm\d*_|SVMFAST_WIDE|\bv[a-z]+q_[fsu]\d|intrin\.h|arm_neon\.h", path.read_text())
    }
    assert found == {"simd/characters.hpp", "simd/integers.hpp", "simd/vec.hpp"}


def test_threads_are_started_and_limited_in_one_module() -> None:
    how = r"\bThread\(|threadpool_limits|ThreadPoolExecutor|environ.*OMP_|\bomp_\w+\("
    assert [ids(path) for path in files() if re.search(how, path.read_text())] == ["threads.py"]


def test_test_modules_share_code_only_through_support() -> None:
    tests = sorted(PACKAGE.with_name("tests").rglob("*.py"))
    modules = {path.stem for path in tests if path.stem.startswith("test_")}
    assert not [
        f"{path.name} imports {name}"
        for path in tests
        for name in imports(path)
        if name.split(".")[0] in modules - {path.stem}
    ]
