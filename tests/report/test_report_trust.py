"""'Trusted' beside 'covered': what a stored audit adds to a run's report, in every form of it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from report_runs import Op, write_run
from rich.console import Console

from bringup.audit import AUDIT_FOLDER, AuditRecord, Basis, of_run
from bringup.audit.records import save
from bringup.errors import StoreError
from bringup.report import build_report, print_report, to_csv, to_html, to_json
from bringup.store import open_run
from bringup.verdict import CaseId, CaseResult, Verdict

OPS = [
    Op("exp", attempts=(("passed",),), outcome="covered"),
    Op("sin", attempts=(("wrong", "passed"),), outcome="covered"),
    Op("cos", attempts=(("passed",),), outcome="covered"),
    Op("tan", attempts=(("passed",),), outcome="covered"),
    Op("mm", attempts=(("wrong",),), outcome="exhausted"),
]


def record(operator: str, candidate: str, failing: tuple[str, ...] = (), covered: bool = True) -> AuditRecord:
    results = tuple(
        CaseResult(case=CaseId(operator=operator, dtype="float32", index=i), kind="wrong", title=title)
        for i, title in enumerate(failing)
    )
    kind = "wrong" if failing else "passed"
    basis = Basis(candidate=candidate, target="vpe:pe64", suite="opinfo", dtypes=("float32",))
    gate = Verdict(kind="passed" if covered else "wrong", summary="3 of 4 elements differ")
    audit = Verdict(kind=kind, summary="", failures=results, cases_total=40)
    return AuditRecord(operator=operator, origin="run", basis=basis, gate=gate, covered=covered, audit=audit)


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    """Four covered operators: one trusted, one that failed, one audited as another candidate, one not at all."""
    made = await write_run(tmp_path, "r1", OPS)
    with open_run(made) as run:
        digests = {s.operator: s.candidate.digest for s in of_run(run).subjects}
    assert digests.keys() == {"exp", "sin", "cos", "tan"}
    audits = made / AUDIT_FOLDER
    save(audits, record("exp", digests["exp"]), "source")
    save(audits, record("sin", digests["sin"], ("layout: a", "layout: b", "sizes: c")), "source")
    save(audits, record("cos", "0" * 64), "source")
    return made


def printed(folder: Path) -> str:
    console = Console(width=80, record=True, file=io.StringIO())
    print_report(build_report([folder]), console)
    return console.export_text()


async def test_only_covered_operators_audited_as_they_are_count(folder: Path) -> None:
    [run] = build_report([folder]).runs
    assert {row.name: row.trusted for row in run.operators} == {
        "exp": True, "sin": False, "cos": None, "tan": None, "mm": None
    }  # fmt: skip
    assert run.audit is not None
    assert (run.audit.audited, run.audit.trusted, run.audit.of_covered) == (2, 1, 0.25)
    assert run.audit.families == {"layout": 1, "sizes": 1}
    assert [row.name for row in run.distrusted] == ["sin"]


async def test_every_form_says_so(folder: Path) -> None:
    text = printed(folder)
    assert "trusted 1 of 4 covered operators  25.0 %  (2 not audited)" in text
    assert "Covered, but not trusted: 1" in text
    assert "layout 2, sizes 1" in text
    page = to_html(build_report([folder]))
    assert "trusted, of covered" in page
    assert "layout 2, sizes 1" in page
    rows = {row["operator"]: row["trusted"] for row in csv.DictReader(io.StringIO(to_csv(build_report([folder]))))}
    assert rows == {"exp": "True", "sin": "False", "cos": "", "tan": "", "mm": ""}
    assert json.loads(to_json(build_report([folder])))["runs"][0]["audit"]["trusted"] == 1


async def test_a_gate_that_has_grown_refuses_what_was_covered(folder: Path) -> None:
    with open_run(folder) as run:
        digests = {s.operator: s.candidate.digest for s in of_run(run).subjects}
    save(folder / AUDIT_FOLDER, record("exp", digests["exp"], covered=False), "source")
    assert "the gate refuses it now: 3 of 4 elements differ" in printed(folder)


async def test_a_run_without_an_audit_says_nothing_of_trust(tmp_path: Path) -> None:
    made = await write_run(tmp_path, "r1", OPS)
    assert build_report([made]).runs[0].audit is None
    assert "trusted" not in printed(made)
    assert "trusted" not in to_html(build_report([made]))


async def test_a_broken_audit_is_named(folder: Path) -> None:
    (folder / AUDIT_FOLDER / "exp.json").write_text("[]")
    with pytest.raises(StoreError, match=r"exp.json: not a record of an audit; delete it"):
        build_report([folder])
