"""How one kernel serves the forms of an operator: functional, in-place and `out=`.

A kernel of an `out=` overload is given results that have the shape and dtype that PyTorch's functional form would give
them, and share no memory with the inputs, except that a pointwise operator may be given an input itself. Whatever else
the caller passed (other dtypes, overlapping memory, a wrong size), the result is computed aside and copied.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from bringup.library._call import Unsized, ask_meta, filler, signature, tensors_in
from bringup.library._dtypes import unknown
from bringup.library._fitting import Fitting
from bringup.library._kernel import Kernel, running
from bringup.library._masks import has_masks, without_masks
from bringup.library.errors import KernelFailed, NotServed
from bringup.library.schemas import functional_of, operator, schema_of

INDICES = ("indices", "List[Optional[Tensor]]")
PLANS = 4096
"""Signatures remembered for each form; beyond them all are forgotten."""

Choice = Callable[[Sequence[Any]], Kernel | None]


@dataclass(frozen=True)
class Unserved:
    """Why no kernel serves the calls with one signature."""

    why: str


class Plan:
    """What is known of all calls with one signature."""

    __slots__ = ("aside", "integers", "kernel", "moves", "outs", "replays")

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.moves: tuple[int, ...] = ()
        """Positions of tensors of the CPU that go to the device: numbers in tensors, and indices."""
        self.outs: tuple[tuple[Any, Any, Any], ...] | None = None
        """Shape, strides and dtype of each result in the functional form."""
        self.aside = False
        """The results are computed in fresh tensors and copied."""
        self.integers: torch.dtype | None = None
        """The dtype that numbers of the call are converted to, where these are integers."""
        self.replays: Any = None


class Form:
    """One overload of a device, served by the kernels of (another) overload. Called by PyTorch's dispatcher."""

    def __init__(
        self, name: str, kernel_name: str, choose: Choice, device: str, builtin: Any = None, missing: Any = None
    ) -> None:
        """`choose` picks the kernel for a call.

        Where there is none `builtin` computes it, a device's own kernel, else `missing(operator, why, args, kwargs)`.
        """
        self.name = name
        self.missing = missing
        self.schema = schema_of(name)
        self.target = schema_of(kernel_name)
        self.choose = choose
        self.device = device
        self.builtin = builtin
        self.calls = 0
        self.plans: dict[Any, Plan | Unserved] = {}
        self._fill = filler(self.schema)
        self._fitting = Fitting(self.schema)
        self._exact = not self.schema.tensors
        self._pointwise = torch.Tag.pointwise in operator(name).tags
        self._indices: int | None = None
        """Which argument is a list of indices, of which masks are made before a result is sized."""
        functional = self.schema.name if not self.schema.outs else functional_of(name)
        self._functional = functional
        self._outs = len(self.target.outs)
        self.keeps = device == "vpe" and bool(self.target.outs) and not self.target.random
        """Whether launches are kept by signature (`_replay`)."""

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Serve a call."""
        stack = running()
        if stack and self.name not in stack[-1].entry.calls and self.target.name not in stack[-1].entry.calls:
            if self.builtin is not None:
                return self.builtin(*args, **kwargs)
            raise undeclared(stack[-1], self.name)
        values = self._fill(args, kwargs)
        if self._indices is not None and has_masks(values[self._indices]):
            values[self._indices] = without_masks(values[0], values[self._indices])
        key = signature(values, self._exact)
        try:
            plan = self.plans[key]
        except KeyError:
            plan = self._plan(values)
            if len(self.plans) >= PLANS:
                self.plans.clear()
            self.plans[key] = plan
        if isinstance(plan, Unserved):
            return self._unserved(plan.why, args, kwargs)
        self._refuse_unfit(plan.integers, values)
        self.calls += 1
        if plan.moves:
            values = [_moved(v, self.device) if i in plan.moves else v for i, v in enumerate(values)]
        if self.device == "cuda":
            first = next(tensors_in(values), None)
            if first is not None:
                with torch.cuda.device_of(first):  # Triton launches on the current device
                    return self.serve(plan, values)
        return self.serve(plan, values)

    def serve(self, plan: Plan, values: list[Any]) -> Any:
        """Compute a call; the kernel's own overload: nothing is left to do."""
        result = plan.kernel(values)
        if self.schema.writes_inputs:
            written = [v for v, p in zip(values, self.schema.parameters, strict=True) if p.written]
            return written[0] if len(written) == 1 and self.schema.returns == 1 else result
        if isinstance(result, list) and self.schema.returns > 1:
            return tuple(result)
        return result

    def _unserved(self, why: str, args: Any, kwargs: Any) -> Any:
        if self.builtin is not None:
            return self.builtin(*args, **kwargs)
        if self.missing is not None:
            return self.missing(operator(self.name), why, args, kwargs)
        raise NotServed(f"aten::{self.name}: {why}")

    # ---------------------------------------------------------------- plans

    def _plan(self, values: Sequence[Any]) -> Plan | Unserved:
        if self.target.random and self.device != "vpe":
            return Unserved(f"the seed of a kernel comes from the generator of vpe, which is not that of {self.device}")
        inputs = self._inputs(values)
        moves = self._moves(values)
        kernel = self.choose(inputs)
        if kernel is None:
            return Unserved(
                f"no variant of the kernel of aten::{self.target.name} is for this call, and there is no kernel for "
                f"all calls (`bringup route aten.{self.name}` lists them)"
            )
        plan = Plan(kernel)
        plan.moves = moves
        if self.keeps and not moves and not kernel.entry.calls and not kernel.sealed:
            from bringup.library._replay import Replays, replayable

            plan.replays = Replays() if replayable(values) else None
        try:
            checked = self.check(plan, values)
        except (OverflowError, ValueError):
            # PyTorch's meta functions in Python convert numbers, too, and have Python's own errors for it.
            self._refuse_unfit(self._fitting.dtype(next((t.dtype for t in tensors_in(inputs)), None)), values)
            raise
        if isinstance(checked, Unserved):
            return checked
        results = self._results(checked, values)
        why = unknown(kernel.entry, self.target, inputs, results)
        if why:
            return Unserved(why)
        # Where the results are not among the arguments, they have the dtype of the first of these.
        checked.integers = self._fitting.dtype(next(iter([*results, *(t.dtype for t in tensors_in(values))]), None))
        return checked

    def _refuse_unfit(self, integers: torch.dtype | None, values: Sequence[Any]) -> None:
        if integers is not None:
            self._fitting.check(values, integers)

    def _results(self, plan: Plan, values: Sequence[Any]) -> list[torch.dtype]:
        """The dtypes of the tensors that the kernel is given for its results."""
        if plan.outs is not None:
            return [dtype for _, _, dtype in plan.outs]
        given = [v for v, p in zip(values, self.schema.parameters, strict=True) if p.written and p.keyword_only]
        return [value.dtype for value in given if isinstance(value, torch.Tensor)]

    def check(self, plan: Plan, values: Sequence[Any]) -> Plan | Unserved:
        """Look at a call of a new signature; raises what PyTorch would."""
        return plan

    def _inputs(self, values: Sequence[Any]) -> list[Any]:
        return [v for v, p in zip(values, self.schema.parameters, strict=True) if not (p.written and p.keyword_only)]

    def _moves(self, values: Sequence[Any]) -> tuple[int, ...]:
        moves = []
        for position, (value, parameter) in enumerate(zip(values, self.schema.parameters, strict=True)):
            for tensor in tensors_in([value]):
                if tensor.device.type == self.device:
                    continue
                movable = tensor.dim() == 0 or parameter.name == "indices"
                if tensor.device.type != "cpu" or not movable or parameter.written:
                    raise RuntimeError(
                        f"Expected all tensors to be on the same device, but argument '{parameter.name}' of "
                        f"aten::{self.name} is on {tensor.device}, not on {self.device}"
                    )
                moves.append(position)
        return tuple(dict.fromkeys(moves))

    def _sized(self, inputs: Sequence[Any]) -> tuple[tuple[Any, Any, Any], ...] | None:
        """Ask PyTorch what the functional form would return; None where it cannot say."""
        if self._functional is None:
            return None
        schema = schema_of(self._functional)
        if len(schema.parameters) != len(inputs):
            return None
        try:
            results = ask_meta(operator(self._functional), inputs, schema, self.device)
        except Unsized:
            return None
        return tuple((one.shape, one.stride(), one.dtype) for one in results)

    def fresh(self, plan: Plan, inputs: Sequence[Any]) -> list[Any]:
        """Allocate the results of a call, on the device of its tensors."""
        assert plan.outs is not None
        where = next((t.device for t in tensors_in(inputs) if t.device.type == self.device), self.device)
        return [torch.empty_strided(shape, stride, dtype=dtype, device=where) for shape, stride, dtype in plan.outs]

    def run(self, plan: Plan, inputs: list[Any], outs: list[Any]) -> None:
        """Let the kernel of an `out=` overload write to `outs`."""
        plan.kernel([*inputs, *outs], plan.replays)


