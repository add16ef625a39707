"""The openai client against `transformers serve`, a server that we did not write."""

import asyncio
from collections.abc import Iterator

import pytest
from real_server import Server, missing, running_server

from bringup.clients import Call, Message, Sampling, make_client
from bringup.config import ClientConfig
from bringup.errors import ClientError

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
