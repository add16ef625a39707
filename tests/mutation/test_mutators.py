"""Every class of mutations on one small module: exactly these lines change, to exactly this."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bringup.candidate import Candidate
from bringup.mutation import MUTATORS, mutants_of
from bringup.mutation.source import SourceModule

SAMPLE = Path(__file__).with_name("sample_kernel.py.txt").read_text(encoding="utf-8")
BY_ID = {mutator.id: mutator for mutator in MUTATORS}

# class -> the changed lines that it makes of the sample, all of them
EXPECTED = {
    "mask-dropped": [
        "x = tl.load(x_ptr + row * stride_x + cols).to(tl.float32)",
        "tl.store(y_ptr + row * stride_y + cols, tl.floor(x))",
    ],
    "tail-skipped": ["for start in range(0, n - BLOCK, BLOCK):", "grid = ((rows // 4),)"],
    "last-program-skipped": ["grid = (max(triton.cdiv(rows, 4) - 1, 1),)"],
    "neutral-changed": [
        "total = tl.full([BLOCK], 1, dtype=tl.float32)",
        "x = tl.load(x_ptr + row * stride_x + cols, mask=mask, other=1.0).to(tl.float32)",
    ],
    "precision-lowered": [
        "total = tl.zeros([BLOCK], dtype=tl.float16)",
        "total = tl.zeros([BLOCK], dtype=tl.bfloat16)",
        "x = tl.load(x_ptr + row * stride_x + cols, mask=mask, other=0.0).to(tl.float16)",
        "x = tl.load(x_ptr + row * stride_x + cols, mask=mask, other=0.0).to(tl.bfloat16)",
        "low = low.to(tl.bfloat16).to(tl.float16)",
        "low = low.to(tl.bfloat16).to(tl.bfloat16)",
    ],
    "dtype-branch": [
        "kinds = {torch.float32: tl.int64, torch.int64: tl.int64}",
        "kinds = {torch.float32: tl.float32, torch.int64: tl.float32}",
        "if x.dtype in (torch.bfloat16,):",
        "if x.dtype in (torch.float16,):",
    ],
    "axis-swapped": [
        "row = tl.program_id(1)",
        "top = tl.max(total[None, :], axis=0)",
        "top = tl.max(total[:, None], axis=1)",
    ],
    "strides-confused": [
        "kernel_scale[grid](x.contiguous(), y, n, rows, x.stride(0), y.stride(0), 0.5 if keep else scale, BLOCK=block)",
        "kernel_scale[grid](x.contiguous(), y, rows, x.stride(0), n, y.stride(0), 0.5 if keep else scale, BLOCK=block)",
        "kernel_scale[grid](x.contiguous(), y, rows, n, y.stride(0), x.stride(0), 0.5 if keep else scale, BLOCK=block)",
        "kernel_scale[grid](x.contiguous(), y, rows, n, x.stride(0), 0.5 if keep else scale, y.stride(0), BLOCK=block)",
        "kernel_scale[grid](x.contiguous(), y, rows, n, x.stride(1), y.stride(0), 0.5 if keep else scale, BLOCK=block)",
        "kernel_scale[grid](x.contiguous(), y, rows, n, x.stride(0), y.stride(1), 0.5 if keep else scale, BLOCK=block)",
        "rows, n = x.shape[1], x.shape[1]",
        "rows, n = x.shape[0], x.shape[0]",
    ],
    "layout-ignored": [
        "kernel_scale[grid](x, y, rows, n, x.stride(0), y.stride(0), 0.5 if keep else scale, BLOCK=block)",
    ],
    "default-changed": [
        "def wrapper(x, dim=-1, keep=True, *, scale=2.0):",
        "def wrapper(x, dim=-1, keep=False, *, scale=4.0):",
    ],
    "bound-off-by-one": [
        "mask = (cols < n - 1) & (row < rows)",
        "mask = (cols < n + 1) & (row < rows)",
        "mask = (cols < n) & (row < rows - 1)",
        "mask = (cols < n) & (row < rows + 1)",
        "total += tl.where(x > low - 1, x, -1.5)",
        "total += tl.where(x > low + 1, x, -1.5)",
        "for start in range(0, n - 1, BLOCK):",
        "for start in range(1, n, BLOCK):",
    ],
    "boundary": [
        "mask = (cols <= n) & (row < rows)",
        "mask = (cols < n) & (row <= rows)",
        "total += tl.where(x >= low, x, -1.5)",
    ],
    "comparison-negated": [
        "mask = (cols >= n) & (row < rows)",
        "mask = (cols < n) & (row >= rows)",
        "total += tl.where(x <= low, x, -1.5)",
        "if x.dtype not in (torch.float16, torch.bfloat16):",
    ],
    "condition-weakened": [
        "mask = (cols < n)",
        "mask = (row < rows)",
        "if not isinstance(x, torch.Tensor):",
    ],
    "branch-dropped": [
        "if False:",
        "if False:",
        "kernel_scale[grid](x.contiguous(), y, rows, n, x.stride(0), y.stride(0), 0.5, BLOCK=block)",
        "kernel_scale[grid](x.contiguous(), y, rows, n, x.stride(0), y.stride(0), scale, BLOCK=block)",
    ],
    "arms-swapped": [
        "total += tl.where(x > low, -1.5, x)",
        "kernel_scale[grid](x.contiguous(), y, rows, n, x.stride(0), y.stride(0), scale if keep else 0.5, BLOCK=block)",
    ],
    "min-max-swapped": [
        "top = tl.min(total[None, :], axis=1)",
        "scale = min(scale - 1, n)",
    ],
    "rounding": [
        "tl.store(y_ptr + row * stride_y + cols, tl.ceil(x), mask=mask)",
        "low = low.to(tl.float32)",
    ],
    "operands-swapped": ["scale = max(1 - scale, n)"],
    "operator-replaced": [
        "total -= tl.where(x > low, x, -1.5)",
        "cols = start - tl.arange(0, BLOCK)",
        "mask = (cols < n) | (row < rows)",
        "x = tl.load(x_ptr + row * stride_x - cols, mask=mask, other=0.0).to(tl.float32)",
        "x = tl.load(x_ptr - row * stride_x + cols, mask=mask, other=0.0).to(tl.float32)",
        "x = tl.load(x_ptr + row + stride_x + cols, mask=mask, other=0.0).to(tl.float32)",
        "tl.store(y_ptr + row * stride_y - cols, tl.floor(x), mask=mask)",
        "tl.store(y_ptr - row * stride_y + cols, tl.floor(x), mask=mask)",
        "tl.store(y_ptr + row + stride_y + cols, tl.floor(x), mask=mask)",
        "scale = max(scale + 1, n)",
    ],
}


def changed(mutator: str, source: str = SAMPLE) -> list[str]:
    """The lines that the mutants of one class add, checked to be the only ones that differ."""
    lines = []
    for mutant in mutants_of("op", Candidate(source=source), [BY_ID[mutator]]):
        old, new = source.splitlines(), mutant.source.splitlines()
        assert len(old) == len(new)
        different = [i for i, (a, b) in enumerate(zip(old, new, strict=True)) if a != b]
        assert different == [mutant.line - 1]
        lines.append(new[different[0]].strip())
    return lines


@pytest.mark.parametrize("mutator", sorted(EXPECTED))
def test_changes_of_each_class(mutator: str) -> None:
    assert sorted(changed(mutator)) == sorted(EXPECTED[mutator])


def test_every_class_but_constants_has_its_lines_here() -> None:
    assert set(EXPECTED) | {"constant-nudged"} == set(BY_ID)


def test_constants_are_nudged_but_not_axes_neutrals_or_tiles() -> None:
    lines = changed("constant-nudged")
    assert "total += tl.where(x > low, x, -1.515)" in lines
    assert "grid = (triton.cdiv(rows, 5),)" in lines
    assert "grid = (triton.cdiv(rows, 3),)" in lines
    for text in ("1025", "1023", "1024), 17", "1024), 15", "other=1", "axis=2", "program_id(1)", "%d"):
        assert not any(text in line for line in lines), text


def test_the_choice_of_tiles_is_left_alone_but_alignment_is_not() -> None:
    source = """def wrapper(x):
    n = x.numel()
    block = max(min(n // 2, 1024), 16)
    rows = 64 if n < 100 else 32
    y = x if n - 1 < 32 else x.clone()
    return min(n, 5)
"""
    lines = {m.line for m in mutants_of("op", Candidate(source=source))}
    assert lines == {5, 6}


def test_parentheses_keep_the_meaning_of_swapped_operands() -> None:
    source = "def wrapper(a, b, c):\n    return (a - b) - (c  # why\n        - a) // 2 - b\n"
    lines = {m.source for m in mutants_of("op", Candidate(source=source), [BY_ID["operands-swapped"]])}
    assert "def wrapper(a, b, c):\n    return b - ((a - b) - (c  # why\n        - a) // 2)\n" in lines
    assert "def wrapper(a, b, c):\n    return (a - b) - 2 // (c  # why\n        - a) - b\n" in lines
    assert "def wrapper(a, b, c):\n    return (b - a) - (c  # why\n        - a) // 2 - b\n" in lines


def test_text_before_a_change_may_hold_any_character() -> None:
    source = 'def wrapper(a):\n    return "größer ✓", a < 1\n'
    assert changed("boundary", source) == ['return "größer ✓", a <= 1']


def test_places() -> None:
    module = SourceModule(SAMPLE)
    places = {module.place(node): module.function(node) for node in module.nodes(ast.expr)}
    assert places == {"kernel": "kernel_scale", "wrapper": "wrapper", "checks": "wrapper"}
    assert [m.place for m in mutants_of("op", Candidate(source=SAMPLE), [BY_ID["condition-weakened"]])] == [
        "kernel", "kernel", "checks",
    ]  # fmt: skip


def test_questions_of_type_in_checks_are_left_alone() -> None:
    source = (
        "def wrapper(x, dim):\n"
        "    if not isinstance(dim, int) or type(dim) is bool:\n        raise TypeError('dim')\n"
        "    if isinstance(dim, bool) or dim < 0:\n        raise IndexError('dim')\n"
        "    if isinstance(x, float):\n        return 1\n"
    )
    changed_lines = {(m.line, m.mutator) for m in mutants_of("op", Candidate(source=source))}
    assert not any(line == 2 for line, _ in changed_lines)
    assert {mutator for line, mutator in changed_lines if line == 4} >= {"boundary", "condition-weakened"}
    assert (6, "branch-dropped") in changed_lines  # another path, not an error


def test_errors_and_decorators_are_left_alone() -> None:
    for mutant in mutants_of("op", Candidate(source=SAMPLE)):
        assert 'raise TypeError("scale %d" % 3)' in mutant.source
        assert mutant.source.startswith("@triton.jit\n")


NUMBERS = st.recursive(
    st.sampled_from(["a", "b", "f(a)", "x[1]", "2", "-a", "(b)"]),
    lambda inner: st.one_of(
        st.builds(lambda o, x, y: f"({x} {o} {y})", st.sampled_from(["-", "+", "//", "<<", "&", "<"]), inner, inner),
        st.builds(lambda o, x, y: f"{x} {o}\\\n {y}", st.sampled_from(["-", "/", "%", "*"]), inner, inner),
        st.builds(lambda x, y: f"(not {x} and ( {y} ))", inner, inner),
    ),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(NUMBERS)
def test_mutants_of_any_expression_parse_and_differ(expression: str) -> None:
    source = f"def wrapper(a, b, x, f):\n    return {expression}\n"
    original = ast.dump(ast.parse(source))
    for mutant in mutants_of("op", Candidate(source=source)):
        assert ast.dump(ast.parse(mutant.source)) != original


@settings(max_examples=100, deadline=None)
@given(NUMBERS)
def test_swapping_operands_swaps_them_in_the_tree(expression: str) -> None:
    source = f"def wrapper(a, b, x, f):\n    return {expression}\n"
    module = SourceModule(source)
    changes = list(BY_ID["operands-swapped"]().changes(module))
    for change in changes:
        assert isinstance(change.node, ast.BinOp)
        swapped = ast.parse(source)
        for node in ast.walk(swapped):
            same = isinstance(node, ast.BinOp) and (node.col_offset, node.lineno, node.end_col_offset) == (
                change.node.col_offset, change.node.lineno, change.node.end_col_offset,
            )  # fmt: skip
            if same and ast.dump(node) == ast.dump(change.node):
                node.left, node.right = node.right, node.left
                break
        assert ast.dump(ast.parse(module.apply(change.edits))) == ast.dump(swapped)


SHARED = """
@triton.jit
def kernel_copy(x, out, n, steps, BLOCK: tl.constexpr):
    for k in range(steps):
        i = (tl.program_id(0) * steps + k) * BLOCK + tl.arange(0, BLOCK)
        at = tl.cast(i, tl.int64)
        tl.store(out + at, tl.load(x + at, mask=i < n), mask=i < n)

def wrapper(input):
    if input.is_floating_point() or input.is_complex():
        out = torch.empty_like(input)
    n = input.numel()
    blocks = triton.cdiv(n, 1024)
    steps = triton.cdiv(blocks, 4096)
    few = triton.cdiv(blocks, 4)
    grid = (triton.cdiv(blocks, steps), triton.cdiv(blocks, few))
    kernel_copy[grid](input, out, n, steps, BLOCK=1024)
    return out
"""


def test_what_shows_only_in_sizes_and_dtypes_beyond_every_test_is_left_alone() -> None:
    source = SHARED
    texts = [mutant.diff for mutant in mutants_of("op", Candidate(source=source))]
    assert any("blocks // few" in text for text in texts)
    assert not any("blocks // steps" in text for text in texts)
    assert not any("+        at = tl.cast(i, tl.int32)" in text for text in texts)
    lost = [text for text in texts if "+    if input.is_" in text]
    assert lost
    assert all("+    if input.is_complex():" in text for text in lost)


def test_what_only_copies_once_more_or_repeats_a_program_is_left_alone() -> None:
    source = """
@triton.jit
def kernel_sum(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    tl.store(out_ptr, tl.sum(tl.load(x_ptr + tl.arange(0, BLOCK)), axis=0))

@triton.jit
def kernel_add(x_ptr, n):
    tl.store(x_ptr, tl.load(x_ptr) + n)

def aligned(x):
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()

def wrapper(x):
    y = x if x.storage_offset() * 2 == 0 else x.clone()
    out = torch.empty((), dtype={torch.int8: tl.int8, torch.int32: tl.int32, torch.int64: tl.int64}[x.dtype])
    if x.dtype in (torch.int16, torch.float16):
        kernel_add[(1,)](y, 2)
    kernel_sum[(1,)](aligned(y), out, 5, BLOCK=64)
    return out
"""
    texts = {m.source for m in mutants_of("op", Candidate(source=source))}

    def made(old: str, new: str) -> bool:
        assert old in source
        return source.replace(old, new, 1) in texts

    assert not made("kernel_sum[(1,)]", "kernel_sum[(2,)]")
    assert made("kernel_add[(1,)]", "kernel_add[(2,)]")  # it would add twice
    choice = "x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()"
    assert made(choice, "x")
    assert not made(choice, "x.clone()")
    assert not made("storage_offset() * x.element", "storage_offset() + x.element")
    assert made("storage_offset() * 2", "storage_offset() + 2")
    assert made("y = x if x.storage_offset() * 2 == 0 else x.clone()", "y = x.clone()")  # what `y` is may be written to
    assert not made("torch.int8: tl.int8", "torch.int8: tl.int32")
    assert made("torch.int32: tl.int32", "torch.int32: tl.int64")
    assert made("(torch.int16, torch.float16)", "(torch.int16,)")
    assert not made("(torch.int16, torch.float16)", "(torch.float16,)")


def test_numbers_whose_neighbour_says_the_same_are_left_alone() -> None:
    source = """
def aligned(x):
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()

def wrapper(x, mode=0, dim=1):
    if dim >= 3.4e38 or dim >= 2.5 or dim % 7 == 0:
        return aligned(x)
    return x
"""
    texts = {m.source for m in mutants_of("op", Candidate(source=source))}

    def made(old: str, new: str) -> bool:
        assert old in source
        return source.replace(old, new, 1) in texts

    assert not made("% 32 == 0", "% 32 == 1")
    assert made("% 7 == 0", "% 7 == 1")
    assert not made("mode=0", "mode=1")  # it is not read
    assert made("dim=1", "dim=0")
    assert not made("3.4e38 or", "(3.4e38) + 1 or")
    assert made("2.5", "(2.5) + 1") or made("2.5", "2.5 + 1")
