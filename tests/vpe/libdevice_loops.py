"""Compiles a loop around a math function, so that tests can call it on arrays."""

from __future__ import annotations

import ctypes
import functools
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from bringup.vpe.libdevice import MathFunction, lookup

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()

NUMPY = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64}
LLVM = {"f32": "float", "f64": "double", "i32": "i32", "i64": "i64"}


@dataclass
class Loop:
    """`loop(*arrays)` calls the function on every element; `optimised` is LLVM's text after its passes."""

    function: MathFunction
    address: int
    optimised: str
    keep: Any

    def __call__(self, *arrays: Any) -> np.ndarray:
        kinds = self.function.arguments
        wide = np.broadcast_arrays(*arrays)
        inputs = [np.ascontiguousarray(a, NUMPY[kind]) for a, kind in zip(wide, kinds, strict=True)]
        out = np.empty(inputs[0].shape, NUMPY[self.function.result])
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in (*inputs, out)]
        ctypes.CFUNCTYPE(None, *([ctypes.c_void_p] * len(pointers)), ctypes.c_int64)(self.address)(*pointers, out.size)
        return out


@functools.cache
def compile_loop(symbol: str, arguments: tuple[str, ...]) -> Loop:
    """Look the function up, compile a loop for this CPU with LLVM's full optimisation."""
    function = lookup(symbol, arguments)
    kinds = [LLVM[kind] for kind in function.arguments]
    parameters = ", ".join(f"ptr noalias %a{i}" for i in range(len(kinds)))
    loads = "\n".join(
        f"%p{i} = getelementptr {kind}, ptr %a{i}, i64 %i\n%x{i} = load {kind}, ptr %p{i}"
        for i, kind in enumerate(kinds)
    )
    call = ", ".join(f"{kind} %x{i}" for i, kind in enumerate(kinds))
    result = LLVM[function.result]
    text = (
        "\n".join(function.texts.values())
        + f"""
define void @loop({parameters}, ptr noalias %out, i64 %n) {{
entry:
  br label %body
body:
  %i = phi i64 [0, %entry], [%next, %body]
  {loads}
  %y = call {result} @{function.callee}({call})
  %q = getelementptr {result}, ptr %out, i64 %i
  store {result} %y, ptr %q
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %body, label %end
end:
  ret void
}}"""
    )
    for name, address in function.natives.items():
        llvm.add_symbol(name, address)
    module = llvm.parse_assembly(text)
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine(
        opt=3, cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten()
    )
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization = True
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return Loop(function, engine.get_function_address("loop"), str(module), engine)
