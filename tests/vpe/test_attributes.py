"""Attributes that are not an operation's own say nothing, whatever their names; roundings are what MLIR means."""

from __future__ import annotations

import pytest

from bringup.vpe.ir import Op
from bringup.vpe.parse import ParseError, parse


def ops_of(body: str) -> dict[str, Op]:
    head = "%o: !tt.ptr<i32>, %x: f32, %n: i32"
    module = parse(f"module {{\ntt.func public @k({head}) {{\n{body}\ntt.return\n}}\n}}\n")
    return {op.name: op for func in module.funcs.values() for block in func.blocks for op in block.everything}


LOOP = (
    "%r = scf.for UNSIGNED%i = %n to %n step %n iter_args(%a = %n) -> (i32)  : i32 {\nscf.yield %a : i32\n} ATTRIBUTES"
)


@pytest.mark.parametrize(("says", "attributes"), [("unsigned ", ""), ("", "{unsigned}"), ("", "{unsigned = true}")])
def test_a_loop_counts_without_sign_where_it_says_so(says: str, attributes: str) -> None:
    loop = ops_of(LOOP.replace("UNSIGNED", says).replace("ATTRIBUTES", attributes))["scf.for"]
    assert bool(loop.attrs.get("unsigned")) is bool(says)


@pytest.mark.parametrize(
    ("says", "wanted"),
    [
        ("", None),
        (" toward_zero", "rtz"),
        (" to_nearest_even", "rtne"),
        (' {rounding = "rtz"}', None),
        (" {rounding = rtz}", None),
        (" {bare = toward_zero}", None),
        (' {roundingmode = "toward_zero"}', None),
    ],
)
def test_how_a_number_is_rounded(says: str, wanted: str | None) -> None:
    assert ops_of(f"%h = arith.truncf %x{says} : f32 to f16")["arith.truncf"].attrs.get("rounding") == wanted


@pytest.mark.parametrize("word", ["downward", "upward", "to_nearest_away"])
def test_other_roundings_are_refused(word: str) -> None:
    with pytest.raises(ParseError, match=f"arith.truncf {word}: numbers are rounded"):
        ops_of(f"%h = arith.truncf %x {word} : f32 to f16")


@pytest.mark.parametrize("more", ["", ", reverse = true", ', symbol = "__nv_sin"', ", axis = 1 : i32"])
def test_of_a_range_its_ends_are_read(more: str) -> None:
    found = ops_of(f"%r = tt.make_range {{end = 16 : i32, start = 0 : i32{more}}} : tensor<16xi32>")
    assert found["tt.make_range"].attrs == {"end": "16 : i32", "start": "0 : i32"}
