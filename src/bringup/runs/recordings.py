"""Turn the dialogs of a run into a set of recordings that the `recorded` client replays. Nothing is edited."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from bringup.clients import Call, Message, Reply
from bringup.clients.recording import Manifest, Recording, write_recordings
from bringup.errors import BringupError
from bringup.store import CallFinished, CallStarted, DialogStarted, Judged, Run


def dialogs_of(run: Run, operator: str) -> Iterator[Recording]:
    """Yield every answered call of one operator's session with the dialog that it sent, in order."""
    system: list[Message] = []
    history: list[Message] = []
    pending: CallStarted | None = None
    for stored in run.events(operator):
        event = stored.event
        if isinstance(event, DialogStarted):
            system = [Message(role="system", content=run.blob(event.system))] if event.system else []
            history = []
        elif isinstance(event, CallStarted):
            pending = event
        elif isinstance(event, CallFinished) and pending is not None and pending.key == event.key:
            prompt = Message(role="user", content=run.blob(pending.prompt))
            reply = Reply(
                text=run.blob(event.reply),
                usage=event.usage,
                model=event.model,
                finish_reason=event.finish_reason,
                seconds=event.seconds,
            )
            call = Call(run=run.id, operator=operator, attempt=event.attempt, turn=event.turn, role=event.role)
            before = history if event.role == "generate" else []
            yield Recording.of(call, [*system, *before, prompt], reply, pending.template)
            if event.role == "generate":
                history += [prompt, Message(role="assistant", content=reply.text)]
            pending = None


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
    write_recordings(directory, (record for name in chosen for record in dialogs_of(run, name)), manifest)
    return chosen


def _versions(run: Run, operators: list[str]) -> dict[str, str]:
    """Take the versions that the judge noted in a verdict; every verdict of a run has the same."""
    for name in operators:
        for stored in run.events(name):
            if isinstance(stored.event, Judged):
                found = run.verdict(stored.event).environment.get("versions")
                if isinstance(found, dict):
                    return {str(key): str(value) for key, value in found.items()}
    return {"bringup": run.started.version}
