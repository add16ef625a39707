from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from library_kernels import KERNELS
from library_testkit import make_library


@pytest.fixture(scope="module", autouse=True)
def tapes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Sealed calls of tests find no tapes of earlier runs."""
    from bringup.library import _tape_store

    folder = tmp_path_factory.mktemp("tapes")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_tape_store, "tapes_folder", lambda: folder)
        yield folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_library(tmp_path / "kernels", KERNELS).path


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One library for tests that do not change it."""
    return make_library(tmp_path_factory.mktemp("library") / "kernels", KERNELS).path
