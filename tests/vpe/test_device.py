"""The device `vpe`: tensors, views, copies, and the traps that a device without C++ has."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bringup.vpe import device

DTYPES = [
    torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int8, torch.int16, torch.int32, torch.int64,
    torch.uint8, torch.bool, torch.complex64, torch.float8_e4m3fn, torch.float8_e5m2, torch.uint16, torch.uint32,
]  # fmt: skip


@pytest.fixture(autouse=True)
def _enabled() -> Iterator[None]:
    device.enable()
    yield
    device.enable()
    device.allocator().check()


def numbers(*shape: int, dtype: Any = torch.float32) -> Any:
    count = int(torch.Size(shape).numel())
    return torch.arange(count).reshape(shape).to(dtype)


# ---------------------------------------------------------------------- making and copying


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_there_and_back(dtype: Any) -> None:
    here = numbers(3, 5, dtype=dtype)
    there = here.to("vpe")
    assert there.device == torch.device("vpe", 0)
    assert (there.dtype, there.shape, there.stride()) == (here.dtype, here.shape, here.stride())
    back = there.cpu()
    assert back.device.type == "cpu"
    assert torch.equal(back.view(torch.uint8), here.view(torch.uint8))


@given(
    st.lists(st.integers(0, 4), max_size=4),
    st.sampled_from([torch.float32, torch.int64, torch.bfloat16]),
    st.data(),
)
@settings(max_examples=80, deadline=None)
def test_views_agree_with_the_cpu(shape: list[int], dtype: Any, data: Any) -> None:
    here = numbers(*shape, dtype=dtype)
    there = here.to("vpe")
    for _ in range(3):
        kind = data.draw(
            st.sampled_from(["permute", "slice", "unsqueeze", "expand", "select", "flatten", "as_strided"])
        )
        if kind == "permute":
            order = data.draw(st.permutations(range(here.dim())))
            here, there = here.permute(order), there.permute(order)
        elif kind == "slice" and here.dim():
            axis, step = data.draw(st.integers(0, here.dim() - 1)), data.draw(st.integers(1, 3))
            index = tuple(slice(1, None, step) if i == axis else slice(None) for i in range(here.dim()))
            here, there = here[index], there[index]
        elif kind == "unsqueeze":
            here, there = here.unsqueeze(0), there.unsqueeze(0)
        elif kind == "expand" and here.dim() and here.shape[0] == 1:
            size = (3, *here.shape[1:])
            here, there = here.expand(size), there.expand(size)
        elif kind == "select" and here.dim() and here.shape[0] > 0:
            here, there = here[-1], there[-1]
        elif kind == "flatten":
            here, there = here.reshape(-1), there.reshape(-1)
        elif kind == "as_strided":
            offset = here.storage_offset()
            if here.untyped_storage().nbytes() < (offset + 2) * here.itemsize:
                continue
            here, there = here.as_strided((2,), (1,), offset), there.as_strided((2,), (1,), offset)
        assert there.shape == here.shape
        assert there.stride() == here.stride()
        assert there.storage_offset() == here.storage_offset()
        assert torch.equal(there.cpu(), here)
        assert torch.equal(device.host_view(there), here)


def test_factories_that_need_no_kernel() -> None:
    assert torch.empty(2, 3, device="vpe").stride() == (3, 1)
    assert torch.empty(0, 3, device="vpe").numel() == 0
    assert torch.empty((), device="vpe").shape == ()
    assert torch.empty(2, 3, 4, 5, device="vpe", memory_format=torch.channels_last).stride() == (60, 1, 15, 3)
    assert torch.empty_strided((2, 3), (1, 4), device="vpe").stride() == (1, 4)
    assert torch.tensor([[1, 2], [3, 4]], device="vpe").cpu().tolist() == [[1, 2], [3, 4]]
    assert torch.as_tensor([1.5], device="vpe").cpu().item() == 1.5
    x = numbers(2, 3).to("vpe").t()
    assert torch.empty_like(x).stride() == (1, 3)
    assert x.new_empty(7).device == x.device
    assert torch.empty(2, dtype=torch.int32, device="vpe").dtype == torch.int32
    with torch.device("vpe"):
        assert torch.empty(2).device.type == "vpe"
        assert torch.tensor([1.0]).device.type == "vpe"
    torch.set_default_device("vpe")
    try:
        assert torch.empty(2).device.type == "vpe"
        assert device.host_view(torch.empty(2)).device.type == "cpu"
    finally:
        torch.set_default_device(None)


def test_never_written_memory_is_nan() -> None:
    assert torch.empty(64, device="vpe").cpu().isnan().all()
    assert torch.empty(64, device="vpe", dtype=torch.bfloat16).cpu().isnan().all()
    assert (torch.empty(64, device="vpe", dtype=torch.int32).cpu() == -1).all()


def test_copies_convert_broadcast_and_respect_strides() -> None:
    there = torch.empty(3, 4, device="vpe")
    there.copy_(torch.arange(4))
    assert there.cpu().tolist() == [[0, 1, 2, 3]] * 3
    there[:, ::2].copy_(torch.tensor([[9.0], [8.0], [7.0]]))
    assert there.cpu()[1].tolist() == [8, 1, 8, 3]
    assert there.to(torch.float16).dtype == torch.float16
    assert there.t().contiguous().stride() == (3, 1)
    clone = there.t().clone()
    assert torch.equal(clone.cpu(), there.cpu().t())
    here = torch.zeros(3, 4, dtype=torch.int64)
    here.copy_(there)
    assert here[1].tolist() == [8, 1, 8, 3]
    there[1] = torch.ones(4)
    assert there.cpu()[1].tolist() == [1, 1, 1, 1]


def test_non_blocking_copies_do_not_ask_for_pinned_memory() -> None:
    x = numbers(4).to("vpe", non_blocking=True)
    assert x.to("cpu", non_blocking=True).tolist() == [0, 1, 2, 3]
    assert torch.empty(4).copy_(x, non_blocking=True).tolist() == [0, 1, 2, 3]
    assert x.to("cpu", torch.float64, non_blocking=True).dtype == torch.float64


def test_to_keeps_what_needs_no_copy() -> None:
    x = numbers(4).to("vpe")
    assert x.to("vpe") is x
    assert x.to("vpe", copy=True).data_ptr() != x.data_ptr()
    assert x.vpe() is x
    assert x.is_vpe
    assert not x.cpu().is_vpe
    assert x.cpu().vpe().is_vpe


def test_values_on_the_host() -> None:
    x = numbers(2, 3).to("vpe")
    assert x[1, 2].item() == 5
    assert float(x[0, 1]) == 1.0
    assert bool(x[0, 1])
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(TypeError, match="can't convert vpe:0 device type tensor to numpy"):
        x.numpy()


def test_printing_needs_no_kernel() -> None:
    x = numbers(2, 3).to("vpe")
    assert repr(x) == "tensor([[0., 1., 2.],\n        [3., 4., 5.]], device='vpe:0')"
    assert "dtype=torch.bfloat16" in repr(x.to(torch.bfloat16)[:, ::2])
    assert repr(torch.empty(0, 3, device="vpe")) == "tensor([], device='vpe:0', size=(0, 3))"
    assert "requires_grad=True" in repr(x.requires_grad_())
    assert repr(torch.nn.Parameter(numbers(2).to("vpe"))).startswith("Parameter containing:\ntensor([0., 1.], device=")
    assert "1.-0.j" in repr(torch.ones(1, dtype=torch.complex64).to("vpe").conj())
    assert f"{x[0, 1].detach():.2f}" == "1.00"
    plain = x.detach()
    expected = repr(plain)
    torch.set_default_device("vpe")
    try:
        assert repr(plain) == expected
    finally:
        torch.set_default_device(None)


# ---------------------------------------------------------------------- no kernels, no fallback


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda x: x + 1, "aten::add.out"),
        (lambda x: x.mul_(2), "aten::mul.out"),
        (lambda x: x.sum(), "aten::sum.IntList_out"),
        (lambda x: x @ x.t(), "aten::mm.out"),
        (lambda x: torch.zeros(3, device="vpe"), "aten::zero_"),
        (lambda x: x.fill_(1), "aten::fill_.Scalar"),
        (lambda x: torch.softmax(x, 0), "aten::_softmax.out"),
        (torch.relu, "aten::relu"),
        (lambda x: x[x > 0], "aten::gt.Scalar_out"),
        (lambda x: torch.equal(x, x), "aten::equal"),
        (lambda x: torch.randn(3, device="vpe"), "aten::normal_"),
        (lambda x: torch.nn.functional.layer_norm(x, (3,)), "aten::native_"),
        (lambda x: torch.cat([x, x]), "aten::cat.out"),
        (lambda x: torch.exp(x, out=x), "aten::exp.out"),
        (torch.linalg.svd, "aten::_linalg_svd.U"),
    ],
)
def test_an_operator_without_a_kernel_fails_with_its_name(call: Any, name: str) -> None:
    with pytest.raises(NotImplementedError) as caught:
        call(numbers(2, 3).to("vpe"))
    assert f"vpe has no kernel for {name}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_convolution_fails_too() -> None:
    with pytest.raises(NotImplementedError, match="convolution"):
        torch.nn.functional.conv2d(torch.empty(1, 1, 3, 3, device="vpe"), torch.empty(1, 1, 2, 2, device="vpe"))


def test_mixed_devices_and_wrong_indices() -> None:
    with pytest.raises(RuntimeError, match="there is one device vpe:0"):
        torch.empty(2, device="vpe:1")
    with pytest.raises(NotImplementedError, match=r"no kernel for .* of sparse or quantized tensors"):
        torch.empty(2, 2, device="vpe", layout=torch.sparse_csr)
    with pytest.raises(NotImplementedError, match=r"no kernel for .* of sparse or quantized tensors"):
        torch.empty(2, device="vpe", dtype=torch.quint8)
    with pytest.raises(torch.OutOfMemoryError, match="the host refuses"):
        torch.empty(1 << 50, device="vpe")
    with pytest.raises(RuntimeError, match="negative dimension"):
        torch.empty(-1, device="vpe")
    with pytest.raises(ValueError, match="fallback is None or 'cpu'"):
        device.enable(fallback="gpu")


# ---------------------------------------------------------------------- storages, resizing, serialisation


def test_storages() -> None:
    storage = torch.UntypedStorage(16, device="vpe")
    assert storage.device.type == "vpe"
    assert storage.nbytes() == 16
    assert storage.tolist() == [255] * 16
    assert torch.UntypedStorage([1, 2, 3], device="vpe").cpu().tolist() == [1, 2, 3]
    assert torch.UntypedStorage(0, device="vpe").nbytes() == 0
    assert torch.UntypedStorage(8).device.type == "cpu"
    with pytest.raises(RuntimeError, match="one device"):
        torch.UntypedStorage(8, device="vpe:3")
    x = numbers(4).to("vpe")
    assert x.untyped_storage().clone().nbytes() == 16
    assert x.untyped_storage().cpu().nbytes() == 16
    assert x.untyped_storage().is_vpe
    with pytest.raises(NotImplementedError):
        x.untyped_storage().resize_(1000)


def test_set_and_resize() -> None:
    x = numbers(3, 4).to("vpe")
    y = torch.empty(0, device="vpe").set_(x.untyped_storage(), 2, (2, 2), (4, 1))
    assert y.cpu().tolist() == [[2, 3], [6, 7]]
    assert torch.empty(0, device="vpe").set_(x).is_set_to(x)
    assert torch.empty(0, device="vpe").set_(x.untyped_storage()).shape == (12,)
    assert x.clone().set_().numel() == 0
    with pytest.raises(RuntimeError, match="needs more than the 48 bytes"):
        torch.empty(0, device="vpe").set_(x.untyped_storage(), 0, (100,), (1,))
    with pytest.raises(RuntimeError, match="cannot use a storage of cpu"):
        torch.empty(0, device="vpe").set_(torch.zeros(3).untyped_storage())
    with pytest.raises(RuntimeError, match="out of bounds"):
        x.as_strided((100,), (1,))
    assert x.clone().resize_(2, 2).cpu().tolist() == [[0, 1], [2, 3]]
    grown = x.clone().resize_(4, 4)
    assert grown.cpu().flatten()[:12].tolist() == list(range(12))
    assert grown.cpu().flatten()[12:].isnan().all()
    assert torch.empty(0, device="vpe").resize_(2, 3, 4, 5, memory_format=torch.channels_last).stride() == (
        60,
        1,
        15,
        3,
    )
    assert torch.empty(0, device="vpe").resize_as_(x).shape == x.shape


def test_views_by_dtype_and_of_complex_numbers() -> None:
    x = numbers(4).to("vpe")
    assert torch.equal(x.view(torch.int32).cpu(), x.cpu().view(torch.int32))
    assert x.view(torch.uint8).shape == (16,)
    z = torch.randn(4, dtype=torch.complex64)
    there = z.to("vpe")
    assert torch.equal(torch.view_as_real(there).cpu(), torch.view_as_real(z))
    assert torch.equal(torch.view_as_complex(torch.view_as_real(there)).cpu(), z)
    assert torch.equal(there.imag.cpu(), z.imag)
    assert torch.equal(x.unfold(0, 2, 1).cpu(), x.cpu().unfold(0, 2, 1))


def test_lazy_conjugate_and_negative_bits() -> None:
    """Torch's own way to resolve them recurses without end on a device like this one."""
    z = torch.randn(4, dtype=torch.complex64)
    there = z.to("vpe")
    assert there.conj().is_conj()
    for result in (there.conj().clone(), there.conj().resolve_conj(), z.conj().to("vpe"), there.conj()):
        assert torch.equal(result.cpu().resolve_conj(), z.conj().resolve_conj())
    assert torch.equal(there.conj().imag.clone().cpu(), z.conj().imag.resolve_neg())
    target = torch.empty(4, dtype=torch.complex64, device="vpe").conj()
    target.copy_(there)
    assert torch.equal(target.cpu().resolve_conj(), z)


