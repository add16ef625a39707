"""Judge PyTorch with itself: every eligible operator's own CPU implementation must pass the comparison of its cases.

    python benchmarks/oracle.py [--suite opinfo|audit] [--ops GLOB] [--jobs N] [--out results.json] [--minutes N]

What fails here is a fault of the suite or the comparison, not of a kernel: a case that cannot cross the border, a
result that differs between two runs, a mutation or alias misread. A guest has no data to hand to PyTorch, so there is
none: the referee's decision is given what a guest and its device would have answered, had they called the reference on
their own copy of the inputs. Arguments and answers are encoded and decoded as they are on the way to a guest and back.
Prints the cases per second and process: what references, encoding and comparison cost. The file of `--out` has for each
operator, beside its verdict, digests by case: of `inputs`, and of references that stand for themselves: `exact`, what
must be met bit for bit, and `host`, what has no exact reference. `benchmarks/hosts.py` compares them. It is written
while the operators are judged. An operator that ends its process, or does not end, is of the kind `lost`; others go on.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import torch

from _workers import Lost, each
from bringup.judge import _codec
from bringup.judge._case import CaseJudge
from bringup.judge._case_limits import output_limits
from bringup.judge._compare import input_paths
from bringup.judge._comparison import Expected
from bringup.judge._outcome import Outcome
from bringup.judge._reply import check_reply
from bringup.operators import DTYPES
from bringup.suites import CaseInputs, get_suite, select
from bringup.targets import get_target

DEVICE = "vpe"
GUARDS = frozenset({"outputs", "mutation", "aliasing"})  # of the comparison; no kernel runs, so nobody wrote a byte
Findings = dict[str, list[tuple[str, str]]]  # by kind of outcome: case and summary


def expected(inputs: CaseInputs) -> tuple[Any, Any, Any]:
    """The reference's output and the arguments after the call."""
    args, kwargs = _codec.clone_tree([tuple(inputs.args), dict(inputs.kwargs)])
    with torch.no_grad():
        return inputs.reference(*args, **kwargs), args, kwargs


def once() -> Expected:
    """Return `expected` for one case: computed when it is asked for first."""
    known: list[tuple[Any, Any, Any]] = []

    def call(inputs: CaseInputs) -> tuple[Any, Any, Any]:
        if not known:
            known.append(expected(inputs))
        return known[0]

    return call


def answer(case: CaseJudge, request: dict[str, Any], payloads: list[memoryview]) -> tuple[dict[str, Any], Any]:
    """Call the reference as a guest calls a wrapper: its reply, and the storages that the device would hold."""
    storages = [_codec.storage_from(payload).clone() for payload in payloads]  # what numpy has seen cannot be resized
    args, kwargs = (_codec.decode(request[key], lambda d: _codec.tensor_on(storages, d)) for key in ("args", "kwargs"))
    held = _codec.Storages()
    for storage in storages:
        held.index(storage)
    try:
        with torch.no_grad():
            result = case.inputs.reference(*args, **kwargs)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}", "raised": type(error).__name__}, held
    try:
        tree, after = _codec.encode(result, held), _codec.encode([args, kwargs], held)
    except _codec.Unencodable as error:
        return {"unencodable": str(error)}, held
    storages = [[0, size] for size in held.sizes()]
    return {"result": tree, "after": after, "devices": [DEVICE], "storages": storages}, held


def decide(case: CaseJudge) -> Outcome:
    """What the judge says of the reference's own answer to a case."""
    try:
        request, payloads = case.request()
    except _codec.Unencodable as error:
        return Outcome("untested", f"cannot be sent to the device: {error}")
    reply, held = answer(case, json.loads(json.dumps(request)), payloads)
    reply = check_reply(json.loads(json.dumps(reply)))
    case.outputs(reply)
    device = {"account": {"launches": 1}, "error": None, "wrong": "", "sizes": held.sizes(), "masks": []}
    return case.decide(reply, device, memoryview(b"".join(held.payloads())), "")


def references(case: CaseJudge) -> dict[str, str]:
    """Digests of the inputs, and of results that others are compared with: `exact` bit for bit, `host` nearly."""
    inputs = hashlib.sha256(b"".join(_bytes(tensor, zeros=True) for _, tensor in case.tensors)).hexdigest()[:12]
    if case.inputs.raises:
        return {"inputs": inputs}
    output, args, kwargs = case.expected(case.inputs)
    if case.inputs.postprocess is not None:
        output = case.inputs.postprocess(output)
    outputs, after = _codec.tensors_of(output, "output"), input_paths(args, kwargs)
    limits = output_limits(case.inputs, case.limits, output)
    ways = [(tensor, limits.get(path)) for path, tensor in outputs]
    ways += [(t, limit) for (_, t), limit in zip(after, case.limits.after or [None] * len(after), strict=True)]
    digests: dict[str, Any] = {}
    for tensor, limit in ways:
        if limit is None or limit.exact is None:
            bits = not (tensor.is_floating_point() or tensor.is_complex())
            way = "exact" if bits or limit is not None else "host"
            digests.setdefault(way, hashlib.sha256()).update(_bytes(tensor, zeros=limit is None or limit.zero_sign))
    return {"inputs": inputs} | {way: digest.hexdigest()[:12] for way, digest in digests.items()}


