"""Reports as HTML pages: complete, without network access, escaped, and working in a real browser."""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from svmfast.pages.page import page, table, text
from svmfast.pages.scatter import Mark, scatter

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
VOID = {"meta", "link", "br", "circle", "line", "rect", "polyline", "img"}
HOSTILE = '</title><script>alert(1)</script>"&\x1b[31m'


class Balance(HTMLParser):
    """Checks that tags are closed, and records what could access the network."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.scripts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        self.addresses += [str(value) for name, value in attrs if name in ("src", "href", "srcset", "action")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


def example() -> bytes:
    marks = [
        Mark("exact", ["0% differs"], "#777777", 1.0, 0.0, False),
        Mark("fast", ["0.2% differs", "svmfast approximate m"], "#0072b2", 10.0, 0.2, True, True),
        Mark(HOSTILE, [HOSTILE], "#d55e00", 3.0, 4.0, True),
    ]
    rows = [["b", "*", "~2,000"], ["c", "", "3"], ["a", "", "-"]]
    body = [f"<h1>{text(HOSTILE)}</h1>", scatter(marks, 0.5, HOSTILE, HOSTILE)]
    return page(HOSTILE, [*body, table(["name", "", HOSTILE], rows, [HOSTILE, "", ""], 1)])


def test_a_page_is_whole_and_needs_no_network() -> None:
    whole = example().decode()
    found = Balance()
    found.feed(whole)
    assert found.open == []
    assert found.addresses == ["data:,"]
    assert found.scripts == 1, "words that others wrote become no element"
    assert "\x1b" not in whole
    assert not re.findall(r"https?://|@import|url\(", whole)


def test_a_difference_of_zero_is_drawn_beyond_all_shares() -> None:
    marks = [Mark(str(y), [], "#000000", 1.0 + y, y, True) for y in (0.0, 0.01, 5.0)]
    svg = scatter(marks, None, "y", "")
    places = sorted((float(x), float(y)) for x, y in re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', svg))
    heights = [y for _, y in places]
    assert heights == sorted(heights)
    assert len(set(heights)) == 3


def test_marks_show_which_models_no_other_one_beats() -> None:
    def drawn(on_front: bool) -> str:
        return scatter([Mark("a", [], "#123456", 1.0, 1.0, on_front)], None, "y", "")

    for on_front in (True, False):
        assert drawn(on_front).count('fill="#123456"') == on_front
        assert drawn(on_front).count(">a</text>") == on_front


def test_names_of_marks_do_not_cover_each_other() -> None:
    marks = [Mark(name, [], "#000000", 9.0, 1.0, True, name == "chosen") for name in ("other", "chosen")]
    svg = scatter(marks, None, "y", "")
    assert ">chosen</text>" in svg
    assert ">other</text>" not in svg


#: Acts like a reader, and stores the results in an attribute.
DRIVER = """
<script>
const out = [];
window.addEventListener("error", (event) => out.push("error " + event.message));
const rows = () => [...document.querySelectorAll("tbody tr")];
const cells = () => rows().map((row) => row.cells[0].firstChild.textContent).join("");
const heads = [...document.querySelectorAll("th button")];
heads[1].click(); out.push(cells());
heads[1].click(); out.push(cells());
heads[0].click(); out.push(cells());
const mark = document.querySelectorAll(".mark")[2];
mark.dispatchEvent(new PointerEvent("pointerenter"));
const tip = document.getElementById("tip");
out.push(tip.style.display, tip.children[1].textContent);
mark.dispatchEvent(new PointerEvent("pointerleave"));
out.push(tip.style.display);
document.body.dataset.found = out.join("|");
</script>
"""


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here (Debian: apt-get install chromium)")
def test_a_browser_sorts_and_shows(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_bytes(example().replace(b"</body>", DRIVER.encode() + b"</body>"))
    words = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    done = subprocess.run(
        [str(CHROMIUM), *words, "--dump-dom", path.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found = re.search(r'data-found="([^"]*)"', done.stdout)
    assert found is not None
    assert found[1].split("|") == ["cba", "bca", "abc", "block", "0.2% differs", "none"]
