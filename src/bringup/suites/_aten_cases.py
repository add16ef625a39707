"""From recipes to cases: the public samples run again, and the calls that arrive at the device's key. Imports torch."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch

from bringup.accuracy import Standard
from bringup.errors import EnvironmentFault
from bringup.suites._aten_call import call_text, signature_of
from bringup.suites._aten_facts import Overload, Recipe
from bringup.suites._aten_parents import Parent, rule_for
from bringup.suites._aten_record import Recorded, run
from bringup.suites._aten_sized import sized
from bringup.suites._aten_undefined import undefined_call
from bringup.suites._base import CaseInputs
from bringup.suites._opinfo_calls import Call, has_tensor
from bringup.suites._opinfo_cases import ROUNDED, device_places
from bringup.suites._opinfo_postprocess import postprocess_of
from bringup.suites._opinfo_samples import Sample, samples
from bringup.suites._opinfo_tolerance import Tolerance, by_length, widened
from bringup.suites.audit._layouts import hostile
from bringup.verdict import CaseId
from bringup.vpe.device import fallback


def cases(facts: Overload, parent: Parent, dtype: str, seed: int) -> list[CaseInputs]:
    """Rebuild the cases of one overload in one dtype, in the order of its recipes.

    Under another seed than 0 the samples have other values; where a call then does not come about (the path of a sample
    may hang on its values), the case has those of seed 0. Raises EnvironmentFault where a call of seed 0 is not there.
    """
    recipes = facts.cases[dtype]
    found = recorded(facts.name, recipes, dtype, seed)
    if seed and len(found) < len(recipes):
        found |= recorded(facts.name, [r for r in recipes if r not in found], dtype, 0)
    made = []
    for index, recipe in enumerate(recipes):
        if recipe not in found:
            raise EnvironmentFault(
                f"{facts.name}[{dtype}]: sample {recipe.sample} of {recipe.public} does not cause the call that the "
                "survey has seen; make a survey of this torch with `bringup ops survey --suite aten`"
            )
        case = CaseId(operator=facts.name, dtype=dtype, index=index, seed=seed)
        made.append(case_of_call(case, facts, parent, recipe, found[recipe]))
    return made


def recorded(name: str, recipes: Any, dtype: str, seed: int) -> dict[Recipe, Recorded]:
    """Run the samples of the recipes and return the calls that came about as they say."""
    by_run: dict[tuple[str, int, str], list[Recipe]] = defaultdict(list)
    for recipe in recipes:
        by_run[recipe.public, recipe.sample, recipe.direction].append(recipe)
    found: dict[Recipe, Recorded] = {}
    for (public, index, direction), wanted in by_run.items():
        drawn = _samples(public, dtype, seed)
        if index >= len(drawn):
            continue
        try:
            calls = run(public, dtype, index, drawn[index], direction, values=True)  # type: ignore[arg-type]
        except Exception:  # whatever PyTorch raises for these values: the calls have not come about
            continue
        for recipe in wanted:
            if recipe.ordinal < len(calls) and calls[recipe.ordinal].overload == name:
                call = calls[recipe.ordinal]
                if signature_of(call) is not None:
                    found[recipe] = call
    return found


@functools.lru_cache(maxsize=8)
def _samples(public: str, dtype: str, seed: int) -> list[Sample]:
    return samples(public, dtype, seed)


def reference_of(operator: Any) -> Callable[..., Any]:
    """Return the CPU's function for an overload: numbers may stand for tensors, as the dispatcher hands them on.

    It raises ValueError where nothing right can be said of a call.
    """
    name = str(operator).removeprefix("aten.").removesuffix(".default")

    @functools.wraps(operator)
    def reference(*args: Any, **kwargs: Any) -> Any:
        if reason := undefined_call(name, args):
            raise ValueError(reason)
        return fallback.on_host(operator, args, kwargs)

    return reference


def _in_float64(reference: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that computes a reference of one tensor in float64 and rounds the result to its dtype."""

    def compute(matrix: torch.Tensor) -> torch.Tensor:
        return reference(matrix.double()).to(matrix.dtype)

    return compute


