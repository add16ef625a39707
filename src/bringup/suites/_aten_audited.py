"""From cases of the public audit to cases of an overload: run on a bare device, vetted, numbered. Imports torch."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import torch
from torch.utils import _pytree as pytree

from bringup.accuracy import Limit, copy_arguments
from bringup.suites import _aten_retyped
from bringup.suites._additions import drawn_seed, family_of
from bringup.suites._aten_call import signature_of
from bringup.suites._aten_cases import case_of_call
from bringup.suites._aten_facts import Overload, Recipe
from bringup.suites._aten_parents import Parent
from bringup.suites._aten_record import Direction, Recorded, run
from bringup.suites._aten_sized import fits
from bringup.suites._aten_undefined import undefined_call
from bringup.suites._base import CaseInputs
from bringup.suites._opinfo_calls import Call
from bringup.suites._opinfo_samples import Sample
from bringup.suites._opinfo_source import OpInfoSource
from bringup.suites.audit._build import family_cases
from bringup.suites.audit._families import FAMILIES
from bringup.suites.audit._structure import among
from bringup.suites.audit._subject import Subject
from bringup.suites.audit._vet import alike, filled_memory
from bringup.verdict import CaseId

_PUBLIC = 2  # public operators whose audit is asked for calls of one overload
_EACH = 3  # calls of the overload that one public case may give


def audit_cases(
    facts: Overload, parent: Parent, dtype: str, seed: int, asked: Mapping[str, int], draws: Mapping[str, int]
) -> list[CaseInputs]:
    """Build the audit's cases of an overload; `asked` bounds those of each family.

    A family in `draws` is drawn afresh, for the how-manieth time it says.
    """
    found: list[CaseInputs] = []
    for family, cap in asked.items():
        drawn = drawn_seed(seed, facts.name, dtype, family, draws.get(family, 0))
        for case in islice(_family(facts, parent, family, dtype, drawn, cap), cap):
            identity = CaseId(operator=facts.name, dtype=dtype, index=len(found), seed=seed)
            found.append(replace(case, case=identity))
    return found


def cases_by_key(facts: Overload, parent: Parent, dtype: str, seed: int, keys: Iterable[str]) -> dict[str, CaseInputs]:
    """Build the cases with the given keys under `seed`, the audit's and those that are cast; others are left out."""
    keys = list(keys)
    cast = [key for key in keys if family_of(key) == _aten_retyped.FAMILY]
    wanted = set(keys) - set(cast)
    by_family: dict[tuple[str, str], set[str]] = {}
    for key in wanted:
        of_public, public = key.rsplit("/", 2)[:2]
        by_family.setdefault((public, family_of(key)), set()).add(of_public)
    found = _aten_retyped.cases_by_key(facts, parent, dtype, seed, cast, _sound)
    for (public, family), until in by_family.items():
        made = _of_public(facts, parent, public, family, dtype, seed, FAMILIES[family], until)
        found |= {case.notes["key"]: case for case in made if case.notes["key"] in wanted}
    return found


def dtypes_wanted(facts: Overload, parent: Parent, seed: int) -> dict[str, list[str]]:
    """Choose the keys, by dtype, that give an overload each dtype that it takes and that its own cases lack."""
    return _aten_retyped.dtypes_wanted(facts, parent, seed, _sound)


def _family(facts: Overload, parent: Parent, family: str, dtype: str, seed: int, cap: int) -> Iterator[CaseInputs]:
    """Yield sound calls of the overload that one family's cases cause, different ones, public operators in turn."""
    seen: set[str] = set()
    # The first cases of a public operator may all be calls of another overload (`min(x)`, and not `min(x, dim)`): where
    # they give too few of this one, the rest of the family is looked through.
    for most in dict.fromkeys((cap, max(cap, FAMILIES[family]))):
        for public in _publics(facts, parent):
            if len(seen) >= cap:
                return
            for case in _of_public(facts, parent, public, family, dtype, seed, most):
                form = signature_of(Recorded(facts.name, None, case.args, case.kwargs))
                if form is not None and form not in seen:
                    seen.add(form)
                    yield case


