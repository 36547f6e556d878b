"""Tries every method on one model, measures all results on the same rows, and recommends one.

The plural leaves the name ``svmfast.frontier`` to the function.
"""
