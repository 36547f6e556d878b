"""Converts the pipelines of tests/pipelines.tsv, in memory and by skops, and says what becomes of each.

Run it with the interpreter of .venv. It ends with 1 if a label differs, or a value by more than 1e-9 of the
largest. Values of pairs of three or more classes and of thresholds are not compared.
"""

import sys
import tempfile
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/support"))
from pipelines import CASES, converted

warnings.simplefilter("ignore")
accepted = differing = 0
largest = 0.0
for data, expression, _ in CASES:
    with tempfile.TemporaryDirectory() as folder:
        found = converted(data, expression, Path(folder))
    if isinstance(found, str):
        print(f"refused   {data}: {expression}\n          {found}")
        continue
    accepted, differing, largest = accepted + 1, differing + found[0], max(largest, found[1] or 0.0)
    values = "" if found[1] is None else f", values by {found[1]:.1g}"
    print(f"accepted  {data}: {expression}: {found[0]} labels differ{values}")
print(f"{accepted} of {len(CASES)} accepted, {differing} labels differ, values by at most {largest:.1g}")
sys.exit(int(differing > 0 or largest > 1e-9))
