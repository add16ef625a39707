"""The suite `captured`: what a program asks of a device, recorded, rebuilt as cases, and judged."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import command_line
import numpy as np
import pytest
import torch
from bringup_testkit import replaced

import bringup
from bringup.errors import ConfigError
from bringup.search.problem import choose_cases
from bringup.suites import check_suite, get_suite
from bringup.suites.captured import CapturedSuite, CaptureError, merged, only, read_capture, write_capture
from bringup.suites.captured._values import describe, draw

KERNELS = Path(__file__).parent / "aten_kernels"

TRAIN = """
import sys
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Embedding(7, 8), torch.nn.LayerNorm(8), torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4)
)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
x, y = torch.randint(0, 7, (12,)), torch.randint(0, 4, (12,))
for step in range(3):
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
if sys.argv[1:] == ["raise"]:
    raise ValueError("no more data")
if sys.argv[1:] == ["kill"]:
    import os, time
    time.sleep(1.2)
    torch.ones(3).exp2()
    os.kill(os.getpid(), 9)
"""


def run(*arguments: str | Path, code: int = 0, cwd: Path | None = None) -> command_line.Done:
    found = command_line.bringup(*arguments, cwd=cwd)
    assert found.returncode == code, found.stderr + found.stdout
    return found


def run_apart(*arguments: str | Path, code: int = 0, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command that enables a library, or is a whole run, in a process of its own."""
    command = [sys.executable, "-m", "bringup.cli.main", *map(str, arguments)]
    found = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)
    assert found.returncode == code, found.stderr + found.stdout
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a training script and what was captured of it."""
    folder = tmp_path_factory.mktemp("captured")
    (folder / "train.py").write_text(TRAIN)
    run("capture", "-o", "calls.json", "--", sys.executable, "train.py", cwd=folder)
    return folder


@pytest.fixture(scope="module")
def suite(folder: Path) -> CapturedSuite:
    found = get_suite(f"captured:{folder / 'calls.json'}")
    assert isinstance(found, CapturedSuite)
    return found


def times(suite_or_capture: Any, overload: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for call in suite_or_capture.calls:
        if call.overload == overload:
            for phase, count in call.times.items():
                found[phase] = found.get(phase, 0) + count
    return found


def test_what_a_program_asked_for_and_when(suite: CapturedSuite) -> None:
    capture = suite.capture
    assert times(capture, "addmm") == {"forward": 6}
    assert times(capture, "native_layer_norm") == {"forward": 3}
    assert times(capture, "native_layer_norm_backward") == {"backward": 3}
    assert times(capture, "embedding_dense_backward") == {"backward": 3}
    assert times(capture, "addcdiv_")["optimizer"] == 3 * 7  # a step of each parameter
    # equal calls are kept once: weights and biases of several steps
    assert len([call for call in capture.calls if call.overload == "addmm"]) <= 4
    assert not any(call.overload in {"t", "view", "detach"} for call in capture.calls)
    assert not (suite.path.with_name("calls.json.data")).exists()


def test_the_operators_are_what_a_bare_device_is_asked_for(suite: CapturedSuite) -> None:
    names = {operator.name for operator in suite.operators()}
    assert {"addmm.out", "native_layer_norm", "embedding_dense_backward", "addcdiv.out", "sqrt.out"} <= names
    assert not {"addmm", "addcdiv_", "sqrt"} & names
    assert suite.operator("normal_").exclusion == "random: PyTorch's generator decides on the values"
    assert suite.operator("addmm.out").writes == ("out",)
    assert suite.operator("addcdiv.out").start == "addcdiv"


def test_the_suite_conforms(suite: CapturedSuite) -> None:
    assert check_suite(suite, sample=40) == []


def test_cases_have_the_captured_layouts_and_ranges(suite: CapturedSuite) -> None:
    (case, *_) = suite.materialise("embedding_dense_backward", "float32")
    gradient, indices = case.args[:2]
    assert gradient.shape == (12, 8)
    assert indices.dtype == torch.int64
    assert int(indices.max()) < 7
    assert int(indices.min()) >= 0
    other = suite.materialise("embedding_dense_backward", "float32", seed=1)[0]
    assert other.args[0].shape == gradient.shape
    assert not torch.equal(other.args[0], gradient)
    for case in suite.materialise("addmm.out", "float32"):
        expected = torch.addmm(*case.args)
        assert torch.equal(case.reference(*case.args, out=torch.empty_like(expected)), expected)
        assert case.kwargs["out"].isnan().all()  # what is not written shows


@pytest.mark.long
def test_a_search_times_the_calls_that_take_most_of_the_programs_time(tmp_path: Path) -> None:
    file = tmp_path / "calls.json"
    half = torch.ones(100, dtype=torch.float16)
    with bringup.capture(str(file)):
        for size in (10, 1000, 3, 30):
            torch.ones(size).exp()
        for _ in range(200):
            torch.ones(20).exp()  # small, and so often that it is most of all
        half.exp()
        half.exp()
        for size in range(4, 9):
            torch.ones(size).exp()
    suite = get_suite(f"captured:{file}")
    dtypes = ("float32", "float16")
    tensors = {
        (dtype, index): inputs.args[0].numel()
        for dtype in dtypes
        for index, inputs in enumerate(suite.materialise("exp.out", dtype))
    }
    assert len(tensors) == 11
    chosen = choose_cases(suite, suite.operator("exp.out"), dtypes, 0)
    found = {
        tensors[dtype, index]: weight
        for dtype, indices in chosen.cases.items()
        for index, weight in zip(indices, chosen.weights[dtype], strict=True)
    }
    # eight over both dtypes: the calls of 3, 4 and 5 elements are left out
    costs = {20: 200 * 20, 1000: 1000, 100: 2 * 100, 30: 30, 10: 10, 8: 8, 7: 7, 6: 6}
    assert found == pytest.approx({size: cost / sum(costs.values()) for size, cost in costs.items()})
    assert list(chosen.cases["float16"]) == [0]
    assert suite.timed("exp.out", ("float16",)) == {"float16": {0: 1.0}}


@pytest.mark.long
def test_lowering_gives_what_a_device_is_really_asked_for(tmp_path: Path) -> None:
    """Calls captured on the CPU lead to the overloads that the same program asks of the device `vpe`."""
    program = """
