"""The suite of chosen sizes: an operator's own cases first, then calls to be timed."""

import dataclasses

import pytest
import torch

from bringup.clients.recording import RecordingSet, find_set
from bringup.errors import ConfigError
from bringup.suites import get_suite, suite_of_file, suite_of_shapes
from bringup.suites._opinfo_calls import Call
from bringup.suites._opinfo_postprocess import postprocess_of

SMALL = get_suite("shaped:?small=1")


def test_chosen_cases_follow_the_operator_s_own():
    operator, own = SMALL.operator("mm"), SMALL.base.operator("mm")
    assert operator.case_counts["bfloat16"] == own.case_counts["bfloat16"] + 3
    first = own.case_counts["bfloat16"]
    assert SMALL.timed("mm", ("bfloat16",)) == {"bfloat16": dict.fromkeys((first, first + 1, first + 2), 1.0)}
    cases = {case.case.index: case for case in SMALL.materialise("mm", "bfloat16")}
    assert max(cases) == first + 2
    chosen = cases[first]
    assert [(t.shape, t.dtype) for t in chosen.args] == [((128, 128), torch.bfloat16)] * 2
    again = SMALL.materialise("mm", "bfloat16")[-3]
    assert all(torch.equal(a, b) for a, b in zip(again.args, chosen.args, strict=True))
    other = SMALL.materialise("mm", "bfloat16", seed=1)[-3]
    assert not torch.equal(other.args[0], chosen.args[0])
    result = chosen.reference(*chosen.args)
    limits = chosen.standard.limits(chosen.args, {}, result, (chosen.args, {}))
    assert not limits.outputs[0].wrong(result, result).any()
    assert limits.outputs[0].wrong(result, result * 1.5).any()


def test_every_operator_of_the_shipped_calls_is_recorded_and_has_three_sizes_of_both_kinds():
    recorded = RecordingSet(find_set("vpe-pe64")).operators()
    assert set(SMALL.calls) <= set(recorded)
    assert {(len(calls.calls), len(calls.small)) for calls in SMALL.calls.values()} == {(3, 3)}


@pytest.mark.thinned
@pytest.mark.parametrize("name", sorted(SMALL.calls))
def test_small_calls_can_be_made(name):
    cases = list(SMALL._chosen(SMALL.base.materialise(name, "float32"), name, "float32", 0))
    assert len(cases) == 3
    for case in cases:
        case.reference(*case.args, **case.kwargs)


def test_large_calls_fit_any_gpu_and_are_larger_than_the_small_ones():
    large = get_suite("shaped")
    for name, calls in large.calls.items():
        for call, small in zip(calls.calls, calls.small, strict=True):
            total, less = (sum(map(elements, flat(one))) for one in (call, small))
            assert 16 * less <= total <= 1 << 27, (name, call)


def flat(value):
    if isinstance(value, list | tuple):
        return [text for one in value for text in flat(one)]
    return [value] if isinstance(value, str) else []


def elements(text):
    product = 1
    for size in text.partition("[")[2].rstrip("]").split(","):
        product *= int(size)
    return product


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("own: {mm: {calls: [['f[4, x]']]}}", r"mm: 'f\[4, x\]' is no tensor"),
        ("own: {no_such: {calls: [['f[4]']]}}", "no_such"),
        ("operators: {a: [mm]}", "operators.a: no such kind"),
        ("own: {mm: {calls: 3}}", "field own.mm.calls"),
        ("own: {mm: {calls: [['p4[5]']]}}", "takes more than there are"),
        ("own: [", "not YAML|line|expected"),
    ],
)
def test_a_file_of_no_use_says_so(tmp_path, text, words):
    path = tmp_path / "shapes.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=words):
        list(get_suite(f"shaped:{path}").operators())


def test_a_file_of_one_s_own(tmp_path):
    path = tmp_path / "shapes.yaml"
    path.write_text("own: {add: {calls: [['f[7, 9]', 'f[9]']], kwargs: {alpha: 2}, dtypes: [float16]}}\n")
    suite = get_suite(f"shaped:{path}")
    assert [operator.name for operator in suite.operators()] == ["add"]
    case = suite.materialise("add", "float16")[-1]
    assert case.args[1].shape == (9,)
    assert case.kwargs == {"alpha": 2}
    assert suite.digest() != get_suite("shaped").digest()


def test_a_search_s_sizes_name_a_suite():
    assert suite_of_shapes("shipped", "opinfo", small=True) == "shaped:?small=1"
    assert suite_of_shapes("shipped", "opinfo", small=False) == "shaped"
    assert suite_of_shapes("mine.yaml", "aten", small=True) == "shaped:mine.yaml?small=1&suite=aten"
    assert get_suite(suite_of_shapes("shipped", "opinfo", small=True)).digest() == SMALL.digest()


def test_a_problem_s_file_names_a_suite(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("class Model: pass\n")
    assert suite_of_file(str(path), small=True) == (f"kernelbench:{path}?memory=1M", "mine")
    path.write_text("class Reference: pass\n")
    assert suite_of_file(str(path), small=False) == (f"modules:{path}?sizes=all", "mine")
    path.write_text("x = 1\n")
    with pytest.raises(ConfigError, match="neither a class Model nor a class Reference"):
        suite_of_file(str(path), small=True)
    with pytest.raises(ConfigError, match="cannot be read"):
        suite_of_file(str(tmp_path / "none.py"), small=True)


@pytest.mark.parametrize("name", ["sort", "argsort", "topk", "mode", "kthvalue", "median", "cummax"])
def test_which_of_equal_elements_comes_first_is_left_open(name):
    """As in the operator's own cases: PyTorch's CPU kernels choose by their instructions."""
    suite = get_suite("shaped:?small=1")
    [dtype] = suite.chosen(name)
    cases = suite.materialise(name, dtype)
    assert all(cases[index].postprocess is not None for index in suite.chosen(name)[dtype])


def test_two_orders_of_equal_elements_are_both_right():
    suite = get_suite("shaped:?small=1")
    case = suite.materialise("argsort", "float32")[suite.chosen("argsort")["float32"][0]]
    source = case.args[0]
    source[:, 1] = source[:, 0]
    case = dataclasses.replace(
        case, postprocess=postprocess_of("argsort", Call(case.reference, case.args, case.kwargs)).function
    )
    first = source.argsort(dim=1, stable=True)
    places = first.clone()
    zero, one = first == 0, first == 1
    places[zero], places[one] = 1, 0
    assert not torch.equal(first, places)
    for left, right in zip(case.postprocess(first), case.postprocess(places), strict=True):
        assert torch.equal(left, right)
    places[zero] = 2  # named twice
    assert not all(torch.equal(*pair) for pair in zip(case.postprocess(first), case.postprocess(places), strict=True))
