"""What happened to a candidate: the words that the judge, the prompts, the store and the reports share."""

from __future__ import annotations

from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

VerdictKind = Literal["passed", "lint", "compile", "raised", "crashed", "wrong", "cheated", "timed_out", "untested"]
NO_CASE = "no case was asked for"  # the summary of an untested verdict on no cases at all
VERDICT_KINDS: tuple[VerdictKind, ...] = get_args(VerdictKind)


class Record(BaseModel):
    """Base of all records that are stored: frozen, no unknown fields, JSON in and out."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class CaseId(Record):
    """Names one test input: it is rebuilt from these four, never stored as tensors."""

    operator: str
    dtype: str
    index: int
    seed: int = 0

    def __str__(self) -> str:
        """Render as `operator[dtype:index]`."""
        return f"{self.operator}[{self.dtype}:{self.index}]"


class CallKind(Record):
    """What a kernel library tells calls apart by: a variant of a kernel is for calls of some kinds."""

    dtype: str  # of the first tensor
    rank: int  # of the first tensor
    elements: int  # of the largest tensor

    def __str__(self) -> str:
        """Render as `float32, rank 2, 65,536 elements`."""
        return f"{self.dtype}, rank {self.rank}, {self.elements:,} elements"


class TensorSummary(Record):
    """What a model may see of a tensor: dtype, shape and strides, a few statistics, values when small."""

    dtype: str
    shape: tuple[int, ...]
    stride: tuple[int, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    mean: float | None = None
    nans: int = 0
    infs: int = 0
    values: str | None = None  # printed tensor when it has at most 64 elements


class Difference(Record):
    """One element where the actual output differs from the expected one."""

    index: tuple[int, ...]
    expected: str  # PyTorch's on the host
    actual: str
    inputs: tuple[str, ...] = ()  # what the arguments hold there: "argument 0[1, 2] = 0.5"
    exact: str = ""  # in double precision, where there is an exact reference
    off: str = ""  # how far `actual` is from it
    allowed: str = ""  # how far it may be


class Mismatch(Record):
    """Why an output is wrong. `aspect` says what was compared when the first difference was found."""

    aspect: Literal["structure", "dtype", "shape", "stride", "values", "aliasing", "mutation", "device", "refusal"]
    output: str  # path of the output in the returned structure: "output", "output[1]", "input 0 after the call"
    message: str
    expected: TensorSummary | None = None
    actual: TensorSummary | None = None
    max_abs_error: float | None = None
    mean_abs_error: float | None = None
    max_rel_error: float | None = None
    mismatched: int | None = None  # elements outside tolerance
    elements: int | None = None
    rtol: float | None = None
    atol: float | None = None
    rule: str = ""  # what would be right, in words
    first: tuple[Difference, ...] = ()


class Violation(Record):
    """One finding of the linter."""

    rule: str
    message: str
    line: int
    column: int = 0
    advice: str = ""
    source: str = ""  # the offending source line, stripped


class CaseResult(Record):
    """What happened in one case."""

    case: CaseId
    kind: VerdictKind
    seconds: float = 0.0
    launches: int = 0
    summary: str = ""
    guard: str = ""  # id of the guard that found it; "" for the comparison itself
    title: str = ""  # what the case is there for, when its suite says so


class Environment(Record):
    """Under which conditions a verdict was given. What another version of bringup noted beside it is left out."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    target: str = ""
    chip: str = ""  # digest of the target's figures (the profile's, say); "": nothing is known of it
    suite_digest: str = ""  # of all that the suite's cases were made of
    versions: dict[str, str] = Field(default_factory=dict)  # bringup, python, torch, triton, numpy
    dtypes: tuple[str, ...] = ()  # asked for
    # only these indices, in all dtypes or by dtype; None: all
    cases: tuple[int, ...] | dict[str, tuple[int, ...] | None] | None = None
    seed: int = 0
    fresh_seed: int | None = None  # of the guards that draw
    guards: tuple[str, ...] = ()
    compile_for: tuple[str, ...] = ()
    bounds: dict[str, int] = Field(default_factory=dict)  # of a guest's process, where they were not the usual ones
    keep_going: bool = False
    device_modes: tuple[str, ...] = ()  # `race`, `blocking`: how the device ran because a variable asked for it
    isolation: Any = ""  # which protections of the guest were on, which were missing and why
    references: dict[str, Any] = Field(
        default_factory=dict
    )  # instructions and threads; what oneDNN and MKL were held to, if at all
    # of the cases that passed: the dtypes of each argument's tensors, by position ("0") or keyword ("out")
    argument_dtypes: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    launches: int = 0  # of the gate's cases
    skipped: dict[str, int] = Field(default_factory=dict)  # cases that were not asked for, by reason
    reruns: dict[str, dict[str, float]] = Field(default_factory=dict)  # by guard: runs and seconds
    phases: dict[str, float] = Field(default_factory=dict)  # seconds by what they were spent on, the guards' cases too
    start_ms: float = 0.0  # from the request for a guest until it is there; its first call loads the candidate
    device_ms: float = 0.0  # start of a device process, where one was needed


class Verdict(Record):
    """The judge's decision on one candidate, with the first failure in full.

    `cases_total` counts the cases of the gate that were asked for; a passed verdict has run every one of them.
    """

    kind: VerdictKind
    summary: str  # one line
    guard: str = ""  # id of the guard that found it (see bringup.judge.guards); "" for the comparison itself
    case: CaseId | None = None  # the first failing case
    title: str = ""  # what the case is there for, when its suite says so
    call: str = ""  # the failing call as text: wrapper(Tensor[f32, 3x4], dim=1)
    reference: str = ""  # what PyTorch did with that call, where nothing could be compared: "returns Tensor[...]"
    inputs: tuple[TensorSummary, ...] = ()
    violations: tuple[Violation, ...] = ()  # kind "lint" and "cheated"
    mismatch: Mismatch | None = None  # kind "wrong"
    exception: str = ""  # kind "raised": traceback inside the candidate, as text
    log: str = ""  # kind "compile": the compiler's log; "crashed": debugger output or signal
    kernel: str = ""  # kind "compile": kernel name; compiled for `compiled_for`
    compiled_for: str = ""
    cases_passed: int = 0
    cases_total: int = 0
    passed_by_dtype: dict[str, int] = Field(default_factory=dict)
    failures: tuple[CaseResult, ...] = ()  # with keep-going: every failing case
    others: tuple[Verdict, ...] = ()  # failures of other kinds in later cases, when asked for; without their own
    compiled: dict[str, int] = Field(default_factory=dict)  # toolchain -> kernel specialisations compiled
    resources: tuple[dict[str, Any], ...] = ()  # of these: target, kernel, and by name what it takes of its device
    profile: tuple[dict[str, Any], ...] = ()  # when asked for: the target's counters of each launch, with its case
    seconds: float = 0.0
    environment: Environment = Environment()

    @property
    def passed(self) -> bool:
        """Whether every case passed."""
        return self.kind == "passed"
