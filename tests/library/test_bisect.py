from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from library_kernels import KERNELS, MUL, RELU
from library_testkit import make_library

from bringup.library import Library
from bringup.library.adding import add_unjudged
from bringup.library.bisecting import Fault, Setting, find, first_call, smallest

NAMES = [f"op{i}" for i in range(40)]
some = st.sets(st.sampled_from(NAMES), min_size=1, max_size=3)


@given(st.lists(some, min_size=1, max_size=3), st.integers(1, 40))
def test_all_planted_faults_are_found(planted: list[set[str]], count: int) -> None:
    """Each fault is a set of kernels that must all be ours, from a certain call of each on."""
    faults: list[set[str]] = []
    for one in planted:  # faults that share nothing, as the search assumes
        if not any(one & other for other in faults):
            faults.append(one)
    starts = {name: int(name[2:]) % count for name in NAMES}
    trials = []

    def bad(setting: Setting) -> bool:
        trials.append(setting)
        first = dict(setting.first)
        return any(
            fault <= setting.ours and all(first.get(name, count) > starts[name] for name in fault) for fault in faults
        )

    found = find(NAMES, bad, lambda setting, name: count)
    assert {frozenset(fault.kernels) for fault in found} == {frozenset(fault) for fault in faults}
    for fault in found:
        assert fault.first_calls == {name: starts[name] for name in fault.kernels}


@given(st.integers(2, 200), st.data())
def test_one_culprit_takes_few_trials(size: int, data: st.DataObject) -> None:
    names = [f"op{i:03}" for i in range(size)]
    culprit = data.draw(st.sampled_from(names))
    trials = []

    def bad(ours: frozenset[str]) -> bool:
        trials.append(ours)
        return culprit in ours

    assert smallest(names, bad) == {culprit}
    assert len(trials) <= 2 * size.bit_length()


def test_nothing_is_found_where_nothing_is_bad() -> None:
    assert find(NAMES, lambda setting: False, lambda setting, name: 1) == []
    assert find([], lambda setting: True, lambda setting, name: 1) == []
    assert first_call(1, lambda k: k == 1) == 0
    assert find(["a"], lambda s: "a" in s.ours and dict(s.first).get("a", 9) > 6, lambda s, n: 9) == [
        Fault(("a",), {"a": 6})
    ]


PROGRAM = """
import sys, torch
torch.manual_seed(0)
x, w = torch.randn(8, 6), torch.randn(6, 5)
mask = (w > 0).float()
x, w, mask = x.to("vpe"), w.to("vpe"), mask.to("vpe")
losses, start = [], w
for step in range(3):
    v = w.detach().requires_grad_()
    loss = (torch.relu(x @ v) * 0.5).sum()
    loss.backward()
    w = v.detach() + v.grad * -0.01
    losses.append(loss.item())
masked = (torch.relu(start.view(-1)) * mask.view(-1)).sum().item()
{tail}
"""


def bisect(tmp_path: Path, kernels: dict[str, str], metric: str, tail: str = "", *more: str) -> tuple[int, str, str]:
    make_library(tmp_path / "kernels", {**KERNELS, **kernels})
    script = tmp_path / "program.py"
    script.write_text(PROGRAM.replace("{tail}", tail))
    command = [sys.executable, "-m", "bringup.cli.main", "bisect", "-l", str(tmp_path / "kernels"), "--metric", metric]
    done = subprocess.run([*command, *more, str(script)], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.long
@pytest.mark.slow
def test_a_planted_fault_is_found_with_its_first_bad_call(tmp_path: Path) -> None:
    """The gradient's kernel is wrong, and independently of it the softmax."""
    threshold = KERNELS["threshold_backward.grad_input"].replace(
        "<= 0, 0.0, va.to(tl.float32)", "<= 0, 0.1, va.to(tl.float32)"
    )
    assert threshold != KERNELS["threshold_backward.grad_input"]
    softmax = KERNELS["_softmax.out"].replace("tl.exp(v - tl.max(v))", "tl.exp2(v - tl.max(v))")
    code, said, log = bisect(
        tmp_path,
        {"threshold_backward.grad_input": threshold, "_softmax.out": softmax},
        "[losses, probabilities]",
        "probabilities = torch.softmax(x.detach(), 1)\nsys.exit(0)",
        "--json",
    )
    assert code == 1, log
    found = json.loads(said)
    faults = {tuple(row["kernel"] for row in fault["kernels"]): fault["kernels"][0] for fault in found["faults"]}
    assert set(faults) == {("threshold_backward.grad_input",), ("_softmax.out",)}
    gradient = faults[("threshold_backward.grad_input",)]
    assert (gradient["call"], gradient["calls"]) == (0, 3)
    assert "float32[8, 5]" in gradient["described"]
    assert "largest difference from the CPU's 0.1 at" in gradient["described"]
    softmax_row = faults[("_softmax.out",)]
    assert "program.py:15: probabilities = torch.softmax" in softmax_row["described"]


@pytest.mark.long
def test_two_kernels_that_are_bad_only_together(tmp_path: Path) -> None:
    """`relu` leaves -1 where the mask is 0, and `mul` keeps negative numbers whatever the mask says."""
    relu = RELU.replace("tl.where(v < 0, 0, v)", "tl.where((v < 0) & (n == 30), -1, v * (v >= 0))")
    mul = MUL.replace(
        "(va.to(tl.float32) * vb.to(tl.float32)).to(t)",
        "tl.where((va < 0) & (vb == 0), va.to(tl.float32), va.to(tl.float32) * vb.to(tl.float32)).to(t)",
    )
    assert relu != RELU
    assert mul != MUL
    code, said, log = bisect(tmp_path, {"relu": relu, "mul.out": mul}, "masked")
    assert code == 1, log
    assert "together: mul.out, relu; neither alone makes it differ" in said
    assert "relu: from its call 4 of 4" in said


@pytest.mark.slow
@pytest.mark.long
def test_programs_that_cannot_be_bisected(tmp_path: Path) -> None:
    code, _, log = bisect(tmp_path, {}, "accuracy")
    assert code == 2
    assert "name 'accuracy' is not defined; the program has" in log
    library = Library.open(tmp_path / "kernels")
    library.remove(library.of("relu")[0])
    add_unjudged(library, "relu", RELU, origin="a test")
    script = tmp_path / "random.py"
    script.write_text("import torch, os\nloss = int.from_bytes(os.urandom(4), 'big')\n")
    command = [sys.executable, "-m", "bringup.cli.main", "bisect", "-l", str(tmp_path / "kernels"), str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "two equal runs on the CPU give different values" in done.stderr
    assert "not judged, so they do not serve: relu; --unjudged lets them" in done.stderr
    script.write_text("import torch\nraise SystemExit(3)\n")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "does not run with all operators on the CPU: RuntimeError: the program ended with code 3" in done.stderr