import json, sys, torch
from bringup.vpe import device
from bringup.vpe.device import fallback
where = device.enable(fallback="cpu")
seen = set()
def model(where):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 3), torch.nn.BatchNorm2d(3), torch.nn.ReLU(), torch.nn.Flatten())
    net = net.to(where)
    x, q = torch.randn(2, 2, 5, 5).to(where), torch.randn(1, 2, 4, 8).to(where).requires_grad_()
    def step():
        (net(x) ** 2).mean().backward()
        torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True).sum().backward()
    return step
step = model(where)
with fallback.observed(lambda operator, args, kwargs: seen.add(fallback.name_of(operator).removeprefix("aten::"))):
    step()
step = model("cpu")
import bringup
with bringup.capture(sys.argv[1]):
    step()
print(json.dumps(sorted(seen)))
"""
    path = tmp_path / "calls.json"
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)
    suite = get_suite(f"captured:{path}")
    captured = {operator.name for operator in suite.operators()}
    asked = set(json.loads(done.stdout))
    assert captured == asked


@pytest.mark.long
def test_a_kernel_is_judged_on_captured_calls(folder: Path) -> None:
    options = ("--suite", "captured:calls.json")
    output = run("test", "native_layer_norm", KERNELS / "native_layer_norm.py", *options, cwd=folder).stdout
    assert "passed" in output
    lines = [line for line in (KERNELS / "mm.out.py").read_text().splitlines() if "tl.store" not in line]
    (folder / "wrong.py").write_text("\n".join(lines))
    run("test", "mm.out", folder / "wrong.py", *options, "--no-lint", code=1, cwd=folder)


@pytest.mark.long
@pytest.mark.slow
def test_what_is_fitted_to_a_programs_calls_is_covered_and_not_trusted(folder: Path) -> None:
    kernel = Path(__file__).parents[2] / "kernels" / "sqrt.out" / "kernel.py"
    fitted = folder / "fitted.py"
    one_block = replaced(kernel.read_text(), "in range(first, n, step)", "in range(first, BLOCK, step)")
    fitted.write_text(replaced(one_block, "(min(triton.cdiv(n, 1024), 4096),)", "(1,)"))
    options = ("--suite", "captured:calls.json", "--out", "audits", "--json", "--jobs", "1")
    for file, standing in ((kernel, "trusted"), (fitted, "failed")):
        shown = run("audit", "judge", "sqrt.out", file, *options, code=int(standing != "trusted"), cwd=folder).stdout
        (row,) = json.loads(shown)["operators"]
        assert row["gate"]["kind"] == "passed"
        assert row["standing"] == standing, row["audit"]["summary"]


def test_commands_take_the_suite(folder: Path) -> None:
    listed = json.loads(run("ops", "list", "--suite", "captured:calls.json", "--json", cwd=folder).stdout)
    assert listed["suite"] == "captured:calls.json"
    assert listed["funnel"][0]["step"] == "captured"
    prompt = run("prompt", "native_layer_norm_backward", "--suite", "captured:calls.json", cwd=folder).stdout
    assert "calls that a program has made" in prompt
    assert "float32[12, 8]" in prompt


@pytest.mark.long
def test_coverage_of_a_library(folder: Path) -> None:
    for name in ("mm.out", "native_layer_norm"):
        run("library", "add", KERNELS / f"{name}.py", "--op", name, "--unjudged", "-l", "lib", cwd=folder)
    (folder / "sqrt.out.py").write_text((KERNELS / "add.out.py").read_text())
    run("library", "add", "sqrt.out.py", "--op", "sqrt.out", "--unjudged", "-l", "lib", cwd=folder)
    options = ("--ops", "mm.out", "--ops", "native_layer_norm*", "--ops", "sqrt.out")
    shown = run_apart("capture", "coverage", "calls.json", "-l", "lib", *options, "--json", code=1, cwd=folder).stdout
    found = json.loads(shown)
    status = {row["operator"]: row["status"] for row in found["table"]}
    assert status == {
        "mm.out": "served",
        "native_layer_norm": "served",
        "native_layer_norm_backward": "missing",
        "sqrt.out": "failed",
    }
    assert (found["served"], found["failed"], found["missing"], found["operators"]) == (2, 1, 1, 4)
    shown = run_apart("capture", "coverage", "calls.json", "-l", "lib", "--ops", "mm.out", cwd=folder).stdout
    assert "serves 1 of 1 operators as it is: 100.0 %" in shown


@pytest.mark.long
def test_a_run_starts_from_a_library_and_its_kernels_count(folder: Path, tmp_path: Path) -> None:
    run("library", "add", KERNELS / "mm.out.py", "--op", "mm.out", "--unjudged", "-l", tmp_path / "has", cwd=folder)
    run_apart(
        *("run", "--suite", "captured:calls.json", "--ops", "mm.out", "--refine-from", tmp_path / "has"),
        *("--client", "mailbox", "--runs-dir", tmp_path / "runs", "--name", "again"),
        cwd=folder,
    )
    empty = tmp_path / "empty"
    run("library", "add", KERNELS / "mul.out.py", "--op", "mul.out", "--unjudged", "-l", empty, cwd=folder)
    (one,) = [path.name for path in (tmp_path / "runs").iterdir() if path.is_dir() and "again" in path.name]
    options = ("-l", empty, "--ops", "mm.out", "--run", one, "--runs-dir", tmp_path / "runs", "--json")
    found = json.loads(run_apart("capture", "coverage", "calls.json", *options, cwd=folder).stdout)
    assert (found["served"], found["refined"], found["operators"]) == (0, 1, 1)


# ---------------------------------------------------------------- files


@pytest.mark.long
def test_real_data_is_kept_on_request(tmp_path: Path) -> None:
    x = torch.linspace(0, 3, 12).reshape(3, 4)
    indices = torch.tensor([2, 0, 2])
    path = tmp_path / "calls.json"
    with bringup.capture(path, data=True):
        (x.t() * 2.5).index_select(0, indices)
    suite = get_suite(f"captured:{path}")
    (case,) = suite.materialise("mul.out", "float32")
    assert torch.equal(case.args[0], x.t())
    assert case.args[0].stride() == (1, 4)
    (case,) = suite.materialise("mul.out", "float32", seed=3)
    assert not torch.equal(case.args[0], x.t())
    name = next(op.name for op in suite.operators() if op.name.startswith("index_select"))
    assert torch.equal(suite.materialise(name, "float32", seed=3)[0].args[2], indices)
    for file in path.with_name("calls.json.data").iterdir():
        file.write_bytes(b"\0" * file.stat().st_size)
    with pytest.raises(CaptureError, match="damaged"):
        get_suite(f"captured:{path}").materialise("mul.out", "float32")


def test_shared_memory_strides_and_numbers_come_back(tmp_path: Path) -> None:
    whole = torch.arange(20.0)
    path = tmp_path / "calls.json"
    with bringup.capture(path):
        torch.add(whole[2:8:2], whole[3:6], alpha=0.1)
        whole[4:8].mul_(3)
    suite = get_suite(f"captured:{path}")
    (case,) = suite.materialise("add.out", "float32")
    first, second = case.args
    assert (first.stride(), first.storage_offset(), second.storage_offset()) == ((2,), 2, 3)
    assert first.untyped_storage().data_ptr() == second.untyped_storage().data_ptr()
    assert case.kwargs["alpha"] == 0.1
    (case,) = suite.materialise("mul.out", "float32")
    assert case.kwargs["out"].data_ptr() == case.args[0].data_ptr()


def test_merging_counts_equal_calls_once(tmp_path: Path) -> None:
    for name, size in (("a", 3), ("b", 4)):
        with bringup.capture(tmp_path / f"{name}.json"):
            torch.ones(3).exp()
            torch.ones(size).exp()
    run("capture", "merge", "a.json", "b.json", "-o", "m.json", cwd=tmp_path)
    found = read_capture(tmp_path / "m.json")
    calls = {tuple(c.tensors[0].shape): sum(c.times.values()) for c in found.calls if c.overload == "exp"}
    assert calls == {(3,): 3, (4,): 1}
    run("capture", "merge", "a.json", "-o", "m.json", code=2, cwd=tmp_path)


def test_calls_on_an_accelerator_are_told_from_the_hosts(tmp_path: Path) -> None:
    with bringup.capture(tmp_path / "a.json"):
        torch.ones(3).exp()
    capture = read_capture(tmp_path / "a.json")
    there = tuple(call.model_copy(update={"device": "cuda"}) for call in capture.calls if call.overload == "exp")
    both = capture.model_copy(update={"calls": (*capture.calls, *there)})
    assert [call.device for call in only(both, None).calls] == ["cuda"]
    assert {call.device for call in only(both, "cpu").calls} == {"cpu"}
    assert only(both, None).left_out["on cpu"] == capture.total


# ---------------------------------------------------------------- values


@pytest.mark.parametrize(
    "values",
    [
        torch.randn(4000, generator=torch.Generator().manual_seed(0)) * 2 + 3,
        torch.rand(4000, generator=torch.Generator().manual_seed(0)) * 5 - 1,
        torch.randn(4000, generator=torch.Generator().manual_seed(0)).mul(6).exp2(),
    ],
    ids=["normal", "uniform", "log"],
)
def test_drawn_values_are_like_those_described(values: torch.Tensor, request: pytest.FixtureRequest) -> None:
    values[::10] = 0.0
    values[1::20] = float("nan")
    facts = describe(values)
    assert facts.kind == request.node.callspec.id
    drawn = torch.from_numpy(draw(facts, 4000, 5))
    assert float((drawn == 0).double().mean()) == pytest.approx(0.1, abs=0.02)
    assert float(drawn.isnan().double().mean()) == pytest.approx(0.05, abs=0.02)
    finite = drawn[drawn.isfinite()]
    assert float(finite.min()) >= facts.low
    assert float(finite.max()) <= facts.high
    again = describe(torch.from_numpy(draw(facts, 4000, 6)))
    assert again.kind == facts.kind
    assert again.mean == pytest.approx(facts.mean, abs=0.1 * facts.spread)
    assert again.spread == pytest.approx(facts.spread, rel=0.1)


@pytest.mark.parametrize("values", [[0, 2, 2, 5, 9], [3, 1, 4, 0, 2], [0, 0, 0, 0, 0], [-5, 7, 0, 0, 3], [6]])
def test_integers_keep_range_order_and_distinctness(values: list[int]) -> None:
    facts = describe(torch.tensor(values))
    for seed in range(20):
        drawn = draw(facts, len(values), seed)
        assert drawn.dtype == np.int64
        assert drawn.min() >= min(values)
        assert drawn.max() <= max(values)
        if values == sorted(values) and len(values) > 1:
            assert (np.diff(drawn) >= 0).all()
        if len(set(values)) == len(values):
            assert len(set(drawn.tolist())) == len(values)


# ---------------------------------------------------------------- what can go wrong


@pytest.mark.long
def test_a_crash_keeps_what_was_captured(folder: Path, tmp_path: Path) -> None:
    for how, word in (("raise", "ValueError: no more data"), ("kill", "signal 9")):
        out = tmp_path / f"{how}.json"
        done = run("capture", "-o", out, "--", sys.executable, folder / "train.py", how, code=1)
        assert "what it did until then is kept" in done.stderr
        capture = read_capture(out)
        assert word in next(iter(capture.ended.values()))
        assert times(capture, "native_layer_norm_backward")["backward"] >= 1
        assert word in run("capture", "show", out).stdout


def test_a_context_keeps_what_was_captured_when_it_raises(tmp_path: Path) -> None:
    def program() -> None:
        with bringup.capture(tmp_path / "a.json"):
            torch.ones(2).exp()
            raise ZeroDivisionError("oh")

    with pytest.raises(ZeroDivisionError):
        program()
    capture = read_capture(tmp_path / "a.json")
    assert list(capture.ended.values()) == ["ZeroDivisionError: oh"]
    assert "exp" in {call.overload for call in capture.calls}


@pytest.mark.thinned
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["capture", "-o", "x.json", "--", "python", "nope.py"], "nope.py: no such script"),
        (["capture", "-o", "x.json", "--", "no-such-program"], "no-such-program: cannot be run"),
        (["capture", "-o", "x.json", "--", sys.executable, "-c", "pass"], "did not import torch"),
        (["capture", "-o", "x.json", "--", sys.executable, "-c", "import torch"], "asked no device for anything"),
        (["capture", "-o", "no/x.json", "--", "true"], "there is no folder"),
        (["capture", "show", "none.json"], "no such file"),
        (["capture", "show", "cut.json"], "damaged, or not a file of captured calls"),
        (["capture", "show", "other.json"], "not a file of captured calls"),
        (["capture", "show", "newer.json"], "format 99"),
        (["capture", "show", "memory.json"], "lies in memory 77"),
        (["ops", "list", "--suite", "captured:older.json"], "captured with torch 2.1.0"),
        (["capture", "coverage", "older.json"], "captured with torch 2.1.0"),
        (["capture", "merge", "calls.json", "older.json", "-o", "m.json"], "merge captures of one release"),
        (["ops", "list", "--suite", "captured:empty.json"], "no call was captured"),
        (["ops", "list", "--suite", "captured:unknown.json"], "no overload aten::no_such"),
        (["ops", "list", "--suite", "captured"], "names no file"),
    ],
    ids=lambda value: None if isinstance(value, list) else value,
)
def test_bad_input_is_one_clear_line(folder: Path, arguments: list[str], words: str) -> None:
    text = (folder / "calls.json").read_text()
    raw = json.loads(text)
    (folder / "cut.json").write_text(text[: len(text) // 2])
    (folder / "other.json").write_text("[1, 2]")
    (folder / "newer.json").write_text(json.dumps({**raw, "format": 99}))
    (folder / "older.json").write_text(json.dumps({**raw, "torch": "2.1.0"}))
    (folder / "empty.json").write_text(json.dumps({**raw, "calls": []}))
    (folder / "unknown.json").write_text(json.dumps({**raw, "calls": [{**raw["calls"][0], "overload": "no_such"}]}))
    (folder / "memory.json").write_text(text.replace('"storage":0', '"storage":77'))
    done = run(*arguments, code=2, cwd=folder)
    lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1
    assert words in lines[0]
    assert "Traceback" not in done.stderr
    assert not (folder / "x.json").exists()


def test_no_file_is_named() -> None:
    with pytest.raises(ConfigError, match="names no file"):
        get_suite("captured")


def test_a_file_that_is_there_is_not_written_over(folder: Path) -> None:
    before = (folder / "calls.json").read_bytes()
    done = run("capture", "-o", "calls.json", "--", "true", code=2, cwd=folder)
    assert "is there already" in done.stderr
    assert (folder / "calls.json").read_bytes() == before


def test_reading_and_writing_is_lossless(folder: Path, tmp_path: Path) -> None:
    capture = read_capture(folder / "calls.json")
    write_capture(tmp_path / "again.json", capture)
    assert read_capture(tmp_path / "again.json") == capture
    assert merged([("a", capture)]).calls == capture.calls


def test_what_a_fill_finds_in_memory_is_not_recorded(tmp_path: Path) -> None:
    """It is fresh memory as a rule: two captures of a seeded program are the same file."""
    for number, found in enumerate((torch.zeros(3, 4), torch.arange(12.0).reshape(3, 4))):
        with bringup.capture(tmp_path / f"{number}.json"):
            for fill in (torch.nn.init.normal_, torch.nn.init.zeros_, torch.nn.init.ones_):
                fill(found.clone())
    assert (tmp_path / "0.json").read_bytes() == (tmp_path / "1.json").read_bytes()
    fills = [call for call in read_capture(tmp_path / "0.json").calls if call.overload in ("zero_", "fill_.Scalar")]
    assert [call.tensors[0].values.kind for call in fills] == ["normal", "normal"]
