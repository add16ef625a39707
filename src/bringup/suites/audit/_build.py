"""From an operator's families to its cases: draft, vet, keep a spread, number. Imports torch and OpInfo."""

from __future__ import annotations

import importlib
import re
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from contextlib import closing
from dataclasses import replace

from bringup.suites._base import CaseInputs
from bringup.suites._opinfo_samples import seed_of, seeded
from bringup.suites.audit._families import LARGE
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import elements
from bringup.suites.audit._vet import vetted
from bringup.verdict import CaseId

_LARGE_EACH = 2  # large cases of one family


def family_cases(
    subject: Subject,
    family: str,
    cap: int,
    first: int,
    seed: int,
    until: Collection[str] | None = None,
    numbered: bool = True,
) -> list[CaseInputs]:
    """Build the cases of one family, at most `cap`; their indices go on from `first`.

    `until`: nothing is built once there is a case for each of these keys; cases with other keys may be missing.
    Unless it is `numbered`, their indices then say nothing.
    """
    own = seed_of(subject.seed, subject.operator.name, f"audit.{family}", subject.dtype)
    module = importlib.import_module(f"bringup.suites.audit.{family}")
    # Drafts that are not asked for to the end are closed first: they may be within a seed of their own, and what that
    # puts back at its end is what it found.
    with seeded(own), closing(module.drafts(subject)) as drafts, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        family_of = _Family(subject, family, cap, first, seed)
        if until is None:
            for draft in drafts:
                if family_of.full:
                    break
                family_of.consider(draft)
        else:
            _find(family_of, drafts, until, numbered)
        return family_of.kept


class _Family:
    """The cases of one family so far."""

    def __init__(self, subject: Subject, family: str, cap: int, first: int, seed: int) -> None:
        self.subject, self.family, self.cap, self.first, self.seed = subject, family, cap, first, seed
        self.kept: list[CaseInputs] = []
        self.keys: set[str] = set()
        self._numbers: Counter[str] = Counter()
        self._large, self._groups = 0, set[str]()

    @property
    def full(self) -> bool:
        """Whether no other draft becomes a case."""
        return len(self.kept) == self.cap

    def consider(self, draft: Draft) -> None:
        """Make a case of a draft if the reference behaves on it, and there are not too many of its sort."""
        big = _big(draft)
        if (big and self._large == _LARGE_EACH) or (draft.group and draft.group in self._groups):
            return
        name, dtype = self.subject.operator.name, self.subject.dtype
        identity = CaseId(operator=name, dtype=dtype, index=self.first + len(self.kept), seed=self.seed)
        made = vetted(draft, self.subject, identity)
        if made is None:
            return
        self._large += big
        self._groups.add(draft.group)
        slug = _slug(draft)
        key = f"{self.family}/{slug}/{self._numbers[slug]}"
        self._numbers[slug] += 1
        self.kept.append(
            replace(made, title=f"{self.family}: {draft.what}", notes={**made.notes, "family": self.family, "key": key})
        )
        self.keys.add(key)


def _find(found: _Family, drafts: Iterable[Draft], until: Collection[str], numbered: bool) -> None:
    """Build the cases with some keys; vet of the other drafts only those on which it hangs what these become.

    Vetting takes nearly all of the time. What an earlier draft has become matters where both are large or of groups,
    where the family may be full, and for the index. A reference that draws random numbers changes the drafts behind it.
    """
    slugs = {key.split("/")[1] for key in until}
    waiting: list[Draft] = []

    def settle(which: Callable[[Draft], bool]) -> None:
        chosen = [draft for draft in waiting if which(draft)]
        waiting[:] = [draft for draft in waiting if not which(draft)]
        for draft in chosen:
            if not found.full:
                found.consider(draft)

    for draft in drafts:
        if found.full or found.keys.issuperset(until):
            return
        if _slug(draft) not in slugs and not found.subject.facts.random_overloads:
            waiting.append(draft)
            continue
        if numbered or len(found.kept) + len(waiting) >= found.cap:
            settle(lambda _: True)
        elif _counted(draft):
            settle(_counted)
        if not found.full:
            found.consider(draft)


def _slug(draft: Draft) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", draft.what.lower()).strip("-.")


def _big(draft: Draft) -> bool:
    return elements((draft.call.args, draft.call.kwargs)) > LARGE


def _counted(draft: Draft) -> bool:
    """Whether there may be too many of its sort."""
    return bool(draft.group) or _big(draft)
