"""Other libraries' fitted estimators as models, and models as estimators."""
