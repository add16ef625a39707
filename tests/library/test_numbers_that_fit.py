"""Numbers that fit no integer of the result are refused as PyTorch refuses them, and no kernel is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import bringup

UNFIT = [1e20, -1e30, float("nan"), float("inf"), 2**63]


def ones(place: str, *shape: int, dtype: Any = torch.int64) -> Any:
    return torch.ones(*shape, dtype=dtype, device=place)


CALLS: dict[str, Callable[[str, Any], Any]] = {
    "addmm alpha": lambda p, a: torch.addmm(ones(p, 2, 2), ones(p, 2, 2), ones(p, 2, 2), alpha=a),
    "addmm beta": lambda p, a: torch.addmm(ones(p, 2, 2), ones(p, 2, 2), ones(p, 2, 2), beta=a),
    "addmv": lambda p, a: torch.addmv(ones(p, 2), ones(p, 2, 2), ones(p, 2), alpha=a),
    "addbmm": lambda p, a: torch.addbmm(ones(p, 2, 2), ones(p, 3, 2, 2), ones(p, 3, 2, 2), alpha=a),
    "baddbmm": lambda p, a: torch.baddbmm(ones(p, 3, 2, 2), ones(p, 3, 2, 2), ones(p, 3, 2, 2), beta=a),
    "addcmul": lambda p, a: torch.addcmul(ones(p, 2), ones(p, 2), ones(p, 2), value=a),
    "addcmul_": lambda p, a: ones(p, 2).addcmul_(ones(p, 2), ones(p, 2), value=a),
    "full": lambda p, a: torch.full((2,), a, dtype=torch.int64, device=p),
    "masked_fill": lambda p, a: ones(p, 2).masked_fill(ones(p, 2) > 0, a),
    "scatter": lambda p, a: ones(p, 2).scatter(0, ones(p, 1), a),
    "linspace": lambda p, a: torch.linspace(0, a, 3, dtype=torch.int64, device=p),
}
"""By name: what makes the call on a device with a number."""


@pytest.fixture(scope="module")
def on() -> Iterator[Any]:
    with bringup.enable(Path(__file__).parents[2] / "kernels", "vpe:pe64") as enabled:
        yield enabled


@pytest.mark.parametrize("number", UNFIT, ids=str)
@pytest.mark.parametrize("name", CALLS)
def test_refused_as_by_pytorch(on: Any, name: str, number: Any) -> None:
    with pytest.raises(RuntimeError) as expected:
        CALLS[name]("cpu", number)
    with pytest.raises(RuntimeError) as found:
        CALLS[name]("vpe", number)
    assert type(found.value) is RuntimeError
    assert str(found.value).splitlines()[0] == str(expected.value).splitlines()[0]


def test_the_integers_of_the_result_decide(on: Any) -> None:
    small = ones("vpe", 2, dtype=torch.int8)
    with pytest.raises(RuntimeError, match="type int8_t without overflow"):
        small.fill_(300)
    with pytest.raises(RuntimeError, match="type int8_t without overflow"):
        torch.add(small, small, alpha=300)
    # the same kind of call: what was found to fit says nothing of the next number
    assert torch.add(small, small, alpha=100).tolist() == [101, 101]
    assert torch.add(small, ones("vpe", 2), alpha=300).tolist() == [301, 301]
    assert ones("vpe", 2, dtype=torch.uint8).fill_(-1).tolist() == [255, 255]


@pytest.mark.parametrize("number", [2.5, -7, 2**62])
@pytest.mark.parametrize("name", CALLS)
def test_what_fits_is_computed(on: Any, name: str, number: Any) -> None:
    assert CALLS[name]("vpe", number).tolist() == CALLS[name]("cpu", number).tolist()


def test_numbers_that_take_part_in_promotion_are_not_refused(on: Any) -> None:
    for made in (lambda p: ones(p, 2) == 1e20, lambda p: ones(p, 2) * 1e20, lambda p: ones(p, 2).clamp(max=1e20)):
        torch.testing.assert_close(made("vpe").cpu(), made("cpu"))
    assert torch.addmm(ones("vpe", 1, 1).float(), ones("vpe", 1, 1).float(), ones("vpe", 1, 1).float(), alpha=1e20) > 0


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int32])
@pytest.mark.parametrize("function", [torch.sub, torch.rsub], ids=["sub", "rsub"])
def test_a_difference_adds_minus_alpha_times(
    on: Any, function: Callable[..., torch.Tensor], dtype: torch.dtype
) -> None:
    known = torch.iinfo(dtype)
    for alpha in (known.max, known.max + 1, known.max + 2, known.min - 1, known.min, -known.max):
        found = []
        for place in ("cpu", "vpe"):
            try:
                made = [torch.tensor([1, 2, 5], dtype=dtype).to(place) for _ in range(2)]
                found.append(function(*made, alpha=alpha).cpu().tolist())
            except RuntimeError as error:
                found.append(str(error).splitlines()[0])
        assert found[0] == found[1], alpha
