"""Edits of a module in a reply: which ones are applied, and what the model is told of the others."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bringup.candidate import EDIT_KINDS, Candidate, FormatProblem, is_patch, parse_reply
from bringup.patch import Edit, PatchProblem, apply_edits, has_edits, read_edits

MODULE = """@triton.jit
def kernel_copy(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


def wrapper(input):
    out = torch.empty_like(input)
    kernel_copy[(1,)](input, out, input.numel(), BLOCK=64)
    kernel_copy[(2,)](input, out, input.numel(), BLOCK=64)
    return out
"""


def edit(search: str, replace: str) -> str:
    return f"<<<<<<< SEARCH\n{search}\n=======\n{replace}{'' if replace == '' else chr(10)}>>>>>>> REPLACE\n"


def patch(*edits: str) -> str:
    return "I change this.\n\n```patch\n" + "\n".join(edits) + "```\n"


def problem(text: str, base: str = MODULE) -> FormatProblem:
    found = parse_reply(text, base)
    assert isinstance(found, FormatProblem), found
    return found


GRID = edit(
    "    kernel_copy[(1,)](input, out, input.numel(), BLOCK=64)", "    kernel_copy[(3,)](input, out, 5, BLOCK=64)"
)
EMPTY = edit(
    "    out = torch.empty_like(input)",
    "    out = torch.empty_like(input)\n    if not input.numel():\n        return out",
)


def test_edits_make_the_next_module() -> None:
    found = parse_reply(patch(GRID, EMPTY), MODULE)
    assert isinstance(found, Candidate)
    expected = MODULE.replace("[(1,)](input, out, input.numel(),", "[(3,)](input, out, 5,").replace(
        "like(input)\n", "like(input)\n    if not input.numel():\n        return out\n"
    )
    assert found.source == expected
    # In which order edits stand, in how many blocks, under which tag, or in none: all the same.
    for text in (
        patch(EMPTY, GRID),
        patch(EMPTY) + patch(GRID),
        GRID + EMPTY,
        patch(GRID, EMPTY).replace("```patch", "```"),
    ):
        assert parse_reply(text, MODULE) == found
    assert parse_reply(patch(GRID, EMPTY).replace("\n", "\r\n"), MODULE) == found
    assert parse_reply(f"<think>\n{edit('a', 'b')}\n</think>\n{patch(GRID, EMPTY)}", MODULE) == found


@pytest.mark.parametrize("indent", ["", "    ", "          "])
def test_a_part_of_a_line_that_stands_once_may_be_replaced(indent: str) -> None:
    part = edit(f"{indent}torch.empty_like(input)", f"{indent}torch.empty(5)")
    found = parse_reply(patch(part), MODULE)
    assert isinstance(found, Candidate)
    assert found.source == MODULE.replace("torch.empty_like(input)", "torch.empty(5)")
    # Two edits of one line stay what they are: nobody says in which order.
    assert problem(patch(part, edit("out = torch", "made = torch"))).kind == "edits_overlap"


def test_lines_can_go() -> None:
    found = parse_reply(patch(edit("    kernel_copy[(2,)](input, out, input.numel(), BLOCK=64)", "")), MODULE)
    assert isinstance(found, Candidate)
    assert found.source == MODULE.replace("    kernel_copy[(2,)](input, out, input.numel(), BLOCK=64)\n", "")


def test_white_space_at_the_end_of_lines_does_not_count() -> None:
    assert isinstance(parse_reply(patch(edit("def wrapper(input):  ", "def wrapper(input):")), MODULE), Candidate)


def test_a_whole_module_replaces_the_one_before() -> None:
    assert parse_reply(f"```python\n{MODULE}```", "def wrapper():\n    pass\n") == Candidate(source=MODULE)


def test_without_a_module_edits_are_no_answer() -> None:
    found = parse_reply(patch(GRID))
    assert isinstance(found, FormatProblem)
    assert found.kind == "no_block"


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        (patch(edit("    out = torch.zeros_like(input)", "")), "edit_not_found", "The nearest is line 8: out = torch"),
        (patch(edit("out = torch.empty_like(input)", "")), "edit_not_found", "Lines 8 to 8 are the same with another"),
        (patch(edit("    return out\ndef wrapper(input):", "")), "edit_not_found", "not one after the other"),
        (patch(edit("torch.empty_like(input)", "")), "edit_not_found", "line 8 holds it as a part; take whole"),
        (patch(edit("input.numel()", "5")), "edit_not_found", "lines 9, 10 hold it as a part; take"),
        (patch(edit("empty_lik", "zeros_lik")), "edit_not_found", "line 8 holds it as a part"),
        (patch(edit("torch.empty_like(input)", "input\nx = 1")), "edit_not_found", "line 8 holds it as a part"),
        (patch(edit("out = torch.empty_like(input)\n    kernel_copy", "x")), "edit_not_found", "is not in it: out ="),
        (patch(edit("completely other text", "")), "edit_not_found", "This line is not in it: completely other text"),
        (patch(GRID, edit("", "x = 1")), "bad_edit", "Edit 2 cannot be read: it looks for nothing"),
        (patch(edit("\n", "x = 1")), "bad_edit", "looks for nothing"),
        (patch(GRID).replace("=======\n", ""), "bad_edit", "no line ======="),
        (patch(GRID).replace(">>>>>>> REPLACE\n", ""), "bad_edit", "may have been cut off"),
        (patch(GRID + EMPTY.replace("<<<<<<< SEARCH\n", "")), "bad_edit", "Edit 2 cannot be read: it has a"),
        (patch(GRID.replace(">>>>>>> REPLACE\n", "") + EMPTY), "bad_edit", "another one begins before"),
        (patch(GRID) + f"```python\n{MODULE}```", "bad_edit", "a complete module and edits"),
        (patch(edit("def wrapper(input):", "def wrapper(input")), "syntax", "With the edits, the module is not"),
        (patch(edit("def wrapper(input):", "def other(input):")), "no_wrapper", "With the edits, the module has no"),
    ],
)  # fmt: skip
def test_what_cannot_be_applied_is_told(text: str, kind: str, words: str) -> None:
    found = problem(text)
    assert found.kind == kind
    assert words in found.explanation


def test_what_stands_twice_is_ambiguous() -> None:
    twice = MODULE.replace("[(2,)]", "[(1,)]")
    found = problem(patch(GRID), twice)
    assert found.kind == "edit_ambiguous"
    assert "stands 2 times in the module (lines 9, 10)" in found.explanation
    more = patch(
        edit("    out = torch.empty_like(input)\n    kernel_copy[(1,)](input, out, input.numel(), BLOCK=64)", "")
    )
    assert isinstance(parse_reply(more, twice), Candidate)


def test_edits_that_share_a_line_are_refused() -> None:
    both = edit(
        "    out = torch.empty_like(input)\n    kernel_copy[(1,)](input, out, input.numel(), BLOCK=64)", "    pass"
    )
    found = problem(patch(GRID, both))
    assert found.kind == "edits_overlap"
    assert "Edits 1 and 2 look for the same lines (line 9" in found.explanation
    assert problem(patch(GRID, GRID)).kind == "edits_overlap"


def test_kinds_of_problems_say_that_edits_were_meant() -> None:
    assert problem(patch(edit("nothing", ""))).kind in EDIT_KINDS
    assert problem("hello").kind not in EDIT_KINDS
    assert is_patch(patch(GRID))
    assert not is_patch(f"```python\n{MODULE}```")
    assert not is_patch(f"<think>{patch(GRID)}</think>```python\n{MODULE}```")


LINES = st.lists(st.text("ab <=>S#", max_size=8), max_size=12)


@given(
    st.lists(st.tuples(st.integers(1, 3), st.none() | st.lists(st.text("abc ", max_size=5), max_size=3)), max_size=8),
    st.randoms(use_true_random=False),
)
def test_edits_of_different_lines_are_all_made_in_any_order(
    pieces: list[tuple[int, list[str] | None]], draw: Random
) -> None:
    """A module of pieces of some lines each, of which some are replaced."""
    before: list[str] = []
    after: list[str] = []
    edits: list[Edit] = []
    for length, replacement in pieces:
        lines = [f"    line {len(before) + n}" for n in range(length)]
        before += lines
        after += lines if replacement is None else replacement
        if replacement is not None:
            edits.append(Edit(tuple(lines), tuple(replacement)))
    draw.shuffle(edits)
    text = "\n".join("\n".join(["<<<<<<< SEARCH", *e.search, "=======", *e.replace, ">>>>>>> REPLACE"]) for e in edits)
    assert read_edits(text) == edits
    assert apply_edits("\n".join(before), edits) == "\n".join(after or ([""] if not before else []))


@given(LINES, st.text())
def test_no_text_raises(lines: list[str], module: str) -> None:
    text = "\n".join(["<<<<<<< SEARCH", *lines])
    assert has_edits(text)
    found = read_edits(text)
    if not isinstance(found, PatchProblem):
        apply_edits(module, found)
    parse_reply(text, module)
