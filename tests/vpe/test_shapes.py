"""Every operation that can be lowered has a rule for its types, and a text that breaks it is refused."""

from __future__ import annotations

import re

import pytest

from bringup.vpe.errors import VpeCompileError
from bringup.vpe.lower.kernel import KNOWN
from bringup.vpe.lower.plan import is_constant
from bringup.vpe.parse import ParseError, frames, parse
from bringup.vpe.shapes import RULES, check_shapes

ELSEWHERE = {"tt.call", "tt.return", "cf.br", "cf.cond_br"}  # checked against what they lead to
HEAD = """module {
  tt.func public @k(%p: !tt.ptr<f32>, %n: i32, %b: i1) {
    %f = arith.constant dense<1.000000e+00> : tensor<8xf32>
    %g = arith.constant dense<1.000000e+00> : tensor<8xf32>
    %i = arith.constant dense<1> : tensor<8xi32>
    %m = arith.constant dense<true> : tensor<8xi1>
    %c = arith.constant dense<1.000000e+00> : tensor<4x2xf32>
    %s = arith.constant 1.000000e+00 : f32
    %z = arith.constant 0 : i32
    %q = tt.splat %p : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
    %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
"""
TAIL = "\n    tt.return\n  }\n}\n"

# A right line, and what a wrong one has in the place of a piece of it.
LINES = {
    "cat that declares less": ("%x = tt.cat %f, %g : tensor<8xf32> -> tensor<16xf32>", "16xf32", "2xf32"),
    "cat along another axis": (
        "%x = tt.cat %c, %c : tensor<4x2xf32> -> tensor<8x2xf32>", "tensor<8x2xf32>", "tensor<4x4xf32>",
    ),
    "cat of another element": ("%x = tt.cat %f, %g : tensor<8xf32> -> tensor<16xf32>", "16xf32", "16xf16"),
    "join": ("%x = tt.join %f, %g : tensor<8xf32> -> tensor<8x2xf32>", "8x2xf32", "4x2xf32"),
    "trans": (
        "%x = tt.trans %c {order = array<i32: 1, 0>} : tensor<4x2xf32> -> tensor<2x4xf32>", "2x4xf32", "4x2xf32",
    ),
    "reshape": ("%x = tt.reshape %f : tensor<8xf32> -> tensor<2x4xf32>", "2x4xf32", "2x2xf32"),
    "broadcast": (
        "%e = tt.expand_dims %f {axis = 0 : i32} : tensor<8xf32> -> tensor<1x8xf32>\n"
        "    %x = tt.broadcast %e : tensor<1x8xf32> -> tensor<4x8xf32>", "-> tensor<4x8xf32>", "-> tensor<4x4xf32>",
    ),
    "expand_dims": ("%x = tt.expand_dims %f {axis = 0 : i32} : tensor<8xf32> -> tensor<1x8xf32>", "1x8", "2x8"),
    "range": ("%x = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>", "16xi32", "8xi32"),
    "splat": ("%x = tt.splat %s : f32 -> tensor<8xf32>", "tensor<8xf32>", "tensor<8xf64>"),
    "splat of a pointer": (
        "%x = tt.splat %p : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>", "8x!tt.ptr<f32>", "8x!tt.ptr<f64>",
    ),
    "no power of two": ("%x = tt.splat %s : f32 -> tensor<8xf32>", "tensor<8xf32>", "tensor<6xf32>"),
    "elementwise": ("%x = arith.sitofp %i : tensor<8xi32> to tensor<8xf32>", "to tensor<8xf32>", "to tensor<4xf32>"),
    "elementwise to a scalar": ("%x = arith.sitofp %i : tensor<8xi32> to tensor<8xf32>", "to tensor<8xf32>", "to f32"),
    "gather": (
        "%x = tt.gather %f[%i] {axis = 0 : i32} : (tensor<8xf32>, tensor<8xi32>) -> tensor<8xf32>", "-> tensor<8xf32>",
        "-> tensor<2xf32>",
    ),
    "gather on no axis": (
        "%x = tt.gather %f[%i] {axis = 0 : i32} : (tensor<8xf32>, tensor<8xi32>) -> tensor<8xf32>", "axis = 0",
        "axis = 1",
    ),
    "histogram": ("%x = tt.histogram %i : tensor<8xi32> -> tensor<4xi32>", "-> tensor<4xi32>", "-> tensor<4x1xi32>"),
    "store": (
        "tt.store %q, %f : tensor<8x!tt.ptr<f32>>", "%f", "%i",
    ),
    "store of a longer block": ("tt.store %q, %f : tensor<8x!tt.ptr<f32>>", "%q, %f", "%q, %c"),
    "load's mask": ("%x = tt.load %q, %m : tensor<8x!tt.ptr<f32>>", "%m", "%i"),
    "load's other": ("%x = tt.load %q, %m, %f : tensor<8x!tt.ptr<f32>>", "%m, %f", "%m, %c"),
    "a table": (
        "%x = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>", "tensor<4xi32>", "tensor<8xi32>",
    ),
    "reduce": (
        '%x = "tt.reduce"(%c) <{axis = 1 : i32}> ({\n    ^bb0(%a: f32, %d: f32):\n      %t = arith.addf %a, %d : f32\n'
        "      tt.reduce.return %t : f32\n    }) : (tensor<4x2xf32>) -> tensor<4xf32>", "-> tensor<4xf32>",
        "-> tensor<2xf32>",
    ),
    "reduce's function": (
        '%x = "tt.reduce"(%c) <{axis = 1 : i32}> ({\n    ^bb0(%a: f32, %d: f32):\n      %t = arith.addf %a, %d : f32\n'
        "      tt.reduce.return %t : f32\n    }) : (tensor<4x2xf32>) -> tensor<4xf32>", "(%a: f32, %d: f32)",
        "(%a: f64, %d: f64)",
    ),
    "scan": (
        '%x = "tt.scan"(%c) <{axis = 1 : i32, reverse = false}> ({\n    ^bb0(%a: f32, %d: f32):\n'
        "      %t = arith.addf %a, %d : f32\n      tt.scan.return %t : f32\n"
        "    }) : (tensor<4x2xf32>) -> tensor<4x2xf32>",
        "-> tensor<4x2xf32>", "-> tensor<2x2xf32>",
    ),
    "if": (
        "%x = scf.if %b -> (tensor<8xf32>) {\n      scf.yield %f : tensor<8xf32>\n    } else {\n"
        "      scf.yield %g : tensor<8xf32>\n    }", "-> (tensor<8xf32>)", "-> (tensor<2xf32>)",
    ),
    "for": (
        "%x = scf.for %j = %z to %n step %n iter_args(%a = %f) -> (tensor<8xf32>)  : i32 {\n"
        "      scf.yield %g : tensor<8xf32>\n    }", "scf.yield %g", "scf.yield %c",
    ),
}  # fmt: skip


