"""svm-scale of the plain text of a whole file, by the native core alone, without importing NumPy."""

from __future__ import annotations

from svmfast import _core

#: Readable bytes after a text: a line end that the last line may lack, and what is read ahead.
BEHIND = _core.TEXT_PADDING + 1


def growth_warning(values: int, scaled_values: int) -> list[str]:
    """Return svm-scale's lines, word for word, if the rows have more stored values than before."""
    if scaled_values <= values:
        return []
    return [
        f"WARNING: original #nonzeros {values}",
        f"       > new      #nonzeros {scaled_values}",
        "If feature values are non-negative and sparse, use -l 0 rather than the default -l -1",
    ]


def scaled_text(
    text: bytearray,
    size: int,
    lower: float,
    upper: float,
    labels: tuple[float, float] | None,
    ranges: bytes | None,
    threads: int,
) -> tuple[list[bytes], bytes, int, int] | None:
    """Return svm-scale's output for LIBSVM's text.

    Parameters
    ----------
    text : bytearray
        The text, followed by `BEHIND` more bytes.
    size : int
    lower, upper : float
    labels : (lower, upper), optional
    ranges : bytes, optional
        A range file, in place of `lower` and `upper`.
    threads : int
        The result is the same for every number.

    Returns
    -------
    pieces : list of bytes
        The scaled rows.
    ranges : bytes
        The range file.
    values, scaled_values : int
        Stored values before and after.

    None if a line is not plain (a fault, a comment, a blank line, ...) or anything else needs a message.
    """
    if text[size - 1] != ord("\n"):
        text[size] = ord("\n")
        size += 1
    return _core.scale_text(text, size, lower, upper, labels, ranges, threads)
