"""What a source leaves open, and that a choice changes nothing else."""

import pytest

from bringup.candidate import Candidate
from bringup.clients.recording import RecordingSet, find_set
from bringup.linter import lint
from bringup.search.parameters import DEFAULT, Choice, Freedom, apply, freedom_of, space
from bringup.targets import get_target

GPU = Freedom(num_warps=(1, 2, 4, 8), num_stages=(1, 2, 3, 4), precisions=("ieee", "tf32x3"), processors=132)

ADD = """\
@triton.jit
def kernel_add(x, y, out, total, per, BLOCK: tl.constexpr):
    first = tl.program_id(0) * per  # where this program begins: 1024 elements a turn
    for k in range(0, per):
        i = (first + k) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + i, mask=i < total) + tl.load(y + i, mask=i < total), mask=i < total)


def wrapper(x, y):
    out = torch.empty_like(x)
    total = x.numel()
    assert total != 1024
    blocks = triton.cdiv(total, 1024)
    per = triton.cdiv(blocks, 32768)
    kernel_add[(triton.cdiv(blocks, per),)](
        x, y, out, total, per, BLOCK=1024,  # 1024 elements
    )
    return out
"""

PRODUCT = """\
@triton.jit
def kernel_mm(a_ptr, b_ptr, out_ptr, m, n, k, across, tiles, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        row = (tile // across) * BM + tl.arange(0, BM)
        column = (tile % across) * BN + tl.arange(0, BN)
        acc = tl.zeros([BM, BN], dtype=tl.float32)
        for start in range(0, k, BK):
            at = start + tl.arange(0, BK)
            a = tl.load(a_ptr + row[:, None] * k + at[None, :]).to(tl.float32)
            b = tl.load(b_ptr + at[:, None] * n + column[None, :]).to(tl.float32)
            acc += tl.dot(a, b, input_precision="ieee")
        tl.store(out_ptr + row[:, None] * n + column[None, :], acc)


def sizes(m, few):
    bm, bn = (16, 32) if m <= few else (64, 128)
    return bm, bn


def wrapper(a, b):
    m, k, n = a.shape[0], a.shape[1], b.shape[1]
    bm, bn = sizes(m, 16)
    out = torch.empty((m, n), dtype=a.dtype, device=a.device)
    across = triton.cdiv(n, bn)
    tiles = triton.cdiv(m, bm) * across
    grid = (min(tiles, 65535),)
    kernel_mm[grid](a, b, out, m, n, k, across, tiles, bm, bn, BK=32)
    return out
"""


def named(source, freedom=GPU):
    return {one.name: one for one in space(source, freedom).parameters}


def test_literals_that_count_the_same_blocks_change_together():
    changed = apply(ADD, {"BLOCK@16": 4096})
    assert "triton.cdiv(total, 4096)" in changed
    assert "BLOCK=4096,  # 1024 elements" in changed
    assert "assert total != 1024" in changed  # no size of a block
    assert "# where this program begins: 1024 elements a turn" in changed


def test_one_less_than_a_block_follows_it():
    rounded = ADD.replace("triton.cdiv(total, 1024)", "(total + 1023) // 1024")
    assert "(total + 255) // 256" in apply(rounded, {"BLOCK@16": 256})


def test_an_alignment_of_the_same_value_stays():
    padded = ADD.replace("    per = triton", "    total = triton.cdiv(total, 1024) * 1024\n    per = triton")
    assert "total = triton.cdiv(total, 1024) * 1024" in apply(padded, {"BLOCK@17": 256})


def test_options_are_added_where_there_are_none():
    changed = apply(ADD, {"num_warps@15": 8, "num_stages@15": 2})
    assert "BLOCK=1024, num_warps=8, num_stages=2,  # 1024 elements" in changed or (
        "BLOCK=1024, num_stages=2, num_warps=8,  # 1024 elements" in changed
    )
    given = ADD.replace("BLOCK=1024,", "BLOCK=1024, num_warps=2,")
    found = named(given)["num_warps@15"]
    assert (found.present, found.choices) == (2, (1, 2, 4, 8))
    assert "num_warps=4," in apply(given, {"num_warps@15": 4})


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("f[(1,)](x)", "f[(1,)](x, num_warps=8)"),
        ("f[(1,)]()", "f[(1,)](num_warps=8)"),
        ("f[(1,)]((x))", "f[(1,)]((x), num_warps=8)"),
        ("f[(1,)](x,)", "f[(1,)](x, num_warps=8,)"),
        ("f[(1,)](x  # a, b\n    )", "f[(1,)](x  # a, b\n    , num_warps=8)"),
        ("f[(1,)](*x)", "f[(1,)](*x, num_warps=8)"),
    ],
)
def test_an_option_is_added_at_the_end_of_any_call(call, expected):
    source = f"@triton.jit\ndef f(x):\n    pass\n\n\ndef wrapper(x):\n    {call}\n"
    assert apply(source, {"num_warps@7": 8}) == source.replace(call, expected)


def test_options_of_a_launch_with_unknown_options_are_left_alone():
    source = "@triton.jit\ndef f(x):\n    pass\n\n\ndef wrapper(x, **more):\n    f[(1,)](x, **more)\n"
    assert named(source) == {}


def test_a_product_leaves_its_tiles_operands_precision_and_order_open():
    found = named(PRODUCT)
    assert {(one.kind, one.present) for one in found.values()} == {
        ("block", 16), ("block", 32), ("block", 64), ("block", 128), ("programs", 65535), ("order", 1),
        ("operands", "widened"), ("input_precision", "ieee"), ("num_warps", DEFAULT), ("num_stages", DEFAULT),
    }  # fmt: skip
    assert all(16 <= size <= 256 for one in found.values() if one.kind == "block" for size in one.choices)


