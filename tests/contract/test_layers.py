"""The imports that docs/design.md allows between layers, and what only some modules do, by syntax trees."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "svmfast"

#: The groups below each that it may import, besides itself.
LOWEST = """
errors: display
threads: errors
values: display errors
pages: display
figures: pages
options: display errors values
command: options values
prediction_words: display
class_scores: display figures prediction_words
foreign: errors
sparse: errors
rows: errors sparse
score: class_scores figures prediction_words rows
laplacian: rows
kernels: _core laplacian libsvm_names rows errors
kernel_memory: kernels laplacian rows
certificate: _core rows votes
validity_bound: rows errors
routing: _core rows errors
monomials: rows
"""
LOWEST_OF_ALL = "display import_path progress caches libsvm_names votes _core"
BELOW = {name: set[str]() for name in LOWEST_OF_ALL.split()}
BELOW |= {name: set(below.split()) for name, below in re.findall("(.*): (.*)", LOWEST)}
BELOW["models"] = {*BELOW}
BELOW["solvers"] = {*BELOW} - {"models"}
ABREAST = {"formats", "methods", "evaluation", "exports"}
BELOW |= {name: {*BELOW} - ABREAST for name in sorted(ABREAST)}
BELOW["importers"] = {*BELOW["models"], "models"}
BELOW["formats"].add("importers")
for upper in ("frontiers", "commands", "dask", "cli"):
    BELOW[upper] = {*BELOW}
BELOW["sklearn"] = {*BELOW} - {"cli"}
BELOW["__init__"] = {*BELOW} - {"cli", "sklearn"}
BELOW["__main__"] = {"cli", "import_path"}

#: Only these touch the native core: folders, and modules that contain their loops.
NATIVE_FOLDERS = {"solvers", "formats", "_core"}
NATIVE = {
    *("cli/plain", "commands/predict", "kernels", "certificate", "monomials", "routing", "models/head"),
    *("models/mapped", "models/polynomial", "models/routed", "models/scaling", "methods/budget/refit"),
    *("methods/budget/sgd", "methods/compress/reduced_set", "methods/dcpred/leaf"),
}
#: Modules of svmfast.methods that every method may import besides its own, and what one offers others:
#: training by LIBSVM.
SHARED_BY_METHODS = {"common", "method", "candidates"}
OFFERED = {"svmfast.methods.train.training"}
#: What the command line may import from below the commands: declarations, and the places of files.
BELOW_THE_COMMANDS = {
    *("models", "solvers", "formats", "methods", "evaluation", "importers", "exports", "frontiers"),
    *("_core", "kernels", "rows"),
}
SEEN_BY_CLI = {
    *("svmfast._core.predict_plain", "svmfast.methods.registry"),
    *("svmfast.methods.method", "svmfast.formats.target"),
}
SHORT_FLAG = re.compile(r" [(`'\"]?-[a-zA-Z](?![\w(*])|^-[a-zA-Z] ")
#: A flag of one of LIBSVM's programs, and svm-scale's own warning, which is repeated word for word.
LIBSVMS = re.compile(r"svm-(train|predict|scale)( -[a-z]( \d)?)?|use -l 0 rather than the default -l -1")
OPENING = ("open", "read_text", "read_bytes", "write_text", "write_bytes")
PRINTING = ("print", "click.echo", "click.secho", "click.echo_via_pager")
#: SciPy and pyarrow trust the indices, offsets and lengths that a file gives them: the attributes that use
#: these, and the modules that have checked them; methods/linear makes its matrix of Rows.
UNCHECKED = {"tocsr", "tocsc", "tocoo", "asformat", "toarray", "todense", "sum_duplicates", "sort_indices"}
UNCHECKED |= {"buffers", "dictionary_decode"}
CHECKED = {"sparse", "formats/_arrow", "methods/linear/fit"}
#: What reads a foreign file; the modules where it need not be inside ``with foreign(...)``, and why.
FOREIGN = {"json.loads", "json.load", "np.load", "joblib.load", "skops.io.load", "ZipFile", "zipfile.ZipFile"}
FOREIGN |= {"ipc.open_file", "ipc.open_stream", "parquet.ParquetFile", "parquet.read_metadata"}
REPORTED_OTHERWISE = {
    "formats/tables": "called by the constructor inside _reporting()",
    "frontiers/folder": "what does not parse is made again",
    "formats/container": "called by parse_model inside foreign()",
}
#: What runs code, or opens a connection. frontier starts svmfast itself, and --man the program man, with
#: lists of arguments; LIBSVM has bindings of its own; `svmfast import` loads a pickle that the user trusts.
FORBIDDEN_MODULES = {
    *("pickle", "cPickle", "dill", "marshal", "shelve", "joblib", "cloudpickle", "code", "runpy", "ctypes"),
    *("socket", "ssl", "http", "urllib", "requests", "ftplib", "smtplib", "xmlrpc", "asyncio"),
    *("subprocess", "multiprocessing", "pty"),
}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__", "system", "popen", "literal_eval"}
ALLOWED = {name: {"subprocess"} for name in ("frontiers/child", "cli/references")}
ALLOWED |= {"formats/remote": {"pyarrow.fs"}, "importers/files": {"joblib"}}
ALLOWED |= {"methods/train/libsvm": {"ctypes"}, "commands/cluster": {"multiprocessing"}}


@cache
def files():
    return sorted(path for path in PACKAGE.rglob("*.py") if "_core" not in path.parts)


@cache
def nodes(path):
    """Every node of a file's syntax tree, the module first."""
    return [*ast.walk(ast.parse(path.read_text(), str(path)))]


