"""On which data of a call what kernels have written may hang."""

from __future__ import annotations

import numpy as np
import pytest

from bringup.device import feeding
from bringup.device.feeding import (
    Fed,
    Feeding,
    ask,
    asked,
    check_parts,
    holds,
    holds_all,
    made,
    made_beside,
    together,
    with_own,
)
from bringup.device.origins import Origins
from bringup.device.wire import Malformed
from bringup.vpe.memory import ASKED, COPIED, INPUT, LAUNCHED, SPREAD, UPLOADED

DATA = 7  # the address of an argument's storage, of 16 bytes


WORD = (0, 8, (1,), (1,))  # the first one of a storage


def argument() -> np.ndarray:
    return np.full(16, INPUT, np.uint8)


def part(*places: int) -> np.ndarray:
    found = np.zeros(16, bool)
    found[list(places)] = True
    return found


def test_parts_add_up() -> None:
    by = argument()
    halves = [Fed(frozenset(), {DATA: part(*range(at, at + 8))}) for at in (0, 8)]
    assert not together(halves[:1], lambda base, found: holds_all(by, found)).whole
    assert together(halves, lambda base, found: holds_all(by, found)) == Fed(frozenset({DATA}))
    assert together([halves[0], Fed(frozenset({DATA}))], lambda base, found: False) == Fed(frozenset({DATA}))


def test_parts_take_so_much_memory_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeding, "MOST_PARTS", 40)
    feds = [Fed(frozenset(), {DATA: part(place)}) for place in range(3)]
    check_parts([*feds[:2], feds[0]])  # one that two storages have counts once
    with pytest.raises(Malformed, match="in more places than can be followed"):
        check_parts(feds)
    call = Reading(exact=True)
    call.launch(FLAG, 7, 5)
    call.launch(ROOM, 7, 5)
    call.call.freed(ROOM)
    call.launch(ROOM, 7, 5)
    with pytest.raises(Malformed, match="in more places than can be followed"):
        call.launch(ROOM + 1, 7, 5)  # where it was told counts, too


def test_gaps_between_elements_are_no_data() -> None:
    by = argument()
    by[4:8] = by[12:] = 0
    assert holds_all(by, part(*range(4), *range(8, 12)))
    assert not holds_all(by, part(*range(4)))


def test_who_wrote_beside_a_tensor() -> None:
    by = np.array([LAUNCHED] * 4 + [INPUT | COPIED] * 8 + [UPLOADED] * 4, np.uint8)
    assert made(by)
    assert made_beside(by, (4, 4, (2,), (1,)))
    assert not made_beside(by, (0, 4, (2,), (1,)))
    assert not made(by[4:])
    assert made(np.array([SPREAD | COPIED], np.uint8))


def test_what_an_argument_holds_by_itself() -> None:
    by = argument()
    by[:4] |= COPIED  # another's
    assert np.array_equal(with_own({}, DATA, by)[DATA], part(*range(4, 16)))
    assert np.array_equal(with_own({DATA: part(0)}, DATA, by)[DATA], part(0, *range(4, 16)))
    assert with_own({}, None, by) == {}


def test_a_tensor_of_a_storage_is_enough_where_it_alone_decides() -> None:
    by = argument()
    fed = Fed(frozenset(), {DATA: part(*range(8, 16))})
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


@pytest.mark.parametrize(("elements", "wanted"), [((8, 2), True), ((0, 2), True), ((4, 2), False), ((8, 1), False)])
def test_of_two_arguments_in_one_storage_one_is_enough(elements: tuple[int, int], wanted: bool) -> None:
    """Who reads a number more has had a kernel look at one tensor of the call, not at all that its storage holds."""
    offset, count = elements
    buffer, found = 8, 9  # other storages
    codes = {DATA: argument(), buffer: np.zeros(4 * count, np.uint8), found: np.zeros(8, np.uint8)}
    operands = [(DATA, (at, 4, (2,), (1,))) for at in (0, 8)] + [(DATA, (4, 4, (0,), (1,)))]
    call = Feeding(codes.__getitem__, [DATA], Origins([(DATA, 16)]), operands=operands)
    call.copied(DATA, (offset, 4, (count,), (1,)), buffer, (0, 4, (count,), (1,)))
    codes[buffer][:] = INPUT | COPIED
    call.launching([(found, [buffer])])
    codes[found][:] = LAUNCHED
    call.launched()
    assert call.enough(found, WORD) is wanted


