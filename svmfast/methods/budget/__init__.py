"""Stochastic gradient descent under a budget of support vectors."""
