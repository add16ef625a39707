"""Which drafts become cases: the reference must behave on them. Nothing here depends on time or on the machine.

PyTorch's own result is asked, so what it may be off by (bringup.accuracy) must hold under every instruction set; where
one of its kernels misses that on some processors only, it is not asked (`own_by_host` in data/audit.yaml).

A draft is left out when
- the reference raises (in the errors' case: when it does not), leaves the call to the other operand (NotImplemented),
  or needs more elements than the caps;
- it divides by zero where the definition does not say what that gives (`finite_results` in data/audit.yaml);
- a tensor is not dense, or of a dtype that neither the gate's five, bool nor the operator's own samples show;
- which view the result is of an argument hangs on a value that the wrapper may not read (a 0-d index);
- the operator is one that returns memory as it finds it (`empty`), or writes to arguments whose elements share memory;
- PyTorch's own result is not right by the operator's class (bringup.accuracy): then a rounding decision in the middle
  is compared, or PyTorch is wrong. A float64 that `dtype=` asks for is held to what a device finds that stores float64
  and computes in float32. Where there is no exact result: it is further from the same function in double
  precision than the tolerance, or at the edge of the dtype's range;
- a float64 that `out=` or `dtype=` asks for has numbers beyond what float32 holds, which such a device cannot find;
- PyTorch changes an argument that the operator does not write (`cov` of one number with weights);
- the result is not defined: it changes when PyTorch fills fresh memory with NaN, or (where a family asks for it) when
  the same values lie in memory otherwise.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from bringup.accuracy import Arithmetic, Limit, copy_arguments, limited_memory
from bringup.operators import DTYPES
from bringup.suites._base import CaseInputs
from bringup.suites._opinfo_calls import Arguments, Call
from bringup.suites._opinfo_cases import case_of
from bringup.suites._opinfo_samples import Sample
from bringup.suites._opinfo_tolerance import DEFAULTS, DTYPE_BOUND
from bringup.suites.audit._families import MAX_INPUT, MAX_OUTPUT, MOST_DIMENSIONS
from bringup.suites.audit._layouts import stepped
from bringup.suites.audit._meta import on_meta
from bringup.suites.audit._structure import among, takes_nonfinite
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import elements, mapped, tensors
from bringup.verdict import CaseId

_EDGE = 0.99  # of the largest finite value: what is beyond may round to infinity or not
_PLAIN = 1e-6  # for results that are small whole numbers
# From so many input elements, or so large numbers (sizes, perhaps), the meta device tells the result's size first.
_META_FROM = 1 << 12


def vetted(draft: Draft, subject: Subject, case: CaseId) -> CaseInputs | None:
    """Return the draft as a case, or None when it is left out."""
    if "defined_values" in subject.operator.needs:  # memory that may by chance hold what it is compared with
        return None
    inputs = [leaf.tensor for leaf in tensors(draft.call)]
    if sum(tensor.numel() for tensor in inputs) > MAX_INPUT or not all(_known(t, subject, draft) for t in inputs):
        return None
    if subject.operator.mutates and any(0 in t.stride() for t in inputs if t.numel() > 1):
        return None
    if draft.fails:
        error = raised(draft.call)
        return replace(_case(draft, case, imprecise=False), raises=error) if error else None
    if not small_result(draft.call):
        return None
    try:
        result, given = _run(draft.call)
        if result is NotImplemented or elements(result) > MAX_OUTPUT or _deep(result):
            return None
        if not (_writes(subject, draft) or alike(given, (draft.call.args, draft.call.kwargs))):
            return None
        outputs = [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]
        if not all(_known(tensor, subject, draft) for tensor in outputs):
            return None
        if not subject.operator.reads.inputs and _shares(given, result) and _reads_values(draft.call):
            return None  # a view of an argument, which hangs on a value
        if among("undefined_when_empty", subject.operator) and not all(tensor.numel() for tensor in outputs):
            return None
        if draft.computed is not None and not all(_held(tensor, draft.computed) for tensor in outputs):
            draft = replace(draft, computed=None)  # the operator computes in the dtype of `out=` (`cumsum`)
        if _finite(inputs) and not _finite(_written_beside(inputs, given, outputs)):
            return None  # steps on the way to statistics have overflowed: in which order is nobody's business
        if _overflows(_as_read(draft, subject), _read(draft.call), result, draft.computed):
            return None
        if draft.wide_out and any(_beyond_float32(tensor) for tensor in outputs):
            return None
        if among("finite_results", subject.operator) and _finite(inputs) and not _finite(outputs):
            return None
        if draft.plain is not None and not alike(result, run(draft.plain)):
            return None
        if draft.whole and any(tensor.is_floating_point() for tensor in outputs):
            return None
        with filled_memory():
            again = run(draft.call)
        if not alike(result, again):
            return None
        made = _case(draft, case, imprecise=True)
        post = made.postprocess or (lambda value: value)
        if draft.steady and not alike(post(result), post(run(mapped(draft.call, _elsewhere))), made):
            return None
        stored = draft.wide_out and draft.requires != "out"
        limits = _limits(made, draft.call, result, given, Arithmetic(doubles=not stored))
        if any(limit is not None for limit in limits):
            return made if among("own_by_host", subject.operator) or _right(outputs, limits) else None
        return None if _inexact(made, draft.call, result) else made
    except Exception:  # whatever PyTorch raises: this input is not accepted
        return None


def _elsewhere(tensor: torch.Tensor) -> torch.Tensor:
    """Return the same values as a tensor without gaps; those of such a tensor, with gaps."""
    return stepped(tensor) if tensor.is_contiguous() else tensor.contiguous()


def _writes(subject: Subject, draft: Draft) -> bool:
    """Whether the call is there to write into an argument: `resize_as_` does so, though no sample shows it."""
    inplace = subject.operator.name.endswith("_") and not subject.operator.name.startswith("_")
    return inplace or subject.operator.mutates or bool(subject.operator.writes or draft.requires)


class _Reads(TorchDispatchMode):  # type: ignore[misc]  # torch gives it no type
    """Whether a value was read from a tensor."""

    seen = False

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else torch imports its compiler

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen |= func is torch.ops.aten._local_scalar_dense.default
        return func(*args, **(kwargs or {}))


def _reads_values(call: Call) -> bool:
    """Whether the reference reads a value from a tensor."""
    with _Reads() as reads:
        run(call)
    return bool(reads.seen)


def _shares(given: Any, result: Any) -> bool:
    """Whether a result shares memory with an argument."""
    one, other = (
        {leaf.untyped_storage().data_ptr() for leaf in pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor)}
        for tree in (given, result)
    )
    return bool(one & other)


def _finite(found: Sequence[torch.Tensor]) -> bool:
    return all(bool(tensor.isfinite().all()) for tensor in found if tensor.is_floating_point())


def _written_beside(inputs: Sequence[torch.Tensor], given: Any, outputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Arguments after a call that it has written, and that are no results: running statistics."""
    after = [leaf for leaf in pytree.tree_leaves(given) if isinstance(leaf, torch.Tensor)]
    pairs = zip(inputs, after, strict=True) if len(inputs) == len(after) else ()
    return [
        new
        for old, new in pairs
        if all(new is not one for one in outputs) and not torch.equal(old.nan_to_num(), new.nan_to_num())
    ]


