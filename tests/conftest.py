"""Shared by all tests. Set before anything loads libsvm-official, our oracle."""

from __future__ import annotations

import os

from program import heed_signals

# libsvm-official is built with OpenMP and sums a regression's terms in whatever order its threads finish;
# with one thread it sums in the order of the file, as the svm-predict program does.
os.environ["OMP_NUM_THREADS"] = "1"

# Tests send signals.
heed_signals()
