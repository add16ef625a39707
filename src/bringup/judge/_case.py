"""Decide one case: what is sent to the guest, and what its reply and the device's account mean."""

from __future__ import annotations

import contextlib
import functools
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from bringup.accuracy import COMPLETE, FLOATS, Arithmetic, Limit, Limits
from bringup.device.checks import repeats
from bringup.device.reach import fills, reaches_beyond
from bringup.device.seeds import SEED
from bringup.device.wire import MOST_DIMENSIONS
from bringup.judge import _codec, _compare
from bringup.judge._compile_log import headline
from bringup.judge._moves import rearranges
from bringup.judge._nans import odd_nan
from bringup.judge._near import described, with_inputs
from bringup.judge._outcome import Outcome, cheated, raised_line
from bringup.judge._provenance import provenance
from bringup.judge._reply import check_sizes
from bringup.judge._written import overwritten, same_bits, written
from bringup.judge.readings import Readings
from bringup.operators import Operator
from bringup.suites import CaseInputs
from bringup.targets import Target
from bringup.verdict import CaseId, Mismatch

# What the host may make for a call, in bytes; docs/decisions/0028-the-wall.md says why.
HOST_BASE, HOST_PER_NUMBER, HOST_WITH_TENSORS = 512, 64, 1 << 12
UPLOADED_PER_NUMBER = 8
SPARE_OUTPUTS = 256  # tensors of an answer beyond those that are asked for: more are not looked at
ERROR_LINE = re.compile(r"[\w.]+(Error|Fault|Exception): ")
GUARDED_ASPECTS = ("mutation", "aliasing")
NamedTensors = list[tuple[str, torch.Tensor]]
Expected = Callable[[CaseInputs], tuple[Any, Any, Any]]
LimitsOf = Callable[[CaseInputs], Limits]
# Exceptions that refuse a call, whatever PyTorch raises for it. Others happen by accident (a division by zero, an index
# out of range, a missing name): they count only where PyTorch raises the same, an IndexError also where a `raise` of
# the candidate's gave it.
DELIBERATE = re.compile(r"^[ \t]+raise\b[^\n]*\n(?:[ ~^]*\n)?IndexError\b", re.MULTILINE)
REFUSALS = ("RuntimeError", "ValueError", "TypeError", "NotImplementedError")


@dataclass(frozen=True)
class Asked:
    """What one call asked of the device."""

    account: dict[str, Any] = field(default_factory=dict)
    """As `bringup.device.account.Account` has it."""
    counters: tuple[dict[str, Any], ...] = ()
    """The target's, of each launch, where they were asked for."""
    bases: tuple[int, ...] = ()
    """Addresses of the arguments' storages."""
    transcript: tuple[str, ...] = ()
    """All of it as text, line by line, and what was returned: `bringup.device.transcript`."""
    alternatives: int = 1
    """Of the launch that has most, as the device counts them."""
    answers: tuple[str, ...] | None = ()
    """What reads were answered with, in hexadecimal digits; None where that is too much to keep."""


ROOM_TIMES, ROOM_BYTES = 2, 1 << 16  # of what a result needs: what its memory may be larger by


