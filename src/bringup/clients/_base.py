"""The door for clients: one coroutine that turns messages into a reply, with the provider's own token counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol, runtime_checkable

from bringup.registry import Registry
from bringup.verdict import Record


class Message(Record):
    """One turn of a dialog."""

    role: Literal["system", "user", "assistant"]
    content: str


class Sampling(Record):
    """How the model samples. None leaves the provider's default; the defaults are the paper's."""

    temperature: float | None = 1.0
    top_p: float | None = None
    max_tokens: int | None = None
    reasoning_effort: Literal["minimal", "low", "medium", "high"] | None = None


class Usage(Record):
    """Tokens of one call, from the provider's own numbers; `estimated` when it sent none (4 characters a token)."""

    input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0  # part of output_tokens
    cached_tokens: int = 0  # part of input_tokens
    estimated: bool = False


class Call(Record):
    """Identifies one model call of a run: asked again after a crash, it has the same key.

    `session` is the session's id, by default the operator's name: the id of its own, first session. `node` names a
    node of a graph that the session searches, "" where there is none.
    """

    run: str
    operator: str
    attempt: int  # from 1
    turn: int  # from 1 within the attempt
    role: Literal["generate", "summarise", "remember", "look_up"] = "generate"
    session: str = ""
    node: str = ""

    @property
    def key(self) -> str:
        """A stable, file-name-safe key: `RUN.SESSION.a1.t03.generate`, or `RUN.SESSION.nNODE.a1.t03.generate`."""
        node = f".n{self.node}" if self.node else ""
        return f"{self.run}.{self.session or self.operator}{node}.a{self.attempt}.t{self.turn:02d}.{self.role}"


class Reply(Record):
    """What came back."""

    text: str
    usage: Usage = Usage()
    model: str = ""
    finish_reason: str = ""
    seconds: float = 0.0


@runtime_checkable
class Client(Protocol):
    """Answers prompts. `complete` raises ClientError after its own retries; it never returns half a reply.

    A client inherits it for its defaults.
    """

    name: str
    # Whether the answer to an interrupted call can still be had later: a run that stops need not wait for it.
    durable: bool = False

    async def complete(self, messages: Sequence[Message], sampling: Sampling, call: Call) -> Reply:
        """Answer the dialog `messages`."""
        ...

    async def recover(self, call: Call) -> Reply | None:
        """Return the answer that an interrupted earlier `complete` of the same call already got, if any."""
        ...

    async def close(self) -> None:
        """Release connections."""
        ...


clients: Registry[Client] = Registry(
    "client",
    "bringup.clients",
    {
        "openai": "bringup.clients.openai:OpenAIClient",
        "anthropic": "bringup.clients.anthropic:AnthropicClient",
        "recorded": "bringup.clients.recorded:RecordedClient",
        "mailbox": "bringup.clients.mailbox:MailboxClient",
        "scripted": "bringup.clients.scripted:ScriptedClient",
    },
)


def get_client(name: str, **options: Any) -> Client:
    """Make the client called `name` with the options of its section in the configuration."""
    return clients.create(name, **options)
