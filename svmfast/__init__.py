"""svmfast: make slow, fat LIBSVM models fast and small, and prove how much was lost."""

__version__ = "0.1.0"
