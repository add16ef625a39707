"""The audit suite as a whole: the same cases everywhere, within the caps, and a reference that agrees with itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from functools import cache

import pytest
import torch
from test_opinfo_cases import digest
from torch.utils import _pytree as pytree

from bringup.errors import UnknownOperator
from bringup.judge._compare import compare
from bringup.suites import CaseInputs, get_suite
from bringup.suites._opinfo_calls import Call
from bringup.suites.audit import FAMILIES, MAX_CASES
from bringup.suites.audit._families import MAX_INPUT
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import elements, spread, turns
from bringup.suites.audit._vet import raised, run, vetted
from bringup.suites.opinfo import OpInfoSuite
from bringup.verdict import CaseId

OWN = torch.randn, torch.randn_like, torch.Tensor.__dict__.get("uniform_"), torch.Tensor.__dict__.get("normal_")

# Ties, indices, lists of tensors, factories, strings in sets, generic classes, in-place, random counts.
SPREAD = ("add", "sum", "tanh", "gather", "cat", "sort", "meshgrid", "zero_", "masked.var", "arange", "linalg.inv")
AWKWARD = ("sum", "gather", "meshgrid", "masked.var", "sort")


@cache
def materialised(name: str, dtype: str, seed: int = 0) -> Sequence[CaseInputs]:
    return get_suite("audit").materialise(name, dtype, seed)


def fingerprints(names: Sequence[str], seed: int) -> dict[str, list[str]]:
    return {
        name: [
            f"{case.notes['key']} {case.raises} {case.rtol} {case.atol} {digest([case])}"
            for case in materialised(name, "float32", seed)
        ]
        for name in names
    }


@pytest.mark.long
def test_the_same_cases_in_every_process_and_order() -> None:
    code = (
        "import json, sys, torch; sys.path.insert(0, sys.argv[1])\n"
        "from test_audit_cases import AWKWARD, fingerprints\n"
        "torch.set_num_threads(2); torch.set_default_dtype(torch.float64); torch.rand(5)\n"
        "print(json.dumps(fingerprints(AWKWARD[::-1], 5)))"
    )
    output = subprocess.run(
        [sys.executable, "-c", code, os.path.dirname(__file__)],
        env={**os.environ, "PYTHONHASHSEED": "1"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    theirs = json.loads(output.strip().splitlines()[-1])
    ours = fingerprints(AWKWARD, 5)
    for name in AWKWARD:
        assert theirs[name] == ours[name]


def test_operators_are_those_of_the_gate() -> None:
    suite, gate = get_suite("audit"), OpInfoSuite()
    assert [o.name for o in suite.operators()] == [o.name for o in gate.operators()]
    for operator in suite.operators():
        other = gate.operator(operator.name)
        assert operator.suite == "audit"
        assert (operator.dtypes, operator.overloads, operator.needs) == (other.dtypes, other.overloads, other.needs)
        assert operator.exclusion == other.exclusion
    with pytest.raises(UnknownOperator):
        suite.operator("no such operator")
    assert suite.materialise("bitwise_and", "float32") == []


@pytest.mark.thinned
@pytest.mark.parametrize("name", SPREAD)
def test_cases_are_numbered_named_and_bounded(name: str) -> None:
    cases = materialised(name, "float32")
    assert 0 < len(cases) <= MAX_CASES
    keys = [case.notes["key"] for case in cases]
    assert len(set(keys)) == len(keys)
    families = [case.notes["family"] for case in cases]
    assert families == sorted(families, key=list(FAMILIES).index)
    for index, case in enumerate(cases):
        assert case.case == CaseId(operator=name, dtype="float32", index=index)
        assert case.title.startswith(f"{families[index]}: ")
        assert keys[index].startswith(f"{families[index]}/")
        assert families.count(families[index]) <= FAMILIES[families[index]]
        assert elements((case.args, dict(case.kwargs))) <= MAX_INPUT


@pytest.mark.thinned
@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("name", SPREAD)
def test_the_reference_agrees_with_itself(name: str, dtype: str) -> None:
    for case in materialised(name, dtype):
        call = Call(case.reference, case.args, dict(case.kwargs))
        if case.raises:
            assert raised(call) == case.raises
            continue
        post = case.postprocess or (lambda value: value)
        assert compare(post(run(call)), post(run(call)), case.rtol, case.atol) is None
        assert (case.rtol is None and case.atol is None) or case.tolerance_reason


def test_another_seed_draws_other_cases() -> None:
    one, other = fingerprints(["add"], 0)["add"], fingerprints(["add"], 1)["add"]
    assert len(set(one) & set(other)) <= 7  # empty tensors, and errors, which have no values
    drawn = [[case.title for case in materialised("add", "float32", seed)] for seed in (0, 1)]
    assert drawn[0] != drawn[1]


def test_cases_are_not_those_of_the_gate() -> None:
    gate = {digest([case]) for case in OpInfoSuite().materialise("add", "float32")}
    cases = materialised("add", "float32")
    mine = {digest([case]) for case in cases if any(t.numel() for t in case.args if isinstance(t, torch.Tensor))}
    assert not gate & mine


def _vetted(reference: object, *args: object, **options: bool) -> CaseInputs | None:
    gate = OpInfoSuite()
    subject = Subject(gate.operator("add"), gate.facts["add"], "float32", 0)
    entry = subject.entries[0]
    call = Call(reference, args, {})  # type: ignore[arg-type]
    return vetted(Draft("x", call, "", entry, **options), subject, CaseId(operator="add", dtype="float32", index=0))  # type: ignore[arg-type]


def test_what_misbehaves_is_left_out() -> None:
    x = torch.arange(4.0)

    def refuses(x: torch.Tensor) -> torch.Tensor:
        raise RuntimeError("not this")

    assert _vetted(torch.exp, x) is not None
    assert _vetted(refuses, x) is None
    assert _vetted(torch.exp, x, fails=True) is None
    refused = _vetted(refuses, x, fails=True)
    assert refused is not None
    assert refused.raises == "RuntimeError: not this"
    assert _vetted(torch.empty_like, torch.zeros(1000)) is None  # not defined
    assert _vetted(lambda x: x.to(torch.complex64), x) is None  # a dtype that no case of the operator has
    assert _vetted(lambda x: torch.tensor(float(x.stride(0))), x, steady=True) is None  # hangs on the layout
    assert _vetted(lambda x: x.expand(1 << 23, 4), x) is None  # too large
    assert _vetted(lambda x: x.reshape([4] + 63 * [1]), x) is None  # of more dimensions than PyTorch copies
    assert _vetted(lambda x: x.reshape([4] + 62 * [1]), x) is not None
    assert _vetted(lambda x: x.mul_(2) + 1, x) is None  # writes what it may not
    gaps = torch.arange(12.0)[1::3]

    def dense(x: torch.Tensor) -> torch.Tensor:
        return x.as_strided((x.numel(),), (1,))

    assert _vetted(dense, gaps) is not None
    assert _vetted(dense, gaps, steady=True) is None  # reads what lies between its argument's elements


def test_spread_and_turns() -> None:
    assert spread([1, 2, 3], 5) == [1, 2, 3]
    assert spread(list(range(10)), 4) == [0, 3, 6, 9]
    assert spread([7, 8], 1) == [7]
    assert list(turns([1, 2, 3], [], [4], [5, 6])) == [1, 4, 5, 2, 6, 3]
    assert list(turns([None, 1], [2])) == [None, 2, 1]


def test_inputs_hold_no_structure_that_the_judge_cannot_send() -> None:
    for name in ("add", "sparse.mm", "to_sparse"):
        for case in materialised(name, "float32"):
            for leaf in pytree.tree_leaves((case.args, dict(case.kwargs))):
                assert not isinstance(leaf, torch.Tensor) or leaf.layout is torch.strided


def test_families_that_are_not_asked_to_their_end_leave_the_process_as_it_was() -> None:
    """A gate's cases are drawn up to those that it publishes, some of them within a seed of their own."""
    torch.manual_seed(1)
    expected = torch.rand(1)
    torch.manual_seed(1)
    assert get_suite("opinfo").materialise("index_select", "float32")
    now = torch.randn, torch.randn_like, torch.Tensor.__dict__.get("uniform_"), torch.Tensor.__dict__.get("normal_")
    assert now == OWN
    assert torch.equal(torch.rand(1), expected)
