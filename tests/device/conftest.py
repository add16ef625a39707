from __future__ import annotations

from collections.abc import Iterator

import pytest
from wall_rig import Bench, Rig, alive

from bringup.device import frames
from bringup.judge._device import DeviceLost


@pytest.fixture(scope="session")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with pytest.MonkeyPatch.context() as patch:  # inherited by everything that is forked
        patch.setenv("BRINGUP_VPE_CACHE", str(tmp_path_factory.mktemp("wall-objects")))
        patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("wall-triton")))
        patch.setenv("BRINGUP_VPE", "pe64")
        parent = Rig()
    yield parent
    parent.close()


@pytest.fixture(scope="module")
def shared_bench(rig: Rig) -> Iterator[Bench]:
    bench = Bench(rig)
    yield bench
    bench.close()


@pytest.fixture
def bench(shared_bench: Bench) -> Bench:
    """A living device process and a fresh guest."""
    try:
        if alive(shared_bench.device):
            shared_bench.guest()
            return shared_bench
    except (DeviceLost, frames.TooLarge, OSError, ValueError):
        pass  # of a test that failed
    shared_bench.renew()
    return shared_bench