class OutForm(Form):
    """An `out=` overload, by its own kernel; on devices from outside PyTorch sends the other forms' calls here, too."""

    def __init__(
        self, name: str, kernel_name: str, choose: Choice, device: str, builtin: Any = None, missing: Any = None
    ) -> None:
        super().__init__(name, kernel_name, choose, device, builtin, missing)
        lists = [n for n, p in enumerate(self.schema.parameters) if (p.name, p.type) == INDICES]
        self._indices = lists[0] if lists else None

    def check(self, plan: Plan, values: Sequence[Any]) -> Plan:
        _check_outs(self, values)
        inputs, outs = values[: -self._outs], values[-self._outs :]
        plan.outs = self._sized(inputs)
        if plan.outs is None:
            return plan
        same = all(
            out.shape == shape and out.dtype == dtype for out, (shape, _, dtype) in zip(outs, plan.outs, strict=True)
        )
        if not same:
            # A call with `out=` of the user's: let PyTorch's own checks speak, then compute aside.
            with contextlib.suppress(Unsized), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ask_meta(operator(self.name), values, self.schema, self.device)
            for out, (_, _, dtype) in zip(outs, plan.outs, strict=True):
                if not torch.can_cast(dtype, out.dtype):
                    raise RuntimeError(f"result type {dtype} can't be cast to the desired output type {out.dtype}")
            plan.aside = True
        return plan

    def serve(self, plan: Plan, values: list[Any]) -> Any:
        inputs, outs = values[: -self._outs], values[-self._outs :]
        if plan.outs is not None and (plan.aside or _entangled(inputs, outs, self._pointwise)):
            made = self.fresh(plan, inputs)
            self.run(plan, inputs, made)
            for out, one in zip(outs, made, strict=True):
                if out.shape != one.shape:
                    _resize(out, one.shape)
                out.copy_(one)
        else:
            self.run(plan, inputs, outs)
        return outs[0] if len(outs) == 1 else tuple(outs)


