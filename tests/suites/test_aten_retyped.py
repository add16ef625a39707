"""Calls cast to dtypes that OpInfo's samples do not give an overload."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from bringup.accuracy import copy_arguments
from bringup.audit.breadth import overload_dtypes
from bringup.operators import DTYPES
from bringup.suites import CaseInputs, argument_dtypes, get_suite
from bringup.suites._aten_audited import cases_by_key, dtypes_wanted
from bringup.suites._aten_record import Recorded
from bringup.suites._aten_retyped import cast, moves_bytes, retyped
from bringup.suites.aten_audit import AtenAuditSuite


def given(dtype: str, name: str) -> set[str]:
    """The dtypes that a gate's cases in `dtype` give to the first argument."""
    found: set[str] = set()
    for case in get_suite("aten").materialise(name, dtype):
        found |= argument_dtypes(case.args, case.kwargs)["0"]
    return found


@pytest.mark.parametrize("dtype", ["int64", "bool", "uint8", "int8", "int16"])
def test_gates_ask_for_dtypes_that_no_sample_has(dtype: str) -> None:
    suite = get_suite("aten")
    operator = suite.operator("ge.Scalar_out")
    assert operator.added_counts[dtype]
    assert dtype in given(dtype, "ge.Scalar_out")
    cases = suite.materialise("ge.Scalar_out", dtype)
    assert [case.case for case in cases] == operator.cases((dtype,))
    assert all(case.kwargs["out"].dtype is torch.bool for case in cases)
    other = suite.materialise("ge.Scalar_out", dtype, seed=5)
    assert [case.args[0].shape for case in other] == [case.args[0].shape for case in cases]


def test_counts_are_in_judging_order() -> None:
    suite = get_suite("aten")
    assert suite.dtypes[: len(DTYPES)] == DTYPES
    for operator in suite.operators():
        order = [dtype for dtype in suite.dtypes if dtype in operator.case_counts]
        assert list(operator.case_counts) == order, operator.name
        assert all(operator.case_counts.values()), operator.name


def test_what_is_chosen_is_what_ships_and_what_pytorch_takes() -> None:
    audit = AtenAuditSuite()
    facts, parent = audit.overloads["bitwise_xor.Tensor_out"], audit.parent("bitwise_xor.Tensor_out")
    chosen = dtypes_wanted(facts, parent, 1)
    assert set(chosen) == {"bool", "uint8", "int8", "int16"}  # no floating-point numbers: PyTorch refuses them
    shipped = audit.additions
    for dtype, keys in chosen.items():
        assert set(keys) <= {addition.key for addition in shipped.of(facts.name, dtype)}
        made = cases_by_key(facts, parent, dtype, 1, keys)
        assert list(made) == keys
        assert all(case.kwargs["out"].dtype is getattr(torch, dtype) for case in made.values())


def test_gradients_are_never_integers_but_indices_come_in_int32() -> None:
    audit = AtenAuditSuite()
    facts, parent = audit.overloads["embedding_dense_backward"], audit.parent("embedding_dense_backward")
    chosen = dtypes_wanted(facts, parent, 1)
    assert set(chosen) == {"float32"}
    for case in cases_by_key(facts, parent, "float32", 1, chosen["float32"]).values():
        assert case.args[0].dtype is torch.float32
        assert case.args[1].dtype is torch.int32


@pytest.mark.parametrize("name", ["linalg_vector_norm.out", "sum.IntList_out"])
def test_a_dtype_that_is_asked_for_by_name_has_float64_too(name: str) -> None:
    audit = AtenAuditSuite()
    facts, parent = audit.overloads[name], audit.parent(name)
    keys = [key for key in dtypes_wanted(facts, parent, 1)["float64"] if key.endswith("/named")]
    assert set(keys) <= {addition.key for addition in audit.additions.of(name, "float64")}
    made = cases_by_key(facts, parent, "float64", 1, keys)
    assert list(made) == keys
    assert keys
    for case in made.values():
        assert case.args[0].dtype in (torch.float32, torch.bfloat16)
        assert case.kwargs["dtype"] is case.kwargs["out"].dtype is torch.float64


