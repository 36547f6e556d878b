"""Foreign text is shown as one harmless line, and command lines so that a shell reads them back."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svmfast.display import shell_line, shown
from svmfast.errors import InputError, OptionError, WriteError

ANY_TEXT = st.text(st.characters(blacklist_categories=[]))


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("plain.model", "plain.model"),
        ("größe 数 µ", "größe 数 µ"),
        ("a\nb\tc\r", r"a\nb\tc\r"),
        ("\x1b[31mred\x1b]0;title\x07", r"\x1b[31mred\x1b]0;title\x07"),
        ("\x00\x7f\x9b", r"\x00\x7f\x9b"),
        ("gpj.\u202emodel\u2066\u200f", r"gpj.\u202emodel\u2066\u200f"),
        ("\u2028\u2029\ufeff\u200b", r"\u2028\u2029\ufeff\u200b"),
        ("\udcff\udce9\ud800", r"\xff\xe9\ud800"),
        (b"\xff\xc3\xa9", r"\xffé"),
        ("C:\\new", "C:\\new"),
        ("[red]x[/red]", "[red]x[/red]"),
    ],
)
def test_unprintable_characters_become_escapes(text: str | bytes, escaped: str) -> None:
    assert shown(text) == escaped


@given(ANY_TEXT)
def test_shown_text_is_printable_and_shown_again_unchanged(text: str) -> None:
    escaped = shown(text)
    assert escaped.isprintable()
    assert shown(escaped) == escaped
    escaped.encode()


@given(ANY_TEXT, st.integers(min_value=3, max_value=30))
def test_a_length_limit_holds_and_cuts_no_escape(text: str, limit: int) -> None:
    escaped = shown(text, limit)
    assert len(escaped) <= limit
    assert escaped == shown(text) or (escaped.endswith("...") and shown(text).startswith(escaped[:-3]))
    assert shown("\n" * 4, 7) == r"\n\n..."


def test_errors_are_one_line_and_keep_their_arguments() -> None:
    error = InputError("a\nb", 3, "wrong", "\x1b[2J" + "x" * 100, "expected 'y'")
    assert str(error) == r"a\nb:3: wrong ('\x1b[2J" + "x" * 50 + "...'); expected 'y'"
    assert (error.path, error.token) == ("a\nb", "\x1b[2J" + "x" * 100)
    assert str(OptionError("no '\u202e'")) == r"no '\u202e'"
    assert str(WriteError("\udcff", "full")) == r"\xff: cannot be written: full"


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_a_shell_reads_the_words_back() -> None:
    words = [
        "plain",
        "two words",
        "it's",
        "a\nb",
        "\x1b[31m",
        os.fsdecode(b"\xff8'\\"),
        "$(x)",
        "é\u202e1",
        "",
    ]
    line = shell_line(words)
    assert line.isprintable()
    done = subprocess.run(["bash", "-c", f"printf '%s\\0' {line}"], capture_output=True, check=True)
    assert done.stdout.split(b"\0")[:-1] == [os.fsencode(word) for word in words]
    assert shell_line(["svmfast", "predict", "a b"]) == "svmfast predict 'a b'"
