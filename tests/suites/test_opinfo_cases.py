"""The opinfo suite's cases: determinism, calls, tolerances, post-processing, and the survey against a new one."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy
import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from bringup.suites import CaseInputs, on_device
from bringup.suites._opinfo_calls import REARRANGED_OPERATORS, Call
from bringup.suites._opinfo_postprocess import OPERATORS, postprocess_of
from bringup.suites._opinfo_samples import entries, samples
from bringup.suites._opinfo_survey import survey_operator
from bringup.suites._opinfo_tolerance import DEFAULTS, copy_arguments, reference_error, widened, written
from bringup.suites.opinfo import OpInfoSuite

# Operators that draw in unusual ways: sets of strings, random counts, factorised or sparse inputs, tensor lists.
AWKWARD = (
    "meshgrid", "masked.var", "nn.functional.max_unpool1d", "linalg.eigh", "linalg.pinv", "sparse.mm", "cat", "arange",
    "index_put", "nn.functional.conv2d", "special.zeta", "as_strided", "softmax", "__getitem__",
)  # fmt: skip


@pytest.fixture(scope="module")
def suite() -> OpInfoSuite:
    return OpInfoSuite()


def digest(cases: Sequence[CaseInputs]) -> str:
    state = hashlib.sha256()
    for case in cases:
        state.update(case.variant.encode())
        for leaf in pytree.tree_leaves((case.args, dict(case.kwargs))):
            if isinstance(leaf, torch.Tensor):
                dense = leaf.to_dense() if leaf.layout is not torch.strided else leaf
                state.update(f"{leaf.dtype}{tuple(leaf.shape)}{leaf.layout}".encode())
                values = (
                    dense.detach().resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format).reshape(-1)
                )
                state.update(values.view(torch.uint8).numpy().tobytes())
                if leaf.layout is torch.strided:
                    state.update(f"{leaf.stride()}{leaf.storage_offset()}".encode())
            elif not callable(leaf):
                state.update(repr(leaf).encode())
    return state.hexdigest()


def all_digests(suite: OpInfoSuite, names: Sequence[str], seed: int) -> dict[str, str]:
    return {
        f"{name} {dtype}": digest(suite.materialise(name, dtype, seed))
        for name in names
        for dtype in dtypes_of(suite, name, seed)
    }


def dtypes_of(suite: OpInfoSuite, name: str, seed: int) -> tuple[str, ...]:
    """All dtypes under the usual seed; under another one, which builds published cases twice, one that differs."""
    dtypes = suite.operator(name).dtypes
    return dtypes if seed == 0 else (dtypes[(len(name) + seed) % len(dtypes)],)


def test_same_bits_in_every_process_and_order(suite: OpInfoSuite) -> None:
    code = (
        "import json, sys, torch; sys.path.insert(0, sys.argv[1])\n"
        "from test_opinfo_cases import AWKWARD, all_digests, OpInfoSuite\n"
        "torch.set_num_threads(2); torch.rand(5)\n"
        "print(json.dumps([all_digests(OpInfoSuite(), AWKWARD[::-1], 3)]))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "1", "PYTORCH_OPINFO_SAMPLE_INPUT_INDEX": "0"}
    here = os.path.dirname(__file__)
    output = subprocess.run(
        [sys.executable, "-c", code, here], env=environment, capture_output=True, text=True, check=True
    ).stdout
    theirs = json.loads(output.strip().splitlines()[-1])
    assert theirs == [all_digests(suite, AWKWARD, 3)]


def test_settings_of_the_process_do_not_reach_the_cases(suite: OpInfoSuite) -> None:
    plain = all_digests(suite, ("softmax", "full", "linalg.eigh"), 0)
    torch.manual_seed(5)
    torch.set_default_dtype(torch.float64)
    torch.set_default_device("meta")
    try:
        assert all_digests(suite, ("softmax", "full", "linalg.eigh"), 0) == plain
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_default_device(None)


def test_generators_are_left_as_they_were(suite: OpInfoSuite) -> None:
    torch.manual_seed(1)
    numpy.random.seed(1)
    random.seed(1)
    expected = torch.rand(1).item(), numpy.random.rand(), random.random()
    torch.manual_seed(1)
    numpy.random.seed(1)
    random.seed(1)
    suite.materialise("linalg.eigh", "float32", 9)
    assert (torch.rand(1).item(), numpy.random.rand(), random.random()) == expected


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 12345])
def test_other_seeds_give_other_values_of_the_same_cases(suite: OpInfoSuite, seed: int) -> None:
    for name in ("add", "masked.std", "nn.functional.max_unpool1d", "nn.functional.max_unpool3d"):
        operator = suite.operator(name)
        for dtype in dtypes_of(suite, name, seed):
            cases = suite.materialise(name, dtype, seed)
            assert [case.case for case in cases] == operator.cases((dtype,), seed)
            assert digest(cases) != digest(suite.materialise(name, dtype))


@pytest.mark.long
def test_an_unusual_number_of_samples_is_made_of_several_draws(suite: OpInfoSuite) -> None:
    """Seed 0 gives max_unpool2d 33 samples with gradients, others 15 to 26: 1,000 of them are no answer."""
    name = "nn.functional.max_unpool2d"
    cases = suite.materialise(name, "float32", 1)
    assert [case.case for case in cases] == suite.operator(name).cases(("float32",), 1)
    assert digest(cases) == digest(suite.materialise(name, "float32", 1))


def own(suite: OpInfoSuite, name: str, dtype: str) -> list[CaseInputs]:
    """OpInfo's cases, without those that were added to the gate."""
    return [case for case in suite.materialise(name, dtype) if "added" not in case.notes]


