"""What the suites of problem files have in common."""

from __future__ import annotations

import functools
import hashlib
import json
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from bringup.operators import DTYPES, CallShape, DocNode, Operator, PromptWords
from bringup.suites._base import CaseInputs, ListedSuite
from bringup.suites._cache import Progress, cached, keep, run_module, torch_build
from bringup.suites._digest import source_digest
from bringup.suites.problems._bundle import Bundle, Contract, read_bundle
from bringup.suites.problems._facts import FORMAT, Facts
from bringup.verdict import CaseId

if TYPE_CHECKING:
    from bringup.suites.problems._process import ProblemProcess

SURVEY = "bringup.suites.problems._survey"
CATEGORY = "Problem"
_AT_ONCE = 32  # files for one start of PyTorch


class ProblemSuite(ListedSuite):
    """Problem files as operators. Listing runs each file once, in a process of its own, and keeps what came of it."""

    contract: ClassVar[Contract]
    dtypes = ("float32", "bfloat16", "float16")
    categories = (CATEGORY,)

    def __init__(self, progress: Progress | None = None, options: str = "") -> None:
        """`options`: path and options. Raises ConfigError and FormatError for what cannot be used."""
        self.name = f"{self.contract}:{options}"
        self._progress = progress
        self.bundle: Bundle = read_bundle(self.contract, options)

    @functools.cached_property
    def facts(self) -> dict[str, Facts]:
        """What each file turned out to be, by its name."""
        found: dict[str, Facts] = {}
        missing: dict[str, str] = {}
        for name, text in self.bundle.files.items():
            data = cached(self._key(text))
            facts = _read(data) if data is not None else None
            if facts is None:
                missing[name] = text
            else:
                found[name] = facts
        names = list(missing)
        for start in range(0, len(names), _AT_ONCE):  # what was found out is kept, should somebody lose patience
            part = {name: missing[name] for name in names[start : start + _AT_ONCE]}
            for name, facts in self._survey(part, start, len(names)).items():
                found[name] = facts
                keep(self._key(part[name]), facts.model_dump_json().encode())
        return {name: found[name] for name in self.bundle.files}

    def _survey(self, files: dict[str, str], done: int, total: int) -> dict[str, Facts]:
        """Run some of the files, each in a process of its own."""
        given = self._progress
        progress = None if given is None else (lambda at, _, name: given(done + at, total, name))
        with tempfile.TemporaryDirectory(prefix="bringup-") as scratch:
            where = Path(scratch) / "bundle.json"
            where.write_text(self.bundle.model_copy(update={"files": files}).packed(), encoding="utf-8")
            made = json.loads(run_module(SURVEY, (str(where),), progress))
        return {name: Facts.model_validate(made[name]) for name in files}

    def _key(self, text: str) -> str:
        state = hashlib.sha256(self.bundle.options.model_dump_json().encode() + text.encode()).hexdigest()
        return f"problem-{source_digest(self.contract, state + torch_build())[:32]}.json"

    def _listed(self) -> Iterable[Operator]:
        return [self._operator(name, facts) for name, facts in self.facts.items()]

    def _operator(self, name: str, facts: Facts) -> Operator:
        reason = facts.error or (f"vacuous: {facts.vacuous}" if facts.vacuous else None)
        counts = {} if reason else {dtype: facts.cases for dtype in DTYPES if dtype in facts.dtypes}
        keywords = [f"{keyword}={facts_value(facts, keyword)}" for keyword in facts.keywords]
        star = ["*"] if keywords else []
        returns = "Tensor" if facts.results == 1 else f"({', '.join(['Tensor'] * facts.results)})"
        return Operator(
            name=name,
            suite=self.name,
            category=CATEGORY,
            variants=("",),
            case_counts=counts,
            signature=f"{name}({', '.join([*facts.names, *star, *keywords])}) -> {returns}" if facts.names else "",
            call_shapes=(CallShape(positional=len(facts.names), keywords=facts.keywords, types=facts.types),),
            exclusion=reason,
        )

    def funnel(self) -> list[tuple[str, int, int]]:
        """Return how the problems that count were arrived at."""
        every = list(self._operators.values())
        errors = [op for op in every if op.exclusion and not op.exclusion.startswith("vacuous")]
        left = [op for op in every if op.exclusion is None]
        return [
            ("problem files", len(every), sum(op.cases_total for op in every)),
            ("of no use as they are", len(every) - len(errors), sum(op.cases_total for op in every)),
            ("vacuous", len(left), sum(op.cases_total for op in left)),
        ]

    def docs(self, name: str) -> list[DocNode]:
        """Return the problem's file, and what the arguments of a kernel's wrapper are."""
        self.operator(name)
        return [DocNode(name=name, text=_document(self.bundle.files[name], self.facts[name]))]

    def digest(self) -> str:
        """Return the digest of the files' texts, the options and the code that rebuilds cases, wherever files lie."""
        return source_digest(self.contract, self.bundle.digest)

    def packed(self) -> str:
        """Return the suite as the text of a file that `CONTRACT:FILE` takes, for a machine without the problems."""
        return self.bundle.packed()

    def materialise(self, operator: str, dtype: str, seed: int = 0) -> Sequence[CaseInputs]:
        """Rebuild all cases of a problem in one dtype: same arguments, same bits, in every process. Imports torch.

        Raises UnknownOperator, and ProblemFault where the problem's process fails.
        """
        facts = self.facts[self.operator(operator).name]
        if dtype not in self.operator(operator).case_counts:
            return []
        from bringup.suites.problems._process import ProblemProcess

        process = ProblemProcess(
            self.contract, operator, self.bundle.files[operator], facts, self.bundle.options.device
        )
        return [self._case(process, facts, operator, dtype, index, seed) for index in range(facts.cases)]

    def _case(
        self, process: ProblemProcess, facts: Facts, operator: str, dtype: str, index: int, seed: int
    ) -> CaseInputs:
        import torch

        from bringup.accuracy import Rule, Standard
        from bringup.suites.problems._reference import Reference

        # Problems of KernelBench have one size: further cases have other values.
        size, values = (index, seed) if self.contract == "modules" else (0, seed + 7919 * index)
        which = self.bundle.options.sizes
        built = process.ask(do="build", which=which, number=size, seed=values)
        wanted = getattr(torch, dtype)
        arguments = tuple(
            one.to(wanted) if isinstance(one, torch.Tensor) and one.is_floating_point() else one
            for one in built["arguments"]
        )
        if facts.copies and index % 2:  # ReLU of numbers from 0 to 1 is a copy: every second one becomes negative
            arguments = tuple(_signed(one) if number < facts.inputs else one for number, one in enumerate(arguments))
        reference = Reference(
            process, self.contract, operator, self.bundle.files[operator], facts, which, size,
        )  # fmt: skip
        return CaseInputs(
            case=CaseId(operator=operator, dtype=dtype, index=index, seed=seed),
            variant="",
            args=arguments,
            kwargs=dict(zip(facts.keywords, built["init"], strict=True)),
            reference=reference,
            title=f"sizes cut, up to {facts.divisor} times" if facts.divisor > 1 else "",
            standard=Standard(
                operator, reference, dtype, given=Rule("composite", ulps=4.0, half=1.0), stepped=reference.stepped
            ),
        )


