"""What a host may read: a size of the result as it is, and one flag, the same in every call."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from bringup.judge._must_read import Sought
from bringup.judge.readings import Readings

Read = list[tuple[str, bytes]]


def whole(*numbers: int) -> Read:
    return [("int64", struct.pack("<q", number)) for number in numbers]


def misread(readings: Read, *sizes: tuple[int, ...], truth: bool | None = None, known: Readings | None = None) -> str:
    return (known or Readings()).misread(readings, sizes, [], truth=truth)


@pytest.mark.parametrize(
    ("readings", "sizes"),
    [
        (whole(7), [(7, 3)]),
        (whole(21), [(7, 3)]),  # all elements
        (whole(0), [(5,)]),
        (whole(1), [(5,)]),
        (whole(5, 1), [(5,)]),
        ([("float32", struct.pack("<f", 5.0))], [(5,)]),
        ([("int32", struct.pack("<ii", 4, 1))], [(4,), (2,)]),
        ([], [(5,)]),
    ],
)
def test_a_size_and_a_flag_may_be_read(readings: Read, sizes: list[tuple[int, ...]]) -> None:
    assert misread(readings, *sizes) == ""


@pytest.mark.parametrize(
    ("readings", "sizes", "words"),
    [
        (whole(9), [(18,)], r"reads 9, which is no size of the result \(its sizes: \[18\]\)"),
        (whole(18, 9), [(18,)], "reads 9"),
        (whole(-1), [(18,)], "reads -1"),
        (whole(6), [(7,)], "reads 6"),  # the largest index says as much, and is another role
        ([("float32", struct.pack("<f", -0.0))], [(5,)], "reads nan"),  # whose sign would be a bit
        (whole(7, 3), [(7, 3)], "reads 7 and 3, neither of which is a flag"),
        ([("uint8", bytes(16))], [(13, 1)], "reads 16 numbers"),
        ([("float32", struct.pack("<f", 0.25))], [(5,)], r"reads 0\.25"),
        ([("float32", struct.pack("<f", float("nan")))], [(5,)], "reads nan"),
        ([("complex64", bytes(8))], [(5,)], "reads nan"),
        (whole(3), [], "its sizes: none"),
    ],
)
def test_nothing_else_may(readings: Read, sizes: list[tuple[int, ...]], words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        assert misread(readings, *sizes) == ""


def told(*calls: tuple[Read, tuple[int, ...]]) -> list[str]:
    known = Readings()
    return [misread(readings, size, known=known) for readings, size in calls]


def test_a_number_has_one_role_in_all_calls() -> None:
    assert told((whole(7), (7, 3)), (whole(5), (5, 2)), (whole(2), (2, 2)), (whole(4), (4, 9))) == [""] * 4
    *right, wrong = told((whole(7), (7, 3)), (whole(2), (2, 2)), (whole(2), (5, 2)))
    assert right == ["", ""]
    assert "another size of the result" in wrong


def test_a_flag_is_the_same_in_all_calls() -> None:
    assert told((whole(7, 1), (7,)), (whole(1, 1), (1,)), (whole(2, 1), (2,))) == [""] * 3
    assert "another flag" in told((whole(7, 1), (7,)), (whole(8, 0), (8,)))[-1]
    # Of 1 and 1 either may be the flag; of 2 and 1 the second is, and 2 is none.
    assert "another flag" in told((whole(1, 1), (1, 2)), (whole(1, 1), (1, 2)), (whole(1, 2), (1, 2)))[-1]


def test_how_many_numbers_are_read_does_not_hang_on_the_first() -> None:
    """Truth values: one number where there are some of both, a flag and a number where there is one of them alone."""
    known = Readings()
    calls: list[tuple[Read, int]] = [(whole(1), 1), (whole(2), 2), (whole(0, 1), 1)]
    words = [known.misread(read, [(size,)], [n]) for n, (read, size) in enumerate(calls, 20)]
    assert words[:2] == ["", ""]
    assert "another flag" in words[2]


def test_whether_all_is_well_may_hang_on_whether_there_is_a_result() -> None:
    """Residuals of `lstsq` are there where all ranks are full."""
    assert told((whole(1), (3,)), (whole(0), (0,)), (whole(1), (4,)), (whole(0), (0,))) == [""] * 4


def test_other_arguments_give_another_kind_of_call() -> None:
    known = Readings()
    calls: list[tuple[Read, tuple[int, ...], Any]] = [(whole(7), (7, 3), {"dim": 0}), (whole(3), (7, 3), {"dim": 1})]
    assert [known.misread(readings, [size], given) for readings, size, given in calls] == ["", ""]


def test_of_a_truth_value_one_flag_may_be_read() -> None:
    assert misread(whole(1), truth=True) == ""
    assert "reads 2 for it" in misread(whole(2), truth=True)
    assert "2 flags" in misread(whole(0, 1), truth=True)


@pytest.mark.parametrize(
    ("read", "sizes", "sought", "words"),
    [
        (whole(3), [(3, 2)], Sought("size"), ""),
        (whole(3, 1), [(3, 2)], Sought("size"), ""),
        (whole(1, 3), [(3, 2)], Sought("size"), "is read first"),
        (whole(1), [(3, 1)], Sought("size"), "is read first"),
        (whole(2), [(3, 2)], Sought("size", -1), ""),
        (whole(6), [(3, 2)], Sought("size", None), ""),
    ],
)
def test_the_size_that_hangs_on_data_is_read_first(read: Read, sizes: Any, sought: Sought, words: str) -> None:
    found = Readings().misread(read, sizes, [], sought=sought)
    assert words in found
    assert bool(found) is bool(words)


def test_what_is_read_decides_the_same_way_in_each_call() -> None:
    known, sought = Readings(), Sought("truth")
    assert [known.misread(whole(n), [], [n], truth=not n, sought=sought) for n in (0, 1, 1)] == ["", "", ""]
    assert "decides, the same way" in known.misread(whole(1), [], [5], truth=True, sought=sought)
    residuals = Sought("residuals")
    known = Readings()
    assert known.misread(whole(1), [(2, 1), (0,)], [1], sought=residuals) == ""
    assert known.misread(whole(0), [(2, 1), (1,)], [2], sought=residuals) == ""
    assert "decides, the same way" in known.misread(whole(1), [(2, 1), (1,)], [3], sought=residuals)
