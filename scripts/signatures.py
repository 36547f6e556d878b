"""Print svmfast/__init__.pyi, the public names with the signatures that declarations give to functions.

The build runs this before there is a compiled core, or NumPy: functions are read from their source.
"""

import ast
import inspect
import sys
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import svmfast  # noqa: E402
from svmfast.commands.functions import function_of, option_parameters  # noqa: E402
from svmfast.methods.registry import methods  # noqa: E402

#: Where the names in signatures of methods come from.
KNOWN = {"Any": "typing", "Result": "svmfast.commands.run", "os": ""}


def parameters(found):
    """Return keyword parameters as source; a default that is no plain value is ``...``."""
    plain = (bool, int, float, str, type(None))
    return ", ".join(
        f"{one.name}: {one.annotation} = {repr(one.default) if isinstance(one.default, plain) else '...'}"
        for one in found
    )


def declared(name, module):
    """Return the stub of a function or class with the decorator ``takes``; None if it has none."""
    tree = ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text())
    node = next((one for one in tree.body if getattr(one, "name", None) == name), None)
    if not isinstance(node, ast.FunctionDef | ast.ClassDef):
        return None  # imported there
    calls = [
        one for one in node.decorator_list if isinstance(one, ast.Call) and ast.unparse(one.func) == "takes"
    ]
    if not calls:
        return None
    for one in ast.walk(tree):
        if isinstance(one, ast.ImportFrom) and one.module:
            KNOWN.update(dict.fromkeys((alias.name for alias in one.names), one.module))
        elif isinstance(one, ast.ClassDef | ast.Assign) and one in tree.body:
            defined = one.name if isinstance(one, ast.ClassDef) else ast.unparse(one.targets[0])
            KNOWN[defined] = module
    classes = [getattr(import_module(KNOWN[ast.unparse(one)]), ast.unparse(one)) for one in calls[0].args]
    function = node
    if isinstance(node, ast.ClassDef):
        function = next(one for one in node.body if getattr(one, "name", None) == "__init__")
    assert isinstance(function, ast.FunctionDef)
    arguments, returns = function.args, ast.unparse(function.returns or ast.Constant(None))
    arguments.kwarg = None
    for defaults in (arguments.defaults, arguments.kw_defaults):
        defaults[:] = [one if isinstance(one, ast.Constant | None) else ast.Constant(...) for one in defaults]
    before, star, after = ast.unparse(arguments).partition("*, ")
    text = (
        f"({before}*, {parameters(option_parameters(*classes))}{', ' * bool(star)}{after}) -> {returns}: ..."
    )
    if isinstance(node, ast.ClassDef):
        # Its methods are the class's own; only the constructor's options come from a declaration.
        return f"class {name}({module}.{name}):\n    def __init__{text}"
    return f"def {name}{text}"


def lines():
    """Yield the lines of the file."""
    stubs, imports, public = [], ["import os"], set[str]()
    for name, module in svmfast._PUBLIC.items():
        stub = declared(name, module)
        if stub is None:
            imports.append(f"from {module} import {name} as {name}")
            public.add(name)
        else:
            stubs.append(stub)
            imports += [f"import {module}"] if stub.startswith("class") else []
    for method in methods():
        given = list(inspect.signature(function_of(method)).parameters.values())
        named = [one for one in given if one.kind is one.KEYWORD_ONLY]
        first = given[: len(given) - len(named)]
        required = [f"{one.name}: {one.annotation}" for one in first if one.default is one.empty]
        text = [*required, parameters(first[len(required) :]), "*", parameters(named)]
        stubs.append(f"def {method.function_name}({', '.join(filter(None, text))}) -> Result: ...")
    used = {node.id for stub in stubs for node in ast.walk(ast.parse(stub)) if isinstance(node, ast.Name)}
    made = {stub.split("(")[0].split()[1] for stub in stubs}
    needed = sorted((used & KNOWN.keys()) - public - made - {"os"})
    imports += [f"from {KNOWN[name]} import {name}" for name in needed]
    yield "# Made by scripts/signatures.py from the declarations."
    yield from sorted(imports, reverse=True)
    yield "__version__: str"
    yield from sorted(stubs)


if __name__ == "__main__":
    print(*lines(), sep="\n")
