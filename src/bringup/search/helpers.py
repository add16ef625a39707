"""The two calls that help an expansion along: ordinary stored model calls, each of which can be switched off."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bringup.clients import Client
from bringup.config import ClientConfig
from bringup.errors import ClientError
from bringup.prompts import Prompt
from bringup.session import RepairLoop
from bringup.session.work import message
from bringup.store import CallFailed, CallFinished, CallStarted, Role, StoredEvent
from bringup.tokens import estimate_tokens

HELPERS: tuple[Role, ...] = ("remember", "look_up")


def of_loop(events: Iterable[StoredEvent]) -> list[StoredEvent]:
    """Return the events of a node's repair loop: all but the helpers' calls."""
    return [stored for stored in events if not (_is_call(stored) and stored.event.role in HELPERS)]  # type: ignore[union-attr]


def of_helper(events: Iterable[StoredEvent], role: Role) -> list[StoredEvent]:
    """Return the events of one helper's calls."""
    return [stored for stored in events if _is_call(stored) and stored.event.role == role]  # type: ignore[union-attr]


def _is_call(stored: StoredEvent) -> bool:
    return isinstance(stored.event, CallStarted | CallFinished | CallFailed)


class HelperCall(RepairLoop):
    """One call of a helper for one node. It gets the helper's own events: what was answered is not asked again."""

    async def ask(self, prompt: Prompt, role: Role, client: Client, config: ClientConfig, system: str) -> str | None:
        """Return the answer; None where none is to be had, and where the budget forbids to ask (stored already).

        Raises what `RepairLoop` raises, but no ClientError: the expansion does without.
        """
        state = self.state
        state.attempt = 1
        if state.reply is None and state.pending is None:
            if await self._over_budget():
                return None
            call = self._call(1, role)
            await self._store_call(call, config, prompt, estimate_tokens(prompt.text))
        if state.reply is None:
            assert state.pending is not None
            messages = [message("user", await self._text(state.pending.prompt))]
            if system:
                messages.insert(0, message("system", system))
            try:
                if await self._ask(client, config, messages) is None:
                    return None
            except ClientError:
                return None
        assert state.reply is not None
        return await self._text(state.reply.reply)

    @property
    def stopped(self) -> bool:
        """Whether the budget has ended the node."""
        return self.state.ended


def chosen_files(answer: str, known: Sequence[str], most: int) -> list[str]:
    """Return the files that an answer names, in its order, each once; what is no file of the base is passed over."""
    found: dict[str, None] = {}
    for line in answer.splitlines():
        words = line.replace("`", " ").replace("*", " ").replace(",", " ").replace(":", " ").split()
        for word in words:
            stem = word.strip("-()[].").removesuffix(".md")
            found.update({path: None for path in known if stem and path.removesuffix(".md") == stem})
    return list(found)[:most]
