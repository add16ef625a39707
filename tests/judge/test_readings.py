"""What a host may read: sizes of the result as it is, and one flag."""

from __future__ import annotations

import struct

import pytest

from bringup.judge.readings import misread


def whole(*numbers: int) -> list[tuple[str, bytes]]:
    return [("int64", struct.pack("<q", number)) for number in numbers]


@pytest.mark.parametrize(
    ("readings", "sizes"),
    [
        (whole(7), [(7, 3)]),
        (whole(21), [(7, 3)]),  # all elements
        (whole(6), [(7,)]),  # the largest index
        (whole(0), [(5,)]),
        (whole(1), [(5,)]),
        (whole(5, 1), [(5,)]),
        ([("float32", struct.pack("<f", 5.0))], [(5,)]),
        ([("int32", struct.pack("<ii", 4, 2))], [(4,), (2,)]),
        ([], [(5,)]),
    ],
)
def test_sizes_and_a_flag_may_be_read(readings: list[tuple[str, bytes]], sizes: list[tuple[int, ...]]) -> None:
    assert misread(readings, sizes, truth=False) == ""


@pytest.mark.parametrize(
    ("readings", "sizes", "words"),
    [
        (whole(9), [(18,)], r"reads 9, which is no size of the result \(its sizes: \[18\]\)"),
        (whole(18, 9), [(18,)], "reads 9"),
        (whole(-1), [(18,)], "reads -1"),
        (whole(0, 1), [(18,)], "reads 2 flags"),
        ([("float32", struct.pack("<f", 0.25))], [(5,)], r"reads 0\.25"),
        ([("float32", struct.pack("<f", float("nan")))], [(5,)], "reads nan"),
        ([("complex64", bytes(8))], [(5,)], "reads nan"),
        (whole(3), [], "its sizes: none"),
    ],
)
def test_nothing_else_may(readings: list[tuple[str, bytes]], sizes: list[tuple[int, ...]], words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        assert misread(readings, sizes, truth=False) == ""


def test_of_a_truth_value_one_flag_may_be_read() -> None:
    assert misread(whole(1), [], truth=True) == ""
    assert "reads 2 for it" in misread(whole(2), [], truth=True)
    assert "2 flags" in misread(whole(0, 1), [], truth=True)
