"""``svmfast frontier`` on a folder with damaged records: one line, or the figures measured again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from program import data, model, svmfast

from svmfast.cli.main import run

ARGUMENTS = [
    *(str(model("breast_c_rbf")), "--data", str(data("breast.train")), "--test", str(data("breast.test"))),
    *("--methods", "linear", "-q", "-o"),
]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run."""
    folder = tmp_path_factory.mktemp("frontier") / "dir"
    assert svmfast("frontier", *ARGUMENTS, folder).returncode in (0, 1)
    return folder


@pytest.mark.parametrize(
    "damage",
    [
        lambda record: b"{}",
        lambda record: json.dumps({**record, "row": {}}).encode(),
        lambda record: json.dumps({**record, "row": {**record["row"], "accuracy": 100.0}}).encode(),
        lambda record: b"x",
        lambda record: b"[" * 200_000,
    ],
    ids=["empty", "no figures", "another figure", "no JSON", "too deep"],
)
@pytest.mark.parametrize("name", ["exact", "linear"])
def test_a_damaged_record_is_refused_or_made_again(
    name: str, damage: Any, finished: Path, tmp_path: Path
) -> None:
    shutil.copytree(finished, tmp_path / "dir")
    place = tmp_path / "dir" / "records" / f"{name}.json"
    whole = json.loads(place.read_text())
    place.write_bytes(damage(whole))
    arguments = [*ARGUMENTS, str(tmp_path / "dir")]
    status = run(["frontier", *arguments])
    if place.read_bytes().startswith((b"x", b"[")):
        assert status == 2
    else:
        assert status in (0, 1)
        assert json.loads(place.read_text())["row"]["accuracy"] == whole["row"]["accuracy"]
