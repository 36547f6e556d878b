"""Build docs/ as a site: the pages themselves, and the reference generated from the program.

    python scripts/site/build.py FOLDER

FOLDER/source contains Sphinx's input: copies of the pages, so that nothing is generated into docs/, and the
reference. FOLDER/html is the site. A warning of Sphinx, such as a broken link or a page that is in no table
of contents, is an error.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import commands
import files
import python_api
from markdown import contents, linked
from sphinx.cmd.build import build_main

ROOT = Path(__file__).resolve().parents[2]
#: Pages from the top of the repository, where readers expect them.
ALSO = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "SECURITY.md": "security.md"}

#: Pages that only the site has, listed in the section of the index named here.
GENERATED = {
    "Reference": {
        "reference/commands.md": "Commands, with all options",
        "reference/python.md": "Python functions and classes",
        "reference/model-kinds.md": "Parts of each kind of model",
        "reference/report-keys.md": "Keys of the JSON reports",
    }
}


def with_contents(index: str) -> str:
    """Return the index with Sphinx's tables of contents: for each section, the pages that it links.

    The page in the repository has links only, which work wherever it is read.
    """
    for name, page in ALSO.items():
        index = index.replace(f"(../{name})", f"({page})")
    top, *sections = re.split(r"^## ", index, flags=re.MULTILINE)
    parts = [top]
    for section in sections:
        title = section.split("\n", 1)[0]
        more = "".join(f"- [{text}]({page})\n" for page, text in GENERATED.get(title, {}).items())
        pages = re.findall(r"^- .*?\[[^]]*\]\(([\w/-]+)\.md\)", section + more, re.MULTILINE)
        hidden = contents(pages).replace(":maxdepth", f":caption: {title}\n:hidden:\n:maxdepth")
        parts.append(f"## {section.rstrip()}\n{more}\n{hidden}\n")
    return "".join(parts)


def stage(source: Path) -> None:
    """Write Sphinx's input to the folder `source`."""
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(ROOT / "docs", source)
    index = source / "index.md"
    index.write_text(with_contents(index.read_text()))
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
