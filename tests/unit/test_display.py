"""Text and figures of reports: one harmless line, JSON and its schema, HTML pages, progress."""

import os
import re
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from program import on_a_terminal, words_of

from svmfast.display import shell_line, shown
from svmfast.errors import InputError, OptionError, WriteError
from svmfast.pages.page import page, table, text
from svmfast.pages.scatter import Mark, scatter
from svmfast.progress import counting, duration

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
ANY_TEXT = st.text(st.characters(blacklist_categories=[]))


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a\nb\tc\r\x00\x7f\x9b", r"a\nb\tc\r\x00\x7f\x9b"),
        ("\x1b[31mred\x1b]0;title\x07", r"\x1b[31mred\x1b]0;title\x07"),
        ("gpj.\u202emodel\u2066\u200f\u2028\ufeff\u200b", r"gpj.\u202emodel\u2066\u200f\u2028\ufeff\u200b"),
        ("\udcff\udc80\ud800", r"\xff\x80\ud800"),
        (b"\xff\xc3\xa9", r"\xffé"),
    ],
)
def test_unprintable_characters_become_escapes(text, escaped):
    assert shown(text) == escaped


@given(ANY_TEXT, st.integers(min_value=3, max_value=30))
def test_shown_text_is_printable_and_a_length_limit_cuts_no_escape(text, limit):
    whole, escaped = shown(text), shown(text, limit)
    assert whole.isprintable()
    assert shown(whole) == whole
    whole.encode()
    assert len(escaped) <= limit
    assert escaped == whole or (escaped.endswith("...") and whole.startswith(escaped[:-3]))
    assert shown("\n" * 4, 7) == r"\n\n..."


def test_errors_are_one_line_and_keep_their_arguments():
    error = InputError("a\nb", 3, "wrong", "\x1b[2J" + "x" * 100, "expected 'y'")
    assert str(error) == r"a\nb:3: wrong ('\x1b[2J" + "x" * 50 + "...'); expected 'y'"
    assert (error.path, error.token) == ("a\nb", "\x1b[2J" + "x" * 100)
    assert str(OptionError("no '\u202e'")) == r"no '\u202e'"
    assert str(WriteError("\udcff", "full")) == r"\xff: cannot be written: full"


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_a_shell_reads_the_words_back():
    words = ["plain", "two words", "it's", "a\nb", "\x1b[31m", os.fsdecode(b"\xff8'\\"), "$(x)", "é\u202e1"]
    line = shell_line([*words, ""])
    assert line.isprintable()
    done = subprocess.run(["bash", "-c", f"printf '%s\\0' {line}"], capture_output=True, check=True)
    assert done.stdout.split(b"\0")[:-1] == [os.fsencode(word) for word in [*words, ""]]
    assert shell_line(["svmfast", "predict", "a b"]) == "svmfast predict 'a b'"


HOSTILE = '</title><script>alert(1)</script>"&\x1b[31m'


def example():
    marks = [
        Mark("exact", ["0% differs"], "#777777", 1.0, 0.0, False),
        Mark("fast", ["0.2% differs", "svmfast approximate m"], "#0072b2", 10.0, 0.2, True, True),
        Mark(HOSTILE, [HOSTILE], "#d55e00", 3.0, 4.0, True),
    ]
    rows = [["b", "*", "~2,000"], ["c", "", "3"], ["a", "", "-"]]
    body = [f"<h1>{text(HOSTILE)}</h1>", scatter(marks, 0.5, HOSTILE, HOSTILE)]
    return page(HOSTILE, [*body, table(HOSTILE, ["name", "", HOSTILE], rows, [HOSTILE, "", ""], 1)])


def test_a_page_is_whole_and_needs_no_network():
    whole = example().decode()
    assert re.findall(r'(?:src|href|srcset|action)="([^"]*)"', whole) == ["data:,"]
    assert whole.count("<script") == 1, "words that others wrote become no element"
    assert not re.findall(r"https?://|@import|url\(|\x1b", whole)


def test_marks_of_models():
    """No difference lies beyond all shares; models that others beat are hollow; names do not overlap."""

    def drawn(*marks):
        return scatter(marks, None, "y", "")

    svg = drawn(*(Mark("", [], "#000000", 1.0 + y, y, True) for y in (0.0, 0.01, 5.0)))
    places = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', svg)
    heights = [y for _, y in sorted((float(x), float(y)) for x, y in places)]
    assert heights[0] < heights[1] < heights[2]
    for on_front in (True, False):
        svg = drawn(Mark("a", [], "#123456", 1.0, 1.0, on_front))
        assert (svg.count('fill="#123456"'), svg.count(">a</text>")) == (on_front, on_front)
    svg = drawn(*(Mark(name, [], "", 9.0, 1.0, True, name == "chosen") for name in ("other", "chosen")))
    assert (svg.count(">chosen</text>"), svg.count(">other</text>")) == (1, 0)


#: Acts like a reader of :func:`example`, and stores what it sees in an attribute.
READER = """<script>
const out = [], all = (what) => [...document.querySelectorAll(what)], tip = document.getElementById("tip");
const names = () => all("tbody tr").map((row) => row.cells[0].firstChild.textContent).join("");
for (const at of [1, 1, 0]) { all("th button")[at].click(); out.push(names()); }
all(".mark")[2].dispatchEvent(new PointerEvent("pointerenter"));
out.push(tip.style.display, tip.children[1].textContent);
const stops = () => all(".mark[tabindex='0']"), name = () => stops()[0].textContent.slice(0, 5);
const left = () => stops()[0].dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft" }));
out.push(name().trim()); left(); left(); left(); out.push(stops().length, name());
document.body.dataset.found = out.join("|");
</script></body>"""


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here (Debian: apt-get install chromium)")
def test_a_browser_sorts_shows_and_moves(tmp_path):
    path = tmp_path / "page.html"
    path.write_text(example().decode().replace("</body>", READER))
    words = [
        CHROMIUM,
        "--headless",
        "--no-sandbox",
        f"--user-data-dir={tmp_path}/profile",
        "--dump-dom",
        path.as_uri(),
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True)
    assert 'data-found="cba|bca|abc|block|0.2% differs|fast|1|exact"' in done.stdout


def test_every_phase_has_its_bar(tmp_path):
    words = words_of("budget-train data/breast.train o -B 9 -g 0.1")
    printed = on_a_terminal(*words, cwd=tmp_path).decode()
    assert all(re.search(rf"(?<![a-z]){phase}", printed) for phase in ("read", "train", "refit"))


def test_work_divided_among_threads_is_counted():
    seen = []
    work = counting(lambda item: item * 2, lambda *step: seen.append(step), 2, "doubling")
    assert [work(3), work(4)] == [6, 8]
    assert seen == [(0, 2, "doubling"), (1, 2, "doubling"), (2, 2, "doubling")]
    times = {3.4: "3 s", 59.6: "1 min 0 s", 3599: "59 min 59 s", 3600: "1 h 0 min", 3725: "1 h 2 min"}
    assert {seconds: duration(seconds) for seconds in times} == times
