"""The device `vpe`: tensors, views, copies, errors, and the traps that a device without C++ has."""

from __future__ import annotations

import copy
import gc
import io
import os
import pickle
import subprocess
import sys
import threading
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


@pytest.fixture
def _cpu_kernels() -> None:
    device.enable(fallback="cpu")


def numbers(*shape: int, dtype: Any = torch.float32) -> Any:
    count = int(torch.Size(shape).numel())
    return torch.arange(count).reshape(shape).to(dtype)


def in_fresh_process(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )


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
        elif kind == "as_strided" and here.numel() > 2:
            offset = here.storage_offset()
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
    with pytest.raises(NotImplementedError, match="strided tensors only"):
        torch.empty(2, 2, device="vpe", layout=torch.sparse_coo)
    with pytest.raises(NotImplementedError, match="strided tensors only"):
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


# ---------------------------------------------------------------------- memory


def test_memory_lives_exactly_as_long_as_its_last_user() -> None:
    x = numbers(1000).to("vpe")
    record = device.allocation_of_tensor(x)
    assert record is not None
    view = x[5:]
    del x
    gc.collect()
    assert not record.freed
    host = device.host_view(view)
    del view
    gc.collect()
    assert not record.freed
    assert host[0] == 5
    del host
    gc.collect()
    device.allocator().live()
    assert record.freed


def test_host_view_shares_memory() -> None:
    x = numbers(3, 4).to("vpe").t()[1:]
    host = device.host_view(x)
    assert host.data_ptr() == x.data_ptr()
    assert (host.stride(), host.storage_offset()) == (x.stride(), x.storage_offset())
    host.mul_(10)
    assert x.cpu()[0].tolist() == [10, 50, 90]
    assert not device.host_view(x.detach().requires_grad_()).requires_grad
    with pytest.raises(TypeError, match="not one of cpu"):
        device.host_view(host)


def test_allocations_by_address_and_by_tensor() -> None:
    x = numbers(100).to("vpe")
    record = device.allocation_of(x[50:].data_ptr())
    assert record is device.allocation_of_tensor(x) is device.allocation_of_tensor(x[3:])
    assert record is not None
    assert (record.base, record.nbytes) == (x.data_ptr(), 400)
    assert record.base % 64 == 0
    assert device.allocation_of(x.data_ptr() + 400) is None
    assert device.allocation_of_tensor(torch.empty(0, device="vpe")) is None
    with pytest.raises(TypeError):
        device.allocation_of_tensor(torch.empty(3))


def test_resolver_for_the_simulator() -> None:
    from bringup.vpe import memory

    x = numbers(100).to("vpe")
    buffer = memory.resolve(x[10:], x[10:].data_ptr())
    assert buffer is not None
    assert (buffer.base, buffer.nbytes, buffer.freed, buffer.initialised) == (x.data_ptr(), 400, False, None)
    address = x.data_ptr()
    assert memory.describe(address + 403).startswith("4 bytes after the end of allocation #")
    assert memory.describe(address - 2).startswith("2 bytes before allocation #")
    assert memory.describe(address + 8).startswith("byte 8 of allocation #")
    del x
    gc.collect()
    by_address = memory.resolve(address, address)
    assert by_address is not None
    assert by_address.freed


def test_written_bytes_are_noted() -> None:
    x = torch.empty(4, 4, device="vpe")
    record = device.allocation_of_tensor(x)
    assert record is not None
    assert record.initialised is not None
    assert not record.initialised.any()
    x[1, :2].copy_(torch.ones(2))
    assert record.initialised.reshape(4, 4, 4).any(2).tolist()[1] == [True, True, False, False]
    assert record.initialised.sum() == 8
    partial = device.allocation_of_tensor(x.clone())
    twin = x.clone()
    partial = device.allocation_of_tensor(twin)
    assert partial is not None
    assert partial.initialised is not None
    assert partial.initialised.sum() == 8
    x[:, ::2].copy_(torch.ones(4, 2))
    assert record.initialised.reshape(4, 4, 4).all(2).sum() == 9
    x.copy_(torch.ones(4, 4))
    assert record.initialised is None  # all written: nothing left to check
    device.mark_written(twin)
    assert partial.initialised is None


def test_writes_past_a_tensor_are_found() -> None:
    import ctypes

    x = numbers(25).to("vpe")
    ctypes.memset(x.data_ptr() + 100, 0, 4)
    with pytest.raises(device.DeviceMemoryError, match="red zone after allocation"):
        device.allocator().check()
    ctypes.memset(x.data_ptr() - 1, 0, 1)
    del x
    gc.collect()
    with pytest.raises(device.DeviceMemoryError, match="red zone before"):
        torch.vpe.synchronize()


