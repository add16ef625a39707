"""The openai client against `transformers serve`, a server that we did not write."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bringup.clients import Call, Message, Sampling, make_client
from bringup.config import ClientConfig
from bringup.errors import ClientError
from real_server import Server, missing, running_server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if reason := missing():
        pytest.skip(reason)
    with running_server(tmp_path_factory.mktemp("serve")) as running:
        yield running


DIALOG = [
    Message(role="system", content="You write Triton kernels."),
    Message(role="user", content="Write exp. " * 200),
    Message(role="assistant", content="```python\npass\n```"),
    Message(role="user", content="line 1: no kernel. Again."),
]


@pytest.mark.parametrize("stream", [True, False])
async def test_calls(server: Server, stream: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    config = ClientConfig(name="openai", model=server.model, base_url=server.base_url, stream=stream, concurrency=4)
    client = make_client(config)
    calls = [Call(run="r", operator="exp", attempt=1, turn=turn) for turn in range(1, 9)]
    replies = await asyncio.gather(*(client.complete(DIALOG, Sampling(max_tokens=24), call) for call in calls))
    await client.close()
    for reply in replies:
        assert reply.text.strip()
        assert reply.finish_reason in ("length", "stop")
        assert not reply.usage.estimated
        assert reply.usage.input_tokens > 400
        assert 0 < reply.usage.output_tokens <= 24
    assert len({reply.text for reply in replies}) > 1  # it samples


async def test_a_model_that_the_server_does_not_have(server: Server) -> None:
    config = ClientConfig(
        name="openai", model="no/such", base_url=server.base_url, retries=1, options={"backoff_seconds": 0.01}
    )
    client = make_client(config)
    with pytest.raises(ClientError, match=server.base_url):
        await client.complete(DIALOG, Sampling(max_tokens=4), Call(run="r", operator="exp", attempt=1, turn=1))
    await client.close()


def test_a_run_goes_through_all_its_calls_and_ends_exhausted(server: Server, tmp_path: Path) -> None:
    bringup = [sys.executable, "-m", "bringup.cli.main"]
    options = ["--client", "openai", "--model", server.model, "--base-url", server.base_url]
    options += ["--attempts", "2", "--calls", "3", "--set", "client.max_tokens=32", "--ops", "exp", "--ops", "diag"]
    environment = {name: value for name, value in os.environ.items() if name != "OPENAI_API_KEY"}
    command = [*bringup, "run", *options, "--quiet", "--runs-dir", str(tmp_path)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=250, check=False)
    assert run.returncode == 1, run.stderr + run.stdout  # done, and not all covered
    command = [*bringup, "status", "latest", "--json", "--runs-dir", str(tmp_path)]
    status = json.loads(subprocess.run(command, capture_output=True, timeout=60, check=True).stdout)
    assert [(s["operator"], s["outcome"], s["calls"]) for s in status["operators"]] == [
        ("exp", "exhausted", 6),
        ("diag", "exhausted", 6),
    ]
    assert not any(s["usage"]["estimated"] for s in status["operators"])
