"""One case of one form on the device: run it, and judge what comes back. Imports torch."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch.utils import _pytree as pytree

from bringup.accuracy import Arithmetic, Limit, Limits
from bringup.coverage._moving import Mover, shares_memory, to_host, with_host_arguments
from bringup.coverage._nearby import nearby_errors
from bringup.coverage._serving import Serving, missing_overload
from bringup.judge import _compare
from bringup.judge._case_limits import limits_of, output_limits
from bringup.suites import CaseInputs
from bringup.suites.opinfo_forms import FormCase, NoCase, copied, dense

LONGEST = 400  # characters of a message


@dataclass
class Outcome:
    """What came of a case."""

    kind: str = "passed"
    message: str = ""
    lacks: str = ""
    """Overload for lack of which it failed."""
    builtins: tuple[str, ...] = ()
    """Overloads that PyTorch's own kernels of the device were asked for."""
    over: bool = False
    """Whether the device is lost for this process."""
    kernels: Counter[str] = field(default_factory=Counter)
    composed: Counter[str] = field(default_factory=Counter)


class CannotCompare(Exception):
    """The host itself refuses the call: there is nothing to compare with."""


def expected_of(inputs: CaseInputs) -> tuple[Any, Any, Any]:
    """Return (result, args after, kwargs after) on the host; raises CannotCompare."""
    args, kwargs = copied(inputs.args, inputs.kwargs)
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return to_host(inputs.reference(*args, **kwargs)), to_host(args), to_host(kwargs)
    except Exception as error:  # whatever PyTorch raises
        raise CannotCompare(f"{type(error).__name__}: {error}") from None


def measure(case: FormCase, serving: Serving, *, arithmetic: Arithmetic) -> Outcome:
    """Run one case on the device and compare it with the host's; raises NoCase, and CannotCompare for a bare call.

    A gradient is compared as the result of the function that computes it; arguments are compared after the call, too.
    """
    try:
        expected = expected_of(case.inputs)
    except CannotCompare:
        if case.form == "call":
            raise
        raise NoCase from None
    before = serving.calls()
    outcome = Outcome()
    builtins: set[str] = set()
    try:
        result, after, elsewhere = _run(case, serving, builtins)
    except Exception as error:  # whatever a kernel, its wrapper or PyTorch raises is the result
        lacks = missing_overload(error)
        text = serving.plain(" ".join(f"{type(error).__name__}: {error}".split()))
        if lacks:
            # Which library it was, and how to make the kernel, is the same for every case.
            text = re.sub(r" in the library [^;(]*[^;( ]", "", text)
            text = re.sub(r"; make (one|a kernel for such calls): .*", "", text)
        text = text[:LONGEST]
        outcome.kind, outcome.message, outcome.lacks = ("missing" if lacks else "raised"), text, lacks or ""
        if builtins:
            # Even had it been no error: the call is not served by the library alone.
            outcome.kind, outcome.lacks = "missing", lacks or min(builtins)
            outcome.message = f"PyTorch's own kernels were asked for {_listed(builtins)}; {text}"[:LONGEST]
    else:
        if builtins:
            outcome.kind, outcome.lacks = "missing", min(builtins)
            outcome.message = f"PyTorch's own kernels computed {_listed(builtins)}"[:LONGEST]
        elif elsewhere:
            outcome.kind, outcome.message = "wrong", elsewhere
        elif found := _differs(case, expected, result, after, arithmetic=arithmetic):
            outcome.kind, outcome.message = "wrong", found[:LONGEST]
    outcome.builtins = tuple(sorted(builtins))
    if fault := serving.fault():
        text = fault if outcome.kind == "passed" else f"{fault}; {outcome.message}"
        outcome.kind, outcome.message, outcome.over = "crashed", text[:LONGEST], True
    kernels, composed = serving.calls()
    outcome.kernels, outcome.composed = kernels - before[0], composed - before[1]
    return outcome


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names))


