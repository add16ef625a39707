"""One case and what is right for it: each comparison with the reference's answer that the judge makes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from bringup.accuracy import Limit, Limits
from bringup.judge import _codec, _compare
from bringup.judge._case_limits import limits_of, output_limits
from bringup.judge._nans import odd_nan
from bringup.judge._near import described
from bringup.judge._sharing import odd_memory
from bringup.judge._told import on_regions
from bringup.judge._written import overwritten, same_bits, written
from bringup.operators import Operator
from bringup.suites import CaseInputs
from bringup.verdict import Mismatch

SEALED = "aten"  # the suite whose calls are told as in sealed use
NamedTensors = list[tuple[str, torch.Tensor]]
Expected = Callable[[CaseInputs], tuple[Any, Any, Any]]
LimitsOf = Callable[[CaseInputs], Limits]


class Comparison:
    """The call of a case, and what its results and its arguments afterwards are to be."""

    def __init__(
        self, inputs: CaseInputs, operator: Operator, device: str, expected: Expected, limits: LimitsOf | None = None
    ) -> None:
        """Prepare the case; `expected` computes (output, args after, kwargs after) of the reference.

        `limits` says what the results may be; by default what the case's standard says.
        """
        self._limits_of = limits
        if list(inputs.kwargs) != sorted(inputs.kwargs):  # in the order in which a sealed wrapper is told them
            inputs = replace(inputs, kwargs=dict(sorted(inputs.kwargs.items())))
        if operator.suite == SEALED:
            args, named = on_regions(tuple(inputs.args), inputs.kwargs)
            inputs = replace(inputs, args=args, kwargs=named)
        self.inputs = inputs
        self.operator = operator
        self.device = device
        self.expected = expected
        self.args = tuple(inputs.args)
        self.kwargs = dict(inputs.kwargs)
        self.tensors = _compare.input_paths(self.args, self.kwargs)
        self.sent: list[dict[str, Any]] = []  # the tensors among the arguments, as a guest was told them

    @property
    def call(self) -> str:
        """The failing call as text."""
        return _compare.describe_call(self.args, self.kwargs)

    @property
    def seed(self) -> int | None:
        """The seed of a call of a random operator, which its guest is told a name for."""
        return int(self.kwargs["seed"]) if "random" in self.inputs.notes and "seed" in self.kwargs else None

    def answer(self) -> Any:
        """Return the reference's output."""
        return self.expected(self.inputs)[0]

    def reference(self) -> str:
        """Say what PyTorch does with the call; "" where the reference itself cannot say."""
        if self.inputs.raises:
            return f"raises {self.inputs.raises}"
        try:
            return f"returns {described(self.answer())}"
        except Exception:  # whatever the reference raises on inputs that a guard has made
            return ""

    @functools.cached_property
    def limits(self) -> Limits:
        """What each result of the call may be."""
        if self._limits_of is not None:
            return self._limits_of(self.inputs)
        return limits_of(self.inputs, self.expected(self.inputs))

    def _output_limits(self, expected: Any) -> dict[str, Limit]:
        return output_limits(self.inputs, self.limits, expected)

    def _differs(self, expected: Any, actual: Any) -> Mismatch | None:
        inputs = self.inputs
        return _compare.compare(expected, actual, inputs.rtol, inputs.atol, limits=self._output_limits(expected))

    def _differs_after(self, number: int, one: torch.Tensor, other: torch.Tensor, path: str) -> Mismatch | None:
        """What is wrong with an argument after the call, where `one` is the reference's."""
        limit = self.limits.after[number] if self.limits.after else None
        limits = {path: limit} if limit is not None else None
        return _compare.compare(one, other, self.inputs.rtol, self.inputs.atol, path, limits)

    def same_answer(self, other: Comparison) -> bool:
        """Whether the answer to another case would be right for this one."""
        return self._differs(self.answer(), other.answer()) is None

    def agrees(self, other: Comparison) -> bool:
        """Whether the reference answers another call as this one, arguments afterwards included, and as is right here.

        Compared is as a candidate's answer would be. PyTorch's own kernels may differ by how arguments lie in memory.
        """
        own, theirs = self.expected(self.inputs), other.expected(other.inputs)
        post = self.inputs.postprocess or (lambda value: value)
        if any(self._differs(post(own[0]), post(answer[0])) is not None for answer in (own, theirs)):
            return False
        after, others = _compare.input_paths(*own[1:]), _compare.input_paths(*theirs[1:])
        return len(after) == len(others) and not any(
            self._differs_after(number, one, tensor, path)
            for number, ((path, one), (_, tensor)) in enumerate(zip(after, others, strict=True))
        )

    def same_bits(self, other: Comparison) -> bool:
        """Whether the reference gives both calls the same results bit for bit, and leaves what it writes the same."""
        own, theirs = self.expected(self.inputs), other.expected(other.inputs)
        outputs = [_codec.tensors_of(answer, "") for answer in (own[0], theirs[0])]
        if len(outputs[0]) != len(outputs[1]) or not all(
            same_bits(one, two) for (_, one), (_, two) in zip(*outputs, strict=True)
        ):
            return False
        after, others = _compare.input_paths(*own[1:]), _compare.input_paths(*theirs[1:])
        return all(
            same_bits(old, two) or same_bits(one, two)
            for (_, old), (_, one), (_, two) in zip(other.tensors, after, others, strict=True)
        )

    def accepts(self, tensors: NamedTensors) -> bool:
        """Whether these tensors, in order, would be the right answer."""
        wanted = _codec.tensors_of(self.answer(), "output")
        limits, inputs = self._output_limits(self.answer()), self.inputs
        return len(wanted) == len(tensors) and not any(
            _compare.compare_tensors(one, other, inputs.rtol, inputs.atol, path, limits.get(path))
            for (path, one), (_, other) in zip(wanted, tensors, strict=True)
        )

    def trivial(self) -> bool:
        """Whether the answer needs no computing: every output is empty, one constant or one of the inputs."""
        expected, args, kwargs = self.expected(self.inputs)
        outputs = [t for _, t in _codec.tensors_of(expected, "output")]
        after = _compare.input_paths(args, kwargs)
        outputs += [new for (_, old), (_, new) in zip(self.tensors, after, strict=True) if not same_bits(old, new)]
        return all(self._is_trivial(tensor) for tensor in outputs)

    def _is_trivial(self, output: torch.Tensor) -> bool:
        if not output.numel():
            return True
        flat = output.detach().reshape(-1)
        if torch.equal(flat, flat[:1].expand_as(flat)) or bool(torch.isnan(flat).all()):
            return True
        return any(_is_copy(output, tensor) for _, tensor in self.tensors)

    def mismatch(self, actual: Any, args: Any, kwargs: Any) -> Mismatch | None:
        """What differs from PyTorch's in a result, and in the arguments after the call: host tensors all of them.

        What shares memory in the call shares it here.
        """
        kwargs = dict(sorted(kwargs.items()))
        expected, ref_args, ref_kwargs = self.expected(self.inputs)
        after, wanted = _compare.input_paths(args, kwargs), _compare.input_paths(ref_args, ref_kwargs)
        outputs, returned = (_codec.tensors_of(one, "output") for one in (expected, actual))
        # A library makes of a result what PyTorch makes of it: another tensor on the memory of `out`, or a copy of it.
        found = self._mutation(after, wanted) or self._aliasing(outputs, returned, after, wanted, views=False)
        found = found or untrue([*returned, *after], wanted)
        found = found or self._marked([*returned, *after], [expected, ref_args, ref_kwargs])
        return found or self._result_differs(expected, actual)

    def _marked(self, given: NamedTensors, expected: Any) -> Mismatch | None:
        """A NaN with bits of its own: neither the usual ones, nor PyTorch's, nor those of a NaN among the arguments."""
        silicon = self.device.partition(":")[0] != "vpe"
        for path, tensor in given:
            odd = odd_nan(tensor, (t for _, t in (*self.tensors, *_codec.tensors_of(expected, ""))), silicon)
            if odd is not None:
                text = f"a NaN with the bits {odd:x} (hexadecimal), neither the usual ones nor an argument's"
                return Mismatch(aspect="values", output=path, message=text)
        return None

    def _result_differs(self, expected: Any, actual: Any) -> Mismatch | None:
        if self.inputs.postprocess is not None:
            # Shapes and dtypes are compared before anything of the suite touches the candidate's output.
            structural = _compare.compare(expected, actual, rtol=float("inf"), atol=float("inf"))
            if structural is not None and structural.aspect != "values":
                return structural
            expected, actual = self.inputs.postprocess(expected), self.inputs.postprocess(actual)
        return self._differs(expected, actual)

    def _mutation(self, after: NamedTensors, wanted: NamedTensors) -> Mismatch | None:
        """Inputs must be what the reference leaves: bit for bit where it does not write, in tolerance where it does.

        Where it wrote the bits that were there, it is asked again with other values (`_written`).
        """
        if len(after) != len(self.tensors):
            return Mismatch(aspect="mutation", output="arguments after the call", message="a container was changed")
        for number, ((path, old), (_, new), (_, reference)) in enumerate(zip(self.tensors, after, wanted, strict=True)):
            where = f"{path} after the call"
            if self.inputs.postprocess is not None and self._returned(reference):
                found = None  # compared as an output: functions of it
            elif not same_bits(old, reference) or (
                not same_bits(old, new) and self._may_write and written(self.inputs, number)
            ):
                found = self._differs_after(number, reference, new, where)
            elif same_bits(old, new):
                found = None
            else:
                found = Mismatch(
                    aspect="mutation",
                    output=where,
                    message="the input was changed; the operator must leave it as it was",
                    expected=_compare.summarise(old),
                    actual=_compare.summarise(new),
                )
            if found is not None:
                return found
        return None

    def _moved(self, after: Any, wanted: NamedTensors) -> Mismatch | None:
        """Arguments lie where they lay: who holds a view of one must see what was written to it.

        What the reference gives another shape (`out=` that is too small, `resize_`) may have moved.
        """
        now = _codec.descriptions(after)
        for (path, old), (_, reference), before, then in zip(self.tensors, wanted, self.sent, now, strict=True):
            if old.shape == reference.shape and old.stride() == reference.stride() and before != then:
                return Mismatch(
                    aspect="mutation",
                    output=f"{path} after the call",
                    message="the argument has other memory or strides than before; write into its own memory",
                )
        return None

    def _aliasing(
        self, expected: NamedTensors, actual: NamedTensors, after: NamedTensors, ref_after: NamedTensors, *,
        views: bool = True,
    ) -> Mismatch | None:  # fmt: skip
        """Outputs share memory with the inputs that the reference's share it with, and with no others.

        `views`: they must share it where the operator promises that.
        """
        wanted, got = _compare.aliases(expected, ref_after), _compare.aliases(actual, after)
        for path, source in got.items():
            if path not in wanted:
                message = f"the output shares memory with {source}; the operator must return a tensor of its own"
                return Mismatch(aspect="aliasing", output=path, message=message)
        # Without such a declaration (`contiguous`, say) returning the input is an optimisation, not a promise.
        if self.operator.views and views:
            for path, source in wanted.items():
                if path not in got:
                    message = f"the output must be a view of {source} (or the same tensor); it has memory of its own"
                    return Mismatch(aspect="aliasing", output=path, message=message)
        return odd_memory(expected, actual, got)

    @property
    def _may_write(self) -> bool:
        """Whether the call is there to write into an argument."""
        return self.operator.mutates or bool(self.inputs.requires)

    def is_out(self, number: int) -> bool:
        """Whether a tensor of the arguments, or of a tuple among them, is there for the result, by its name."""
        return self._name_of(number) in {"out", *self.operator.writes}

    @property
    def outs(self) -> list[int]:
        """Numbers of the tensors that are there for the results, in the order of these; names stand in another one."""
        writes = self.operator.writes
        found = [number for number in range(len(self.tensors)) if self.is_out(number)]
        names = {number: self._name_of(number) for number in found}
        return sorted(found, key=lambda number: writes.index(names[number]) if names[number] in writes else 0)

    def must_write(self, number: int) -> bool:
        """Whether a right call writes every element of a tensor among the arguments: an `out` that holds no data."""
        outs = [id(tensor) for name in self._results for _, tensor in _codec.tensors_of(self.kwargs.get(name), name)]
        if id(self.tensors[number][1]) not in outs:
            return False
        _, args, kwargs = self.expected(self.inputs)
        reference = _compare.input_paths(args, kwargs)[number][1]
        return overwritten(self.inputs, number, reference)

    def _returned(self, argument: torch.Tensor) -> bool:
        """Whether the reference returns an argument itself (`out=`)."""
        return any(tensor is argument for _, tensor in _codec.tensors_of(self.expected(self.inputs)[0], "output"))

    def _name_of(self, number: int) -> str:
        """The name of the keyword argument that a tensor is, or is in; a place in the call for others."""
        return self.tensors[number][0].split()[-1].partition("[")[0]

    @property
    def _results(self) -> set[str]:
        """The names of the arguments that the call is there to write."""
        return {*self.operator.writes, *([self.inputs.requires] if self.inputs.requires else [])}