def test_many_programs_are_asked_for_in_each_dtype() -> None:
    operator = AtenAuditSuite().operator("index_select")
    chosen = overload_dtypes({}, operator)
    for dtype in ("bfloat16", "float16", "int32", "int64"):
        assert any(key.startswith("sizes/odd-rows") for key in chosen[dtype]), dtype
    assert overload_dtypes(chosen, operator) == chosen


@pytest.mark.long
def test_float64_where_bytes_are_moved() -> None:
    audit = AtenAuditSuite()

    def wide(name: str) -> list[str]:
        return dtypes_wanted(audit.overloads[name], audit.parent(name), 1).get("float64", [])

    assert wide("where.self_out")
    assert wide("fill_.Scalar")  # the bits of the number
    assert not wide("atan.out")
    assert wide("mul.out")  # `linalg.pinv` asks for it
    assert not wide("scatter.reduce_out")
    # To accumulate is arithmetic; calls of index_put that do not are cast.
    facts, parent = audit.overloads["_index_put_impl_"], audit.parent("_index_put_impl_")
    made = cases_by_key(facts, parent, "float64", 1, wide("_index_put_impl_"))
    assert made
    [limit] = next(iter(made.values())).standard.limits(*_run(next(iter(made.values())))).outputs  # type: ignore[union-attr]
    assert limit is not None
    assert limit.exact is None  # bit for bit


def _run(case: CaseInputs) -> tuple[Any, ...]:
    args, kwargs = copy_arguments(case.args, dict(case.kwargs))
    return case.args, case.kwargs, case.reference(*args, **kwargs), (args, kwargs)


@pytest.mark.parametrize(
    ("operator", "args", "moves"),
    [
        (torch.ops.aten.masked_fill_.Scalar, (torch.rand(3).double(), torch.tensor([True, False, True]), 0.5), True),
        (torch.ops.aten.flip.default, (torch.rand(3, 2).double(), [0]), True),
        (
            torch.ops.aten.index_put_.default,
            (torch.rand(3).double(), [torch.tensor([1])], torch.rand(1).double()),
            True,
        ),
        (
            torch.ops.aten.index_put_.default,
            (torch.zeros(3).double(), [torch.tensor([1])], torch.rand(1).double(), True),
            False,
        ),
        (torch.ops.aten.mul.Tensor, (torch.rand(3).double(), torch.rand(3).double()), False),
    ],
)
def test_what_moves_bytes(operator: Any, args: tuple[Any, ...], moves: bool) -> None:
    assert moves_bytes(Recorded("", operator, args, {})) is moves


def test_strides_and_shared_memory_stay() -> None:
    whole = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    view = whole[1:, ::2]
    call = Recorded("add.out", torch.ops.aten.add.out, (view, torch.ones(3, dtype=torch.int64)), {"out": view})
    made = retyped(call, torch.float32, torch.int8)
    first, other, out = made.args[0], made.args[1], made.kwargs["out"]
    assert first.dtype is torch.int8
    assert torch.equal(first, view.to(torch.int8))
    assert (first.stride(), first.storage_offset()) == (view.stride(), view.storage_offset())
    assert out.data_ptr() == first.data_ptr()
    assert other.dtype is torch.int64
    alone = retyped(call, torch.int64, torch.int32, alone=[call.args[1]])
    assert alone.args[1].dtype is torch.int32
    assert alone.args[0].dtype is torch.float32


def test_values_keep_a_meaning() -> None:
    x = torch.tensor([-2.5, 0.0, 3.7, float("nan"), float("inf")])
    assert cast(x, torch.bool).tolist() == [False, False, True, False, True]
    assert cast(x[:3], torch.uint8).tolist() == [2, 0, 4]
    assert cast(x[:4], torch.int64).tolist() == [-2, 0, 4, 0]
    assert cast(torch.tensor([-3, 5]), torch.float16).tolist() == [-3, 5]
