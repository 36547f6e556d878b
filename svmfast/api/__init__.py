"""The verbs of the command line for Python: paths or arrays in, one type of result out.

:mod:`svmfast` has the public names; nothing is imported here.
"""
