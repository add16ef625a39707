"""The guard `choices`: which calls it makes of a case, and what it leaves alone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from bringup.judge.guards import choices
from bringup.judge.guards.choices import Place

TOPK = "topk.values(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True, *, Tensor values) -> Tensor"
DIV = "div.out_mode(Tensor self, Tensor other, *, str? rounding_mode, Tensor out) -> Tensor"
MSE = "mse_loss(input: torch.Tensor, target: torch.Tensor, size_average: bool | None = None, reduction: str = 'mean')"
CLAMP = "clamp(input, min=None, max=None, *, out=None) -> Tensor"


def rerun(signature: str, name: str = "x") -> Any:
    words = {
        "self",
        "k",
        "dim",
        "largest",
        "sorted",
        "input",
        "target",
        "size_average",
        "reduction",
        "min",
        "max",
        "keepdim",
    }
    operator = SimpleNamespace(signature=signature, name=name, writes=())
    return SimpleNamespace(operator=operator, parameters=frozenset({*words, "rounding_mode", "other"}))


def case(*args: Any, **kwargs: Any) -> Any:
    return SimpleNamespace(args=args, kwargs=kwargs)


def found(signature: str, one: Any) -> dict[str, Any]:
    return {place.name: place.value for place in choices.places(rerun(signature), one)}


def test_arguments_are_those_given_and_those_left_at_a_default() -> None:
    x = torch.ones(4)
    assert found(TOPK, case(x, 3)) == {"k": 3, "largest": True}
    assert found(TOPK, case(x, 3, 0, False)) == {"k": 3, "dim": 0, "largest": False}
    assert found(MSE, case(x, x, reduction="sum")) == {"size_average": None, "reduction": "sum"}


def test_a_place_puts_another_value_where_it_was() -> None:
    x = torch.ones(4)
    given = {place.name: place for place in choices.places(rerun(TOPK), case(x, 3, 0, False))}
    args, kwargs = given["largest"].put(True)
    assert args[1:] == (3, 0, True)
    assert kwargs == {}
    left = {place.name: place for place in choices.places(rerun(TOPK), case(x, 3))}
    args, kwargs = left["largest"].put(False)
    assert args[1:] == (3,)
    assert kwargs == {"largest": False}


def test_flags_of_another_overload_are_left_alone() -> None:
    legit = "f(Tensor input, Tensor running_mean, Tensor running_var, bool training) -> Tensor"
    assert found(legit, case(torch.ones(2), True)) == {}


def test_a_flag_of_another_alternative_is_not_asked_for_where_pytorch_takes_a_tensor_for_a_number() -> None:
    least = "min(input, dim, keepdim=False, *, out=None) -> Tensor; min(input, other, *, out=None) -> Tensor"
    x = torch.ones(4, 2)
    assert found(least, case(x, torch.tensor(1))) == {}
    assert found(least, case(x, torch.ones(2))) == {"keepdim": False}  # which PyTorch refuses
    assert found(least, case(x, 1)) == {"dim": 1, "keepdim": False}


@pytest.mark.parametrize(
    ("place", "wanted"),
    [
        (("largest", True), [False]),
        (("rounding_mode", "floor"), ["trunc", None]),
        (("rounding_mode", None), ["trunc", "floor"]),
        (("reduction", "mean"), ["none", "sum"]),
        (("reduction", 1), [0, 2]),
        (("size_average", None), []),
        (("k", 3), []),
        (("alpha", 0.5), []),
        (("equation", "ij,jk"), []),
    ],
)
def test_what_else_an_argument_may_be(place: tuple[str, Any], wanted: list[Any]) -> None:
    name, value = place
    known = choices.words_of(rerun(MSE), [])
    assert choices.others(Place(name, value, lambda other: ((), {})), known) == wanted


def test_an_operator_with_words_of_its_own_has_no_others() -> None:
    signature = "segment_reduce(Tensor data, str reduce, *, int axis=0) -> Tensor"
    own = choices.words_of(rerun(signature), [case(torch.ones(2), "max"), case(torch.ones(2), "sum")])
    assert list(own["reduce"]) == ["max", "sum"]
    shared = choices.words_of(rerun(signature), [case(torch.ones(2), "sum")])
    assert "amax" in shared["reduce"]


def test_a_number_stands_for_a_tensor_where_an_overload_takes_one_there() -> None:
    assert choices.takes_numbers(rerun(DIV, "div.out_mode"), 1)
    assert not choices.takes_numbers(rerun("maximum.out(Tensor self, Tensor other, *, Tensor out)", "maximum.out"), 1)
    assert not choices.takes_numbers(
        rerun("isin.Tensor_Tensor_out(Tensor elements, Tensor test_elements, *, Tensor out)", "isin.Tensor_Tensor_out"),
        1,
    )


def test_optional_numbers_may_be_left_out_one_at_a_time() -> None:
    x = torch.ones(2)
    assert choices.optional(rerun(CLAMP), case(x, 1.0, 2.0)) == ["min", "max"]
    assert choices.optional(rerun(CLAMP), case(x, 1.0)) == []  # nothing would be left


def test_scalars_are_those_of_a_schema() -> None:
    assert choices.scalars_of(rerun("clamp.out(Tensor self, Scalar? min=None, float eps=1.0) -> Tensor")) == {"min"}
    assert choices.scalars_of(rerun(CLAMP)) is None