class FunctionalForm(Form):
    """A functional overload, by the kernel of its `out=` form, on devices where PyTorch does not go there by itself."""

    def check(self, plan: Plan, values: Sequence[Any]) -> Plan | Unserved:
        plan.outs = self._sized(values)
        if plan.outs is None:
            return Unserved("PyTorch cannot say what size its results have; it needs its own kernel")
        return plan

    def serve(self, plan: Plan, values: list[Any]) -> Any:
        made = self.fresh(plan, values)
        self.run(plan, values, made)
        return made[0] if len(made) == 1 else tuple(made)


class CopiedForm(Form):
    """An `out=` overload, by the kernel of its functional form: the results are copied."""

    def check(self, plan: Plan, values: Sequence[Any]) -> Plan:
        _check_outs(self, values)
        with contextlib.suppress(Unsized), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ask_meta(operator(self.name), values, self.schema, self.device)
        return plan

    def serve(self, plan: Plan, values: list[Any]) -> Any:
        count = len(self.schema.outs)
        inputs, outs = values[:-count], values[-count:]
        made = plan.kernel(inputs)
        results = list(made) if isinstance(made, list | tuple) else [made]
        for out, one in zip(outs, results, strict=True):
            if not torch.can_cast(one.dtype, out.dtype):
                raise RuntimeError(f"result type {one.dtype} can't be cast to the desired output type {out.dtype}")
        for out, one in zip(outs, results, strict=True):
            if out.shape != one.shape:
                _resize(out, one.shape)
            out.copy_(one)
        return outs[0] if count == 1 else tuple(outs)


