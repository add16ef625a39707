"""Whether a call only moves or casts is said by the reference, for each call anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from bringup.judge._case import CaseJudge
from bringup.judge._moves import SIZES_ALONE, rearranges
from bringup.linter import moves
from bringup.suites import CaseInputs, get_suite
from bringup.verdict import CaseId

NN = torch.nn.functional


def asked(reference: Callable[..., Any], *args: Any, sizes_alone: tuple[int, ...] = (), **kwargs: Any) -> bool:
    inputs = CaseInputs(CaseId(operator="one", dtype="float32", index=0, seed=0), "", args, kwargs, reference)
    result = reference(*args, **kwargs)
    return rearranges(inputs, list(result) if isinstance(result, tuple) else [result], sizes_alone=sizes_alone)


X = torch.linspace(-2, 2, 24).reshape(1, 2, 3, 4)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_a_mode_that_picks_elements_moves(mode: str, dtype: torch.dtype) -> None:
    assert asked(NN.interpolate, X.to(dtype), scale_factor=2.5, mode=mode)


@pytest.mark.parametrize("dtype", [torch.int32, torch.float16, torch.bool, torch.float64, torch.int64])
def test_a_cast_moves_nothing_unless_its_operator_is_one(dtype: torch.dtype) -> None:
    assert not asked(lambda x: x.to(dtype), X)
    assert not asked(lambda x: x.cumsum(0), torch.arange(1, dtype=torch.int32))
    assert moves(get_suite("opinfo").operator("int"))


@pytest.mark.parametrize(
    ("reference", "args"),
    [
        (torch.addmm, (torch.randn(10), torch.randn(5, 0), torch.randn(0, 10))),
        (lambda bias, a, b: torch.addcmul(bias, a, b, value=-0.0), (torch.randn(1), torch.randn(5, 1), torch.randn(5))),
        (lambda x, bound: torch.clamp(x, bound, bound), (torch.randn(3, 5), torch.randn(5))),
        (lambda x, y: torch.lerp(x, y, 0.0), (torch.randn(5), torch.randn(3, 5))),
    ],
)
def test_what_happens_to_say_nothing_of_an_operand_still_computes(reference: Any, args: tuple[torch.Tensor]) -> None:
    """An honest wrapper broadcasts its operands by copies there, as it does in each call."""
    assert not asked(reference, *args)


@pytest.mark.parametrize("name", sorted(SIZES_ALONE))
def test_of_a_forward_input_the_sizes_alone_are_known(name: str) -> None:
    suite = get_suite("aten")
    overload = next((one for one in suite.operators() if one.name.partition(".")[0] == name), None)
    if overload is None:
        pytest.skip(f"the suite has no {name}")
    cases = [one for one in suite.materialise(overload.name, "float32") if not one.raises and one.args[1].numel()]
    assert cases
    for case in cases:
        args, kwargs = list(case.args), {key: value for key, value in case.kwargs.items() if key != "grad_input"}
        args[1] = torch.full_like(args[1], float("nan"))
        made = getattr(torch.ops.aten, name)(*args, **kwargs)
        assert torch.equal(made, getattr(torch.ops.aten, name)(*case.args, **kwargs))


def test_one_of_several_results_is_enough() -> None:
    assert asked(lambda x: (x.sin(), x.flip(0)), torch.arange(5.0))


@pytest.mark.parametrize(
    "reference",
    [
        lambda x: NN.interpolate(x, scale_factor=2, mode="bilinear"),
        torch.relu,
        torch.amax,
        torch.isnan,
        torch.argmax,
        lambda x: x.sort().values,
        lambda x: x + 0,  # leaves each element in its place
        lambda x: x.sum(0),  # over one element
        lambda x: NN.max_pool2d(x, 2),
        torch.Tensor.to_sparse,
        torch.Tensor.cfloat,
    ],
)
def test_what_computes_does_not_move(reference: Callable[..., Any]) -> None:
    assert not asked(reference, X)


def test_truth_values_are_no_places() -> None:
    for size in ((3, 5), (2, 2), (1, 7), (4, 1)):
        assert not asked(lambda x: x.any(-1), torch.ones(size))
        assert not asked(lambda x: x.t().all(-1), torch.ones(size))


def test_the_largest_of_two_is_no_place() -> None:
    for length in (1, 2, 3):
        assert not asked(lambda x: x.amax(-1), torch.arange(2.0 * length).reshape(2, length).flip(1))


def test_what_is_only_written_is_no_source() -> None:
    def into(function: Callable[..., Any], *, like: torch.Tensor = X, dtype: torch.dtype | None = None) -> bool:
        out = torch.full(function(like).shape, 3.0).to(dtype or like.dtype)
        before = out.clone()
        inputs = CaseInputs(
            CaseId(operator="one", dtype="float32", index=0, seed=0), "", (like,), {"out": out},
            lambda x, out: out.resize_(function(x).shape).copy_(function(x)),
        )  # fmt: skip
        found = rearranges(inputs, [function(like).to(out.dtype)], ["out"])
        assert torch.equal(out, before)
        return found

    assert into(lambda x: x.flip(3))
    assert into(lambda x: x.flip(0), like=torch.arange(5, dtype=torch.int32))
    assert not into(lambda x: x.flip(3), dtype=torch.float16)  # a cast
    assert not into(torch.relu)
    assert not into(lambda x: x.flip(0))  # over one element


def test_elements_beside_constants_are_moved_too() -> None:
    square = torch.randn(4, 4, generator=torch.Generator().manual_seed(1))
    assert asked(torch.tril, square)
    assert asked(lambda x: NN.pad(x, (1, 2), value=3.0), X)
    assert asked(lambda g: torch.ops.aten.upsample_nearest1d_backward(g, [3], [1, 2, 6]), X[:, :, 0, :3].contiguous())
    for reference in (torch.zeros_like, torch.sign, NN.hardshrink, lambda x: x.clamp(-1, 1), lambda x: x.cumsum(0)):
        assert not asked(reference, square)
        assert not asked(reference, torch.ones(1))


def test_whole_numbers_beside_the_data_matter_or_do_not() -> None:
    square = torch.randn(4, 4, generator=torch.Generator().manual_seed(1))
    factors, pivots = torch.linalg.lu_factor(square)
    assert asked(torch.lu_unpack, factors, pivots)  # two of the results hang on the sizes alone
    assert not asked(lambda x, index: x.gather(1, index), square, torch.tensor([[0, 2], [1, 1], [3, 0], [2, 2]]))
    assert not asked(lambda x, index: x.index_select(0, index), square, torch.tensor([2, 0]))
    for index in ([1, 1], [2, 2], [1, 2]):
        assert not asked(lambda x, index: x.index_select(0, index), square, torch.tensor(index))


def test_several_tensors_and_none_say_no() -> None:
    assert not asked(lambda x, y: torch.cat([x, y]), X, X.clone())
    assert not asked(torch.ones, 3)
    assert not asked(lambda x: x.flip(0), torch.zeros(0))


def test_many_elements_are_asked_as_few_are() -> None:
    assert asked(lambda x: x.flip(0), torch.zeros((1 << 22) + 1))
    assert not asked(torch.sin, torch.zeros((1 << 22) + 1))


def test_large_calls_are_asked_as_small_ones() -> None:
    large = torch.zeros((1 << 17) + 1)
    assert asked(lambda x: x.flip(0), large)
    for reference in (torch.relu, lambda x: x.cumsum(0), lambda x: x.sort().values, lambda x: x.roll(1) + x * 0 + 1):
        assert not asked(reference, large)


def wants(dtype: torch.dtype, function: Callable[..., Any]) -> Callable[..., Any]:
    """A reference that refuses all other dtypes, as PyTorch's kernels do."""

    def reference(x: torch.Tensor, *rest: Any) -> Any:
        if x.dtype is not dtype:
            raise NotImplementedError
        return function(x, *rest)

    return reference


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.bool, torch.float16, torch.bfloat16, torch.int32])
def test_what_takes_one_dtype_only_is_asked_in_it(dtype: torch.dtype) -> None:
    x = torch.zeros(3, 70, 5).to(dtype)
    assert asked(wants(dtype, lambda x: x.flip(1)), x)
    assert asked(wants(dtype, lambda x: x[:, ::2].transpose(0, 1)), x)
    assert asked(wants(dtype, lambda x: NN.pad(x.flip(1), (1, 2), value=1)), x)
    for function in (torch.clone, torch.logical_not, lambda x: (x.flip(1) == 0).to(x.dtype), torch.zeros_like):
        assert not asked(wants(dtype, function), x)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8])
