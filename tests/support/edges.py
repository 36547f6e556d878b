"""Data and models with extreme numbers and sizes, and the outcomes that every command may have.

A command that gives an answer gives the right one: exact predictions are compared with LIBSVM's,
approximated ones with what they say of their own error. A command
that gives none says so in one line, with status 1 or 2, and leaves no file.
"""

import json
import math
import random
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from libsvm_twin import decision_values

from svmfast.formats.model_files import load_model
from svmfast.formats.svmlight import read_svmlight
from svmfast.models.expansion import KernelExpansion

#: One row of data: its label, and its features in order.
Row = tuple[float, dict[int, float]]


def model_text(rows, kernel="rbf", gamma=1.0, degree=3, coef0=0.0):
    """Return a LIBSVM C-SVC of two classes, labelled 1 and -1, with these rows as vectors."""
    chance = random.Random(len(rows))
    vectors = [(label * round(chance.uniform(0.1, 1), 3), x) for label, x in rows]
    positive, n = sum(coef > 0 for coef, _ in vectors), len(vectors)
    lines = ["svm_type c_svc", f"kernel_type {kernel}"]
    lines += [f"degree {degree}"] * (kernel == "polynomial")
    lines += [f"gamma {gamma!r}"] * (kernel != "linear")
    lines += [f"coef0 {coef0!r}"] * (kernel in ("polynomial", "sigmoid"))
    lines += [f"nr_class 2\ntotal_sv {n}\nrho 0.1\nlabel 1 -1\nnr_sv {positive} {n - positive}\nSV"]
    vectors.sort(key=lambda vector: vector[0] < 0)
    return "\n".join([*lines, *(f"{coef!r} {features(x)}" for coef, x in vectors), ""])


def features(x):
    return "".join(f"{i}:{value!r} " for i, value in sorted(x.items()))


def data_text(rows):
    return "".join(f"{label:g} {features(x)}".rstrip() + "\n" for label, x in rows)


def exact_values():
    """Return LIBSVM's decision values of ``data`` by ``model``, and what may be lost to rounding."""
    model, rows = load_model("model"), read_svmlight("data").rows
    assert isinstance(model, KernelExpansion)
    scale = 1e-9 * (np.abs(model.sv_coef).sum() + 0.1) if model.kernel.kind in ("rbf", "sigmoid") else 0.0
    return decision_values(model, rows)[:, 0].tolist(), float(scale)


def normal_rows(n, columns, scale=1.0):
    """Return rows whose label is the sign of the first feature, with some noise."""
    chance, rows = random.Random(0), list[Row]()
    for _ in range(n):
        x = {i: scale * round(chance.gauss(0, 1), 3) for i in range(1, columns + 1)}
        rows.append((1.0 if x[1] + 0.1 * scale * chance.gauss(0, 1) > 0 else -1.0, x))
    return rows


def spread_rows(n, columns, largest):
    """Return rows whose values have every order of magnitude up to 10^largest, next to each other."""
    chance = random.Random(0)

    def value():
        sign = chance.choice((1.0, -1.0))
        return sign * float(f"{chance.uniform(1, 9):.3f}e{chance.randrange(largest)}")

    return [((1.0, -1.0)[k % 2], {i: value() for i in range(1, columns + 1)}) for k in range(n)]


NORMAL = normal_rows(40, 3)

#: Data: name and rows.
DATA = {
    "normal": NORMAL,
    "no rows": [],
    "one row": NORMAL[:1],
    "two rows": [(1.0, {1: 1.0}), (-1.0, {1: -1.0})],
    "one feature": normal_rows(40, 1),
    "all zero": [((1.0, -1.0)[i % 2], {}) for i in range(40)],
    "zeros written out": [((1.0, -1.0)[i % 2], {1: 0.0, 2: 0.0}) for i in range(40)],
    "constant features": [((1.0, -1.0)[i % 2], {1: 3.0, 2: -7.0}) for i in range(40)],
    "one constant feature": [(label, {**x, 4: 5.0}) for label, x in NORMAL],
    "the same five rows": NORMAL[:5] * 8,
    "one class": [(1.0, x) for _, x in NORMAL],
    "values up to 1e150": spread_rows(40, 3, 151),
    "values near 1e150": normal_rows(40, 3, 1e150),
    "values up to 1e300": spread_rows(40, 3, 301),
    "values of 1e-300": normal_rows(40, 3, 1e-300),
    "a feature far out": [(label, {**x, 2_000_000_000: 1.0}) for label, x in NORMAL],
}

