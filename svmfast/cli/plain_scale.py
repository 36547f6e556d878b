"""``svmfast scale`` of plain files, without click and NumPy: their import takes longer than most files do.

Whatever is not plain is left to the command itself (:mod:`svmfast.cli.scale`): other options and forms of
options, tables, compressed files, pipes, large files, comments, faults, warnings about a range file. Nothing
has been printed by then. The output is the same either way.
"""

from __future__ import annotations

import os
import sys

#: Options and the number of their words.
_WORDS = {"-l": 1, "-u": 1, "-y": 2, "-s": 1, "-r": 1, "-o": 1, "-j": 1, "-q": 0}
_LONG = {
    "--lower": "-l",
    "--upper": "-u",
    "--labels": "-y",
    "--save": "-s",
    "--restore": "-r",
    "--output": "-o",
    "--jobs": "-j",
    "--quiet": "-q",
}
_DATA = ""


class _NotPlain(Exception):
    """The command itself is needed."""


def console() -> None:
    """Run the program if its command is this one, and end the process; return if more is needed."""
    words = sys.argv[1:]
    if words[:1] != ["scale"] or "_SVMFAST_COMPLETE" in os.environ:
        return
    if None in (sys.stdin, sys.stdout, sys.stderr):
        return
    from svmfast.cli import signals

    signals.install()
    try:
        status = _run(_given(words[1:]))
    except (_NotPlain, ImportError):
        return
    except KeyboardInterrupt:
        status = signals.status_asked_for() or 130
    os._exit(status)


def _given(words: list[str]) -> dict[str, list[str]]:
    """Return the words of each option, and DATA."""
    found: dict[str, list[str]] = {}
    rest = iter(words)
    for word in rest:
        name, own = _DATA, [word]
        if word.startswith("-"):
            name = _LONG.get(word, word)
            own = [next(rest, "") for _ in range(_WORDS.get(name, 0))]
            if name not in _WORDS:
                raise _NotPlain
        if name in found or "" in own:
            raise _NotPlain
        found[name] = own
    if _DATA not in found or ("-r" in found and {"-l", "-u", "-y", "-s"} & {*found}):
        raise _NotPlain
    return found


def _run(given: dict[str, list[str]]) -> int:
    from svmfast.api.plain_scale import NotPlainError, scale_plain
    from svmfast.cli import messages
    from svmfast.errors import SvmfastError

    jobs = given.get("-j", [""])[0]
    if "-j" in given and not (jobs.isascii() and jobs.isdigit()):
        raise _NotPlain
    names = {"-s": "save", "-r": "restore", "-o": "output"}
    try:
        warnings = scale_plain(
            given[_DATA][0],
            _interval([*given.get("-l", ["-1"]), *given.get("-u", ["1"])]),
            _interval(given["-y"]) if "-y" in given else None,
            threads=int(jobs) if jobs else None,
            **{name: given[flag][0] for flag, name in names.items() if flag in given},
        )
    except NotPlainError:
        raise _NotPlain from None
    except BrokenPipeError:
        return 0  # the reader has all it wanted
    except SvmfastError as error:
        from svmfast.cli import main

        line, status = main.describe(error)
        messages.line(line, err=True)
        return status
    messages.lines(warnings, err=True)
    return 0


def _interval(words: list[str]) -> tuple[float, float]:
    low, high = map(_number, words)
    if not low < high:
        raise _NotPlain
    return low, high


def _number(word: str) -> float:
    whole, point, fraction = word.removeprefix("-").partition(".")
    if not all(part.isascii() and part.isdigit() for part in ((whole, fraction) if point else (whole,))):
        raise _NotPlain
    return float(word)
