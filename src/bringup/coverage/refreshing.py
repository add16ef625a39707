"""Which results of a measurement still hold after the library has changed."""

from __future__ import annotations

from collections.abc import Mapping

from bringup.coverage.missing import serving
from bringup.coverage.records import Header, OperatorResult, chosen_failures
from bringup.errors import ConfigError
from bringup.library.compositions import OURS
from bringup.library.routing import DEVICE_OWN


def kept(results: Mapping[str, OperatorResult], old: Header, new: Header, source: str) -> dict[str, OperatorResult]:
    """Return the results that measuring again would give again: those that no changed kernel concerns.

    A changed kernel concerns what called it or lacked it, in any form; what failed otherwise is always measured again,
    as is what lacked a kernel that a composition of ours replaces now.
    A kernel of an operator that PyTorch composes itself, or of what the device does by itself, may concern any name.

    Raises ConfigError where the two measurements differ in more than the library, or where the old one does not say of
    which kernels it is.
    """
    one, other = old.key(), new.key()
    for name in one:
        if name != "library_digest" and one[name] != other[name]:
            raise ConfigError(
                source,
                f"holds another measurement ({name} is {one[name]!r} there, {other[name]!r} now)",
                "--refresh is for another state of the library alone; give another file with --out, or --anew",
            )
    if old.kernels is None or new.kernels is None:
        raise ConfigError(source, "does not say which kernels it was measured with", "measure anew: --anew")
    before, now = old.kernels, new.kernels
    changed = {name for name in {*before, *now} if before.get(name) != now.get(name)}
    touched = changed | {form for form, kernel in serving(changed, new.target).items() if kernel in changed}
    seen = {name for result in results.values() for name in _mentioned(result)}
    if any(_everybodys(name) for name in touched - seen):
        return {}
    return {
        name: result.model_copy(update={"failures": chosen_failures(result.failures)})
        for name, result in results.items()
        if not _concerned(result, touched)
    }


def _everybodys(overload: str) -> bool:
    """Whether a call of an overload leaves no trace where the library has no kernel of it."""
    from bringup.library import schemas

    return overload in DEVICE_OWN or schemas.is_composed(overload)


def _mentioned(result: OperatorResult) -> set[str]:
    lacking = {name for direct, parts in result.needs.items() for name in (direct, *parts)}
    return {*result.kernels, *result.composed, *lacking}


def _concerned(result: OperatorResult, touched: set[str]) -> bool:
    return result.status == "failed" or bool(touched & _mentioned(result)) or _composed_now(result)


def _composed_now(result: OperatorResult) -> bool:
    """Whether a name lacked an overload as such that a composition of ours serves now."""
    return any(tuple(parts) == (name,) and name in OURS for name, parts in result.needs.items())