GAMMAS = (1e-12, 1e-6, 1e-3, 1.0, 1e3, 1e6)


def as_model(name, **parameters):
    return model_text(DATA[name], **parameters)


UP_TO, NEAR, LARGEST = "values up to 1e150", "values near 1e150", "values up to 1e300"
#: Data with a model of their own, and its gamma.
OWN = {
    **{"one feature": 0.5, "all zero": 0.5, "zeros written out": 0.5, "constant features": 0.01},
    **{"the same five rows": 0.1, LARGEST: 1.0, "values of 1e-300": 1.0, "a feature far out": 0.1},
}
KERNELS = ("linear", "polynomial", "sigmoid")
HUGE = {f"{kernel}, {NEAR}": as_model(NEAR, kernel=kernel, degree=2, gamma=1e-300) for kernel in KERNELS}
UP_TO_GAMMAS = {f"{UP_TO}, gamma {g:g}": as_model(UP_TO, gamma=g) for g in (1e-300, 1e-12, 1.0, 1e6)}
#: Models: name, text, and the names of the data they are tested with.
MODELS = {
    **{f"gamma {g:g}": (as_model("normal", gamma=g), ("normal", UP_TO, NEAR, LARGEST)) for g in GAMMAS},
    "one vector": (as_model("one row", gamma=0.1), ("normal", "one row", "all zero")),
    **{name: (as_model(name, gamma=gamma), (name, "normal")) for name, gamma in OWN.items()},
    **{name: (text, (UP_TO, NEAR, "normal")) for name, text in UP_TO_GAMMAS.items()},
    f"{NEAR}, gamma 1e-300": (as_model(NEAR, gamma=1e-300), (NEAR, UP_TO, "normal")),
    **{name: (text, (NEAR, "normal", "all zero")) for name, text in HUGE.items()},
}


@dataclass
class Outcome:
    """The outcome of a run: ``answer``, or the reason for a refusal."""

    message: str
    faults: list[str] = field(default_factory=list)


def judged(done, output="", *, no=True):
    """Return an outcome, with the faults that any command can have; `no`: whether status 1 is allowed."""
    message, status, written = done.stderr, done.returncode, bool(output and Path(output).exists())
    faults = [f"{word} on stderr: {message[-300:]}" for word in ("Traceback", "Warning:") if word in message]
    if status == 0:
        return Outcome("answer", faults + ["status 0 and no output"] * (bool(output) and not written))
    faults += [f"status {status} and an output"] * written
    lines = [line for line in message.splitlines() if not line.startswith("svmfast: warning: ")]
    if status not in ((1, 2) if no else (2,)) or (status == 2 and len(lines) != 1):
        faults.append(f"status {status}, not one line: {message[-300:]!r}")
    return Outcome(lines[-1] if lines else f"status {status}", faults)


def columns(text):
    return [line.split() for line in text.splitlines()[1:]]


def check_exact(run, data):
    """``predict`` against LIBSVM: the labels, and the decision values up to rounding."""
    done = run(("predict", "-q", "--decision-values", "data", "model"))
    outcome, answers = judged(done, no=False), columns(done.stdout)
    if outcome.message != "answer":
        return outcome
    values, lost = exact_values()
    if len(answers) != len(values):
        outcome.faults.append(f"{len(answers)} lines for {len(values)} rows")
    for expected, (label, value) in zip(values, answers, strict=False):
        room = lost or 1e-9 * abs(expected)
        close = abs(float(value) - expected) <= room or float(value) == expected
        if not close or (abs(expected) > room and float(label) != (1 if expected > 0 else -1)):
            outcome.faults.append(f"{label} {value}, LIBSVM says {expected}")
    return outcome


