"""A few moved support vectors in place of thousands."""
