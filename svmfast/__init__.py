"""svmfast: make slow, fat LIBSVM models fast and small, and prove how much was lost."""
