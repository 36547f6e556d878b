"""Build docs/ as a site: the pages themselves, and the reference generated from the program.

    python scripts/site/build.py FOLDER

FOLDER/source contains Sphinx's input: copies of the pages, so that nothing is generated into docs/, and the
reference. FOLDER/html is the site. A warning of Sphinx, such as a broken link or a page that is in no table
of contents, is an error.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import commands
import files
import python_api
from markdown import linked
from sphinx.cmd.build import build_main

ROOT = Path(__file__).resolve().parents[2]
#: Pages from the top of the repository, where readers expect them.
ALSO = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "SECURITY.md": "security.md"}


def stage(source: Path) -> None:
    """Write Sphinx's input to the folder `source`."""
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(ROOT / "docs", source)
    for name, page in ALSO.items():
        (source / page).write_text(linked((ROOT / name).read_text(), ""))
    reference = source / "reference"
    for name, text in {**commands.pages(), **python_api.pages(), **files.pages(source)}.items():
        path = reference / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def main(folder: Path) -> int:
    """Build the site in `folder` and return the exit status."""
    source, html = folder / "source", folder / "html"
    stage(source)
    # The generated help must not depend on the terminal.
    os.environ["COLUMNS"] = "100"
    options = ["-b", "html", "-E", "-W", "--keep-going", "-q", "-c", str(Path(__file__).parent)]
    status = build_main([*options, "-d", str(folder / "doctrees"), str(source), str(html)])
    if status == 0:
        print(html / "index.html")
    return status


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} FOLDER")
    sys.exit(main(Path(sys.argv[1]).resolve()))
