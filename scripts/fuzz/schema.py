"""The target `schema` of inputs.py: models whose sizes, starts and numbers have edge values.

Random mutations, several at once, that know the parts of a model: numbers at the edges of their types,
counts whose sum wraps around to the right one, parts dropped and taken from other models, and mild changes,
which may leave a model valid: they reach the code after the checks.
"""

import re
from pathlib import Path

import numpy as np
from meaning import FROZEN
from sealing import packed, resealed, unpacked

from svmfast.errors import SvmfastError
from svmfast.evaluation.describe import describe_model
from svmfast.formats.model_files import open_model
from svmfast.models.answer import answer
from svmfast.models.expansion import KernelExpansion
from svmfast.models.requirements import Columns, missing_probability
from svmfast.rows import Rows

ROOT = Path(__file__).resolve().parents[2]
#: Rows of ordinary numbers, one without entries, and one with columns that no seed has.
ROWS = Rows.from_dense([[0.5, -1.0, 0.0, 2.0, 0.0], [0.0] * 5, [-3.0, 0.25, 7.5, -0.125, 1.0]])
EDGES = [s * v for v in (0, 1, 2, 3, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**62, 2**63 - 1) for s in (1, -1)]
EDGES += [-(2**63)]
BEYOND = [2**63, 2**64 - 1, 10**400]
FLOATS = [0.0, -0.0, 1e308, -1e308, 5e-324, 1e-160, -1.0, 1e154, float("nan"), float("inf")]
#: Plausible numbers, to get past the range checks.
PLAUSIBLE = [0.0, 1.0, -1.0, 0.5, 1e-9, -3.25, 17.0, 1e5, -1e20, 1e100, 1e-300, 1e150, 1e307]


def places(tree):
    """Yield each part of a model, as the object that holds it and its name."""
    for name, part in tree.items():
        yield tree, name
        if isinstance(part, dict):
            yield from places(part)


def mutate(text, seeds, chance):
    """Return `text` with one to three mutations."""
    try:
        tree = unpacked(text)
    except (AssertionError, ValueError):  # of a false shape
        tree = unpacked(chance.choice(seeds))
    for _ in range(chance.choice((1, 1, 2, 3))):
        holder, name = chance.choice(list(places(tree)))
        part = holder[name]
        if chance.random() < 0.1:
            theirs = [h[n] for h, n in places(unpacked(chance.choice(seeds))) if n == name]
            if theirs:  # the same part of another model
                holder[name] = chance.choice(theirs)
            else:
                del holder[name]
        elif isinstance(part, bytes) or (isinstance(part, dict) and "kind" in part and chance.random() < 0.3):
            holder[name] = unpacked(chance.choice(seeds))
        elif isinstance(part, np.ndarray):
            holder[name] = _array(part, chance)
        elif isinstance(part, int | float):
            holder[name] = chance.choice((*EDGES, *BEYOND, *FLOATS, *PLAUSIBLE, not part))
    return packed(tree)


def _array(numbers, chance):
    """Return other numbers, or the same ones in another shape, which may be false."""
    flat, how, whole = numbers.ravel().copy(), chance.randrange(7), numbers.dtype.kind == "i"
    if how == 0:
        first = chance.choice([d for d in range(1, flat.size + 1) if flat.size % d == 0] or [0])
        shapes = [(flat.size,), (first, flat.size // max(first, 1)), (1, flat.size, 1)]
        return flat.reshape(chance.choice(shapes))
    if how == 1:
        return flat[: chance.randrange(flat.size + 1)]
    if how == 2 and numbers.ndim:
        shape = list(numbers.shape)
        shape[chance.randrange(numbers.ndim)] = chance.choice(EDGES)
        return {"dtype": numbers.dtype.name, "shape": shape}
    if how == 3 and numbers.dtype == np.int64 and flat.size >= 3:  # the same sum modulo 2^64
        at, big = chance.sample(range(flat.size), 3), chance.choices(EDGES[-9:], k=2)
        flat[at] = [*big, (sum(flat[at].tolist()) - sum(big) + 2**63) % 2**64 - 2**63]
    elif how == 4 and flat.size >= 2:  # a small amount moved: sums and counts remain right
        a, b = chance.sample(range(flat.size), 2)
        flat[a], flat[b] = flat[a] - 1, flat[b] + 1
    else:
        for _ in range(chance.choice((1, 1, 2, flat.size)) if flat.size else 0):
            at = chance.randrange(flat.size)
            if not whole:
                flat[at] = chance.choice(FLOATS if how == 5 else (*PLAUSIBLE, chance.gauss(0, 10)))
            elif how == 5:
                limits = np.iinfo(flat.dtype)
                flat[at] = min(max(chance.choice(EDGES), int(limits.min)), int(limits.max))
            else:
                flat[at] += chance.choice((-1, 0, 1))
    return flat.reshape(numbers.shape)


def refused(error, kind):
    """Return the kind of a refusal; an AssertionError if it is no clear one."""
    if error.exit_code != 2 or "\n" in str(error):
        raise AssertionError(f"not one line with status 2: {error}") from error
    return f"{type(error).__name__} {re.sub(r'[0-9]+', '', kind)[:60]}"


def use_model(text):
    """Load a model, describe it and predict: accept a SvmfastError, or finite values in little memory."""
    text = resealed(text)  # otherwise nearly all would end at the checksum
    try:
        model = open_model(text).model
        describe_model(model)
        exact = getattr(model, "embedded_exact", None)
        answered = answer(model, ROWS, exact=None if model.head.is_regression else exact)
        values, labels = model.decision_values(ROWS), answered.predicted
        if missing_probability(model) is None:
            shares = answer(model, ROWS, columns=Columns(probability=True)).probabilities
            shares = np.empty(0) if shares is None else shares  # a regression has none for a row
            assert ((shares >= 0) & (shares <= 1 + 1e-9)).all(), f"probabilities {shares}"
        if model.certifies:
            bounds = answer(model, ROWS, columns=Columns(certify=True)).error_bounds
            assert bounds is not None
            assert (bounds >= 0).all(), f"error bounds {bounds}"
    except SvmfastError as error:
        return refused(error, str(error))
    if not isinstance(model, KernelExpansion):  # LIBSVM's models answer as svm-predict does
        assert np.isfinite(values).all(), f"decision values {values}"
        assert np.isfinite(labels).all(), f"labels {labels}"
    return f"svmfast-model {model.kind}"


def seeds():
    """Return small models of every kind: frozen ones, and some that once caused faults (attacks)."""
    paths = [*sorted(FROZEN.glob("*/*.model")), *sorted((ROOT / "tests/robustness/attacks").glob("*.model"))]
    texts = [path.read_bytes() for path in paths]
    return [text for text in texts if text.startswith(b"svmfast-model") and len(text) < 8000]
