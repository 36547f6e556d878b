"""Results in notebooks: what the command prints, as text and as HTML without scripts and colours."""

import json
import re
from xml.etree import ElementTree

import numpy as np
import pandas
import pytest
from command import svmfast as program
from notebooks import outputs_of
from program import FIXTURES, data, model
from sklearn.svm import SVC

import svmfast

EXACT, ROWS = model("iris_c_rbf_prob"), data("iris.test")
X = pandas.DataFrame(np.random.default_rng(0).normal(size=(200, 2)), columns=["<b>x", "y&amp;"])
NASTY = SVC(gamma=1).fit(X, np.where(X["<b>x"] > 0, "<script>", '"on"'))
PAIR = X, NASTY.predict(X)
#: Results, and the command that prints the same.
RESULTS = {
    "info": (lambda: svmfast.info(EXACT), ("info", EXACT)),
    "data": (lambda: svmfast.info(ROWS), ("info", ROWS)),
    "bound_check": (lambda: svmfast.bound_check(ROWS, model=EXACT), ("bound-check", ROWS, "--model", EXACT)),
    "compress": (lambda: svmfast.compress(EXACT, sv=9).report, ("compress", EXACT, "--sv", "9", "-o", "OUT")),
    "export": (lambda: svmfast.export(EXACT, "onnx"), ("export", EXACT, "-o", "OUT.onnx")),
    "compare": (lambda: svmfast.compare([NASTY, NASTY], X, repeats=1), ()),
    "predict": (lambda: svmfast.predict(NASTY, X), ()),
    "probabilities": (lambda: svmfast.predict(EXACT, ROWS, probability=True), ()),
    "model": (lambda: svmfast.from_sklearn(NASTY), ()),
    "result": (lambda: svmfast.compress(NASTY, sv=9), ()),
    "frontier": (lambda: svmfast.frontier(NASTY, PAIR, methods="linear", time_limit=9), ()),
}


def parsed(html):
    """The names of the elements, which must be closed, and the text."""
    tree = ElementTree.fromstring(f"<cell>{html}</cell>")
    return {one.tag for one in tree.iter()}, " ".join(" ".join(tree.itertext()).split())


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_what_its_command_prints(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make, command = RESULTS[name]
    result = make()
    html, printed = result._repr_html_(), repr(result)
    names, shown = parsed(html)
    assert not names & {"script", "b", "iframe", "img"}
    # The style of the chart has the colours of the text.
    colours = re.findall(r"#[0-9a-f]{3,8}\b|rgb\(|(?:fill|stroke|color)[:=] *\"?(\w+)", html)
    assert {*colours} <= {"none", "currentColor"}
    assert ("svg" in names) == (name == "frontier")
    assert not re.search(r"\w+\(\w+=", printed), "the fields of a dataclass"
    if command:
        done = program(*command)
        left_out = re.compile("(path|format|bytes|sha256|written|seconds|svmfast:) |$")
        lines = (done.stdout + done.stderr).decode().splitlines()
        heads = [line.split("  ")[0] for line in lines if not left_out.match(line)]
        assert heads
        assert all(head in shown and head in printed for head in heads)


@pytest.mark.nightly
def test_the_notebook_of_the_documentation(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((FIXTURES.parent / "docs" / "notebook.ipynb").read_text())
    stored = [one["outputs"] for one in notebook["cells"] if one["cell_type"] == "code"]
    for shown, kept in zip(outputs_of(notebook), stored, strict=True):
        assert shown.keys() == kept[0]["data"].keys() == {"text/plain", "text/html"}
        assert parsed(shown["text/html"])[0] == parsed(kept[0]["data"]["text/html"])[0]
