"""A quick run of every command with every file that it takes, for tests of all commands.

Words in capitals stand for files: :data:`INPUTS` are read, :data:`OUTPUTS` written.
"""

import os
import re

from meaning import FROZEN
from program import FIXTURES, data, model

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

_SMALL = "--clusters 3 --landmarks 4"
_RUNS = {
    "approximate": "EXACT --data TRAIN --data TEST --cells 2 -o OUT",
    "approximate, scaled": "EXACT --data TRAIN --order 2 -o OUT --scale RANGES",
    "compress": "EXACT --sv 5 --data TRAIN --data TEST --iterations 2 -o OUT --scale RANGES",
    "budget-train": "TRAIN OUT -g 0.5 -B 5 --passes 1 --validate TEST",
    "budget-train, named": "TRAIN -o OUT -B 5 --passes 1 --scale RANGES",
    "bound-check": "TRAIN --model EXACT --scale RANGES",
    "meka": f"TRAIN -o OUT --task ridge {_SMALL} --rank 2",
    "meka's error": f"TRAIN --task error {_SMALL} --rank 2 --scale RANGES",
    "dcpred": f"TRAIN -o OUT --task svc {_SMALL} --iterations 2 --scale RANGES",
    "dcpred from a model": f"TRAIN -o OUT --from EXACT {_SMALL} --iterations 2",
    "cascade": "FAST EXACT --data TRAIN --max-diff 10% -o OUT --force --scale RANGES",
    "frontier": "EXACT --data TRAIN --test TEST -o OUT --methods linear --scale RANGES",
    "import": "ESTIMATOR -o OUT",
    "predict": "TEST CERTIFIED OUT --exact EXACT",
    "predict, scaled": "TEST FAST OUT --scale RANGES",
    "compare": "EXACT FAST --data TEST --repeats 1 --scale RANGES",
    "info": "EXACT",
    "info of data": "TRAIN --scale RANGES",
    "scale": "TRAIN -o OUT --save SAVED",
    "scale, restored": "TEST -o OUT --restore RANGES",
    "export": "EXACT --test TEST -o OUT",
    "export, scaled": "EXACT --scale RANGES -o OUT",
    "export of LIBSVM's text": "EXACT --to libsvm --scale RANGES --ranges SAVED -o OUT",
    "train": "TRAIN OUT",
    "train, named": "TRAIN -o OUT --scale RANGES",
}
#: Quick runs; the key begins with the command's name.
RUNS = {name: [re.split("[^a-z-]", name)[0], *line.split()] for name, line in _RUNS.items()}


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
