"""The audit's family of what samples have apart, put together: plausible mistakes that no other family noticed."""

from __future__ import annotations

from typing import Any

import torch
from families_testkit import family, noticed
from torch.nn import functional as F


def titles(name: str, dtype: str = "float32") -> set[str]:
    return {case.title for case in family(name, "combined", dtype)}


def test_options_of_two_samples_are_given_together() -> None:
    def smoothing_has_no_weights(input: Any, target: Any, **options: Any) -> torch.Tensor:
        if options.get("weight") is not None and options.get("label_smoothing"):
            options = {**options, "weight": None}
        return F.cross_entropy(input, target, **options)

    assert noticed(family("nn.functional.cross_entropy", "combined"), smoothing_has_no_weights)


def test_each_special_value_stands_beside_each() -> None:
    def positive_nans(input: Any, other: Any, **options: Any) -> torch.Tensor:
        sign = other if isinstance(other, torch.Tensor) else torch.tensor(float(other))
        return torch.copysign(input, torch.where(sign.isnan(), sign.abs(), sign), **options)

    assert "combined: special values beside each other" in noticed(family("copysign", "combined"), positive_nans)

    def zero_wins(input: Any, other: Any, **options: Any) -> torch.Tensor:
        found = torch.special.xlog1py(input, other, **options)
        both = torch.as_tensor(other)
        return torch.where(both == 0, torch.zeros_like(found), found)

    assert noticed(family("special.xlog1py", "combined"), zero_wins)


def test_an_axis_without_elements_is_reduced() -> None:
    def unwritten(input: torch.Tensor, mat2: torch.Tensor, **options: Any) -> torch.Tensor:
        found = torch.bmm(input, mat2, **options)
        return found if input.shape[2] else torch.full_like(found, 7.0)

    assert len(set(noticed(family("bmm", "combined"), unwritten))) == 1


def test_a_length_of_one_is_not_broadcast_where_pytorch_refuses() -> None:
    def broadcasts(input: torch.Tensor, mat2: torch.Tensor, **options: Any) -> torch.Tensor:
        return torch.matmul(input, mat2, **options)

    assert "combined: argument 0, axis 0: length 1" in noticed(family("bmm", "combined"), broadcasts)


def test_an_out_with_as_many_elements_gets_the_results_shape() -> None:
    def keeps(input: torch.Tensor, *, out: torch.Tensor | None = None) -> torch.Tensor:
        found = torch.log10(input)
        return found if out is None else out.copy_(found.reshape(out.shape))

    assert noticed(family("log10", "combined"), keeps) == ["combined: out= of another shape with as many elements"]


def test_in_place_of_a_transposed_tensor() -> None:
    def contiguous_only(input: torch.Tensor, inplace: bool = False) -> torch.Tensor:
        return F.hardsigmoid(input, inplace=inplace and input.is_contiguous())

    cases = family("nn.functional.hardsigmoid", "combined")
    assert [case.requires for case in cases if "transposed" in case.title] == ["inplace"]
    for case in cases:
        if "transposed" in case.title:
            given = case.args[0].clone(memory_format=torch.preserve_format)
            assert not given.is_contiguous()
            contiguous_only(given, inplace=True)
            assert torch.equal(given, case.args[0])  # which the judge compares with what PyTorch has written


def test_casts_wrap_integers_and_keep_what_a_dtype_holds() -> None:
    def clamps(input: torch.Tensor, *args: Any, **options: Any) -> torch.Tensor:
        dtypes = [one for one in (*args, *options.values()) if isinstance(one, torch.dtype)]
        if dtypes and dtypes[0] is torch.int32:
            input = input.clamp(-(2**31), 2**31 - 1)
        return input.to(*args, **options)

    cases = family("to", "combined", "int64")
    assert noticed(cases, clamps) == ["combined: numbers around the limits of int32"]
    assert "combined: numbers around the limits of bool" in titles("to")


def test_what_every_sample_gives_is_left_out_where_it_has_a_default() -> None:
    def other_default(*tensors: Any, indexing: Any = None) -> Any:
        return torch.meshgrid(*tensors, indexing="xy" if indexing is None else indexing)

    assert noticed(family("meshgrid", "combined"), other_default) == ["combined: without indexing, which samples give"]
    assert not any("without argument" in title for title in titles("histogram"))  # `bins` has no default
