"""Runs of ``svmfast frontier`` with short timing."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from command import svmfast
from program import data, model

BREAST = (model("breast_c_rbf"), "--data", data("breast.train"))
TEST = ("--test", data("breast.test"))


def frontier(
    cwd: Path, *words: Any, out: str = "dir", shortened: bool = True
) -> subprocess.CompletedProcess[bytes]:
    limit = () if "--time-limit" in words else ("--time-limit", "20")
    return svmfast("frontier", *words, *limit, "-o", out, cwd=cwd, shortened=shortened)


def report(cwd: Path, out: str = "dir") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((cwd / out / "report.json").read_text())
    return found


def points(cwd: Path, out: str = "dir") -> dict[str, dict[str, Any]]:
    """The figures of each model, by its name."""
    return {found["name"]: found for found in report(cwd, out)["models"]}