def untrue(given: NamedTensors, wanted: NamedTensors) -> Mismatch | None:
    """A truth value that is neither 0 nor 1, if no argument has such: what reads it as a byte would see that."""

    def largest(tensors: NamedTensors) -> list[tuple[str, int]]:
        truths = [(path, tensor) for path, tensor in tensors if tensor.dtype is torch.bool and tensor.numel()]
        return [(path, int(tensor.detach().view(torch.uint8).max())) for path, tensor in truths]

    odd = [(path, most) for path, most in largest(given) if most > 1]
    if not odd or any(most > 1 for _, most in largest(wanted)):
        return None
    path, most = odd[0]
    return Mismatch(aspect="values", output=path, message=f"a truth value is {most}, neither 0 nor 1")


def _is_copy(output: torch.Tensor, tensor: torch.Tensor) -> bool:
    """Whether `output` holds the values of `tensor`, reshaped, broadcast or converted."""
    if not tensor.numel():
        return False
    values = tensor.detach()
    try:
        if values.numel() == output.numel():
            values = values.reshape(output.shape)
        values = values.expand(output.shape).to(output.dtype)
    except RuntimeError:
        return False
    return torch.equal(values, output) or (
        output.is_floating_point() and bool(torch.allclose(values, output, rtol=0, atol=0, equal_nan=True))
    )
