"""Turn the dialogs of a run into a set of recordings that the `recorded` client replays. Nothing is edited."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from bringup.clients import Call, Message, Reply
from bringup.clients.recording import Manifest, Recording, write_recordings
from bringup.errors import BringupError
from bringup.store import Judged, NodeStarted, Run, SessionStarted, session_calls


def dialogs_of(run: Run, operator: str, session: str | None = None) -> Iterator[Recording]:
    """Yield every answered call of one operator's session (by default its own) with the dialog sent, in order.

    The first one carries the kernel that the session began from, so that a replay begins from it too.
    """
    events = list(run.events(operator, session=session or operator))
    began = next((e.event.refine for e in events if isinstance(e.event, SessionStarted)), None)
    start = run.blob(began) if began else ""
    for stored in session_calls(events):
        if stored.reply is None:
            continue
        messages = [Message.model_validate({"role": role, "content": run.blob(name)}) for role, name in stored.messages]
        reply = Reply(
            text=run.blob(stored.reply),
            usage=stored.usage,
            model=stored.model,
            finish_reason=stored.finish_reason,
            seconds=stored.seconds,
        )
        call = Call(
            run=run.id, operator=operator, attempt=stored.attempt, turn=stored.turn, role=stored.role, node=stored.node
        )
        yield Recording.of(call, messages, reply, stored.template, start)
        start = ""


def dialogs_of_search(run: Run, operator: str) -> Iterator[Recording]:
    """Yield every answered call of all nodes of a search, in order; the first one carries the search's start."""
    events = list(run.events(operator))
    first = next((stored.event for stored in events if isinstance(stored.event, NodeStarted)), None)
    start = run.blob(first.source) if first is not None and first.phase == "start" and first.source else ""
    sessions = dict.fromkeys(stored.session for stored in events if stored.node)
    for session in sessions:
        for record in dialogs_of(run, operator, session):
            yield record.model_copy(update={"start": start})
            start = ""


def record_run(run: Run, directory: Path, *, operators: Iterable[str] = (), covered_only: bool = True) -> list[str]:
    """Write the dialogs of `run` as a set of recordings to `directory`; return the operators written.

    Files of other operators in `directory` stay, so that a set can grow run by run. Raises BringupError when no
    operator qualifies.
    """
    wanted = set(operators)
    summaries = run.summaries()
    chosen = [
        name
        for name, summary in summaries.items()
        if summary.turns and (summary.covered or not covered_only) and (not wanted or name in wanted)
    ]
    if not chosen:
        what = "covered operator" if covered_only else "operator with an answered call"
        raise BringupError(f"run {run.id}: no {what} to record{' among those named' if wanted else ''}")
    config = run.config()
    manifest = Manifest(
        target=str(config.get("target", "")),
        date=time.strftime("%Y-%m-%d", time.gmtime()),
        versions=_versions(run, chosen),
        suite=str(config.get("suite", "opinfo")),
        note="recorded from a run of the loop as it happened; no reply was edited",
    )
    if config.get("search"):
        records = (record for name in chosen for record in dialogs_of_search(run, name))
    else:
        records = (record for name in chosen for record in dialogs_of(run, name, summaries[name].session))
    write_recordings(directory, records, manifest)
    return chosen


def _versions(run: Run, operators: list[str]) -> dict[str, str]:
    """Take the versions that the judge noted in a verdict; every verdict of a run has the same."""
    for name in operators:
        for stored in run.events(name):
            if isinstance(stored.event, Judged):
                found = run.verdict(stored.event).environment.versions
                if found:
                    return found
    return {"bringup": run.started.version}
