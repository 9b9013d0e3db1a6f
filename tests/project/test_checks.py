"""The one sentence for a bad parameter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from structnet.checks import check_bool, check_integer, check_number, check_one_of

GOOD = [
    (check_integer, 1, {"least": 1}),
    (check_integer, np.int64(7), {"least": 1}),
    (check_integer, None, {"least": 1, "optional": True}),
    (check_number, 0, {"low": 0}),
    (check_number, np.float32(0.5), {"low": 0, "high": 1}),
    (check_number, 1.0, {"low": 0, "high": 1}),
    (check_number, None, {"low": 0, "optional": True}),
    (check_bool, True, {}),
    (check_bool, np.bool_(False), {}),
    (check_one_of, "b", {"allowed": ("a", "b")}),
]
BAD = [
    (check_integer, 0, {"least": 1}, "an int in the range [1, inf)"),
    (check_integer, 1.0, {"least": 1}, "an int in the range [1, inf)"),
    (check_integer, True, {"least": 0}, "an int in the range [0, inf)"),
    (check_integer, None, {"least": 0}, "an int in the range [0, inf)"),
    (check_integer, "3", {"least": 0, "optional": True}, "an int in the range [0, inf) or None"),
    (check_number, -1, {"low": 0}, "a number in the range [0, inf)"),
    (check_number, float("inf"), {"low": 0}, "a number in the range [0, inf)"),
    (check_number, float("nan"), {"low": 0, "high": 1}, "a number in the range [0, 1]"),
    (check_number, True, {"low": 0, "high": 1}, "a number in the range [0, 1]"),
    (check_number, 0, {"low": 0, "high": 1, "open": True}, "a number in the range (0, 1)"),
    (check_number, 1, {"low": 0, "high": 1, "open": True}, "a number in the range (0, 1)"),
    (check_number, "1", {"low": 0, "optional": True}, "a number in the range [0, inf) or None"),
    (check_bool, "no", {}, "True or False"),
    (check_bool, 1, {}, "True or False"),
    (check_bool, np.int64(1), {}, "True or False"),
    (check_one_of, "c", {"allowed": ("a", "b")}, "one of ['a', 'b']"),
    (check_one_of, 3, {"allowed": ("a", "b")}, "one of ['a', 'b']"),
]


@pytest.mark.parametrize(("check", "value", "how"), GOOD)
def test_what_is_allowed_passes(check: Callable, value: Any, how: dict[str, Any]) -> None:
    assert check("x", value, **how) is None


@pytest.mark.parametrize("owner", ["", "fit"])
@pytest.mark.parametrize(("check", "value", "how", "expected"), BAD)
def test_the_sentence(
    check: Callable, value: Any, how: dict[str, Any], expected: str, owner: str
) -> None:
    with pytest.raises(ValueError) as caught:
        check("x", value, **how, owner=owner)
    of = " of fit" if owner else ""
    assert str(caught.value) == f"The 'x' parameter{of} must be {expected}. Got {value!r} instead."
