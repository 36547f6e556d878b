"""Data and models with extreme numbers and sizes, and the outcomes that every command may have.

A command that gives an answer gives the right one: exact predictions are compared with a slow twin (one
support vector and one feature at a time), approximated ones with what they say of their own error. A command
that gives none says so in one line, with status 1 or 2, and leaves no file.
"""

from __future__ import annotations

import json
import math
import random
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from program import svmfast

#: One row of data: its label, and its features in order.
Row = tuple[float, dict[int, float]]


@dataclass(frozen=True)
class Model:
    """A LIBSVM C-SVC of two classes, labelled 1 and -1."""

    vectors: list[tuple[float, dict[int, float]]]
    kernel: str = "rbf"
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 3
    rho: float = 0.1

    def text(self) -> str:
        parameters = {
            "linear": [],
            "polynomial": [f"degree {self.degree}", f"gamma {self.gamma!r}", f"coef0 {self.coef0!r}"],
            "rbf": [f"gamma {self.gamma!r}"],
            "sigmoid": [f"gamma {self.gamma!r}", f"coef0 {self.coef0!r}"],
        }[self.kernel]
        positive = sum(coef > 0 for coef, _ in self.vectors)
        lines = ["svm_type c_svc", f"kernel_type {self.kernel}", *parameters, "nr_class 2"]
        lines += [f"total_sv {len(self.vectors)}", f"rho {self.rho!r}", "label 1 -1"]
        lines += [f"nr_sv {positive} {len(self.vectors) - positive}", "SV"]
        ordered = sorted(self.vectors, key=lambda vector: vector[0] < 0)
        lines += [f"{coef!r} {features(x)}" for coef, x in ordered]
        return "\n".join(lines) + "\n"

    def value(self, x: dict[int, float]) -> float:
        """Return the decision value of one row, slowly."""
        terms = [coef * self._kernel(x, z) for coef, z in self.vectors]
        return math.fsum(terms) - self.rho if all(map(math.isfinite, terms)) else sum(terms) - self.rho

    def _kernel(self, x: dict[int, float], z: dict[int, float]) -> float:
        if self.kernel == "rbf":
            return math.exp(-self.gamma * sum(squared(x.get(i, 0.0) - z.get(i, 0.0)) for i in {*x, *z}))
        dot = sum(value * z.get(i, 0.0) for i, value in x.items())
        if self.kernel == "linear":
            return dot
        inner = self.gamma * dot + self.coef0
        return math.tanh(inner) if self.kernel == "sigmoid" else math.prod([inner] * self.degree)

    @property
    def scale(self) -> float:
        """The largest absolute value of the sum if kernel values are at most 1."""
        return sum(abs(coef) for coef, _ in self.vectors) + abs(self.rho)


def squared(value: float) -> float:
    return value * value  # value ** 2 raises where this is infinite


def features(x: dict[int, float]) -> str:
    return "".join(f"{i}:{value!r} " for i, value in sorted(x.items()))


def data_text(rows: list[Row]) -> str:
    return "".join(f"{label:g} {features(x)}".rstrip() + "\n" for label, x in rows)


def normal_rows(n: int, columns: int, scale: float = 1.0, seed: int = 0) -> list[Row]:
    """Return rows whose label is the sign of the first feature, with some noise."""
    chance = random.Random(seed)
    rows: list[Row] = []
    for _ in range(n):
        x = {i: scale * round(chance.gauss(0, 1), 3) for i in range(1, columns + 1)}
        rows.append((1.0 if x[1] + 0.1 * scale * chance.gauss(0, 1) > 0 else -1.0, x))
    return rows


def spread_rows(n: int, columns: int, largest: int, seed: int = 0) -> list[Row]:
    """Return rows whose values have every order of magnitude up to 10^largest, next to each other."""
    chance = random.Random(seed)
    return [
        (
            (1.0, -1.0)[k % 2],
            {
                i: chance.choice((1.0, -1.0))
                * float(f"{chance.uniform(1, 9):.3f}e{chance.randrange(largest)}")
                for i in range(1, columns + 1)
            },
        )
        for k in range(n)
    ]


NORMAL = normal_rows(40, 3)

