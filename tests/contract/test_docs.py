"""The commands of the README work."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from printed import with_sizes_of
from program import PROGRAM, ROOT, data, model

from svmfast.cli import main

README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


#: Times, speeds and the number of cores differ from run to run.
CLOCK = re.compile(
    r"~?[\d.]+(?=x( |$))|[\d.]+(?= s$)|\d+ threads?(; speed-ups of processor time)?", re.MULTILINE
)


def sessions() -> list[tuple[str, str]]:
    """Return each command line of the README's sessions, and its output."""
    found = []
    for block in blocks("console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, printed = part.partition("\n")
            found.append((line, printed))
    return found


def test_the_session_of_the_readme_is_real(tmp_path: Path) -> None:
    shutil.copy(model("photos_c_rbf"), tmp_path / "photos.model")
    for name in ("photos.train", "photos.test"):
        shutil.copy(data(name), tmp_path)
    environment = {**os.environ, "PATH": f"{Path(PROGRAM).parent}{os.pathsep}{os.environ['PATH']}"}
    assert len(sessions()) >= 5
    for line, printed in sessions():
        words = ["bash", "-c", f"({line}) 2>&1"]
        done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, (line, done.stdout)
        found, shown = CLOCK.sub("#", done.stdout), CLOCK.sub("#", printed)
        assert with_sizes_of(found, shown).split() == shown.split(), line


def test_the_picture_of_the_session_shows_the_session() -> None:
    """Every line of the terminal, except continued commands, is in the README."""
    picture = ElementTree.parse(ROOT / "docs/figures/session.svg")
    drawn = "\n".join("".join(one.itertext()) for one in picture.iter("{http://www.w3.org/2000/svg}text"))
    written = "\n".join(f"$ {line}\n{printed}" for line, printed in sessions())
    assert drawn.replace("&&\n> ", "&& ").split() == written.split()


def test_the_readme_names_every_command() -> None:
    for name in main.commands():
        assert f"`{name}`" in README, f"README.md does not name `{name}`"


def test_paths_named_in_the_documents_exist() -> None:
    """A name with a part to fill in, such as `<name>`, is none."""
    for page in (*PAGES, ROOT / "scripts" / "sanitize"):
        found = r"\b(?:docs|scripts|fixtures|tests|svmfast)/[\w./-]*\w(?![\w/<-])"
        for path in re.findall(found, page.read_text()):
            assert (ROOT / path).exists(), (page.name, path)


PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and the site make them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-") for text in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_work_in_the_repository(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        name, _, anchor = link.partition("#")
        if "://" in link:
            continue
        target = page.parent / name if name else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_row_of_a_table_has_the_cells_of_its_header(page: Path) -> None:
    """Markdown takes every line up to the next blank one as a row, however it begins."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for paragraph in re.split(r"\n\s*\n", text):
        lines = [line for line in paragraph.splitlines() if not line.startswith("<!--")]
        first = next((i for i, line in enumerate(lines) if line.startswith("| ")), len(lines))
        assert not [line for line in lines[:first] if line.endswith(" |")], paragraph
        table = lines[first:]
        if table:
            assert re.fullmatch(r"\|( *:?-+:? *\|)+", table[1]), table[0]
        cells = [len(re.findall(r"(?<!\\)\|", line)) for line in table]
        for line, number in zip(table, cells, strict=True):
            assert (line[0], line[-1], number) == ("|", "|", cells[0]), line


def test_the_index_links_every_page() -> None:
    linked = set(re.findall(r"\]\(([\w-]+\.md)\)", (ROOT / "docs" / "index.md").read_text()))
    assert linked == {page.name for page in (ROOT / "docs").glob("*.md")} - {"index.md"}


@pytest.mark.parametrize(
    "script",
    ["demo", "docs", "test", "_venv.sh", "cross", "matrix", "nightly", "sanitize", "stubs", "warnings"],
)
def test_scripts_have_valid_syntax(script: str) -> None:
    path = ROOT / "scripts" / script
    assert subprocess.run(["bash", "-n", path]).returncode == 0
    if script != "_venv.sh":
        assert path.stat().st_mode & 0o111
        assert "set -euo pipefail" in path.read_text()