def _held(tensor: torch.Tensor, dtype: torch.dtype) -> bool:
    """Whether each number is one of a dtype, as after a rounding to it."""
    return bool(torch.equal(tensor.nan_to_num(), tensor.to(dtype).to(tensor.dtype).nan_to_num()))


def _beyond_float32(tensor: torch.Tensor) -> bool:
    """Whether there are finite numbers that no float32 holds."""
    if tensor.dtype is not torch.float64:
        return False
    return bool((tensor.isfinite() & (tensor.abs() > torch.finfo(torch.float32).max)).any())


def _twin(call: Call) -> list[Any] | None:
    """Return the leaves of the same function's result in double precision, or None where there is no such function."""
    try:
        args, kwargs = copy_arguments(call.args, call.kwargs, widen=True)
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return list(pytree.tree_leaves(call.reference(*args, **kwargs)))
    except Exception:  # whatever PyTorch raises
        return None


def _read(call: Call) -> list[torch.Tensor]:
    """Return the tensors that hold data: `out=` holds nothing yet, whatever is in it."""
    kwargs = {name: value for name, value in call.kwargs.items() if name != "out"}
    return [leaf.tensor for leaf in tensors(Call(call.reference, call.args, kwargs))]


def _as_read(draft: Draft, subject: Subject) -> Call:
    """Return the call with its data rounded as the operator rounds them first, infinities among them.

    Where it is not defined what becomes of infinities, the data as they are: what overflows then is not asked.
    """
    if draft.rounded is None or not takes_nonfinite(subject.operator):
        return draft.call
    return replace(draft.call, reference=_rounding_first(draft.call.reference, draft.rounded))


