"""Display of text from outside: file names, words in models and data, values of options.

Such text may contain escape sequences that act on a terminal, bidirectional controls and line ends that
mislead a reader, or bytes that are not UTF-8.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence

#: Names that a message lists.
MOST_LISTED = 8
#: What no name may contain: control characters, which include line ends, and surrogates, which no UTF-8 has.
_NOT_IN_NAMES = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
#: A password or a key in a URI. A number after a host is its port.
_SECRET = re.compile(
    r"(?<=://)[^/\s]*:(?!\d+(?:[/?]|$))[^@\s]*(?=@)"
    r"|(?<=[?&])(?:\w*(?:secret|token|password)\w*|access_key|sig)=[^&\s']*"
)


def holds_a_secret(uri: str) -> bool:
    """Whether a URI has a password or a key, which :func:`shown` replaces by dots."""
    return _SECRET.search(uri) is not None


def shown(text: str | bytes, limit: int | None = None) -> str:
    r"""Text as one harmless line: characters that are not printable become escapes such as ``\n``.

    An invalid byte of UTF-8 becomes ``\xff``, as do the surrogates that represent such bytes in file names. A
    text of more than `limit` characters ends in ``...``. Backslashes are not doubled, so that the function
    can be applied twice.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "surrogateescape")
    if "://" in text:
        text = _SECRET.sub("...", text)
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


def fault_of_name(name: str) -> str | None:
    """Why a text cannot be the name of a feature or class, None if it can; for all readers of names."""
    found = _NOT_IN_NAMES.search(name)
    if found is None:
        return None
    kind = "half a surrogate pair" if found[0] >= "\ud800" else "a control character or line end"
    return f"a name with {kind}"


def repeated(names: Iterable[str]) -> str | None:
    """The first name that occurs a second time."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def count(number: int, thing: str) -> str:
    """``1 row``, ``2,000 rows``."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def named_labels(names: Mapping[float, str], most: int = 10) -> str:
    """``0 is 'cat', 1 is 'dog' and 3 more``."""
    listed = [f"{label:g} is '{shown(name)}'" for label, name in names.items()]
    more = len(listed) - most
    return ", ".join(listed[:most]) + (f" and {more:,} more" if more > 0 else "")


def shell_line(words: Iterable[str | os.PathLike[str]]) -> str:
    """A command as one line to type: every word quoted for a shell.

    A word that is not printable is written byte by byte, as ``$'..'``, which bash, ksh and zsh accept.
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


def listed(names: Sequence[str]) -> str:
    """Names in quotes, the first few of many."""
    text = ", ".join(f"'{name}'" for name in names[:MOST_LISTED])
    return text + (f" and {len(names) - MOST_LISTED:,} more" if len(names) > MOST_LISTED else "")


def aligned(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table in plain text: names, the first cells, are aligned left, and figures right."""
    widths = [max(map(len, column)) for column in zip(heads, *lines, strict=True)]
    return [
        "  ".join([first.ljust(widths[0]), *map(str.rjust, figures, widths[1:])]).rstrip()
        for first, *figures in (heads, *lines)
    ]