def calls(path):
    return [(node, ast.unparse(node.func)) for node in nodes(path) if isinstance(node, ast.Call)]


@cache
def imports(path):
    """Every module the file imports anywhere, ``from a import b`` as ``a.b``."""
    found = []
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


def ids(path):
    return path.relative_to(PACKAGE).with_suffix("").as_posix()


def group(path):
    return ids(path).split("/")[0]


def test_every_group_has_its_place():
    assert {group(path) for path in files()} | {"_core"} == set(BELOW)


# Each rule yields what a module does against it.


def imports_point_downwards(path):
    for name in imports(path):
        top, _, below = name.partition(".")
        part = below.split(".")[0]
        if top == "svmfast" and part not in {"__version__", group(path), *BELOW[group(path)]}:
            yield name


def the_command_line_goes_through_the_commands(path):
    for name in imports(path) if group(path) == "cli" else ():
        parts = name.split(".")
        below = parts[0] == "svmfast" and parts[1] in BELOW_THE_COMMANDS
        if below and ".".join(parts[:3]) not in SEEN_BY_CLI:
            yield name


def only_the_command_line_knows_the_terminal(path):
    if group(path) == "cli":
        return
    yield from (name for name in imports(path) if name.split(".")[0] in {"click", "rich"})
    yield from (node.lineno for node, name in calls(path) if name == "print")
    allowed = {"byteorder", "maxsize", "float_info", "modules"}
    allowed |= {"stdin", "stdout"} if group(path) == "formats" else set()
    # How Python was started, and where it looks for modules: for child processes.
    allowed |= {"path", "executable", "flags"} if ids(path) in ("frontiers/child", "import_path") else set()
    for node in nodes(path):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "sys" and node.attr not in allowed:
            yield node.lineno, node.attr


def only_cli_messages_prints(path):
    """It escapes control characters and handles closed pipes."""
    for node, name in calls(path) if group(path) == "cli" and path.name != "messages.py" else ():
        if name in PRINTING or (name.startswith("sys.std") and name.endswith((".write", ".writelines"))):
            yield node.lineno, name


def only_numerical_modules_use_the_native_core(path):
    if group(path) not in NATIVE_FOLDERS and ids(path) not in NATIVE:
        yield from (name for name in imports(path) if name.startswith("svmfast._core"))


