"""Functions that are not inlined: none calls itself, chains have an end, and calls count as work."""

from __future__ import annotations

from types import SimpleNamespace

import llvmlite.binding as llvm
import pytest

import bringup.vpe as vpe
from bringup.vpe import state
from bringup.vpe.chains import MOST_IN_CHAIN, chains
from bringup.vpe.compile import compile_ttir
from bringup.vpe.llvm_text import Function, Unit
from bringup.vpe.parse import parse

LEAF = (
    "  tt.func private @f0(%n: i32) -> i32 attributes {noinline = true} {\n"
    "    %r = arith.addi %n, %n : i32\n    tt.return %r : i32\n  }\n"
)


def chain(depth: int, width: int = 2) -> str:
    """A kernel that calls `f<depth>`, each of which calls the one before `width` times."""
    text = "module {\n" + LEAF
    for number in range(1, depth + 1):
        calls = "".join(f"    %c{k} = tt.call @f{number - 1}(%n) : (i32) -> i32\n" for k in range(width))
        text += f"  tt.func private @f{number}(%n: i32) -> i32 attributes {{noinline = true}} {{\n{calls}"
        text += f"    %r = arith.addi %c0, %c{width - 1} : i32\n    tt.return %r : i32\n  }}\n"
    return (
        text + "  tt.func public @k(%o: !tt.ptr<i32>, %n: i32) {\n"
        f"    %v = tt.call @f{depth}(%n) : (i32) -> i32\n    tt.store %o, %v : !tt.ptr<i32>\n    tt.return\n  }}\n}}\n"
    )


def compiled(text: str) -> None:
    chip = state.profile_named("pe64")
    compile_ttir(text, SimpleNamespace(arch=chip.name, profile=chip.digest, enable_scatter_stores=False))


def test_chains_of_calls_are_added_up() -> None:
    _, call, size = chains(parse(chain(3)))
    assert size == 2 + 3 * 4 + 3  # the leaf, three of two calls each, the kernel
    assert call is not None
    assert call.attrs["callee"] == "f3"
    compiled(chain(20))


@pytest.mark.parametrize("through", ["itself", "another"])
def test_no_function_calls_itself(through: str) -> None:
    back = "f1" if through == "itself" else "f2"
    text = chain(2).replace("%c0 = tt.call @f0(", f"%c0 = tt.call @{back}(", 1)
    with pytest.raises(vpe.VpeCompileError, match="calls itself"):
        compiled(text)


def test_what_is_on_the_stack_at_once_has_an_end() -> None:
    more = "".join(f"    %x{n} = arith.addi %n, %n : i32\n" for n in range(MOST_IN_CHAIN))
    with pytest.raises(vpe.VpeCompileError, match="registers at once"):
        compiled(chain(1).replace("    %r = arith.addi %n, %n : i32\n", more + "    %r = arith.addi %n, %n : i32\n", 1))


def test_results_of_calls_are_on_the_stack() -> None:
    """Each is a place of its own, and its address an argument: a call of many is no operation like others."""
    many = ", ".join(["i32"] * 200)
    leaf = (
        f"  tt.func private @h(%n: i32) -> ({many}) attributes {{noinline = true}} {{\n"
        f"    tt.return {', '.join(['%n'] * 200)} : {many}\n  }}\n"
    )
    calls = "".join(f"    %h{k}:200 = tt.call @h(%n) : (i32) -> ({many})\n" for k in range(75))
    text = chain(12, width=1).replace("module {\n", "module {\n" + leaf, 1)
    compiled(text)
    with pytest.raises(vpe.VpeCompileError, match="registers at once"):
        compiled(text.replace("    %c0 =", calls + "    %c0 ="))


def test_frames_touch_each_of_their_pages() -> None:
    """So that none steps over the end of a thread's stack into what lies below."""
    unit = Unit("frames")
    f = Function(unit, "many_pages", "i64", [("i64", "n")])
    slots = [f.alloca("[4096 x i8]") for _ in range(16)]
    for slot in slots:
        f.do(f"call void @other(ptr {slot})")
    f.ret("i64 0")
    f.finish()
    unit.declare("other", "void", "ptr")
    machine = llvm.Target.from_default_triple().create_target_machine()
    plain = machine.emit_assembly(llvm.parse_assembly(unit.text().replace('"probe-stack"="inline-asm"', "")))
    probed = machine.emit_assembly(llvm.parse_assembly(unit.text()))
    assert len(probed.splitlines()) > len(plain.splitlines())


def test_calls_that_double_are_work_like_turns_of_a_loop() -> None:
    import torch

    from bringup.vpe import kernel, launch
    from bringup.vpe.work import SCALE, TURN_CYCLES, Budget

    chip = state.profile_named("pe64")
    options = SimpleNamespace(arch=chip.name, profile=chip.digest, enable_scatter_stores=False)
    used = []
    for depth in (4, 10):
        data, name, _ = compile_ttir(chain(depth), options)
        loaded = kernel.load(name, data)
        budget = Budget(10_000_000, "call")
        run_one(loaded, chip, torch.zeros(16, dtype=torch.int32), budget, launch)
        used.append(budget.used)
    assert used[1] - used[0] > (2**11 - 2**5 - 2) * TURN_CYCLES * SCALE


def run_one(loaded, chip, out, budget, launch):  # type: ignore[no-untyped-def]
    import numpy as np

    from bringup.vpe import memory

    packed = np.array([out.data_ptr(), 3], np.int64)
    named = SimpleNamespace(name="k", constants={}, profile=chip)
    buffers = [memory.Buffer(out.data_ptr(), out.numel() * 4, "o")]
    launch.run(loaded, chip, (1, 1, 1), named, packed, buffers, budget, 1)
