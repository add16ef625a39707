"""OpInfo is imported without PyTorch's compiler, and whoever wants the compiler afterwards gets the real one."""

from __future__ import annotations

import subprocess
import sys

import pytest

LIGHT = """
import sys
from bringup.suites._opinfo_import import import_opinfo
op_db = import_opinfo().op_db
assert "torch._inductor" not in sys.modules, "the compiler was imported"
assert "torch._inductor.utils" not in sys.modules, "the stand-in stayed"
assert import_opinfo().op_db is op_db
from torch._inductor.utils import is_gpu
assert is_gpu("cuda") and not is_gpu("cpu")
print(len(op_db))
"""
WANTS_MORE = """
import sys
from bringup.suites import _opinfo_import
_opinfo_import._CONSTANT = "SOMETHING_ELSE"
op_db = _opinfo_import.import_opinfo().op_db
assert sys.modules["torch._inductor.utils"].GPU_TYPES, "the stand-in stayed"
print(len(op_db))
"""


@pytest.mark.long
@pytest.mark.parametrize("program", [LIGHT, WANTS_MORE])
def test_the_compiler_is_left_out_unless_it_is_wanted(program: str) -> None:
    whole = "from torch.testing._internal.common_methods_invocations import op_db\nprint(len(op_db))\n"
    counts = []
    for text in (program, whole):
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", text], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        counts.append(int(done.stdout))
    assert counts[0] == counts[1] > 500
