"""Fast models of different quality, for tests of cascades."""

from dataclasses import replace
from functools import cache

import numpy as np
from program import data, model

from svmfast import compress
from svmfast.formats.model_files import load_model
from svmfast.formats.svmlight import read_svmlight

PHOTOS, ROWS = model("photos_c_rbf"), data("photos.test")


def exact_model(name="photos_c_rbf"):
    return load_model(model(name))


def coarse(exact, keep):
    """Return a poor approximation of `exact`: a few of each class's vectors, with larger coefficients."""
    rng = np.random.default_rng(0)
    ends = np.cumsum(exact.nr_sv)
    chosen = [np.sort(rng.permutation(n)[:keep]) + end - n for n, end in zip(exact.nr_sv, ends, strict=True)]
    counts = np.array([len(part) for part in chosen])
    scale = np.concatenate([np.full(c, n / c) for c, n in zip(counts, exact.nr_sv, strict=True)])
    rows = np.concatenate(chosen)
    sv, coef = exact.sv.take(rows), exact.sv_coef[:, rows] * scale
    return replace(exact, sv=sv, sv_coef=coef, nr_sv=counts.astype(np.int64))


@cache
def compressed(vectors):
    """Return photos with few vectors: with 4 the labels differ on 21 % of the rows, with 8 on 5 %."""
    return compress(PHOTOS, read_svmlight(ROWS), sv=vectors, iterations=20).model
