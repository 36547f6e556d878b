"""The fixtures and how each was made."""

import csv

from program import FIXTURES as ROOT


def manifest():
    """Return MANIFEST.tsv's lines: file, bytes, sha256, tool, command."""
    with (ROOT / "MANIFEST.tsv").open(newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def predictions():
    """Return the arguments of svm-predict's runs, by the last one, which is the file of its answers."""
    runs = (entry["command"].split() for entry in manifest())
    return {run[-1]: run[1:-1] for run in runs if run[0] == "svm-predict" and ">" not in run}
