"""PyTorch's own operator database, variants merged into one operator: what the suite `opinfo` and its audit start from.

Both are built on this; neither is built on the other.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from importlib.resources import files

import yaml

from bringup.operators import CATEGORIES, CallShape, DocNode, Operator
from bringup.suites import _aten, _opinfo_rules
from bringup.suites._base import CaseInputs, ListedSuite
from bringup.suites._cache import Progress, cache_directory, compute, load_survey_file, torch_build
from bringup.suites._opinfo_facts import Facts, Survey, read_survey

SURVEY_MODULE = "bringup.suites._opinfo_survey"


class OpInfoSource(ListedSuite):
    """Operators of `op_db` of the installed torch, by unique name, with OpInfo's own cases.

    Listing reads a survey (shipped for known torch versions, otherwise made once in a helper process and cached)
    and imports no torch; rebuilding cases imports torch and OpInfo.
    """

    name = "opinfo"

    def __init__(self, progress: Progress | None = None) -> None:
        """`progress(done, total, name)` is called while a survey or the docstrings have to be computed."""
        self._progress = progress

    @functools.cached_property
    def survey(self) -> Survey:
        """The facts of all operators of the installed torch version."""
        return load_survey(self._progress)

    @functools.cached_property
    def facts(self) -> dict[str, Facts]:
        """The facts by operator name, in op_db order."""
        return {facts.name: facts for facts in self.survey.operators}

    def _listed(self) -> Iterator[Operator]:
        return (self._operator(facts) for facts in self.survey.operators)

    def _operator(self, facts: Facts) -> Operator:
        return operator_of(facts, self.name)

    def free(self, operator: str) -> bool:
        """Whether an argument's values may be any that occur in it, as `data/audit.yaml` says."""
        from bringup.suites.audit._structure import structured

        return not structured(self.operator(operator))

    def funnel(self) -> list[tuple[str, int, int]]:
        """Return the steps of eligibility: (what was removed, operators left, OpInfo's cases of them)."""
        return _opinfo_rules.funnel(self.survey.operators)

    def docs(self, name: str) -> list[DocNode]:
        """Return the operator's docstring followed by those that it refers to, each once, in topological order."""
        from bringup.suites._opinfo_docs import load_docs

        return load_docs(self._progress, self.operator(name))

    def own_cases(self, operator: str, dtype: str, seed: int = 0) -> Sequence[CaseInputs]:
        """Rebuild OpInfo's cases alone, which is cheap."""
        from bringup.suites._opinfo_cases import cases

        return cases(operator, dtype, seed, imprecise=dtype in self.facts[operator].imprecise)


def load_survey(progress: Progress | None = None) -> Survey:
    """Return the survey of the installed torch: shipped, else from the cache, else made now (about a minute)."""
    return load_survey_file("opinfo", SURVEY_MODULE, read_survey, progress)


def resurvey(progress: Progress | None = None) -> tuple[bytes, str, list[tuple[str, int, int]]]:
    """Survey the installed torch anew; return the file's bytes, where the cache keeps them, and the funnel."""
    name = f"opinfo-{torch_build()}.json.gz"
    data = compute(SURVEY_MODULE, name, progress)
    survey = read_survey(data, name)
    assert survey is not None  # written by this code, so of this format
    return data, str(cache_directory() / name), _opinfo_rules.funnel(survey.operators)


@functools.cache
def categories() -> dict[str, str]:
    """Return the reviewed category of each operator known by name."""
    source = files("bringup.suites").joinpath("data", "categories.yaml")
    groups: dict[str, str] = yaml.load(source.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    return {name: category for category in CATEGORIES for name in groups[category].split()}


def category_of(name: str) -> str:
    """Return an operator's category; one that the reviewed file does not know (another torch) is placed by name."""
    known = categories().get(name)
    if known is not None:
        return known
    for pattern, category in (
        (r"nn\.functional\.|.*softmax|.*batch_norm", "Deep Learning"),
        (r"linalg\.|.*mm$", "Linear Algebra"),
        (r"special\.", "Elementwise"),
        (r"masked\.", "Reduction"),
    ):
        if re.match(pattern, name):
            return category
    return "Other"


def operator_of(facts: Facts, suite: str) -> Operator:
    """Return what the survey's facts say of an operator."""
    excluded = _opinfo_rules.exclusion(facts)
    return Operator(
        name=facts.name,
        suite=suite,
        category=category_of(facts.name),
        variants=facts.variants,
        case_counts=facts.case_counts,
        overloads=facts.overloads,
        signature=facts.signature,
        call_shapes=tuple(
            CallShape(positional=n, keywords=keywords, types=types)
            for (n, keywords), types in zip(facts.call_shapes, facts.call_types, strict=True)
        ),
        out=facts.out,
        exclusion=excluded[1] if excluded else None,
        needs={} if excluded else _opinfo_rules.needs(facts),
        mutates=bool(facts.mutating),
        computes=_aten.computes(facts.overloads),
        moves=facts.name in _aten.MOVERS,
        indexed=facts.name in _aten.INDEXED,
        keeps=_aten.keeps(facts.name),
        reads=_aten.read_allowance(facts.overloads, facts.name),
        views=bool(facts.aliasing),
    )
