"""What reruns use: call the wrapper again under other circumstances, with other values, and say what came out."""

from __future__ import annotations

import contextlib
import functools
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from bringup.judge import _codec
from bringup.judge._case import CaseJudge
from bringup.judge._outcome import Outcome
from bringup.suites import get_suite

if TYPE_CHECKING:
    from bringup.judge._referee import Judging
    from bringup.suites import CaseInputs


@dataclass(frozen=True)
class Run:
    """One more call: what it was worth and the tensors it returned."""

    outcome: Outcome
    tensors: tuple[tuple[str, torch.Tensor], ...]


class Rerunner:
    """The judge's side of reruns for one candidate."""

    def __init__(self, judging: Judging) -> None:
        """Rerun for a candidate whose cases have passed."""
        self._judging = judging
        self.operator = judging.operator
        self.runs = 0
        self.random = random.Random(judging.job.fresh_seed)

    def call(self, case: CaseJudge, mode: dict[str, Any]) -> Run:
        """Call the wrapper on a case in a mode (`order`: a seed)."""
        self.runs += 1
        outcome = self._judging.call(case, mode)
        return Run(outcome, tuple(case.tensors_returned))

    def outcome(self, case: CaseJudge, mode: dict[str, Any]) -> Outcome:
        """Return what such a call is worth."""
        return self.call(case, mode).outcome

    def reseeded(self, case: CaseJudge, count: int, added: int) -> list[CaseJudge]:
        """Draw up to `count` and `added` cases of a case's dtype under the job's other seed.

        The first are such that compute something, if there are any; the others are those that a suite does not rebuild
        without need.
        """
        judging, known = self._judging, case.inputs.case
        with judging.phases("inputs"):
            offered = judging.referee.other_cases(known, self.operator.suite, judging.job)
        self.random.shuffle(offered)
        telling: list[CaseJudge] = []
        others: list[CaseJudge] = []
        for fresh in self._answered(offered):
            (others if fresh.trivial() else telling).append(fresh)
            if len(telling) == count:
                break
        drawn = judging.referee.drawn_cases(known, self.operator.suite, judging.job, added)
        return [*(telling or others[:count]), *self._answered(drawn)]

    def _answered(self, cases: Iterable[CaseInputs]) -> Iterator[CaseJudge]:
        for inputs in cases:
            fresh = self._judging.case(inputs, self._judging.expect_anew)
            if self._answers(fresh):
                yield fresh

    def altered(self, case: CaseJudge, alter: Callable[[list[torch.Tensor]], None]) -> CaseJudge | None:
        """Return the case with some values changed; None where that is no valid call or has the same answer."""
        args, kwargs = _codec.clone_tree([tuple(case.args), case.kwargs])
        inputs = replace(case.inputs, args=args, kwargs=kwargs)
        changed = self._judging.case(inputs, self._judging.expect_anew)
        with contextlib.suppress(Exception):
            alter([tensor for _, tensor in changed.tensors])
            if self._answers(changed) and not changed.same_answer(case):
                return changed
        return None

    def chance(self, guard: str, dtype: str, what: str) -> random.Random:
        """Return a generator for one draw: what comes of others changes nothing here."""
        return random.Random(f"{self._judging.job.fresh_seed} {guard} {dtype} {what}")

    def exchanged(
        self, case: CaseJudge, tensors: Mapping[int, torch.Tensor], words: str, **changes: Any
    ) -> CaseJudge | None:
        """Return the case with other tensors, by number, and other keyword arguments; None where PyTorch refuses it."""
        given = iter([tensors.get(number, tensor) for number, (_, tensor) in enumerate(case.tensors)])
        args, kwargs = _codec.with_tensors([case.args, case.kwargs], given)
        requires = "out" if "out" in changes else case.inputs.requires
        inputs = replace(case.inputs, args=args, kwargs={**kwargs, **changes}, title=words, requires=requires)
        made = self._judging.case(inputs, self._judging.expect_anew)
        return made if self._answers(made) else None

    def free(self, case: CaseJudge) -> bool:
        """Whether values of the case may be exchanged for others that occur in it, and the answer still be compared.

        The operator must ask for no structure, and have an exact reference; a function of the result that is compared
        in its place may know the old values.
        """
        standard = case.inputs.standard
        if standard is None or standard.rule.kind == "undefined" or case.inputs.postprocess is not None:
            return False
        return _free(self.operator.suite, self.operator.name) and _finite(t for _, t in case.tensors)

    def fits(self, case: CaseJudge) -> bool:
        """Whether the reference is right, finite and the same however arguments lie in memory, on other values."""
        plain = self.exchanged(case, {n: _apart(t) for n, (_, t) in enumerate(case.tensors)}, "")
        with contextlib.suppress(Exception):
            limited = all(
                limit is not None or not tensor.is_floating_point()
                for (_, tensor), limit in zip(_codec.tensors_of(case.answer(), ""), case.limits.outputs, strict=True)
            )
            outputs = [tensor for _, tensor in _codec.tensors_of(case.answer(), "")]
            return plain is not None and limited and _finite(outputs) and case.agrees(plain)
        return False

    def told(self, family: str) -> bool:
        """Whether the suite's prompts speak of a family of tests."""
        families = _families(self.operator.suite)
        return families is None or family in families

    def data(self, case: CaseJudge) -> list[int]:
        """Return the numbers of the tensors that hold data of the case's dtype, and no indices.

        Integers are data where the argument holds floating-point numbers in another dtype's cases, or the operator
        has none.
        """
        dtype = getattr(torch, case.inputs.case.dtype)
        floats = {name for name in self.operator.dtypes if getattr(torch, name).is_floating_point}
        known = self._judging.dtypes

        def holds_data(path: str) -> bool:
            name = path.removeprefix("argument ").partition("[")[0]
            return dtype.is_floating_point or not floats or bool(floats & known.get(name, set()))

        return [n for n, (path, tensor) in enumerate(case.tensors) if tensor.dtype is dtype and holds_data(path)]

    @property
    def parameters(self) -> frozenset[str]:
        """The names of the wrapper's parameters."""
        return frozenset(self._judging.parameters)

    def given(self, case: CaseJudge, **changes: Any) -> CaseJudge:
        """Return the case with other keyword arguments."""
        inputs = replace(case.inputs, kwargs={**case.kwargs, **changes})
        return self._judging.case(inputs, self._judging.expect_anew)

    def _answers(self, case: CaseJudge) -> bool:
        try:
            case.answer()
        except Exception:
            return False
        return True

    def answers(self, run: Run, case: CaseJudge) -> bool:
        """Whether a call returned the right answer of another case, tensor by tensor."""
        return case.accepts(list(run.tensors))

    def first_difference(self, one: Run, other: Run) -> str | None:
        """Say where the bits of two runs differ first."""
        for (path, left), (_, right) in zip(one.tensors, other.tensors, strict=False):
            a, b = (t.detach().clone(memory_format=torch.contiguous_format).reshape(-1) for t in (left, right))
            if a.dtype != b.dtype or a.shape != b.shape:
                return f"{path} has another dtype or shape"
            width = a.element_size()
            bits = (a.view(torch.uint8).reshape(-1, width) != b.view(torch.uint8).reshape(-1, width)).any(1).nonzero()
            if bits.numel():
                index = int(bits[0])
                where = tuple(int(i) for i in torch.unravel_index(torch.tensor(index), left.shape))
                return f"{path}{list(where)} is {a[index].item()!r} once and {b[index].item()!r} then"
        return None

    def wrong(self, guard: str, summary: str, case: CaseJudge) -> Outcome:
        """Return the outcome of a result that cannot be relied on."""
        return Outcome("wrong", summary, guard=guard).with_call(case)

    def found(self, guard: str, case: CaseJudge) -> Outcome | None:
        """Call the wrapper on a case that was drawn; return what is wrong."""
        outcome = self.outcome(case, {})
        if outcome.kind in ("passed", "untested"):
            return None
        return self.failed(outcome.guard or guard, f"{case.inputs.title}: ", outcome, case)

    def failed(self, guard: str, words: str, outcome: Outcome, case: CaseJudge) -> Outcome:
        """Return a failure in a rerun, with the circumstances in its summary."""
        return replace(outcome, guard=guard, summary=words + outcome.summary).with_call(case)


# A suite is made anew whenever it is asked for, which takes longer than a call.
@functools.lru_cache(maxsize=256)
def _free(suite: str, operator: str) -> bool:
    return get_suite(suite).free(operator)


@functools.lru_cache(maxsize=16)
def _families(suite: str) -> tuple[str, ...] | None:
    return get_suite(suite).words.families


def _finite(tensors: Iterable[torch.Tensor]) -> bool:
    return all(bool(t.isfinite().all()) for t in tensors if t.is_floating_point() or t.is_complex())


def _apart(tensor: torch.Tensor) -> torch.Tensor:
    """The same values, contiguous and in memory of their own."""
    return tensor.detach().clone(memory_format=torch.contiguous_format)
