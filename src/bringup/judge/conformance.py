"""What every target must do, tried through the judge as a run would: `bringup targets check NAME`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Literal

from bringup.candidate import Candidate
from bringup.config import JudgeConfig
from bringup.dialect import Dialect, Limits, load_examples
from bringup.errors import UnknownOperator
from bringup.judge._door import open_judge
from bringup.judge._warning import isolation_warning
from bringup.judge.job import JobTemplate
from bringup.linter import RULES, lint, rules_for
from bringup.operators import DTYPES, Operator
from bringup.suites import get_suite
from bringup.targets import get_target
from bringup.verdict import Verdict

Status = Literal["passed", "lacking", "failed"]

# The probes' kernels: one program a block or a row where the chip has room for as many, and with loops where its
# limits ask for fewer programs or smaller blocks.
_KERNEL = """
@triton.jit
def kernel_probe(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0)
    tl.store(y + i, VALUE, mask=i < n)
"""
_LOOPING_KERNEL = """
@triton.jit
def kernel_probe(x, y, n, BLOCK: tl.constexpr):
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        i = start + tl.arange(0, BLOCK)
        v = tl.load(x + i, mask=i < n, other=0)
        tl.store(y + i, VALUE, mask=i < n)
"""
_OUT_OF_PLACE = """
def wrapper(input):
    x = input.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n:
        kernel_probe[(min(triton.cdiv(n, SIZE), PROGRAMS),)](x, y, n, BLOCK=SIZE)
    return y
"""
_IN_PLACE = """
def wrapper(input):
    x = input.clone().contiguous() if not input.is_contiguous() else input
    n = x.numel()
    if n:
        kernel_probe[(min(triton.cdiv(n, SIZE), PROGRAMS),)](x, x, n, BLOCK=SIZE)
    if x is not input:
        input.copy_(x)
    return input
