"""The `aten-audit` suite: tests of the overloads of `aten` that no model sees: what the public audit's cases cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bringup.operators import Operator
from bringup.suites._aten_facts import Overload
from bringup.suites._base import CaseInputs
from bringup.suites._digest import source_digest
from bringup.suites._random_listing import random_overloads
from bringup.suites.aten import AtenSuite, operator_of
from bringup.suites.audit._families import FAMILIES

# Families of the public audit that can ask something of a kernel behind the dispatcher. The others ask for what is
# settled before a call arrives at the device: spelling, defaults, refusals.
FAMILIES_ASKED = (
    "layout", "empty", "values", "promotion", "out", "random", "accuracy", "reference", "factors", "matrices",
    "options", "sizes", "dims", "mixed", "shapes", "numbers", "alignment", "ranks", "scales", "scalars", "precisions",
    "pivots", "edges", "lengths", "pairs", "offsets", "unlisted", "masks", "indefinite", "magnitudes", "gaps", "limits",
    "forms",
)  # fmt: skip
# family -> most cases of an overload and dtype
ASKED: dict[str, int] = {family: min(4, FAMILIES[family]) for family in FAMILIES_ASKED}
MOST = sum(ASKED.values())


class AtenAuditSuite(AtenSuite):
    """The overloads of `aten` with cases of their own: calls that the cases of `audit` cause on a bare device.

    Which cases there are is known only once they are built; `case_counts` holds the most that there can be. Other seeds
    draw other values, shapes and choices of samples. `aten-audit:PATH` knows the additions file PATH too.
    """

    name = "aten-audit"
    audit = None

    def _operator(self, facts: Overload) -> Operator:
        operator = operator_of(facts, self.name)
        return operator.model_copy(update={"case_counts": dict.fromkeys(operator.case_counts, MOST)})

    def digest(self) -> str:
        """Return the digest of the survey, the published cases and the code that builds the audit's."""
        return source_digest("aten-audit", self.survey.model_dump_json(), self.additions.model_dump_json())

    def materialise(self, operator: str, dtype: str, seed: int = 0) -> Sequence[CaseInputs]:
        """Build the audit's cases of an overload in one dtype: same arguments, same bits, in every process.

        Each has a `title` ("layout: ..."), its family in `notes["family"]`, a key that is stable under the addition of
        other cases in `notes["key"]`, and the seed that it was drawn with in `notes["seed"]`: families from which cases
        were published into the gate are drawn afresh. Imports torch and OpInfo, registers the device `vpe` in its
        process, and runs the references. Raises UnknownOperator.
        """
        return self._built(operator, dtype, seed, ASKED, self.additions.draws(operator, dtype))

    def every_case(
        self,
        operator: str,
        dtype: str,
        seed: int,
        families: Sequence[str] = FAMILIES_ASKED,
        most: Mapping[str, int] | None = None,
    ) -> Sequence[CaseInputs]:
        """Build all that families have, under this very seed: what a gate's breadth is chosen from.

        `most`: of these families the first so many alone.
        """
        asked = {family: FAMILIES[family] for family in FAMILIES_ASKED if family in families} | dict(most or {})
        return self._built(operator, dtype, seed, asked, {})

    def _built(
        self, operator: str, dtype: str, seed: int, asked: Mapping[str, int], draws: Mapping[str, int]
    ) -> Sequence[CaseInputs]:
        if not self.operator(operator).case_counts.get(dtype):
            return []
        if operator in random_overloads():
            return self.own_cases(operator, dtype, seed)  # drawn apart from the gate's
        from bringup.suites._aten_audited import audit_cases

        return audit_cases(self.overloads[operator], self.parent(operator), dtype, seed, asked, draws)
