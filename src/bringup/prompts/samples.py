"""Realistic sample material for every situation, so that any prompt can be looked at before anything has failed."""

from __future__ import annotations

from bringup.candidate import Candidate, FormatProblem, parse_module, parse_reply
from bringup.dialect import Dialect, load_examples
from bringup.linter import lint
from bringup.operators import Operator
from bringup.prompts._contexts import Shown, Tried
from bringup.verdict import CaseId, Difference, Mismatch, TensorSummary, Verdict, Violation

# A wrapper that leaves its reduction to PyTorch and a kernel that asks for what upstream Triton does not have.
_LEAKY = """@triton.jit
def kernel_square(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr + i, tl.tanh(x), mask=i < n)


def wrapper(input):
    out = torch.zeros_like(input)
    kernel_square[(triton.cdiv(input.numel(), 256),)](input, out, input.numel(), BLOCK=256)
    return out.sum() + 1
"""

_COMPILER_LOG = """triton.compiler.errors.CompilationError: at 5:18:
def kernel_square(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr + i, tl.exp(x), mask=i < n)
                          ^
ValueError('Expected dtype ["fp32", "fp64"] but got fp16')
"""

_TRACEBACK = """Traceback (most recent call last):
  File "candidate.py", line 10, in wrapper
    rows, columns = input.shape
    ^^^^^^^^^^^^^
ValueError: not enough values to unpack (expected 2, got 1)
"""

_DEBUGGER = """stopped: SIGSEGV, invalid read of 4 bytes at 0x7f5e3a001000
program (17, 0, 0) of grid (32, 1, 1)
  kernel_square, line 4: x = tl.load(x_ptr + i)
  lanes 0 to 1023 read elements 17408 to 18431 of a tensor of 5000 elements
"""


def candidate(dialect: Dialect) -> Candidate:
    """Return a complete module: the dialect's first worked example."""
    return Candidate(source=load_examples(dialect.examples)[0].source)


def problem() -> FormatProblem:
    """Return what a reply with a syntax error gives."""
    found = parse_reply("```python\ndef wrapper(input:\n    return input\n```\n")
    assert isinstance(found, FormatProblem)
    return found


def shown(dialect: Dialect) -> Shown:
    """Return a kernel of a search as an expansion's prompt shows it."""
    return Shown(
        name="7",
        candidate=candidate(dialect),
        fitness=1.32,
        timings=("wrapper(Tensor[f32, 4096x512]): 41.2 us (start 54.4 us)",),
        diagnosis=(
            "bound by memory: 16.8 MB move at 407 GB/s, 78 % of what the chip moves at most",
            "line 4, `x = tl.load(x_ptr + i, mask=i < n)`: bytes 8.389e+06",
        ),
    )


def tried() -> tuple[Tried, ...]:
    """Return what other nodes of a search came to."""
    return (
        Tried(name="0", outcome="1x, bound by launch"),
        Tried(name="3", came_from=("0",), asked="one program a row", outcome="wrong: values differ in 3 elements"),
        Tried(name="7", came_from=("0",), asked="blocks of 4096 elements", outcome="1.32x, bound by memory"),
    )


def violations(dialect: Dialect, operator: Operator) -> tuple[Violation, ...]:
    """Return the linter's report on a module with several faults."""
    candidate = parse_module(_LEAKY)
    assert isinstance(candidate, Candidate)
    return tuple(lint(candidate, dialect, operator))


def log() -> str:
    """Return a compiler's log."""
    return _COMPILER_LOG


def debugger() -> str:
    """Return what a target's debugger could say about a crash."""
    return _DEBUGGER


def verdict(situation: str, operator: Operator) -> Verdict:
    """Return a failing verdict for a verdict's situation."""
    dtype = operator.dtypes[0] if operator.dtypes else "float32"
    total = operator.cases_total
    passed = max(0, min(2, total - 1))
    vector = TensorSummary(
        dtype=dtype,
        shape=(4,),
        stride=(1,),
        minimum=-1,
        maximum=3,
        mean=0.75,
        values=f"tensor([-1, 0, 1, 3], dtype={dtype})",
    )
    common = {
        "case": CaseId(operator=operator.name, dtype=dtype, index=passed),
        "call": f"wrapper(Tensor[{dtype}, 4])",
        "inputs": (vector,),
        "cases_passed": passed,
        "cases_total": total,
        "passed_by_dtype": {dtype: passed} if passed else {},
    }
    if situation == "compile":
        return Verdict(
            kind="compile",
            summary="kernel kernel_square does not compile for cuda:sm_90",
            kernel="kernel_square",
            compiled_for="cuda:sm_90",
            log=_COMPILER_LOG,
            **common,
        )
    if situation == "crash":
        return Verdict(kind="crashed", summary="the worker was killed by SIGSEGV", log=_DEBUGGER, **common)
    if situation == "raised":
        return Verdict(
            kind="raised",
            summary="ValueError: not enough values to unpack (expected 2, got 1)",
            exception=_TRACEBACK,
            **common,
        )
    if situation == "timed_out":
        return Verdict(kind="timed_out", summary="one case took more than 30 s", **common)
    if situation == "cheated":
        leak = Violation(
            rule="dispatch-spy",
            message="aten::sum ran in the wrapper",
            line=11,
            source="return out.sum() + 1",
            advice="Compute the sum in a kernel.",
        )
        return Verdict(kind="cheated", summary="the wrapper left work to PyTorch", violations=(leak,), **common)
    expected = vector.model_copy(update={"maximum": 4.0, "mean": 1.0, "values": "tensor([-1, 0, 1, 4])"})
    mismatch = Mismatch(
        aspect="values",
        output="output",
        message="1 of 4 elements differ",
        expected=expected,
        actual=vector,
        max_abs_error=1.0,
        mean_abs_error=0.25,
        max_rel_error=0.25,
        mismatched=1,
        elements=4,
        rtol=1.3e-6,
        atol=1e-5,
        first=(Difference(index=(3,), expected="4", actual="3"),),
    )
    return Verdict(kind="wrong", summary="values differ in 1 of 4 elements of the output", mismatch=mismatch, **common)
