"""``svmfast --version -v``: the versions of svmfast and its dependencies, for bug reports."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib import metadata

from svmfast import __version__
from svmfast.api.info import instruction_set

#: Distributions that svmfast depends on, then those of its extras.
_USED = ("click", "numpy", "scipy", "libsvm-official", "rich", "scikit-learn", "threadpoolctl")
_EXTRAS = ("pyarrow", "dask", "distributed", "zstandard", "onnx", "onnxruntime", "skops")


def versions() -> Iterator[str]:
    """Yield the lines."""
    yield f"svmfast {__version__}"
    yield f"core {instruction_set()}"
    yield f"{platform.python_implementation()} {platform.python_version()}"
    here = platform.uname()
    yield f"{here.system} {here.release} {here.machine}"
    for name in (*_USED, *_EXTRAS):
        try:
            yield f"{name} {metadata.version(name)}"
        except metadata.PackageNotFoundError:
            yield f"{name} not installed"
