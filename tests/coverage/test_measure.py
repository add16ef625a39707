"""Operators measured on the device vpe with a few kernels written by hand behind it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from library_kernels import ADD, KERNELS, MM, MUL, SUM
from library_testkit import make_library
from typer.testing import CliRunner

from bringup.cli.main import build_app
from bringup.coverage import OperatorResult, Results
from bringup.coverage._serving import missing_overload
from bringup.coverage.measuring import CoverageError, CoverageFault, Setting, measure
from bringup.coverage.records import Form
from bringup.errors import BringupError
from bringup.library import NotServed

pytestmark = pytest.mark.slow
TARGET = "vpe:permissive"


def measured(setting: Setting, *operators: str) -> dict[str, OperatorResult]:
    found: dict[str, OperatorResult] = {}
    measure(setting, operators, lambda result: found.update({result.operator: result}))
    assert set(found) == set(operators)
    return found


def command(*arguments: str) -> tuple[int, str]:
    """Run the command line; returns the exit code, and what it said or the one line of its error."""
    result = CliRunner().invoke(build_app(), ["coverage", *arguments])
    if isinstance(result.exception, BringupError):
        return result.exception.exit_code, str(result.exception)
    return result.exit_code, result.output


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_library(tmp_path_factory.mktemp("library") / "kernels", KERNELS).path


@pytest.fixture(scope="module")
def with_gradients(kernels: Path) -> dict[str, OperatorResult]:
    return measured(Setting(TARGET, kernels, gradients=True), "mul", "addmm", "view", "atan", "nn.functional.relu")


@pytest.mark.timeout(600)
def test_names_are_covered_by_their_own_kernel_by_others_or_without_any(
    with_gradients: dict[str, OperatorResult],
) -> None:
    found = with_gradients
    own, composed, none, lacking = found["mul"], found["addmm"], found["view"], found["atan"]
    assert (own.status, own.how) == ("covered", "own")
    assert set(own.forms) == {"call", "in-place", "out=", "gradient"}
    assert own.kernels["mul.out"] >= own.forms["call"].total
    assert (composed.status, composed.how) == ("covered", "composed")
    assert {"mm.out", "add.out"} <= set(composed.kernels)
    assert (none.status, none.how, none.kernels) == ("covered", "none", {})
    assert lacking.status == "missing"
    assert lacking.passed == 0
    assert "atan.out" in lacking.needs
    assert set(lacking.failed) == {"missing"}


@pytest.mark.timeout(600)
def test_every_case_of_the_gate_is_run_and_workers_leave_nothing_behind(kernels: Path) -> None:
    from bringup.suites import get_suite

    before = len(os.listdir("/proc/self/fd"))
    found = measured(Setting(TARGET, kernels), "mul", "atan")
    for name, result in found.items():
        operator = get_suite("opinfo").operator(name)
        assert result.forms["call"].total == sum(operator.own_counts.values())
        assert "gradient" not in result.forms
    assert len(os.listdir("/proc/self/fd")) <= before


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("fault", "form"),
    [
        ({"mul.out": MUL.replace("va.to(tl.float32) * vb.to(tl.float32)", "va.to(tl.float32) * 1.0001 * vb")}, "call"),
        # Broadcast arguments have a sum as their gradient.
        ({"sum.IntList_out": SUM.replace("tl.store(y + p, total", "tl.store(y + p, 2 * total")}, "gradient"),
        (
            {"mul.out": MUL.replace("    shape =", "    if out is self:\n        return out\n    shape =", 1)},
            "in-place",
        ),
    ],
)
@pytest.mark.thinned
def test_a_wrong_kernel_is_found_in_the_form_that_it_spoils(tmp_path: Path, fault: dict[str, str], form: Form) -> None:
    library = make_library(tmp_path / "kernels", {"add.out": ADD, "mul.out": MUL, "sum.IntList_out": SUM} | fault)
    found = measured(Setting(TARGET, library.path, gradients=True), "mul")["mul"]
    assert found.status == "failed"
    assert any(failure.form == form and failure.kind == "wrong" for failure in found.failures)
    if form != "call":
        assert found.forms["call"].passed == found.forms["call"].total
        assert found.forms[form].passed < found.forms[form].total


CRASHES = ADD.replace(
    "    shape = out.shape\n",
    "    shape = out.shape\n"
    "    if out.dtype == torch.int32:\n"
    "        import os\n"
    "        os.kill(os.getpid(), 11)\n"
    "    if out.dtype == torch.int64:\n"
    "        import time\n"
    "        time.sleep(1000)\n",
    1,
)


@pytest.mark.timeout(600)
def test_a_crash_and_a_hang_are_results_of_their_cases_and_the_next_operator_is_measured(tmp_path: Path) -> None:
    library = make_library(tmp_path / "kernels", {"add.out": CRASHES})
    found = measured(Setting(TARGET, library.path, seconds=8), "add", "view")
    assert found["add"].status == "failed"
    assert {"crashed"} <= set(found["add"].failed) <= {"crashed", "timed_out"}
    assert "signal 11" in next(f.message for f in found["add"].failures if f.kind == "crashed")
    assert found["add"].forms["call"].passed >= 10  # those in floating point
    assert found["view"].status == "covered"


@pytest.mark.timeout(600)
def test_an_error_that_is_its_own_cause_has_an_end() -> None:
    one, other = ValueError("one"), NotServed("no kernel for aten::add.out")
    other.overload = "add.out"
    one.__cause__ = one
    assert missing_overload(one) is None
    one.__cause__ = other
    other.__cause__ = one
    assert missing_overload(one) == "add.out"


def test_all_that_a_decomposition_lacks_is_found(tmp_path: Path) -> None:
    library = make_library(tmp_path / "kernels", {"mm.out": MM})
    found = measured(Setting(TARGET, library.path), "addcmul")["addcmul"]
    assert found.status == "missing"
    assert "addcmul.out" in found.needs


@pytest.mark.timeout(600)
def test_a_bare_device_is_measured_without_a_library() -> None:
    found = measured(Setting(TARGET, None), "t", "mul")
    assert found["t"].status == "covered"
    assert found["mul"].status == "missing"
    assert found["mul"].needs == {"mul.out": ("mul.out",)}


FAKE = """
import torch
from torch.library import Library

