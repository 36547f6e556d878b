"""scikit-learn's validation of data, under the name that it has had since version 1.6."""

from __future__ import annotations

from typing import Any

try:
    from sklearn.utils.validation import validate_data as validate_data
except ImportError:  # before 1.6

    def validate_data(estimator: Any, X: Any, y: Any = "no_validation", **options: Any) -> Any:
        """Check `X`, and `y` if it is given, as the estimator's method did."""
        return estimator._validate_data(X, y, **options)
