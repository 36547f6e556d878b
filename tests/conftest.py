"""Settings shared by all tests, made before anything loads libsvm-official, our oracle."""

from __future__ import annotations

import os

from hypothesis import settings
from program import heed_signals

from svmfast import _core

# libsvm-official is built with OpenMP and sums a regression's terms in whatever order its threads finish;
# with one thread it sums in the order of the file, as the svm-predict program does.
os.environ["OMP_NUM_THREADS"] = "1"

# Tests send signals.
heed_signals()

# Small problems use threads too (in forks as well, see forking.py), so that tests of determinism have power.
_core.set_least_threaded_work(0)

# Tests must not fail on a loaded machine: scripts measure time, not tests.
# Hypothesis tries the same few examples in every run, or many new ones: --hypothesis-profile=nightly.
settings.register_profile("quick", deadline=None, max_examples=25, derandomize=True)
settings.register_profile("nightly", deadline=None, max_examples=1000)
settings.load_profile("quick")
