"""Rows as a stream delivers them."""


def blocks_of(rows, size):
    """Yield consecutive slices of at most `size` rows."""
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