class CaseJudge:
    """One case of one operator for a target's device."""

    def __init__(
        self, inputs: CaseInputs, operator: Operator, device: str, expected: Expected, guards: frozenset[str],
        copies_count: bool = True, limits: LimitsOf | None = None,
    ) -> None:  # fmt: skip
        """Prepare the case; `expected` computes (output, args after, kwargs after) of the reference.

        `copies_count`: whether copies alone may make a result, as the operator or the target says. `limits` says what
        the results may be; by default what the case's standard says.
        """
        self._limits_of = limits
        self.copies_count = copies_count
        self.guards = guards
        self.in_order = False  # whether moving elements is the operator: then copies and views may not
        self.readings = Readings()  # of all calls of the candidate, where somebody says so
        self.launches = 0  # in the call that passed
        self.asked = Asked()  # in the same
        self.reply: dict[str, Any] = {}  # the guest's, in the same
        self.tensors_returned: NamedTensors = []  # by the latest call, on the host
        self.tensors_after: NamedTensors = []  # the arguments after it
        self.storages = 0  # of the inputs, which come first in every answer
        self._sizes: list[int] = []  # bytes of each
        self.sent: list[dict[str, Any]] = []  # the tensors among the arguments, as they were described
        if list(inputs.kwargs) != sorted(inputs.kwargs):  # in the order in which a sealed wrapper is told them
            inputs = replace(inputs, kwargs=dict(sorted(inputs.kwargs.items())))
        self.inputs = inputs
        self.operator = operator
        self.device = device
        self.expected = expected
        self.args = tuple(inputs.args)
        self.kwargs = dict(inputs.kwargs)
        self.tensors = _compare.input_paths(self.args, self.kwargs)

    @property
    def call(self) -> str:
        """The failing call as text."""
        return _compare.describe_call(self.args, self.kwargs)

    def request(self) -> tuple[dict[str, Any], list[memoryview]]:
        """Return the guest's request, which lacks the addresses of the inputs, and the bytes of the input storages."""
        storages = _codec.Storages()
        named = self.kwargs if self.seed is None else {**self.kwargs, "seed": SEED}  # which keeps its place
        request = {
            "args": _codec.encode(self.args, storages),
            "kwargs": _codec.encode(named, storages),
            "sizes": storages.sizes(),
        }
        self.storages, self._sizes = len(storages.items), request["sizes"]
        self.sent = _codec.descriptions([request["args"], request["kwargs"]])
        return request, storages.payloads()

    @property
    def seed(self) -> int | None:
        """The seed of a call of a random operator, which its guest is told a name for."""
        return int(self.kwargs["seed"]) if "random" in self.inputs.notes and "seed" in self.kwargs else None

    def host_allowance(self) -> int:
        """Bytes that the host may make for this call: see `guards.rules.HostBytes`."""
        more = self._has_data() or self.seed is not None  # of which the host knows nothing
        return HOST_BASE + HOST_PER_NUMBER * self._numbers() + (HOST_WITH_TENSORS if more else 0)

    def _has_data(self) -> bool:
        """Whether some tensor may be read: what a right call writes as a whole gives nothing to compute with."""
        return bool(self.tensors) and (self.readable is None or bool(self.readable))

    def upload_allowance(self) -> int:
        """Of these, bytes that it may upload: as many as a table of the call's numbers and tensors has."""
        return UPLOADED_PER_NUMBER * (self._numbers() + len(self.tensors))

    def _numbers(self) -> int:
        """How many numbers the call has; a tensor has its sizes, strides and offset."""
        numbers: int = numbers_of([self.args, self.kwargs]) + sum(2 * t.dim() + 1 for _, t in self.tensors)
        return numbers

    def placed(self) -> list[list[Any]]:
        """The tensors among the arguments for the device process: storage, offset, sizes, strides, bytes an element.

        They are known once `request` has been called.
        """
        return [[d["t"], d["offset"], d["shape"], d["stride"], getattr(torch, d["dtype"]).itemsize] for d in self.sent]

    @functools.cached_property
    def readable(self) -> list[list[Any]] | None:
        """Those of `placed` that the operator may read; None where it reaches all of their storages.

        Not an `out=` that a right call writes as a whole, nor what is to be filled: what it held is nobody's input,
        unless it is an operand too, which stands there by itself.
        """
        if reaches_beyond(self.operator.name):
            return None
        if self.inputs.raises:
            return self.placed()
        return [
            one for number, one in enumerate(self.placed())
            if not (number == 0 and fills(self.operator.name))
            and (self._name_of(number) not in self._results or not self.must_write(number))
        ]  # fmt: skip

    @functools.cached_property
    def writable(self) -> list[list[Any]] | None:
        """Those of `placed` whose elements the operator may write; None where that cannot be said.

        It cannot of a call that PyTorch refuses. Of an argument that gets other sizes it is all of its storage: it may
        grow into what lies between its elements, as PyTorch's own does. Where neither a name nor the operator says it,
        a flag (`inplace=True`) can ask for it: then PyTorch returns the argument, or changes it.
        """
        unknown: list[list[Any]] | None = None if self._may_write else []
        if self.inputs.raises or reaches_beyond(self.operator.name):
            return unknown
        with contextlib.suppress(Exception):  # whatever the reference raises on inputs that a guard has made
            _, args, kwargs = self.expected(self.inputs)
            after = _compare.input_paths(args, kwargs)
            found: list[list[Any]] = []
            for number, (one, (_, old), (_, new)) in enumerate(zip(self.placed(), self.tensors, after, strict=True)):
                if old.shape != new.shape or old.stride() != new.stride():
                    found.append([one[0], 0, [self._sizes[one[0]]], [1], 1])
                elif self._is_written(number, old, new):
                    found.append(one)
            return found
        return unknown

    def _is_written(self, number: int, old: torch.Tensor, new: torch.Tensor) -> bool:
        """Whether a tensor among the arguments is there to be written; `old` and `new`: before and after PyTorch."""
        results = self._results
        if results and all(_codec.tensors_of(self.kwargs.get(name), name) for name in results):
            return self._name_of(number) in results
        return self.operator.mutates or self._returned(new) or not same_bits(old, new)

    def _name_of(self, number: int) -> str:
        """The name of the keyword argument that a tensor is, or is in; a place in the call for others."""
        return self.tensors[number][0].split()[-1].partition("[")[0]

    @property
    def _results(self) -> set[str]:
        """The names of the arguments that the call is there to write."""
        return {*self.operator.writes, *([self.inputs.requires] if self.inputs.requires else [])}

    @functools.cached_property
    def result_sizes(self) -> list[list[int]]:
        """Sizes of the right results; none where the reference refuses, which the comparison then says."""
        if self.inputs.raises:
            return []
        with contextlib.suppress(Exception):
            return [list(tensor.shape) for _, tensor in _codec.tensors_of(self.answer(), "output")]
        return []

    @functools.cached_property
    def rearranges(self) -> bool:
        """Whether this call only moves elements, whatever the operator does in others.

        Also where it has none: what a factory makes, kernels make, and to move that would be to choose among more.
        """
        outs = [name for name in self.operator.writes if name in self.inputs.kwargs]
        if self.inputs.raises or (self.operator.mutates and not outs):
            return False
        if self.operator.indexed and len(self.tensors) > 1:
            return False  # where an index happens to say what sizes say, only kernels know
        if self.inputs.standard is not None and self.inputs.standard.rule.degree:
            return False  # a polynomial of any degree, and other values may be of one that takes hours
        if all(self._name_of(number) in outs for number in range(len(self.tensors))):
            return True
        return rearranges(self.inputs, [tensor for _, tensor in _codec.tensors_of(self.answer(), "output")], outs)

    def least_bytes(self) -> int:
        """Bytes of the call's arguments and results: what must be moved at least."""
        known = [tensor for _, tensor in self.tensors]
        if not self.inputs.raises:
            known += [tensor for _, tensor in _codec.tensors_of(self.answer(), "output")]
        return sum(tensor.numel() * tensor.element_size() for tensor in known)

    def outputs(self, reply: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the tensors whose writers count, as the device process takes them: results, then all arguments.

        Raises ValueError for an answer that makes no sense.
        """
        found = _codec.descriptions([reply.get("result"), reply.get("after")])
        wanted = len(self.result_sizes)
        if len(found) > wanted + len(self.tensors) + SPARE_OUTPUTS:
            raise ValueError(f"{len(found)} tensors, where {wanted} results were asked for")
        described = [_output(d) for d in found]
        right = sum(map(math.prod, self.result_sizes)) + sum(tensor.numel() for _, tensor in self.tensors)
        held = {t.untyped_storage()._cdata: t.untyped_storage().nbytes() for _, t in self.tensors}
        check_sizes(
            [one["size"] for one in described],
            right,
            reply.get("storages", []),
            self.least_bytes() + sum(held.values()),
        )
        return described

    def decide(self, reply: dict[str, Any], device: dict[str, Any], data: memoryview, output: str) -> Outcome:
        """Turn the guest's reply, and what the device process says of the call, into an outcome."""
        launches = int(device["account"]["launches"])
        self.tensors_returned = []
        stopped = device["error"] or {}
        if stopped.get("kind") == "rule":
            broken = cheated(stopped["rule"], stopped["text"], stopped.get("line", 0), launches)
            return replace(broken, exception=str(reply.get("error") or ""))
        if stopped.get("kind") == "fault":
            text = _with_line(stopped)
            return Outcome("crashed", _headline(text), log=stopped["dump"] or text, exception=text, launches=launches)
        if stopped.get("kind") == "time":
            return Outcome("timed_out", _headline(_with_line(stopped)), log=stopped["dump"], launches=launches)
        if stopped:
            reply = {"error": _with_line(stopped)}
        if "error" in reply:
            return self._raised(reply, output, launches, refused=stopped.get("kind") != "memory")
        if self.inputs.raises:
            return self._wrong("refusal", f"PyTorch raises {self.inputs.raises}; the wrapper returned", launches)
        if "unencodable" in reply:
            outcome = self._wrong("structure", f"the wrapper returned {reply['unencodable']}", launches)
            return replace(outcome, guard="outputs" if reply.get("odd") else "")
        if "outputs" in self.guards and (odd := self._odd_outputs(reply)):
            return replace(self._wrong("device", odd, launches), guard="outputs")
        if device["wrong"]:
            return cheated("stream", f"the wrapper's result names {device['wrong']}", 0, launches)
        try:
            storages, masks = _split(device, data)
            mismatch = self._compare(reply, storages)
            if mismatch is None and "provenance" in self.guards:
                found = provenance(self, reply, device["writers"], masks)
                if found is not None:
                    return replace(found, launches=launches)
        except (ArithmeticError, ValueError, LookupError, TypeError, AttributeError, RuntimeError) as error:
            return Outcome("crashed", f"the guest's answer makes no sense: {error}", launches=launches)
        if mismatch is None and "reads" in self.guards and (odd := self._misread(device)):
            return cheated("reads", odd, 0, launches)
        if mismatch is None:
            return Outcome("passed", "", launches=launches)
        if self.inputs.postprocess is None:
            mismatch = with_inputs(mismatch, self.tensors)
        summary = f"{mismatch.output}: {mismatch.message}"
        guard = mismatch.aspect if mismatch.aspect in GUARDED_ASPECTS else ""
        return Outcome("wrong", summary, mismatch=mismatch, launches=launches, log=output, guard=guard)

    def _raised(self, reply: dict[str, Any], output: str, launches: int, refused: bool) -> Outcome:
        """The wrapper raised, or a launch did later."""
        text = str(reply["error"])
        if reply.get("compile_log"):
            log, kernel = str(reply["compile_log"]), str(reply.get("kernel", ""))
            summary = f"kernel {kernel} does not compile: {headline(log)[:300]}"
            return Outcome("compile", summary, log=log, kernel=kernel, compiled_for=self.device, launches=launches)
        if self.inputs.raises and refused:
            wanted, raised = self.inputs.raises.partition(":")[0], str(reply.get("raised") or "")
            raised_as = {raised, str(reply.get("family") or raised)}
            if raised_as & {wanted, *REFUSALS} or ("IndexError" in raised_as and DELIBERATE.search(text)):
                return Outcome("passed", "", launches=launches)
            text = (
                f"{raised} is no refusal: PyTorch raises {self.inputs.raises}; check the arguments and raise {wanted}"
            )
            return Outcome("raised", text[:500], exception=str(reply["error"]), log=output, launches=launches)
        return Outcome("raised", raised_line(text), exception=text, log=output, launches=launches)

    def _misread(self, device: dict[str, Any]) -> str:
        """Say what was read that is neither a size of the results nor the one flag; "" for nothing."""
        if self.operator.reads.inputs or not device["answers"]:
            return ""
        data = [bytes.fromhex(one) for one in device["answers"]]
        readings = list(zip(device["read_as"], data, strict=True))
        arguments, truth = [self.args, self.kwargs], isinstance(self.answer(), bool)
        return self.readings.misread(readings, self.result_sizes, arguments, truth=truth)

    def _odd_outputs(self, reply: dict[str, Any]) -> str:
        """Say what of the outputs is no plain tensor of the device."""
        others = [str(d) for d in reply.get("devices", []) if d != self.device.partition(":")[0]]
        return f"an output is on the device {others[0]}; {self.device} was expected" if others else ""

    def recheck(self, storages: list[memoryview]) -> Mismatch | None:
        """Compare other contents of the storages that the guest's answer named: what a later run left in them."""
        return self._compare(self.reply, [_codec.storage_from(data) for data in storages])

    # What guards ask ---------------------------------------------------------------------------------------------

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

    def same_answer(self, other: CaseJudge) -> bool:
        """Whether the answer to another case would be right for this one."""
        return self._differs(self.answer(), other.answer()) is None

    def agrees(self, other: CaseJudge) -> bool:
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

    def same_bits(self, other: CaseJudge) -> bool:
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

    def _differs_after(self, number: int, one: torch.Tensor, other: torch.Tensor, path: str) -> Mismatch | None:
        """What is wrong with an argument after the call, where `one` is the reference's."""
        limit = self.limits.after[number] if self.limits.after else None
        limits = {path: limit} if limit is not None else None
        return _compare.compare(one, other, self.inputs.rtol, self.inputs.atol, path, limits)

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

    def wrong(self, message: str) -> Outcome:
        """Return the outcome of a result whose bytes nobody has written."""
        return replace(self._wrong("values", message, 0), guard="provenance")

    def _wrong(self, aspect: Any, message: str, launches: int) -> Outcome:
        mismatch = Mismatch(aspect=aspect, output="output", message=message)
        return Outcome("wrong", message, mismatch=mismatch, launches=launches)

    def _compare(self, reply: dict[str, Any], storages: list[Any]) -> Mismatch | None:
        # Device arguments come back as the target's, which this process need not know.
        actual = _codec.decode(reply["result"], lambda d: _codec.tensor_on(storages, d), "cpu")
        after = _codec.decode(reply["after"], lambda d: _codec.tensor_on(storages, d), "cpu")
        if any(described.get("requires_grad") for described in _codec.descriptions(reply["result"])):
            message = "an output has requires_grad=True; PyTorch's has False"
            return Mismatch(aspect="structure", output="output", message=message)
        expected, ref_args, ref_kwargs = self.expected(self.inputs)
        inputs_after = _compare.input_paths(tuple(after[0]), after[1])
        wanted_after = _compare.input_paths(ref_args, ref_kwargs)
        self.tensors_returned = _codec.tensors_of(actual, "output")
        self.tensors_after = inputs_after
        found = None
        if "mutation" in self.guards:
            found = self._mutation(inputs_after, wanted_after) or self._moved(reply["after"], wanted_after)
        if found is None and "aliasing" in self.guards:
            wanted = _codec.tensors_of(expected, "output")
            found = self._aliasing(wanted, self.tensors_returned, inputs_after, wanted_after)
        found = found or _untrue([*self.tensors_returned, *inputs_after], wanted_after)
        found = found or self._marked([*self.tensors_returned, *inputs_after], [expected, ref_args, ref_kwargs])
        return found or self._result_differs(expected, actual)

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
        found = found or _untrue([*returned, *after], wanted)
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

    @property
    def _may_write(self) -> bool:
        """Whether the call is there to write into an argument."""
        return self.operator.mutates or bool(self.inputs.requires)

    def is_out(self, number: int) -> bool:
        """Whether a tensor of the arguments, or of a tuple among them, is there for the result, by its name."""
        return self._name_of(number) in {"out", *self.operator.writes}

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
        return _shared_outputs(expected, actual) or _overlapping(expected, actual) or _roomy(expected, actual, got)


def _roomy(expected: NamedTensors, actual: NamedTensors, shared: Mapping[str, str]) -> Mismatch | None:
    """A fresh result keeps what it needs, or twice as much: its memory lives as long as it does."""
    needs: dict[int, int] = {}
    for path, tensor in actual:
        if path not in shared:
            storage = tensor.untyped_storage()._cdata
            needs[storage] = needs.get(storage, 0) + tensor.numel() * tensor.element_size()
    for (path, tensor), (_, right) in zip(actual, expected, strict=False):
        kept = tensor.untyped_storage().nbytes()
        most = ROOM_TIMES * max(needs.get(tensor.untyped_storage()._cdata, 0), right.untyped_storage().nbytes())
        if path not in shared and kept > most + ROOM_BYTES:
            message = (
                f"the output keeps {kept} bytes of memory for {tensor.numel() * tensor.element_size()}; "
                "return a tensor that is as large as the result, and leave temporary memory behind"
            )
            return Mismatch(aspect="aliasing", output=path, message=message)
    return None


def tape_name(case: CaseId) -> str:
    """The name of the file that holds the tape of a case."""
    return f"{case.operator}-{case.dtype}-{case.index}".replace("/", "%2F") + ".tape"


def arithmetic_of(target: Target) -> Arithmetic:
    """Return what a target's arithmetic has; kernels of a chip whose dialect knows no `tl.float64` have no doubles."""
    return Arithmetic(subnormals=target.subnormals, doubles="tl.float64" in target.dialect().tl_constants)


def _untrue(given: NamedTensors, wanted: NamedTensors) -> Mismatch | None:
    """A truth value that is neither 0 nor 1, if no argument has such: what reads it as a byte would see that."""

    def largest(tensors: NamedTensors) -> list[tuple[str, int]]:
        truths = [(path, tensor) for path, tensor in tensors if tensor.dtype is torch.bool and tensor.numel()]
        return [(path, int(tensor.detach().view(torch.uint8).max())) for path, tensor in truths]

    odd = [(path, most) for path, most in largest(given) if most > 1]
    if not odd or any(most > 1 for _, most in largest(wanted)):
        return None
    path, most = odd[0]
    return Mismatch(aspect="values", output=path, message=f"a truth value is {most}, neither 0 nor 1")


def limits_of(inputs: CaseInputs, expected: tuple[Any, Any, Any], arithmetic: Arithmetic = COMPLETE) -> Limits:
    """Return what the results of a case may be; `expected` as `Expected` returns it."""
    output, args, kwargs = expected
    if inputs.standard is None:
        return Limits([None] * len(_codec.tensors_of(output, "output")), (), "the suite knows no class of the operator")
    return inputs.standard.limits(inputs.args, inputs.kwargs, output, (args, kwargs), arithmetic=arithmetic)


def output_limits(inputs: CaseInputs, limits: Limits, expected: Any) -> dict[str, Limit]:
    """Return the limits of outputs by path; `expected` is what is compared: the outputs, or functions of them."""
    found = _codec.tensors_of(expected, "output")
    if inputs.postprocess is not None and not limits.functions:
        # Exact operators stay exact: what is compared are elements, and what indices name.
        same = next((limit for limit in limits.outputs if limit is not None and limit.exact is None), None)
        return {path: same for path, tensor in found if same is not None and tensor.dtype in FLOATS}
    return {path: limit for (path, _), limit in zip(found, limits.outputs, strict=True) if limit is not None}


def _with_line(stopped: dict[str, Any]) -> str:
    line = stopped.get("line")
    return f"{stopped['text']}{f' (launched at candidate.py:{line})' if line else ''}"


def _split(device: dict[str, Any], data: memoryview) -> tuple[list[Any], list[memoryview]]:
    """The storages of an answer, and the masks of its outputs."""
    storages, masks = [], []
    for size in device["sizes"]:
        storages.append(_codec.storage_from(data[:size]))
        data = data[size:]
    for size in device["masks"]:
        masks.append(data[:size])
        data = data[size:]
    return storages, masks


def _output(described: dict[str, Any]) -> dict[str, Any]:
    numbers = [described["t"], described["offset"], *described["shape"], *described["stride"]]
    if len(described["shape"]) > MOST_DIMENSIONS or len(described["shape"]) != len(described["stride"]):
        raise ValueError("a tensor with too many dimensions, or other strides than sizes")
    if any(type(n) is not int or not 0 <= n < 1 << 62 for n in numbers):
        raise ValueError("a tensor with odd sizes")
    dtype = getattr(torch, str(described["dtype"]), None)
    if not isinstance(dtype, torch.dtype):
        raise ValueError(f"a tensor of {str(described['dtype'])[:40]!r}, which is no dtype")
    return {
        "storage": described["t"], "offset": described["offset"], "size": described["shape"],
        "stride": described["stride"], "width": dtype.itemsize,
    }  # fmt: skip


def numbers_of(value: Any) -> int:
    """How many numbers a tree of arguments holds, outside of tensors."""
    if isinstance(value, list | tuple):
        return sum(map(numbers_of, value))
    if isinstance(value, dict):
        return sum(map(numbers_of, value.values()))
    return int(isinstance(value, int | float | complex))


def _headline(text: str) -> str:
    """Return the line of a traceback that names the error; what follows it is detail."""
    lines = [line for line in text.strip().splitlines() if line[:1].strip()] or [""]
    named = [line for line in lines if ERROR_LINE.match(line)]
    return (named or lines)[-1][:300]


def _shared_outputs(expected: NamedTensors, actual: NamedTensors) -> Mismatch | None:
    """Outputs share memory with each other only where the reference's do."""
    wanted, owner = _sharing(expected), _sharing(actual)
    for path, first in owner.items():
        if first != path and wanted.get(path) != wanted.get(first):
            message = f"the output shares memory with {first}; each must have memory of its own"
            return Mismatch(aspect="aliasing", output=path, message=message)
    return None


def _overlapping(expected: NamedTensors, actual: NamedTensors) -> Mismatch | None:
    """Elements of an output have memory of their own, unless the reference's overlap too."""
    for (_, reference), (path, tensor) in zip(expected, actual, strict=False):
        if _overlaps(tensor) and not _overlaps(reference):
            text = f"elements of the output share memory (strides {tuple(tensor.stride())})"
            return Mismatch(aspect="aliasing", output=path, message=f"{text}; each must have memory of its own")
    return None


def _overlaps(tensor: torch.Tensor) -> bool:
    """Whether two elements of a tensor have the same address."""
    if not tensor.numel() or not repeats(tensor.shape, tensor.stride()):
        return False
    dims = [(s, n) for n, s in zip(tensor.shape, tensor.stride(), strict=True) if n > 1]
    if sum(stride * (length - 1) for stride, length in dims) + 1 < tensor.numel():
        return True
    addresses = torch.zeros((1,), dtype=torch.int64)
    for stride, length in dims:
        addresses = (addresses[:, None] + torch.arange(length) * stride).reshape(-1)
    return int(torch.bincount(addresses).max()) > 1


def _sharing(tensors: NamedTensors) -> dict[str, str]:
    """Map each output's path to the first output on the same storage."""
    first: dict[int, str] = {}
    return {
        path: first.setdefault(tensor.untyped_storage()._cdata, path)
        for path, tensor in tensors
        if tensor.untyped_storage().nbytes()
    }


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
