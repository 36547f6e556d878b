"""Models and rows of the fixtures, read."""

from program import data, model

from svmfast.formats.model_files import load_model
from svmfast.formats.svmlight import read_svmlight


def exact(name):
    return load_model(model(name))


def rows(name):
    read = read_svmlight(data(name))
    return read.rows, read.labels
