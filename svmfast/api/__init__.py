"""The commands as Python functions: each takes paths or arrays and returns one type of result.

The public names are in :mod:`svmfast`; nothing is imported here.
"""