#: Data: name and rows.
DATA: dict[str, list[Row]] = {
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

HUGE = ("values up to 1e150", "values near 1e150", "values up to 1e300")
GAMMAS = (1e-12, 1e-6, 1e-3, 1.0, 1e3, 1e6)


def as_model(rows: list[Row], **parameters: float | str) -> Model:
    chance = random.Random(len(rows))
    return Model([(label * round(chance.uniform(0.1, 1), 3), x) for label, x in rows], **parameters)  # type: ignore[arg-type]


#: Models: name, model, and the names of the data they are tested with.
MODELS: dict[str, tuple[Model, tuple[str, ...]]] = {
    **{f"gamma {gamma:g}": (as_model(NORMAL, gamma=gamma), ("normal", *HUGE)) for gamma in GAMMAS},
    "one vector": (as_model(NORMAL[:1], gamma=0.1), ("normal", "one row", "all zero")),
    "one feature": (as_model(DATA["one feature"], gamma=0.5), ("one feature", "all zero", "normal")),
    "zero vectors": (as_model(DATA["all zero"], gamma=0.5), ("all zero", "normal")),
    "zeros written out": (as_model(DATA["zeros written out"], gamma=0.5), ("zeros written out", "normal")),
    "constant features": (as_model(DATA["constant features"], gamma=0.01), ("constant features", "normal")),
    "duplicated vectors": (as_model(NORMAL[:5] * 8, gamma=0.1), ("the same five rows", "normal")),
    **{
        f"values up to 1e150, gamma {gamma:g}": (
            as_model(DATA["values up to 1e150"], gamma=gamma),
            ("values up to 1e150", "values near 1e150", "normal"),
        )
        for gamma in (1e-300, 1e-12, 1.0, 1e6)
    },
    "values near 1e150, gamma 1e-300": (
        as_model(DATA["values near 1e150"], gamma=1e-300),
        ("values near 1e150", "values up to 1e150", "normal"),
    ),
    "values up to 1e300": (as_model(DATA["values up to 1e300"], gamma=1.0), ("values up to 1e300", "normal")),
    "values of 1e-300": (as_model(DATA["values of 1e-300"], gamma=1.0), ("values of 1e-300", "normal")),
    "a feature far out": (as_model(DATA["a feature far out"], gamma=0.1), ("a feature far out", "normal")),
    "linear, values near 1e150": (
        as_model(DATA["values near 1e150"], kernel="linear"),
        ("values near 1e150", "normal", "all zero"),
    ),
    "polynomial, values near 1e150": (
        as_model(DATA["values near 1e150"], kernel="polynomial", degree=2, gamma=1e-300),
        ("values near 1e150", "normal", "all zero"),
    ),
    "sigmoid, values near 1e150": (
        as_model(DATA["values near 1e150"], kernel="sigmoid", gamma=1e-300),
        ("values near 1e150", "normal", "all zero"),
    ),
}  # fmt: skip


@dataclass
class Outcome:
    """The outcome of a run: ``answer``, or the reason for a refusal."""

    message: str
    faults: list[str] = field(default_factory=list)


#: Runs ``svmfast WORDS`` in a folder.
Run = Callable[[Sequence[str], Path], "subprocess.CompletedProcess[str]"]


def executable(words: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    done = svmfast(*words, cwd=folder, timeout=600)
    return subprocess.CompletedProcess(words, done.returncode, done.stdout.decode(), done.stderr.decode())


def judged(done: subprocess.CompletedProcess[str], output: Path | None = None, *, no: bool = True) -> Outcome:
    """Return an outcome, with the faults that any command can have; `no`: whether status 1 is allowed."""
    message = done.stderr
    faults = [f"{word} on stderr: {message[-300:]}" for word in ("Traceback", "Warning:") if word in message]
    if done.returncode == 0:
        if output is not None and not output.exists():
            faults.append("status 0 and no output")
        return Outcome("answer", faults)
    if done.returncode not in ((1, 2) if no else (2,)):
        return Outcome("failed", [*faults, f"status {done.returncode}: {message[-300:]}"])
    if output is not None and output.exists():
        faults.append(f"status {done.returncode} and an output")
    lines = [line for line in message.splitlines() if not line.startswith("svmfast: warning: ")]
    if done.returncode == 1 and not lines:
        return Outcome("no", faults)
    if done.returncode == 2 and len(lines) != 1:
        faults.append(f"not one line: {message[-300:]!r}")
    return Outcome(lines[-1] if lines else f"status {done.returncode}", faults)


def columns(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()[1:]]


@dataclass
class Edge:
    """One folder, and how commands are run in it."""

    folder: Path
    run: Run = executable

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.run(words, self.folder)


def check_exact(edge: Edge, model: Model, data: str) -> Outcome:
    """``predict`` against the slow twin: the labels, and the decision values up to rounding."""
    rows = DATA[data]
    outcome = judged(done := edge("predict", "-q", "--decision-values", "data", "model"), no=False)
    if outcome.message != "answer":
        return outcome
    answers = columns(done.stdout)
    if len(answers) != len(rows):
        outcome.faults.append(f"{len(answers)} lines for {len(rows)} rows")
    for number, ((_, x), (label, value)) in enumerate(zip(rows, answers, strict=False), start=1):
        expected = model.value(x)
        room = 1e-9 * model.scale if model.kernel in ("rbf", "sigmoid") else 1e-9 * abs(expected)
        close = abs(float(value) - expected) <= room or float(value) == expected
        if not close or (abs(expected) > room and float(label) != (1 if expected > 0 else -1)):
            outcome.faults.append(f"row {number}: {label} {value}, the twin says {expected}")
    return outcome


def check_approximated(edge: Edge, model: Model, data: str) -> Outcome:
    """``predict --certify`` of an approximated model: bounds hold, certified labels are the exact ones."""
    rows = DATA[data]
    words = ("predict", "-q", "--decision-values", "--certify", "data", "fast")
    outcome = judged(done := edge(*words), no=False)
    if outcome.message != "answer":
        return outcome
    for number, ((_, x), line) in enumerate(zip(rows, columns(done.stdout), strict=True), start=1):
        label, value, certified, bound = line
        expected = model.value(x)
        if not abs(float(value) - expected) <= float(bound):
            outcome.faults.append(f"row {number}: {value} is not within {bound} of {expected}")
        if certified == "yes" and float(label) != (1 if expected > 0 else -1):
            outcome.faults.append(f"row {number}: certified {label}, the twin says {expected}")
    return outcome


def check_values(edge: Edge, model: str, data: str) -> Outcome:
    """``predict`` with a model that a command has made: a finite value for each row."""
    outcome = judged(done := edge("predict", "-q", "--decision-values", "data", model), no=False)
    if outcome.message == "answer":
        answers = columns(done.stdout)
        if len(answers) != len(DATA[data]) or not all(math.isfinite(float(v)) for a in answers for v in a):
            outcome.faults.append(f"not a finite value for each row: {answers[:3]}")
    return outcome


def check_json(edge: Edge, *words: str) -> Outcome:
    outcome = judged(done := edge(*words, "--json"))
    if done.returncode in (0, 1) and done.stdout:
        try:
            json.loads(done.stdout, parse_constant=lambda name: outcome.faults.append(f"{name} in JSON"))
        except ValueError as error:
            outcome.faults.append(f"no JSON: {error}")
    return outcome


def convert(edge: Edge, name: str) -> dict[str, Outcome]:
    """Run every command that takes a model on one of MODELS; return the outcomes."""
    model, names = MODELS[name]
    (edge.folder / "model").write_text(model.text())
    found = {"info MODEL": check_json(edge, "info", "model")}
    fast, small = edge.folder / "fast", edge.folder / "small"
    # Without --force a race would decide whether there is a file.
    found["approximate"] = judged(edge("approximate", "--force", "-q", "model", "-o", "fast"), fast)
    for data in names:
        (edge.folder / "data").write_text(data_text(DATA[data]))
        where = f" ({data})"
        found["predict" + where] = check_exact(edge, model, data)
        found["bound-check" + where] = check_json(edge, "bound-check", "data", "--model", "model")
        if fast.exists():
            found["predict, approximated" + where] = check_approximated(edge, model, data)
            compared = ("compare", "-q", "--repeats", "1", "model", "fast", "--data", "data")
            found["compare" + where] = check_json(edge, *compared)
    (edge.folder / "data").write_text(data_text(DATA[names[0]]))
    words = ("compress", "-q", "model", "-o", "small", "--sv", "3", "--iterations", "20")
    for how, more in (("compress", ()), ("compress --data", ("--data", "data"))):
        small.unlink(missing_ok=True)
        found[how] = judged(edge(*words, *more), small)
        if small.exists():
            found[f"predict, {how}"] = check_values(edge, "small", names[0])
    made = edge.folder / "dcpred"
    found["dcpred --from"] = judged(edge("dcpred", "-q", "--from", "model", "data", "-o", "dcpred"), made)
    if made.exists():
        found["predict, dcpred --from"] = check_values(edge, "dcpred", names[0])
    return found


TREE = ("--clusters", "2", "--landmarks", "4")
#: Commands that learn from data; FILE stands for their output, and -g G for each gamma.
LEARN = {
    "train": ("train", "-q", "data", "FILE"),
    "train -t 0": ("train", "-q", "-t", "0", "data", "FILE"),
    "linear": ("linear", "-q", "data", "-o", "FILE"),
    "budget-train": ("budget-train", "-q", "-B", "4", "--passes", "2", "data", "-o", "FILE"),
    "meka ridge": ("meka", "-q", "--task", "ridge", "--clusters", "2", "data", "-o", "FILE"),
    "meka svc": ("meka", "-q", "--task", "svc", "--clusters", "2", "data", "-o", "FILE"),
    "dcpred svc": ("dcpred", "-q", "--task", "svc", *TREE, "data", "-o", "FILE"),
    "dcpred ridge": ("dcpred", "-q", "--task", "ridge", *TREE, "data", "-o", "FILE"),
}


def learn(edge: Edge, name: str, gamma: float | None = None) -> dict[str, Outcome]:
    """Run every command that takes data on one of DATA; return the outcomes."""
    (edge.folder / "data").write_text(data_text(DATA[name]))
    found = {
        "info DATA": check_json(edge, "info", "data"),
        "bound-check": check_json(edge, "bound-check", "data"),
    }
    for number, (command, words) in enumerate(LEARN.items()):
        if gamma is not None and ("-t" in words or words[0] == "linear"):
            continue
        more = () if gamma is None else ("-g", repr(gamma))
        made = edge.folder / f"made{number}"
        given = [made.name if word == "FILE" else word for word in words]
        found[command] = judged(edge(given[0], *more, *given[1:]), made)
        if made.exists():
            found[f"predict, {command}"] = check_values(edge, made.name, name)
    return found