def test_alignment_follows_the_profile() -> None:
    from bringup.vpe import state

    before = state.profile()
    try:
        device.enable(profile="spyre-like")
        assert all(torch.empty(3, device="vpe").data_ptr() % 128 == 0 for _ in range(8))
        assert torch.vpe.get_device_properties().profile == "spyre-like"
    finally:
        state.set_profile(before)
    assert torch.vpe.get_device_name() == f"vpe {before.name}"


# ---------------------------------------------------------------------- host access


def test_transfers_are_counted() -> None:
    before = copy.copy(device.transfers)
    x = numbers(8).to("vpe")
    x.clone()
    x.cpu()
    x[0].item()
    after = device.transfers
    assert after.to_device - before.to_device == 1
    assert after.within_device - before.within_device == 1
    assert after.to_host - before.to_host == 1
    assert after.items - before.items == 1
    assert after.bytes_to_device - before.bytes_to_device == 32


@pytest.mark.usefixtures("_cpu_kernels")
def test_host_access_can_be_forbidden() -> None:
    x = numbers(2, 3).to("vpe")
    with device.no_host_access("a wrapper runs"):
        for escape in (x.cpu, x.sum, x[0, 0].item, lambda: torch.tensor([1.0], device="vpe"), x.tolist):
            with pytest.raises(device.HostAccessError, match="forbidden here: a wrapper runs"):
                escape()
        assert x.t().clone().shape == (3, 2)
        assert "vpe:0" in repr(x)
        escaped: list[Any] = []
        thread = threading.Thread(target=lambda: escaped.append(pytest.raises(device.HostAccessError, x.cpu)))
        thread.start()
        thread.join()
        assert len(escaped) == 1
        with device.no_host_access("sizes are fine", items=True):
            assert x[1, 1].item() == 4
        with pytest.raises(device.HostAccessError):
            x[1, 1].item()
    assert x.cpu()[1, 1] == 4


# ---------------------------------------------------------------------- torch.vpe


def test_module() -> None:
    assert torch.vpe.is_available()
    assert torch.vpe.device_count() == 1
    assert torch.vpe.current_device() == 0
    assert torch.vpe.is_initialized()
    torch.vpe.set_device(0)
    torch.vpe.set_device("vpe:0")
    torch.vpe.synchronize()
    torch.accelerator.synchronize()
    assert torch.accelerator.current_accelerator() == torch.device("vpe")
    with torch.vpe.device(0):
        assert torch.vpe.current_device() == 0
    for wrong in (1, "vpe:1"):
        with pytest.raises(RuntimeError, match="one device"):
            torch.vpe.set_device(wrong)
    with pytest.raises(ValueError, match="expected a vpe device"):
        torch.vpe.set_device("cpu")
    properties = torch.vpe.get_device_properties()
    assert properties.multi_processor_count == properties.max_grid_height * properties.max_grid_width
    assert torch.vpe.get_device_capability() == (properties.max_grid_height, properties.max_grid_width)
    assert isinstance(torch.vpe.is_bf16_supported(), bool)
    from bringup.vpe.device import module

    assert sys.modules["torch.vpe"] is module
    assert all(hasattr(torch.vpe, name) for name in module.__all__)


def test_memory_statistics() -> None:
    gc.collect()
    before = torch.vpe.memory_allocated()
    torch.vpe.reset_peak_memory_stats()
    x = torch.empty(1000, device="vpe")
    assert torch.vpe.memory_allocated() - before == 4000
    del x
    assert torch.vpe.memory_allocated() == before
    assert torch.vpe.max_memory_allocated() - before == 4000
    statistics = torch.vpe.memory_stats()
    assert statistics["allocated_bytes.all.current"] == before
    assert statistics["allocation.all.allocated"] - statistics["allocation.all.freed"] >= 0
    assert torch.vpe.memory_reserved() >= statistics["quarantined_bytes.all.current"]
    assert "allocated_bytes.all.peak" in torch.vpe.memory_summary()
    torch.vpe.empty_cache()
    assert torch.vpe.memory_stats()["quarantined_bytes.all.current"] == 0
    free, total = torch.vpe.mem_get_info()
    assert 0 < free <= total
    device.allocator().limit = before + 1000
    try:
        assert torch.vpe.mem_get_info() == (1000, before + 1000)
        with pytest.raises(torch.OutOfMemoryError, match="vpe out of memory"):
            torch.empty(1000, device="vpe")
    finally:
        device.allocator().limit = None


def test_generators() -> None:
    generator = torch.Generator("vpe")
    assert generator.device == torch.device("vpe", 0)
    assert torch.Generator().device.type == torch.Generator("cpu").device.type == "cpu"
    assert type(torch.Generator()) is torch._C.Generator
    for one in (generator, torch.Generator(), torch.default_generator):
        assert isinstance(one, torch.Generator)
    assert not isinstance(3, torch.Generator)
    generator.manual_seed(7)
    first = torch.randn(3, generator=generator)
    state = generator.get_state()
    second = torch.randn(3, generator=generator)
    generator.set_state(state)
    assert torch.equal(torch.randn(3, generator=generator), second)
    assert torch.equal(first, torch.randn(3, generator=torch.Generator().manual_seed(7)))
    twin = pickle.loads(pickle.dumps(generator))
    assert twin.device == generator.device
    assert torch.equal(twin.get_state(), generator.get_state())
    assert generator.clone_state().device.type == "vpe"
    with pytest.raises(RuntimeError, match="one device"):
        torch.Generator("vpe:2")


