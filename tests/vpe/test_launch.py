"""Launches: threads, forks, caches, counters, modelled time, other people's processes."""

from __future__ import annotations

import dataclasses
import errno
import math
import os
import struct
import subprocess
import sys
import textwrap
import threading
import warnings

import pytest
import torch
import triton
import triton.language as tl

import bringup.vpe as vpe
from bringup.vpe import kernel as kernels
from bringup.vpe import launch, native, state
from bringup.vpe.signature import packer

pytestmark = pytest.mark.usefixtures("permissive")


@triton.jit
def k_add(x, y, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


def add(n, block=256):
    x, y, o = torch.randn(n), torch.randn(n), torch.empty(n)
    k_add[(triton.cdiv(n, block),)](x, y, o, n, B=block)
    return torch.equal(o, x + y)


def test_counters_and_modelled_time_are_exact_and_deterministic():
    vpe.clear_launches()
    n = 100_000
    assert add(n)
    assert add(n)
    first, second = vpe.last_launches()
    totals = first.totals
    assert totals["programs"] == triton.cdiv(n, 256)
    assert totals["bytes_in"] == 2 * 4 * n
    assert totals["bytes_out"] == 4 * n
    assert totals["vector_32"] == triton.cdiv(n, 256) * 256
    assert first.modelled_seconds == second.modelled_seconds
    assert first.bound in ("dma", "device memory", "launch")
    assert 0 < first.balance <= 1
    assert first.as_dict()["counters"]["bytes_in"] == 2 * 4 * n


@triton.jit
def k_total(x, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(o, tl.sum(tl.load(x + i, mask=i < n, other=0.0), 0))


def test_reduction_along_rows_of_pes_makes_atomics_cheaper():
    from bringup.vpe.device import enable

    enable()
    n, seen = 1 << 16, {}
    for name in ("pe64", "pe64-next"):
        vpe.activate(name)
        x, o = torch.ones(n).to("vpe"), torch.zeros(8).to("vpe")
        k_total[(1024,)](x, o, n, B=64)
        assert o[0].item() == n
        seen[name] = vpe.last_launches(1)[0]
    old, new = (seen[name] for name in seen)
    assert old.totals["atomics"] == new.totals["atomics"] == 1024
    assert old.cycles["atomics"].sum() == 1024 * old.profile.cost.atomic_cycles
    assert new.cycles["atomics"].sum() == 1024 * new.profile.cost.atomic_cycles / new.profile.grid.columns
    without = new.profile.model_copy(
        update={"features": new.profile.features.model_copy(update={"cross_pe_reduction": False})}
    )
    assert new.modelled_seconds < dataclasses.replace(new, profile=without).modelled_seconds


def test_launches_from_several_threads():
    results = []

    def work():
        results.extend(add(50_000) for _ in range(5))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 20


@triton.jit
def k_halve(x, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + i, tl.load(x + i, mask=i < n) * 0.5, mask=i < n)


@pytest.mark.parametrize("n", [64, 200_000], ids=["one thread", "several"])
def test_how_the_program_computes_does_not_reach_a_kernel(n):
    x, o = torch.full((n,), 2.0**-126), torch.empty(n)
    half = torch.full((1,), 2.0**-127)
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor cannot flush subnormal numbers")
    try:
        k_halve[(triton.cdiv(n, 256),)](x, o, n, B=256)
        flushed = (x[:1] * 0.5).view(torch.int32).item()
    finally:
        torch.set_flush_denormal(False)
    assert flushed == 0  # the program goes on as it was
    assert torch.equal(o.view(torch.int32), half.view(torch.int32).expand(n))


def test_fork_after_launch():
    n = 1_000_000
    assert add(n)
    # PyTorch's own thread pool does not survive a fork: the child must not start it
    x, o = torch.ones(n), torch.zeros(n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        k_add[(triton.cdiv(n, 256),)](x, x, o, n, B=256)
        os._exit(0 if bool((o.numpy() == 2).all()) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert add(1_000_000)


def test_no_threads_live_across_a_fork():
    assert add(1_000_000)
    launch.shutdown_threads()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("vpe")]
    assert add(1_000_000)


def test_tensors_of_other_devices_are_refused():
    with pytest.raises(vpe.VpeLaunchError, match="'y' of kernel 'k_add' is a tensor on meta"):
        k_add[(1,)](torch.zeros(8), torch.zeros(8, device="meta"), torch.zeros(8), 8, B=8)


def test_cpu_tensors_among_vpe_tensors_are_refused():
    class OnVpe:
        """Looks like a tensor of the device."""

        dtype, device = torch.float32, torch.device("cpu")

        def __init__(self):
            self.tensor = torch.zeros(8)
            self.device = type("Device", (), {"type": "vpe"})()

        def data_ptr(self):
            return self.tensor.data_ptr()

    with pytest.raises(vpe.VpeLaunchError, match="'o' of kernel 'k_add' is a CPU tensor among vpe tensors"):
        k_add[(1,)](OnVpe(), OnVpe(), torch.zeros(8), 8, B=8)


def test_warm_starts_no_threads():
    launch.shutdown_threads()
    before = threading.active_count()
    vpe.warm()
    assert threading.active_count() == before


def test_object_cache_serves_and_survives_damage(tmp_path, monkeypatch):
    monkeypatch.setenv("BRINGUP_VPE_CACHE", str(tmp_path))
    text = "define i32 @f(ptr %c, i64 %a, i64 %b) {\n  ret i32 7\n}\n"
    first = native.compile_text(text)
    assert not first.from_disk
    assert native.entry(first, "f")(0, 0, 0) == 7
    second = native.compile_text(text)
    assert second.from_disk
    assert native.entry(second, "f")(0, 0, 0) == 7
    (path,) = tmp_path.rglob("*.o")
    path.write_bytes(path.read_bytes()[:-10])
    third = native.compile_text(text)
    assert not third.from_disk


def test_kernels_that_run_long_get_better_code(tmp_path, monkeypatch):
    monkeypatch.setenv("BRINGUP_VPE_CACHE", str(tmp_path))
    monkeypatch.setattr(kernels, "WORTH_BETTER_CODE", 0.0)

    @triton.jit
    def k_tiered(x, o, B: tl.constexpr):
        i = tl.arange(0, B)
        tl.store(o + i, tl.exp(tl.load(x + i)) + 12.5)

    x, o = torch.randn(64), torch.empty(64)
    results = []
    for _ in range(3):
        k_tiered[(1,)](x, o, B=64)
        results.append(o.clone())
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[0], results[2])
    assert len(list(tmp_path.rglob("*.o"))) >= 2
    # a later process takes the better code at once
    (compiled,) = k_tiered.device_caches[state.profile_number()][0].values()
    again = kernels.load("k_tiered", compiled.kernel)
    assert again.library.from_disk
    assert not again.library.quick


def test_cache_that_cannot_be_written_is_a_warning(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("BRINGUP_VPE_CACHE", str(blocked))
    native._warned.clear()
    with pytest.warns(UserWarning, match="object cache is not used"):
        library = native.compile_text("define i32 @g(ptr %c, i64 %a, i64 %b) {\n  ret i32 3\n}\n")
    assert native.entry(library, "g")(0, 0, 0) == 3


SCRIPT = """
import torch, triton, triton.language as tl
from bringup import vpe

vpe.activate("permissive")

@triton.jit
def k(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.exp(tl.load(x + i)))

x, o = torch.randn(64), torch.empty(64)
k[(1,)](x, o, B=64)
k[(1,)](x[32:], o, B=32)
torch.testing.assert_close(o[32:], x.exp()[32:])
print("right")
"""


@pytest.mark.long
@pytest.mark.parametrize("temporary", [True, False], ids=["space elsewhere", "no space at all"])
def test_tritons_cache_cannot_be_written(tmp_path, temporary):
    blocked, script = tmp_path / "file", tmp_path / "script.py"
    blocked.write_text("")
    script.write_text(SCRIPT)
    env = {**os.environ, "TRITON_CACHE_DIR": str(blocked / "cache")}
    if not temporary:
        # Python would otherwise find a folder of its own
        script.write_text("import tempfile\ntempfile.tempdir = " + repr(str(blocked / "tmp")) + SCRIPT)
    done = subprocess.run(
        [sys.executable, str(script)], env=env, capture_output=True, text=True, timeout=120, check=False
    )
    if temporary:
        assert done.stdout == "right\n", done.stderr
        (line,) = [line for line in done.stderr.splitlines() if "is not used" in line]
        assert "Not a directory" in line
    else:
        assert done.returncode == 1
        assert "TRITON_CACHE_DIR" in done.stderr.splitlines()[-1]
        assert done.stderr.splitlines()[-1].startswith("bringup.vpe.errors.VpeCompileError: vpe: compiled kernels")


def test_a_disk_that_is_full_in_the_middle(monkeypatch, recwarn):
    from triton.runtime.cache import FileCacheManager

    from bringup.vpe.backend import cache

    put, calls = FileCacheManager.put, []

    def full(self, data, filename, binary=True):
        calls.append(filename)
        if len(calls) == 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return put(self, data, filename, binary)

    monkeypatch.setattr(FileCacheManager, "put", full)
    monkeypatch.setattr(cache, "_spare", "")

    @triton.jit
    def k_full(x, o, B: tl.constexpr):
        i = tl.arange(0, B)
        tl.store(o + i, tl.load(x + i) - 3)

    x, o = torch.randn(32), torch.empty(32)
    k_full[(1,)](x, o, B=32)
    assert torch.equal(o, x - 3)
    assert [w for w in recwarn if "No space left on device" in str(w.message)]
    assert len(calls) > 4


def test_profiles_of_one_process_do_not_mix():
    assert add(1000)
    vpe.activate("pe64")
    x = torch.zeros(2000)[(-torch.zeros(1).data_ptr()) % 1 :]
    assert vpe.last_launches(1)[0].profile.name == "permissive"
    del x
    vpe.activate("permissive")
    assert add(1000)


def test_unknown_option_is_refused():
    with pytest.raises(KeyError, match="no_such_option"):
        k_add[(1,)](torch.zeros(8), torch.zeros(8), torch.zeros(8), 8, B=8, no_such_option=1)


def test_an_unknown_triton_is_refused_in_one_line(monkeypatch):
    monkeypatch.setattr(vpe, "_NEEDED", (*vpe._NEEDED, "triton.runtime.driver:driver.gone"))
    with pytest.raises(ImportError, match=r"triton \d.* has no triton.runtime.driver.driver.gone, which vpe needs"):
        vpe.activate("permissive")


def test_plain_script_finds_the_plugin(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import sys
            import torch, triton, triton.language as tl

            @triton.jit
            def k(x, o, B: tl.constexpr):
                i = tl.arange(0, B)
                tl.store(o + i, tl.load(x + i) * 2)

            assert not [m for m in sys.modules if m.startswith("bringup.") and not m.startswith("bringup.vpe")]
            assert "pydantic" not in sys.modules and "llvmlite" not in sys.modules
            x, o = torch.randn(64), torch.empty(64)
            k[(1,)](x, o, B=64)
            assert torch.equal(o, x * 2)
            """
        )
    )
    # What torch loads by itself is tested with the library; here it is Triton's turn.
    env = {**os.environ, "BRINGUP_VPE": "permissive", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    done = subprocess.run(
        [sys.executable, str(script)], env=env, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("dtype", "refused"), [(torch.uint8, "uint8"), (torch.uint16, "uint16"), (torch.int8, "")])
def test_pointers_to_dtypes_that_the_chip_lacks_are_refused(dtype: torch.dtype, refused: str) -> None:
    """Of unsigned ones, too, which the compiler's text cannot tell from others."""
    vpe.activate("ascend-like")
    x, y = (torch.zeros(64, dtype=dtype) for _ in range(2))
    if not refused:
        k_copy_any[(1,)](x, y, B=64)
        return
    with pytest.raises(vpe.VpeLaunchError, match=rf"'x' of kernel 'k_copy_any' points to {refused}, which does not ex"):
        k_copy_any[(1,)](x, y, B=64)


@triton.jit
def k_copy_any(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.load(x + i))


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("programs", [2, 3, 4, 5, 64])
def test_the_order_that_a_seed_draws_is_never_the_usual_one(programs: int, seed: int) -> None:
    """Seed 1 draws 0, 1, 2, 3 for four programs: sums in the order of programs would seem to repeat."""
    order = launch._order(programs, seed).tolist()
    assert sorted(order) == list(range(programs))
    assert order != sorted(order)


def test_a_number_beyond_float32_is_an_infinity() -> None:
    """As Triton's launchers for GPUs convert what Python hands them."""
    for value, right in ((1e39, math.inf), (-1e39, -math.inf), (1.5, 1.5)):
        assert struct.unpack("<f4x", packer("fp32")(value)) == (right,)