def _overflows(call: Call, inputs: list[torch.Tensor], result: Any, computed: torch.dtype | None) -> bool:
    """Whether infinities or NaN in the result come from PyTorch's way of computing it, not from the operator.

    So it is where a call without tensors gives any (numbers beyond the dtype's range), and where finite arguments do
    although the same function in double precision, rounded to the dtype, is finite there: a sum that overflows
    in half precision. `computed`: the dtype that it is rounded to before it is stored; at the edge of that dtype's
    range nothing is asked.
    """
    found = [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]
    if _finite(found):
        return False
    if not inputs:
        return True
    if not _finite(inputs):
        return False
    twin = _twin(call)
    if twin is None:
        return False
    exact = [leaf for leaf in twin if isinstance(leaf, torch.Tensor)]
    if computed is not None:
        largest = torch.finfo(computed).max
        if any(bool(((two.abs() / largest - 1).abs() < 1 - _EDGE).any()) for two in exact):
            return True
        exact = [two.to(computed) for two in exact]
    return any(
        one.is_floating_point() and one.shape == two.shape and not torch.equal(one.isfinite(), two.to(one).isfinite())
        for one, two in zip(found, exact, strict=False)
    )


def _inexact(made: CaseInputs, call: Call, result: Any) -> bool:
    """Whether PyTorch itself misses the result in double precision by more than the tolerance."""
    if call.reference in DTYPE_BOUND or made.postprocess is not None:
        return False
    twin = _twin(call)
    if twin is None:
        return False
    for value, exact in zip(pytree.tree_leaves(result), twin, strict=False):
        if not isinstance(value, torch.Tensor) or value.dtype not in DEFAULTS or value.layout is not torch.strided:
            continue
        if not isinstance(exact, torch.Tensor) or exact.shape != value.shape or exact.dtype is not torch.float64:
            continue
        rtol, atol = (
            given if given is not None else DEFAULTS[value.dtype][i] for i, given in enumerate((made.rtol, made.atol))
        )
        largest = torch.finfo(value.dtype).max
        if bool(((exact.abs() > _EDGE * largest) & exact.isfinite()).any()):
            return True
        usable = value.isfinite() & exact.isfinite()
        wide, exact = value[usable].double(), exact[usable]
        if bool(((wide - exact).abs() > atol + rtol * exact.abs()).any()):
            return True
    return False


def _limits(
    made: CaseInputs, call: Call, result: Any, after: Arguments, arithmetic: Arithmetic
) -> Sequence[Limit | None]:
    """Return what each tensor of PyTorch's own result may be; `after`: the arguments as its call has left them."""
    if made.standard is None or made.postprocess is not None:
        return ()
    return made.standard.limits(call.args, call.kwargs, result, after, arithmetic=arithmetic).outputs


def _right(outputs: Sequence[torch.Tensor], limits: Sequence[Limit | None]) -> bool:
    return not any(
        limit is not None and bool(limit.wrong(tensor, tensor).any())
        for tensor, limit in zip(outputs, limits, strict=True)
    )


def run(call: Call) -> Any:
    """Run the reference on copies of the arguments and return its result."""
    return _run(call)[0]


def _run(call: Call) -> tuple[Any, Arguments]:
    """Run the reference on copies of the arguments; return its result, and the copies as it has left them."""
    args, kwargs = copy_arguments(call.args, call.kwargs)
    with torch.no_grad(), warnings.catch_warnings(), limited_memory():
        warnings.simplefilter("ignore")
        return call.reference(*args, **kwargs), (args, kwargs)


def dense_results(call: Call) -> tuple[Any, list[torch.Tensor]] | None:
    """Return what the reference returns, and its leaves; None where it raises or not all are strided tensors."""
    try:
        result = run(call)
    except Exception:  # whatever PyTorch raises
        return None
    leaves = pytree.tree_leaves(result)
    dense = all(isinstance(leaf, torch.Tensor) and leaf.layout is torch.strided for leaf in leaves)
    return (result, leaves) if leaves and dense else None


def raised(call: Call) -> str:
    """Return what the reference raises, "ValueError: ...", on one line; "" when it returns."""
    try:
        run(call)
    except Exception as error:
        return f"{type(error).__name__}: {error}".splitlines()[0][:300]
    return ""


def _case(draft: Draft, case: CaseId, *, imprecise: bool) -> CaseInputs:
    sample = Sample(draft.variant, draft.entry, draft.call, None)
    made = case_of(case, sample, imprecise) if draft.plain is None else _spelt(draft, case, sample, imprecise)
    if draft.plainly:
        made = replace(made, standard=None, rtol=_PLAIN, atol=_PLAIN, tolerance_reason="whole numbers")
    if draft.computed is not None:
        rtol, atol = DEFAULTS[draft.computed]
        reason = "rounded first, then stored in a wider out="
        made = replace(made, rtol=rtol, atol=atol, tolerance_reason=reason)
        if made.standard is not None:
            made = replace(made, standard=replace(made.standard, rounded=True))
    if draft.rounded is not None and made.standard is not None:
        reference = _rounding_first(made.standard.reference, draft.rounded)
        made = replace(made, standard=replace(made.standard, reference=reference))
    if draft.wide_out and made.rtol is None:
        # The defaults go by the result's dtype. What is stored as float64 is as exact as what was computed.
        computed = getattr(torch, case.dtype)
        rtol, atol = DEFAULTS.get(computed, DEFAULTS[torch.float32])
        reason = f"computed in {case.dtype if computed in DEFAULTS else 'float32'}, stored as float64"
        made = replace(made, rtol=rtol, atol=atol, tolerance_reason=reason)
    return replace(made, requires=draft.requires)


