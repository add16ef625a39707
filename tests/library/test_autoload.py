"""`import torch` alone makes the device `vpe` known, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

if not any(point.value.startswith("bringup.") for point in entry_points(group="torch.backends")):
    pytest.skip("bringup is not installed with its entry point of torch.backends", allow_module_level=True)


def run(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "BRINGUP_LIBRARY": "", **environment},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_torch_is_enough(shared: Path) -> None:
    code = "import torch; print((torch.ones(3, device='vpe') + 1).tolist(), torch.vpe.get_device_name())"
    assert run(code, BRINGUP_LIBRARY=str(shared)) == "[2.0, 2.0, 2.0] vpe permissive\n"


@pytest.mark.long
def test_a_process_that_does_not_use_it_has_nothing_of_it() -> None:
    code = (
        "import sys, torch\n"
        "torch.manual_seed(1); torch.ones(3, requires_grad=True).sum().backward(); torch.nn.Linear(2, 3).to('cpu')\n"
        "with torch.random.fork_rng(): pass\n"
        "with torch.profiler.profile(): torch.ones(3) + 1\n"
        "torch.compile(lambda x: x + 1, backend='aot_eager')(torch.ones(3))\n"
        "import torch.testing._internal.common_device_type\n"
        "list(torch.utils.data.DataLoader(torch.ones(4), pin_memory=True, num_workers=1))\n"
        "ours = ('bringup.library', 'bringup.vpe.device', 'pydantic')\n"
        "print(sorted(m for m in sys.modules if m.startswith(ours)))\n"
        "print(torch.accelerator.current_accelerator(), torch.accelerator.is_available(), torch.Generator)\n"
        "print(torch.__future__.get_swap_module_params_on_conversion())\n"
    )
    assert run(code).splitlines() == [
        "['bringup.library', 'bringup.library.autoload']",
        "None False <class 'torch._C.Generator'>",
        "False",
    ]


FIRST = (
    "x = torch.tensor([1.0], device='vpe')",
    "x = torch.ones(2).to('vpe')",
    "x = torch.ones(2).vpe()",
    "torch.vpe.get_device_name()",
    "torch.UntypedStorage(16, device='vpe')",
    "torch.save(torch.ones(2), b := io.BytesIO()); b.seek(0)\n"
    "assert torch.load(b, map_location='vpe').device.type == 'vpe'",
    "torch.set_default_device('vpe'); torch.empty(2)",
    "torch.empty_strided((2,), (1,), device='vpe')",
    "torch.autocast('vpe', dtype=torch.bfloat16)",
    "torch.get_device_module('vpe').memory_allocated()",
    "try:\n    torch.tril_indices(2, 2, device='vpe')\nexcept NotImplementedError:\n    pass",
    *(
        "m = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))\nm[1].weight = m[0].weight\n"
        f"{move}\nassert m[0].weight is m[1].weight and m[0].weight.device.type == 'vpe'"
        for move in ("m.to('vpe')", "m.vpe()", "m.to_empty(device='vpe')", "m.to(device='vpe')")
    ),
)


@pytest.mark.long
def test_whatever_comes_first_completes_the_device() -> None:
    """Weights that two modules share stay shared in the first move, too. One process imports torch, and forks."""
    code = (
        "import io, os, sys, torch\n"
        f"for number, first in enumerate({FIRST!r}):\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        try:\n"
        "            exec(first)\n"
        "            from bringup.vpe import device\n"
        "            assert device.is_enabled() and torch.vpe.device_count() == 1\n"
        "        except BaseException as error:\n"
        "            print(number, first, repr(error), flush=True)\n"
        "        os._exit(0)\n"
        "    assert os.waitpid(child, 0)[1] == 0, first\n"
        "print('done')\n"
    )
    assert run(code) == "done\n"


@pytest.mark.long
def test_seeds_given_before_count() -> None:
    code = "import torch; torch.manual_seed(7); print(torch.vpe.initial_seed())"
    assert run(code) == "7\n"


def test_switches() -> None:
    name = "import torch; print(torch._C._get_privateuse1_backend_name())"
    assert run(name) == "vpe\n"
    assert run(name, BRINGUP_AUTOLOAD="0") == "privateuseone\n"
    assert run(name, TORCH_DEVICE_BACKEND_AUTOLOAD="0") == "privateuseone\n"


@pytest.mark.long
def test_others_that_bring_a_device_are_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "other-1.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (other / "entry_points.txt").write_text("[torch.backends]\nother = other_device:load\n")
    (tmp_path / "other_device.py").write_text("def load():\n    pass\n")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    code = "import torch; print(torch._C._get_privateuse1_backend_name())"
    assert run(code, PYTHONPATH=path) == "privateuseone\n"
    assert run(code, PYTHONPATH=path, BRINGUP_AUTOLOAD="1") == "vpe\n"


@pytest.mark.long
def test_a_library_by_name_takes_the_place_of_the_one_that_came_by_itself(shared: Path) -> None:
    code = (
        "import torch, bringup\nx = torch.ones(3, device='vpe')\n"
        f"with bringup.enable({str(shared)!r}, exclude='mul', device='vpe:permissive') as e:\n"
        "    print((x + 1).tolist(), 'mul.out' in e.choice.serving)\n"
    )
    assert run(code, BRINGUP_LIBRARY=str(shared)) == "[2.0, 2.0, 2.0] False\n"


def test_a_damaged_library_is_told_at_the_first_use_and_not_at_import(tmp_path: Path) -> None:
    (tmp_path / "library.json").write_text("{")
    code = (
        "import torch\nfor _ in range(2):\n    try:\n        torch.ones(3, device='vpe')\n"
        "    except Exception as error:\n        print(type(error).__name__, str(error)[-60:][:0])\n"
    )
    assert run(code, BRINGUP_LIBRARY=str(tmp_path)) == "LibraryError \nLibraryError \n"
