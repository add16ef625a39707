"""References that hand out memory which they have not written."""

from __future__ import annotations

import ctypes

import pytest
import torch

from bringup.judge._unwritten import FILLING, filled_memory

pytestmark = pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="memory is filled by glibc alone")
FILLED = torch.tensor([FILLING ^ 0xFF] * 4, dtype=torch.uint8).view(torch.int32)


@pytest.mark.parametrize("rows", [3, 4000, 400000])
def test_new_memory_is_full_of_bytes(rows: int) -> None:
    with filled_memory():
        assert torch.equal(torch.empty(rows, dtype=torch.int32), FILLED.expand(rows))
    ordinary = torch.zeros(rows, dtype=torch.int32) + 7
    assert bool((ordinary == 7).all())


def test_a_reference_that_copies_what_it_has_not_written_shows() -> None:
    """Of two rows both are cropped, so there is nothing that `circular` padding could repeat."""
    x = torch.arange(8, dtype=torch.int32).view(1, 4, 2, 1)
    with filled_memory():
        padded = torch.nn.functional.pad(x, (-1, 1, -2, 1), "circular")
    assert torch.equal(padded, FILLED.expand(1, 4, 1, 1))
