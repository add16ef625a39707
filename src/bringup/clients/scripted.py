"""The scripted client: a test double that answers from a callable, a mapping or a file."""

from __future__ import annotations

import asyncio
import fnmatch
import inspect
import os
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from bringup.clients._base import Call, Client, Message, Reply, Sampling, Usage
from bringup.clients._estimate import estimate_usage
from bringup.errors import ClientError, ConfigError, not_yaml

Answer = str | Reply | Mapping[str, Any] | BaseException
Script = Callable[[Sequence[Message], Sampling, Call], Answer | Awaitable[Answer]]
_FIELDS = {"text", "error", "finish_reason", "model", "input_tokens", "output_tokens"}


class ScriptedClient(Client):
    """Answers as it is told; nothing is sent anywhere.

    A script is a callable `(messages, sampling, call) -> answer`, or a mapping from operator (or glob) to its
    replies. These are a list by turn, the same in every attempt (a list of lists: one an attempt, the last one for
    all further attempts), or a mapping from role ("generate", "summarise") to such lists. A node of a search has
    replies of its own under its session's name (`softmax~n3`: of node 3). After the last reply of
    a list, that reply is given again. A reply is text, or a mapping with `text` or `error` and, optionally,
    `finish_reason`, `model`, `input_tokens`, `output_tokens`. So the answer depends on the call alone, never on
    what was asked before, and a resumed run gets the same.
    """

    name = "scripted"

    def __init__(
        self,
        script: Script | Mapping[str, Any] | None = None,
        path: str | None = None,
        model: str = "scripted",
        *,
        delay_seconds: float = 0.0,
        fail_calls: Collection[int] = (),
        call_log: str | Path | None = None,
    ) -> None:
        """Answer from `script` or from the YAML or JSON file `path`.

        Each reply waits `delay_seconds`. The calls with the numbers in `fail_calls` (from 1, in this process) raise
        ClientError. Every answered call's key is appended to `call_log`, durably, before the reply is returned, and
        `recover` knows the calls in it: calls can be counted over kills of the process.
        """
        if (script is None) == (path is None):
            raise ConfigError("client scripted", "needs a script, or the path of one", "set client.path")
        self._script: Script | Mapping[str, Any] = script if script is not None else _load(Path(str(path)))
        self._source = str(path) if path is not None else "script"
        self._model = model
        self._delay = delay_seconds
        self._fail = frozenset(fail_calls)
        self._log = Path(call_log) if call_log is not None else None
        self._answered = _read_log(self._log)
        self.calls = 0  # asked of this object

    async def complete(self, messages: Sequence[Message], sampling: Sampling, call: Call) -> Reply:
        """Return the scripted reply; raises ClientError where the script says so."""
        started = time.monotonic()
        self.calls += 1
        number = self.calls
        if self._delay > 0:
            await asyncio.sleep(self._delay)
        if number in self._fail:
            raise ClientError(f"scripted: call {number} ({call.key}) fails as told")
        reply = await self._answer(messages, sampling, call)
        if self._log is not None:
            _append(self._log, call.key)
            self._answered.add(call.key)
        return reply.model_copy(update={"seconds": time.monotonic() - started})

    async def recover(self, call: Call) -> Reply | None:
        """Return the reply of a call that is in the log; None without a log or for a callable script."""
        if call.key not in self._answered or callable(self._script):
            return None
        return await self._answer([], Sampling(), call)

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""

    async def _answer(self, messages: Sequence[Message], sampling: Sampling, call: Call) -> Reply:
        if callable(self._script):
            answer = self._script(messages, sampling, call)
            if inspect.isawaitable(answer):
                answer = await answer
        else:
            answer = self._look_up(self._script, call)
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, Reply):
            return answer
        if isinstance(answer, Mapping):
            return self._from_fields(answer, messages, call)
        return self._reply(str(answer), messages)

    def _look_up(self, script: Mapping[str, Any], call: Call) -> Answer:
        entry = script.get(call.session) or script.get(call.operator)
        if entry is None:
            globs = (value for name, value in script.items() if fnmatch.fnmatchcase(call.operator, name))
            entry = next(globs, None)
        by_role = isinstance(entry, Mapping) and not (entry.keys() & _FIELDS)
        if by_role and isinstance(entry, Mapping):
            entry = entry.get(call.role)
        if isinstance(entry, str | Mapping):
            entry = [entry]
        if isinstance(entry, list) and entry and all(isinstance(item, list) for item in entry):
            entry = entry[min(call.attempt, len(entry)) - 1]
        if not isinstance(entry, list) or not entry:
            raise ClientError(f"scripted: {self._source} has no reply for {call.key}")
        answer = entry[min(call.turn, len(entry)) - 1]
        if not isinstance(answer, str | Mapping | Reply | BaseException):
            raise ConfigError(self._source, f"reply {call.turn} of {call.operator} is neither text nor a mapping")
        return answer

    def _from_fields(self, fields: Mapping[str, Any], messages: Sequence[Message], call: Call) -> Reply:
        if unknown := fields.keys() - _FIELDS:
            raise ConfigError(self._source, f"reply to {call.key} has unknown fields {sorted(unknown)}")
        if "error" in fields:
            raise ClientError(f"scripted: {call.key}: {fields['error']}")
        reply = self._reply(str(fields.get("text", "")), messages)
        update: dict[str, Any] = {key: str(fields[key]) for key in ("finish_reason", "model") if key in fields}
        if fields.keys() & {"input_tokens", "output_tokens"}:
            update["usage"] = Usage(
                input_tokens=int(fields.get("input_tokens", reply.usage.input_tokens)),
                output_tokens=int(fields.get("output_tokens", reply.usage.output_tokens)),
            )
        return reply.model_copy(update=update)

    def _reply(self, text: str, messages: Sequence[Message]) -> Reply:
        return Reply(text=text, usage=estimate_usage(messages, text), model=self._model, finish_reason="stop")


def _load(path: Path) -> Mapping[str, Any]:
    """Read a script: YAML, of which JSON is a part."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(str(path), f"script cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(str(path), not_yaml(error)) from error
    if not isinstance(content, dict) or not content:
        raise ConfigError(str(path), "a script is a mapping from operator (or glob) to its replies")
    return {str(key): value for key, value in content.items()}


def _read_log(path: Path | None) -> set[str]:
    """Return the logged keys, and cut a last line that a kill left without its end: its reply was never returned."""
    if path is None or not path.exists():
        return set()
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if len(whole) < len(data):
        os.truncate(path, len(whole))
    return set(whole.decode().split("\n")[:-1])


def _append(path: Path, key: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, f"{key}\n".encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
