"""The `aten` suite: the kernels that a bare device needs behind PyTorch's dispatcher, one operator an overload.

An operator is an overload that reaches the device's key when OpInfo's samples of `opinfo`'s eligible operators run on
it, forward and backward; its cases are calls that arrive there then. docs/suites.md says more.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

from bringup.operators import DTYPES, CallShape, DocNode, Operator, PromptWords, ReadAllowance
from bringup.suites import _aten
from bringup.suites._added import added_cases, drawn_of_added, with_added
from bringup.suites._additions import Additions, additions_for
from bringup.suites._aten_facts import AtenSurvey, Overload, read_aten
from bringup.suites._aten_parents import Parent, mutating, needs_of, parent_of
from bringup.suites._base import CaseInputs, ListedSuite
from bringup.suites._cache import Progress, cache_directory, keep, load_survey_file, run_module, torch_build
from bringup.suites._digest import source_digest
from bringup.suites._opinfo_source import OpInfoSource, category_of
from bringup.suites._random_listing import docs_of_random, operator_of_random, random_overloads

SURVEY_MODULE = "bringup.suites._aten_survey"

WORDS = PromptWords(
    examples="aten",
    title="Kernels behind PyTorch's dispatcher",
    one="the kernel of one ATen overload",
    wrapper=(
        "registered for the overload at the device's dispatch key, and called by PyTorch's dispatcher with the "
        "arguments of its schema: positional and keyword as the schema has them, those that have their default often "
        "left out. Its tensors live on the device. It launches kernels, and returns what the schema says. Most "
        "wrappers are a few lines. A default list of the schema (`dim=[]`) is written as a tuple (`dim=()`); a "
        "parameter whose name is one of Python's words (`from`, `lambda`) comes by position, under any name."
    ),
    right=(
        "Much is settled before the call arrives. Where the schema ends in outputs (`out`, `grad_input`, ... after the "
        "`*`), PyTorch has checked the arguments, promoted dtypes, and given each output its final dtype, shape and "
        "strides, which need not be those of a fresh tensor: nothing is left to be refused. Write every element of an "
        "output by the output's own strides, in its dtype, and return the outputs (several: as a tuple, in the "
        "schema's order). An output whose size hangs on values, or that PyTorch's meta functions do not know, comes "
        "without elements: `resize_` it to the result's shape first. "
        "A dimension (`dim`) is as the caller gave it, from -rank to rank - 1.",
        "One kernel serves `f(x)`, `f_(x)` and `f(x, out=y)`: an output may be an input, the same elements in the same "
        "memory. Load what an element needs before you store it.",
        "A kernel to be repaired may be that of the public function, with another signature than the overload's.",
        "Inputs keep the dtypes that the caller gave: an operand may have another dtype than the output, and where the "
        "schema says Tensor, a Python number may stand in its place. Compute in the dtype that `torch.result_type` "
        "gives, half precisions in float32; store in the output's dtype.",
        "Overloads without such outputs allocate what they return: contiguous, unless PyTorch's would not be. "
        "Arguments that the operator's part below names as written are written in place and returned.",
        "The tests are calls that PyTorch itself makes for its public functions, forward and backward: no argument is "
        "invalid, and autograd is not the kernel's business.",
    ),
    families=(  # those of `aten-audit`, but for those whose sentences speak of refusals and of a public `out=`
        "layout", "alignment", "sizes", "random", "empty", "shapes", "values", "promotion", "mixed", "accuracy",
        "reference", "numbers", "matrices", "factors", "ranks", "scales", "scalars", "precisions", "pivots", "edges",
        "lengths", "pairs", "offsets", "unlisted", "masks", "indefinite", "magnitudes", "gaps", "limits",
        "forms",
    ),
)  # fmt: skip


class OverloadSuite(ListedSuite):
    """A suite whose operators are overloads that reach a bare device, as a survey has them: say `survey`."""

    survey: AtenSurvey

    @functools.cached_property
    def overloads(self) -> dict[str, Overload]:
        """The facts by overload name, sorted."""
        return {one.name: one for one in self.survey.overloads}

    def _operator(self, facts: Overload) -> Operator:
        return operator_of(facts, self.name)

    def _listed(self) -> Iterator[Operator]:
        return (self._operator(one) for one in self.survey.overloads)

    def parent(self, name: str) -> Parent:
        """Return the public operator that an overload serves, and what holds for both."""
        self.operator(name)
        return parent_of(self.overloads[name])

    def free(self, operator: str) -> bool:
        """Whether an argument's values may be any that occur in it, as they may in the public operator's."""
        if operator in random_overloads():
            return True
        if operator not in self.overloads or not self.parent(operator).same:
            return False
        from bringup.suites.audit._structure import structured

        public = self.parent(operator).public
        known = self.operator(operator)
        return not structured(known.model_copy(update={"name": public, "category": category_of(public)}))


class AtenSuite(OverloadSuite):
    """Overloads by name: `add.out`, `native_layer_norm` (for `.default`), `embedding_dense_backward`.

    Listing reads a survey (shipped for known torch versions, otherwise made in a helper process and cached) and imports
    no torch; `materialise` imports torch and OpInfo, and registers the device `vpe` in its process.

    The calls of OpInfo's samples are followed by published cases of `aten-audit`: those of the shipped additions and,
    for `aten:PATH`, of the additions file PATH; `aten:alone` has none.
    """

    name = "aten"
    dtypes = (*DTYPES, "bool", "uint8", "int8", "int16", "float64")
    words = WORDS
    audit: str | None = "aten-audit"

    def __init__(self, progress: Progress | None = None, options: str = "") -> None:
        """`options`: the path of an additions file, or `alone`.

        `progress(done, total, name)` is called while a survey or documents have to be computed.
        """
        self._progress = progress
        self._path = options or None
        if options:
            self.name = f"{self.name}:{options}"
            self.audit = f"{self.audit}:{options}" if self.audit else None

    @functools.cached_property
    def additions(self) -> Additions:
        """The published cases that belong to the gate; raises ConfigError when the file cannot be read."""
        return additions_for(self._path, "aten")

    def _operator(self, facts: Overload) -> Operator:
        return with_added(super()._operator(facts), self.additions, self.dtypes)

    def _listed(self) -> Iterator[Operator]:
        """Yield what the survey has seen, then what draws random numbers, which OpInfo's samples do not ask for."""
        yield from super()._listed()
        yield from (operator_of_random(one, self.name) for one in random_overloads().values())

    @functools.cached_property
    def survey(self) -> AtenSurvey:  # type: ignore[override]
        """The facts of all overloads of the installed torch version."""
        return load_aten(self._progress)

    def funnel(self) -> list[tuple[str, int, int]]:
        """Return (what was run, overloads that reached the device, their cases): forward, then backward passes too."""
        every = [op for op in self._operators.values() if op.name in self.overloads]
        forward = [op for op in every if self.overloads[op.name].forward]
        return [
            (words, len(found), sum(op.cases_total for op in found))
            for words, found in (("the samples, forward", forward), ("their backward passes, too", every))
        ]

    def docs(self, name: str) -> list[DocNode]:
        """Return the overload's schema, formulas and examples of calls, then its public operator's docstrings."""
        from bringup.suites._aten_docs import load_aten_docs

        self.operator(name)
        if name in random_overloads():
            return docs_of_random(random_overloads()[name])
        public = self.parent(name).public
        own = load_aten_docs(self._progress, self.overloads[name])
        return with_public(name, own, public, OpInfoSource(self._progress).docs(public))

    def digest(self) -> str:
        """Return the digest of the survey, the published cases and the code that builds both."""
        return source_digest("aten", self.survey.model_dump_json(), self.additions.model_dump_json())

    def own_cases(self, operator: str, dtype: str, seed: int = 0) -> Sequence[CaseInputs]:
        """Rebuild the cases of an overload that are calls of OpInfo's samples: they come first, and cost little."""
        if not self.operator(operator).own_counts.get(dtype):
            return []
        if operator in random_overloads():
            from bringup.suites._random_cases import random_cases

            return random_cases(random_overloads()[operator], dtype, seed, self.name.partition(":")[0])
        from bringup.suites._aten_cases import cases

        return cases(self.overloads[operator], self.parent(operator), dtype, seed)

    def materialise(self, operator: str, dtype: str, seed: int = 0) -> Sequence[CaseInputs]:
        """Rebuild all cases of an overload in one dtype: same arguments, same bits, in every process.

        The public calls that cause them are made again, on the device `vpe` of this process with the CPU behind:
        first OpInfo's samples, then published cases of the audit, and own calls cast to dtypes that the samples lack.
        Imports torch and OpInfo. Raises UnknownOperator; a dtype without cases gives an empty list.
        """
        own = self.own_cases(operator, dtype, seed)
        if operator in random_overloads() or not self.operator(operator).case_counts.get(dtype):
            return own
        from bringup.suites._aten_audited import cases_by_key

        by_key = functools.partial(cases_by_key, self.overloads[operator], self.parent(operator))
        return [*own, *added_cases(self.additions, operator, dtype, len(own), by_key, seed)]

    def drawn_cases(self, operator: str, dtype: str, seed: int, count: int) -> Sequence[CaseInputs]:
        """Rebuild up to `count` of the published cases, without building the others; the seed draws which."""
        known = self.operator(operator)
        if operator in random_overloads() or not known.added_counts.get(dtype):
            return []
        own = known.own_counts.get(dtype, 0)
        from bringup.suites._aten_audited import cases_by_key

        by_key = functools.partial(cases_by_key, self.overloads[operator], self.parent(operator))
        return drawn_of_added(self.additions, operator, dtype, own, by_key, seed, count)