def test_each_operation_has_a_rule() -> None:
    assert set(RULES) | ELSEWHERE >= KNOWN


@pytest.mark.parametrize("what", LINES)
def test_a_text_that_says_otherwise_is_refused(what: str) -> None:
    right, piece, other = LINES[what]
    check_shapes(parse(HEAD + "    " + right + TAIL))
    at = right.index(piece)
    wrong = right[:at] + other + right[at + len(piece) :]
    with pytest.raises(ParseError, match="is ill-formed: "):
        check_shapes(parse(HEAD + "    " + wrong + TAIL))


def test_a_location_that_doubles_ends() -> None:
    """Each name stands for two of the one before: 2^60 frames."""
    chain = "\n".join(f"#loc{n} = loc(callsite(#loc{n - 1} at #loc{n - 1}))" for n in range(2, 62))
    module = parse(HEAD + TAIL + '#loc1 = loc("candidate.py":1:1)\n' + chain + "\n")
    assert len(frames(module, "#loc61")) <= 64
    assert len(frames(module, "#loc3")) == 4


def test_two_functions_of_one_name_are_refused() -> None:
    inner = "  module @inner {\n" + HEAD.split("\n", 1)[1].split("\n", 1)[0] + "\n    tt.return\n  }\n  }\n"
    with pytest.raises(ParseError, match="two functions are called 'k'"):
        parse((HEAD + TAIL).rstrip().removesuffix("}") + inner + "}\n")


PRIVATE = """module {
  tt.func public @k(%p: !tt.ptr<f32>) {
    tt.call @inner(%p) : (!tt.ptr<f32>) -> ()
    tt.return
  }
  tt.func private @inner(%p: !tt.ptr<f32>) {
    %r = tt.make_range {end = 524288 : i32, start = 0 : i32} : tensor<524288xi32>
    %q = tt.splat %p : !tt.ptr<f32> -> tensor<524288x!tt.ptr<f32>>
    %t = tt.addptr %q, %r : tensor<524288x!tt.ptr<f32>>, tensor<524288xi32>
    %v = tt.load %t : tensor<524288x!tt.ptr<f32>>
    tt.store %t, %v : tensor<524288x!tt.ptr<f32>>
    tt.return
  }
}
"""


def test_functions_that_are_called_have_the_chip_s_limits() -> None:
    from bringup.vpe import compile as compiling
    from bringup.vpe import state

    chip = state.profile_named("pe64")

    class Options:
        arch = chip.name

    with pytest.raises(VpeCompileError, match="local memory"):
        compiling.compile_ttir(PRIVATE, Options())


def test_a_mask_that_is_told_by_its_bytes_is_no_constant() -> None:
    listed = parse(HEAD + '    %x = arith.constant dense<"0x5555"> : tensor<16xi1>' + TAIL)
    values = {op.result.name.split("#")[0]: op.result for op in listed.walk() if op.name == "arith.constant"}
    assert not is_constant(values["x"])
    assert is_constant(values["m"])


def test_the_compiler_says_so() -> None:
    from bringup.vpe import compile as compiling
    from bringup.vpe import state

    text = HEAD + "    %x = tt.cat %f, %g : tensor<8xf32> -> tensor<2xf32>" + TAIL

    class Options:
        arch = state.profile().name

    with pytest.raises(VpeCompileError, match=re.escape("'tt.cat' is ill-formed: fp32[8] and fp32[8] is fp32[2]")):
        compiling.compile_ttir(text, Options())