def test_no_count_or_size_is_large(dtype: torch.dtype) -> None:
    """A reference that allocates as many elements as a number says would fill the memory."""
    largest = []

    def sized(x: torch.Tensor) -> torch.Tensor:
        largest.append(int(x.max()))
        return torch.zeros(max(largest[-1], 1))

    assert not asked(sized, torch.arange(100).to(dtype))
    assert max(largest) <= 255
    assert not asked(torch.bincount, torch.arange(100).to(dtype))


def test_an_upsampling_of_bytes_moves() -> None:
    x = torch.arange(24, dtype=torch.uint8).reshape(1, 2, 12)
    assert asked(lambda x: NN.interpolate(x, scale_factor=2.5, mode="nearest-exact"), x)
    assert not asked(lambda x: x + x.flip(2), x)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.bool])
def test_of_whole_numbers_each_may_be_the_data(dtype: torch.dtype) -> None:
    square = torch.ones(4, 4, dtype=dtype)
    pivots = torch.tensor([1, 2, 3, 4], dtype=torch.int32)
    assert asked(lambda x, p: (x.tril(), p & 1), square, pivots)
    assert asked(lambda p, x: (p & 1, x.t()), pivots, square)
    assert not asked(lambda x, p: x.index_select(0, p.long() - 1), square, pivots)
    assert not asked(lambda x, y: x * y, square, square.clone())
    assert not asked(lambda x, y: x ^ y, square, square.clone())


