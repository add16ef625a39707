"""The suite `aten`: what reaches a bare device, as operators with cases, and kernels by hand that are judged on it."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import command_line
import pytest
import pytest_asyncio
import torch
from aten_testkit import bits, tensors
from judge_bench import Bench
from torch.utils import _pytree as pytree

from bringup.accuracy import copy_arguments
from bringup.candidate import Candidate
from bringup.config import NO_CACHE, JudgeConfig, load_config
from bringup.errors import EnvironmentFault, UnknownOperator
from bringup.library import Library
from bringup.linter import lint
from bringup.prompts import first_prompt
from bringup.runs.starts import starting_kernels
from bringup.suites import _aten_survey as survey_module
from bringup.suites import check_suite, get_suite
from bringup.suites._aten_call import call_text, kind_of
from bringup.suites._aten_facts import FORMAT, Recipe, read_aten, write_aten
from bringup.suites._aten_parents import parent_of
from bringup.suites._random_listing import random_overloads
from bringup.suites.aten import AtenSuite
from bringup.suites.aten_audit import ASKED
from bringup.targets import get_target

KERNELS = Path(__file__).parent / "aten_kernels"


@pytest.fixture(scope="module")
def suite() -> AtenSuite:
    return AtenSuite()


@pytest.mark.long
def test_the_suite_conforms() -> None:
    assert check_suite(get_suite("aten"), sample=3) == []


def test_what_reaches_a_bare_device(suite: AtenSuite) -> None:
    if not suite.survey.torch.startswith("2.13."):
        pytest.skip("the numbers are those of torch 2.13")
    assert [count for _, count, _ in suite.funnel()] == [337, 404]
    assert len(suite.survey.surveyed) == 563
    assert len(suite.survey.without) == 96
    names = {operator.name for operator in suite.operators()}
    # one kernel serves functional, in-place and out= forms; a name without a dot is the overload `default`
    assert {"add.out", "mm.out", "_softmax.out", "native_layer_norm", "embedding_dense_backward"} <= names
    assert not {"add.Tensor", "add_.Tensor", "view", "empty.memory_format"} & names
    assert not suite.overloads["native_layer_norm_backward"].forward
    assert "t" in suite.survey.without


def test_records_say_what_the_schemas_say(suite: AtenSuite) -> None:
    for operator in suite.operators():
        if operator.name in random_overloads():
            continue
        packet, _, variant = operator.name.partition(".")
        schema = getattr(getattr(torch.ops.aten, packet), variant or "default")._schema
        assert str(schema) == suite.overloads[operator.name].schema_text
        written = [a.name for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write]
        assert list(operator.writes) == written
        assert operator.computes
        assert operator.case_counts
    assert suite.operator("nonzero").reads.nbytes
    assert not suite.operator("add.out").reads.nbytes
    assert suite.operator("cat.out").moves
    assert not suite.operator("sum.IntList_out").moves


@pytest.mark.parametrize(
    ("name", "public", "same"),
    [
        ("add.out", "add", True), ("_softmax.out", "softmax", True), ("native_layer_norm", "native_layer_norm", True),
        ("native_layer_norm_backward", "native_layer_norm", False),
        ("linalg_vector_norm.out", "linalg.vector_norm", True),
        ("clamp.out", "clamp", True), ("convolution_overrideable", "nn.functional.conv2d", True),
        ("embedding_dense_backward", "nn.functional.embedding", False),
    ],
)  # fmt: skip
def test_an_overload_serves_a_public_operator(suite: AtenSuite, name: str, public: str, same: bool) -> None:
    found = parent_of(suite.overloads[name])
    assert (found.public, found.same) == (public, same)
    assert suite.operator(name).start == (public if same else "")


@pytest.mark.long
def test_cases_are_the_same_bits_in_another_process(suite: AtenSuite) -> None:
    code = (
        "import sys, torch; torch.rand(3); sys.path.insert(0, sys.argv[1]); import aten_testkit as t\n"
        "from bringup.suites import get_suite\n"
        "print(t.bits(get_suite('aten').materialise('native_layer_norm_backward', 'float32', int(sys.argv[2]))))"
    )
    here = bits(suite.materialise("native_layer_norm_backward", "float32", 7))
    run = [sys.executable, "-c", code, str(Path(__file__).parent), "7"]
    there = subprocess.run(run, capture_output=True, text=True, check=True)
    assert there.stdout.strip() == here
    assert bits(suite.materialise("native_layer_norm_backward", "float32", 0)) != here


@pytest.mark.long
def test_gradients_are_the_same_bits_under_every_instruction_set() -> None:
    code = (
        "import sys, torch; sys.path.insert(0, sys.argv[1]); import aten_testkit as t\n"
        "from bringup.suites import get_suite\n"
        "print(t.bits(get_suite('aten').materialise('threshold_backward.grad_input', 'float32')))"
    )
    found = {}
    for capability in ("default", "avx2"):
        environment = {**os.environ, "ATEN_CPU_CAPABILITY": capability}
        run = [sys.executable, "-c", code, str(Path(__file__).parent)]
        done = subprocess.run(run, env=environment, capture_output=True, text=True, check=True)
        found[capability] = done.stdout
    assert found["default"] == found["avx2"]


@pytest.mark.long
def test_outputs_hold_what_shows_and_in_place_calls_share_memory(suite: AtenSuite) -> None:
    cases = suite.materialise("add.out", "float32")
    fresh = [case for case in cases if bool(case.kwargs["out"].isnan().all()) and case.kwargs["out"].numel()]
    assert len(fresh) >= 4
    for case in cases:
        out = case.kwargs["out"]
        args, kwargs = pytree.tree_map(
            lambda v: v.clone() if isinstance(v, torch.Tensor) else v, (case.args, dict(case.kwargs))
        )
        assert case.reference(*args, **kwargs) is kwargs["out"]
        assert out.shape == torch.broadcast_shapes(*(t.shape for t in tensors(case.args)))
    shared = 0
    for name in ("mul.out", "div.out", "neg.out", "sqrt.out", "tanh.out", "clamp_min.out"):
        for case in suite.materialise(name, "float32"):
            out = case.kwargs["out"]
            if any(t.untyped_storage()._cdata == out.untyped_storage()._cdata for t in tensors(case.args)):
                assert not bool(out.isnan().any())  # the operand's values, not those of a fresh output
                shared += 1
    assert shared


def test_numbers_may_stand_where_the_schema_says_tensor(suite: AtenSuite) -> None:
    cases = [case for case in suite.materialise("div.out", "float32") if not isinstance(case.args[1], torch.Tensor)]
    assert cases
    for case in cases:
        out = case.reference(case.args[0].clone(), case.args[1], out=torch.empty_like(case.kwargs["out"]))
        assert torch.equal(out, case.args[0] / case.args[1])


@pytest.mark.parametrize("name", ["multi_margin_loss_backward", "_segment_reduce_backward", "_embedding_bag"])
def test_what_is_not_given_is_left_out_whoever_calls(suite: AtenSuite, name: str) -> None:
    made = suite.materialise(name, "float32")
    assert made
    assert not any(value is None for case in made for value in (*case.args[-1:], *case.kwargs.values()))


@pytest.mark.parametrize("name", ["abs.out", "kthvalue.values", "logical_not.out"])
def test_outputs_are_sized_before_a_kernel_is_called(suite: AtenSuite, name: str) -> None:
    for case in suite.own_cases(name, "float32"):
        args, kwargs = copy_arguments(case.args, dict(case.kwargs))
        case.reference(*args, **kwargs)
        for written in suite.overloads[name].writes:
            assert case.kwargs[written].shape == kwargs[written].shape


def test_what_schemas_do_not_say_is_said(suite: AtenSuite) -> None:
    def told(name: str) -> str:
        return suite.docs(name)[0].text

    assert "1 is 'mean'" in told("nll_loss_forward.output")
    assert "`total_weight` is a scalar" in told("nll_loss_forward.output")
    assert "1 is 'mean'" not in told("add.out")
    assert "`offset2bag` gives the bag" in told("_embedding_bag")
    assert "mean and rstd" in told("native_layer_norm")
    assert "`half_to_float` is True" in told("_softmax.out")
    assert "u(i) is `tl.rand(seed, i)`" in told("native_dropout")


def test_gates_have_published_cases_unless_they_are_to_be_alone(suite: AtenSuite) -> None:
    alone, operator = get_suite("aten:alone"), suite.operator("add.out")
    assert operator.cases_added
    assert not alone.operator("add.out").cases_added
    own = suite.own_cases("add.out", "bfloat16")
    cases = suite.materialise("add.out", "bfloat16")
    assert [c.title for c in cases[: len(own)]] == [c.title for c in own]
    added = cases[len(own) :]
    assert {case.notes["family"] for case in added} >= {"accuracy", "values", "empty"}
    assert all(case.case.index >= len(own) for case in added)
    assert bits(cases) == bits(suite.materialise("add.out", "bfloat16"))


def test_backward_cases_are_what_autograd_asks_for(suite: AtenSuite) -> None:
    for case in suite.own_cases("_softmax_backward_data.out", "float32"):
        grad, output, dim, _ = case.args
        wanted = output * (grad - (grad * output).sum(dim, keepdim=True))
        made = case.reference(*case.args, grad_input=torch.empty_like(case.kwargs["grad_input"]))
        torch.testing.assert_close(made, wanted)
        assert "backward" in case.title


def test_calls_as_text_and_their_kinds() -> None:
    x = torch.zeros(4, 6)
    text = call_text((x.t()[1:], x, [1, 2], 0.5), {"out": x[0]})
    assert text == (
        "float32[5, 4] strides [1, 6] offset 1, float32[4, 6] (memory of argument 0), [1, 2], 0.5, "
        "out=float32[6] (memory of argument 0)"
    )
    one, other = "float32[5, 1], 2, out=float32[5, 1]", "float32[7, 3], -1e-05, out=float32[7, 3]"
    assert kind_of(one) == kind_of(other)
    for different in ("int64[5, 1], 2, out=float32[5, 1]", "float32[0, 1], 2, out=float32[5, 1]",
                      "float32[5, 1] strides [0, 1], 2, out=float32[5, 1]"):  # fmt: skip
        assert kind_of(different) != kind_of(one)


def test_the_prompt_says_what_is_settled_and_what_the_call_means(suite: AtenSuite) -> None:
    operator = suite.operator("_softmax_backward_data.out")
    dialect = get_target("vpe:pe64").dialect()
    text = first_prompt(operator, suite.docs(operator.name), dialect, target="vpe:pe64", words=suite.words).text
    for part in (
        "the kernel of one ATen overload", "Much is settled before the call arrives", "an output may be an input",
        "It writes its result into grad_input", "PyTorch's decomposition", "derivative formulas", "Examples of calls",
        "grad_output", "Softmax is defined as",
    ):  # fmt: skip
        assert part in text, part
    assert "Refusals" not in text
    assert "Spelling of calls" not in text
    assert "Sizes: lengths just below" in text


# The audit -------------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("name", ["_softmax_backward_data.out", "mm.out"])
def test_the_audit_asks_for_other_calls_than_the_gate(suite: AtenSuite, name: str) -> None:
    audit = get_suite(str(suite.audit))
    found = audit.materialise(name, "float32")
    assert [case.case for case in found] == audit.operator(name).cases(("float32",))[: len(found)]
    assert set(ASKED) - {"out", "options", "dims"} == set(suite.words.families or ())
    assert {case.notes["family"] for case in found} >= {"layout", "sizes", "random", "empty", "alignment"}
    assert len({case.notes["key"] for case in found}) == len(found)
    calls = [call_text(case.args, case.kwargs) for case in found]
    known = {call_text(case.args, case.kwargs) for case in suite.own_cases(name, "float32")}
    assert len(set(calls) - known) > len(calls) * 0.5
    published = suite.materialise(name, "float32")[len(suite.own_cases(name, "float32")) :]
    drawn = {(case.notes["key"], case.notes["seed"]) for case in published}
    assert not drawn & {(case.notes["key"], case.notes["seed"]) for case in found}
    assert max(t.numel() for case in found for t in tensors(case.args)) > 1000
    assert any(not t.is_contiguous() for case in found for t in tensors(case.args))
    assert bits(audit.materialise(name, "float32")) == bits(found)


# Judging ---------------------------------------------------------------------------------------------------------


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bench() -> AsyncIterator[Bench]:
    config = JudgeConfig(case_seconds=60, candidate_seconds=600, kernel_cache=NO_CACHE)
    async with Bench("vpe:pe64", config, jobs=1) as made:
        yield made


def kernel(name: str) -> str:
    return (KERNELS / f"{name}.py").read_text(encoding="utf-8")


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", sorted(file.stem for file in KERNELS.glob("*.py")))
async def test_kernels_by_hand_pass_every_case_of_the_samples_dtypes(bench: Bench, suite: AtenSuite, name: str) -> None:
    """They were written for the dtypes of OpInfo's samples; that others refuse them is for the gate to show."""
    candidate, operator = Candidate(source=kernel(name)), suite.operator(name)
    dtypes = tuple(dtype for dtype, count in operator.own_counts.items() if count)
    assert lint(candidate, get_target("vpe:pe64").dialect(), operator) == []
    verdict = await bench.candidate(candidate, operator, dtypes=dtypes)
    assert verdict.kind == "passed", (verdict.case, verdict.summary, verdict.exception)
    assert verdict.cases_total == sum(operator.case_counts[dtype] for dtype in dtypes)