kept = []

def take():
    library = Library("aten", "IMPL")
    kept.append(library)
    def mul(self, other, *, out):
        # Not how a device should compute, but another's way of doing so: on the host.
        host = torch.mul(self.cpu(), other.cpu() if isinstance(other, torch.Tensor) else other) FAULT
        out.copy_(host)
        return out
    library.impl("mul.out", mul, "PrivateUse1")

def nothing():
    pass

def fails():
    raise ValueError("no such chip")
"""


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("fault", "status"), [("", "covered"), ("+ 1", "failed")])
def test_another_library_is_measured_the_same_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, status: str
) -> None:
    (tmp_path / "fakegems.py").write_text(FAKE.replace("FAULT", fault))
    monkeypatch.chdir(tmp_path)
    found = measured(Setting(TARGET, None, enable="fakegems:take"), "mul", "atan")
    assert found["mul"].status == status
    assert found["mul"].how == ("unknown" if status == "covered" else "")
    assert found["atan"].status == "missing"
    assert found["atan"].needs == {"atan.out": ("atan.out",)}


@pytest.mark.timeout(600)
def test_what_gradients_alone_lack_is_told_apart(with_gradients: dict[str, OperatorResult]) -> None:
    found = with_gradients
    relu = found["nn.functional.relu"]
    assert relu.forms["call"].passed == relu.forms["call"].total
    found_atan = found["atan"]
    assert "atan.out" in found_atan.needs
    assert "atan.out" not in found_atan.gradient_only
    assert found_atan.gradient_only
    assert found_atan.forms["call"].failed == {"missing": found_atan.forms["call"].total}


@pytest.mark.thinned
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("fakegems", "not MODULE:FUNCTION"),
        ("nosuchgems:take", "nosuchgems cannot be imported"),
        ("fakegems:other", "fakegems has no other"),
        ("fakegems:fails", "no such chip"),
        ("fakegems:nothing", "registered no kernel"),
    ],
)
def test_what_cannot_be_enabled_gives_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spec: str, words: str
) -> None:
    (tmp_path / "fakegems.py").write_text(FAKE.replace("FAULT", ""))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CoverageError, match=words) as raised:
        measured(Setting(TARGET, None, enable=spec), "mul")
    assert "\n" not in str(raised.value)


def test_cuda_without_a_gpu_says_so() -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(CoverageFault, match="device cuda is not available"):
        measured(Setting("cuda", None, enable="torch:is_grad_enabled"), "mul")


@pytest.mark.timeout(600)
def test_a_measurement_that_was_interrupted_goes_on(tmp_path: Path, kernels: Path) -> None:
    path = tmp_path / "r.jsonl"
    arguments = ["--target", TARGET, "--library", str(kernels), "--out", str(path), "--jobs", "1"]
    # All operators: however late the signal comes, it comes before the last.
    child = subprocess.Popen(
        [sys.executable, "-m", "bringup.cli.main", "coverage", *arguments], stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and not (path.is_file() and path.read_text().count("\n") >= 2):
        assert child.poll() is None, child.stderr.read() if child.stderr else ""
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 130, said
    first = Results.read(path)
    assert first.operators
    assert "the same command goes on" in said
    names = sorted({*first.operators, "mul", "unsqueeze"})
    code, output = command(*arguments, *(word for name in names for word in ("--ops", name)), "--json")
    after = Results.read(path)
    assert after.operators["mul"].status == after.operators["unsqueeze"].status == "covered"
    statuses = {result.status for result in after.operators.values()}
    assert statuses == set(json.loads(output)["statuses"])
    assert code == (0 if statuses == {"covered"} else 1), output
    assert set(after.operators) == set(names)
    for name, result in first.operators.items():
        assert after.operators[name] == result
    assert len(path.read_text().splitlines()) == 1 + len(names)


@pytest.mark.timeout(600)
def test_the_command_says_what_is_missing_and_shows_it_again(tmp_path: Path, kernels: Path) -> None:
    path = tmp_path / "r.jsonl"
    arguments = ["--target", TARGET, "-l", str(kernels), "--out", str(path), "--ops", "atan", "--ops", "t"]
    code, output = command(*arguments, "--json")
    assert code == 1
    told = json.loads(output)
    assert told["statuses"] == {"covered": 1, "missing": 1}
    assert told["missing_kernels"][0]["overload"] == "atan.out"
    assert told["missing_kernels"][0]["unlocks"] == ["atan"]
    assert told["header"]["eligible"] == 568
    code, output = command("show", str(path), "--markdown")
    assert code == 0
    assert "| covered | 1 | 0.2 % |" in output
    assert "| 1 | atan.out | 1 | 1 | atan |" in output
    code, output = command("show", str(path), "--ops", "at*")
    assert code == 0
    assert "missing: atan.out" in output
    assert "float32 0 call: missing: " in output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--ops", "nosuch"], "unknown operator 'nosuch'"),
        (["--target", "nosuch"], "nosuch"),
        (["--target", "vpe:nosuch"], "nosuch"),
        (["--library", "/no/such"], "/no/such"),
        (["--library", "/no/such", "--enable", "a:b"], "exclude each other"),
        (["show", "/no/such"], "/no/such: cannot be read"),
    ],
)
def test_bad_input_gives_one_line(arguments: list[str], words: str) -> None:
    code, output = command(*arguments)
    assert code in (2, 3)
    assert words in output
    assert "\n" not in output.strip()


@pytest.mark.long
def test_a_file_of_another_library_is_not_gone_on_with(tmp_path: Path, kernels: Path) -> None:
    path = tmp_path / "r.jsonl"
    # No operator of these can be measured there, so that no process is started.
    arguments = ["--target", TARGET, "--out", str(path), "--ops", "view_as_real"]
    assert command(*arguments, "-l", str(kernels))[0] == 0
    other = make_library(tmp_path / "other", {"mul.out": MUL}).path
    code, output = command(*arguments, "-l", str(other))
    assert code == 2
    assert "holds another measurement (library_digest" in output


@pytest.mark.timeout(600)
@pytest.mark.long
def test_after_the_library_has_changed_what_that_concerns_is_measured_again(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    arguments = ["--target", TARGET, "--out", str(path), "--ops", "t", "--ops", "mul", "--ops", "atan", "--json"]
    one = make_library(tmp_path / "one", {"add.out": ADD}).path
    _, output = command(*arguments, "-l", str(one))
    assert json.loads(output)["statuses"] == {"covered": 1, "missing": 2}
    before = Results.read(path).operators
    two = make_library(tmp_path / "two", {"add.out": ADD, "mul.out": MUL}).path
    _, output = command(*arguments, "-l", str(two))
    assert "holds another measurement (library_digest" in output
    assert command(*arguments, "-l", str(two), "--refresh", "--anew")[0] == 2
    _, output = command(*arguments, "-l", str(two), "--refresh")
    assert json.loads(output)["statuses"] == {"covered": 2, "missing": 1}
    after = Results.read(path)
    assert after.operators["mul"].status == "covered"
    for name in ("t", "atan"):  # as they were, seconds included: not measured again
        assert after.operators[name] == before[name]
    assert after.header.kernels is not None
    assert set(after.header.kernels) == {"add.out", "mul.out"}
    assert command(*arguments, "-l", str(two), "--refresh")[0] == 1
    assert Results.read(path).operators == after.operators


@pytest.mark.long
def test_what_pytorch_computes_itself_is_no_kernel_of_the_library() -> None:
    """How `cuda` is watched, on the CPU: its keys stand in for CUDA's."""
    import torch

    from bringup.coverage._trace import BuiltinTrace, registered

    before = registered("CPU")
    library = torch.library.Library("aten", "IMPL")
    try:
        library.impl("atan", lambda x: torch.empty_like(x).copy_(x), "CPU", allow_override=True)
        after = registered("CPU")
        own = frozenset(name for name in after if after[name] != before.get(name))
        assert own == {"atan"}
        x = torch.ones(3, requires_grad=True)
        with BuiltinTrace("CPU", own) as trace:
            torch.atan(x.detach())
        assert trace.own == {"atan": 1}
        assert trace.builtins == set()
        with BuiltinTrace("CPU", own) as trace:
            torch.addcmul(x.detach(), x.detach(), x.detach()).t()
        assert trace.builtins == {"addcmul"}
        with BuiltinTrace("CPU", own) as trace:
            (x * x).sum().backward()
        assert {"mul.Tensor", "sum.dim_IntList"} <= trace.builtins
    finally:
        library._destroy()
