"""Suites of problem files: both contracts, cut sizes, vacuous and useless files, references in their own process."""

import dataclasses
import functools
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from bringup.accuracy import stepwise
from bringup.candidate import Candidate
from bringup.errors import BringupError, ConfigError, EnvironmentFault
from bringup.judge import JobTemplate, open_judge
from bringup.suites import get_suite
from bringup.suites.problems._facts import Facts
from bringup.suites.problems._process import ProblemProcess
from bringup.suites.problems._program import Call, Problem, divided
from bringup.suites.problems._reference import Reference

CASE_STUDIES = Path(__file__).parents[2] / "examples" / "case-studies"

LINEAR = '''
import torch
import torch.nn as nn

class Model(nn.Module):
    """A linear layer, normalised."""
    def __init__(self, wide, bias):
        super().__init__()
        self.fc = nn.Linear(wide, 4, bias=bias)
        self.norm = nn.BatchNorm1d(4)
        self.shift = torch.randn(4)
    def forward(self, x):
        return self.norm(self.fc(x)) + self.shift

batch_size = 4096
wide = 2 * 512
depth = batch_size * 2

def get_inputs():
    return [torch.rand(batch_size, wide)]

def get_init_inputs():
    return [wide, True]
'''
HEAD = "import torch\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        {body}\n\n"
TAIL = "def get_inputs():\n    return [torch.rand(8, 16)]\n\ndef get_init_inputs():\n    return []\n"
FILES = {
    "linear": LINEAR,
    "relu": HEAD.format(body="return torch.relu(x)") + TAIL,
    "constant": HEAD.format(body="return torch.ones_like(x)") + TAIL,
    "zero": HEAD.format(body="return x * 1e-9") + TAIL,
    "independent": HEAD.format(body="return torch.arange(8.0) + 0 * x.sum()") + TAIL,
    "random": HEAD.format(body="return x + torch.rand(1)") + TAIL,
    "broken": "import no_such_module\n",
    "no_model": TAIL,
    "huge": HEAD.format(body="return x.sum()") + TAIL.replace("8, 16", "1 << 44"),
    "wrong": HEAD.format(body="return x @ x") + TAIL,
    "text": HEAD.format(body="return 'x'") + TAIL,
    "quits": HEAD.format(body="import os; os._exit(3)") + TAIL,
    "syntax": "def get_inputs(:\n",
}
TRAINED = """
import torch

CHECKS = [{"rows": 5, "wide": 7}]
SIZES = [{"rows": 500, "wide": 700}]
TRAINING = True

class Reference(torch.nn.Module):
    def __init__(self, wide):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(wide))
    def forward(self, x, index):
        return x * self.weight, index + 1

def inputs(rows, wide):
    return [torch.randn(rows, wide), torch.arange(rows)]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("problems")
    for name, text in FILES.items():
        (path / f"{name}.py").write_text(text)
    return path


@pytest.fixture(scope="module")
def listed(folder):
    return {operator.name: operator for operator in get_suite(f"kernelbench:{folder}").operators()}


def test_arguments_are_inputs_then_parameters_then_buffers_then_the_constructor_s(listed):
    linear = listed["linear"]
    assert linear.exclusion is None
    assert linear.signature == (
        "linear(x, fc_weight, fc_bias, norm_weight, norm_bias, norm_running_mean, norm_running_var, "
        "norm_num_batches_tracked, shift, *, wide=1024, bias=True) -> Tensor"
    )
    assert linear.case_counts == {"float32": 1}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("constant", "vacuous: its result is constant"),
        ("zero", "vacuous: its result is zero, or nearly"),
        ("independent", "vacuous: its result does not depend on its inputs"),
        ("random", "its result is random"),
        ("broken", "does not import: line 1: ModuleNotFoundError: No module named 'no_such_module'"),
        ("no_model", "defines no class Model"),
        ("huge", "needs more memory than there is"),
        ("wrong", "fails: RuntimeError: "),
        ("text", "forward() returns str"),
        ("quits", "ended its process with code 3"),
        ("syntax", "is not Python: "),
    ],
)
def test_a_file_of_no_use_says_why_in_one_line_and_has_no_cases(listed, name, words):
    assert listed[name].exclusion is not None
    assert listed[name].exclusion.startswith(words)
    assert "\n" not in listed[name].exclusion
    assert listed[name].cases_total == 0


@pytest.mark.long
def test_the_reference_runs_in_a_process_of_its_own_and_changes_no_buffer(folder):
    (case,) = get_suite(f"kernelbench:{folder}/linear.py?memory=64K").materialise("linear", "float32", 3)[:1]
    x, weight, bias, scale, offset, mean, _, count, shift = case.args
    assert case.kwargs["bias"] is True
    before = mean.clone()
    result = case.reference(*case.args, **case.kwargs)
    wanted = torch.nn.functional.batch_norm(x @ weight.T + bias, None, None, scale, offset, True) + shift
    torch.testing.assert_close(result, wanted)
    assert torch.equal(mean, before)
    assert count.dtype is torch.int64
    again = get_suite(f"kernelbench:{folder}/linear.py?memory=64K").materialise("linear", "float32", 3)
    assert all(torch.equal(a, b) for a, b in zip(again[0].args, case.args, strict=True))
    assert not torch.equal(again[1].args[0], x)  # further cases have other values
    limits = case.standard.limits(case.args, case.kwargs, result, (case.args, case.kwargs))
    assert not limits.outputs[0].wrong(result, wanted).any()
    assert limits.outputs[0].wrong(result, wanted * 1.001).any()


def test_relu_of_numbers_from_0_to_1_is_asked_for_negative_ones_too(folder):
    first, second = get_suite(f"kernelbench:{folder}/relu.py").materialise("relu", "float32")
    assert torch.equal(first.reference(*first.args), first.args[0])
    assert (second.args[0] < 0).sum() == 64


def test_what_is_told_of_a_constructor_s_arguments(folder, tmp_path):
    (tmp_path / "more.py").write_text(
        LINEAR.replace("wide, bias):", "wide, bias, gain=2.0, *, eps=1e-5, **rest):").replace(
            "return self", "return 2 * self"
        )
    )
    document = get_suite(f"kernelbench:{tmp_path}/more.py?memory=64K").docs("more")[0].text
    every = "Every call passes all of these keywords; in the signature they have the first test's values."
    assert "as keywords the arguments of `__init__` (wide, bias)." in document
    assert every in document
    assert "What `__init__` takes beside (gain, eps) is not passed: it has the file's default." in document
    assert "none below 64; the arguments of `__init__` follow them." in document
    whole = get_suite(f"kernelbench:{folder}/linear.py").docs("linear")[0].text
    assert every in whole
    assert "takes beside" not in whole
    assert "as keywords" not in get_suite(f"kernelbench:{folder}/relu.py").docs("relu")[0].text


def test_sizes_are_cut_together():
    assert divided(4096, 8, 64) == 512
    assert divided(3, 8, 64) == 3
    assert divided((393216, 100), 1024, 64) == (384, 100)
    small = Problem("kernelbench", "linear", LINEAR, 16)
    assert (small.names["batch_size"], small.names["wide"], small.names["depth"]) == (256, 64, 512)


@pytest.mark.long
def test_gradients_are_results_of_a_training_problem(tmp_path):
    (tmp_path / "trained.py").write_text(TRAINED)
    suite = get_suite(f"modules:{tmp_path}/trained.py")
    operator = suite.operator("trained")
    assert operator.signature == "trained(x, index, weight, grad_0, *, wide=7) -> (Tensor, Tensor, Tensor, Tensor)"
    (case,) = suite.materialise("trained", "float32")
    x, index, weight, gradient = case.args
    product, following, by_x, by_weight = case.reference(*case.args)
    torch.testing.assert_close(product, x * weight)
    assert torch.equal(following, index + 1)
    torch.testing.assert_close(by_x, gradient * weight)
    torch.testing.assert_close(by_weight, (gradient * x).sum(0))
    assert sum(get_suite(f"modules:{tmp_path}/trained.py?sizes=all").operator("trained").case_counts.values()) == 2


def test_a_reference_on_another_device_runs_in_the_process_that_holds_the_data(folder):
    suite = get_suite(f"kernelbench:{folder}/relu.py")
    case = suite.materialise("relu", "float32")[0]
    assert isinstance(case.reference, Reference)
    assert case.reference(torch.empty(8, 16, device="meta")).device.type == "meta"
    call = case.reference.local()
    assert isinstance(call, Call)


def test_a_process_that_dies_is_the_environment_s_fault_never_a_tolerance_and_is_started_anew(folder):
    case = get_suite(f"kernelbench:{folder}/relu.py").materialise("relu", "float32")[0]
    expected = case.reference(*case.args)
    given = (case.args, {}, expected, (case.args, {}))
    process = case.reference._process
    process._process.kill()
    process._process.wait()
    with pytest.raises(EnvironmentFault, match="problem relu: its process has ended"):
        case.standard.limits(*given)
    (limit,) = case.standard.limits(*given).outputs
    assert limit is not None
    assert not limit.wrong(expected, expected).any()


@pytest.fixture
def one_thread():
    """As problems' processes compute: sums of several threads differ in bits."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.long