def _signed(value: Any) -> Any:
    import torch

    if not (isinstance(value, torch.Tensor) and value.is_floating_point()):
        return value
    signs = 1 - 2 * (torch.arange(value.numel()) % 2)
    return value * signs.reshape(value.shape).to(value.dtype)


def facts_value(facts: Facts, keyword: str) -> str:
    """Return the value of an argument of the constructor as text; "..." for what is no plain value."""
    plain = keyword if keyword in facts.init else keyword.removeprefix("init_").rstrip("_")
    return facts.init.get(plain, "...")


def _read(data: bytes) -> Facts | None:
    try:
        facts = Facts.model_validate_json(data)
    except ValueError:
        return None
    return facts if facts.format == FORMAT else None


def _document(text: str, facts: Facts) -> str:
    own = facts.names[facts.inputs : len(facts.names) - facts.gradients]
    lines = ["The problem's file:", "", *(f"    {line}" for line in text.rstrip().splitlines()), ""]
    lines.append(f"The wrapper gets, in this order: the inputs of `forward` ({', '.join(facts.names[: facts.inputs])})")
    if own:
        lines[-1] += f"; the module's parameters and buffers ({', '.join(own)})"
    if facts.gradients:
        lines[-1] += "; the gradients of the results"
    if facts.keywords:
        lines[-1] += f"; as keywords the arguments of `__init__` ({', '.join(facts.keywords)})"
    lines[-1] += "."
    if facts.keywords:
        lines.append("Every call passes all of these keywords; in the signature they have the first test's values.")
    if facts.defaults:
        lines.append(
            f"What `__init__` takes beside ({', '.join(facts.defaults)}) is not passed: it has the file's default."
        )
    if facts.gradients:
        lines.append(
            "It returns the results, then the gradients with respect to each floating-point input and each parameter."
        )
    if facts.divisor > 1:
        lines.append(
            f"The tests' sizes are those of the file, halved up to {facts.divisor.bit_length() - 1} times "
            f"and none below {facts.kept}; the arguments of `__init__` follow them."
        )
    return "\n".join(lines) + "\n"


WORDS = PromptWords(
    title="problems given as PyTorch modules",
    one="the forward pass of a PyTorch module",
    wrapper=(
        "called with the inputs of the module's `forward`, then the module's parameters and buffers in the order of "
        "`named_parameters()` and `named_buffers()` (dots in their names are underscores), all by position, and the "
        "arguments of `__init__` as keywords. Its tensors live on the device. It works out shapes, allocates outputs, "
        "launches kernels and returns what `forward` returns, in training mode as the module is made."
    ),
    right=(
        "Parameters and buffers are data: their values differ from test to test, and none may be changed, running "
        "statistics neither.",
        "A result may be off by what computing the module's steps in float32 can change, measured against the module "
        "in float64: sums and products in any order with float32 accumulators are right, tf32 products and narrower "
        "accumulators are not. Where the dtype is a half precision, one intermediate rounding to it is allowed.",
        "A structure that `get_inputs` gives its tensors (triangular, symmetric) holds in every test and may be relied "
        "on; a range of values, or a sign, may not.",
    ),
    families=(),
)
