"""The device `vpe`: lifetime and bounds of memory, what simulators and judges ask, host access."""

from __future__ import annotations

import copy
import gc
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from bringup.vpe import device


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
    assert memory.describe(address + 403).startswith("3 bytes past the end of allocation #")
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

        def escape_by_thread() -> None:
            with pytest.raises(device.HostAccessError) as caught:
                x.cpu()
            escaped.append(caught.value)

        thread = threading.Thread(target=escape_by_thread)
        thread.start()
        thread.join()
        assert len(escaped) == 1
        with device.no_host_access("sizes are fine", items=True):
            assert x[1, 1].item() == 4
        with pytest.raises(device.HostAccessError):
            x[1, 1].item()
    assert x.cpu()[1, 1] == 4