def test_seeds() -> None:
    torch.manual_seed(5)
    assert torch.vpe.initial_seed() == 5
    torch.vpe.manual_seed(6)
    assert torch.vpe.default_generators[0].initial_seed() == 6
    assert isinstance(torch.vpe.default_generators[0], torch.Generator)
    torch.randn(2, generator=torch.vpe.default_generators[0])
    torch.vpe.manual_seed(6)
    state = torch.vpe.get_rng_state()
    torch.vpe.default_generators[0].manual_seed(1)
    torch.vpe.set_rng_state(state)
    assert torch.equal(torch.vpe.get_rng_state(), state)
    with torch.random.fork_rng(device_type="vpe"):
        torch.vpe.manual_seed(99)
    assert torch.equal(torch.vpe.get_rng_state_all()[0], state)
    assert torch.vpe.seed() == torch.vpe.initial_seed()


def test_events_and_streams() -> None:
    import time

    start, end = torch.vpe.Event(enable_timing=True), torch.vpe.Event(enable_timing=True)
    with pytest.raises(ValueError, match="must be recorded"):
        start.elapsed_time(end)
    start.record()
    time.sleep(0.01)
    torch.vpe.current_stream().record_event(end)
    assert 10 <= start.elapsed_time(end) < 5000
    assert end.query()
    with pytest.raises(ValueError, match="enable_timing"):
        start.elapsed_time(torch.vpe.Event())
    with torch.vpe.stream(torch.vpe.Stream()):
        assert torch.vpe.current_stream() == torch.vpe.default_stream()
    assert torch.vpe.current_stream().device == torch.device("vpe", 0)


def test_triton_can_time_functions_on_the_device() -> None:
    from triton.testing import do_bench

    from bringup import vpe

    vpe.activate("permissive")
    try:
        assert do_bench(lambda: torch.empty(10, device="vpe"), warmup=1, rep=2) >= 0
    finally:
        vpe.deactivate()


# ---------------------------------------------------------------------- process


def test_importing_changes_nothing() -> None:
    result = in_fresh_process(
        "import torch, bringup.vpe.device as d\n"
        "assert torch._C._get_privateuse1_backend_name() == 'privateuseone'\n"
        "assert not d.is_enabled() and not hasattr(torch, 'vpe') and torch.Generator is torch._C.Generator\n"
        "assert d.enable() == torch.device('vpe', 0) == d.enable() and d.is_enabled()\n"
    )
    assert result.returncode == 0, result.stderr


def test_importing_triton_and_bringup_does_not_import_the_device() -> None:
    result = in_fresh_process(
        "import sys, triton, bringup.vpe\nassert not [m for m in sys.modules if m.startswith('bringup.vpe.device')]\n"
    )
    assert result.returncode == 0, result.stderr


def test_another_device_in_the_place_is_reported() -> None:
    result = in_fresh_process(
        "import torch; torch.utils.rename_privateuse1_backend('npu')\nfrom bringup.vpe import device; device.enable()\n"
    )
    assert "DeviceUnavailable: this process already has a device 'npu'" in result.stderr


def test_an_unsuitable_torch_is_reported() -> None:
    result = in_fresh_process(
        "import torch; del torch._C._acc.create_empty_tensor\nfrom bringup.vpe import device; device.enable()\n"
    )
    assert "has no torch._C._acc.create_empty_tensor, which the device vpe needs" in result.stderr
    broken = in_fresh_process(
        "import torch; torch._C._acc.create_empty_tensor = lambda *a: torch.empty(0)\n"
        "from bringup.vpe import device; device.enable()\n"
    )
    assert "DeviceUnavailable: the device vpe does not work with torch" in broken.stderr


def test_forked_children_work_and_do_not_disturb_the_parent() -> None:
    x = numbers(3).to("vpe")
    child = os.fork()
    if child == 0:
        status = 1
        try:
            y = torch.tensor([5.0, 6.0, 7.0]).to("vpe")
            x.copy_(y)
            device.allocator().check()
            good = x.cpu().tolist() == [5, 6, 7] and y[1:].clone().cpu().tolist() == [6, 7] and "vpe" in repr(y)
            status = 0 if good else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert x.cpu().tolist() == [0, 1, 2]


def test_many_threads_at_once() -> None:
    wrong: list[int] = []

    def work(number: int) -> None:
        for _ in range(50):
            x = torch.full((64,), float(number)).to("vpe")
            if not torch.equal(x[::2].clone().cpu(), torch.full((32,), float(number))):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