@pytest.mark.parametrize("name", ["eq.Tensor_out", "add.out", "logical_and.out"])
def test_several_operands_of_an_overload_that_writes_are_several(name: str) -> None:
    """An `out` that must be there does not hide what the operator takes."""
    base, overload = name.split(".")
    reference = getattr(getattr(torch.ops.aten, base), overload)
    x, ones = torch.tensor([[True, False], [False, True]]), torch.ones(2, 1, 1, dtype=torch.bool)
    out = torch.empty(2, 2, 2, dtype=torch.bool)
    inputs = CaseInputs(CaseId(operator="one", dtype="bool", index=0, seed=0), "", (x, ones), {"out": out}, reference)
    assert not rearranges(inputs, [reference(x, ones, out=out.clone())], ["out"])


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_where_numbers_leave_one_operand_of_several_nothing_moves(dtype: torch.dtype) -> None:
    """What is computed of several operands is no move because a factor is 0: of floating point it is none, either."""
    row, square = torch.ones(4, dtype=dtype), torch.ones(4, 4, dtype=dtype)
    assert not asked(lambda x, a, b: torch.addmm(x, a, b, alpha=0), row, square, square.clone())
    assert not asked(torch.logical_and, torch.ones(3, 5, dtype=dtype), torch.tensor(True))
    assert asked(lambda x: x.expand(3, 4) * 1, row)


def test_no_polynomial_is_asked() -> None:
    """Other values in the place of its degree would take hours."""

    def never(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError

    suite = get_suite("opinfo")
    operator = suite.operator("special.laguerre_polynomial_l")
    inputs = replace(suite.own_cases(operator.name, "float32")[0], reference=never)
    assert not CaseJudge(inputs, operator, "cpu", never, frozenset()).rearranges


def test_neither_the_input_nor_the_generator_is_touched() -> None:
    x = torch.arange(6.0)
    torch.manual_seed(3)
    wanted = torch.rand(3)
    torch.manual_seed(3)
    assert asked(lambda v: v.add_(torch.rand(1) * 0).flip(0), x) in (True, False)
    torch.manual_seed(3)
    assert not asked(lambda v: v + torch.rand(1), x)
    torch.manual_seed(3)
    assert torch.equal(torch.rand(3), wanted)
    assert torch.equal(x, torch.arange(6.0))


def test_beside_another_tensor_whose_values_do_not_matter_it_moves() -> None:
    """What an average pool with one element and steps, or a negative padding, makes of gradients."""
    g = torch.linspace(1, 2, 6).reshape(1, 1, 2, 3)
    x = torch.linspace(-2, 2, 24).reshape(1, 1, 4, 6)
    backward = torch.ops.aten.avg_pool2d_backward
    assert asked(lambda g, x: backward(g, x, [1, 1], [2, 2], [0, 0], False, True, None), g, x, sizes_alone=(1,))
    assert not asked(lambda g, x: backward(g, x, [1, 1], [2, 2], [0, 0], False, True, None), g, x)
    y = torch.linspace(-2, 2, 6).reshape(1, 1, 2, 3)
    pad = torch.ops.aten.replication_pad2d_backward
    assert asked(lambda g, y: pad(g, y, [-1, 0, 0, 0]), g[..., :2], y, sizes_alone=(1,))
    for reference in (torch.add, torch.maximum, torch.mul, torch.atan2, torch.fmin):
        assert not asked(reference, x, x.flip(0) + 0.5)
    assert not asked(lambda x, y: torch.where(x > 0, x.flip(-1), y), x, x + 1)