def _of_public(
    facts: Overload,
    parent: Parent,
    public: str,
    family: str,
    dtype: str,
    seed: int,
    cap: int,
    until: Collection[str] | None = None,
) -> Iterator[CaseInputs]:
    """Yield sound calls of the overload that the cases of one family of a public operator cause.

    The key of a call is that of the public case, the public operator, and which call of the overload it is there.
    `until`: only calls of the public cases with these keys are wanted.
    """
    source = _source()
    operator = source.operator(public)
    if not operator.case_counts.get(dtype):
        return
    direction: Direction = "f" if facts.forward else "b"
    subject = Subject(operator, source.facts[public], dtype, seed)
    fragile = direction == "b" and among("backward_crashes_when_empty", operator)
    for case in family_cases(subject, family, cap, 0, seed, until):
        of_public = case.notes["key"]
        # An output of the caller's own is asked for only where it can reach a kernel as it is.
        if case.raises or (case.requires and family != "out") or (until is not None and of_public not in until):
            continue
        leaves = pytree.tree_leaves((case.args, case.kwargs))
        if fragile and any(isinstance(leaf, torch.Tensor) and not leaf.numel() for leaf in leaves):
            continue
        sample = Sample(case.variant, None, Call(case.reference, case.args, dict(case.kwargs)), None)
        try:
            calls = run(public, dtype, case.case.index, sample, direction, values=True)
        except Exception:  # whatever PyTorch raises: no backward pass, say
            continue
        for which, call in enumerate([call for call in calls if call.overload == facts.name][:_EACH]):
            if signature_of(call) is None or undefined_call(call.overload, call.args):
                continue
            if family == "out" and not fits(call, facts.writes):
                continue
            recipe = Recipe(public=public, sample=case.case.index, direction=direction, ordinal=which)
            identity = CaseId(operator=facts.name, dtype=dtype, index=0, seed=seed)
            made = case_of_call(identity, facts, parent, recipe, call)
            if _sound(made):
                key = f"{of_public}/{public}/{direction}{which}"
                notes = {**made.notes, "family": family, "key": key, "seed": seed}
                yield replace(made, title=f"{case.title}, in {public}"[:300], notes=notes)


def _publics(facts: Overload, parent: Parent) -> list[str]:
    """Return the public operators that are asked, in order.

    That of the overload's own name may come to it only in calls that no sample makes (`x > 1`): it is asked last then.
    """
    known = parent.public in facts.parents
    first = [parent.public] if known else []
    found = list(dict.fromkeys([*first, *facts.alone_of, *facts.parents]))[:_PUBLIC]
    return found if known or parent.public not in _source().facts else [*found, parent.public]


def _sound(case: CaseInputs) -> bool:
    """Whether PyTorch's own result is defined, and right by the overload's class."""
    try:
        with torch.no_grad():
            args, kwargs = copy_arguments(case.args, dict(case.kwargs))
            result = case.reference(*args, **kwargs)
            with filled_memory():
                again_args, again_kwargs = copy_arguments(case.args, dict(case.kwargs))
                again = case.reference(*again_args, **again_kwargs)
        if case.standard is None or case.postprocess is not None:
            post = case.postprocess or (lambda value: value)
            return alike(post(result), post(again))
        limits = case.standard.limits(case.args, case.kwargs, result, (args, kwargs)).outputs
        if not alike(_known(result, limits), _known(again, limits)):
            return False
    except Exception:  # whatever PyTorch raises: this call is not accepted
        return False
    outputs = [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]
    return not any(
        limit is not None and bool(limit.wrong(tensor, tensor).any())
        for tensor, limit in zip(outputs, limits, strict=True)
    )


def _known(result: Any, limits: Sequence[Limit | None]) -> list[Any]:
    """Return a result, depth first, without the elements that nothing is known of."""
    masks = iter([None if limit is None else limit.open for limit in limits])

    def known(leaf: Any) -> Any:
        mask = next(masks) if isinstance(leaf, torch.Tensor) else None
        return leaf if mask is None else leaf.masked_fill(mask, 0)

    return [known(leaf) for leaf in pytree.tree_leaves(result)]


@functools.cache
def _source() -> OpInfoSource:
    return OpInfoSource()