class Reading:
    """A call of two arguments on which a number hangs that is read, and the storages of its own."""

    DATA, OTHER = 7, 5

    def __init__(self, exact: bool) -> None:
        self.codes = {self.DATA: argument(), self.OTHER: argument()}
        whole = [(base, (0, 4, (4,), (1,))) for base in (self.DATA, self.OTHER)]
        origins = Origins([(self.DATA, 16), (self.OTHER, 16)])
        self.call = Feeding(self.codes.__getitem__, [self.DATA, self.OTHER], origins, sought=whole, exact=exact)

    def launch(self, storage: int, *others: int, at: slice = slice(None)) -> None:
        self.codes.setdefault(storage, np.zeros(16, np.uint8))
        for one in others:
            self.codes.setdefault(one, np.zeros(16, np.uint8))
        self.call.launching([(storage, others)])
        self.codes[storage][at] = LAUNCHED
        self.call.launched()
        assert set(np.unique(self.codes[storage])) <= {0, LAUNCHED}

    def copy(self, source: int, target: int, at: int = 0, to: int = 0) -> None:
        self.codes.setdefault(target, np.zeros(16, np.uint8))
        self.call.copied(source, (at, 8, (1,), (1,)), target, (to, 8, (1,), (1,)))
        self.codes[target][to : to + 8] = self.codes[source][at : at + 8] | COPIED

    def reads(self, storage: int, offset: int = 0) -> bool:
        return self.call.enough(storage, (offset, 8, (1,), (1,)))


FLAG, ROOM = 20, 21


@pytest.mark.parametrize("exact", [False, True])
def test_a_number_is_whose_who_wrote_it_last(exact: bool) -> None:
    """A kernel that was given all, and another that writes over what it has found: the first one decides nothing."""
    call = Reading(exact)
    call.launch(FLAG, 7, 5)
    call.launch(FLAG)
    assert call.reads(FLAG) is not exact  # where nobody says which bytes a launch writes, either may have


def test_nor_by_way_of_another_storage() -> None:
    call = Reading(exact=True)
    call.launch(ROOM, 7, 5)
    call.launch(ROOM)
    call.launch(FLAG, ROOM)
    assert not call.reads(FLAG)


def test_a_kernel_that_adds_to_what_is_there_knows_it() -> None:
    call = Reading(exact=True)
    call.launch(FLAG)  # zeros
    call.launch(FLAG, FLAG, 7, 5)  # an atomic sum
    assert call.reads(FLAG)


def test_two_kernels_after_each_other() -> None:
    call = Reading(exact=True)
    call.launch(ROOM, 7, at=slice(0, 8))
    call.launch(ROOM, 5, at=slice(8, 16))
    call.launch(FLAG, ROOM)
    assert call.reads(FLAG)


@pytest.mark.parametrize("offset", [0, 8])
def test_each_number_of_a_storage_is_its_own(offset: int) -> None:
    call = Reading(exact=True)
    call.launch(FLAG, 7, 5, at=slice(0, 8))
    call.launch(FLAG, at=slice(8, 16))
    assert call.reads(FLAG, offset) is (offset == 0)


@pytest.mark.parametrize("at", [0, 8])
def test_copies_bring_what_they_take(at: int) -> None:
    call = Reading(exact=True)
    call.launch(ROOM, 7, 5, at=slice(0, 8))
    call.launch(ROOM, at=slice(8, 16))
    call.launch(FLAG, 7, 5)
    call.copy(ROOM, FLAG, at=at)
    assert call.reads(FLAG) is (at == 0)


def test_a_kernel_that_writes_nothing_changes_nothing() -> None:
    call = Reading(exact=True)
    call.launch(FLAG, 7, 5)
    call.launch(FLAG, at=slice(0, 0))
    assert call.reads(FLAG)
    call = Reading(exact=True)
    call.launch(FLAG)
    call.launch(FLAG, 7, 5, at=slice(0, 0))
    assert not call.reads(FLAG)
