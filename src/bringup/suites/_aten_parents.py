"""Which public operator an overload serves, and whether what holds for the one holds for the other. No torch."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import yaml

from bringup.suites._aten_facts import Overload
from bringup.suites._opinfo_source import categories

if TYPE_CHECKING:
    from bringup.accuracy import Rule  # imports torch


@dataclass(frozen=True)
class Parent:
    """A public operator of `opinfo`.

    `public` is empty where nothing is known of the overload but its name. `same`: the overload computes its function,
    in the order of its parameters up to the options. Else it is a step of it, or of its backward pass.
    """

    public: str
    same: bool


@cache
def _data() -> dict[str, dict[str, Any]]:
    """Return what names do not tell of overloads, reviewed; the file says what each part is."""
    source = files("bringup.suites").joinpath("data", "aten.yaml")
    loaded: dict[str, dict[str, Any]] = yaml.load(source.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    return loaded


def needs_of(name: str) -> dict[str, str]:
    """Return what a target must have for an overload, with the reason."""
    reasons = {"complex": "the results are complex"}
    return {feature: reasons[feature] for feature, names in _data()["needs"].items() if name in names.split()}


@cache
def doubles() -> frozenset[str]:
    """Return the overloads that compute and that PyTorch asks in float64 where its arguments have other dtypes."""
    named: str = _data()["doubles"]  # type: ignore[assignment]
    return frozenset(named.split())


@cache
def mutating() -> frozenset[str]:
    """Return the overloads that write arguments which their schema does not mark as written."""
    named: str = _data()["mutate"]  # type: ignore[assignment]
    return frozenset(named.split())


def meanings_of(facts: Overload) -> list[str]:
    """Return what an overload's schema does not say: numbers that stand for names, results beside the first one."""
    packet, parameters = facts.name.partition(".")[0], {*facts.positional, *facts.keywords}
    entries: list[dict[str, str]] = _data()["meanings"]  # type: ignore[assignment]
    return [
        entry["text"]
        for entry in entries
        if entry.get("parameter") in parameters or packet in entry.get("overloads", "").split()
    ]


def parent_of(facts: Overload) -> Parent:
    """Return the public operator that an overload serves: by review, by name, else the one with most calls of it.

    One that causes no call of any other overload goes first among those.
    """
    packet = facts.name.partition(".")[0]
    reviewed = _data()["same"].get(packet)
    if reviewed is not None:
        return Parent(reviewed, same=True)
    backward = "_backward" in packet
    for known in (facts.parents, categories()):
        for name in _spellings(packet):
            if name in known:
                return Parent(name, same=not backward)
    if not backward and len(facts.alone_of) == 1:
        return Parent(facts.alone_of[0], same=True)
    candidates = [*facts.alone_of, *facts.parents]
    return Parent(candidates[0] if candidates else "", same=False)


def rule_for(name: str, parent: Parent) -> Rule | None:
    """Return what "right" means for an overload, where the table's rule for its public operator does not say it.

    A step of a public operator, or of its backward pass, has several roundings, and no more is known of it.
    Imports torch.
    """
    from bringup.accuracy import Rule, rule_of

    reviewed = _data()["rules"].get(name.partition(".")[0])
    if reviewed is not None:
        return Rule(**reviewed)
    if parent.same or rule_of(parent.public).kind in ("factors", "undefined"):
        return None
    return Rule("composite", ulps=4, argument=4, half=1, reason="a step of a public operator, in no class of the table")


def _spellings(packet: str) -> Iterator[str]:
    """Yield the public names that an overload's name may stand for."""
    plain = re.sub(r"_backward(?:_data|_overrideable)?$|_forward$|_overrideable$", "", packet)
    for stem in dict.fromkeys((packet, plain, plain.strip("_"), re.sub(r"^_?(?:native|unsafe)_", "", plain))):
        yield stem
        for space in ("linalg", "special"):
            if stem.strip("_").startswith(f"{space}_"):
                yield f"{space}.{stem.strip('_').removeprefix(f'{space}_')}"
        yield f"nn.functional.{stem}"
        yield f"special.{stem}"
