import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from bringup.clients import Call, Message, Reply, Sampling, make_client, sampling_of
from bringup.clients.scripted import ScriptedClient
from bringup.config import ClientConfig
from bringup.errors import ClientError, ConfigError, UnknownName

HI = [Message(role="user", content="12345678")]


def call(operator: str = "exp", attempt: int = 1, turn: int = 1, role: str = "generate") -> Call:
    return Call.model_validate({"run": "r", "operator": operator, "attempt": attempt, "turn": turn, "role": role})


async def ask(client: ScriptedClient, asked: Call) -> str:
    return (await client.complete(HI, Sampling(), asked)).text


async def test_lists_by_turn_attempt_role_and_glob() -> None:
    client = ScriptedClient(
        {
            "exp": ["a", "b"],
            "mm": [["a1 t1"], ["a2 t1", "a2 t2"]],
            "sum": {"generate": ["code"], "summarise": "short"},
            "special.*": "glob",
            "*": {"text": "any", "input_tokens": 7, "output_tokens": 9, "finish_reason": "length", "model": "m"},
        }
    )
    assert [await ask(client, call(turn=t)) for t in (1, 2, 3)] == ["a", "b", "b"]
    assert await ask(client, call(attempt=2)) == "a"
    mm = [await ask(client, call("mm", a, t)) for a, t in [(1, 1), (1, 2), (2, 1), (2, 2), (3, 2)]]
    assert mm == ["a1 t1", "a1 t1", "a2 t1", "a2 t2", "a2 t2"]
    assert await ask(client, call("sum")) == "code"
    assert await ask(client, call("sum", role="summarise")) == "short"
    assert await ask(client, call("special.erf")) == "glob"
    reply = await client.complete(HI, Sampling(), call("other"))
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.estimated) == (7, 9, False)
    assert (reply.finish_reason, reply.model) == ("length", "m")


async def test_a_node_of_a_search_has_replies_of_its_own() -> None:
    client = ScriptedClient({"exp": ["of all others"], "exp~n3": ["of the third"]})
    assert await ask(client, call().model_copy(update={"session": "exp~n3", "node": "3"})) == "of the third"
    assert await ask(client, call().model_copy(update={"session": "exp~n4", "node": "4"})) == "of all others"


async def test_callables() -> None:
    def sync(messages: Any, sampling: Sampling, asked: Call) -> str:
        return f"{asked.turn} {messages[-1].content}"

    async def slow(messages: Any, sampling: Sampling, asked: Call) -> Reply:
        return Reply(text="async")

    assert await ask(ScriptedClient(sync), call(turn=4)) == "4 12345678"
    assert await ask(ScriptedClient(slow), call()) == "async"
    with pytest.raises(ClientError, match="down"):
        await ask(ScriptedClient(lambda *_: ClientError("down")), call())


async def test_errors_and_failure_injection() -> None:
    client = ScriptedClient({"exp": ["a", {"error": "endpoint down"}]}, fail_calls=[2])
    assert await ask(client, call()) == "a"
    with pytest.raises(ClientError, match="call 2"):
        await ask(client, call())
    with pytest.raises(ClientError, match="endpoint down"):
        await ask(client, call(turn=2))
    with pytest.raises(ClientError, match=r"no reply for r\.mm"):
        await ask(client, call("mm"))
    with pytest.raises(ConfigError, match="unknown fields"):
        await ask(ScriptedClient({"exp": [{"text": "a", "colour": "b"}]}), call())
    with pytest.raises(ConfigError, match="neither text nor a mapping"):
        await ask(ScriptedClient({"exp": [3]}), call())


