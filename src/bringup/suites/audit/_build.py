"""From an operator's families to its cases: draft, vet, keep a spread, number. Imports torch and OpInfo."""

from __future__ import annotations

import importlib
import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterable
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
    subject: Subject, family: str, cap: int, first: int, seed: int, until: Collection[str] | None = None
) -> list[CaseInputs]:
    """Build the cases of one family, at most `cap`; their indices go on from `first`.

    `until`: nothing is built once there is a case for each of these keys.
    """
    name, dtype = subject.operator.name, subject.dtype
    module = importlib.import_module(f"bringup.suites.audit.{family}")
    own = seed_of(subject.seed, name, f"audit.{family}", dtype)
    with seeded(own), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drafts: Iterable[Draft] = module.drafts(subject)
        kept: list[CaseInputs] = []
        numbers: Counter[str] = Counter()
        large, groups = 0, set[str]()
        missing = None if until is None else set(until)
        for draft in drafts:
            if len(kept) == cap or (missing is not None and not missing):
                break
            big = elements((draft.call.args, draft.call.kwargs)) > LARGE
            if (big and large == _LARGE_EACH) or (draft.group and draft.group in groups):
                continue
            made = vetted(draft, subject, CaseId(operator=name, dtype=dtype, index=first + len(kept), seed=seed))
            if made is None:
                continue
            large += big
            groups.add(draft.group)
            slug = re.sub(r"[^a-z0-9.]+", "-", draft.what.lower()).strip("-.")
            notes = {**made.notes, "family": family, "key": f"{family}/{slug}/{numbers[slug]}"}
            numbers[slug] += 1
            kept.append(replace(made, title=f"{family}: {draft.what}", notes=notes))
            if missing is not None:
                missing.discard(notes["key"])
    return kept
