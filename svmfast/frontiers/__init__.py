"""Tries every method on one model, measures all results on the same rows, and recommends one.

The package's name is plural because ``svmfast.frontier`` is the function.
"""
