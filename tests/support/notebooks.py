"""Runs a notebook's cells; python tests/support/notebooks.py FILE also writes the outputs into the file."""

import ast
import json
import sys
from pathlib import Path


def outputs_of(notebook):
    """Run the code cells in one namespace; return the text and HTML of the last expression of each."""
    namespace, found = {}, []
    for cell in (one for one in notebook["cells"] if one["cell_type"] == "code"):
        tree = ast.parse("".join(cell["source"]))
        last = ast.Expression(tree.body.pop().value)
        exec(compile(tree, "cell", "exec"), namespace)
        value = eval(compile(last, "cell", "eval"), namespace)
        found.append({"text/plain": repr(value), "text/html": value._repr_html_()})
    return found


if __name__ == "__main__":
    path = Path(sys.argv[1])
    notebook = json.loads(path.read_text())
    cells = [one for one in notebook["cells"] if one["cell_type"] == "code"]
    for number, (cell, shown) in enumerate(zip(cells, outputs_of(notebook), strict=True), 1):
        about = {"output_type": "execute_result", "execution_count": number, "metadata": {}}
        cell |= {"execution_count": number, "outputs": [{**about, "data": shown}]}
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
