"""What a measurement says: how many names are covered, how, and which missing kernel would unlock most names next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bringup.coverage.records import FORMS, OperatorResult, Results


@dataclass(frozen=True)
class Unlock:
    """A missing kernel, in the order in which kernels would unlock names."""

    overload: str
    unlocks: tuple[str, ...]
    """Names that lack nothing else once this kernel and those before it in the order are there."""
    needed_by: int
    """Names that lack it, others beside it or not."""


@dataclass
class Summary:
    """The figures of a measurement."""

    eligible: int
    measured: int
    statuses: Counter[str] = field(default_factory=Counter)
    forward: int = 0
    """Names that pass in all their forms but gradients."""
    how: Counter[str] = field(default_factory=Counter)
    """Of the covered names."""
    forms: dict[str, tuple[int, int, int, int]] = field(default_factory=dict)
    """By form: names all of whose cases pass, names that have it, cases that pass, cases."""
    kinds: Counter[str] = field(default_factory=Counter)
    """Names by the kinds of their failures; a name with two kinds counts for both."""
    order: list[Unlock] = field(default_factory=list)


def lacking(needs: Mapping[str, Iterable[str]], kernels: frozenset[str]) -> bool:
    """Whether a name still lacks something with more kernels: its own overload's will do, or all that composes it."""
    return any(direct not in kernels and not kernels.issuperset(parts) for direct, parts in needs.items())


def unlock_order(operators: Iterable[OperatorResult], most: int | None = None) -> list[Unlock]:
    """Return missing kernels in the order that unlocks names soonest.

    Only names that fail for missing kernels alone count: a kernel does not mend a wrong result. Each step takes the
    kernel that unlocks most names; where none unlocks any, the one with the largest share in what names lack (a name
    that lacks n kernels gives each 1/n). Names first in the alphabet come first among equals.
    """
    left = {r.operator: {d: frozenset(p) for d, p in r.needs.items()} for r in operators if r.status == "missing"}
    left = {name: needs for name, needs in left.items() if needs}
    needed: Counter[str] = Counter()
    for needs in left.values():
        needed.update({kernel for direct, parts in needs.items() for kernel in (direct, *parts)})
    had: frozenset[str] = frozenset()
    order: list[Unlock] = []
    while left and (most is None or len(order) < most):
        alone: Counter[str] = Counter()
        share: dict[str, float] = {}
        for needs in left.values():
            open_calls = {d: parts - had for d, parts in needs.items() if d not in had and not parts <= had}
            offered = {kernel for d, parts in open_calls.items() for kernel in (d, *parts)}
            alone.update(k for k in offered if not lacking(open_calls, frozenset({k})))
            for direct, parts in open_calls.items():
                for kernel in {direct, *parts}:
                    # The kernel of the overload itself closes this call; a part of its decomposition a share of it.
                    part = 1.0 if kernel == direct else 1.0 / len(parts)
                    share[kernel] = share.get(kernel, 0.0) + part / len(open_calls)
        best = min(share, key=lambda k: (-alone[k], -share[k], k))
        had |= {best}
        freed = tuple(sorted(name for name, needs in left.items() if not lacking(needs, had)))
        order.append(Unlock(best, freed, needed[best]))
        for name in freed:
            del left[name]
    return order


def summarise(results: Results, most: int | None = None) -> Summary:
    """Return the figures of a measurement; `most` bounds the order of missing kernels."""
    found = list(results.operators.values())
    summary = Summary(eligible=results.header.eligible, measured=len(found))
    for result in found:
        summary.statuses[result.status] += 1
        if result.status == "covered":
            summary.how[result.how] += 1
        summary.kinds.update(result.failed.keys())
        others = [tally for form, tally in result.forms.items() if form != "gradient"]
        summary.forward += bool(others) and all(tally.passed == tally.total for tally in others)
    for form in FORMS:
        tallies = [r.forms[form] for r in found if form in r.forms and r.forms[form].total]
        summary.forms[form] = (
            sum(t.passed == t.total for t in tallies),
            len(tallies),
            sum(t.passed for t in tallies),
            sum(t.total for t in tallies),
        )
    summary.order = unlock_order(found, most)
    return summary
