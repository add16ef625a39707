"""Mutation scores: of the mutants that compile and are no equivalents, the share that the tests notice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pydantic import Field

from bringup.mutation.equivalent import Equivalents
from bringup.mutation.results import Original, Result, Settings
from bringup.verdict import Record


class Count(Record):
    """How many mutants met which end. `mutants` = invalid + equivalent + killed + timed_out + survived."""

    mutants: int = 0
    invalid: int = 0  # refused by the linter or the compiler: not in the score
    equivalent: int = 0  # survived, and marked as doing the same as the original: not in the score
    killed: int = 0  # by a verdict of the gate
    timed_out: int = 0  # by the gate's time limit
    survived: int = 0  # the gate
    unreached: int = 0  # of the survivors, those in code that no case of the gate gets to
    audited: int = 0  # of the survivors, those that the audit judged
    audit_killed: int = 0  # of these, killed (time-outs included)

    @property
    def valid(self) -> int:
        """The mutants that the score is taken of."""
        return self.killed + self.timed_out + self.survived

    @property
    def gate_score(self) -> float | None:
        """Share of the valid mutants that the gate notices; None without any."""
        return (self.killed + self.timed_out) / self.valid if self.valid else None

    @property
    def audit_score(self) -> float | None:
        """Share that the gate or the audit notices; None unless the audit judged every survivor of the gate."""
        if not self.valid or self.audited < self.survived:
            return None
        return (self.killed + self.timed_out + self.audit_killed) / self.valid


class EquivalentMutant(Record):
    """A survivor that is marked, with the reason."""

    result: Result
    reason: str


class MutationReport(Record):
    """The figures of a benchmark."""

    settings: Settings
    total: Count
    by_mutator: dict[str, Count]
    by_operator: dict[str, Count]
    by_place: dict[str, Count]
    kills: dict[str, int]  # verdict of the gate, with the guard -> mutants
    survivors: tuple[Result, ...]  # of everything that was asked
    equivalents: tuple[EquivalentMutant, ...] = ()
    not_mutated: dict[str, str] = Field(default_factory=dict)  # operator -> why its original does not pass
    stale_marks: dict[str, tuple[str, ...]] = Field(default_factory=dict)  # operator -> marks without a mutant

    def data(self) -> dict[str, object]:
        """Return the report as JSON data, with the scores worked out."""
        data: dict[str, object] = self.model_dump(mode="json")
        data["total"] = _with_scores(self.total)
        for name in ("by_mutator", "by_operator", "by_place"):
            data[name] = {key: _with_scores(count) for key, count in getattr(self, name).items()}
        return data


def _with_scores(count: Count) -> dict[str, object]:
    scores = {"valid": count.valid, "gate_score": count.gate_score, "audit_score": count.audit_score}
    return count.model_dump() | {k: round(v, 4) if isinstance(v, float) else v for k, v in scores.items()}


def report(
    settings: Settings,
    results: Iterable[Result],
    equivalents: Equivalents,
    originals: Iterable[Original] = (),
    stale_marks: dict[str, tuple[str, ...]] | None = None,
) -> MutationReport:
    """Count results. A mark only takes survivors out of the score: a mutant that is noticed is not equivalent."""
    counters: dict[tuple[str, str], Counter[str]] = {}
    kills: Counter[str] = Counter()
    survivors: list[Result] = []
    marked: list[EquivalentMutant] = []
    for result in results:
        words = _words(result)
        lives = result.status == "survived" and result.audit_status in {None, "survived"}
        if lives and (reason := equivalents.reason(result.operator, result.digest)) is not None:
            words = ["equivalent"]
            marked.append(EquivalentMutant(result=result, reason=reason))
        elif lives:
            survivors.append(result)
        elif result.status not in {"survived", "invalid"}:
            kills[f"{result.gate.kind}: {result.gate.guard}" if result.gate.guard else result.gate.kind] += 1
        for group in (
            ("total", ""), ("mutator", result.mutator), ("operator", result.operator), ("place", result.place)
        ):  # fmt: skip
            counters.setdefault(group, Counter()).update(["mutants", *words])

    def counts(kind: str) -> dict[str, Count]:
        return {name: Count(**counter) for (group, name), counter in sorted(counters.items()) if group == kind}

    return MutationReport(
        settings=settings,
        total=counts("total").get("", Count()),
        by_mutator=counts("mutator"),
        by_operator=counts("operator"),
        by_place=counts("place"),
        kills=dict(kills.most_common()),
        survivors=tuple(survivors),
        equivalents=tuple(marked),
        not_mutated={o.operator: f"{o.gate.kind}: {o.gate.summary}" for o in originals if o.gate.kind != "passed"},
        stale_marks=stale_marks or {},
    )


def _words(result: Result) -> list[str]:
    """Return the counters that a result adds to."""
    words: list[str] = [result.status]
    if result.status == "survived" and result.gate.reached is False:
        words.append("unreached")
    if result.status == "survived" and result.audit is not None:
        words.append("audited")
        if result.audit_status != "survived":
            words.append("audit_killed")
    return words