def test_variants_follow_one_another(suite: OpInfoSuite) -> None:
    variants = [case.variant for case in own(suite, "max", "float32")]
    assert list(dict.fromkeys(variants)) == list(suite.operator("max").variants)
    assert variants == sorted(variants, key=suite.operator("max").variants.index)


def test_a_dtype_without_cases_gives_none(suite: OpInfoSuite) -> None:
    assert list(suite.materialise("exp2", "complex64")) == []
    assert list(suite.materialise("linalg.svd", "int32")) == []


class FirstCall(TorchFunctionMode):
    """Remembers the tensors of the first torch function that is called with any.

    Entries that set a seed call `torch.manual_seed`, which asks more of torch where a device has been enabled.
    """

    def __init__(self) -> None:
        super().__init__()
        self.tensors: list[int] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not self.tensors:
            leaves = pytree.tree_leaves((args, kwargs))
            self.tensors = [id(leaf) for leaf in leaves if isinstance(leaf, torch.Tensor)]
        return func(*args, **(kwargs or {}))


def test_no_entry_rearranges_its_arguments_behind_our_back(suite: OpInfoSuite) -> None:
    """An entry whose `op` is written in OpInfo itself must pass its tensors on in order, or be in our table."""
    checked = 0
    for name, variants in entries().items():
        operator = suite.operator(name)
        if operator.exclusion or name in REARRANGED_OPERATORS or not operator.dtypes:
            continue
        for entry in variants:
            if not getattr(entry.op, "__module__", "").startswith("torch.testing."):
                continue
            for sample in samples(name, operator.dtypes[0])[:3]:
                if sample.entry is not entry:
                    continue
                leaves = pytree.tree_leaves((sample.call.args, sample.call.kwargs))
                tensors = [id(leaf) for leaf in leaves if isinstance(leaf, torch.Tensor)]
                if not tensors:
                    continue
                with FirstCall() as first:
                    entry.op(*sample.call.args, **sample.call.kwargs)
                assert first.tensors == tensors, name
                checked += 1
    assert checked > 50


@pytest.mark.parametrize("name", sorted(REARRANGED_OPERATORS))
def test_rearranged_calls_agree_with_opinfo(suite: OpInfoSuite, name: str) -> None:
    for entry in entries()[name]:
        raw = list(entry.sample_inputs("cpu", torch.float32, requires_grad=False))
        ours = [sample for sample in samples(name, "float32") if sample.entry is entry]
        assert len(raw) == len(ours)
        for theirs, sample in zip(raw, ours, strict=True):
            args, kwargs = copy_arguments(sample.call.args, sample.call.kwargs)
            result = sample.call.reference(*args, **kwargs)
            expected = entry.op(theirs.input, *theirs.args, **theirs.kwargs)
            if name == "linalg.lstsq" and entry.variant_test_name == "grad_oriented":
                result = result[:2]
            torch.testing.assert_close(tuple(pytree.tree_leaves(result)), tuple(pytree.tree_leaves(expected)))


def test_factories_name_their_device(suite: OpInfoSuite) -> None:
    for name in ("arange", "eye", "tril_indices", "signal.windows.hann", "full", "empty_permuted"):
        for case in own(suite, name, suite.operator(name).dtypes[0]):
            assert case.notes["factory"]
            args, kwargs = on_device(case, "meta")
            assert kwargs["device"] == "meta"
            assert case.kwargs["device"] == torch.device("cpu")
            assert case.reference(*args, **kwargs).device.type == "meta"
    assert "factory" not in suite.materialise("broadcast_shapes", "float32")[0].notes


def test_positional_devices_are_found(suite: OpInfoSuite) -> None:
    case = suite.materialise("to", "float32")[0]
    assert case.notes["device_places"] == (1,)
    assert on_device(case, "x")[0][1] == "x"
    assert on_device(suite.materialise("exp", "float32")[0], "x")[0] is not None


