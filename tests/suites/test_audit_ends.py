"""The audit's families of ends of ranges and of places: changes of right kernels that no other family noticed."""

from __future__ import annotations

from typing import Any

import torch
from families_testkit import family, noticed
from torch.nn import functional as F


def test_wide_whole_numbers_and_the_ends_of_float32_go_into_float64() -> None:
    def of_52_bits(input: Any, other: Any, *, out: Any = None, **options: Any) -> torch.Tensor:
        result = torch.add(input, other, **options)
        wide = out is not None and out.dtype is torch.float64
        kept = (result.abs() % (1 << 52)) * result.sign()
        return result if out is None else out.copy_(kept if wide else result)

    assert noticed(family("add", "ends", "int64"), of_52_bits) == [
        "ends: whole numbers of 52 to 62 bits into out= of float64"
    ]

    def flushes(input: Any, other: Any, *, out: Any = None, **options: Any) -> torch.Tensor:
        result = torch.add(input, other, **options)
        if out is not None and out.dtype is torch.float64:
            result = torch.where(result.abs() > 1e38, torch.zeros_like(result), result)
        return result if out is None else out.copy_(result)

    assert any("near its ends" in title for title in noticed(family("add", "ends"), flushes))


def test_two_tensors_without_dimension_are_compared_as_float64() -> None:
    def as_float32(input: Any, other: Any) -> torch.Tensor:
        return torch.gt(*(one.float() if one.dtype is torch.float64 else one for one in (input, other)))

    found = noticed(family("gt", "ends"), as_float32)
    assert {title.split(",")[0] for title in found} >= {"ends: two without dimension"}


def test_degrees_are_infinite_and_options_far() -> None:
    def of_finite_degree(*args: Any, p: Any = 2.0, **options: Any) -> torch.Tensor:
        return F.triplet_margin_loss(*args, p=min(max(p, -8.0), 8.0), **options)

    found = noticed(family("nn.functional.triplet_margin_loss", "ends"), of_finite_degree)
    assert {"ends: p inf", "ends: p minus inf"} <= set(found)

    def near(input: Any, negative_slope: float = 0.01, inplace: bool = False) -> torch.Tensor:
        return F.leaky_relu(input, min(max(negative_slope, -1e6), 1e6), inplace)

    assert any("negative_slope 3e+38" in title for title in noticed(family("nn.functional.leaky_relu", "ends"), near))


def test_whole_numbers_have_many_bits_where_results_are_floats() -> None:
    def by_halves(input: Any, **options: Any) -> Any:
        return torch.gradient(input.half(), **options)

    assert noticed(family("gradient", "ends", "int32"), by_halves)


def test_fractions_among_whole_numbers_are_cut() -> None:
    def floors(input: Any, mask: Any, value: Any) -> torch.Tensor:
        return torch.masked_fill(input, mask, torch.tensor(value).floor().to(input.dtype))

    assert any("minus 1.5" in title for title in noticed(family("masked_fill", "ends", "int32"), floors))


def test_one_element_is_a_matrix_whatever_its_size() -> None:
    def squares(a: torch.Tensor, UPLO: str = "L") -> torch.Tensor:
        values = torch.linalg.eigvalsh(a, UPLO)
        return (values * values).sqrt() * values.sign() if a.shape[-1] == 1 else values

    assert len(noticed(family("linalg.eigvalsh", "ends"), squares)) == 3


def test_places_are_counted_from_the_end_and_sizes_are_0() -> None:
    def counts(input: torch.Tensor, places: Any) -> Any:
        if isinstance(places, list | tuple) and len(places) > 1:
            places = [max(one, 0) for one in places]
        return torch.vsplit(input, places)

    assert any("counted from the end" in title for title in noticed(family("vsplit", "places"), counts))

    def takes_zero(indices: torch.Tensor, shape: Any) -> Any:
        return (
            tuple(torch.zeros_like(indices) for _ in shape)
            if 0 in tuple(shape)
            else torch.unravel_index(indices, shape)
        )

    assert any("with 0" in title for title in noticed(family("unravel_index", "places", "int32"), takes_zero))


def test_one_axis_is_alone_of_length_1() -> None:
    def skips_rows(input: torch.Tensor, grid: Any, *args: Any, **options: Any) -> torch.Tensor:
        result = F.grid_sample(input, grid, *args, **options)
        return result * 0 if input.shape[-2] == 1 and input.shape[-1] > 1 else result

    found = noticed(family("nn.functional.grid_sample", "places"), skips_rows)
    assert any("argument 0, axis -2 alone" in title for title in found)


def test_matrices_are_wide_and_tall() -> None:
    def narrow(a: torch.Tensor, *args: Any, **options: Any) -> Any:
        if a.shape[-1] > 7:
            a = torch.cat((a[..., :7], a[..., 7:] * 0), -1)
        return torch.linalg.qr(a, *args, **options)

    assert len(noticed(family("linalg.qr", "places"), narrow)) >= 3
