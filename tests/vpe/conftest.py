"""Shared by the tests of the virtual accelerator: a private cache, and a profile without limits unless a test
asks for another.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bringup.vpe import native


@pytest.fixture(scope="session", autouse=True)
def private_caches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    patch = pytest.MonkeyPatch()
    patch.setenv("BRINGUP_VPE_CACHE", str(tmp_path_factory.mktemp("vpe-objects")))
    patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("triton")))
    native.runtime()
    yield
    patch.undo()


@pytest.fixture
def permissive() -> Iterator[None]:
    import bringup.vpe as vpe

    vpe.activate("permissive")
    yield
    vpe.deactivate()


@pytest.fixture
def pe64() -> Iterator[None]:
    import bringup.vpe as vpe

    vpe.activate("pe64")
    yield
    vpe.deactivate()