def case_of_call(case: CaseId, facts: Overload, parent: Parent, recipe: Recipe, call: Recorded) -> CaseInputs:
    """Make a case of a call that arrived: what shows in fresh outputs, what is right, device arguments."""
    way = "backward" if recipe.direction == "b" else "forward"
    return case_of(case, facts, parent, call, f"{recipe.public}, {way}", {"public": recipe.public})


def case_of(
    case: CaseId, facts: Overload, parent: Parent, call: Recorded, origin: str, notes: Mapping[str, Any]
) -> CaseInputs:
    """Make a case of a call that reached the device; `origin` says in its title where the call comes from."""
    reference = reference_of(call.operator)
    call = _without_none(sized(call, facts.writes))
    kwargs, fresh = _outputs(facts, call)
    public = Call(reference, call.args, dict(kwargs))

    def function_for(args: tuple[Any, ...], options: Mapping[str, Any]) -> Callable[[Any], Any] | None:
        found = postprocess_of(parent.public, _as_public(facts, Call(reference, args, dict(options))))
        return found.function if found else None

    compared = postprocess_of(parent.public, _as_public(facts, public)) if parent.same else None
    rounded = ROUNDED.get((parent.public, case.dtype)) if parent.same else None
    if rounded is not None:
        reference = _in_float64(reference)
    functions = compared.function if compared else None
    standard = Standard(
        parent.public, reference, case.dtype, functions, written=fresh, given=rule_for(facts.name, parent)
    )
    tolerance = Tolerance()
    if standard.rule.kind == "undefined":
        tolerance = widened(public, case.dtype, tolerance, functions)
        if standard.rule.reason.startswith("ties of pivots"):
            tolerance = by_length(public, case.dtype, tolerance)
    notes = dict(notes)
    if rounded is not None:
        notes["reference"] = rounded
    if compared is not None:
        notes["postprocess"] = compared.reason
    places = device_places(call.args, dict(kwargs))
    if places:
        notes["device_places"] = places
        if not has_tensor(list(call.args)):
            notes["factory"] = True
    made = CaseInputs(
        case=case,
        variant="",
        args=call.args,
        kwargs=kwargs,
        reference=reference,
        rtol=tolerance.rtol,
        atol=tolerance.atol,
        tolerance_reason=tolerance.reason,
        postprocess=compared.function if compared else None,
        postprocess_for=function_for if parent.same else None,
        notes=notes,
        title=f"{origin}: {call_text(call.args, kwargs)}"[:300],
    )
    return replace(made, standard=standard)


def _without_none(call: Recorded) -> Recorded:
    """Return the call without `None` for what is not given, as a library hands it on, whoever calls.

    Some of PyTorch's callers spell it out and others do not; the wrapper shall be told one form.
    """
    parameters = call.operator._schema.arguments
    optional = {p.name for p in parameters if p.has_default_value() and p.default_value is None}
    args = list(call.args)
    while args and args[-1] is None and parameters[len(args) - 1].name in optional:
        args.pop()
    kwargs = {name: value for name, value in call.kwargs.items() if value is not None or name not in optional}
    return replace(call, args=tuple(args), kwargs=kwargs)


def _outputs(facts: Overload, call: Recorded) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the keywords with what shows when it is left as it is in fresh outputs, and the names of these.

    An output that shares memory with another argument (an in-place call) keeps its values.
    """
    kwargs, fresh = dict(call.kwargs), []
    others = [value for name, value in kwargs.items() if name not in facts.writes]
    storages = {t.untyped_storage()._cdata for t in _tensors((call.args, others))}
    for name in facts.writes:
        value = kwargs.get(name)
        if isinstance(value, torch.Tensor) and value.untyped_storage()._cdata not in storages:
            whole = hostile((value.untyped_storage().nbytes() // value.element_size(),), value.dtype)
            kwargs[name] = whole.as_strided(value.size(), value.stride(), value.storage_offset())
            fresh.append(name)
    return kwargs, tuple(fresh)


def _tensors(value: Any) -> list[torch.Tensor]:
    from torch.utils import _pytree as pytree

    return [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def _as_public(facts: Overload, call: Call) -> Call:
    """Return the call with all options by name: post-processing looks for the public function's names."""
    args: Mapping[str, Any] = dict(zip(facts.positional[1:], call.args[1:], strict=False))
    return Call(call.reference, call.args[:1], {**args, **call.kwargs})
