"""The format of model files, by docs/model-format.md: older files are read, changed ones are refused."""

import csv

import numpy as np
import pytest
from command import svmfast
from meaning import FROZEN
from program import FIXTURES
from sealing import resealed, unpacked

from svmfast.errors import ModelFormatError
from svmfast.formats.container import MAJOR, MINOR
from svmfast.formats.model_files import open_model
from svmfast.models.base import KINDS


def listed():
    """Return every frozen model and the data on which it was predicted."""
    found = []
    for table in sorted(FROZEN.glob("*/COMMANDS.tsv")):
        with table.open(newline="") as lines:
            rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
            found += [(table.parent / f"{row['model']}.model", row["data"]) for row in rows]
    return found


MODELS = listed()


@pytest.mark.parametrize(("path", "data"), MODELS, ids=[f"{p.parent.name}-{p.stem}" for p, _ in MODELS])
def test_a_frozen_model_predicts_as_it_did(path, data):
    done = svmfast("predict", "-q", "--decision-values", "--no-fallback", FIXTURES / data, path)
    assert (done.returncode, done.stderr) == (0, b"")
    then, now = path.with_suffix(".values").read_bytes().splitlines(), done.stdout.splitlines()
    assert now[0] == then[0]
    expected, got = (np.array([line.split() for line in lines[1:]], dtype=float) for lines in (then, now))
    # A later version may sum in another order; the labels must be the same.
    assert np.allclose(got, expected, rtol=1e-12, atol=1e-12)


def test_every_kind_and_every_version_is_frozen():
    """A model is of the version of its folder or older."""
    kinds, versions = set(), set()
    for path, _ in MODELS:
        text = path.read_bytes()
        assert open_model(path).warnings == ()
        if text.startswith(b"svmfast-model"):
            version, newest = text.split()[1].decode(), path.parent.name
            assert version.split(".")[0] == newest.split(".")[0]
            assert int(version.split(".")[1]) <= int(newest.split(".")[1])
            versions.add(version)
            kinds.add(unpacked(text)["kind"])
    assert kinds == set(KINDS), "freeze a model: scripts/fixtures/freeze.py"
    assert versions == {f"{MAJOR}.{minor}" for minor in range(MINOR + 1)}


def test_no_damaged_byte_goes_unnoticed():
    text = (FROZEN / "1.0/polynomial_one_class.model").read_bytes()
    for at in range(len(b"svmfast-model"), len(text)):
        damaged = text[:at] + bytes([text[at] ^ (1 << at % 8)]) + text[at + 1 :]
        try:
            loaded = open_model(damaged)
        except ModelFormatError:
            continue
        assert loaded.warnings
        assert resealed(damaged) == damaged  # only the minor version is another
