"""A problem's reference as a function: in its own process for data on the host, here for data on another device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from bringup.accuracy import Stepped
from bringup.suites.problems._bundle import Contract
from bringup.suites.problems._facts import Facts
from bringup.suites.problems._process import ProblemProcess
from bringup.suites.problems._program import Call, Problem


class Reference:
    """`reference(*inputs, *parameters, *buffers, *gradients, **init)`; the keywords are part of the module already.

    On a device of PyTorch's the file runs in the calling process, where clocks are: only there is a GPU at hand.
    """

    def __init__(
        self, process: ProblemProcess, contract: Contract, name: str, text: str, facts: Facts, which: str, number: int
    ) -> None:
        self._process, self._facts = process, facts
        self._file = (contract, name, text)
        self._which, self._number = which, number
        self._local: Call | None = None

    def __call__(self, *arguments: Any, **init: Any) -> Any:
        """Return what the reference returns for these data. Raises ProblemFault."""
        if self._local is not None or any(isinstance(a, torch.Tensor) and a.device.type != "cpu" for a in arguments):
            return self.local()(*arguments)
        double = torch.get_default_dtype() is torch.float64
        return self._process.ask(
            do="call", arguments=list(arguments), double=double, which=self._which, number=self._number
        )

    def stepped(self, args: Sequence[Any], *, integers: bool, scalars: bool, halves: bool) -> Stepped:
        """See `bringup.accuracy.stepwise`: the process computes all of it, so that only results travel.

        Raises ProblemFault.
        """
        how = {"integers": integers, "scalars": scalars, "halves": halves}
        return Stepped(
            *self._process.ask(do="bounds", arguments=list(args), how=how, which=self._which, number=self._number)
        )

    def local(self) -> Call:
        """Return the reference in this process."""
        if self._local is None:
            problem = Problem(*self._file, self._facts.divisor, self._facts.kept)
            sizes = problem.sizes(self._which)[self._number]
            model = problem.model(sizes, 0)
            self._local = Call(problem, model, [None] * self._facts.inputs, self._facts.gradients > 0)
        return self._local
