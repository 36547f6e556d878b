"""Truncated expansions: a polynomial about one center or many in place of the support vectors."""
