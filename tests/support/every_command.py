"""A quick run of every command with every file that it takes, for tests of all commands.

Words in capitals stand for files: :data:`INPUTS` are read, :data:`OUTPUTS` written.
"""

import os
import re

from meaning import FROZEN
from program import FIXTURES, data, lines_of, model

from svmfast.methods.registry import methods

#: Files of the repository, by the word that stands for them.
INPUTS = {
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
#: Quick runs; the key begins with the command's name.
RUNS = {name: [re.split("[^a-z-]", name)[0], *line.split()] for name, line in lines_of("quick").items()}


def _usual(method):
    """Return the run of a method that needs no options."""
    files = {"rows": "TRAIN", "exact model": "EXACT", "model": "FAST"}
    needed = [one for one in method.inputs if one.required]
    found = [word for one in needed for word in (one.flag, files[one.content]) if word is not None]
    return [method.name, *found, "-o", "OUT", "--scale", "RANGES"]


RUNS |= {one.name: _usual(one) for one in methods() if one.name not in RUNS}
#: The command of every run.
COMMAND_OF = {name: run[0] for name, run in RUNS.items()}


def inputs(name):
    """Return the words of a run that stand for files it reads."""
    return [word for word in RUNS[name] if word in INPUTS]


def outputs(name):
    """Return the words of a run that stand for files it writes."""
    return [word for word in RUNS[name] if word in OUTPUTS]


def words(name, paths):
    """Return the words of a run with paths in their places; inputs without one are the repository's."""
    places = {**INPUTS, **paths}
    return [os.fspath(places.get(word, word)) for word in RUNS[name]]
