"""What may become a kernel of a library: a source with a passed verdict on the whole gate of an overload."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import replace

from bringup.candidate import Candidate, FormatProblem, parse_module
from bringup.judge.evidence import Bundle, Evidence
from bringup.library._index import Entry, Judged, When
from bringup.library.errors import LibraryError
from bringup.library.folder import Library
from bringup.suites import argument_dtypes, get_suite
from bringup.targets import get_target

OVERLOAD_SUITES = ("aten", "captured")
"""Suites whose operators are ATen overloads, with the contract of the overload."""


def refusal(evidence: Evidence) -> str | None:
    """Return why what was judged cannot serve an overload; None when it can."""
    suite = _base_suite(evidence.suite)
    if suite not in OVERLOAD_SUITES:
        return (
            f"it was judged as operator '{evidence.operator}' of suite {suite}, whose calls are a public function's; "
            f"PyTorch's dispatcher asks for overloads: judge it on suite {' or '.join(OVERLOAD_SUITES)}"
        )
    if evidence.kind != "passed":
        return f"its verdict is '{evidence.kind}', not 'passed'"
    missing = _dtypes_left_out(evidence)
    if evidence.cases is not None or missing:
        what = f"without {', '.join(missing)}" if missing else "on some cases"
        return f"it was judged on a part of the gate only ({what}); judge it on all cases"
    if not evidence.cases_total:
        return "no case was judged"
    if told := circumstances(evidence):
        return f"it was judged {told}, which a kernel can tell, and no call in use is made so; judge it without"
    return None


def circumstances(evidence: Evidence) -> str:
    """Return what a guest could tell its judge from use by; "" where it was judged as calls are made in use."""
    unusual = [f"with {name} {number}" for name, number in evidence.bounds.items()]
    return ", ".join([*unusual, *(f"for {name}, too" for name in evidence.compile_for)])


def _base_suite(spec: str) -> str:
    """The suite that the operators come from: one that adds calls of chosen sizes to another's gate says which."""
    base = getattr(get_suite(spec), "base", None) if spec.partition(":")[0] == "shaped" else None
    return spec.partition(":")[0] if base is None else str(base.name).partition(":")[0]


def _dtypes_left_out(evidence: Evidence) -> list[str]:
    """The dtypes of the gate that the target has and that nobody asked for."""
    if not evidence.dtypes:
        return []
    operator = get_suite(evidence.suite).operator(evidence.operator)
    known = get_target(evidence.target).dialect().dtypes
    return [dtype for dtype in operator.dtypes if dtype in known and dtype not in evidence.dtypes]


def judged_of(evidence: Evidence) -> Judged:
    """Return the index's summary of a judgement."""
    return Judged(
        suite=evidence.suite,
        operator=evidence.operator,
        target=evidence.target,
        chip=evidence.chip,
        torch=evidence.versions.get("torch", ""),
        triton=evidence.versions.get("triton", ""),
        cases=evidence.cases_total,
        dtypes=tuple(dtype for dtype, count in evidence.passed_by_dtype.items() if count),
        evidence="",
        digest="",
        argument_dtypes=tuple((name, tuple(found)) for name, found in evidence.argument_dtypes.items()),
    )


def dtypes_noted(library: Library) -> int:
    """Note the dtypes of the cases in judgements that lack them, made by an older bringup; return how many.

    What was judged then are the first cases of the gate, as many in each dtype as passed. Rebuilds them: some minutes.
    """
    made = 0
    for entry in list(library.entries):
        judged = tuple(one if one.argument_dtypes else _with_dtypes(library, entry, one) for one in entry.judged)
        if judged != entry.judged:
            library.restate(entry, judged)
            made += 1
    return made


def _with_dtypes(library: Library, entry: Entry, judged: Judged) -> Judged:
    evidence = Evidence.model_validate_json(library.evidence(entry, judged))
    suite = get_suite(judged.suite)
    found: dict[str, set[str]] = {}
    for dtype, count in evidence.passed_by_dtype.items():
        for case in suite.own_cases(judged.operator, dtype, evidence.seed)[:count]:
            for name, dtypes in argument_dtypes(case.args, case.kwargs).items():
                found.setdefault(name, set()).update(dtypes)
    return replace(judged, argument_dtypes=tuple((name, tuple(sorted(dtypes))) for name, dtypes in found.items()))


def evidence_bytes(evidence: Evidence) -> bytes:
    """Return the text of a file of evidence."""
    return (evidence.model_dump_json(indent=1) + "\n").encode()


def add_judged(
    library: Library,
    bundle: Bundle,
    *,
    origin: str,
    profile: str = "",
    variant: str = "",
    when: When | None = None,
    replaces: bool = False,
) -> Entry:
    """Add a kernel that passed; raises LibraryError saying why one cannot be."""
    evidence = bundle.evidence
    why = refusal(evidence)
    if why is not None:
        raise LibraryError(f"{origin}: the kernel of {evidence.operator} is not added: {why}")
    check_overload(evidence.operator)
    if profile and evidence.target != profile:
        raise LibraryError(
            f"{origin}: an override for {profile} must have been judged there; this one was judged on {evidence.target}"
        )
    entry = Entry(
        evidence.operator, "", "", "", profile=profile, variant=variant, when=when, origin=origin,
        salt=_salt(evidence.operator),
    )  # fmt: skip
    known = library.find(*entry.key)
    if known is not None and known.candidate == evidence.candidate:
        # The same kernel, judged once more: elsewhere, or again.
        return library.add_evidence(known, judged_of(evidence), evidence_bytes(evidence))
    return library.put(entry, bundle.source, [(judged_of(evidence), evidence_bytes(evidence))], replaces=replaces)


def add_unjudged(
    library: Library,
    overload: str,
    source: str,
    *,
    origin: str,
    profile: str = "",
    variant: str = "",
    when: When | None = None,
    calls: Iterable[str] = (),
    replaces: bool = False,
) -> Entry:
    """Add a kernel that nobody judged; it serves only where `enable(unjudged=True)` asks for such. Raises LibraryError.

    `calls` names the overloads that it calls through PyTorch.
    """
    check_overload(overload)
    for name in calls:
        check_overload(name)
    parsed = parse_module(source)
    if isinstance(parsed, FormatProblem):
        raise LibraryError(f"{origin}: no kernel: {parsed.explanation}")
    entry = Entry(
        overload, "", "", "", profile=profile, variant=variant, when=when, calls=tuple(calls), origin=origin,
        salt=_salt(overload),
    )  # fmt: skip
    return library.put(entry, parsed.source, replaces=replaces)


def _salt(overload: str) -> str:
    """What the seeds of a kernel that is added are mixed with; "" for one that draws nothing."""
    from bringup.library.schemas import schema_of

    return secrets.token_hex(16) if schema_of(overload).random else ""


def parse_source(source: str, origin: str) -> Candidate:
    """Return a file's text as a candidate; raises LibraryError."""
    parsed = parse_module(source)
    if isinstance(parsed, FormatProblem):
        raise LibraryError(f"{origin}: no kernel: {parsed.explanation}")
    return parsed


def check_overload(name: str) -> None:
    """Raise LibraryError for a name that is no overload of this PyTorch."""
    from bringup.library.schemas import overloads, unknown

    if name not in overloads(name.partition(".")[0]):
        raise unknown(name)
