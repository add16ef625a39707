"""On which data of a call what storages hold may hang."""

from __future__ import annotations

import numpy as np
import pytest

from bringup.device.feeding import NOTHING, Fed, ask, asked, brought_by, holds, holds_all, together
from bringup.vpe.memory import ASKED, COPIED, INPUT, LAUNCHED, UPLOADED

DATA = 7  # the address of an argument's storage, of 16 bytes


def argument() -> np.ndarray:
    return np.full(16, INPUT, np.uint8)


def part(*places: int) -> np.ndarray:
    found = np.zeros(16, bool)
    found[list(places)] = True
    return found


def test_a_copy_of_an_argument_brings_what_it_takes() -> None:
    by = argument()
    assert brought_by(NOTHING, DATA, by, (0, 4, (4,), (1,))) == Fed(frozenset({DATA}))
    some = brought_by(NOTHING, DATA, by, (4, 4, (2,), (1,)))
    assert not some.whole
    assert np.array_equal(some.parts[DATA], part(*range(4, 12)))
    assert brought_by(NOTHING, DATA, by, (0, 4, (0,), (1,))) == NOTHING
    spread = brought_by(NOTHING, DATA, by, (0, 4, (4,), (0,)))  # one element, four times
    assert np.array_equal(spread.parts[DATA], part(0, 1, 2, 3))


def test_gaps_between_elements_are_no_data() -> None:
    by = argument()
    by[4:8] = by[12:] = 0
    assert brought_by(NOTHING, DATA, by, (0, 4, (2,), (2,))).whole == {DATA}
    beside = part(*range(4, 8), *range(12, 16))
    assert brought_by(NOTHING, DATA, argument(), (0, 4, (2,), (2,)), beside).whole == {DATA}


def test_parts_add_up() -> None:
    by = argument()
    halves = [brought_by(NOTHING, DATA, by, (at, 4, (2,), (1,))) for at in (0, 8)]
    assert not together(halves[:1], lambda base, found: holds_all(by, found)).whole
    assert together(halves, lambda base, found: holds_all(by, found)) == Fed(frozenset({DATA}))


def test_what_a_kernel_wrote_hangs_on_all_that_it_was_given() -> None:
    by = np.full(16, LAUNCHED, np.uint8)
    fed = Fed(frozenset({DATA}))
    assert brought_by(fed, None, by, (0, 4, (1,), (1,))) == fed
    by[:8] = UPLOADED
    assert brought_by(fed, None, by, (0, 4, (1,), (1,))) == NOTHING


@pytest.mark.parametrize(("count", "wanted"), [(4, True), (3, False)])
def test_a_copy_of_a_copy_brings_what_the_whole_of_it_brought(count: int, wanted: bool) -> None:
    by = np.full(16, INPUT | COPIED, np.uint8)
    fed = Fed(frozenset({DATA}))
    assert (brought_by(fed, None, by, (0, 4, (count,), (1,))) == fed) is wanted


def test_what_an_argument_was_brought_is_not_in_the_bytes_that_it_had() -> None:
    by = argument()
    by[:4] = LAUNCHED
    fed = Fed(frozenset({99}))
    assert brought_by(fed, DATA, by, (0, 4, (1,), (1,))) == fed
    assert brought_by(fed, DATA, by, (4, 4, (3,), (1,))) == Fed(frozenset({DATA}))


def test_a_tensor_of_a_storage_is_enough_where_it_alone_decides() -> None:
    by = argument()
    fed = brought_by(NOTHING, DATA, by, (8, 4, (2,), (1,)))
    assert holds(fed, DATA, by, (8, 4, (2,), (1,)))
    assert not holds(fed, DATA, by, (4, 4, (2,), (1,)))
    assert holds(Fed(frozenset({DATA})), DATA, by, (0, 4, (4,), (1,)))
    assert not holds(fed, 99, by, (8, 4, (2,), (1,)))


def test_who_was_asked_about_what_stays() -> None:
    by = np.array([INPUT, INPUT | COPIED, LAUNCHED, 0], np.uint8)
    assert not asked(by)
    ask(by)
    assert by.tolist() == [INPUT | ASKED, INPUT | COPIED | ASKED, LAUNCHED, 0]
    assert asked(by)
