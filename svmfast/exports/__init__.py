"""Exports models to other languages: each kind is described once (computation), each language prints it."""
