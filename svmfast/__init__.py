"""svmfast: make slow LIBSVM models fast and small, and prove how much was lost.

The verbs of the command line on arrays, CSR matrices and models::

    import svmfast

    test = svmfast.read_svmlight("test.txt")
    exact = svmfast.load_model("model.txt")
    fast, report = svmfast.approximate(exact)
    answer = svmfast.predict(fast, test)  # answer.predicted, answer.decisions
    print(svmfast.compare({"exact": exact, "fast": fast}, test))
    svmfast.save_model(fast, "fast.model")

Names are imported when they are first used, so ``import svmfast`` costs next to nothing.
"""

# Nothing is imported here: under ``python -m svmfast`` the current folder comes first on the import
# path, until __main__ takes it off. Type checkers and editors read __init__.pyi.

__version__ = "1.0.0"

#: public name -> the module that defines it
_PUBLIC = {
    "Answer": "svmfast.models.answer",
    "BoundCheck": "svmfast.evaluation.bound_check",
    "Comparison": "svmfast.evaluation.comparison",
    "Dataset": "svmfast.formats.svmlight",
    "Export": "svmfast.commands.exported",
    "Predictor": "svmfast.commands.predictor",
    "Reading": "svmfast.options",
    "Result": "svmfast.commands.run",
    "Rows": "svmfast.rows",
    "ScaledModel": "svmfast.models.scaled",
    "Scaling": "svmfast.models.scaling",
    "SvmfastError": "svmfast.errors",
    "as_rows": "svmfast.rows",
    "bound_check": "svmfast.commands.bound_check",
    "compare": "svmfast.commands.compare",
    "export": "svmfast.commands.export",
    "frontier": "svmfast.commands.frontier",
    "from_sklearn": "svmfast.commands.import_",
    "info": "svmfast.commands.info",
    "load_model": "svmfast.formats.model_files",
    "predict": "svmfast.commands.predict",
    "predict_files": "svmfast.commands.many",
    "read_ranges": "svmfast.formats.ranges",
    "read_svmlight": "svmfast.formats.svmlight",
    "rows_of": "svmfast.commands.given",
    "save_model": "svmfast.formats.model_files",
    "scale": "svmfast.commands.scale",
    "stream_svmlight": "svmfast.formats.svmlight",
    "write_svmlight": "svmfast.formats.svmlight",
}

__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> object:
    from importlib import import_module

    value: object
    if name in _PUBLIC:
        value = getattr(import_module(_PUBLIC[name]), name)
        globals()[name] = value
        return value
    if not name.startswith("_"):
        registry = import_module("svmfast.methods.registry")
        try:
            method = registry.method(name)
        except KeyError:
            pass
        else:
            # Not kept: a method can be taken out of the registry.
            value = import_module("svmfast.commands.functions").function_of(method)
            return value
    raise AttributeError(f"module 'svmfast' has no attribute '{name}'")


def __dir__() -> list[str]:
    from importlib import import_module

    names = {one.function_name for one in import_module("svmfast.methods.registry").methods()}
    return sorted({*__all__, *names})
