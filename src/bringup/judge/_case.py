"""Decide one case: what is sent to the worker, and what its reply means against the reference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch

from bringup.judge import _codec, _compare
from bringup.judge._schemas import aliases_inputs
from bringup.operators import Operator
from bringup.suites import CaseInputs
from bringup.verdict import Mismatch, TensorSummary, VerdictKind, Violation

NamedTensors = list[tuple[str, torch.Tensor]]
Expected = Callable[[CaseInputs], tuple[Any, Any, Any]]


@dataclass(frozen=True)
class Outcome:
    """What happened in one case. `fatal`: no other case of this candidate can fare better."""

    kind: VerdictKind
    summary: str
    call: str = ""
    inputs: tuple[TensorSummary, ...] = ()
    violations: tuple[Violation, ...] = ()
    mismatch: Mismatch | None = None
    exception: str = ""
    log: str = ""
    kernel: str = ""
    compiled_for: str = ""
    launches: int = 0
    fatal: bool = False

    def with_call(self, case: CaseJudge) -> Outcome:
        """Add the call and the inputs to a failure."""
        if self.kind == "passed":
            return self
        inputs = tuple(_compare.summarise(t) for _, t in case.tensors[:8])
        return replace(self, call=case.call, inputs=inputs)


class CaseJudge:
    """One case of one operator for a target's device."""

    def __init__(self, inputs: CaseInputs, operator: Operator, device: str, expected: Expected) -> None:
        """Prepare the case; `expected` computes (output, args after, kwargs after) of the reference."""
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

    def request(self, seconds: float) -> tuple[dict[str, Any], list[memoryview]]:
        """Return the worker's request and the bytes of its input storages."""
        storages = _codec.Storages()
        request = {
            "args": _codec.encode(self.args, storages),
            "kwargs": _codec.encode(self.kwargs, storages),
            "sizes": storages.sizes(),
            "seconds": seconds,
        }
        return request, storages.payloads()

    def decide(self, reply: dict[str, Any], data: memoryview, output: str) -> Outcome:
        """Turn the worker's reply into an outcome."""
        launches = int(reply.get("launches", 0))
        forbidden = reply.get("forbidden") or []
        if forbidden:
            return self._cheated(forbidden, launches)
        if "error" in reply:
            text = str(reply["error"])
            if reply.get("compile_log"):
                log, kernel = str(reply["compile_log"]), str(reply.get("kernel", ""))
                lines = [line.strip() for line in log.strip().splitlines()] or [""]
                first = next((line for line in lines if "error:" in line), lines[0])
                summary = f"kernel {kernel} does not compile: {first[:300]}"
                return Outcome("compile", summary, log=log, kernel=kernel, compiled_for=self.device)
            if reply.get("fault"):
                return Outcome("crashed", text.strip().splitlines()[-1][:300], log=str(reply["fault"]), exception=text)
            return Outcome("raised", text.strip().splitlines()[-1][:300], exception=text, log=output)
        if "unencodable" in reply:
            return self._wrong("structure", f"the wrapper returned {reply['unencodable']}", launches)
        try:
            mismatch = self._compare(reply, data)
        except (ValueError, KeyError, TypeError, AttributeError, RuntimeError) as error:
            return Outcome("crashed", f"the worker's answer makes no sense: {error}", launches=launches)
        if mismatch is None:
            return Outcome("passed", "", launches=launches)
        summary = f"{mismatch.output}: {mismatch.message}"
        return Outcome("wrong", summary, mismatch=mismatch, launches=launches, log=output)

    def _wrong(self, aspect: Any, message: str, launches: int) -> Outcome:
        mismatch = Mismatch(aspect=aspect, output="output", message=message)
        return Outcome("wrong", message, mismatch=mismatch, launches=launches)

    def _cheated(self, forbidden: list[Any], launches: int) -> Outcome:
        violations = tuple(
            Violation(
                rule="dispatch-spy",
                message=f"the wrapper left work to PyTorch: {name}",
                line=int(line),
                advice="compute it in a kernel; the wrapper may only allocate, take views, read shapes and launch",
            )
            for name, line in forbidden
        )
        names = ", ".join(dict.fromkeys(str(name) for name, _ in forbidden))
        return Outcome("cheated", f"work left to PyTorch: {names}", violations=violations, launches=launches)

    def _compare(self, reply: dict[str, Any], data: memoryview) -> Mismatch | None:
        storages = []
        for size in reply["sizes"]:
            storages.append(_codec.storage_from(data[:size]))
            data = data[size:]
        # Device arguments come back as the target's, which this process need not know.
        actual = _codec.decode(reply["result"], lambda d: _codec.tensor_on(storages, d), "cpu")
        after = _codec.decode(reply["after"], lambda d: _codec.tensor_on(storages, d), "cpu")
        expected, ref_args, ref_kwargs = self.expected(self.inputs)
        inputs_after = _compare.input_paths(tuple(after[0]), after[1])
        wanted_after = _compare.input_paths(ref_args, ref_kwargs)
        found = self._mutation(inputs_after, wanted_after) or self._aliasing(
            _codec.tensors_of(expected, "output"), _codec.tensors_of(actual, "output"), inputs_after, wanted_after
        )
        if found is not None:
            return found
        if self.inputs.postprocess is not None:
            # Shapes and dtypes are compared before anything of the suite touches the candidate's output.
            structural = _compare.compare(expected, actual, rtol=float("inf"), atol=float("inf"))
            if structural is not None and structural.aspect != "values":
                return structural
            expected, actual = self.inputs.postprocess(expected), self.inputs.postprocess(actual)
        return _compare.compare(expected, actual, self.inputs.rtol, self.inputs.atol)

    def _mutation(self, after: NamedTensors, wanted: NamedTensors) -> Mismatch | None:
        """Inputs must be what the reference leaves: bit for bit where it does not write, in tolerance where it does."""
        if len(after) != len(self.tensors):
            return Mismatch(aspect="mutation", output="arguments after the call", message="a container was changed")
        for (path, old), (_, new), (_, reference) in zip(self.tensors, after, wanted, strict=True):
            where = f"{path} after the call"
            if not _same_bits(old, reference):
                found = _compare.compare(reference, new, self.inputs.rtol, self.inputs.atol, path=where)
            elif _same_bits(old, new):
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

    def _aliasing(
        self, expected: NamedTensors, actual: NamedTensors, after: NamedTensors, ref_after: NamedTensors
    ) -> Mismatch | None:
        """Outputs share memory with the inputs that the reference's share it with, and with no others."""
        wanted, got = _compare.aliases(expected, ref_after), _compare.aliases(actual, after)
        for path, source in got.items():
            if path not in wanted:
                message = f"the output shares memory with {source}; the operator must return a tensor of its own"
                return Mismatch(aspect="aliasing", output=path, message=message)
        # Without such a declaration (`contiguous`, say) returning the input is an optimisation, not a promise.
        if aliases_inputs(self.operator.overloads):
            for path, source in wanted.items():
                if path not in got:
                    message = f"the output must be a view of {source} (or the same tensor); it has memory of its own"
                    return Mismatch(aspect="aliasing", output=path, message=message)
        return None


def _same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    left, right = (t.detach().contiguous().reshape(-1).view(torch.uint8) for t in (one, other))
    return bool(torch.equal(left, right))