def test_copies_keep_storages_and_strides(suite: OpInfoSuite) -> None:
    for case in own(suite, "as_strided", "float32"):
        args, kwargs = copy_arguments(case.args, dict(case.kwargs))
        assert torch.equal(case.reference(*args, **kwargs), case.reference(*case.args, **case.kwargs))
        assert args[0].stride() == case.args[0].stride()
    base = torch.arange(6.0)
    (left, right), _ = copy_arguments((base[1:4], base[2:]), {})
    left.zero_()
    assert right.tolist() == [0.0, 0.0, 4.0, 5.0]
    assert base[1] == 1.0


@pytest.mark.long
def test_no_tolerance_without_a_reason(suite: OpInfoSuite) -> None:
    wider = 0
    for name in (
        "addbmm",
        "native_layer_norm",
        "nn.functional.interpolate",
        "polygamma",
        "softmax",
        "mm",
        "linalg.svd",
    ):
        for dtype in suite.operator(name).dtypes:
            for case in suite.materialise(name, dtype):
                default_rtol, default_atol = DEFAULTS.get(getattr(torch, dtype), (0.0, 0.0))
                if case.rtol is None and case.atol is None:
                    assert case.tolerance_reason == ""
                    continue
                wider += 1
                assert case.rtol is not None
                assert case.atol is not None
                assert case.rtol >= default_rtol
                assert case.atol >= default_atol
                assert len(case.tolerance_reason) > 20
    assert wider
    assert all(case.rtol is None for case in suite.materialise("softmax", "float32"))


def test_opinfos_own_tolerances_for_the_same_samples_are_taken() -> None:
    found = written(entries()["nn.functional.group_norm"][0], "float32")
    assert (found.rtol, found.atol) == (3e-3, 5e-5)
    assert "TestDecomp" in found.reason
    assert written(entries()["deg2rad"][0], "bfloat16").reason == ""  # 0.7, against NumPy: would accept zeros
    assert written(entries()["add"][0], "int32").reason == ""


def test_the_references_own_error_widens_and_its_decisions_do_not() -> None:
    x = torch.linspace(1, 2, 40, dtype=torch.float16)

    def sloppy(t: torch.Tensor) -> torch.Tensor:
        return t * (1 + 2e-3) if t.dtype == torch.float16 else t

    rtol, atol = DEFAULTS[torch.float16]
    found = reference_error(Call(sloppy, (x,), {}), torch.float16, rtol, atol, None)
    assert found is not None
    error = 2 * (sloppy(x).double() - x.double()).abs()
    assert bool((error <= found[1] + found[0] * x.double()).all())
    assert found[1] + found[0] < 0.02

    def wild(t: torch.Tensor) -> torch.Tensor:
        return t * 1.5 if t.dtype == torch.float16 else t

    def floor(t: torch.Tensor) -> torch.Tensor:
        return t.floor() + (t.dtype == torch.float16)

    def fails(t: torch.Tensor) -> torch.Tensor:
        raise RuntimeError("no")

    for function in (torch.sin, wild, floor, fails):
        assert reference_error(Call(function, (x,), {}), torch.float16, rtol, atol, None) is None
    base = written(entries()["nextafter"][0], "float16")
    assert widened(Call(torch.nextafter, (x, x + 1), {}), "float16", base, None) == base


def test_a_kernel_that_is_broken_in_a_dtype_is_not_the_reference(suite: OpInfoSuite) -> None:
    for dtype in ("bfloat16", "float16"):
        for case in suite.materialise("matrix_exp", dtype):
            expected = case.reference(*case.args)
            assert expected.dtype == getattr(torch, dtype)
            assert not expected.isnan().any()
            assert "NaN" in case.notes["reference"]
            exact = torch.matrix_exp(case.args[0].double())
            torch.testing.assert_close(expected.double(), exact.to(expected.dtype).double())
    assert "reference" not in suite.materialise("matrix_exp", "float32")[0].notes


def close(one: Any, other: Any) -> bool:
    try:
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3, equal_nan=True)
    except (AssertionError, TypeError, ValueError):
        return False
    return True


def judged(name: str, case: CaseInputs, actual: Any) -> bool:
    assert case.postprocess is not None, name
    return close(case.postprocess(actual), case.postprocess(case.reference(*case.args, **case.kwargs)))


def full(cases: Sequence[CaseInputs], elements: int = 4) -> list[CaseInputs]:
    return [case for case in cases if case.args[0].numel() >= elements]


