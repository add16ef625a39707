"""The linter itself: the table of rules, and one function that applies them."""

from __future__ import annotations

import gc

from bringup.candidate import Candidate, FormatProblem, parse_source
from bringup.dialect import Dialect
from bringup.linter._host import HOST_RULES
from bringup.linter._kernel import KERNEL_RULES
from bringup.linter._module import Module
from bringup.linter._names import NAME_RULES
from bringup.linter._paper import PAPER_RULES
from bringup.linter._rule import Allowed, Context, Rule, RuleSet
from bringup.linter._structure import STRUCTURE_RULES
from bringup.operators import Operator
from bringup.verdict import Violation

# Every rule of a set, in the order of reports. This table is all there is: docs and `bringup lint` read it.
RULES: dict[RuleSet, tuple[type[Rule], ...]] = {
    "full": (*STRUCTURE_RULES, *NAME_RULES, *HOST_RULES, *KERNEL_RULES),
    "paper": PAPER_RULES,
}

_allowed: dict[int, tuple[Dialect, Allowed]] = {}


def lint(
    candidate: Candidate, dialect: Dialect, operator: Operator | None = None, rule_set: RuleSet = "full"
) -> list[Violation]:
    """Apply a set of rules to a candidate; violations come in source order, empty when it is clean.

    Without an operator the rules that need one (signature, whether a kernel is required) assume that it computes and
    accept any signature. Never raises on any candidate: source that does not parse gives one violation `syntax`.
    """
    # Thousands of small objects, none in a cycle: the collector would only cost a fifth of the time.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _lint(candidate, dialect, operator, rule_set)
    finally:
        if collecting:
            gc.enable()


def _lint(candidate: Candidate, dialect: Dialect, operator: Operator | None, rule_set: RuleSet) -> list[Violation]:
    tree = parse_source(candidate.source)
    if isinstance(tree, FormatProblem):
        return [
            Violation(
                rule="syntax", message=tree.explanation, line=tree.line or 1, source=tree.source, advice="Fix it."
            )
        ]
    try:
        context = Context(Module(tree, candidate.source.splitlines()), _lists(dialect), operator)
        found = {(v.line, v.column, v.rule, v.message): v for rule in RULES[rule_set] for v in rule().check(context)}
    except RecursionError:
        return [
            Violation(rule="syntax", message="expressions are nested too deeply", line=1, advice="Write simpler code.")
        ]
    return [found[key] for key in sorted(found)]


def _lists(dialect: Dialect) -> Allowed:
    known = _allowed.get(id(dialect))
    if known is None or known[0] is not dialect:
        if len(_allowed) > 32:
            _allowed.clear()
        known = _allowed[id(dialect)] = (dialect, Allowed(dialect))
    return known[1]
