"""Runs of ``svmfast frontier`` with short timing."""

import json

from command import svmfast
from program import data, model

BREAST = (model("breast_c_rbf"), "--data", data("breast.train"))
TEST = ("--test", data("breast.test"))


def frontier(cwd, *words, out="dir", shortened=True):
    limit = () if "--time-limit" in words else ("--time-limit", "20")
    return svmfast("frontier", *words, *limit, "-o", out, cwd=cwd, shortened=shortened)


def report(cwd, out="dir"):
    return json.loads((cwd / out / "report.json").read_text())


def points(cwd, out="dir"):
    """The figures of each model, by its name."""
    return {found["name"]: found for found in report(cwd, out)["models"]}