WRONG = {
    "forgets alpha": ("add.out", "a + tl.full([BLOCK], alpha, VIA) * b", "a + b", "wrong", ""),
    "returns memory of its own": ("add.out", "    return out", "    return out.clone()", "wrong", "aliasing"),
    "leaves the output as it is": ("mul.out", "if out.numel():", "if out.numel() > 1 << 20:", "wrong", "provenance"),
    "forgets eps": ("native_layer_norm", "/ n + eps)", "/ n)", "wrong", ""),
    "adds to the padding row": ("embedding_dense_backward", "if row != padding:", "if row != -2:", "wrong", ""),
    "counts along another axis": ("_softmax.out", "source.movedim(dim, -1)", "source", "wrong", ""),
}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("what", WRONG)
async def test_wrong_kernels_are_found_out(bench: Bench, suite: AtenSuite, what: str) -> None:
    name, right, wrong, kind, guard = WRONG[what]
    source = kernel(name)
    assert right in source
    candidate = Candidate(source=source.replace(right, wrong))
    verdict = await bench.candidate(candidate, suite.operator(name), dtypes=("float32",))
    assert (verdict.kind, verdict.guard) == (kind, guard), (verdict.case, verdict.summary, verdict.exception)


def test_running_statistics_are_written_whatever_the_schema_says(suite: AtenSuite) -> None:
    """The schema of `native_batch_norm` marks nothing as written."""
    operator = suite.operator("native_batch_norm")
    assert not operator.writes
    assert operator.mutates
    assert not suite.operator("native_group_norm").mutates


