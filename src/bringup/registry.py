"""One typed registry for everything that plug-ins may add: suites, targets, clients, policies.

Built-in entries are registered by their import path, so that listing names imports nothing; a plug-in package
adds an entry point to the registry's group, whose value is a factory `(**options) -> T`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar, cast

from bringup.errors import PluginError, RetiredName, UnknownName

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class Registry(Generic[T]):
    """Names of one kind of part, each with the factory that makes it."""

    def __init__(
        self, kind: str, group: str, builtin: dict[str, str] | None = None, *, retired: dict[str, str] | None = None
    ) -> None:
        """Make a registry of `kind` (for messages) over the entry-point `group`.

        `builtin` maps a name to "module:attribute"; the module is imported when the name is first used.
        `retired` maps a name that there was once to what its users should do now; a plug-in may take the name anew.
        """
        self.kind = kind
        self.group = group
        self._paths = dict(builtin or {})
        self._retired = dict(retired or {})
        self._factories: dict[str, Callable[..., T]] = {}

    def register(self, name: str) -> Callable[[F], F]:
        """Decorate a factory to add it under `name` in this process (tests and notebooks)."""

        def add(factory: F) -> F:
            self._factories[name] = factory
            return factory

        return add

    def names(self) -> list[str]:
        """Return all known names, sorted, without importing any of them."""
        plugins = {ep.name for ep in entry_points(group=self.group)}
        return sorted({*self._paths, *self._factories, *plugins})

    def factory(self, name: str) -> Callable[..., T]:
        """Return the factory of `name`; raises UnknownName or RetiredName, or PluginError when its import fails."""
        if name in self._factories:
            return self._factories[name]
        if name in self._paths:
            module, _, attribute = self._paths[name].partition(":")
            return cast(Callable[..., T], getattr(importlib.import_module(module), attribute))
        for ep in entry_points(group=self.group):
            if ep.name == name:
                try:
                    return cast(Callable[..., T], ep.load())
                except Exception as error:
                    raise PluginError(self.group, name, error) from error
        if name in self._retired:
            raise RetiredName(self.kind, name, self._retired[name])
        raise UnknownName(self.kind, name, self.names())

    def create(self, name: str, **options: Any) -> T:
        """Make the part called `name` with its factory's keyword `options`."""
        return self.factory(name)(**options)
