"""Every method on one model, measured on the same rows, and which to take.

The plural leaves the name ``svmfast.frontier`` to the function.
"""
