"""The door for classes of mutations: each yields all the changes of its kind that a module has room for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from bringup.mutation.source import Change, SourceModule


class Mutator(ABC):
    """One class of small semantic changes. `title` says what goes wrong, as a report's reader should see it."""

    id: ClassVar[str]
    title: ClassVar[str]

    @abstractmethod
    def changes(self, module: SourceModule) -> Iterator[Change]:
        """Yield every change of this class, in source order."""
