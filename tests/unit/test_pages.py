"""Reports as HTML pages: complete, without network access, escaped, and working in a real browser."""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from svmfast.pages.page import TableCell, TableRow, command, page, table
from svmfast.pages.scatter import Axes, Mark, efficient, scatter

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
        Mark("exact", "exact", "#777777", 1.0, 0.0, ["0% differs"], False),
        Mark(
            "fast", "approximate", "#0072b2", 10.0, 0.2, ["0.2% differs", "svmfast approximate m"], True, True
        ),
        Mark(HOSTILE, "compress", "#d55e00", 3.0, 4.0, [HOSTILE], False),
    ]
    axes = Axes("speed", "speed", "differs", "x", (1.0, "exact"), limit=0.5)
    rows = [
        TableRow([TableCell("b", "b"), TableCell("20%", 20.0)], "approximate"),
        TableRow([TableCell("c", "c"), TableCell("3%", 3.0)], "compress"),
        TableRow([TableCell("a", "a"), TableCell("-", None)], "exact"),
    ]
    groups = '<button type="button" data-group="compress" aria-pressed="true">compress</button>'
    body = [f"<h1>{1}</h1>", command(HOSTILE, "command-1"), groups, scatter(marks, axes, HOSTILE)]
    return page(HOSTILE, [*body, table(["name", HOSTILE], rows)])


def test_a_page_is_whole_and_needs_no_network() -> None:
    text = example().decode()
    found = Balance()
    found.feed(text)
    assert found.open == []
    assert found.addresses == ["data:,"]
    assert found.scripts == 1, "words that others wrote become no element"
    assert "\x1b" not in text
    assert not re.findall(r"https?://|@import|url\(", text)


def test_efficient_points_are_those_that_no_other_beats() -> None:
    assert efficient([(1, 0), (2, 1), (1.5, 2), (2, 1), (3, 3)]) == [True, True, False, True, True]


def test_a_difference_of_zero_is_drawn_beyond_all_shares() -> None:
    marks = [Mark(str(y), "m", "#000000", 1.0 + y, y, [], True) for y in (0.0, 0.01, 5.0)]
    svg = scatter(marks, Axes("v", "x", "y"), "")
    heights = [float(y) for y in re.findall(r'<circle cx="[\d.]+" cy="([\d.]+)"', svg)]
    assert heights == sorted(heights)
    assert len(set(heights)) == 3


def test_a_limit_across_is_shaded_on_the_side_of_worse_models() -> None:
    marks = [Mark(str(x), "m", "#000000", x, 1.0, [], True) for x in (10.0, 1000.0)]
    boxes = []
    for small in (False, True):
        axes = Axes("v", "x", "y", x_limit=(100.0, "more than 100 bytes"), small_is_good=small)
        (box,) = re.findall(
            r'<rect class="beyond" x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', scatter(marks, axes, "")
        )
        boxes.append((float(box[0]), float(box[0]) + float(box[1])))
    (large_from, large_to), (small_from, small_to) = boxes
    assert small_from < small_to == pytest.approx(large_from)
    assert large_from < large_to


def test_marks_show_what_is_efficient_and_excluded() -> None:
    def drawn(**given: object) -> str:
        return scatter([Mark("a", "m", "#123456", 1.0, 1.0, [], **given)], Axes("v", "x", "y"), "")  # type: ignore[arg-type]

    assert drawn(efficient=True).count('fill="#123456"') == 1
    assert drawn(efficient=False).count('fill="#123456"') == 0
    assert 'class="mark excluded"' in drawn(efficient=True, excluded=True)


#: Acts like a reader, and stores the results in an attribute.
DRIVER = """
<script>
const out = [];
window.addEventListener("error", (event) => out.push("error " + event.message));
const rows = () => [...document.querySelectorAll("tbody tr")];
const cells = () => rows().map((row) => row.cells[0].textContent).join("");
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
document.querySelector("button[data-group]").click();
const hidden = [...document.querySelectorAll("[data-of-group=compress]")];
out.push(String(hidden.length > 1 && hidden.every((one) => one.style.display === "none")));
document.body.dataset.found = out.join("|");
</script>
"""


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here (Debian: apt-get install chromium)")
def test_a_browser_sorts_shows_and_filters(tmp_path: Path) -> None:
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
    assert found[1].split("|") == ["cba", "bca", "abc", "block", "0.2% differs", "none", "true"]
