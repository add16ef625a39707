"""Which choice to try next: ask and tell, with no state but the trials that were told.

The order is: the neighbours of the present choice, one parameter at a time (operands of matrix products and sizes of
blocks first, since they matter most); the best of each of them together; then in turns a step from the best choice so
far and a proposal of the tree-structured Parzen estimator (Bergstra et al., "Algorithms for Hyper-Parameter
Optimization", NeurIPS 2011; https://optuna.readthedocs.io). Every `ask` is a function of space, seed, trials and what
is pending: a search that was killed goes on as it would have, and several workers do not ask the same.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator, Sequence

from bringup.candidate import digest
from bringup.search.parameters.space import Choice, Parameter, Space, Value
from bringup.verdict import Record

_FIRST = ("operands", "block", "programs", "num_warps", "order", "num_stages", "input_precision", "axes")
_FEW_EACH = 2  # index of four programs for each processor among the limits of programs
_NEIGHBOURS = 24  # at most before they are combined
_DRAWS = 8  # of the sampler for one proposal, before something untried is taken at random


class Trial(Record):
    """A choice and what it came to: the higher the better, 0 for what failed."""

    choice: Choice
    value: float


class Tuner:
    """Asks for choices of one space. `trials` are those that were told before, in their order."""

    def __init__(self, space: Space, seed: int = 0, trials: Sequence[Trial] = ()) -> None:
        self.space = space
        self.seed = seed
        self.trials = list(trials)

    def tell(self, choice: Choice, value: float) -> None:
        """Say what a choice came to: a fitness of at least 0, 0 where it failed.

        Raises ValueError for a value that is negative or no number.
        """
        if not value >= 0 or value == float("inf"):
            raise ValueError(f"a fitness is a number from 0 on, not {value}")
        self.trials.append(Trial(choice=choice, value=value))

    def ask(self, pending: Sequence[Choice] = ()) -> Choice | None:
        """Return a choice that was neither tried nor is `pending`; None when there is none left."""
        if not self.space.parameters:
            return None
        tried = {trial.choice.digest for trial in self.trials} | {choice.digest for choice in pending}
        tried.add(Choice().digest)
        if len(tried) >= self.space.size:
            return None
        for choice in self._proposals(2 * len(tried) < self.space.size, pending):
            if choice.digest not in tried:
                return choice
        return self._untried(tried)

    def best(self) -> Trial | None:
        """Return the best trial: of equal ones the first; None where none is above 0."""
        worked = [trial for trial in self.trials if trial.value > 0]
        return max(worked, key=lambda trial: trial.value) if worked else None

    def _proposals(self, sampling: bool, pending: Sequence[Choice]) -> Iterator[Choice]:
        first = self._neighbours({})[:_NEIGHBOURS]
        yield from first
        yield self._combined()
        # In turns: even numbers of trials climb from the best, odd ones ask the sampler.
        best = self.best()
        climbing = [] if best is None else self._neighbours(best.choice.values)
        if len(self.trials) % 2 == 0:
            yield from climbing
        if sampling:  # of a space that is half tried, a sampler mostly proposes what is known
            yield from self._sampled(pending)
        yield from climbing

    def _neighbours(self, values: dict[str, Value]) -> list[Choice]:
        """Return the choices that differ from `values` in one parameter, the nearest values of each first."""
        inert = self._inert()
        order = sorted((p for p in self.space.parameters if p.name not in inert), key=lambda p: _FIRST.index(p.kind))
        lists = [_near(parameter, values.get(parameter.name, parameter.present)) for parameter in order]
        found = []
        for rank in range(max(map(len, lists), default=0)):
            for parameter, near in zip(order, lists, strict=True):
                if rank < len(near):
                    found.append(self.space.choice({**values, parameter.name: near[rank]}))
        return found

    def _present(self) -> float | None:
        """Return what the present choice came to, if it was told."""
        return next((trial.value for trial in self.trials if not trial.choice.values), None)

    def _inert(self) -> set[str]:
        """Return the parameters that alone changed nothing to the last bit: of kernels that are not launched here.

        A clock's figures are never that equal; those of a modelled chip are.
        """
        present = self._present()
        same: dict[str, bool] = {}
        for trial in self.trials:
            if len(trial.choice.values) == 1:
                (name,) = trial.choice.values
                same[name] = same.get(name, True) and trial.value == present
        return {name for name, alike in same.items() if alike}

    def _combined(self) -> Choice:
        """Return the best value of each parameter that alone was better than the present choice."""
        base = self._present() or 0.0
        best: dict[str, tuple[float, Value]] = {}
        for trial in self.trials:
            if len(trial.choice.values) == 1 and trial.value > base:
                (name, value), *_ = trial.choice.values.items()
                if self.space.parameter(name) is not None and trial.value > best.get(name, (base, 0))[0]:
                    best[name] = (trial.value, value)
        return self.space.choice({name: value for name, (_, value) in best.items()})

    def _sampled(self, pending: Sequence[Choice]) -> Iterator[Choice]:
        """Yield proposals of the estimator, rebuilt from the trials, each with a seed of its own."""
        import optuna  # takes a second

        distributions: dict[str, optuna.distributions.BaseDistribution] = {}
        for parameter in self.space.parameters:
            count = len(parameter.choices)
            distributions[parameter.name] = (
                optuna.distributions.IntDistribution(0, count - 1)
                if parameter.ordered
                else optuna.distributions.CategoricalDistribution(tuple(range(count)))
            )
        told = [*self.trials, *(Trial(choice=choice, value=0.0) for choice in pending)]  # away from what others try
        verbosity = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        try:
            study = optuna.create_study(direction="maximize")
            for trial in told:
                if (numbers := self._numbers(trial.choice)) is not None:
                    study.add_trial(
                        optuna.trial.create_trial(params=numbers, distributions=distributions, value=trial.value)
                    )
            for draw in range(_DRAWS):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
                    study.sampler = optuna.samplers.TPESampler(
                        seed=_seed(self.space.source, self.seed, len(told), draw), multivariate=True, n_startup_trials=8
                    )
                asked = study.ask(distributions)
                yield self.space.choice({p.name: p.choices[asked.params[p.name]] for p in self.space.parameters})
        finally:
            optuna.logging.set_verbosity(verbosity)

    def _numbers(self, choice: Choice) -> dict[str, int] | None:
        """Return a choice as numbers of values; None where it is not of this space."""
        numbers = {}
        for parameter in self.space.parameters:
            value = choice.values.get(parameter.name, parameter.present)
            if value not in parameter.choices:
                return None
            numbers[parameter.name] = parameter.choices.index(value)
        return numbers if choice.values.keys() <= numbers.keys() else None

    def _untried(self, tried: set[str]) -> Choice | None:
        """Return an untried choice: at random while most are, else the first of all."""
        generator = random.Random(_seed(self.space.source, self.seed, len(tried), -1))
        for _ in range(256):
            choice = self.space.choice({p.name: generator.choice(p.choices) for p in self.space.parameters})
            if choice.digest not in tried:
                return choice
        return next((choice for choice in self._all() if choice.digest not in tried), None)

    def _all(self) -> Iterator[Choice]:
        """Yield every choice of the space."""
        import itertools

        for values in itertools.product(*(p.choices for p in self.space.parameters)):
            names = [p.name for p in self.space.parameters]
            yield self.space.choice(dict(zip(names, values, strict=True)))


def _near(parameter: Parameter, value: Value) -> list[Value]:
    """Return the other values of a parameter, the nearest first; of two as near the larger.

    A limit of programs begins at a few for each processor: from many thousands on it limits nothing.
    """
    at = parameter.choices.index(value) if value in parameter.choices else 0
    others = [index for index in range(len(parameter.choices)) if index != at]
    start = _FEW_EACH if parameter.kind == "programs" else at
    return [parameter.choices[index] for index in sorted(others, key=lambda index: (abs(index - start), index < start))]


def _seed(*parts: object) -> int:
    return int(digest(repr(parts))[:8], 16)