def _bytes(tensor: torch.Tensor, zeros: bool) -> bytes:
    """Return the values as bytes; one NaN for all, and one zero unless `zeros` of both signs differ."""
    flat = tensor.detach().resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format).reshape(-1)
    if flat.is_complex():
        flat = torch.view_as_real(flat).reshape(-1)
    if flat.is_floating_point():
        flat = torch.where(flat.isnan(), torch.full_like(flat, float("nan")), flat)
        flat = flat if zeros else torch.where(flat == 0, torch.zeros_like(flat), flat)
    return bytes(flat.view(torch.uint8).numpy())


def judge(suite: str, name: str) -> tuple[str, int, Findings, dict[str, dict[str, str]]]:
    """Judge the reference of one operator: cases that passed, the others, and digests of references by case."""
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    warnings.simplefilter("ignore")
    operator = get_suite(suite).operator(name)
    passed, others, digests = 0, {}, {}
    for dtype in (dtype for dtype in operator.dtypes if dtype in DTYPES):
        for inputs in get_suite(suite).materialise(name, dtype, 0):
            case = CaseJudge(inputs, operator, DEVICE, once(), GUARDS)
            outcome = decide(case)
            if outcome.kind == "passed":
                passed += 1
            else:
                others.setdefault(outcome.kind, []).append((str(inputs.case), outcome.summary))
            if outcome.kind != "untested" and (found := references(case)):
                digests[f"{dtype}:{inputs.case.index}"] = found
    return name, passed, others, digests


def judge_one(task: tuple[str, str]) -> tuple[str, int, Findings, dict[str, dict[str, str]]]:
    """Judge one operator of a suite."""
    return judge(*task)


def main() -> None:
    """Judge and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", default="opinfo")
    parser.add_argument("--ops", default="all")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no operator after so many")
    parser.add_argument("--seconds", type=float, default=600, help="of one operator; then it is `lost`")
    options = parser.parse_args()
    if options.jobs < 1:
        parser.error("--jobs: at least 1")
    features = get_target(DEVICE).features
    chosen = select(get_suite(options.suite), options.ops.split(","))
    chosen = [operator for operator in chosen if operator.not_applicable(features) is None]
    # The longest first, so that none of them is begun last.
    names = [operator.name for operator in sorted(chosen, key=lambda one: -one.cases_total)]
    results: dict[str, dict[str, Any]] = {}
    began = written = time.monotonic()
    tasks = [(options.suite, name) for name in names]
    end = began + 60 * options.minutes
    for (_, name), result in each(judge_one, tasks, options.jobs, seconds=options.seconds, end=end):
        results[name] = summed_up(name, result)
        if options.out and time.monotonic() > written + 5:
            options.out.write_text(json.dumps(results, indent=1), encoding="utf-8")
            written = time.monotonic()
    seconds = time.monotonic() - began
    results = {name: results[name] for name in sorted(results)}
    print(dict(Counter(one["kind"] for one in results.values())))
    cases = sum(one["cases_passed"] + one["cases_failed"] for one in results.values())
    left = f"; {len(names) - len(results)} not begun in time" if len(results) < len(names) else ""
    print(
        f"{len(results)} operators, {cases} cases in {seconds:.1f} s with {options.jobs} processes, "
        f"their start included: {cases / max(seconds, 1e-3) / options.jobs:.0f} cases/s each{left}"
    )
    if options.out:
        options.out.write_text(json.dumps(results, indent=1), encoding="utf-8")


def summed_up(name: str, result: Any) -> dict[str, Any]:
    """Return what is kept of an operator, and print what of it did not pass: one line a kind of outcome."""
    if isinstance(result, Lost):
        print(f"{name:45} {'lost':10} {'':>9} {result.reason}", flush=True)
        return {"kind": "lost", "cases_passed": 0, "cases_failed": 0, "case": "", "summary": result.reason}
    _, passed, others, digests = result
    failed = sum(map(len, others.values()))
    for kind, found in others.items():
        where = f"{passed}/{passed + failed}"
        print(f"{name:45} {kind:10} {where:>9} {found[0][0]:40} {found[0][1][:140]}", flush=True)
    kept = {"kind": next(iter(others), "passed"), "cases_passed": passed, "cases_failed": failed}
    first = next(iter(others.values()))[0] if others else ("", "")
    failures = {kind: [list(one) for one in found] for kind, found in others.items()}
    return {**kept, "case": first[0], "summary": first[1], "failures": failures, "references": digests}


if __name__ == "__main__":
    main()
