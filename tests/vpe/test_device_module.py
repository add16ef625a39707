"""The device `vpe`: `torch.vpe`, generators, events, and the process around it."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
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


def numbers(*shape: int, dtype: Any = torch.float32) -> Any:
    count = int(torch.Size(shape).numel())
    return torch.arange(count).reshape(shape).to(dtype)


def in_fresh_process(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    # Whether torch loads the device by itself is the library's affair (tests/library/test_autoload.py).
    environment = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", **environment}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)


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


@pytest.mark.long
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


@pytest.mark.parametrize("workers", [0, 1])
def test_data_loaders_may_pin_memory(workers: int) -> None:
    assert torch.equal(torch.arange(3).pin_memory(), torch.arange(3))
    data = torch.utils.data.TensorDataset(torch.arange(6.0))
    loader = torch.utils.data.DataLoader(data, batch_size=3, pin_memory=True, num_workers=workers)
    moved = [batch.to("vpe", non_blocking=True).cpu().tolist() for (batch,) in loader]
    assert moved == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
