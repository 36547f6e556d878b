"""The changes that make mutants: found in syntax trees (Python), in text (C++) and in telling.tsv."""

import ast
import copy
import random
import re
from dataclasses import dataclass

#: How often files are drawn, by the longest beginning of their paths.
WEIGHTS = {
    **{"svmfast/": 2.0, "svmfast/commands/": 1.0, "svmfast/cli/": 0.5},
    **{"svmfast/certificate.py": 8.0, "svmfast/validity_bound.py": 6.0, "svmfast/kernels.py": 6.0},
    **{f"svmfast/{folder}/": 4.0 for folder in ("models", "methods", "solvers")},
    **{f"svmfast/{folder}/": 3.0 for folder in ("formats", "evaluation", "frontiers", "exports")},
}
#: Files that are left out: prose, processes, bindings; vectors of other processors, where no value changes.
LEFT_OUT = re.compile(
    r"/(pages/|words\.|html\.|display\.|progress\.|prediction_words\.|dask\.|bind\.|fork\.|threads\.hpp"
    r"|dispatch\.|arrays\.|aligned\.|freed_memory\.|interrupt\.|vec\.)"
)

COMPARISONS = {ast.Lt: ast.LtE, ast.Gt: ast.GtE, ast.Eq: ast.NotEq}
COMPARISONS |= {new: old for old, new in COMPARISONS.items()}
OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult}
NAMES = {"min": "max", "minimum": "maximum", "argmin": "argmax", "floor": "ceil", "any": "all"}
NAMES |= {new: old for old, new in NAMES.items()}
#: Keyword arguments whose change shows nowhere but in time, or only as an error of Python.
INERT = {
    *("strict", "exist_ok", "copy", "dtype", "repr", "eq", "frozen", "kw_only", "stacklevel", "key"),
    *("threads", "progress", "overwrite_a", "overwrite_b", "check_finite"),
}
#: Functions with which swapped arguments fail at once.
BUILTIN = {"getattr", "setattr", "hasattr", "isinstance", "issubclass", "map", "filter", "zip"}
#: Functions of texts, of which tests compare few.
PROSE = {"__repr__", "__str__", "lines", "words", "line"}


@dataclass(frozen=True, order=True)
class Change:
    """Bytes `start` to `end` of a file, which begin in `line`, replaced by `new`."""

    file: str
    line: int
    start: int
    end: int
    old: str
    new: str
    kind: str

    def applied(self, source):
        return source[: self.start] + self.new.encode() + source[self.end :]


def python_changes(file, source):
    """All changes of a Python file, by place."""
    begins = [0]
    for line in source.splitlines(keepends=True):
        begins.append(begins[-1] + len(line))
    found = set()
    for node, kind, new in _walk(ast.parse(source)):
        start = begins[node.lineno - 1] + node.col_offset
        end = begins[node.end_lineno - 1] + node.end_col_offset
        text = new if isinstance(node, ast.AugAssign) else f"({new})"
        if new != ast.unparse(node):
            found.add(Change(file, node.lineno, start, end, source[start:end].decode(), text, kind))
    return sorted(found)


def _walk(node):
    """Yield nodes, kinds of changes and new texts; without annotations, messages, decorators and prose."""
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert | ast.Import | ast.ImportFrom):
        return
    if isinstance(node, ast.FunctionDef) and node.name in PROSE:
        return
    yield from _changed(node)
    if isinstance(node, ast.arguments):
        given = [
            value for one, value in zip(node.kwonlyargs, node.kw_defaults, strict=True) if one.arg in INERT
        ]
        node = ast.Tuple([one for one in (*node.defaults, *node.kw_defaults) if one and one not in given])
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns", "decorator_list", "bases"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _walk(child)


def _with(node, **fields):
    other = copy.copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return ast.unparse(other)


def _changed(node):
    match node:
        case ast.Compare(ops=[op]) if type(op) in COMPARISONS:
            yield node, "comparison", _with(node, ops=[COMPARISONS[type(op)]()])
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS and not _text(left, right):
            yield node, "arithmetic", _with(node, op=OPERATORS[type(op)]())
            if isinstance(op, ast.Add | ast.Sub):
                yield node, "dropped term", ast.unparse(left)
            if isinstance(op, ast.Add):
                yield node, "dropped term", ast.unparse(right)
        case ast.AugAssign(op=op, value=value) if type(op) in OPERATORS and not _text(value):
            yield node, "arithmetic", _with(node, op=OPERATORS[type(op)]())
        case ast.BoolOp(op=op, values=values):
            yield node, "and/or", _with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
            yield node, "dropped condition", _with(node, values=values[:-1])
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            if not isinstance(operand, ast.Constant):
                yield node, "negation", ast.unparse(operand)
        case ast.If(test=ast.Name("TYPE_CHECKING")):
            pass
        case ast.If(test=test, body=[ast.Raise()]):
            yield test, "dropped check", "False"
        case ast.If(test=test) | ast.IfExp(test=test):
            yield test, "negated condition", f"not ({ast.unparse(test)})"
        case ast.Constant(value=bool(value)):
            yield node, "constant", str(not value)
        case ast.Constant(value=int() | float() as value):
            yield node, "constant", repr(value + 1 if isinstance(value, int) or value == 0 else value * 2)
        case ast.Call():
            yield from _called(node)


