"""The graph of docstrings: from raw docstrings and their references to what a prompt shows. No torch."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping, Sequence

from pydantic import Field, ValidationError

from bringup.errors import EnvironmentFault
from bringup.operators._types import DocNode
from bringup.verdict import Record

FORMAT = 1
# How far references are followed. A close reference ("Alias for", "See") costs 1, any other mention 2: so an alias of
# an alias comes along, and a function that is mentioned, but not what the mentioned one mentions.
MAX_DISTANCE = 3
_CLOSE, _MENTION = 1, 2
MAX_CHARACTERS = 24_000


class RawDoc(Record):
    """One docstring with Sphinx's noise taken out, and what it refers to; references may be cyclic."""

    text: str
    refers_to: tuple[str, ...] = ()  # keys of other docstrings, in order of appearance
    close: tuple[str, ...] = ()  # those of `refers_to` that the text makes part of this one
    unresolved: tuple[str, ...] = ()  # names that PyTorch does not have, or that have no docstring
    documented: bool = True  # PyTorch itself has a docstring here


class DocBook(Record):
    """All docstrings that a suite's operators reach, by key: an operator's name or a dotted path (`torch.max`)."""

    torch: str
    format: int = FORMAT
    docs: dict[str, RawDoc] = Field(default_factory=dict)

    def graph(self, name: str, max_distance: int = MAX_DISTANCE) -> list[DocNode]:
        """Return the docstring of `name` and those it refers to, each once, in topological order.

        A node comes before all that it refers to. An edge that would close a cycle is cut; a reference farther
        than `max_distance` from `name` is left out of `refers_to`. Raises KeyError when the book lacks `name`.
        """
        depth = self._distances(name, max_distance)
        edges: dict[str, tuple[str, ...]] = {}
        finished: list[str] = []
        path: set[str] = set()

        def visit(key: str) -> None:
            path.add(key)
            kept = []
            edges[key] = ()
            for target in self.docs[key].refers_to:
                if target in path or target not in depth:
                    continue
                kept.append(target)
                if target not in edges:
                    visit(target)
            path.discard(key)
            edges[key] = tuple(kept)
            finished.append(key)

        visit(name)
        order = _nearest_first(name, edges, depth)
        return [
            DocNode(name=key, text=self.docs[key].text, refers_to=edges[key], unresolved=self.docs[key].unresolved)
            for key in order
        ]

    def _distances(self, name: str, max_distance: int) -> dict[str, int]:
        distance = {name: 0}
        frontier = [name]
        while frontier:
            key = frontier.pop(0)
            doc = self.docs[key]
            for target in doc.refers_to:
                far = distance[key] + (_CLOSE if target in doc.close else _MENTION)
                if far <= max_distance and far < distance.get(target, far + 1) and target in self.docs:
                    distance[target] = far
                    frontier.append(target)
        return distance

    def dump(self) -> bytes:
        """Return the book as gzipped JSON."""
        return gzip.compress(self.model_dump_json(exclude_defaults=False).encode(), mtime=0)

    @classmethod
    def load(cls, data: bytes, source: str) -> DocBook | None:
        """Read a book; None when it has another format; raises EnvironmentFault when it is broken."""
        try:
            raw = json.loads(gzip.decompress(data))
            return cls.model_validate(raw) if raw.get("format") == FORMAT else None
        except (OSError, EOFError, ValueError, ValidationError) as error:
            raise EnvironmentFault(f"{source}: not a book of docstrings ({error}); delete it") from error


def _nearest_first(root: str, edges: Mapping[str, Sequence[str]], depth: Mapping[str, int]) -> list[str]:
    """Order an acyclic graph topologically; among nodes that are free, the nearest to the root comes first."""
    waiting = dict.fromkeys(edges, 0)
    for targets in edges.values():
        for target in targets:
            waiting[target] += 1
    free, order = [root], []
    while free:
        free.sort(key=lambda key: depth[key])  # stable: order of appearance within one depth
        key = free.pop(0)
        order.append(key)
        for target in edges[key]:
            waiting[target] -= 1
            if not waiting[target]:
                free.append(target)
    return order


def render_docs(nodes: Iterable[DocNode], max_characters: int = MAX_CHARACTERS) -> str:
    """Return the docstrings as one text of at most `max_characters`, with a note naming what was left out.

    The first node, the operator itself, is always there, cut at a line if it alone is too long.
    """
    parts: list[str] = []
    left_out: list[str] = []
    used = 0
    for position, node in enumerate(nodes):
        heading = f"# {node.name}\n\n" if position == 0 else f"## {node.name} (referred to above)\n\n"
        part = f"{heading}{node.text.strip()}\n"
        room = max_characters - used - 200  # 200: the closing note
        if len(part) > room:
            if position == 0:
                part = part[: max(room, 0)].rpartition("\n")[0] + "\n[cut here: the docstring is longer]\n"
            else:
                left_out.append(node.name)
                continue
        parts.append(part)
        used += len(part) + 1
    if left_out:
        note = f"[left out to keep this short: {', '.join(left_out)}]"
        parts.append(note if len(note) <= 200 else f"[left out to keep this short: {len(left_out)} more docstrings]")
    return "\n".join(parts).strip() + "\n"
