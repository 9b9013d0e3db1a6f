"""Arrays that are copied to an accelerator together."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from structnet.message_passing.transfer import joined_up


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32])
def test_each_array_begins_at_a_multiple_of_16_bytes(dtype: type):
    arrays = [np.arange(n, dtype=dtype) + n for n in (3, 0, 16, 1, 5)]
    joined, starts = joined_up(arrays)
    assert all(start * joined.element_size() % 16 == 0 for start in starts)
    for start, array in zip(starts, arrays, strict=True):
        assert joined[start : start + len(array)].tolist() == array.tolist()
    with torch.device("meta"):  # whatever the default device is
        again, _ = joined_up(arrays)
    assert torch.equal(again, joined)
    assert joined.sum() == sum(array.sum() for array in arrays)  # and nothing else