# Commands --------------------------------------------------------------------------------------------------------


def test_a_public_operators_kernel_is_a_natural_start(suite: AtenSuite, tmp_path: Path) -> None:
    config = load_config(None, {"suite": "aten", "refine_from": "vpe-pe64"})
    chosen = [suite.operator(name) for name in ("add.out", "mm.out", "native_layer_norm_backward")]
    found = starting_kernels(config, chosen, tmp_path)
    assert set(found) == {"add.out", "mm.out"}
    assert "def wrapper(input, other, *, alpha=1, out=None)" in found["add.out"]
    (tmp_path / "add.py").write_text("public")
    (tmp_path / "mm.py").write_text("public")
    (tmp_path / "mm.out.py").write_text("its own")
    config = load_config(None, {"suite": "aten", "refine_from": str(tmp_path)})
    assert starting_kernels(config, chosen, tmp_path) == {"add.out": "public", "mm.out": "its own"}


def test_an_overloads_kernel_starts_the_public_operator_whose_work_it_does(tmp_path: Path) -> None:
    chosen = [get_suite("opinfo").operator(name) for name in ("svd", "max", "cos", "nn.functional.cross_entropy")]
    config = load_config(None, {"refine_from": str(Path(__file__).parents[2] / "kernels")})
    found = starting_kernels(config, chosen, tmp_path)
    served = {name: text.splitlines()[0].split()[5].rstrip(",") for name, text in found.items()}
    assert served == {"svd": "aten::_linalg_svd.U", "cos": "aten::cos.out", "max": "aten::max"}
    assert all("def wrapper(" in text for text in found.values())


