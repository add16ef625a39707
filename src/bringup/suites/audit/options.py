"""Family `options`: documented options that no sample of an operator uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from bringup.suites.audit._spoilt import rank_of
from bringup.suites.audit._subject import Draft, Subject

# operator -> keywords that no sample gives another value than their default, and no flag or word
_UNUSED: Mapping[str, tuple[dict[str, Any], ...]] = {
    # Found with `bringup audit vacuity`: without them every result of the operator has one shape.
    "nn.functional.multilabel_soft_margin_loss": ({"reduction": "none"}, {"reduction": "sum"}),
    "linalg.cond": tuple({"p": p} for p in ("nuc", -1, "fro", float("inf"), -2, 1, float("-inf"), 2)),
}


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield a sample with each of the options."""
    last = subject.samples[-1:]
    ranks = {rank_of(sample.call): sample for sample in subject.samples}  # another rank may be another shape
    for sample in [*last, *(s for rank, s in ranks.items() if rank not in {rank_of(one.call) for one in last})]:
        for options in _UNUSED.get(subject.operator.name, ()):
            call = replace(sample.call, kwargs={**sample.call.kwargs, **options})
            what = ", ".join(f"{name}={value}" for name, value in options.items())
            yield Draft(what, call, sample.variant, sample.entry)
