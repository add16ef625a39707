"""Decide one case: what is sent to the guest, and what its reply and the device's account mean."""

from __future__ import annotations

import contextlib
import functools
import math
import re
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from bringup.device.account import Allowance
from bringup.device.elements import element_bytes
from bringup.device.reach import filled, reaches_beyond
from bringup.device.seeds import SEED
from bringup.device.wire import MOST_DIMENSIONS
from bringup.judge import _codec, _compare
from bringup.judge._comparison import Comparison, Expected, LimitsOf, NamedTensors, untrue
from bringup.judge._compile_log import headline
from bringup.judge._keeping import deciding, keeps_in_call
from bringup.judge._moves import rearranges, sizes_alone
from bringup.judge._must_read import UNDECIDED, Sought, must_read
from bringup.judge._near import with_inputs
from bringup.judge._outcome import Outcome, cheated, raised_line
from bringup.judge._provenance import provenance
from bringup.judge._reply import check_sizes
from bringup.judge._written import same_bits, written
from bringup.judge.allowance import allowance_of
from bringup.judge.readings import Readings
from bringup.operators import Keeps, Operator
from bringup.suites import CaseInputs
from bringup.verdict import CaseId, Mismatch

SPARE_OUTPUTS = 256  # tensors of an answer beyond those that are asked for: more are not looked at
ERROR_LINE = re.compile(r"[\w.]+(Error|Fault|Exception): ")
GUARDED_ASPECTS = ("mutation", "aliasing")
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