def test_a_librarys_kernel_starts_a_captured_overload_as_it_is(suite: AtenSuite, tmp_path: Path) -> None:
    kernels = Path(__file__).parents[2] / "kernels"
    chosen = [
        suite.operator(name).model_copy(update={"suite": "captured:calls.json"}) for name in ("cos.out", "mse_loss.out")
    ]
    config = load_config(None, {"refine_from": str(kernels)})
    found = starting_kernels(config, chosen, tmp_path)
    assert found == {"cos.out": Library.open(kernels).source(Library.open(kernels).of("cos.out")[0])}
    assert starting_kernels(config, chosen[1:], tmp_path) == {}


def test_a_survey_goes_on_where_it_stopped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(survey_module, "surveyed", lambda: ["t", "add", "softmax"])
    out = tmp_path / "aten.json.gz"
    survey_module.main([str(out), "0"])
    assert out.read_bytes() == b""
    kept = [file.stem for file in survey_module.notes_folder().glob("*.json")]
    assert kept == ["t"]
    (survey_module.notes_folder() / "softmax.trying").write_text("999999999")  # a process that is no more
    survey_module.main([str(out)])
    survey = read_aten(out.read_bytes(), "x")
    assert survey is not None
    assert survey.without == ("t",)
    assert survey.failed["softmax"] == {"f the process died": 1}
    assert {one.name for one in survey.overloads} == {"add.out", "mul.out", "sum.IntList_out"}
    add = next(one for one in survey.overloads if one.name == "add.out")
    assert add.forward
    assert add.counts == {"float32": 11, "bfloat16": 11, "float16": 11, "int32": 11, "int64": 11}
    assert add.cases["float32"][0] == Recipe(public="add", sample=0, direction="f", ordinal=0)
    write_aten(tmp_path / "again.json.gz", survey)
    assert (tmp_path / "again.json.gz").read_bytes() == out.read_bytes()


