"""LIBSVM's own training."""
