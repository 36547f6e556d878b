"""Class weights by label and balanced."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command import svmfast
from sklearn.utils.class_weight import compute_class_weight

COMMANDS = {
    "train": (),
    "budget-train": ("-B", "10"),
    "linear": (),
    "meka": ("--task", "svc", "--clusters", "2"),
    "dcpred": ("--task", "svc", "--clusters", "2"),
}


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with a rare class."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 2))
    words = np.where(x[:, 0] + rng.normal(size=120) > 1.5, "rare", "common")
    path = tmp_path_factory.mktemp("weights") / "rows.csv"
    lines = [f"{word},{a:.6g},{b:.6g}" for word, (a, b) in zip(words, x, strict=True)]
    path.write_text("\n".join(["label,a,b", *lines]) + "\n")
    return path


def words_of(path: Path) -> list[str]:
    return [line.split(",")[0] for line in path.read_text().splitlines()[1:]]


@pytest.mark.parametrize("command", COMMANDS)
def test_balanced_stands_for_labels(command: str, rows: Path, tmp_path: Path) -> None:
    def made(*weights: str) -> bytes:
        done = svmfast(command, *weights, rows, *COMMANDS[command], "-o", tmp_path / "model")
        assert done.returncode == 0, done.stderr
        return (tmp_path / "model").read_bytes()

    labels = words_of(rows)
    common, rare = compute_class_weight("balanced", classes=np.array(["common", "rare"]), y=labels).tolist()
    balanced = made("-w", "balanced")
    assert balanced == made("-w0", repr(common), "-w1", repr(rare))
    assert balanced != made()


def test_a_label_without_rows_is_a_warning(rows: Path, tmp_path: Path) -> None:
    done = svmfast("train", "-w7", "5", rows, tmp_path / "model")
    warning = "no row has label 7, which has a weight"
    assert f"svmfast: warning: {rows}: {warning}" in done.stderr.decode().splitlines()
