"""Compiled loops over arrays. Nothing else in the package imports numba."""
