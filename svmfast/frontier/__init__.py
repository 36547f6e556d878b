"""Every method on one model, measured on the same rows, and which to take."""