def check_approximated(run):
    """``predict --certify`` of an approximated model: bounds hold, certified labels are the exact ones."""
    done = run(("predict", "-q", "--decision-values", "--certify", "data", "fast"))
    outcome = judged(done, no=False)
    answers = columns(done.stdout) if outcome.message == "answer" else []
    for expected, (label, value, certified, bound) in zip(exact_values()[0], answers, strict=bool(answers)):
        if not abs(float(value) - expected) <= float(bound):
            outcome.faults.append(f"{value} is not within {bound} of {expected}")
        if certified == "yes" and float(label) != (1 if expected > 0 else -1):
            outcome.faults.append(f"certified {label}, LIBSVM says {expected}")
    return outcome


def check_values(run, model, data):
    """``predict`` with a model that a command has made: a finite value for each row."""
    done = run(("predict", "-q", "--decision-values", "data", model))
    outcome, answers = judged(done, no=False), columns(done.stdout)
    finite = all(math.isfinite(float(value)) for answer in answers for value in answer)
    if outcome.message == "answer" and not (finite and len(answers) == len(DATA[data])):
        outcome.faults.append(f"not a finite value for each row: {answers[:3]}")
    return outcome


def check_json(run, *words):
    done = run((*words, "--json"))
    outcome = judged(done)
    if done.returncode in (0, 1) and done.stdout:
        try:
            json.loads(done.stdout, parse_constant=lambda name: outcome.faults.append(f"{name} in JSON"))
        except ValueError as error:
            outcome.faults.append(f"no JSON: {error}")
    return outcome


def convert(run, name):
    """Run every command that takes a model on one of MODELS; return the outcomes."""
    text, names = MODELS[name]
    Path("model").write_text(text)
    # Without --force a race would decide whether there is a file.
    found = {
        "info MODEL": check_json(run, "info", "model"),
        "approximate": judged(run(("approximate", "--force", "-q", "model", "-o", "fast")), "fast"),
    }
    for data in reversed(names):
        Path("data").write_text(data_text(DATA[data]))
        found[f"predict ({data})"] = check_exact(run, data)
        found[f"bound-check ({data})"] = check_json(run, "bound-check", "data", "--model", "model")
        if Path("fast").exists():
            found[f"predict, approximated ({data})"] = check_approximated(run)
            compared = ("compare", "-q", "--repeats", "1", "model", "fast", "--data", "data")
            found[f"compare ({data})"] = check_json(run, *compared)
    for made, line in {
        "compress": "compress model --sv 3 --iterations 20",
        "compress with data": "compress model --sv 3 --iterations 20 --data data",
        "dcpred": "dcpred --from model data",
    }.items():
        found[made] = judged(run((*line.split(), "-q", "-o", made)), made)
        if Path(made).exists():
            found[f"predict, {made}"] = check_values(run, made, names[0])
    return found


#: Commands that learn from data.
LEARN = (
    *("train", "train -t 0", "linear", "budget-train -B 4 --passes 2"),
    *("meka --task ridge --clusters 2", "meka --task svc --clusters 2"),
    *("dcpred --task svc --clusters 2 --landmarks 4", "dcpred --task ridge --clusters 2 --landmarks 4"),
)


def learn(run, name, gamma=None):
    """Run every command that takes data on one of DATA; with a gamma those that have one. Return outcomes."""
    Path("data").write_text(data_text(DATA[name]))
    found = {one: check_json(run, one, "data") for one in ("info", "bound-check")}
    for made in LEARN:
        given = () if gamma is None or made == "linear" else ("-g", f"{gamma:g}")
        found[made] = judged(run((*made.split(), *given, "-q", "data", "-o", made)), made)
        if Path(made).exists():
            found[f"predict, {made}"] = check_values(run, made, name)
    return found