"""
_ROWS = """
@triton.jit
def kernel_rows(x, y, rows, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    k = tl.arange(0, BLOCK)[:, None]
    v = tl.reshape(tl.load(x + row * n + k, mask=k < n, other=0), [BLOCK])
    total = tl.sum(v.to(ACC), axis=0)
    tl.store(y + row, total.to(y.dtype.element_ty))
"""
_LOOPING_ROWS = """
@triton.jit
def kernel_rows(x, y, rows, n, BLOCK: tl.constexpr):
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        parts = tl.zeros([BLOCK], ACC)
        for start in range(0, n, BLOCK):
            k = start + tl.arange(0, BLOCK)[:, None]
            v = tl.reshape(tl.load(x + row * n + k, mask=k < n, other=0), [BLOCK])
            parts += v.to(ACC)
        total = tl.sum(parts, axis=0)
        tl.store(y + row, total.to(y.dtype.element_ty))
"""
_SUM_ROWS = """
def wrapper(input):
    x = input.contiguous()
    y = torch.empty(x.shape[:-1], dtype=x.dtype, device=x.device)
    n = x.shape[-1] if x.dim() else 1
    if y.numel():
        kernel_rows[(min(y.numel(), PROGRAMS),)](x, y, y.numel(), n, BLOCK=LENGTH)
    return y
"""
_SIZE, _LENGTH = 64, 512  # of the probes' blocks; a row of 257 elements fits into one
_PROGRAMS = 64  # that they launch at most


@dataclass(frozen=True)
class _Probes:
    """Writes the probes' candidates within a chip's limits."""

    limits: Limits

    def elements(self, value: str, wrapper: str = _OUT_OF_PLACE) -> str:
        """A candidate that stores `value` for each element `v`."""
        return self._sized((_LOOPING_KERNEL if self._tight else _KERNEL).replace("VALUE", value) + wrapper)

    def rows(self, accumulator: str) -> str:
        """A candidate that sums rows in a dtype of `tl`."""
        return self._sized((_LOOPING_ROWS if self._tight else _ROWS).replace("ACC", accumulator) + _SUM_ROWS)

    @property
    def _tight(self) -> bool:
        return self._programs < _PROGRAMS or self._block < _LENGTH

    @property
    def _programs(self) -> int:
        return min(self.limits.programs or _PROGRAMS, _PROGRAMS)

    @property
    def _block(self) -> int:
        return self.limits.block or _LENGTH

    def _sized(self, source: str) -> str:
        sizes = {"PROGRAMS": self._programs, "SIZE": min(_SIZE, self._block), "LENGTH": min(_LENGTH, self._block)}
        for word, size in sizes.items():
            source = source.replace(word, str(size))
        return source


@dataclass(frozen=True)
class Check:
    """One thing that a target must do: a candidate for an operator, and what its verdict must be."""

    name: str
    operator: str
    source: str
    accept: Callable[[Verdict], str | None]  # None, or what is wrong
    required: bool = True
    dtypes: tuple[str, ...] = ("float32",)
    repeat: int = 1
    suite: str = "conformance"


@dataclass(frozen=True)
class CheckResult:
    """What became of a check: `lacking` when something optional is not there."""

    name: str
    status: Status
    detail: str = ""


def _passes(verdict: Verdict) -> str | None:
    return None if verdict.passed else f"{verdict.kind}: {verdict.summary}"


def _is(*kinds: str, says: str = "") -> Callable[[Verdict], str | None]:
    def accept(verdict: Verdict) -> str | None:
        text = f"{verdict.summary}\n{verdict.log}\n{verdict.exception}"
        if verdict.kind not in kinds:
            return f"expected {' or '.join(kinds)}, got {verdict.kind}: {verdict.summary}"
        return None if says in text else f"the message does not mention '{says}': {verdict.summary}"

    return accept


def checks(dialect: Dialect) -> list[Check]:
    """List what is checked of a target with this dialect, in order; probes keep to its limits."""
    probes = _Probes(dialect.limits)
    probe, main = probes.elements, ("float32" if "float32" in dialect.dtypes else dialect.dtypes[0],)
    float_sum, int_sum = probes.rows("tl.float32"), probes.rows("tl.int64" if "int64" in dialect.dtypes else "tl.int32")
    out_of_bounds = probe("v + v").replace("tl.load(x + i, mask=i < n, other=0)", "tl.load(x + i + (1 << 28))")
    clobber = _OUT_OF_PLACE.replace("y = torch.empty_like(x)", "y = x")
    floats, own_examples = ("float32", "bfloat16", "float16"), ":" in dialect.examples
    return [
        Check("views, strides and 0-d tensors", "flip_view", _VIEW, _passes, dtypes=DTYPES),
        *(Check(f"element-wise kernel, {d}", "double", probe(_doubled(d)), _passes, dtypes=(d,)) for d in DTYPES),
        *(
            Check(f"arithmetic in {d} without a detour", "double", probe("v + v"), _passes, False, dtypes=(d,))
            for d in ("bfloat16", "float16")
        ),
        Check("writes in place", "add_one_", probe("v + 1", _IN_PLACE), _passes, dtypes=("float32", "int64")),
        Check("reduction, floating point", "row_sum", float_sum, _passes, dtypes=floats),
        Check("reduction, integers", "row_sum", int_sum, _passes, dtypes=("int32", "int64")),
        Check("the same bits three times", "row_sum", float_sum, _passes, dtypes=floats[:1], repeat=3),
        Check("a wrong kernel is wrong", "double", probe("v + v + 1"), _is("wrong"), dtypes=main),
        Check(
            "a changed input is seen", "double", probe("v + v", clobber), _is("wrong", "crashed", "raised"), dtypes=main
        ),
        Check("work left to PyTorch is refused", "double", _LEFT, _is("cheated", "raised", says="add"), dtypes=main),
        Check("compile error with its line", "double", probe("v + nothing_of_the_kind"), _COMPILE, dtypes=main),
        Check("endless loop ends as a time-out", "double", _LOOP, _is("timed_out"), dtypes=main),
        Check("crash of the wrapper's process", "double", _EXIT, _is("crashed"), dtypes=main),
        Check(
            "access out of bounds is a fault that names kernel and line", "double", out_of_bounds, _FAULT, False, main
        ),
        # Models are shown them as modules that pass. Where they are bringup's own, a chip may be too narrow for them.
        *(
            Check(f"worked example {e.name}", e.name, e.source, _passes, own_examples, DTYPES, suite="opinfo")
            for e in load_examples(dialect.examples)
        ),
    ]


def _doubled(dtype: str) -> str:
    return "(v.to(tl.float32) * 2).to(v.dtype)" if dtype in {"bfloat16", "float16"} else "v + v"


_VIEW = "def wrapper(x):\n    return x.t() if x.dim() == 2 else x.view(x.shape)\n"
_LEFT = "def wrapper(x):\n    return x + x\n"
_LOOP = "def wrapper(x):\n    while True:\n        pass\n"
_EXIT = "import os\n\ndef wrapper(x):\n    os._exit(3)\n"
_FAULT = _is("crashed", says="kernel_probe")


_COMPILE = _is("compile", says="nothing_of_the_kind")


def _not_tried(check: Check, dialect: Dialect) -> str | None:
    """Why a chip with this dialect need not do what a check asks, or None."""
    missing = [dtype for dtype in check.dtypes if dtype not in dialect.dtypes]
    if len(missing) == len(check.dtypes):
        return f"the dialect has no {', '.join(missing)}"
    if check.suite != "conformance":
        return None
    own = {rule.id for rule in rules_for(dialect)} - {rule.id for rule in RULES["full"]}
    found = [v for v in lint(Candidate(source=check.source), dialect) if v.rule in {"tl-function", *own}]
    return f"the probe's kernel breaks the rule '{found[0].rule}': {found[0].message}" if found else None


def _unclean(check: Check, dialect: Dialect, operator: Operator) -> str | None:
    """What the linter says of a worked example; models are shown it as one that passes."""
    found = lint(Candidate(source=check.source), dialect, operator) if check.suite != "conformance" else []
    return f"lint: line {found[0].line}: [{found[0].rule}] {found[0].message}" if found else None


async def check_target(spec: str, compiles: bool = True) -> AsyncIterator[CheckResult]:
    """Run every check on a target and yield the results as they come.

    Probes keep to the limits of the target's dialect; what the dialect says that the chip has not is `lacking`. Where
    no kernel of any check has passed, that is a failure of its own. Raises what a dialect's faults raise.
    """
    dialect = get_target(spec).dialect()
    template = JobTemplate(spec, JudgeConfig(case_seconds=30.0), compiles=compiles)
    told = computed = False
    async with open_judge(spec) as judge:
        for check in checks(dialect):
            why = _not_tried(check, dialect)
            if why is not None:
                yield CheckResult(check.name, "lacking", f"not tried: {why}")
                continue
            try:
                operator = get_suite(check.suite).operator(check.operator)
            except UnknownOperator as error:
                yield CheckResult(check.name, "failed", str(error))
                continue
            problem = _unclean(check, dialect, operator)
            for _ in range(0 if problem else check.repeat):
                dtypes = [dtype for dtype in check.dtypes if dtype in dialect.dtypes]
                verdict = await judge.judge(template.job(Candidate(source=check.source), operator, dtypes=dtypes))
                problem = problem or check.accept(verdict)
                computed = computed or (verdict.passed and "@triton.jit" in check.source)
                if not told:
                    told = True
                    warning = isolation_warning(verdict.environment)
                    yield CheckResult("candidates are isolated", "lacking" if warning else "passed", warning or "")
            status: Status = "passed" if problem is None else "failed" if check.required else "lacking"
            yield CheckResult(check.name, status, problem or "")
    if not computed:
        yield CheckResult("some kernel passes", "failed", "no probe's kernel and no worked example has passed")