def _rounding_first(reference: Callable[..., Any], dtype: torch.dtype) -> Callable[..., Any]:
    """Return the function of arguments whose floating-point tensors are rounded to `dtype` first."""

    def rounded(value: Any) -> Any:
        floats = isinstance(value, torch.Tensor) and value.is_floating_point()
        return value.to(dtype).to(value.dtype) if floats else value

    def function(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = pytree.tree_map(rounded, (args, kwargs))
        return reference(*args, **kwargs)

    return function


def _spelt(draft: Draft, case: CaseId, sample: Sample, imprecise: bool) -> CaseInputs:
    """Take tolerance and post-processing from the plain spelling: they look at positional arguments."""
    assert draft.plain is not None
    plain = case_of(case, replace(sample, call=draft.plain), imprecise)
    made = case_of(case, replace(sample, call=draft.call), False, post=False)
    assert made.standard is not None
    made = replace(made, standard=replace(made.standard, functions=plain.postprocess))
    return replace(
        made,
        rtol=plain.rtol,
        atol=plain.atol,
        tolerance_reason=plain.tolerance_reason,
        postprocess=plain.postprocess,
    )


def _known(tensor: torch.Tensor, subject: Subject, draft: Draft) -> bool:
    name = str(tensor.dtype).removeprefix("torch.")
    known = name in DTYPES or name == "bool" or name in subject.facts.result_dtypes or name in subject.input_dtypes
    known = known or (draft.wide_out and tensor.dtype is torch.float64)
    known = known or (draft.doubled and tensor.dtype is torch.float64 and not tensor.dim())
    return known and tensor.layout is torch.strided and not tensor.is_quantized


def _deep(result: Any) -> bool:
    """Whether a result has more dimensions than PyTorch's own copies take."""
    found = [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]
    return any(tensor.dim() > MOST_DIMENSIONS for tensor in found)


def small_result(call: Call) -> bool:
    """Whether the result has no more elements than the cap, asked before it is computed.

    Memory that the host does not have must not be asked for: one host refuses it, another kills the process.
    """
    sizes = [abs(leaf) for leaf in pytree.tree_leaves((call.args, dict(call.kwargs))) if type(leaf) is int]
    if elements((call.args, call.kwargs)) + sum(sizes) < _META_FROM:
        return True
    try:
        return elements(on_meta(call)) <= MAX_OUTPUT
    except Exception:
        return True  # no meta kernel, or a size that depends on values: the caps on memory and on the result decide


@contextmanager
def filled_memory() -> Iterator[None]:
    """Let PyTorch fill fresh memory (NaN, or the largest integer), so that a result which shows it can be told."""
    import torch.utils.deterministic

    # `use_deterministic_algorithms` would do, but imports torch._inductor: seconds, in every process that builds cases.
    before = torch.get_deterministic_debug_mode()
    filling = torch.utils.deterministic.fill_uninitialized_memory
    torch.set_deterministic_debug_mode("warn")
    torch.utils.deterministic.fill_uninitialized_memory = True
    try:
        yield
    finally:
        torch.utils.deterministic.fill_uninitialized_memory = filling
        torch.set_deterministic_debug_mode(before)


def alike(one: Any, other: Any, case: CaseInputs | None = None) -> bool:
    left, right = pytree.tree_leaves(one), pytree.tree_leaves(other)
    return len(left) == len(right) and all(_same(a, b, case) for a, b in zip(left, right, strict=True))


def _same(one: Any, other: Any, case: CaseInputs | None) -> bool:
    if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor):
        return type(one) is type(other) and (repr(one) == repr(other))  # NaN is like itself
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.layout is not torch.strided:
        return True
    wide = torch.complex128 if one.is_complex() else torch.float64
    if not one.is_floating_point() and not one.is_complex():
        return bool(torch.equal(one, other))
    rtol, atol = DEFAULTS.get(one.dtype, (1e-7, 1e-7))
    if case is not None:
        rtol, atol = (rtol if case.rtol is None else case.rtol), (atol if case.atol is None else case.atol)
    return bool(torch.isclose(one.to(wide), other.to(wide), rtol=rtol, atol=atol, equal_nan=True).all())
