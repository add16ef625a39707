"""Which byte of which argument is where: what copies have brought, and whether what stays lies where it lay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bringup.device.memory import codes
from bringup.device.origins import MOST_ARGUMENTS, MOST_NUMBERED, Origins
from bringup.device.wire import Malformed
from bringup.vpe.memory import COPIED, INPUT, LAUNCHED

KEPT, OTHER, ROOM, OUT = 1, 2, 3, 4
WHOLE = (0, 4, (2, 3), (3, 1))
TURNED = (0, 4, (2, 3), (1, 2))


class Device:
    """Codes as a device process keeps them."""

    def __init__(self) -> None:
        self.origins = Origins([(KEPT, 24), (OTHER, 24)], (KEPT, WHOLE))
        self.by = {one: np.full(24, INPUT if one in (KEPT, OTHER) else 0, np.uint8) for one in (KEPT, OTHER, ROOM, OUT)}

    def copy(self, source: int, taken: Any, target: int, put: Any) -> None:
        self.origins.copied(source, self.by[source], taken, target, 24, put)
        codes(self.by[target], *put)[...] = codes(self.by[source], *taken) | COPIED

    def parts(self, storage: int) -> dict[int, Any]:
        return self.origins.parts(storage, self.by[storage])

    def stay(self, storage: int, extent: Any) -> bool:
        return self.origins.stay(storage, self.by[storage], extent)


def test_the_tensor_itself() -> None:
    device = Device()
    assert device.stay(KEPT, WHOLE)
    assert not device.stay(KEPT, (0, 4, (3, 2), (2, 1)))
    assert not device.stay(OTHER, WHOLE)


def test_over_a_buffer_that_is_laid_out_otherwise() -> None:
    device = Device()
    device.copy(KEPT, WHOLE, ROOM, TURNED)
    device.copy(ROOM, TURNED, OUT, WHOLE)
    assert device.stay(OUT, WHOLE)
    assert device.stay(ROOM, TURNED)
    assert not device.stay(ROOM, WHOLE)


@pytest.mark.parametrize(
    ("source", "taken", "put", "stays"),
    [
        (KEPT, (0, 4, (3,), (1,)), (0, 4, (3,), (1,)), True),
        (KEPT, (0, 4, (3,), (1,)), (12, 4, (3,), (1,)), False),  # another row
        (KEPT, (0, 2, (2,), (1,)), (0, 2, (2,), (1,)), True),  # halves of an element
        (OTHER, (0, 4, (3,), (1,)), (0, 4, (3,), (1,)), False),
    ],
)
def test_parts_that_are_laid_over_it(source: int, taken: Any, put: Any, stays: bool) -> None:
    device = Device()
    device.copy(KEPT, WHOLE, OUT, WHOLE)
    device.copy(source, taken, OUT, put)
    assert device.stay(OUT, WHOLE) is stays


def test_in_place_and_back() -> None:
    device = Device()
    device.copy(KEPT, WHOLE, ROOM, WHOLE)
    device.copy(ROOM, WHOLE, KEPT, WHOLE)
    assert device.stay(KEPT, WHOLE)
    device.copy(ROOM, (0, 4, (1,), (1,)), KEPT, (4, 4, (1,), (1,)))
    assert not device.stay(KEPT, WHOLE)


def test_what_kernels_wrote_has_no_place() -> None:
    device = Device()
    device.by[ROOM][...] = LAUNCHED
    device.copy(ROOM, WHOLE, OUT, WHOLE)
    assert device.stay(OUT, WHOLE)
    device.copy(KEPT, (12, 4, (3,), (1,)), OUT, (12, 4, (3,), (1,)))
    assert device.stay(OUT, WHOLE)


def test_a_tensor_is_broadcast_to_a_result() -> None:
    device = Device()
    device.origins = Origins([(KEPT, 24), (OTHER, 24)], (KEPT, (0, 4, (3,), (1,))))
    device.copy(KEPT, (0, 4, (2, 3), (0, 1)), OUT, WHOLE)
    assert device.stay(OUT, WHOLE)
    assert not device.stay(OUT, (0, 4, (3, 2), (2, 1)))


def test_parts_of_arguments_are_where_they_are_still() -> None:
    device = Device()
    device.copy(KEPT, WHOLE, ROOM, WHOLE)
    assert {one: int(part.sum()) for one, part in device.parts(ROOM).items()} == {KEPT: 24}
    device.copy(OTHER, (4, 4, (2,), (1,)), ROOM, (0, 4, (2,), (1,)))
    parts = device.parts(ROOM)
    assert np.flatnonzero(parts[OTHER]).tolist() == list(range(4, 12))
    assert np.flatnonzero(parts[KEPT]).tolist() == list(range(8, 24))
    device.by[ROOM][8:] = LAUNCHED  # a kernel has written there
    assert list(device.parts(ROOM)) == [OTHER]
    device.copy(ROOM, WHOLE, OUT, WHOLE)  # of a copy
    assert list(device.parts(OUT)) == [OTHER]
    device.origins.freed(ROOM)
    assert device.parts(ROOM) == {}


def test_an_element_that_is_copied_many_times_is_one() -> None:
    device = Device()
    device.copy(OTHER, (0, 4, (2, 3), (0, 0)), ROOM, WHOLE)
    assert np.flatnonzero(device.parts(ROOM)[OTHER]).tolist() == [0, 1, 2, 3]


def test_what_is_too_large_is_not_followed() -> None:
    large = Origins([(KEPT, MOST_ARGUMENTS)], (KEPT, WHOLE))
    assert large.unknown
    assert large.stay(OTHER, np.full(24, INPUT, np.uint8), WHOLE)
    small = Origins([(KEPT, 24)], None)
    with pytest.raises(Malformed, match="copies of arguments in more than"):
        small.copied(KEPT, np.full(24, INPUT, np.uint8), WHOLE, OUT, MOST_NUMBERED + 1, WHOLE)
