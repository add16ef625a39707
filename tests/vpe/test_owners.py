"""An access reaches the argument that its pointer comes from, and no other; what a text's strings hold is no syntax."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
import triton
import triton.language as tl

import bringup.vpe as vpe
from bringup.vpe import state
from bringup.vpe.compile import compile_ttir
from bringup.vpe.lower.control import function_name
from bringup.vpe.parse import parse

HEAD = "module {\n  tt.func public @k("
TAIL = "    tt.return\n  }\n}\n"
ELSEWHERE = (
    HEAD + "%a: !tt.ptr<f32>, %b: !tt.ptr<f32>, %c: i1, %n: i32) {\n%BODY%\n"
    "    %v = tt.load %p : !tt.ptr<f32>\n    tt.store %b, %v : !tt.ptr<f32>\n" + TAIL
)
BODIES = {
    "one": "    %p = tt.addptr %a, %n : !tt.ptr<f32>, i32",
    "the same twice": "    %q = tt.addptr %a, %n : !tt.ptr<f32>, i32\n    %p = arith.select %c, %a, %q : !tt.ptr<f32>",
    "a choice": "    %p = arith.select %c, %a, %b : !tt.ptr<f32>",
    "a branch": (
        "    %p = scf.if %c -> (!tt.ptr<f32>) {\n      scf.yield %a : !tt.ptr<f32>\n    } else {\n"
        "      scf.yield %b : !tt.ptr<f32>\n    }"
    ),
    "a loop": (
        "    %z = arith.constant 0 : i32\n    %o = arith.constant 1 : i32\n"
        "    %p = scf.for %i = %z to %n step %o iter_args(%q = %a) -> (!tt.ptr<f32>)  : i32 {\n"
        "      scf.yield %b : !tt.ptr<f32>\n    }"
    ),
    "a loop of one": (
        "    %z = arith.constant 0 : i32\n    %o = arith.constant 1 : i32\n"
        "    %p = scf.for %i = %z to %n step %o iter_args(%q = %a) -> (!tt.ptr<f32>)  : i32 {\n"
        "      %r = tt.addptr %q, %o : !tt.ptr<f32>, i32\n      scf.yield %r : !tt.ptr<f32>\n    }"
    ),
}


def compiled(text: str, **more: object) -> None:
    """Compile as the device process does."""
    chip = state.profile_named("permissive")
    compile_ttir(text, SimpleNamespace(arch=chip.name, profile=chip.digest, enable_scatter_stores=False, **more))


@pytest.mark.parametrize("name", BODIES)
def test_whose_a_pointer_is_must_be_known_where_the_device_asks(name):
    text = ELSEWHERE.replace("%BODY%", BODIES[name])
    compiled(text)
    if name in ("one", "the same twice", "a loop of one"):
        compiled(text, one_owner=True)
    else:
        with pytest.raises(vpe.VpeCompileError, match="more than one argument"):
            compiled(text, one_owner=True)


@triton.jit(noinline=True)
def moved(x, y, k):
    tl.store(y, tl.load(x + k))


@triton.jit
def k_moved(x, o, k):
    moved(x, o, k)


@triton.jit(noinline=True)
def beyond_one(x, y):
    tl.store(y, tl.load(x))
    return x + 1


@triton.jit
def k_walk(x, o):
    p = x
    for k in tl.static_range(3):
        p = beyond_one(p, o + k)


@triton.jit
def k_walk_of_two(x, o):
    p = beyond_one(x, o)
    beyond_one(p, o + 1)
    beyond_one(o, o + 2)


@triton.jit
def k_next(x, o, k):
    tl.store(o, tl.load(x + k))


@triton.jit
def k_next_of_many(x, o, k, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.load(x + k + (i * i) % B))


@pytest.mark.usefixtures("permissive")
@pytest.mark.parametrize("how", ["inlined", "not inlined", "of many"])
def test_the_next_argument_is_out_of_bounds(how):
    memory = torch.zeros(4096)
    at = -(memory.data_ptr() // 4) % 16
    x, o = memory[at : at + 64], torch.zeros(64)
    apart = (o.data_ptr() - x.data_ptr()) // 4
    beyond = memory.numel() - at + 16 if apart < 0 else apart  # some place that is not x's storage
    kernel, more = {"inlined": (k_next, {}), "not inlined": (k_moved, {}), "of many": (k_next_of_many, {"B": 16})}[how]
    with pytest.raises(vpe.VpeFault, match="out of bounds"):
        kernel[(1,)](x, o, beyond, **more)
    k_moved[(1,)](x, o, 3)


@pytest.mark.usefixtures("permissive")
def test_functions_that_are_not_inlined(monkeypatch):
    asked = []

    def compile_and_keep(text: str, options: object) -> object:
        asked.append(text)
        return compile_ttir(text, options)

    monkeypatch.setattr("bringup.vpe.compile.compile_ttir", compile_and_keep)
    for kernel in (k_walk, k_walk_of_two):
        x, o = torch.arange(4.0), torch.zeros(4)
        kernel[(1,)](x, o)
        assert o.tolist() == [0, 1, 0 if kernel is k_walk_of_two else 2, 0]
    compiled(asked[0], one_owner=True)
    with pytest.raises(vpe.VpeCompileError, match="more than one argument"):
        compiled(asked[1], one_owner=True)


@tl.core.builtin
def miscalled(x, symbol, kind, shape, _semantic=None):
    """A call of a library function that says of itself what the author wants."""
    type_ = tl.block_type(getattr(kind, "value", kind), [int(n) for n in shape])
    builder = _semantic.builder
    handle = builder.create_extern_elementwise("", "", symbol.value, [x.handle], type_.to_ir(builder), True)
    return tl.tensor(handle, type_)


@triton.jit
def k_miscalled(x, o, B: tl.constexpr, KIND: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, miscalled(tl.load(x + i), "__nv_clzll", KIND, (B,)))


@pytest.mark.usefixtures("permissive")
def test_a_library_function_gives_what_it_gives():
    x = torch.arange(1, 65)
    o = torch.zeros(64, dtype=torch.int32)
    k_miscalled[(1,)](x, o, B=64, KIND=tl.int32)
    assert o.tolist() == [64 - int(n).bit_length() for n in x]
    for kind in (tl.int64, tl.int8):
        with pytest.raises(Exception, match="__nv_clzll gives i32"):
            k_miscalled[(1,)](x, torch.zeros(64, dtype=torch.int64), B=64, KIND=kind)


def test_strings_are_no_syntax():
    text = (
        HEAD + r'%a: !tt.ptr<i64> {tt.x = "\\", tt.y = "}, %arg2: i64 {tt.z = "}, %p: !tt.ptr<i64>) {' + "\n"
        r'    %v = tt.load %p {x = "\\", y = ", cacheModifier = cv, z = "} : !tt.ptr<i64>' + "\n"
        '    tt.print "{ %a : (\\22" {hex = false, isSigned = array<i32: 1>} : %v : i64\n'
        r"    tt.store %a, %v : !tt.ptr<i64>" + "\n" + TAIL
    )
    kernel = parse(text).kernel
    assert [str(value.type.elem) for value in kernel.args] == ["ptr", "ptr"]
    load, told, *_ = kernel.blocks[0].ops
    assert load.operands == kernel.args[1:]
    assert "cacheModifier" not in load.attrs
    assert told.operands == [load.result]
    assert told.attrs["text"] == r"{ %a : (\22"


def test_locations_of_arguments_are_no_syntax():
    text = (
        HEAD + r'%a: !tt.ptr<i64> loc("q\\":1:1), %p: !tt.ptr<i64> loc(")a, %arg2: i64 {x loc(":1:1)) {' + "\n"
        r"    %v = tt.load %p : !tt.ptr<i64>" + "\n" + TAIL
    )
    assert [value.type.elem for value in parse(text).kernel.args] == ["ptr", "ptr"]


def test_a_text_has_one_kernel():
    text = ELSEWHERE.replace("%BODY%", BODIES["one"])
    second = text.replace("module {\n", "").replace("@k", "@other").removesuffix("}\n")
    with pytest.raises(vpe.VpeCompileError, match="more than one kernel"):
        compiled(text.removesuffix("}\n") + second + "}\n")


def test_other_arguments_than_mlir_reads_are_refused():
    text = ELSEWHERE.replace("%BODY%", BODIES["one"])
    compiled(text, signature=["*fp32", "*fp32", "i1", "i32"])
    with pytest.raises(vpe.VpeCompileError, match="other arguments"):
        compiled(text, signature=["*fp32", "i64", "i1", "i32"])


def test_no_two_functions_have_one_name():
    names = ["a.b", "a_b", "a__b", "a-b", "a_2e_b", "a\N{SECTION SIGN}b"]
    assert len({function_name(name) for name in names}) == len(names)
