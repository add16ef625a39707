"""The `opinfo` suite: PyTorch's own operator database with its sample inputs, and published cases of the audit."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from bringup.operators import Operator, PromptWords
from bringup.suites._added import added_cases, drawn_of_added, with_added
from bringup.suites._additions import Additions, additions_for
from bringup.suites._base import CaseInputs
from bringup.suites._cache import Progress
from bringup.suites._digest import source_digest
from bringup.suites._opinfo_facts import Facts
from bringup.suites._opinfo_source import OpInfoSource, operator_of


class OpInfoSuite(OpInfoSource):
    """The operators of `op_db`; their gate is OpInfo's cases followed by published ones of the audit.

    Published are the cases of the shipped additions and, for `opinfo:PATH`, of the additions file PATH;
    `opinfo:alone` has none.
    """

    def __init__(self, progress: Progress | None = None, options: str = "") -> None:
        """`options`: the path of an additions file, or `alone`; `progress` as for OpInfoSource."""
        super().__init__(progress)
        self._path = options or None
        self.audit = f"audit:{options}" if options else "audit"
        if options:
            self.name = f"{OpInfoSource.name}:{options}"
        if options == "alone":  # as in the papers: nothing is asked beyond OpInfo's cases, and so by no guard
            self.words = PromptWords(families=())

    @functools.cached_property
    def additions(self) -> Additions:
        """The published cases that belong to the gate; raises ConfigError when the file cannot be read."""
        return additions_for(self._path)

    def _operator(self, facts: Facts) -> Operator:
        return with_added(operator_of(facts, self.name), self.additions)

    def digest(self) -> str:
        """Return the digest of the survey, the published cases and the code that builds both."""
        return source_digest("opinfo", self.survey.model_dump_json(), self.additions.model_dump_json())

    def forms_digest(self) -> str:
        """Return the digest of OpInfo's own samples in all their forms: the survey and the code that makes them."""
        return source_digest("forms", self.survey.model_dump_json(), forms=True)

    def materialise(self, operator: str, dtype: str, seed: int = 0) -> Sequence[CaseInputs]:
        """Rebuild all cases of an operator in one dtype: same arguments, same bits, in every process.

        OpInfo's cases come first, then the published ones. Imports torch and OpInfo. The arguments of two cases may
        share tensors; copy before calling what may write.
        Raises UnknownOperator; an unknown dtype, or one without cases, gives an empty list.
        """
        if not self.operator(operator).case_counts.get(dtype):
            return []
        own = self.own_cases(operator, dtype, seed)
        from bringup.suites.audit._draws import cases_by_key

        by_key = functools.partial(cases_by_key, operator)
        return [*own, *added_cases(self.additions, operator, dtype, len(own), by_key, seed)]

    def drawn_cases(self, operator: str, dtype: str, seed: int, count: int) -> Sequence[CaseInputs]:
        """Rebuild up to `count` of the published cases, without building the others; the seed draws which."""
        from bringup.suites.audit._draws import cases_by_key

        own = self.operator(operator).own_counts.get(dtype, 0)
        by_key = functools.partial(cases_by_key, operator)
        return drawn_of_added(self.additions, operator, dtype, own, by_key, seed, count)
