"""The sentence that refuses a parameter, as structnet.checks says it."""

from __future__ import annotations


def no_int(name: str, owner: str, least: int, got: str) -> str:
    """What is said of a parameter of a class that is no int, or too small."""
    expected = f"an int in the range [{least}, inf)"
    return f"The '{name}' parameter of {owner} must be {expected}. Got {got} instead."
