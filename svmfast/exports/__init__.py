"""Models in other languages: every kind is described once (computation), every language prints that."""
