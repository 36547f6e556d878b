"""The sessions of README.md and the tutorial print what they show; all pages have right links and tables."""

import doctest
import os
import re
import shutil
import subprocess
import sys

import pytest
from program import PROGRAM, ROOT, data, model

from svmfast.cli import main

README, TUTORIAL = ((ROOT / page).read_text() for page in ("README.md", "docs/tutorial.md"))
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]
BLOCK = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
#: Times, speeds and the number of cores differ from run to run.
CLOCK = re.compile(
    r"~?[\d.]+(?=x( |$))|[\d.]+(?= s$)|\d+ threads?(; speed-ups of processor time)?", re.MULTILINE
)
NUMBER = re.compile(r"\b\d{1,3}(?:,\d{3})+\b|\b[\d.]+%|\b\d+(?= \()")


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def sessions(text):
    """Return each command line of a page's sessions, and its output."""
    return re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", "".join(blocks(text, "console")), re.MULTILINE)


def rounded(found, shown, near):
    """Return `found` with the numbers of `shown` that differ a little: last digits depend on the machine.

    A size such as 2,813 may differ by a share of `near`, a percentage by 0.05, a number of labels by one.
    """
    wanted = iter(NUMBER.findall(shown))

    def number(match):
        mine, there = match[0], next(wanted, match[0])
        one, other = (float(re.sub("[,%]", "", text)) for text in (mine, there))
        return (
            there
            if abs(one - other) <= (near * other if "," in there else 0.05 if "%" in there else 1)
            else mine
        )

    return NUMBER.sub(number, found)


def walk(text, folder, least, *, remarks=True, near=0.01):
    """Run a page's sessions, at least so many lines, and compare their output."""
    path = os.pathsep.join([str(PROGRAM.parent), os.environ["PATH"]])
    environment, same = {**os.environ, "PATH": path}, doctest.OutputChecker().check_output
    assert len(sessions(text)) >= least
    for line, shown in sessions(text):
        words = ["bash", "-c", f"({line}) 2>&1"]
        done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, (line, done.stdout)
        printed = done.stdout if remarks else re.sub(r"(?m)^svmfast: .*\n", "", done.stdout)
        shown = CLOCK.sub("#", shown)
        found = rounded(CLOCK.sub("#", printed), shown, near)
        assert same(shown, found, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE), (line, printed)


def test_the_session_of_the_readme_is_real(tmp_path):
    shutil.copy(model("photos_c_rbf"), tmp_path / "photos.model")
    for name in ("photos.train", "photos.test"):
        shutil.copy(data(name), tmp_path)
    walk(README, tmp_path, 5)


@pytest.mark.nightly
def test_the_walks_of_the_tutorial_are_real(tmp_path):
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    first, _, rest = TUTORIAL.partition("## From a CSV to a fast model")
    walk(first, tmp_path, 8, remarks=False)
    second = rest.partition("## Anomaly detection")[0]
    subprocess.run([sys.executable, "-c", *blocks(second, "python")], cwd=tmp_path, check=True)
    walk(second, tmp_path, 8, near=0.1)  # it has an optimized model


def test_the_readme_names_every_command():
    assert not [name for name in main.commands() if f"`{name}`" not in README]


def test_paths_named_in_the_documents_exist():
    """A name with a part to fill in, such as `<name>`, is none."""
    named = re.compile(r"\b(?:docs|scripts|fixtures|tests|svmfast)/[\w./-]*\w(?![\w/<-])")
    found = {path for page in (*PAGES, ROOT / "scripts/sanitize") for path in named.findall(page.read_text())}
    assert not [path for path in found if not (ROOT / path).exists()]


def anchors(page):
    """Return the anchors of a page's headings, as GitHub and the site make them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-") for text in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_work_in_the_repository(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", BLOCK.sub("", page.read_text())):
        name, _, anchor = link.partition("#")
        if "://" not in link:
            target = page.parent / name if name else page
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_row_of_a_table_has_the_cells_of_its_header(page):
    """Markdown takes every line up to the next blank one as a row, however it begins."""
    for paragraph in re.split(r"\n\s*\n", BLOCK.sub("", page.read_text())):
        lines = [line for line in paragraph.splitlines() if not line.startswith("<!--")]
        first = next((i for i, line in enumerate(lines) if line.startswith("| ")), len(lines))
        assert not [line for line in lines[:first] if line.endswith(" |")], paragraph
        table = lines[first:]
        assert not table or re.fullmatch(r"\|( *:?-+:? *\|)+", table[1]), table[0]
        cells = [len(re.findall(r"(?<!\\)\|", line)) for line in table]
        for line, count in zip(table, cells, strict=True):
            assert (line[0], line[-1], count) == ("|", "|", cells[0]), line


def test_the_index_links_every_page():
    linked = set(re.findall(r"\]\(([\w-]+\.md)\)", (ROOT / "docs" / "index.md").read_text()))
    assert linked == {page.name for page in (ROOT / "docs").glob("*.md")} - {"index.md"}


def test_scripts_have_valid_syntax():
    for path in (one for one in (ROOT / "scripts").iterdir() if one.is_file() and one.suffix != ".py"):
        assert subprocess.run(["bash", "-n", path]).returncode == 0
        if path.suffix != ".sh":  # which others read
            assert path.stat().st_mode & 0o111
            assert "set -euo pipefail" in path.read_text()
