"""Numbers that are read by their value: which labels are numbers, and their tokens.

A token below ``FIRST`` is the number of a word in a table. From ``FIRST`` on it is a number itself:
``FIRST`` plus the 32 bits of its value as a float. So forests, graphs and slices of them hold
values as they hold words, and a value that was never seen is a token like any other.

Numpy is only imported when it is needed, as the command's help loads vocabularies.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Hashable, Mapping
from numbers import Real
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

FIRST = 2**32  # tokens from here on are numbers
MANY = 20.0  # equally frequent different numbers, above which they are not categories
_WRITTEN = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_LARGEST = 2.0**128 - 2.0**104  # in single precision


def number_of(label: Hashable) -> float | None:
    """The value of a label that is a finite number, or text that spells one; None for others.

    Example:
        >>> number_of("-1.5e3"), number_of(7), number_of("nan"), number_of("1,000"), number_of(True)
        (-1500.0, 7.0, None, None, None)
    """
    if isinstance(label, str):
        if not _WRITTEN.fullmatch(label):
            return None
    elif not isinstance(label, Real) or isinstance(label, bool):
        return None
    try:
        value = float(label)
    except OverflowError:  # an int that no float can hold
        return None
    return value if math.isfinite(value) else None


def token_of_number(value: float) -> int:
    """The token of a finite number, in single precision.

    Example:
        >>> import numpy as np
        >>> values_of(np.array([token_of_number(2.5), token_of_number(-1e300)])).tolist()
        [2.5, -3.4028234663852886e+38]
    """
    within = min(max(value, -_LARGEST), _LARGEST) + 0.0  # turns -0.0 into 0.0
    return FIRST + int.from_bytes(struct.pack("<f", within), "little")


def values_of(tokens: np.ndarray) -> np.ndarray:
    """The values of tokens that are numbers.

    Shapes:
        tokens ``[n]``, int64 -> ``[n]``, float64.
    """
    import numpy as np

    return (tokens - FIRST).astype(np.uint32).view(np.float32).astype(np.float64)


def are_many(counts: Mapping[Hashable, int]) -> bool:
    """Whether there are too many different numbers among labels for them to be categories.

    This is so if their perplexity, the number of equally frequent labels with the same entropy, is
    above ``MANY``: 0 and 1 in most trees are categories, whatever else a few trees have.

    Args:
        counts: number of trees that each label is in.

    Example:
        >>> are_many({str(digit): 100 for digit in range(10)})
        False
        >>> are_many({str(i / 8): 1 for i in range(100)})
        True
    """
    import numpy as np

    count = np.array([n for label, n in counts.items() if number_of(label) is not None], float)
    share = count / count.sum()
    return bool(len(count)) and float(np.exp(-(share * np.log(share)).sum())) > MANY
