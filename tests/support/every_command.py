"""A quick run of every command with every file that it takes, for tests of all commands.

Words in capitals stand for files: :data:`INPUTS` are read, :data:`OUTPUTS` written.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from meaning import FROZEN
from program import FIXTURES, data, model

from svmfast.methods.method import Method
from svmfast.methods.registry import methods

#: Files of the repository, by the word that stands for them.
INPUTS: dict[str, Path] = {
    "TRAIN": data("iris.train"),
    "TEST": data("iris.test"),
    "EXACT": model("iris_c_rbf_prob"),
    "ESTIMATOR": FIXTURES / "estimators/iris_svc.skops",
    "RANGES": data("iris.ranges"),
    "FAST": FROZEN / "1.0/routed_pseudo_poly.model",
    "CERTIFIED": FROZEN / "1.0/polynomial_three_classes.model",
    "COARSE": FROZEN / "1.0/routed_two_levels.model",
}
OUTPUTS = {"OUT", "SAVED"}

_SMALL = ["--clusters", "3", "--landmarks", "4"]

#: Quick runs; the key begins with the command's name.
RUNS: dict[str, list[str]] = {
    "approximate": [
        *("approximate", "EXACT", "--data", "TRAIN", "--data", "TEST", "--cells", "2", "-o", "OUT"),
    ],
    "approximate, scaled": [
        *("approximate", "EXACT", "--data", "TRAIN", "--order", "2", "-o", "OUT", "--scale", "RANGES"),
    ],
    "compress": [
        *("compress", "EXACT", "--sv", "5", "--data", "TRAIN", "--data", "TEST", "--iterations", "2"),
        *("-o", "OUT", "--scale", "RANGES"),
    ],
    "budget-train": [
        *("budget-train", "TRAIN", "OUT", "-g", "0.5", "-B", "5", "--passes", "1", "--validate", "TEST"),
    ],
    "budget-train, named": [
        *("budget-train", "TRAIN", "-o", "OUT", "-B", "5", "--passes", "1", "--scale", "RANGES"),
    ],
    "bound-check": ["bound-check", "TRAIN", "--model", "EXACT", "--scale", "RANGES"],
    "meka": ["meka", "TRAIN", "-o", "OUT", "--task", "ridge", *_SMALL, "--rank", "2"],
    "meka's error": ["meka", "TRAIN", "--task", "error", *_SMALL, "--rank", "2", "--scale", "RANGES"],
    "dcpred": [
        *("dcpred", "TRAIN", "-o", "OUT", "--task", "svc", *_SMALL, "--iterations", "2", "--scale", "RANGES"),
    ],
    "dcpred from a model": ["dcpred", "TRAIN", "-o", "OUT", "--from", "EXACT", *_SMALL, "--iterations", "2"],
    "cascade": [
        *(
            "cascade",
            "FAST",
            "EXACT",
            "--data",
            "TRAIN",
            "--max-diff",
            "10%",
            "-o",
            "OUT",
            "--force",
            "--scale",
            "RANGES",
        ),
    ],
    "frontier": [
        *("frontier", "EXACT", "--data", "TRAIN", "--test", "TEST", "-o", "OUT", "--methods", "linear"),
        *("--scale", "RANGES"),
    ],
    "import": ["import", "ESTIMATOR", "-o", "OUT"],
    "predict": ["predict", "TEST", "CERTIFIED", "OUT", "--exact", "EXACT"],
    "predict, scaled": ["predict", "TEST", "FAST", "OUT", "--scale", "RANGES"],
    "compare": ["compare", "EXACT", "FAST", "--data", "TEST", "--repeats", "1", "--scale", "RANGES"],
    "info": ["info", "EXACT"],
    "info of data": ["info", "TRAIN", "--scale", "RANGES"],
    "scale": ["scale", "TRAIN", "-o", "OUT", "--save", "SAVED"],
    "scale, restored": ["scale", "TEST", "-o", "OUT", "--restore", "RANGES"],
    "export": ["export", "EXACT", "--test", "TEST", "-o", "OUT"],
    "export, scaled": ["export", "EXACT", "--scale", "RANGES", "-o", "OUT"],
    "export of LIBSVM's text": [
        *("export", "EXACT", "--to", "libsvm", "--scale", "RANGES"),
        *("--ranges", "SAVED", "-o", "OUT"),
    ],
    "train": ["train", "TRAIN", "OUT"],
    "train, named": ["train", "TRAIN", "-o", "OUT", "--scale", "RANGES"],
}


def _usual(method: Method) -> list[str]:
    """Return the run of a method that needs no options."""
    files = {"rows": "TRAIN", "exact model": "EXACT", "model": "FAST"}
    needed = [one for one in method.inputs if one.required]
    found = [word for one in needed for word in (one.flag, files[one.content]) if word is not None]
    return [method.name, *found, "-o", "OUT", "--scale", "RANGES"]


RUNS |= {one.name: _usual(one) for one in methods() if one.name not in RUNS}
#: The command of every run.
COMMAND_OF = {name: run[0] for name, run in RUNS.items()}


def inputs(name: str) -> list[str]:
    """Return the words of a run that stand for files it reads."""
    return [word for word in RUNS[name] if word in INPUTS]


def outputs(name: str) -> list[str]:
    """Return the words of a run that stand for files it writes."""
    return [word for word in RUNS[name] if word in OUTPUTS]


def words(name: str, paths: Mapping[str, str | os.PathLike[str]]) -> list[str]:
    """Return the words of a run with paths in their places; inputs without one are the repository's."""
    places = {**INPUTS, **paths}
    return [os.fspath(places.get(word, word)) for word in RUNS[name]]
