"""svmfast's model text: round trips, refusal of broken files, and identical bytes for equal content."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from sealing import resealed

from svmfast import errors
from svmfast.formats.container import MAJOR, MINOR, container_bytes, parse_container
from svmfast.formats.detect import load_model, model_bytes, open_model, save_model
from svmfast.formats.libsvm_model import libsvm_model_bytes
from svmfast.models import base
from svmfast.models.base import ArrayField, Record, ScalarField, Schema
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.rows import Rows

ROOT = Path(__file__).parents[2]
CURRENT = f"{MAJOR}.{MINOR}"
EXACT_TEXT = (ROOT / "fixtures" / "models" / "tie_one_class.model").read_bytes()


@dataclass(frozen=True, eq=False)
class Sample(base.Model):
    """A kind that uses everything a container can hold."""

    head: Head
    scalars: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    embedded: dict[str, KernelExpansion]

    kind: ClassVar[str] = "sample"
    n_features: ClassVar[int] = 3
    working_bytes: ClassVar[int] = 0
    schema: ClassVar[Schema] = Schema(
        scalars=(
            *base.HEAD_SCALARS,
            ScalarField("order", "int"),
            ScalarField("gamma", "float"),
            ScalarField("note", "text", optional=True),
        ),
        arrays=(
            *base.HEAD_ARRAYS,
            ArrayField("centre", "float64", 1),
            ArrayField("counts", "int64", 2),
            ArrayField("columns", "int32", 1, optional=True),
        ),
        embedded=("exact",),
    )

    def decision_values(self, rows: Rows, *, threads: int = 1) -> NDArray[np.float64]:
        return np.zeros((len(rows), self.head.n_functions))

    def to_record(self) -> Record:
        head = base.record_of(self)
        scalars, arrays = {**head.scalars, **self.scalars}, {**head.arrays, **self.arrays}
        return Record("sample", {"seed": "1"}, scalars, arrays, self.embedded)

    @classmethod
    def from_record(cls, record: Record) -> Sample:
        head_scalars, head_arrays = (
            {f.name for f in fields} for fields in (base.HEAD_SCALARS, base.HEAD_ARRAYS)
        )
        return cls(
            base.head_of(record),
            {k: v for k, v in record.scalars.items() if k not in head_scalars},
            {k: v for k, v in record.arrays.items() if k not in head_arrays},
            dict(record.embedded),
        )


@pytest.fixture(autouse=True, scope="module")
def _sample_kind() -> Any:
    base.KINDS["sample"] = f"{__name__}:Sample"
    yield
    del base.KINDS["sample"]


TEXT = b"""svmfast-model 1.0
kind sample
source sha256:00ff
method approximate
parameters --order 2 --center mean
seed 7
svm_type c_svc
order 3
gamma 0.1
note two  blanks
array label int64 2
1 -1
array probA float64 1
-1.5
array probB float64 1
0.25
array centre float64 3
0.1 -0 1e-300
array counts int64 2 3
1 2 3
-4 5 9223372036854775807
array columns int32 0
embedded exact bytes %d
%schecksum sha256:157b2db44fd5a73908633984237a27097dcaaaf5e414f91c71d129d2b5e470b8
end
""" % (len(EXACT_TEXT), EXACT_TEXT)


def test_a_file_round_trips_byte_for_byte() -> None:
    record, warnings = parse_container(TEXT, "m")
    assert warnings == []
    assert record.provenance == {
        "source": "sha256:00ff",
        "method": "approximate",
        "parameters": "--order 2 --center mean",
        "seed": "7",
    }
    assert record.scalars == {"svm_type": "c_svc", "order": 3, "gamma": 0.1, "note": "two  blanks"}
    np.testing.assert_array_equal(record.arrays["counts"], [[1, 2, 3], [-4, 5, 2**63 - 1]])
    assert [(name, a.dtype.name, a.shape) for name, a in record.arrays.items()] == [
        ("label", "int64", (2,)), ("probA", "float64", (1,)), ("probB", "float64", (1,)),
        ("centre", "float64", (3,)), ("counts", "int64", (2, 3)), ("columns", "int32", (0,)),
    ]  # fmt: skip
    assert libsvm_model_bytes(record.embedded["exact"]) == EXACT_TEXT
    assert container_bytes(record) == TEXT


def test_a_model_through_a_file(tmp_path: Path) -> None:
    model = load_model(TEXT)
    assert isinstance(model, Sample)
    assert model.head.has_probability
    provenance = {"source": "sha256:11", "seed": "8"}
    size = save_model(model, tmp_path / "m", provenance=provenance)
    loaded = open_model(tmp_path / "m")
    assert (len(loaded.text), loaded.format, loaded.provenance) == (size, "svmfast-model", provenance)
    assert model_bytes(loaded.model, provenance) == loaded.text


def test_line_ends_may_be_carriage_return_and_line_feed() -> None:
    text = container_bytes(replace(parse_container(TEXT, "m")[0], embedded={}))
    assert container_bytes(parse_container(text.replace(b"\n", b"\r\n"), "m")[0]) == text
    assert container_bytes(parse_container(text[:-1], "m")[0]) == text


def test_a_newer_minor_version_is_a_warning() -> None:
    newer = f"{MAJOR}.{MINOR + 1}"
    record, warnings = parse_container(TEXT.replace(b"1.0", newer.encode(), 1), "m")
    message = f"m:1: format version {newer} is newer than {CURRENT}, which this svmfast supports"
    assert warnings == [message]
    assert container_bytes(record) == TEXT


def table() -> list[list[str]]:
    """Return the rows of bad/containers.tsv: what in TEXT is replaced, by what, error, message."""
    lines = (
        (ROOT / "tests" / "robustness" / "bad" / "containers.tsv")
        .read_text(encoding="ascii")
        .splitlines()[1:]
    )
    return [[cell.encode().decode("unicode_escape") for cell in line.split("\t")] for line in lines]


BROKEN = table()


@pytest.mark.parametrize(("old", "new", "message"), BROKEN, ids=[f"{o!r}-{n!r}" for o, n, _ in BROKEN])
def test_a_broken_file_is_refused_with_its_own_message(old: str, new: str, message: str) -> None:
    assert old.encode() in TEXT
    text = TEXT.replace(old.encode(), new.encode("utf-8", "surrogateescape"), 1)
    with pytest.raises(errors.ModelFormatError) as caught:
        open_model(NamedBytes(text))
    last = TEXT.count(b"\n")
    facts = {
        "kinds": " ".join(base.KINDS), "size": len(EXACT_TEXT), "rest": len(EXACT_TEXT) + 85, "last": last,
        "after": last + 1, "left": len(text) - text.find(b"\n0.1 -0") - 1,
        "current": CURRENT,
    }  # fmt: skip
    assert str(caught.value) == message.format(**facts)


class NamedBytes:
    """A file object called "m"."""

    name = "m"

    def __init__(self, data: bytes) -> None:
        self.data = data

    def read(self, size: int) -> bytes:
        head, self.data = self.data[:size], self.data[size:]
        return head


@pytest.mark.parametrize("kind", sorted(base.KINDS))
def test_the_names_of_a_kind_do_not_collide(kind: str) -> None:
    schema = base.model_class(kind).schema
    names = [f.name for f in schema.scalars] + [f.name for f in schema.arrays] + list(schema.embedded)
    names += ["kind", "array", "embedded", "checksum", "end", *base.PROVENANCE]
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) for name in names)


FLOATS = st.floats(allow_nan=False, allow_infinity=False)
PLAIN_TEXT = st.text(st.characters(categories=["L", "N", "P", "Zs"]), min_size=1).filter(
    lambda t: t == t.strip() and t.isprintable()
)


def arrays(dtype: str, shape: Any) -> Any:
    elements = {"elements": FLOATS} if dtype == "float64" else {}
    return hnp.arrays(dtype, shape, **elements)


@settings(max_examples=150, deadline=None)
@given(
    st.dictionaries(st.sampled_from(base.PROVENANCE), PLAIN_TEXT),
    st.integers(-(2**63), 2**63 - 1),
    FLOATS,
    st.none() | PLAIN_TEXT,
    arrays("float64", st.integers(0, 40)),
    arrays("int64", hnp.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=6)),
    st.none() | arrays("int32", st.integers(0, 20)),
)
def test_any_record_round_trips(
    provenance: dict[str, str],
    order: int,
    gamma: float,
    note: str | None,
    centre: Any,
    counts: Any,
    columns: Any,
) -> None:
    scalars = {"svm_type": "nu_svr", "order": order, "gamma": gamma, **({"note": note} if note else {})}
    parts = {"centre": centre, "counts": counts, **({} if columns is None else {"columns": columns})}
    text = container_bytes(Record("sample", provenance, scalars, parts))
    again = parse_container(text, "m")[0]
    assert again.provenance == provenance
    assert again.scalars == scalars
    assert again.arrays.keys() == parts.keys()
    for name, part in parts.items():
        assert again.arrays[name].dtype == part.dtype
        assert again.arrays[name].shape == part.shape
        assert again.arrays[name].tobytes() == part.tobytes()
    assert container_bytes(again) == text


PIECES = [b"", b" ", b"\n", b"0", b"-", b"9999999999", b"\0", b"\xff", b"nan", b"array "]


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_no_damage_crashes_or_passes_for_something_else(data: st.DataObject) -> None:
    text = bytearray(TEXT)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        piece = data.draw(
            st.sampled_from([b"", b" ", b"\n", b"0", b"-", b"9999999999", b"\0", b"\xff", b"nan", b"array "])
        )
        text[at : at + data.draw(st.sampled_from([0, 0, 1, 5]))] = piece
    try:
        record = parse_container(resealed(bytes(text)), "m")[0]
    except errors.ModelFormatError:
        return
    once = container_bytes(record)
    assert container_bytes(parse_container(once, "m")[0]) == once


@settings(max_examples=150, deadline=None)
@given(st.integers(0, len(TEXT) - 2))
def test_truncation_is_always_noticed(cut: int) -> None:
    with pytest.raises(errors.ModelFormatError):
        parse_container(TEXT[:cut], "m")


GOOD = {
    "scalars": {"svm_type": "nu_svr", "order": 1, "gamma": 1.0},
    "arrays": {"centre": np.zeros(1), "counts": np.zeros((1, 1), np.int64)},
}


ONE_LINE = "expected one line of printable text, no blanks around it"
PROVENANCE_KEYS = "source data method parameters seed arithmetic"
ARRAYS = "label probA probB prob_density_marks centre counts columns"


@pytest.mark.parametrize(
    ("part", "name", "value", "message"),
    [
        ("provenance", "host", "here", f"not one of the kind's provenance; expected {PROVENANCE_KEYS}"),
        ("provenance", "seed", "a\nb", f"not storable ('a\\nb'); {ONE_LINE}"),
        ("provenance", "seed", "", f"not storable (''); {ONE_LINE}"),
        ("provenance", "seed", " 7", f"not storable (' 7'); {ONE_LINE}"),
        ("scalars", "order", 1.5, "not storable ('1.5'); expected a 64-bit integer"),
        ("scalars", "order", 2**63, f"not storable ('{2**63}'); expected a 64-bit integer"),
        ("scalars", "gamma", np.inf, "not storable ('inf'); expected a finite number"),
        ("scalars", "width", 1, "not one of the kind's scalars; expected svm_type decision order gamma note"),
        ("scalars", "gamma", None, "missing; expected a value"),
        ("arrays", "centre", np.array([np.nan]), "nan or inf among the numbers; expected finite numbers"),
        (
            "arrays",
            "centre",
            np.zeros((1, 1)),
            "an array of float64 with 2 dimension(s); expected float64 with 1",
        ),
        (
            "arrays",
            "counts",
            np.zeros((1, 1)),
            "an array of float64 with 2 dimension(s); expected int64 with 2",
        ),
        ("arrays", "other", np.zeros(1), f"not one of the kind's arrays; expected {ARRAYS}"),
    ],
)
def test_records_that_could_not_be_read_are_not_written(
    part: str, name: str, value: Any, message: str
) -> None:
    parts: dict[str, Any] = {"provenance": {}, **GOOD}
    parts[part] = {k: v for k, v in {**parts[part], name: value}.items() if v is not None}
    with pytest.raises(errors.ModelContentError) as caught:
        container_bytes(Record("sample", **parts))
    assert str(caught.value) == f"{name}: {message}"