def test_broken_and_old_surveys() -> None:
    with pytest.raises(EnvironmentFault, match="not a survey"):
        read_aten(b"nonsense", "x")
    with pytest.raises(EnvironmentFault, match="not a survey"):
        read_aten(gzip.compress(json.dumps({"format": FORMAT, "torch": "2"}).encode()), "x")
    assert read_aten(gzip.compress(b'{"format": 0}'), "x") is None


def test_bad_input_is_one_line(suite: AtenSuite, tmp_path: Path) -> None:
    with pytest.raises(UnknownOperator, match=r"did you mean add.out"):
        suite.operator("ad.out")
    assert suite.materialise("add.out", "complex64") == []

    def says(*arguments: str) -> str:
        found = command_line.bringup(*arguments)
        assert found.returncode == 2, found.stderr
        return " ".join(found.stderr.split())

    assert "more: gate additions cannot be read" in says("ops", "list", "--suite", "aten:more")
    assert "--seconds: is for the suite aten" in says("ops", "survey", "--seconds", "5")
    assert "needs no survey" in says("ops", "survey", "--suite", "conformance")
    file = tmp_path / "k.py"
    file.write_text(kernel("add.out"))
    assert "has no audit" in says("audit", "judge", "double", str(file), "--suite", "conformance")