@pytest.mark.parametrize("name", ["optimized_fm", "map_id", "event_truncation"])
def test_a_problem_s_process_computes_the_limits_that_its_reference_would_give_here(name, one_thread):
    found = get_suite(f"modules:{CASE_STUDIES / name}.py")
    (dtype,) = found.operator(name).case_counts
    for inputs in found.materialise(name, dtype)[:2]:
        expected = inputs.reference(*inputs.args)
        given = (inputs.args, {}, expected, (inputs.args, {}))
        (one,) = inputs.standard.limits(*given).outputs
        here = dataclasses.replace(inputs.standard, stepped=functools.partial(stepwise, inputs.reference.local()))
        (other,) = here.limits(*given).outputs
        assert (one is None) is (other is None) is (name == "map_id")
        if one is not None and other is not None:
            assert one.words == other.words
            assert torch.equal(one.exact, other.exact)
            assert torch.equal(one.allowed, other.allowed)
            assert not one.wrong(expected, expected).any()
            assert one.wrong(expected, expected + 1).all()


@pytest.mark.long
def test_a_training_problem_s_process_computes_the_limits_of_gradients_too(tmp_path):
    (tmp_path / "trained.py").write_text(TRAINED)
    inputs = get_suite(f"modules:{tmp_path / 'trained.py'}").materialise("trained", "float32")[0]
    expected = inputs.reference(*inputs.args)
    limits = inputs.standard.limits(inputs.args, {}, expected, (inputs.args, {}))
    assert [limit is None for limit in limits.outputs] == [False, True, False, False]
    assert all(limit is None for limit in limits.after)


