"""References are given results and indices that lie well, and what is right comes back to where these lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from bringup.accuracy import Standard
from bringup.judge._plain_outs import with_plain_outs
from bringup.suites import CaseInputs
from bringup.verdict import CaseId


def plain(reference: Callable[..., Any], names: tuple[str, ...] = ("out",), **kwargs: Any) -> CaseInputs:
    case = CaseId(operator="one", dtype="float32", index=0, seed=0)
    standard = Standard("tril", reference, "float32")
    inputs = CaseInputs(case=case, variant="", args=(), kwargs=kwargs, reference=reference, standard=standard)
    return with_plain_outs(inputs, names)


def seen(*args: Any, **kwargs: Any) -> Any:
    return [t.is_contiguous() for t in (*args, *kwargs.values()) if isinstance(t, torch.Tensor)]


def laid(*shape: int) -> torch.Tensor:
    order = [*range(1, len(shape)), 0]
    made = torch.zeros([shape[d] for d in order])
    return made.permute([order.index(d) for d in range(len(shape))])


@pytest.mark.parametrize("shape", [(4, 5), (2, 3, 4, 5), (3, 3, 3, 3)])
def test_an_out_gets_the_result_wherever_it_lies(shape: tuple[int, ...]) -> None:
    out, x = laid(*shape), torch.randn(shape)
    stride = out.stride()
    result = plain(torch.tril, out=out).reference(x, 1, out=out)
    assert result is out
    assert out.stride() == stride
    assert torch.equal(out, torch.tril(x, 1))


def test_the_exact_reference_is_given_the_same() -> None:
    out, x = laid(2, 3, 4, 5).double(), torch.randn(2, 3, 4, 5).double()
    standard = plain(torch.tril, out=out).standard
    assert standard is not None
    assert torch.equal(standard.reference(x, 1, out=out), torch.tril(x, 1))


def test_an_out_of_another_size_is_resized() -> None:
    out, x = laid(4, 5), torch.randn(2, 3)
    assert plain(torch.tril, out=out).reference(x, out=out) is out
    assert torch.equal(out, torch.tril(x))


def test_indices_lie_well_and_data_as_they_do() -> None:
    x, index = torch.randn(5, 4).mT, torch.zeros(5, 4, dtype=torch.int64).mT
    inputs = plain(seen, (), x=x, index=index)
    assert inputs.reference(x, index=index) == [False, True]
    assert inputs.reference(torch.zeros(4, 5, dtype=torch.int64), index=index) == [True, False]  # integers are the data


def test_what_shares_memory_stays() -> None:
    whole = torch.randn(4, 4)
    inputs = plain(seen, out=whole.mT)
    assert inputs.reference(whole, out=whole.mT) == [True, False]
    assert inputs.reference(torch.ones(1).expand(4), out=torch.ones(1).expand(4)) == [False, False]


def test_a_view_of_an_argument_is_its_own() -> None:
    x, index = torch.randn(3), torch.arange(20).reshape(5, 4).mT
    result = plain(lambda x, index: index[1:], ()).reference(x, index)
    assert result.untyped_storage()._cdata == index.untyped_storage()._cdata


def test_wrapping_twice_is_wrapping_once() -> None:
    once = plain(seen, out=torch.ones(2))
    assert with_plain_outs(once, ("out",)) is once
    other = with_plain_outs(once, ("result",))
    assert other.reference(torch.ones(2), out=laid(3, 4)) == [True, False]


def test_how_indices_lie_is_refused_where_pytorch_refuses_it() -> None:
    x, index = torch.randn(5, 4), torch.zeros(5, 4, dtype=torch.int64).mT
    reference = plain(torch.take_along_dim, (), x=x, index=index).reference
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        reference(x, index)
    assert torch.equal(reference(x.T, index, 1), torch.take_along_dim(x.T, index.contiguous(), 1))