async def test_files(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text("exp:\n- one\n- {error: no}\n")
    (tmp_path / "s.json").write_text(json.dumps({"exp": ["one", {"error": "no"}]}))
    for name in ("s.yaml", "s.json"):
        client = ScriptedClient(path=str(tmp_path / name))
        assert await ask(client, call()) == "one"
        with pytest.raises(ClientError):
            await ask(client, call(turn=2))
    (tmp_path / "bad.yaml").write_text("exp: [")
    (tmp_path / "list.yaml").write_text("- a\n")
    for path, words in [("bad", "not valid YAML"), ("list", "is a mapping"), ("none", "cannot be read")]:
        with pytest.raises(ConfigError, match=words):
            ScriptedClient(path=str(tmp_path / f"{path}.yaml"))
    with pytest.raises(ConfigError, match="needs a script"):
        ScriptedClient()


async def test_delay_and_usage() -> None:
    client = ScriptedClient({"*": "123"}, delay_seconds=0.03)
    reply = await client.complete(HI, Sampling(), call())
    assert reply.seconds >= 0.03
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.estimated) == (2, 1, True)


async def test_call_log_and_recover(tmp_path: Path) -> None:
    log = tmp_path / "calls"
    client = ScriptedClient({"exp": ["a", "b"]}, call_log=log, fail_calls=[3])
    await ask(client, call())
    await ask(client, call(turn=2))
    with pytest.raises(ClientError):
        await ask(client, call(turn=3))
    assert log.read_text().split() == ["r.exp.a1.t01.generate", "r.exp.a1.t02.generate"]
    with log.open("a") as file:
        file.write("r.exp.a1.t04.gen")  # cut by a kill
    later = ScriptedClient({"exp": ["a", "b"]}, call_log=log)
    recovered = await later.recover(call(turn=2))
    assert recovered is not None
    assert recovered.text == "b"
    assert await later.recover(call(turn=3)) is None
    assert await later.recover(call(turn=4)) is None


def test_call_log_survives_a_kill(tmp_path: Path) -> None:
    log = tmp_path / "calls"
    program = (
        "import asyncio, sys; from bringup.clients import Call, Sampling\n"
        "from bringup.clients.scripted import ScriptedClient\n"
        "c = ScriptedClient({'*': 'x'}, call_log=sys.argv[1])\n"
        "async def main():\n"
        "    for t in range(10**6):\n"
        "        await c.complete([], Sampling(), Call(run='r', operator='o', attempt=1, turn=t))\n"
        "        print(t, flush=True)\n"
        "asyncio.run(main())\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program, str(log)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    printed = 1 + len(process.stdout.read().split("\n")[:-1])
    process.wait()
    process.stdout.close()
    logged = log.read_text().split("\n")[:-1]
    assert len(logged) in (printed, printed + 1)
    assert len(set(logged)) == len(logged)


def test_make_client_maps_the_section(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text("exp: one\n")
    config = ClientConfig(
        name="scripted",
        path=str(tmp_path / "s.yaml"),
        model="m",
        options={"delay_seconds": 0.5},
        reasoning_effort="low",
    )
    client = make_client(config, tmp_path)
    assert isinstance(client, ScriptedClient)
    assert client._delay == 0.5
    assert client._model == "m"
    sampling = sampling_of(config)
    assert (sampling.temperature, sampling.reasoning_effort) == (1.0, "low")
    with pytest.raises(ConfigError, match=r"client scripted has no option colour; it has: .*delay_seconds"):
        make_client(config.model_copy(update={"options": {"colour": 1}}), tmp_path)
    with pytest.raises(ConfigError, match="model is a field of `client` itself"):
        make_client(config.model_copy(update={"options": {"model": "x"}}), tmp_path)
    with pytest.raises(UnknownName, match="did you mean scripted"):
        make_client(ClientConfig(name="script"), tmp_path)


def test_make_client_for_plug_ins() -> None:
    from bringup.clients import clients

    got: dict[str, Any] = {}

    @clients.register("mine")
    def mine(model: str, **options: Any) -> ScriptedClient:
        got.update(options, model=model)
        return ScriptedClient({"*": "x"})

    try:
        make_client(ClientConfig(name="mine", model="m", base_url="http://h", options={"depth": 3}))
    finally:
        clients._factories.pop("mine")
    assert (got["model"], got["base_url"], got["depth"]) == ("m", "http://h", 3)