class InplaceForm(Form):
    """An in-place overload, by the kernel of its `out=` or of its functional form."""

    def __init__(
        self, name: str, kernel_name: str, choose: Choice, device: str, builtin: Any = None, missing: Any = None
    ) -> None:
        super().__init__(name, kernel_name, choose, device, builtin, missing)
        self._functional = kernel_name if not self.target.outs else functional_of(kernel_name)

    def check(self, plan: Plan, values: Sequence[Any]) -> Plan:
        plan.outs = self._sized(values)
        itself = values[0]
        if torch._debug_has_internal_overlap(itself) == 1:
            raise RuntimeError(
                f"unsupported operation: aten::{self.name} writes to a tensor of which more than one element refers to "
                "a single memory location; clone() it first"
            )
        with contextlib.suppress(Unsized):
            ask_meta(operator(self.name), values, self.schema, self.device)
        if plan.outs is not None:
            shape, _, dtype = plan.outs[0]
            if shape != itself.shape:
                raise RuntimeError(
                    f"output with shape {list(itself.shape)} doesn't match the broadcast shape {list(shape)}"
                )
            if not torch.can_cast(dtype, itself.dtype):
                raise RuntimeError(f"result type {dtype} can't be cast to the desired output type {itself.dtype}")
            plan.aside = dtype != itself.dtype
        return plan

    def serve(self, plan: Plan, values: list[Any]) -> Any:
        itself = values[0]
        if not self.target.outs:
            itself.copy_(plan.kernel(values))
        elif plan.outs is not None and (plan.aside or _entangled(values, [itself], self._pointwise)):
            made = self.fresh(plan, values)
            self.run(plan, values, made)
            itself.copy_(made[0])
        else:
            self.run(plan, values, [itself])
        return itself


def undeclared(kernel: Kernel, name: str) -> KernelFailed:
    """Return the error of a kernel that calls an operator which it does not declare."""
    return KernelFailed(
        f"aten::{kernel.entry.overload}: its kernel {kernel.library.file(kernel.entry)} calls aten::{name}, which it "
        "does not declare; add it with --calls, or compute it in the kernel"
    )


def _check_outs(form: Form, values: Sequence[Any]) -> None:
    """Refuse results given on another device, or whose elements share memory."""
    for out, parameter in zip(values[-len(form.schema.outs) :], form.schema.outs, strict=True):
        if out.device.type != form.device:
            raise RuntimeError(f"Expected {parameter.name} to be on {form.device}, but it is on {out.device}")
        if torch._debug_has_internal_overlap(out) == 1:
            raise RuntimeError(
                f"unsupported operation: more than one element of {parameter.name} of aten::{form.name} refers to "
                "a single memory location; clone() the tensor first"
            )


def _moved(value: Any, device: str) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(device)
    return [one.to(device) if isinstance(one, torch.Tensor) else one for one in value]


def _entangled(inputs: Sequence[Any], outs: Sequence[Any], pointwise: bool) -> bool:
    """Whether a kernel that writes to `outs` might read what it has written.

    Never for a pointwise operator whose result is exactly one of its inputs.
    """
    for tensor in tensors_in(inputs):
        for out in outs:
            if out is tensor and pointwise:
                continue
            if torch._C._is_alias_of(out, tensor):
                identical = (
                    out.data_ptr() == tensor.data_ptr()
                    and out.shape == tensor.shape
                    and out.stride() == tensor.stride()
                    and out.dtype == tensor.dtype
                )
                if not (identical and pointwise):
                    return True
    return False


def _resize(out: Any, shape: Any) -> None:
    if out.numel():
        warnings.warn(
            f"the tensor given as out= had shape {list(out.shape)} and was resized to {list(shape)}; PyTorch "
            "deprecates that for tensors with elements: give one of the right shape, or an empty one",
            UserWarning,
            stacklevel=2,
        )
    out.resize_(shape)
