"""Divide and conquer with pseudo landmarks (DC-Pred++)."""
