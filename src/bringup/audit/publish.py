"""Publish failed audit cases into the gate: from then on a session may see them, and the audit draws fresh ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bringup.audit.helper import ask
from bringup.audit.records import AuditRecord, family_of_result
from bringup.errors import BringupError, ConfigError
from bringup.suites import FILES, Addition, Additions, get_suite, read_additions, torch_build, write_additions
from bringup.verdict import CaseResult

MOST_PUBLISHED = 6  # cases of one operator: the audit keeps the rest to itself


@dataclass(frozen=True)
class Published:
    """What one call of `publish` wrote."""

    path: Path
    cases: Mapping[str, tuple[str, ...]]  # operator -> "dtype key", those that are new
    known: int = 0  # chosen cases that were published before
    missing: Mapping[str, str] = field(default_factory=dict)  # operator -> why nothing could be published


def spread(failures: Sequence[CaseResult], most: int) -> list[CaseResult]:
    """Choose one failing case of each family, of another dtype than the last where there is one.

    A family that fails in one dtype tells a session as much as one that fails in five: the other four stay unseen.
    """
    by_family: dict[str, list[CaseResult]] = {}
    for result in failures:
        by_family.setdefault(family_of_result(result), []).append(result)
    chosen: list[CaseResult] = []
    used: dict[str, int] = {}
    for results in list(by_family.values())[:most]:
        result = min(results, key=lambda r: used.get(r.case.dtype, 0))
        used[result.case.dtype] = used.get(result.case.dtype, 0) + 1
        chosen.append(result)
    return chosen


def publish(records: Iterable[AuditRecord], path: Path, *, most: int = MOST_PUBLISHED, jobs: int = 1) -> Published:
    """Append failed cases of `records` to the additions file `path`, which is made when it is not there.

    Raises ConfigError when the file cannot be read, or when nothing failed.
    """
    failed = [record for record in records if record.audit is not None and record.audit.failures]
    if not failed:
        raise ConfigError("audit", "no case failed", "there is nothing to publish")
    by_name = {record.operator: record for record in failed}
    chosen = {record.operator: spread(record.audit.failures, most) for record in failed if record.audit is not None}
    additions = read_additions(path) if path.is_file() else Additions()
    if not additions.torch:
        additions = additions.model_copy(update={"torch": ".".join(torch_build().split(".")[:2])})
    before = additions
    cases: dict[str, tuple[str, ...]] = {}
    missing: dict[str, str] = {}
    known = 0
    for answer in _located(by_name, chosen, jobs):
        operator = answer["operator"]
        titles = {(r.case.dtype, r.case.index): r.title or r.summary for r in chosen[operator]}
        if answer.get("error") or not answer["found"]:
            missing[operator] = answer.get("error") or "the audit has other cases by now: audit again"
            continue
        new = []
        for found in answer["found"]:
            title = titles[found["dtype"], found["index"]]
            reason = f"published: failed in the audit of {by_name[operator].origin}: {title}"
            case = Addition(key=found["key"], seed=found["seed"], reason=reason)
            grown = additions.with_cases(operator, found["dtype"], [case])
            if grown is additions:
                known += 1
            else:
                new.append(f"{found['dtype']} {found['key']}")
                additions = grown
        if new:
            cases[operator] = tuple(new)
    if additions is not before:
        write_additions(path, additions)
    return Published(path, cases, known, missing)


def _located(
    records: Mapping[str, AuditRecord], chosen: Mapping[str, Sequence[CaseResult]], jobs: int
) -> list[dict[str, Any]]:
    """Ask helper processes for the keys of the chosen cases, one group of helpers an audit suite."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for operator, results in chosen.items():
        wanted: dict[str, list[int]] = {}
        for result in results:
            wanted.setdefault(result.case.dtype, []).append(result.case.index)
        basis = records[operator].basis
        suite = get_suite(basis.suite).audit or basis.suite
        groups.setdefault(suite, []).append({"operator": operator, "locate": wanted, "seed": basis.seed})
    answers: list[dict[str, Any]] = []
    for suite, questions in groups.items():
        ask(suite, questions, answers.append, jobs)
    return sorted(answers, key=lambda answer: str(answer["operator"]))


def default_path(records: Iterable[AuditRecord]) -> Path:
    """Return the additions file that the audited gates used, else one with the shipped file's name in this folder.

    Raises BringupError when the records used several, and for a suite without additions.
    """
    specs = {record.basis.suite for record in records}
    suites = {spec.partition(":")[0] for spec in specs}
    if len(suites) > 1 or not suites <= FILES.keys():
        raise BringupError(
            f"the audits are of {', '.join(sorted(suites))}; cases can be published for one suite of "
            f"{', '.join(FILES)} at a time"
        )
    used = {spec.partition(":")[2] for spec in specs} - {""}
    if len(used) > 1:
        raise BringupError(f"the audits used several additions files ({', '.join(sorted(used))}); name one")
    return Path(used.pop()) if used else Path(FILES[suites.pop()][0])
