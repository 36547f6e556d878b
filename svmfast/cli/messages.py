"""Remarks on stderr: what is worth knowing and is no error."""

from __future__ import annotations

from collections.abc import Iterable

import click


def remark(text: str) -> None:
    """Print one remark on stderr."""
    click.echo(f"svmfast: {text}", err=True)


def remarks(texts: Iterable[str], quiet: bool = False) -> None:
    """Print remarks unless `quiet`."""
    if not quiet:
        for text in texts:
            remark(text)


def count(number: int, thing: str) -> str:
    """``1 row``, ``2,000 rows``."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def rounded_up(value: float) -> str:
    """Return three digits that are not below the value: a threshold must not shrink in print."""
    text = f"{value:.3g}"
    return text if float(text) >= value else f"{1.01 * value:.3g}"