def test_deepcopy_pickle_and_saving() -> None:
    x = numbers(3, 4).to("vpe")
    for twin in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert twin.device == x.device
        assert twin.data_ptr() != x.data_ptr()
        assert torch.equal(twin.cpu(), x.cpu())
    file = io.BytesIO()
    torch.save({"x": x, "view": x.t(), "parameter": torch.nn.Parameter(x)}, file)
    for place, expected in ((None, "vpe"), ("cpu", "cpu"), ("vpe", "vpe"), (torch.device("vpe", 0), "vpe")):
        file.seek(0)
        loaded = torch.load(file, map_location=place)
        assert loaded["x"].device.type == expected
        assert loaded["view"].untyped_storage().data_ptr() == loaded["x"].untyped_storage().data_ptr()
        assert torch.equal(loaded["view"].cpu(), x.t().cpu())
    host = io.BytesIO()
    torch.save(numbers(3), host)
    host.seek(0)
    assert torch.load(host, map_location="vpe").cpu().tolist() == [0, 1, 2]


def test_modules_keep_tied_weights() -> None:
    class Tied(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = torch.nn.Embedding(5, 4)
            self.head = torch.nn.Linear(4, 5, bias=False)
            self.head.weight = self.embedding.weight

    module = Tied()
    values = module.head.weight.detach().clone()
    optimiser = torch.optim.SGD(module.parameters())
    module.to("vpe")
    assert module.head.weight is module.embedding.weight
    assert module.head.weight.device.type == "vpe"
    assert torch.equal(module.head.weight.cpu(), values)
    assert optimiser.param_groups[0]["params"][0] is module.head.weight
    twin = copy.deepcopy(module)
    assert twin.head.weight is twin.embedding.weight
    module.cpu()
    assert module.head.weight is module.embedding.weight
    module.load_state_dict(twin.state_dict())
    assert torch.nn.Linear(2, 2).vpe().weight.is_vpe
