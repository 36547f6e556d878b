"""Small problems for the tests of budgeted training."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from program import data
from two_moons import two_moons

from svmfast.formats.spool import Spool
from svmfast.formats.svmlight import read_svmlight
from svmfast.rows import Rows


def source_of(rows, labels):
    """Rows that are in memory."""
    return spooled(rows, np.asarray(labels, float), memory=1 << 40, pieces=1)


def fixture(name):
    train, test = (read_svmlight(data(f"{name}.{part}")) for part in ("train", "test"))
    return source_of(train.rows, train.labels), test


def moons():
    x, y = two_moons(600, 21)
    return source_of(Rows.from_dense(x), y)


def spooled(rows, labels, memory=1 << 20, pieces=7):
    """The same rows through a spool, in blocks of uneven size."""
    spool = Spool(memory)
    for first, last in pairwise(np.linspace(0, len(rows), pieces + 1).astype(int)):
        spool.add(rows[first:last], labels[first:last])
    return spool.finish()
