"""The base of all rules, and the context that they read."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

from bringup.dialect import Dialect
from bringup.linter._kinds import Kinds
from bringup.linter._module import Module
from bringup.operators import Operator
from bringup.verdict import Violation

RuleSet = Literal["full", "paper"]


class Allowed:
    """The dialect's lists as sets, made once for each dialect."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.tl_functions = frozenset(dialect.tl_functions)
        self.tl_constants = frozenset(dialect.tl_constants)
        self.tl_host = frozenset(dialect.tl_host)
        self.kernel_methods = frozenset(dialect.kernel_methods)
        self.kernel_attributes = frozenset(dialect.kernel_attributes)
        self.kernel_builtins = frozenset(dialect.kernel_builtins)
        self.triton_functions = frozenset(dialect.triton_functions)
        self.decorators = frozenset(dialect.decorators)
        self.torch_functions = frozenset(dialect.torch_functions)
        self.torch_constants = frozenset(dialect.torch_constants)
        self.tensor_methods = frozenset(dialect.tensor_methods)
        self.tensor_attributes = frozenset(dialect.tensor_attributes)
        self.value_reads = frozenset(dialect.value_reads)
        self.builtins = frozenset(dialect.builtins)
        self.modules = frozenset(dialect.modules)


@dataclass
class Context:
    """Everything that a rule may look at."""

    module: Module
    allowed: Allowed
    operator: Operator | None

    @cached_property
    def kinds(self) -> Kinds:
        """Kinds of host expressions, inferred when the first rule asks."""
        return Kinds(self.module)

    @property
    def dialect(self) -> Dialect:
        """The target's dialect."""
        return self.allowed.dialect


class Rule:
    """One rule. `id` names it in reports and the store; `advice` says what to do instead."""

    id: ClassVar[str]
    title: ClassVar[str]  # what it forbids or demands, one line; for docs and `bringup lint --rules-table`
    advice: ClassVar[str] = ""

    def check(self, context: Context) -> Iterator[Violation]:
        """Yield every violation in the module."""
        raise NotImplementedError

    def at(self, context: Context, node: ast.AST | None, message: str, advice: str | None = None) -> Violation:
        """Make a violation at a node (None: the module as a whole)."""
        line = getattr(node, "lineno", 1)
        return Violation(
            rule=self.id,
            message=message,
            line=line,
            column=getattr(node, "col_offset", 0),
            advice=self.advice if advice is None else advice,
            source=context.module.source(line),
        )