def _run(case: FormCase, serving: Serving, builtins: set[str]) -> tuple[Any, Any, str]:
    """Return (result, arguments after, what is odd about the result's memory or device).

    What PyTorch's own kernels of the device are asked for is added to `builtins`, of calls that raise, too.
    """
    mover = Mover(serving.device)
    args, kwargs = mover.move((tuple(case.inputs.args), dict(case.inputs.kwargs)))
    before = int(case.form == "gradient")  # a gradient's first argument is what comes from above
    args = with_host_arguments(case.inputs.case.operator, before, tuple(case.inputs.args), args)
    with warnings.catch_warnings(), serving.watched() as seen:
        warnings.simplefilter("ignore")
        try:
            with torch.no_grad():
                result = case.function(*args, **kwargs)
        finally:
            builtins |= seen
    odd = ""
    leaves = [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]
    others = [leaf.device.type for leaf in leaves if leaf.device.type != serving.device.type]
    if others and not _names_host(case):
        odd = f"the result is on {others[0]}, not on {serving.device.type}"
    for place in case.returned:
        given = kwargs[place] if isinstance(place, str) else args[place]
        wanted = [leaf for leaf in pytree.tree_leaves(given) if isinstance(leaf, torch.Tensor)]
        if len(leaves) != len(wanted) or not all(map(shares_memory, leaves, wanted)):
            odd = odd or f"what is returned is not the {'tensor' if len(wanted) == 1 else 'tensors'} to be written to"
    return to_host(result), (to_host(args), to_host(kwargs)), odd


def _names_host(case: FormCase) -> bool:
    """Whether the operator's result is on the host by its definition."""
    return case.inputs.case.operator in {"cpu"}


def _differs(case: FormCase, expected: tuple[Any, Any, Any], result: Any, after: Any, *, arithmetic: Arithmetic) -> str:
    """Say how the device's results differ from the host's; "" where they do not."""
    inputs = case.inputs
    if other := _other_layout(expected[0], result):
        return other
    expected, result = (dense(expected[0]), *expected[1:]), dense(result)
    wanted, wanted_args, wanted_kwargs = expected
    if inputs.postprocess is not None:
        # Shapes and dtypes first: the suite's function shall not meet what it does not expect.
        structural = _compare.compare(wanted, result, rtol=float("inf"), atol=float("inf"))
        if structural is not None and structural.aspect != "values":
            return f"{structural.output}: {structural.message}"
        shown, actual = inputs.postprocess(wanted), inputs.postprocess(result)
    else:
        shown, actual = wanted, result
    limits = _limits(case, expected, arithmetic=arithmetic)
    bounds = output_limits(inputs, limits, shown) if limits.outputs else {}
    if found := _compare.compare(shown, actual, inputs.rtol, inputs.atol, limits=bounds):
        return f"{found.output}: {found.message}"
    returned = {id(t) for place in case.returned for t in pytree.tree_leaves(_at(place, wanted_args, wanted_kwargs))}
    held = _compare.input_paths(tuple(inputs.args), dict(inputs.kwargs))
    ours = _compare.input_paths(tuple(after[0]), dict(after[1]))
    right = _compare.input_paths(tuple(wanted_args), dict(wanted_kwargs))
    if len(ours) != len(right):
        return "arguments after the call: a container was changed"
    for number, ((path, old), (_, one), (_, reference)) in enumerate(zip(held, ours, right, strict=True)):
        if id(reference) in returned:
            continue  # compared as the result
        if _same(old, reference):
            if not _same(reference, one):
                return f"{path} was changed by the call; PyTorch leaves it as it is"
            continue
        bound = limits.after[number] if number < len(limits.after) and inputs.postprocess is None else None
        if found := _compare.compare_tensors(reference, one, inputs.rtol, inputs.atol, path, bound):
            return f"{path} after the call: {found.message}"
    return ""