def test_no_case_of_what_pytorch_computes_otherwise_than_documented(suite: AtenSuite) -> None:
    """Documented: the gradient of a row, divided by the frequency of its index. Three rows occur 1, 2 and 3 times."""
    import torch

    weight = torch.ones(8, 1, requires_grad=True)
    indices = torch.tensor([[2, 5, 5, 7, 7, 7]])
    torch.nn.functional.embedding_bag(indices, weight, mode="sum", scale_grad_by_freq=True).sum().backward()
    assert weight.grad is not None
    assert weight.grad[[2, 5, 7], 0].tolist() != [1.0, 1.0, 1.0]  # else the exclusion has no reason any more
    for dtype in ("float32", "float16"):
        for case in suite.materialise("_embedding_bag_backward", dtype):
            assert not case.args[7], case.title  # scale_grad_by_freq
            assert not case.args[9], case.title  # sparse


def test_which_matrix_is_factorised_and_which_tie_is_taken() -> None:
    """What aten.yaml says of results beside the first one, against PyTorch itself."""
    import torch

    rows = torch.randn(4, 4, generator=torch.Generator().manual_seed(3))
    by_columns = rows.mT.contiguous().mT
    of_it, of_transpose = (torch.linalg.lu_factor(one)[0] for one in (rows, rows.mT))
    assert not torch.allclose(of_it, of_transpose)
    for name, place in (("_linalg_det", 1), ("_linalg_slogdet", 2)):
        function = getattr(torch.ops.aten, name)
        assert torch.allclose(function(rows)[place], of_transpose), name
        assert torch.allclose(function(by_columns)[place], of_it), name
    for matrix in (rows, by_columns):
        assert torch.allclose(torch.ops.aten._linalg_solve_ex(matrix, rows)[1], of_it)
    assert torch.cummax(torch.tensor([1, 3, 3, 2, 3]), 0).indices.tolist() == [0, 1, 2, 2, 4]
    assert torch.cummin(torch.tensor([3, 1, 1, 2, 1]), 0).indices.tolist() == [0, 1, 2, 2, 4]


def test_positions_of_upsampling_are_as_they_are_said() -> None:
    """The formulas of aten.yaml, in plain numbers, against PyTorch: with and without corners, and with scales."""
    import math

    import torch

    a = -0.75
    x = torch.randn(1, 1, 7, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    n, row = 7, x[0, 0].tolist()

    def cubic(d: float) -> float:
        return ((a + 2) * d - (a + 3)) * d * d + 1 if d <= 1 else ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

    def at(j: int, m: int, corners: bool, step: float) -> float:
        return (j * (n - 1) / (m - 1) if m > 1 else 0.0) if corners else (j + 0.5) * step - 0.5

    def linear(p: float) -> float:
        p = max(p, 0.0)
        i = min(math.floor(p), n - 1)
        return row[i] * (1 - (p - i)) + row[min(i + 1, n - 1)] * (p - i)

    def bicubic(p: float) -> float:
        i = math.floor(p)
        t = p - i
        taken = [row[min(max(i + k, 0), n - 1)] for k in (-1, 0, 1, 2)]
        return sum(v * cubic(d) for v, d in zip(taken, (t + 1, t, 1 - t, 2 - t), strict=True))

    aten = torch.ops.aten
    for m, corners, scale in ((1, True, None), (5, False, None), (11, True, None), (16, False, None), (16, False, 2.3)):
        step = n / m if scale is None else 1 / scale
        places = [at(j, m, corners, step) for j in range(m)]
        found = aten.upsample_linear1d(x, [m], corners, scale)[0, 0]
        assert torch.allclose(found, torch.tensor([linear(p) for p in places], dtype=torch.float64)), (m, corners)
        square = x.unsqueeze(2).expand(1, 1, 7, 7)
        found = aten.upsample_bicubic2d(square, [m, m], corners, scale, scale)[0, 0, 0]
        assert torch.allclose(found, torch.tensor([bicubic(p) for p in places], dtype=torch.float64)), (m, corners)
        if not corners:
            nearest, exact = ([row[min(math.floor((j + h) * step), n - 1)] for j in range(m)] for h in (0, 0.5))
            assert aten.upsample_nearest1d(x, [m], scale)[0, 0].tolist() == nearest
            assert aten._upsample_nearest_exact1d(x, [m], scale)[0, 0].tolist() == exact
