"""What an operator leaves as an argument has it: by its definition, and where a kernel was there to find out."""

from __future__ import annotations

import pytest

from bringup.judge._provenance import ALONE, LEFT, MOVED, kept
from bringup.suites import get_suite

LEAVING = {"index_copy", "index_add", "masked_fill", "scatter", "scatter_reduce", "put", "tril", "select_scatter"}


@pytest.mark.parametrize(
    ("keeps", "given", "result", "said"),
    [
        ("elements", True, True, ""),
        ("elements", False, True, ALONE),
        ("elements", True, False, ""),
        ("elements", False, False, ALONE),
        ("arguments", True, False, ""),
        ("arguments", False, False, ALONE),
        ("arguments", True, True, MOVED),
        ("copies", True, True, ""),
        ("copies", False, True, MOVED),
        ("copies", True, False, LEFT),
        ("nothing", True, True, MOVED),
        ("nothing", True, False, LEFT),
    ],
)
def test_by_operator(keeps: str, given: bool, result: bool, said: str) -> None:
    assert kept(keeps, given, result=result, cast=False) == said  # type: ignore[arg-type]


def test_bits_of_another_dtype_are_no_cast() -> None:
    assert kept("copies", True, result=True, cast=False) == ""
    assert kept("copies", True, result=True, cast=True) == MOVED


@pytest.mark.parametrize("suite", ["opinfo", "aten"])
def test_suites_say_which(suite: str) -> None:
    found: dict[str, set[str]] = {"nothing": set(), "arguments": set(), "elements": set(), "copies": set()}
    for operator in get_suite(suite).operators():
        found[operator.keeps].add(operator.name.partition(".")[0].rstrip("_") if suite == "aten" else operator.name)
    assert len(LEAVING & found["elements"]) >= 6
    assert found["elements"] & {"embedding_renorm", "index_put"}
    assert found["arguments"] & {"native_batch_norm"}
    assert found["nothing"] >= {"abs", "add", "cat", "clamp", "where"}