def test_sizes_are_followed_through_functions_that_return_several():
    assert "(16, 32) if m <= few else (256, 128)" in apply(PRODUCT, {"BM@16": 256}) or (
        "(16, 32) if m <= few else (256, 128)" in apply(PRODUCT, {"BM@16#2": 256})
    )


def test_operands_that_only_a_product_reads_lose_their_cast():
    changed = apply(PRODUCT, {"operands@9": "native"})
    assert changed == PRODUCT.replace(".to(tl.float32)\n            b", "\n            b").replace(
        "column[None, :]).to(tl.float32)\n            acc", "column[None, :])\n            acc"
    )


def test_an_operand_with_another_reader_keeps_its_cast():
    summed = PRODUCT.replace("            acc += tl.dot", "            acc += tl.sum(a)\n            acc += tl.dot")
    assert "operands@9" not in named(summed)


def test_tiles_are_numbered_in_groups_of_rows():
    changed = apply(PRODUCT, {"group@4": 8})
    pair = "tl.swizzle2d(tile // across, tile % across, tiles // across, across, 8)"
    assert f"row = ({pair}[0]) * BM" in changed
    assert f"column = ({pair}[1]) * BN" in changed


def test_no_order_where_a_number_of_a_tile_is_used_otherwise():
    assert "group@4" not in named(PRODUCT.replace("acc)", "acc + tile)"))


def test_axes_of_a_grid_swap_in_kernel_and_launch():
    source = (
        "@triton.jit\ndef kernel(x, BLOCK: tl.constexpr):\n"
        "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n    j = tl.program_id(axis=1)\n"
        "    tl.store(x + i, j)\n"
        "\n\ndef wrapper(x):\n    kernel[(triton.cdiv(8, 32), 7)](x, BLOCK=32)\n"
    )
    changed = apply(source, {"axes@3": "swapped"})
    assert "i = tl.program_id(1)" in changed
    assert "j = tl.program_id(axis=0)" in changed
    assert "kernel[(7, triton.cdiv(8, 32))]" in changed
    assert "axes@3" not in named(source.replace("(triton.cdiv(8, 32), 7)", "(7,)"))


def test_a_lower_limit_is_no_parameter():
    source = ADD.replace("BLOCK=1024", "BLOCK=max(min(triton.next_power_of_2(total), 2048), 32)")
    assert [(p.kind, p.present) for p in named(source).values() if p.kind == "block"] == [("block", 2048)]


def test_what_cannot_be_applied_says_so():
    with pytest.raises(ValueError, match="no parameter BLOCK@1 in this source; it has"):
        apply(ADD, {"BLOCK@1": 32})
    with pytest.raises(ValueError, match="'big' is no value of a parameter of the kind block"):
        apply(ADD, {"BLOCK@16": "big"})
    with pytest.raises(ValueError, match="768 is no value"):
        apply(ADD, {"BLOCK@16": 768})
    with pytest.raises(ValueError, match="line 1"):
        space("def wrapper(:")


def test_a_space_fits_its_target():
    vpe = freedom_of(get_target("vpe:pe64"))
    assert (vpe.num_warps, vpe.processors, vpe.dot) == ((), 64, 32)
    kinds = {one.kind for one in space(PRODUCT, vpe).parameters}
    assert kinds == {"block", "programs", "order", "operands"}
    cuda = freedom_of(get_target("cuda"))
    assert "tf32" not in cuda.precisions
    assert "tf32" in freedom_of(get_target("cuda"), loose=True).precisions


def test_equal_choices_have_equal_digests():
    found = space(ADD, GPU)
    assert found.choice({"BLOCK@16": 1024}) == Choice()
    assert Choice(values={"a": 1, "b": 2}).digest == Choice(values={"b": 2, "a": 1}).digest
    assert Choice(values={"a": 1}).digest != Choice(values={"a": 2}).digest


RECORDED = RecordingSet(find_set("vpe-pe64")).candidates()


def other(parameter):
    return next(value for value in reversed(parameter.choices) if value != parameter.present)


@pytest.mark.long
def test_every_parameter_of_recorded_kernels_can_be_set_alone_and_keeps_the_comments():
    freedom = freedom_of(get_target("cuda"), loose=True)
    for name, candidate in sorted(RECORDED.items())[::6]:
        for one in space(candidate.source, freedom).parameters:
            changed = apply(candidate.source, {one.name: other(one)})
            assert changed != candidate.source, (name, one.name)
            assert changed.count("#") == candidate.source.count("#"), (name, one.name)


@pytest.mark.parametrize("name", ["add", "mm", "softmax", "nn.functional.conv2d", "sort", "count_nonzero", "diag"])
def test_the_linter_takes_a_kernel_with_all_its_parameters_changed(name):
    source = RECORDED[name].source
    target = get_target("vpe:pe64")
    found = space(source, freedom_of(target)).parameters
    changed = apply(source, {one.name: other(one) for one in found})
    assert lint(Candidate(source=changed), target.dialect()) == lint(Candidate(source=source), target.dialect())


@pytest.mark.long
def test_most_recorded_kernels_leave_something_open():
    freedom = freedom_of(get_target("vpe:pe64"))
    empty = [name for name, one in RECORDED.items() if not space(one.source, freedom).parameters]
    # Views and copies: nothing in them has a size.
    assert all("BLOCK" not in RECORDED[name].source for name in empty)
    assert len(empty) < len(RECORDED) // 6
