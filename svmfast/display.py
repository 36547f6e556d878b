"""How text that others wrote is shown: names of files, words of models and data, values of options.

Such text may hold what acts on a terminal (escape sequences), what misleads a reader (bidirectional
controls, line ends) or what no encoding accepts (bytes that are not UTF-8).
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable


def shown(text: str | bytes, limit: int | None = None) -> str:
    r"""Return text as one line that only shows: what does not print becomes an escape such as ``\n``.

    Parameters
    ----------
    text : str or bytes
        Bytes are taken for UTF-8; a byte that is not becomes ``\xff``, as do the surrogates that stand for
        such bytes in names of files.
    limit : int, optional
        Most characters of the result; a longer one ends in ``...``.

    Notes
    -----
    What prints is what ``str.isprintable`` says. Backslashes stay single, so that text shown twice is as if
    shown once.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "surrogateescape")
    if text.isprintable() and (limit is None or len(text) <= limit):
        return text
    pieces = [character if character.isprintable() else _escape(character) for character in text]
    if limit is None or sum(map(len, pieces)) <= limit:
        return "".join(pieces)
    room, kept = limit - len("..."), []
    for piece in pieces:
        room -= len(piece)
        if room < 0:
            break
        kept.append(piece)
    return "".join(kept) + "..."


def _escape(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # os.fsdecode's stand-in for a byte
        return f"\\x{code - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")


def count(number: int, thing: str) -> str:
    """Return ``1 row``, ``2,000 rows``."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def rounded_up(value: float) -> str:
    """Return three digits that are not below the value: a threshold must not shrink in print."""
    text = f"{value:.3g}"
    return text if float(text) >= value else f"{1.01 * value:.3g}"


def shell_line(words: Iterable[str | os.PathLike[str]]) -> str:
    """Return a command as one line to type: every word quoted for a shell.

    A word that does not print is written byte by byte, as ``$'..'``, which bash, ksh and zsh read.
    """
    return " ".join(_shell_word(os.fspath(word)) for word in words)


def _shell_word(word: str) -> str:
    if word.isprintable():
        return shlex.quote(word)
    pieces = []
    for character in word:
        if character in "\\'":
            pieces.append("\\" + character)
        elif character.isprintable():
            pieces.append(character)
        else:
            pieces += [f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogateescape")]
    return f"$'{''.join(pieces)}'"
