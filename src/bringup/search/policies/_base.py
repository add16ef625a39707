"""The door for policies: functions of the graph, so that all processes of a search, and a resumed one, decide alike."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict, ValidationError

from bringup.errors import ConfigError, PluginError, did_you_mean
from bringup.registry import Registry
from bringup.search.graph import Graph, Node
from bringup.store import Memory


class Parameters(BaseModel):
    """Base of a policy's parameters; every field has a description that names where its default comes from."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True)
class Step:
    """What to do next: a new node from `parents` (none: from scratch).

    Where `source` is given it is the candidate, and no model is asked; `choice` says what was chosen of what the
    parent's source leaves open. `notes` are kept with the node, for the policy to read back.
    """

    parents: tuple[str, ...] = ()
    memory: Memory | None = None  # None: what the search is configured to
    source: str | None = None
    choice: Mapping[str, Any] = field(default_factory=dict)
    asked: str = ""  # the edge in words
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Wait:
    """Nothing can be decided before another node has ended. Only where a node is open."""


@dataclass(frozen=True)
class Done:
    """The policy has nothing left to ask for."""

    reason: str


@dataclass(frozen=True)
class View:
    """What a policy sees. `rng` is seeded from the search's seed and the number of the node to come."""

    graph: Graph
    rng: random.Random
    source: Callable[[Node], str]  # of a node that has a candidate
    seed: int = 0
    target: str = ""  # as commands take it
    facts: Mapping[str, Any] = field(default_factory=dict)  # of the chip, as far as they are known


@runtime_checkable
class Policy(Protocol):
    """Chooses what is expanded next. It keeps nothing between calls that the graph does not tell."""

    name: str
    asks_model: bool  # False: its steps bring their candidates along, and no client is needed

    def next(self, view: View) -> Step | Wait | Done:
        """Return the next step. Called for each node, with no other process choosing at the same time; may block."""
        ...


class PolicyDefaults:
    """What most policies have in common: inherit it, say `name`, `Options` and `next`."""

    name = ""
    asks_model = True
    Options: ClassVar[type[Parameters]] = Parameters

    def __init__(self, **options: Any) -> None:
        """Take the policy's parameters; raises ConfigError for one that it does not have, or a value of no use."""
        try:
            self.options: Any = self.Options(**options)
        except ValidationError as error:
            first = error.errors()[0]
            what = str(first["loc"][0]) if first["loc"] else ""
            known = sorted(self.Options.model_fields)
            if first["type"] == "extra_forbidden":
                hint = did_you_mean(what, known) or (f"; it has {', '.join(known)}" if known else "; it has none")
                raise ConfigError(f"policy {self.name}", f"has no parameter {what}{hint}") from None
            raise ConfigError(f"policy {self.name}", f"parameter {what}: {first['msg']}") from None


policies: Registry[Policy] = Registry(
    "policy",
    "bringup.policies",
    {
        "one-shot": "bringup.search.policies.simple:OneShot",
        "linear": "bringup.search.policies.simple:Linear",
        "greedy": "bringup.search.policies.greedy:Greedy",
        "mcts": "bringup.search.policies.mcts:TreeSearch",
        "islands": "bringup.search.policies.islands:Islands",
        "parameters": "bringup.search.policies.tuner:Tuner",
    },
)


def make_policy(name: str, options: Mapping[str, Any] | None = None) -> Policy:
    """Make a policy; raises UnknownName, ConfigError for its parameters, PluginError for a plug-in that is none."""
    try:
        made = policies.create(name, **dict(options or {}))
    except TypeError as error:
        raise ConfigError(f"policy {name}", f"cannot be made: {error}") from None
    if not isinstance(made, Policy):
        lacks = ", ".join(part for part in ("name", "asks_model", "next") if not hasattr(made, part))
        raise PluginError(policies.group, name, TypeError(f"it has no {lacks}; inherit PolicyDefaults"))
    return made


def from_root(graph: Graph) -> tuple[str, ...]:
    """Return the fittest kernel that the search began with, as parents: none where there is none that works."""
    roots = [node for node in graph.roots if node.valid]
    best = max(roots, key=lambda node: (node.fitness, -node.number), default=None)
    return (best.id,) if best is not None else ()