def _other_layout(wanted: Any, result: Any) -> str:
    """Say which of the results is sparse where the host's is not, or the other way round; "" if none is."""
    right, ours = ([t for t in pytree.tree_leaves(r) if isinstance(t, torch.Tensor)] for r in (wanted, result))
    for number, (one, other) in enumerate(zip(right, ours, strict=False)):
        if one.layout != other.layout:
            return f"tensor {number} of the result: layout {one.layout} was expected, {other.layout} was returned"
    return ""


def _at(place: str | int, args: Any, kwargs: Any) -> Any:
    return kwargs[place] if isinstance(place, str) else args[place]


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.layout is not torch.strided or one.is_complex():
        return bool(torch.equal(one, other))
    left, right = (t.detach().clone(memory_format=torch.contiguous_format).reshape(-1) for t in (one, other))
    return bool(torch.equal(left.view(torch.uint8), right.view(torch.uint8)))


def _limits(case: FormCase, expected: tuple[Any, Any, Any], *, arithmetic: Arithmetic) -> Limits:
    """What the results may be: for another form of a call the limits of the call, where the results have its dtypes."""
    if case.form == "gradient":
        return _at_least_the_host(case.inputs, limits_of(case.inputs, expected, arithmetic), expected[0])
    if case.same_as is None:
        return limits_of(case.inputs, expected, arithmetic)
    outputs = [t for t in pytree.tree_leaves(expected[0]) if isinstance(t, torch.Tensor)]
    nothing: list[Limit | None] = [None] * len(outputs)
    plain = expected_of(case.same_as)
    same = [t for t in pytree.tree_leaves(plain[0]) if isinstance(t, torch.Tensor)]
    if [(t.dtype, t.shape) for t in outputs] != [(t.dtype, t.shape) for t in same]:
        return Limits(nothing, ())
    found = limits_of(case.same_as, plain, arithmetic)
    return Limits(
        found.outputs, found.after, functions=found.functions
    )  # tensors of `out=` stand behind the arguments that both calls have


def run_quietly(case: FormCase, serving: Serving) -> None:
    """Run a case for what it calls alone; whatever it raises says nothing here."""
    try:
        _run(case, serving, set())
    except Exception:
        return


def _at_least_the_host(inputs: CaseInputs, limits: Limits, expected: Any) -> Limits:
    """Widen the limits of gradients that PyTorch's own formula does not keep on the host.

    Terms may cancel that are larger than any gradient (a norm over one element), and some formulas lose digits
    (`ctc_loss`): then so much is allowed beyond the limit as the host is off at its worst, twice, here or with
    arguments close by.
    """
    tensors = [t for t in pytree.tree_leaves(expected) if isinstance(t, torch.Tensor)]
    off = [_host_error(limit, tensor) for limit, tensor in zip(limits.outputs, tensors, strict=True)]
    if any(error is not None for error in off):
        try:
            assert inputs.standard is not None
            near = nearby_errors(inputs.standard.reference, inputs.args, inputs.kwargs)
        except Exception:  # whatever PyTorch raises: what it does with these very arguments is all that is known
            near = []
        if len(near) == len(off):
            off = [None if error is None else max(error, other) for error, other in zip(off, near, strict=True)]
    found: list[Limit | None] = []
    for limit, error in zip(limits.outputs, off, strict=True):
        if limit is None or limit.allowed is None or error is None:
            found.append(limit)
            continue
        words = f"within twice the error of PyTorch's own on the host ({error:.3g})"
        found.append(replace(limit, allowed=limit.allowed + 2 * error, words=words))
    return Limits(found, limits.after, limits.reason)


def _host_error(limit: Limit | None, tensor: torch.Tensor) -> float | None:
    """Return the host's largest finite error; None where it keeps the limit."""
    if limit is None or limit.exact is None or not bool(limit.wrong(tensor, tensor).any()):
        return None
    off = (tensor.double() - limit.exact).abs()
    off = off[off.isfinite()]
    return float(off.max()) if off.numel() else 0.0
