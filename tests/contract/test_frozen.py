"""Models written by earlier versions are read and predict as before, as docs/model-format.md requires."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from meaning import FROZEN
from program import FIXTURES, svmfast
from sealing import unpacked

from svmfast.formats.model_files import open_model
from svmfast.models.base import KINDS


def listed() -> list[tuple[Path, str]]:
    """Return every frozen model and the data on which it was predicted."""
    found = []
    for table in sorted(FROZEN.glob("*/COMMANDS.tsv")):
        with table.open(newline="") as lines:
            found += [
                (table.parent / f"{row['model']}.model", row["data"])
                for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
            ]
    return found


MODELS = listed()


@pytest.mark.parametrize(("path", "data"), MODELS, ids=[f"{p.parent.name}-{p.stem}" for p, _ in MODELS])
def test_a_frozen_model_predicts_as_it_did(path: Path, data: str) -> None:
    done = svmfast("predict", "-q", "--decision-values", "--no-fallback", FIXTURES / data, path)
    assert (done.returncode, done.stderr) == (0, b"")
    then = path.with_suffix(".values").read_bytes().splitlines()
    now = done.stdout.splitlines()
    assert now[0] == then[0]
    expected, got = (np.array([line.split() for line in lines[1:]], dtype=float) for lines in (then, now))
    # A later version may sum in another order; the labels must be the same.
    assert np.allclose(got, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("path", [p for p, _ in MODELS], ids=[f"{p.parent.name}-{p.stem}" for p, _ in MODELS])
def test_a_frozen_model_is_of_the_version_of_its_folder_or_older(path: Path) -> None:
    loaded = open_model(path)
    assert loaded.warnings == ()
    if loaded.format == "svmfast-model":
        major, minor = path.read_bytes().split()[1].decode().split(".")
        newest_major, newest_minor = path.parent.name.split(".")
        assert major == newest_major
        assert int(minor) <= int(newest_minor)


def test_every_kind_and_every_version_is_frozen() -> None:
    kinds, versions = set(), set()
    for path, _ in MODELS:
        text = path.read_bytes()
        if text.startswith(b"svmfast-model"):
            versions.add(text.split()[1].decode())
            kinds.add(unpacked(text)["kind"])
    assert kinds == set(KINDS), "freeze a model: scripts/fixtures/freeze.py"
    from svmfast.formats.container import MAJOR, MINOR

    expected = {f"{MAJOR}.{minor}" for minor in range(MINOR + 1)}
    assert versions == expected, "MINOR in svmfast/formats/container.py"
