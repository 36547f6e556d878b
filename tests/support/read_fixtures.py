"""Models and rows of the fixtures, read, and what models answer."""

from program import data, model

from svmfast.formats.model_files import load_model
from svmfast.formats.svmlight import read_svmlight


def exact(name):
    return load_model(model(name))


def rows(name):
    read = read_svmlight(data(name))
    return read.rows, read.labels


def predicted(made, rows):
    return made.head.predict(made.decision_values(rows))
