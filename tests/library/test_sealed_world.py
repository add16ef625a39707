"""A sealed wrapper finds the same world as a judged one, whatever the user's process has around it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from library_testkit import make_library

TELLS = """
import hashlib
import os
import re
import resource
import socket
import sys
import threading


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        return type(error).__name__


def wrapper(self, other, *, alpha=1, out):
    limits = [resource.getrlimit(number) for number in range(10) if number != 6]
    found = {
        "variables": sorted(os.environ.items()), "paths": sys.path, "arguments": sys.argv, "all": sys.orig_argv,
        "command": read("/proc/self/cmdline"), "from": read("/proc/self/environ"), "limits": limits,
        "folder": os.getcwd(), "files": sorted(os.listdir(".")), "root": sorted(os.listdir("/")),
        "modules": sorted(sys.modules), "threads": threading.active_count(), "host": socket.gethostname(),
        "flags": str(sys.flags), "open": sorted(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else [],
        "caches": sorted(sys.path_importer_cache), "address": self.data_ptr(), "user": os.getuid(),
    }
    plain = {name: re.sub(r"bringup-judge-\\w+", "SCRATCH", repr(value)) for name, value in found.items()}
    short = {name: hashlib.sha256(value.encode()).hexdigest()[:8] for name, value in plain.items()}
    raise NotImplementedError(" ".join(f"{name}={digest}" for name, digest in short.items()))
"""
USE = """
import sys

import torch

import bringup

with bringup.enable(sys.argv[1], device="vpe:permissive", sealed=True):
    x = torch.ones(2, 3).to("vpe")
    try:
        x + x
    except Exception as error:
        print(error)
"""


def use(library: Path, folder: Path, variables: dict[str, str]) -> dict[str, str]:
    script = folder / "use.py"
    folder.mkdir(exist_ok=True)
    script.write_text(USE)
    done = subprocess.run(
        [sys.executable, str(script), str(library)], cwd=folder, env={**os.environ, **variables},
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    return dict(re.findall(r"\b(\w+)=([0-9a-f]{8})\b", done.stdout))


@pytest.mark.slow
def test_where_a_wrapper_is_used_is_not_to_be_seen(tmp_path: Path) -> None:
    library = make_library(tmp_path / "kernels", {"add.out": TELLS}).path
    plug = tmp_path / "plug"
    plug.mkdir()
    usual = use(library, tmp_path / "one", {})
    other = use(
        library, tmp_path / "other place",
        {"PYTHONPATH": str(plug), "LANG": "de_DE.UTF-8", "TZ": "Asia/Tokyo", "PATH": f"/opt:{os.environ['PATH']}",
         "HOME": str(tmp_path), "EXTRA": "1", "BRINGUP_VPE_DUMPS": str(tmp_path)},
    )  # fmt: skip
    assert len(usual) >= 15
    differing = {name: (usual[name], other.get(name)) for name in usual if usual[name] != other.get(name)}
    assert differing == {}
