"""The recorded client: replays the replies of an earlier run by operator, attempt and turn.

A prompt that differs from the recorded one (its wording changed, a time in a log) is answered all the same, since
the reply is judged by the real judge anyway; the difference is counted and logged. `strict` makes it an error.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass

from bringup.clients._base import Call, Client, Message, Reply, Sampling
from bringup.clients.recording import RecordingSet, find_set, messages_digest, prompt_digest
from bringup.errors import DialogDiverged

log = logging.getLogger("bringup.clients")


@dataclass
class ReplayCounts:
    """How well the replayed prompts matched the recorded ones."""

    exact: int = 0  # the whole dialog is the recorded one
    history_differs: int = 0  # the last prompt is the recorded one, something before it is not
    prompt_differs: int = 0
    unrecorded: int = 0  # calls that the recording does not have


class RecordedClient(Client):
    """Replays recorded dialogs; no model is asked."""

    name = "recorded"
    durable = True  # an interrupted call can simply be made again, so a stopping run need not wait for it

    def __init__(
        self,
        path: str | None = None,
        target: str | None = None,
        delay_seconds: float = 0.0,
        strict: bool = False,
    ) -> None:
        """Open the set at `path`, the shipped set of that name, or the one shipped for `target`.

        `delay_seconds` is waited before each reply, so that a demonstration can be watched.
        """
        self.recordings = RecordingSet(find_set(path, target))
        self.counts = ReplayCounts()
        self._delay = delay_seconds
        self._strict = strict
        self._warned: set[str] = set()

    def operators(self) -> list[str]:
        """Return the operators that the set can answer for."""
        return self.recordings.operators()

    async def complete(self, messages: Sequence[Message], sampling: Sampling, call: Call) -> Reply:
        """Return the recorded reply; raises DialogDiverged when the recording has no such turn."""
        started = time.monotonic()
        dialog = await asyncio.to_thread(self.recordings.dialog, call.operator, call.node)  # read once, then kept
        record = dialog.get((call.attempt, call.turn, call.role))
        if record is None:
            self.counts.unrecorded += 1
            raise DialogDiverged(self._missing(call, len(dialog)))
        self._compare(messages, call, record.messages_digest, record.prompt_digest)
        if self._delay > 0:
            await asyncio.sleep(self._delay)
        return Reply(
            text=record.text,
            usage=record.usage,
            model=record.model,
            finish_reason=record.finish_reason,
            seconds=time.monotonic() - started,
        )

    async def recover(self, call: Call) -> Reply | None:
        """Return None: a replay costs nothing, `complete` simply answers again."""
        return None

    async def close(self) -> None:
        """Log how many prompts differed from the recorded ones."""
        counts = self.counts
        if counts.history_differs or counts.prompt_differs:
            parts = [
                (counts.exact, "to the recorded dialog"),
                (counts.history_differs, "to the recorded prompt after another history"),
                (counts.prompt_differs, "to a prompt that has changed since"),
            ]
            total = sum(number for number, _ in parts)
            said = ", ".join(f"{number} {words}" for number, words in parts if number)
            log.warning("recorded: %d %s replayed: %s", total, "reply" if total == 1 else "replies", said)

    def _missing(self, call: Call, recorded: int) -> str:
        where = self.recordings.path
        if not recorded:
            return f"operator {call.operator} has no recorded dialog in {where}; `--ops recorded` takes those that have"
        what = "reply" if call.role == "generate" else f"{call.role} reply"
        known = self.recordings.dialog(call.operator, call.node)
        turns = [t for a, t, r in known if a == call.attempt and r == call.role]
        beyond = f" beyond turn {max(turns)} of" if turns else " in"
        if call.node:
            beyond += f" node {call.node},"
        return (
            f"operator {call.operator} has no recorded {what}{beyond} attempt {call.attempt} (asked for turn "
            f"{call.turn}): this run went another way than the recorded one (other versions, target or limits?); "
            "ask a model with --client openai, anthropic or mailbox"
        )

    def _compare(self, messages: Sequence[Message], call: Call, whole: str, last: str) -> None:
        if whole == messages_digest(messages):
            self.counts.exact += 1
            return
        same_prompt = last == prompt_digest(messages)
        if same_prompt:
            self.counts.history_differs += 1
        else:
            self.counts.prompt_differs += 1
        what = "the dialog before the prompt" if same_prompt else "the prompt"
        if self._strict:
            raise DialogDiverged(f"{call.key}: {what} differs from the recorded one (client option strict)")
        # Once an operator: later turns of a dialog that differs once differ all. The run's last lines count them.
        level = logging.DEBUG if call.operator in self._warned else logging.INFO
        self._warned.add(call.operator)
        log.log(level, "recorded: %s: %s differs from the recorded one; answering as recorded", call.key, what)
