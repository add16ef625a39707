"""The data of an operator, as a suite describes it. Plain records: importing them imports neither torch nor Triton."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from bringup.verdict import CaseId, Record

# The categories of PyTorch's operators, in the order of reports; a suite may have others.
CATEGORIES: tuple[str, ...] = (
    "Elementwise",
    "Deep Learning",
    "Linear Algebra",
    "Shape Manipulation",
    "Reduction",
    "Indexing & Selection",
    "Other",
)

# The five dtypes of PyTorch's suites, in the order in which cases are judged: fp32 first, since its failures explain
# most. A suite may have others.
DTYPES: tuple[str, ...] = ("float32", "bfloat16", "float16", "int32", "int64")


class CallShape(Record):
    """One way in which the cases call an operator: number of positional arguments and the keywords used.

    `types` has an annotation for each, positional ones first ("Tensor", "list[int]"); empty where a suite knows none.
    """

    positional: int
    keywords: tuple[str, ...] = ()
    types: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _all_or_none(self) -> CallShape:
        if self.types and len(self.types) != self.positional + len(self.keywords):
            raise ValueError(
                f"{len(self.types)} types for {self.positional} positional and {len(self.keywords)} keywords"
            )
        return self


class ReadAllowance(Record):
    """What the wrapper of an operator may read on the host in one call: sizes and flags that decide on a result."""

    nbytes: int = 0
    inputs: bool = False  # of inputs, too: not only what its kernels have written


Keeps = Literal["nothing", "arguments", "elements", "copies"]


class Operator(Record):
    """What must be implemented: a name, its dtypes and cases, and why it may be out of reach.

    `exclusion` is the reason for which the suite leaves the operator out of its denominator (None: eligible).
    `needs` maps a feature that a target must have ("complex", "cpu_reference", "defined_values") to the reason why
    this operator needs it; on a target without the feature the operator is 'not applicable', never covered.

    `computes`, `moves`, `indexed`, `keeps`, `reads` and `views` decide which rules of the linter and which guards of
    the judge hold. A kernel must be launched, and nothing may be read, unless a suite says otherwise.
    """

    name: str
    suite: str
    category: str
    variants: tuple[str, ...] = ()
    case_counts: dict[str, int] = Field(default_factory=dict)  # dtype -> cases of the gate, in judging order
    added_counts: dict[str, int] = Field(default_factory=dict)  # of them: published audit cases, not the source's own
    overloads: tuple[str, ...] = ()  # ATen overloads that the reference dispatches to: "aten.abs.default"
    signature: str = ""  # as PyTorch documents it: "softmax(input, dim, *, dtype=None) -> Tensor"
    call_shapes: tuple[CallShape, ...] = ()
    # `out=` of another "cast", "lower", "shape": "taken", "mixed" or an exception's class
    out: dict[str, str] = Field(default_factory=dict)
    exclusion: str | None = None
    needs: dict[str, str] = Field(default_factory=dict)
    mutates: bool = False  # the reference changes its input (in-place operators)
    writes: tuple[str, ...] = ()  # parameters that every call writes its results into, and returns
    computes: bool = True  # a kernel must be launched; False: views, allocation and copies that keep the dtype suffice
    # With `computes`: all its kernels do is to move elements or to fill, so that copies must not choose which.
    moves: bool = False
    indexed: bool = False  # with `moves`: in calls of several tensors data decide what goes where, not sizes alone
    # What it leaves as an argument has it, so that no kernel need write it: "nothing"; "arguments", elements of what it
    # may write in place (running statistics); "elements", those of its results, too, which are copies otherwise
    # (`index_copy`); "copies", all of its result where that is the argument: a cast to the dtype that it has.
    keeps: Keeps = "nothing"
    reads: ReadAllowance = ReadAllowance()  # what the wrapper may read on the host in one call
    start: str = ""  # an operator of another suite whose kernel is a natural start: the same function
    views: bool = False  # results share memory with arguments wherever the reference's do; False: they need not

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The gate's dtypes that have at least one case, in judging order."""
        return tuple(dtype for dtype, count in self.case_counts.items() if count)

    @property
    def cases_total(self) -> int:
        """Number of cases over all dtypes."""
        return sum(self.case_counts.values())

    @property
    def own_counts(self) -> dict[str, int]:
        """The cases of the suite's own source by dtype: those of the gate without the added ones."""
        return {dtype: count - self.added_counts.get(dtype, 0) for dtype, count in self.case_counts.items()}

    @property
    def cases_added(self) -> int:
        """Number of cases that were added to those of the suite's source."""
        return sum(self.added_counts.values())

    def not_applicable(self, features: frozenset[str]) -> str | None:
        """Return why a target with `features` cannot judge this operator, or None when it can."""
        for feature, reason in self.needs.items():
            if feature not in features:
                return reason
        return None

    def cases(self, dtypes: tuple[str, ...] | None = None, seed: int = 0) -> list[CaseId]:
        """List the cases of the given dtypes (all by default), in judging order."""
        return [
            CaseId(operator=self.name, dtype=dtype, index=index, seed=seed)
            for dtype in self.dtypes
            if dtypes is None or dtype in dtypes
            for index in range(self.case_counts[dtype])
        ]


class PromptWords(Record):
    """What a suite says of all its operators in a prompt, in the place of what holds for PyTorch's public operators.

    Every text is one paragraph of Markdown. `families` names the families of tests of which the prompt speaks (the
    sentences are the prompts'); None: all of them.
    """

    title: str = "PyTorch's operators"  # "... in Triton, for vpe:pe64"
    one: str = "one of PyTorch's operators"  # "You write ... as Triton kernels with a Python wrapper"
    wrapper: str = (
        "called exactly as PyTorch's operator, with the same parameters, names and defaults. Its tensors live on the "
        "device. It checks arguments, works out shapes and dtypes, allocates outputs, launches kernels and returns "
        "what the operator returns."
    )
    right: tuple[str, ...] = ()  # more rules for "when it is right", one item each
    families: tuple[str, ...] | None = None
    examples: str = (
        ""  # worked examples in the suite's own contract: the dialect's folder FOLDER-EXAMPLES, where it has one
    )


class DocNode(Record):
    """One docstring of the graph: its name, text and the names it refers to (all resolved, no cycles)."""

    name: str
    text: str
    refers_to: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()
