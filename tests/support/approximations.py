"""approximate with its options as keywords, for tests of its numerical results."""

from dataclasses import fields

from svmfast.methods.approximate import ApproximateOptions
from svmfast.methods.approximate.run import approximate as convert
from svmfast.methods.method import Setting
from svmfast.options import made

NAMES = {field.name for field in fields(ApproximateOptions)}


def approximate(model, **given):
    """Return the model and its report; options are checked as by ``svmfast.approximate``."""
    options = made(ApproximateOptions, {name: value for name, value in given.items() if name in NAMES})
    options.check({"data"} if given.get("data") is not None else set())
    rows = {name: given[name] for name in ("data", "provenance") if name in given}
    setting = {name: value for name, value in given.items() if name not in NAMES and name not in rows}
    return convert(model, options, Setting(**{"threads": 1, **setting}), **rows)