@pytest.mark.long
def test_references_on_a_device_are_an_option_and_other_suites_keep_their_digest(tmp_path):
    path = CASE_STUDIES / "optimized_fm.py"
    there, here = get_suite(f"modules:{path}?device=cuda"), get_suite(f"modules:{path}")
    assert '"device"' not in here.packed()
    (tmp_path / "packed.json").write_text(there.packed())
    assert get_suite(f"modules:{tmp_path / 'packed.json'}").bundle.options.device == "cuda"
    assert there.digest() != here.digest()
    with pytest.raises(ConfigError, match=r"device.*'cpu' or 'cuda'"):
        get_suite(f"modules:{path}?device=tpu")
    if not torch.cuda.is_available():
        with pytest.raises(BringupError, match="device=cuda: PyTorch finds no GPU here"):
            there.materialise("optimized_fm", "bfloat16")


@pytest.mark.parametrize(
    ("device", "named", "seen"), [("cpu", "all", ""), ("cuda", "all", None), ("cuda", "3", "3"), ("cuda", None, "")]
)
def test_a_problem_s_process_sees_a_gpu_only_where_the_suite_asks(monkeypatch, device, named, seen):
    """The judge hides GPUs from its own processes, and keeps the user's choice in a variable."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.delenv("BRINGUP_DEVICES", raising=False)
    if named is not None:
        monkeypatch.setenv("BRINGUP_DEVICES", named)
    started = []
    real = subprocess.Popen

    def popen(command, **options):
        started.append(options["env"].get("CUDA_VISIBLE_DEVICES"))
        return real([sys.executable, "-c", ""], **options)

    monkeypatch.setattr(subprocess, "Popen", popen)
    ProblemProcess("modules", "one", "", Facts(), device).close()
    assert started == [seen]


def test_a_packed_suite_is_the_same_without_its_files(folder, tmp_path):
    shutil.copy(folder / "relu.py", tmp_path / "relu.py")
    suite = get_suite(f"kernelbench:{tmp_path}/relu.py")
    (tmp_path / "packed.yaml").write_text(suite.packed())
    (tmp_path / "relu.py").unlink()
    packed = get_suite(f"kernelbench:{tmp_path}/packed.yaml")
    assert packed.digest() == suite.digest()
    assert packed.operator("relu").case_counts == {"float32": 2}


async def test_a_problem_is_judged_by_what_a_job_takes_along(folder, tmp_path):
    shutil.copy(folder / "relu.py", tmp_path / "relu.py")
    operator = get_suite(f"kernelbench:{tmp_path}/relu.py").operator("relu")
    source = (
        "@triton.jit\ndef kernel_relu(x, out, n, BLOCK: tl.constexpr):\n"
        "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "    tl.store(out + i, tl.maximum(tl.load(x + i, mask=i < n), {low}), mask=i < n)\n\n\n"
        "def wrapper(x):\n    out = torch.empty_like(x)\n"
        "    kernel_relu[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)\n    return out\n"
    )
    template = JobTemplate("vpe:pe64", compiles=False)
    jobs = [template.job(Candidate(source=source.format(low=low)), operator) for low in ("0.0", "-9.0")]
    (tmp_path / "relu.py").unlink()
    async with open_judge("vpe:pe64") as judge:
        right, wrong = [await judge.judge(job) for job in jobs]
    assert right.passed, right.summary
    assert wrong.kind == "wrong"


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("kernelbench", "names no file or folder"),
        ("kernelbench:/no/such/place", "no such file or folder"),
        ("kernelbench:{folder}?memory=lots", "'lots' is no amount"),
        ("kernelbench:{folder}?memry=1M", "no option 'memry'"),
        ("kernelbench:{folder}?scale=0", "option scale"),
        ("kernelbench:{folder}?dtypes=int32", "option dtypes"),
        ("kernelbench:{empty}", "no problem files"),
    ],
)
def test_a_spec_of_no_use_says_so(folder, tmp_path, spec, words):
    with pytest.raises(ConfigError, match=words.replace("?", r"\?")):
        get_suite(spec.format(folder=folder, empty=tmp_path))


def test_two_files_of_one_name_are_refused(tmp_path):
    for level in ("one", "two"):
        (tmp_path / level).mkdir()
        (tmp_path / level / "relu.py").write_text(FILES["relu"])
    with pytest.raises(BringupError, match=r"two files are called relu\.py"):
        get_suite(f"kernelbench:{tmp_path}")


@pytest.mark.long
def test_the_case_studies_have_references_that_can_be_judged():
    operators = {one.name: one for one in get_suite(f"modules:{CASE_STUDIES}").operators()}
    assert sorted(operators) == ["bucketing", "conv1d", "event_truncation", "map_id", "optimized_fm", "pffn"]
    assert [one.name for one in operators.values() if one.exclusion] == []


def test_the_examples_of_the_papers_come_out():
    values = torch.tensor([100, 300, 500, 200, 999])
    problem = Problem("modules", "map_id", (CASE_STUDIES / "map_id.py").read_text())
    assert problem.root()(values, torch.tensor([100, 200, 300, 400, 500])).tolist() == [1, 3, 5, 2, 0]
    problem = Problem("modules", "bucketing", (CASE_STUDIES / "bucketing.py").read_text())
    x = torch.tensor([[0.1, 0.4, 0.8], [0.2, 0.5, 0.9]])
    borders = torch.tensor([0.3, 0.6, torch.inf, 0.4, 0.7, torch.inf])
    found = problem.root(borders=2)(x, borders, torch.tensor([0, 3, 6]))
    assert found.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_problem_s_prompt_shows_its_call_with_types(folder):
    from bringup.prompts import PromptBook
    from bringup.targets import get_target

    suite = get_suite(f"kernelbench:{folder}")
    target = get_target("vpe:permissive")
    book = PromptBook(target.dialect(), "vpe:permissive", suite.docs, ("float32",), suite.words)
    text = book.first(suite.operator("linear")).text
    assert "x: Tensor, fc_weight: Tensor" in text
    assert "wide=int, bias=bool)" in text