def test_signs_of_factors_are_open_and_the_factors_are_not(suite: OpInfoSuite) -> None:
    for name in ("svd", "linalg.svd", "qr", "linalg.qr"):
        for case in full(own(suite, name, "float32")):
            result = tuple(case.reference(*case.args, **case.kwargs))
            if not result[0].numel():
                continue
            axis = -1 if name == "svd" else -2
            flipped = (-result[0], *result[1:-1], -result[-1])
            assert judged(name, case, flipped), name
            if result[-1].any():  # torch.svd(compute_uv=False) returns zeros
                assert not judged(name, case, (-result[0], *result[1:])), name
                assert not judged(name, case, (result[0] * 1.5, *result[1:-1], result[-1] / 1.5)), name
                assert not judged(name, case, (*result[:-1], result[-1].flip(axis) * 2)), name
    for case in full(own(suite, "linalg.eigh", "float32")):
        values, vectors = case.reference(*case.args, **case.kwargs)
        signs = torch.ones_like(values).index_fill_(-1, torch.tensor([0]), -1.0)
        assert judged("linalg.eigh", case, (values, vectors * signs.unsqueeze(-2)))
        assert not judged("linalg.eigh", case, (values, vectors.roll(1, -1)))
    for case in full(own(suite, "geqrf", "float32")):
        a, tau = case.reference(*case.args, **case.kwargs)
        assert not judged("geqrf", case, (a * 1.1, tau))


def test_ties_are_open_and_wrong_indices_are_not(suite: OpInfoSuite) -> None:
    ties = torch.tensor([[1, 0, 1, 0], [2, 2, 2, 1]], dtype=torch.int32)
    post = {name: postprocess_of(name, Call(torch.sort, (ties, -1), {})) for name in ("sort", "argsort")}
    values = ties.sort(-1).values
    good = torch.tensor([[3, 1, 2, 0], [3, 2, 0, 1]])
    repeated = torch.tensor([[1, 1, 0, 2], [3, 0, 1, 2]])
    wrong = torch.tensor([[0, 1, 2, 3], [3, 0, 1, 2]])
    reference = ties.sort(dim=-1, stable=True).indices
    assert post["sort"] is not None
    assert post["argsort"] is not None
    for indices, verdict in ((good, True), (repeated, False), (wrong, False)):
        assert close(post["sort"].function((values, indices)), post["sort"].function((values, reference))) is verdict
        assert close(post["argsort"].function(indices), post["argsort"].function(reference)) is verdict
    assert postprocess_of("sort", Call(torch.sort, (ties,), {"stable": True, "dim": 0})) is None
    topk = postprocess_of("topk", Call(torch.topk, (ties, 2), {}))
    assert topk is not None
    best = ties.topk(2)
    assert close(topk.function((best.values, torch.tensor([[2, 0], [1, 2]]))), topk.function(tuple(best)))
    assert not close(topk.function((best.values, torch.tensor([[2, 2], [1, 2]]))), topk.function(tuple(best)))


def test_reductions_with_an_index(suite: OpInfoSuite) -> None:
    for name in ("median", "nanmedian", "mode", "kthvalue", "cummax", "cummin"):
        seen = 0
        for case in suite.materialise(name, "int64"):
            if case.raises:
                continue
            result = case.reference(*case.args, **case.kwargs)
            if case.postprocess is None:
                assert isinstance(result, torch.Tensor)
                continue
            assert judged(name, case, tuple(result))
            values, indices = result
            if case.args[0].dim() and indices.numel() and case.args[0].unique().numel() > 1:
                seen += not judged(name, case, (values, (indices + 1) % 2))
        assert seen, name


@pytest.mark.thinned
@pytest.mark.parametrize("name", sorted(OPERATORS - {"linalg.eigvals"}))
def test_a_malformed_result_is_never_an_error(suite: OpInfoSuite, name: str) -> None:
    dtype = suite.operator(name).dtypes[0]
    for case in own(suite, name, dtype)[:12]:
        if case.postprocess is None:
            continue
        result = case.reference(*case.args, **case.kwargs)
        wanted = case.postprocess(result)
        for bad in (None, (), 7, (1, 2), [None, None], (torch.zeros(2), torch.full((2,), 99)), torch.zeros(3, 3)):
            assert not close(wanted, case.postprocess(bad)) or not pytree.tree_leaves(wanted)


@pytest.mark.long
def test_references_agree_with_themselves(suite: OpInfoSuite) -> None:
    for name in sorted(OPERATORS):
        for dtype in suite.operator(name).dtypes:
            for case in own(suite, name, dtype)[:6]:
                if case.postprocess is not None:
                    assert judged(name, case, case.reference(*case.args, **case.kwargs)), name


@pytest.mark.long
@pytest.mark.slow
def test_the_shipped_survey_is_what_a_new_one_finds(suite: OpInfoSuite) -> None:
    if not suite.survey.torch.startswith(torch.__version__.partition("+")[0].rpartition(".")[0]):
        pytest.skip("no survey is shipped for this torch")
    for position, (name, shipped) in enumerate(suite.facts.items()):
        if position % 12 == 0:
            found = survey_operator(name)
            assert found == shipped, name
    assert set(suite.facts) == set(entries())
