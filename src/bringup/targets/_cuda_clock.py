"""The clock of an NVIDIA GPU: CUDA events, a cache that is written over, what the driver says of clocks and heat."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import shutil
import subprocess
import time
from collections.abc import Callable
from typing import Any

LEAST_FLUSHED = 64 << 20  # bytes: where the size of the cache is not known
FLUSHED = 2  # times the cache
LEAST_HOLD, MOST_HOLD = 2e-5, 0.05  # seconds
HOLD = 1.5  # times the seconds that queueing took before
SMI_SECONDS = 10
_SM, _MEMORY = 1, 2  # clock domains of NVML
_GPU_TEMPERATURE = 0
# Bits of NVML's clock event reasons that slow a busy GPU down.
REASONS = {
    0x4: "power cap", 0x8: "hardware slowdown", 0x20: "heat (software)", 0x40: "heat (hardware)", 0x80: "power brake",
}  # fmt: skip


class CudaStopwatch:
    """Times what is queued on one GPU's stream."""

    def __init__(self, gpu: Any, number: int, synchronize: Callable[[], None]) -> None:
        """`gpu` is the engine's, `number` the device's; `synchronize` waits and raises faults."""
        import torch

        self.gpu, self.number, self._synchronize = gpu, number, synchronize
        self.device = gpu.device
        properties = torch.cuda.get_device_properties(number)
        cache = int(getattr(properties, "L2_cache_size", 0) or 0)
        self._cache = torch.empty(max(FLUSHED * cache, LEAST_FLUSHED), dtype=torch.uint8, device=gpu.device)
        # Half of the clock's usual rate: a hold that is longer than asked for costs nothing but its time.
        self._cycles_a_second = float(getattr(properties, "clock_rate", 0) or 1_500_000) * 1e3
        self._bus = _bus_id(gpu.driver)

    def elapsed(self, body: Callable[[], object], queueing: float, flush: bool) -> tuple[float, float]:
        """Seconds on the device, by events around what `body` queues; see `bringup.device.Stopwatch`."""
        import torch

        if flush:
            self._cache.zero_()
        hold = min(max(HOLD * queueing, LEAST_HOLD), MOST_HOLD)
        torch.cuda._sleep(int(hold * self._cycles_a_second))
        driver, stream = self.gpu.driver, self.gpu.stream
        before = driver.mark(stream)
        after = 0
        try:
            began = time.perf_counter()
            body()
            queued = time.perf_counter() - began
            after = driver.mark(stream)
            self._synchronize()
            return driver.microseconds(before, after) * 1e-6, queued
        finally:
            driver.forget(before)
            if after:
                driver.forget(after)

    def health(self) -> dict[str, Any]:
        """From NVML, else from nvidia-smi, else why neither can be asked."""
        nvml = _nvml()
        if isinstance(nvml, str):
            return _from_smi(self._bus, nvml)
        return _from_nvml(nvml, self._bus)


def _bus_id(driver: Any) -> bytes:
    """The PCI bus id, by which NVML and nvidia-smi know a device whatever CUDA_VISIBLE_DEVICES hides."""
    text = ctypes.create_string_buffer(32)
    driver.cuda.cuDeviceGetPCIBusId(text, 32, ctypes.c_int(driver.device))
    return text.value


@functools.cache
def _nvml() -> Any:
    """NVIDIA's management library, or why there is none."""
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
        code = library.nvmlInit_v2()
    except (OSError, AttributeError) as error:
        return f"NVML: {error}"
    return library if code == 0 else f"NVML does not start (error {code})"


def _from_nvml(library: Any, bus: bytes) -> dict[str, Any]:
    handle, number, mask = ctypes.c_void_p(), ctypes.c_uint(), ctypes.c_ulonglong()
    if library.nvmlDeviceGetHandleByPciBusId_v2(bus, ctypes.byref(handle)):
        return _from_smi(bus, f"NVML knows no device {bus.decode()}")
    found: dict[str, Any] = {}
    for name, ask, what in (
        ("sm_mhz", library.nvmlDeviceGetClockInfo, _SM),
        ("most_sm_mhz", library.nvmlDeviceGetMaxClockInfo, _SM),
        ("memory_mhz", library.nvmlDeviceGetClockInfo, _MEMORY),
        ("celsius", library.nvmlDeviceGetTemperature, _GPU_TEMPERATURE),
    ):
        if ask(handle, what, ctypes.byref(number)) == 0:
            found[name] = int(number.value)
    if library.nvmlDeviceGetCurrentClocksThrottleReasons(handle, ctypes.byref(mask)) == 0:
        found["throttled"] = [words for bit, words in REASONS.items() if mask.value & bit]
    return found


def _from_smi(bus: bytes, why: str) -> dict[str, Any]:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return {"missing": f"clocks and throttling are not known: {why}; no nvidia-smi"}
    names = "clocks.sm,clocks.max.sm,clocks.mem,temperature.gpu,clocks_throttle_reasons.active"
    command = [tool, f"--id={bus.decode()}", f"--query-gpu={names}", "--format=csv,noheader,nounits"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=SMI_SECONDS, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        return {"missing": f"clocks and throttling are not known: {why}; nvidia-smi: {error}"}
    return parsed(said)


def parsed(said: str) -> dict[str, Any]:
    """Read a line of nvidia-smi: four numbers, and a mask of reasons in hexadecimal; what is no number is left out."""
    found: dict[str, Any] = {}
    parts = [part.strip() for part in said.strip().splitlines()[0].split(",")] if said.strip() else []
    for name, part in zip(("sm_mhz", "most_sm_mhz", "memory_mhz", "celsius"), parts, strict=False):
        with contextlib.suppress(ValueError):
            found[name] = int(part)
    with contextlib.suppress(ValueError, IndexError):
        mask = int(parts[4], 16)
        found["throttled"] = [words for bit, words in REASONS.items() if mask & bit]
    return found or {"missing": "clocks and throttling are not known: nvidia-smi answers nothing"}
