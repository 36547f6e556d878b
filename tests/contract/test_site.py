"""docs/ builds as a site without a warning, and the tutorial's first walk prints what the page shows."""

from __future__ import annotations

import doctest
import importlib.util
import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest
from printed import with_sizes_of
from program import PROGRAM, ROOT

from svmfast.cli import main

TUTORIAL, _, _ = (ROOT / "docs" / "tutorial.md").read_text().partition("## From a CSV")
PACKAGES = ("sphinx", "myst_parser", "furo")


# scripts/docs, a quick step of scripts/nightly, builds the site too.
pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"the docs extra is not installed: {', '.join(missing)}")
    folder = tmp_path_factory.mktemp("site")
    script = ROOT / "scripts" / "site" / "build.py"
    done = subprocess.run([sys.executable, script, folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "html"


def test_the_site_has_every_page_command_and_function(site: Path) -> None:
    for page in (ROOT / "docs").glob("*.md"):
        assert (site / f"{page.stem}.html").exists(), page
    text = (site / "reference" / "commands.html").read_text()
    for name in main.commands():
        assert f"Usage: svmfast {name}" in text
    text = (site / "reference" / "python.html").read_text()
    for name in (
        "predict",
        "dcpred",
        "Rows",
        "sklearn.FastSVC",
        "dask.predict",
        "errors.OptionError",
    ):
        assert f'id="svmfast.{name}"' in text, name


def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text()
        loaded = re.findall(r"<(?:script|img|link|iframe)\b[^>]*(?:src|href)=\"([^\"]*)\"", text)
        assert not [place for place in loaded if place.startswith(("http:", "https:", "//"))], page


def test_links_work_in_the_site(site: Path) -> None:
    pages = {page: page.read_text() for page in site.rglob("*.html")}
    ids = {page: set(re.findall(r"\bid=\"([^\"]+)\"", text)) for page, text in pages.items()}
    for page, text in pages.items():
        for link in re.findall(r"<a\b[^>]*\bhref=\"([^\"]*)\"", text):
            name, _, anchor = unquote(unescape(link)).partition("#")
            if "://" in link or not (name or anchor):
                continue
            target = (page.parent / name).resolve() if name else page
            assert target.exists(), (page, link)
            assert not anchor or target not in ids or anchor in ids[target], (page, link)


def test_the_index_links_the_pages_that_only_the_site_has(site: Path) -> None:
    text = (site / "index.html").read_text()
    body = text[text.index("<article") : text.index("</article>")]
    for name in ("reference/commands", "reference/python", "contributing", "tutorial", "certificate"):
        assert f'href="{name}.html"' in body, name


def steps() -> list[tuple[str, str]]:
    """Return the commands of the tutorial, each with its output on the page."""
    blocks = re.findall(r"^```console\n(.*?)^```", TUTORIAL, re.DOTALL | re.MULTILINE)
    found = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", "".join(blocks), re.MULTILINE)
    assert len(found) >= 8
    return found


def test_the_tutorial_prints_what_it_shows(tmp_path: Path) -> None:
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    environment = {**os.environ, "PATH": os.pathsep.join([str(PROGRAM.parent), os.environ["PATH"]])}
    same = doctest.OutputChecker().check_output
    for command, shown in steps():
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, (command, done.stderr)
        # Reports are on stderr, together with warnings and remarks.
        remarks = [line for line in done.stderr.splitlines(keepends=True) if not line.startswith("svmfast: ")]
        printed = done.stdout + "".join(remarks)
        options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        assert same(shown, with_sizes_of(printed, shown), options), f"$ {command}\n{printed}"
