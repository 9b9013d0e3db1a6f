"""Fixtures that the tests of estimators share."""

from small_estimators import blobs, fitted, lines, pair

__all__ = ["blobs", "fitted", "lines", "pair"]