class CaseJudge(Comparison):
    """One case of one operator for a target's device."""

    def __init__(
        self, inputs: CaseInputs, operator: Operator, device: str, expected: Expected, guards: frozenset[str],
        copies_count: bool = True, limits: LimitsOf | None = None,
    ) -> None:  # fmt: skip
        """Prepare the case; `expected` computes (output, args after, kwargs after) of the reference.

        `copies_count`: whether copies alone may make a result, as the operator or the target says. `limits` says what
        the results may be; by default what the case's standard says.
        """
        super().__init__(inputs, operator, device, expected, limits)
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

    def allowance(self) -> Allowance:
        """Bytes that the host may make for this call."""
        reads = bool(self.tensors) and (self.readable is None or bool(self.readable))
        tensors = [tensor for _, tensor in self.tensors]
        return allowance_of([self.args, self.kwargs], tensors, data=reads or self.seed is not None)

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
            if number not in filled(self.operator.name)
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

    def writes(self, number: int) -> bool:
        """Whether a right call writes a tensor among the arguments, or would if that held something else."""
        results = self._results
        if results and all(_codec.tensors_of(self.kwargs.get(name), name) for name in results):
            return self._name_of(number) in results
        _, args, kwargs = self.expected(self.inputs)
        after = _compare.input_paths(args, kwargs)[number][1]
        if not same_bits(self.tensors[number][1], after):
            return True
        return self._may_write and written(self.inputs, number)

    def is_alias(self, path: str) -> bool:
        """Whether PyTorch's own result there is an argument, or a view of one: then a copy does no work."""
        answer, args, kwargs = self.expected(self.inputs)
        return path in _compare.aliases(_codec.tensors_of(answer, "output"), _compare.input_paths(args, kwargs))

    @functools.cached_property
    def _right(self) -> list[torch.Tensor]:
        """The right results; none where the reference refuses, which the comparison then says."""
        if self.inputs.raises:
            return []
        with contextlib.suppress(Exception):
            return [tensor for _, tensor in _codec.tensors_of(self.answer(), "output")]
        return []

    @property
    def result_sizes(self) -> list[list[int]]:
        """Sizes of the right results; none where the reference refuses."""
        return [list(tensor.shape) for tensor in self._right]

    @functools.cached_property
    def rearranges(self) -> bool:
        """Whether this call only moves elements, whatever the operator does in others.

        Also where it has none: what a factory makes, kernels make, and to move that would be to choose among more.
        """
        outs = [name for name in self._results if _codec.tensors_of(self.kwargs.get(name), name)]
        if self.inputs.raises or (self.operator.mutates and not outs) or self.kwargs.get("inplace") is True:
            return False
        if self.operator.indexed and len(self.tensors) > 1:
            return False  # where an index happens to say what sizes say, only kernels know
        if self.inputs.standard is not None and self.inputs.standard.rule.degree:
            return False  # a polynomial of any degree, and other values may be of one that takes hours
        if all(self._name_of(number) in outs for number in range(len(self.tensors))):
            return True
        results = [tensor for _, tensor in _codec.tensors_of(self.answer(), "output")]
        return rearranges(self.inputs, results, outs, sizes_alone(self.operator.name))

    def elements(self) -> list[tuple[int, int]]:
        """The storage of each tensor among the arguments, and bytes of its elements; once `request` has been called."""
        return [(told["t"], element_bytes(getattr(torch, told["dtype"]))) for told in self.sent]

    @functools.cached_property
    def _sought(self) -> Sought | None:
        return must_read(self.operator.name, self.args, self.kwargs, {"out", *self.operator.writes})

    def sought(self) -> list[list[Any]]:
        """Those of `placed` on whose data a size or a truth value hangs that is read."""
        by = {*map(id, () if self._sought is None else self._sought.by)}
        return [one for (_, tensor), one in zip(self.tensors, self.placed(), strict=True) if id(tensor) in by]

    def choosing(self) -> list[list[Any]]:
        """Those of `placed` that say which elements stay, where some do."""
        given = [tensor for number, (_, tensor) in enumerate(self.tensors) if not self.is_out(number)]
        by = {*map(id, deciding(given))}
        return [one for (_, tensor), one in zip(self.tensors, self.placed(), strict=True) if id(tensor) in by]

    def operands(self) -> list[list[Any]]:
        """Those of `placed` that are not there for a result; the elements of the first stay, where some do."""
        return [one for number, one in enumerate(self.placed()) if not self.is_out(number)]

    @functools.cached_property
    def keeps(self) -> Keeps:
        """What this call leaves as an argument has it."""
        return keeps_in_call(self.operator.keeps, self.operator.name, self.args, self.kwargs)

    @property
    def empty(self) -> bool:
        """Whether a tensor among the arguments that is not there for a result has no elements."""
        return any(not tensor.numel() and not self.is_out(number) for number, (_, tensor) in enumerate(self.tensors))

    def least_bytes(self) -> int:
        """Bytes of the call's arguments and results: what must be moved at least."""
        return sum(tensor.numel() * tensor.element_size() for tensor in self._known)

    @property
    def _known(self) -> list[torch.Tensor]:
        return [*(tensor for _, tensor in self.tensors), *self._right]

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
            storages = _split(device, data)
            mismatch = self._compare(reply, storages)
            if mismatch is None and "provenance" in self.guards:
                found = provenance(self, reply, device["writers"], device["given"])
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
        sought = self._sought
        if not device["answers"]:
            return UNDECIDED if sought else ""
        if self.operator.reads.inputs:
            return ""
        data = [bytes.fromhex(one) for one in device["answers"]]
        readings = list(zip(device["read_as"], data, strict=True))
        arguments, answer = [self.args, self.kwargs], self.answer()
        truth = answer if isinstance(answer, bool) else None
        return self.readings.misread(readings, self.result_sizes, arguments, truth=truth, sought=sought)

    def _odd_outputs(self, reply: dict[str, Any]) -> str:
        """Say what of the outputs is no plain tensor of the device."""
        others = [str(d) for d in reply.get("devices", []) if d != self.device.partition(":")[0]]
        return f"an output is on the device {others[0]}; {self.device} was expected" if others else ""

    def recheck(self, storages: list[memoryview]) -> Mismatch | None:
        """Compare other contents of the storages that the guest's answer named: what a later run left in them."""
        return self._compare(self.reply, [_codec.storage_from(data) for data in storages])

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
        found = found or untrue([*self.tensors_returned, *inputs_after], wanted_after)
        found = found or self._marked([*self.tensors_returned, *inputs_after], [expected, ref_args, ref_kwargs])
        return found or self._result_differs(expected, actual)


def tape_name(case: CaseId) -> str:
    """The name of the file that holds the tape of a case."""
    return f"{case.operator}-{case.dtype}-{case.index}".replace("/", "%2F") + ".tape"


def _with_line(stopped: dict[str, Any]) -> str:
    line = stopped.get("line")
    return f"{stopped['text']}{f' (launched at candidate.py:{line})' if line else ''}"


def _split(device: dict[str, Any], data: memoryview) -> list[Any]:
    """The storages of an answer."""
    storages = []
    for size in device["sizes"]:
        storages.append(_codec.storage_from(data[:size]))
        data = data[size:]
    return storages


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
        "stride": described["stride"], "width": dtype.itemsize, "element": element_bytes(dtype),
    }  # fmt: skip


def _headline(text: str) -> str:
    """Return the line of a traceback that names the error; what follows it is detail."""
    lines = [line for line in text.strip().splitlines() if line[:1].strip()] or [""]
    named = [line for line in lines if ERROR_LINE.match(line)]
    return (named or lines)[-1][:300]
