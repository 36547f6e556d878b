"""Conversion of other libraries' fitted estimators to models, and of models to estimators."""