def with_public(name: str, own: str, public: str, nodes: list[DocNode]) -> list[DocNode]:
    """Return the text on an overload followed by the docstrings of its public operator, which may have its name."""
    if public != name:
        return [DocNode(name=name, text=own, refers_to=(public,)), *nodes]
    first, *rest = nodes
    return [first.model_copy(update={"text": f"{own}\n\n{first.text}"}), *rest]


def survey_aten(
    seconds: float | None = None, progress: Progress | None = None
) -> tuple[bytes, str, list[tuple[str, int, int]]] | None:
    """Survey the installed torch, for at most about so many seconds; None: not done yet, the next call goes on.

    Everything that was found on a public operator is kept in the cache. Returns the file's bytes, where the cache keeps
    them, and the suite's `funnel`.
    """
    arguments = () if seconds is None else (str(seconds),)
    data = run_module(SURVEY_MODULE, arguments, progress)
    if not data:
        return None
    name = f"aten-{torch_build()}.json.gz"
    keep(name, data)
    suite = AtenSuite()
    survey = read_aten(data, name)
    assert survey is not None  # written by this code, so of this format
    suite.survey = survey
    return data, str(cache_directory() / name), suite.funnel()


def load_aten(progress: Progress | None = None) -> AtenSurvey:
    """Return the survey of the installed torch: shipped, else from the cache, else made now (about ten minutes)."""
    return load_survey_file("aten", SURVEY_MODULE, read_aten, progress)


def operator_of(facts: Overload, suite: str) -> Operator:
    """Return what the survey's facts say of an overload."""
    parent = parent_of(facts)
    return Operator(
        name=facts.name,
        suite=suite,
        category=category_of(parent.public),
        case_counts={dtype: len(recipes) for dtype, recipes in facts.cases.items()},
        overloads=(f"aten.{facts.name}" if "." in facts.name else f"aten.{facts.name}.default",),
        signature=facts.schema_text.removeprefix("aten::").replace("(a!)", "").replace("(b!)", "").replace("(c!)", ""),
        call_shapes=tuple(
            CallShape(positional=n, keywords=keywords, types=types) for n, keywords, types in facts.call_shapes
        ),
        exclusion="random: PyTorch's generator decides on the values" if facts.random else None,
        needs=needs_of(facts.name),
        mutates=facts.mutates or facts.name in mutating(),
        writes=facts.writes,
        moves=parent.same and parent.public in _aten.MOVERS,
        indexed=parent.same and parent.public in _aten.INDEXED,
        keeps=_aten.keeps(facts.name),
        start=parent.public if parent.same else "",
        reads=ReadAllowance(nbytes=_aten.NUMBER) if facts.dynamic else ReadAllowance(),
        views=facts.views,
    )
