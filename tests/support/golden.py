"""The fixtures and how each was made."""

import csv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2] / "fixtures"


def manifest():
    """Return MANIFEST.tsv's lines: file, bytes, sha256, tool, command."""
    with (ROOT / "MANIFEST.tsv").open(newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
