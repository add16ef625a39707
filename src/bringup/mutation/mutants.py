"""Make the mutants of a candidate, and choose some of them: the same ones every time."""

from __future__ import annotations

import ast
import difflib
import random
from collections import Counter
from collections.abc import Iterable, Sequence

from bringup.candidate import Candidate, digest, parse_source
from bringup.mutation.mutator import Mutator
from bringup.mutation.source import Place, SourceModule
from bringup.mutation.table import MUTATORS
from bringup.verdict import Record


class Mutant(Record):
    """A candidate with one small change."""

    operator: str  # the PyTorch operator
    mutator: str  # id of the class of mutations
    place: Place
    function: str
    line: int  # of the change, in the original
    note: str  # the change in words
    source: str
    original: str  # the source that was changed
    trap_at: tuple[int, str] | None = None  # byte of the original, and the statement that makes it fail there

    @property
    def digest(self) -> str:
        """SHA-256 of the mutated source: the mutant's name."""
        return digest(self.source)

    @property
    def diff(self) -> str:
        """The unified diff against the original, with one unchanged line around the change."""
        return unified_diff(self.original, self.source)

    @property
    def trap(self) -> str | None:
        """The original, made to fail as soon as it gets to the changed place; None where that is not possible."""
        if self.trap_at is None:
            return None
        data, (at, text) = self.original.encode("utf-8"), self.trap_at
        return (data[:at] + text.encode("utf-8") + data[at:]).decode("utf-8")

    @property
    def parses(self) -> bool:
        """Whether the mutant is Python at all."""
        return isinstance(parse_source(self.source), ast.Module)

    @property
    def candidate(self) -> Candidate:
        """The mutant as the judge takes it."""
        return Candidate(source=self.source)


def mutants_of(operator: str, candidate: Candidate, mutators: Iterable[type[Mutator]] = MUTATORS) -> list[Mutant]:
    """Return every mutant that parses, each text once.

    They come by class in the order of `mutators`, each class in source order. Raises ValueError for a candidate that
    does not parse.
    """
    return [mutant for mutant in changed_copies(operator, candidate, mutators) if mutant.parses]


def changed_copies(operator: str, candidate: Candidate, mutators: Iterable[type[Mutator]] = MUTATORS) -> list[Mutant]:
    """Return what `mutants_of` returns without looking whether each parses, which takes most of the time."""
    module = SourceModule(candidate.source)
    seen = {candidate.source}
    found: list[Mutant] = []
    for mutator in mutators:
        for change in mutator().changes(module):
            source = module.apply(change.edits)
            if source in seen or module.tuned(change.node):
                continue
            seen.add(source)
            trap = module.trap(change)
            found.append(
                Mutant(
                    operator=operator,
                    mutator=mutator.id,
                    place=module.place(change.node),
                    function=module.function(change.node),
                    line=module.line(min(edit.span.start for edit in change.edits)),
                    note=" ".join(change.note.split()),
                    source=source,
                    original=candidate.source,
                    trap_at=(trap.span.start, trap.text) if trap is not None else None,
                )
            )
    return found


def unified_diff(old: str, new: str, context: int = 1) -> str:
    """Return the unified diff of two modules, without the names of files."""
    lines = list(difflib.unified_diff(old.splitlines(), new.splitlines(), n=context, lineterm=""))
    return "\n".join(lines[2:]) + "\n"


def choose(mutants: Sequence[Mutant], limit: int | None, seed: int = 0) -> list[Mutant]:
    """Choose at most `limit` mutants that parse: the classes take turns, each prefers lines that have no mutant yet.

    The same mutants, limit and seed give the same choice in every process; a higher limit only adds to it.
    """
    if limit is None or len(mutants) <= limit:
        return [mutant for mutant in mutants if mutant.parses]
    name = mutants[0].operator
    shuffled = random.Random(f"{seed}:{name}")
    groups: dict[str, list[Mutant]] = {}
    for mutant in mutants:
        groups.setdefault(mutant.mutator, []).append(mutant)
    for group in groups.values():
        shuffled.shuffle(group)
    order = list(groups)
    shuffled.shuffle(order)
    lines: Counter[int] = Counter()
    chosen: list[Mutant] = []
    while len(chosen) < limit and any(groups.values()):
        for mutator in order:
            group = groups[mutator]
            if group and len(chosen) < limit:
                best = min(group, key=lambda mutant: lines[mutant.line])
                group.remove(best)
                if not best.parses:
                    continue
                lines[best.line] += 1
                chosen.append(best)
    return chosen