def _called(node):
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    if name in NAMES:
        field = "attr" if isinstance(node.func, ast.Attribute) else "id"
        yield node.func, "min/max", _with(node.func, **{field: NAMES[name]})
    if name == "abs" and len(node.args) == 1:
        yield node, "dropped abs", ast.unparse(node.args[0])
    first = node.args[:2]
    values = (ast.Name, ast.Attribute, ast.Subscript)
    if len(first) == 2 and name not in BUILTIN and all(isinstance(one, values) for one in first):
        yield node, "swapped arguments", _with(node, args=[*first[::-1], *node.args[2:]])
    if name[:1].isupper() or name == "replace":
        return  # fields of a class: without one it would not be made
    for i, keyword in enumerate(node.keywords):
        if keyword.arg and keyword.arg not in INERT and not _text(keyword.value):
            others = node.keywords[:i] + node.keywords[i + 1 :]
            yield node, "ignored argument", _with(node, keywords=others)


def _text(*nodes):
    return any(
        isinstance(getattr(node, "value", None), str) or isinstance(node, ast.JoinedStr) for node in nodes
    )


def _operators(kind, *pairs):
    """clang-format puts spaces around binary operators and around nothing else."""
    return [(kind, re.escape(f" {old} "), f" {new} ") for old, new in map(str.split, pairs)]


#: Changes of C++: the kind, what is replaced, and by what.
CPP = [
    *_operators("comparison", "< <=", "<= <", "> >=", ">= >", "== !=", "!= =="),
    *_operators("and/or", "&& ||", "|| &&"),
    *_operators("arithmetic", "+ -", "- +", "* /", "/ *", "+= -=", "-= +="),
    ("dropped term", r" [+-] [\w.]+(?:\[[^\[\]]*\])?(?:\([^()]*\))?(?=[;,)])", ""),
    ("negation", r"(?<=[(&|=] )!(?=[\w(])|(?<=\()!(?=[\w(])", ""),
    ("dropped abs", r"std::fabs\b", "double"),
    *(("min/max", f"std::{old}(?=[(<])", f"std::{new}") for old, new in (("min", "max"), ("max", "min"))),
    ("constant", r"(?<![\w.])(?!0\.0\b)\d+\.\d+(?:e-?\d+)?(?!\w)", "(2 * {})"),
    ("constant", r"(?<=[=<>+\-*(] )\d+(?=[;,) ])", "({} + 1)"),
]


def cpp_changes(file, source):
    """Changes of a C++ file, by place; heads of loops stay, since a longer loop reads any memory."""
    found, at = [], 0
    for number, raw in enumerate(source.splitlines(keepends=True), 1):
        code = re.sub(r'//.*|"(?:\\.|[^"\\])*"', lambda m: " " * len(m[0].encode()), raw.decode())
        if not re.match(r"\s*(#|for \(|template|static_assert|throw|using|case)", code):
            for kind, pattern, new in CPP:
                for m in re.finditer(pattern, code):
                    start = at + len(code[: m.start()].encode())
                    end = start + len(m[0].encode())
                    found.append(Change(file, number, start, end, m[0], new.format(m[0]), kind))
        at += len(raw)
    return sorted(found)


def all_changes(root, *, cpp):
    """Changes of all files that are not left out."""
    found, suffixes = [], (".cpp", ".hpp", ".inl") if cpp else (".py",)
    for path in sorted((root / "svmfast").rglob("*")):
        file = path.relative_to(root).as_posix()
        if path.suffix in suffixes and not LEFT_OUT.search(file):
            found += (cpp_changes if cpp else python_changes)(file, path.read_bytes())
    return found


def weight(file):
    return WEIGHTS[max((name for name in WEIGHTS if file.startswith(name)), key=len)]


def drawn(changes, seed):
    """Changes in a random order, at most one a line: first a file is drawn, then a kind, then a place."""
    rng = random.Random(seed)
    left = {}
    for one in changes:
        left.setdefault(one.file, {}).setdefault(one.kind, []).append(one)
    weights = {file: weight(file) * sum(map(len, kinds.values())) ** 0.5 for file, kinds in left.items()}
    seen = set()
    while left:
        file = rng.choices([*left], [weights[one] for one in left])[0]
        kinds = left[file]
        kind = rng.choice([*kinds])
        one = kinds[kind].pop(rng.randrange(len(kinds[kind])))
        if not kinds[kind]:
            del kinds[kind]
        if not kinds:
            del left[file]
        if (file, one.line) not in seen:
            seen.add((file, one.line))
            yield one


def telling(table, root):
    """The changes of a table of files, old and new texts; each old text must be in its file once."""
    found = []
    for row in table.read_text().splitlines()[1:]:
        file, old, new = row.split("\t")
        before, *after = (root / file).read_text().split(old)
        if len(after) != 1:
            raise SystemExit(f"{table}: {len(after)} times in {file}: {old}")
        start = len(before.encode())
        line = before.count("\n") + 1
        found.append(Change(file, line, start, start + len(old.encode()), old, new, "telling"))
    return found
