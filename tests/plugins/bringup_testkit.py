"""Plug-ins, found by their entry points as a stranger's would be: a suite of a few hand-made operators, and a target,
a third chip beside those that ship, whose device is the simulator of `vpe` seen through a layer of its own.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bringup.device import Call, Engine, Fault, Kernel
from bringup.dialect import Dialect, load_dialect
from bringup.errors import ConfigError, UnknownOperator
from bringup.operators import CallShape, DocNode, Operator, PromptWords
from bringup.suites import CaseInputs, SuiteDefaults
from bringup.targets import TargetDefaults
from bringup.verdict import CaseId

# A candidate that is right for the operator `double`; tests break it in one place each.
DOUBLE = """
@triton.jit
def kernel_double(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, v + v, mask=i < n)

def wrapper(input):
    x = input.contiguous()
    x = x if x.storage_offset() % 32 == 0 else x.clone()
    y = torch.empty_like(x)
    n = x.numel()
    if n:
        kernel_double[(triton.cdiv(n, 16),)](x, y, n, BLOCK=16)
    return y
"""

# Right for `torch.maximum`; tests say what `FLAG` is, and what stands in the place of `CHANGE`, a line of the kernel.
MAXIMUM = """
@triton.jit
def kernel(a_ptr, b_ptr, out_ptr, n, FLAG: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + i, mask=i < n, other=1)
    b = tl.load(b_ptr + i, mask=i < n, other=1)
    y = tl.maximum(a, b)
    if a_ptr.dtype.element_ty.is_floating():
        y = tl.where((a != a) | (b != b), float("nan"), y).to(y.dtype)
    CHANGE
    tl.store(out_ptr + i, tl.where(FLAG, a + a, y).to(y.dtype), mask=i < n)


def aligned(x):
    x = x.contiguous()
    return x.clone() if x.storage_offset() else x


def wrapper(input, other, *, out=None):
    flag = FLAG
    shape = torch.broadcast_shapes(input.shape, other.shape)
    a, b = aligned(input.expand(shape)), aligned(other.expand(shape))
    y = torch.empty(shape, dtype=input.dtype, device=input.device)
    if y.numel():
        kernel[(triton.cdiv(y.numel(), 16),)](a, b, y, y.numel(), FLAG=flag, BLOCK=16)
    if out is None:
        return y
    if out.shape != y.shape:
        out.resize_(y.shape)
    return out.copy_(y)
