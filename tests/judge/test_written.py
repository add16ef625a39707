"""What of the arguments a call writes: a NaN over a NaN is written, and one that was never written is not."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest
import torch

from bringup.judge import _codec
from bringup.judge._case import CaseJudge
from bringup.judge._outcome import Outcome
from bringup.judge._written import overwritten, written
from bringup.operators import Operator
from bringup.suites import CaseInputs
from bringup.verdict import CaseId
from bringup.vpe.memory import INPUT, LAUNCHED

NAN = float("nan")
OTHER_NAN = torch.tensor([struct.unpack("i", b"\x01\x00\xc0\xff")[0]], dtype=torch.int32).view(torch.float32)


CUDA_NAN = torch.tensor([0x7FFFFFFF], dtype=torch.int32).view(torch.float32)


def sum_out(x: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor:
    return torch.sum(x, dim=0, out=out)


def relu_(x: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    return x.relu_()


def decided(
    reference: Callable[..., Any], args: Any, kwargs: Any, after: dict[int, torch.Tensor], by: dict[int, int]
) -> Outcome:
    """Judge a call that returns its written argument: `after` holds new contents of storages, `by` who wrote them."""
    writes = ("out",) if kwargs else ("x",)
    operator = Operator(name="one", suite="tiny", category="Other", mutates=True, writes=writes, views=True)
    case = CaseId(operator="one", dtype="float32", index=0, seed=0)
    inputs = CaseInputs(case=case, variant="", args=args, kwargs=kwargs, reference=reference)

    def expected(inputs: CaseInputs) -> tuple[Any, Any, Any]:
        args, kwargs = _codec.clone_tree([tuple(inputs.args), dict(inputs.kwargs)])
        return inputs.reference(*args, **kwargs), args, kwargs

    guards = frozenset({"mutation", "aliasing", "outputs", "provenance"})
    judge = CaseJudge(inputs, operator, "vpe", expected, guards, copies_count=False)
    request, payloads = judge.request()
    result = request["kwargs"]["dict"][0][1] if kwargs else request["args"]["tuple"][0]
    reply = {"result": result, "after": [request["args"], request["kwargs"]]}
    contents = [bytes(payload) for payload in payloads]
    for number, tensor in after.items():
        contents[number] = tensor.numpy().tobytes()
    described = [*_codec.descriptions(reply["result"]), *_codec.descriptions(reply["after"])]
    device = {
        "account": {"launches": 1}, "error": None, "wrong": "", "sizes": [len(one) for one in contents],
        "given": [True] * len(described), "writers": [{str(by.get(d["t"], INPUT)): 4} for d in described],
    }  # fmt: skip
    return judge.decide(reply, device, memoryview(b"".join(contents)), "")


@pytest.mark.parametrize("held", [torch.tensor([NAN]), OTHER_NAN])
def test_a_nan_written_over_a_nan_is_a_result(held: torch.Tensor) -> None:
    x = torch.tensor([[NAN], [1.0]])
    for made in (torch.tensor([NAN]), CUDA_NAN, -CUDA_NAN):
        outcome = decided(sum_out, (x,), {"out": held.clone()}, {1: made}, {1: LAUNCHED})
        assert outcome.kind == "passed", outcome.summary


def test_a_nan_has_the_usual_bits_or_an_arguments() -> None:
    x, out = torch.tensor([[NAN], [1.0]]), torch.tensor([0.0])
    outcome = decided(sum_out, (x,), {"out": out}, {1: OTHER_NAN}, {1: LAUNCHED})
    assert (outcome.kind, "bits 7fc00001" in outcome.summary) == ("wrong", True)
    outcome = decided(sum_out, (torch.cat([OTHER_NAN, out])[:, None],), {"out": out}, {1: OTHER_NAN}, {1: LAUNCHED})
    assert outcome.kind == "passed", outcome.summary


def test_a_nan_that_was_there_before_is_no_result() -> None:
    x = torch.tensor([[NAN], [1.0]])
    outcome = decided(sum_out, (x,), {"out": torch.tensor([NAN])}, {}, {})
    assert (outcome.kind, outcome.guard) == ("wrong", "provenance")
    assert "argument out after the call: some of it was never written" in outcome.summary


def test_an_input_that_is_read_keeps_the_bits_of_its_nans() -> None:
    x, other = torch.tensor([NAN]), torch.tensor([NAN])
    assert decided(relu_, (x, other), {}, {0: CUDA_NAN}, {0: LAUNCHED}).kind == "passed"
    outcome = decided(relu_, (x, other), {}, {1: OTHER_NAN}, {1: LAUNCHED})
    assert (outcome.kind, outcome.guard) == ("wrong", "mutation")
    outcome = decided(sum_out, (x,), {"out": torch.tensor([0.0])}, {0: OTHER_NAN, 1: OTHER_NAN}, {1: LAUNCHED})
    assert (outcome.kind, outcome.guard) == ("wrong", "mutation")


def test_in_place_each_element_is_written() -> None:
    args = (torch.tensor([NAN]), torch.tensor([1.0]))
    assert decided(relu_, args, {}, {}, {0: LAUNCHED}).kind == "passed"
    outcome = decided(relu_, args, {}, {}, {})
    assert (outcome.kind, outcome.guard) == ("cheated", "provenance")
    assert "as they were" in outcome.summary


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.uint8, torch.bool])
def test_the_reference_says_what_it_writes(dtype: torch.dtype) -> None:
    def copied(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
        out[:2] = x[:2]
        y.copy_(x)

    tensors = [torch.tensor([0, 1, 1]).to(dtype) for _ in range(3)]
    case = CaseId(operator="one", dtype="float32", index=0, seed=0)
    inputs = CaseInputs(case=case, variant="", args=tuple(tensors), kwargs={}, reference=copied)
    assert [written(inputs, number) for number in range(3)] == [False, True, True]
    assert [overwritten(inputs, number, tensors[0]) for number in range(3)] == [False, True, False]


def test_tensors_of_a_tuple_for_the_results_are_there_for_results() -> None:
    x, out = torch.tensor([[2.0, 1.0]]), (torch.empty(2, 3), torch.empty(0, dtype=torch.int64))
    operator = Operator(name="sort", suite="tiny", category="Other", writes=("out",))
    case = CaseId(operator="sort", dtype="float32", index=0, seed=0)
    inputs = CaseInputs(case=case, variant="", args=(x,), kwargs={"out": out}, reference=torch.sort)
    judge = CaseJudge(inputs, operator, "vpe", lambda inputs: (None, (), {}), frozenset(), copies_count=False)
    assert [judge.is_out(number) for number in range(3)] == [False, True, True]