def methods_do_not_import_each_other(path):
    if group(path) != "methods" or path.name == "registry.py":
        return
    own = {ids(path).split("/")[1], *SHARED_BY_METHODS}
    for name in imports(path):
        of_methods = name.startswith("svmfast.methods.") and name.rpartition(".")[0] not in OFFERED
        if of_methods and name.split(".")[2] not in own:
            yield name


def methods_and_models_open_no_file(path):
    if group(path) in ("methods", "models", "solvers", "evaluation", "exports"):
        yield from (node.lineno for node, name in calls(path) if name.split(".")[-1] in OPENING)


def messages_below_the_command_line_name_no_flags(path):
    """They name parameters in backquotes, which cli/flags.py replaces; a flag by itself is a declaration."""
    if group(path) == "cli" or ids(path).startswith("exports/c_"):  # where -- is an operator of C
        return
    docstrings = {
        id(node.body[0].value)
        for node in nodes(path)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        if node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in nodes(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            short = SHORT_FLAG.search(LIBSVMS.sub("", node.value))
            if " " in node.value and ("--" in node.value or short):
                yield node.lineno, node.value


def what_trusts_a_files_indices_is_called_where_they_are_checked(path):
    """Take Rows.from_scipy, or svmfast.formats._arrow."""
    for node in nodes(path) if ids(path) not in CHECKED else ():
        if isinstance(node, ast.Attribute) and node.attr in UNCHECKED:
            yield node.lineno, node.attr


def foreign_files_are_read_where_every_exception_becomes_one_line(path):
    guarded = {
        id(inner)
        for node in nodes(path)
        if isinstance(node, ast.With)
        and any(ast.unparse(item.context_expr).startswith("foreign(") for item in node.items)
        for inner in ast.walk(node)
    }
    found = [node.lineno for node, name in calls(path) if name in FOREIGN and id(node) not in guarded]
    if bool(found) != (ids(path) in REPORTED_OTHERWISE):
        yield found


def no_module_runs_code_or_opens_a_connection(path):
    found = {name.split(".")[0] for name in imports(path)} & FORBIDDEN_MODULES
    found |= {"pyarrow.fs"} & {*imports(path)}
    for node, name in calls(path):
        found |= {f"{word.arg}=" for word in node.keywords if word.arg == "shell"}
        found |= {name.split(".")[-1]} & FORBIDDEN_CALLS - ({"compile"} if "." in name else set())
    if found != ALLOWED.get(ids(path), set()):
        yield found


RULES = [
    *(imports_point_downwards, the_command_line_goes_through_the_commands),
    *(only_the_command_line_knows_the_terminal, only_cli_messages_prints),
    *(only_numerical_modules_use_the_native_core, methods_do_not_import_each_other),
    *(methods_and_models_open_no_file, messages_below_the_command_line_name_no_flags),
    what_trusts_a_files_indices_is_called_where_they_are_checked,
    foreign_files_are_read_where_every_exception_becomes_one_line,
    no_module_runs_code_or_opens_a_connection,
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rule(rule):
    assert not [(ids(path), found) for path in files() for found in rule(path)]


def test_intrinsics_are_used_only_in_two_headers():
    """For a port to another machine, all vector instructions are in one folder."""
    used = re.compile(r"\b_mm\d*_|SVMFAST_WIDE|\bv[a-z]+q_[fsu]\d|intrin\.h|arm_neon\.h")
    sources = (PACKAGE / "_core").rglob("*.[ch]pp")
    found = {
        path.relative_to(PACKAGE / "_core").as_posix() for path in sources if used.search(path.read_text())
    }
    assert found == {"simd/characters.hpp", "simd/vec.hpp"}


def test_threads_are_started_and_limited_in_one_module():
    how = r"\bThread\(|threadpool_limits|ThreadPoolExecutor|environ.*OMP_|\bomp_\w+\("
    assert [ids(path) for path in files() if re.search(how, path.read_text())] == ["threads"]