"""


def replaced(source: str, old: str, new: str) -> str:
    """Break a candidate in one place, which must be there once."""
    assert source.count(old) == 1, f"{old!r} stands {source.count(old)} times in the candidate"
    return source.replace(old, new)


def in_place(source: str) -> str:
    """`DOUBLE`, or a variation, with its input as its result."""
    prepared = source[source.index("    x = input") : source.index("    n = x.numel()")]
    return replaced(source, prepared, "    x = y = input\n")


SHAPES = ((4,), (3, 5), (), (0,), (33,))


def _double(x: Any) -> Any:
    return x + x


def _add_one_(x: Any) -> Any:
    return x.add_(1)


def _transpose(x: Any) -> Any:
    return x.t() if x.dim() == 2 else x.view(x.shape)


def _split(x: Any) -> Any:
    return (x * 2, [x * 3])


REFERENCES: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "double": (_double, ("aten.add.Tensor",)),
    "add_one_": (_add_one_, ("aten.add_.Tensor",)),
    "transpose": (_transpose, ("aten.t.default", "aten.view.default")),
    "split": (_split, ("aten.mul.Tensor",)),
}


class TinySuite(SuiteDefaults):
    name = "tiny"
    words = PromptWords(families=())  # its kernels know no other layouts than those of its cases

    def operators(self) -> Iterator[Operator]:
        for name, (_, overloads) in REFERENCES.items():
            yield Operator(
                name=name,
                mutates=name.endswith("_"),
                computes=name != "transpose",
                views=name in ("transpose", "add_one_"),
                suite="tiny",
                category="Other",
                case_counts={"float32": len(SHAPES), "int32": len(SHAPES)},
                overloads=overloads,
                call_shapes=(CallShape(positional=1),),
                signature=f"{name}(input) -> Tensor",
            )
        yield Operator(
            name="complex_only",
            suite="tiny",
            category="Other",
            case_counts={"float32": 1},
            needs={"complex": "the result is complex"},
        )

    def operator(self, name: str) -> Operator:
        known = {op.name: op for op in self.operators()}
        if name not in known:
            raise UnknownOperator(name, known, self.name)
        return known[name]

    def docs(self, name: str) -> list[DocNode]:
        return [DocNode(name=name, text=f"{name}(input): see the reference.")]

    def materialise(self, operator: str, dtype: str, seed: int = 0) -> Sequence[CaseInputs]:
        import torch

        generator = torch.Generator().manual_seed(seed)
        reference, _ = REFERENCES[operator]
        cases = []
        for index, shape in enumerate(SHAPES):
            x = torch.randint(-9, 9, shape, generator=generator).to(getattr(torch, dtype))
            case = CaseId(operator=operator, dtype=dtype, index=index, seed=seed)
            cases.append(CaseInputs(case=case, variant="", args=(x,), kwargs={}, reference=reference))
        return cases


class ThirdTarget(TargetDefaults):
    """A target as a vendor would write it: a name, a language, a compiler of texts, an engine."""

    name = "third"
    device = "third"

    def __init__(self, profile: str | None = None) -> None:
        if profile is not None:
            raise ConfigError(f"target third:{profile}", "the third chip has no profiles", "give third")
        self.profile = None

    def dialect(self) -> Dialect:
        return load_dialect("triton").model_copy(update={"name": "third"})

    def environment(self) -> Mapping[str, str]:
        return {"BRINGUP_VPE": "permissive"}

    def triton_target(self) -> tuple[str, str | int, int]:
        return "vpe", "permissive", 1

    def toolchain(self) -> str:
        from bringup.vpe.identity import source_digest

        return f"third 1.0 {source_digest()} {super().toolchain()}"

    def warm_up(self) -> None:
        from bringup import vpe
        from bringup.vpe import device  # noqa: F401

        vpe.activate("permissive")
        vpe.warm()

    def compile_text(self, request: Mapping[str, Any]) -> Kernel:
        from bringup.targets._vpe_engine import compile_for_vpe

        return compile_for_vpe(_chip(), request)

    def engine(self) -> Engine:
        return ThirdEngine()


def _chip() -> Any:
    from bringup.vpe.profile import load_profile

    return load_profile("permissive")


class ThirdEngine:
    """Passes everything on to a simulator, but for what real chips lack: a map of written bytes.

    Its counters say which of the modes that a user may ask for were on. A launch with a constant called STOPPED breaks
    its context, one with GONE leaves a chip that no process finds again, and with LOST it says that it has failed.
    """

    exact = False  # a launch counts for all of the storages that it was given

    def __init__(self) -> None:
        from bringup.targets._vpe_engine import VpeEngine

        self.simulator = VpeEngine(_chip())
        self.alignment = 256
        self.stopped = False
        self.gone = Path(os.environ["HOME"], "gone")

    def __getattr__(self, name: str) -> Any:
        if name == "simulator":
            raise AttributeError(name)
        return getattr(self.simulator, name)

    def start(self, describe: Callable[[int], str]) -> None:
        if self.gone.exists():
            raise RuntimeError("the third chip does not answer")
        self.simulator.start(describe)

    def broken(self) -> bool:
        return self.stopped

    def begin(self, mode: dict[str, Any]) -> None:
        self.simulator.begin(mode)
        self.modes = {name: bool(mode.get(name)) for name in ("race", "blocking")}

    def counters(self) -> list[dict[str, Any]]:
        return [{**one, **self.modes} for one in self.simulator.counters()]

    def launch(self, call: Call) -> str:
        import numpy as np

        self.stopped |= bool(call.constants.keys() & {"STOPPED", "GONE", "LOST"})
        if "LOST" in call.constants:
            raise Fault("lost", "the third chip has failed: its memory is worn out")
        if "GONE" in call.constants:
            self.gone.touch()
        if self.stopped:
            raise Fault("fault", "a kernel was stopped: nobody knows why")
        blocks = [b and replace(b, written_by=np.ones(b.nbytes, np.uint8)) for b in call.blocks]
        return self.simulator.launch(replace(call, blocks=blocks))


# Where `isinstance` asks whether it is an engine, Python 3.12 and later do not ask `__getattr__`.
for _name in {*Engine.__annotations__, *vars(Engine)} - {*vars(ThirdEngine), "exact", "alignment"}:
    if not _name.startswith("_"):
        setattr(ThirdEngine, _name, property(lambda self, name=_name: getattr(self.simulator, name)))


class MovingTarget(ThirdTarget):
    """The third chip with a copy engine that may make results."""

    name = "moving"

    def dialect(self) -> Dialect:
        return super().dialect().model_copy(update={"name": "moving", "copies": "move"})


class ClockedTarget(ThirdTarget):
    """The third chip with a clock of its own: this host's, round what the simulator does."""

    name = "clocked"

    def facts(self) -> dict[str, Any]:
        return {"name": "third chip", "multiprocessors": 1}

    def engine(self) -> Engine:
        return ClockedEngine()


class ClockedEngine(ThirdEngine):
    """A launch with a constant called WORN fails when it is repeated."""

    def prepare(self, call: Call) -> Callable[[], object]:
        if "WORN" in call.constants:
            self.stopped = True
            raise Fault("lost", "the clocked chip has failed: its memory is worn out")
        return lambda: self.launch(call)

    def stopwatch(self) -> HostWatch:
        return HostWatch()


class HostWatch:
    """Says that the chip was hot, so that somebody notices."""

    def __init__(self) -> None:
        import torch

        self.device = torch.device("cpu")

    def elapsed(self, body: Callable[[], object], queueing: float, flush: bool) -> tuple[float, float]:
        began = time.perf_counter()
        body()
        taken = time.perf_counter() - began
        return taken, taken

    def health(self) -> dict[str, Any]:
        return {"sm_mhz": 900, "most_sm_mhz": 1000, "throttled": ["heat (hardware)"]}
