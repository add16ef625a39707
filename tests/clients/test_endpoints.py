import asyncio
import logging
import pickle
import socket
import time
import traceback
from collections.abc import Iterator
from email.utils import formatdate
from typing import Any

import pytest
from model_server import (
    AnthropicProtocol,
    ModelServer,
    OpenAIProtocol,
    Protocol,
    event,
    hang_up,
    model_server,
    ok,
    slow,
    status,
    stream,
)

from bringup.clients import Call, Message, Reply, Sampling, Usage, make_client
from bringup.config import ClientConfig
from bringup.errors import ClientError, ClientRefused, ConfigError, ContextExceeded, MissingKey, Unanswered

DIALOG = [
    Message(role="system", content="Be exact."),
    Message(role="user", content="Write exp."),
    Message(role="assistant", content="no"),
    Message(role="user", content="Again."),
]
CALL = Call(run="r", operator="exp", attempt=1, turn=1)
CANARY = "sk-canary-0123456789abcdefSECRET"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as running:
        yield running


@pytest.fixture(params=[OpenAIProtocol(), AnthropicProtocol()], ids=["openai", "anthropic"])
def protocol(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Protocol:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    found: Protocol = request.param
    return found


def client_of(protocol: Protocol, url: str, options: dict[str, Any] | None = None, **fields: Any) -> Any:
    quick = {"backoff_seconds": 0.002, "backoff_cap_seconds": 0.02} | (options or {})
    config = ClientConfig(name=protocol.name, **({"model": "m", "base_url": url, "options": quick} | fields))
    return make_client(config)


async def ask(protocol: Protocol, server: ModelServer, sampling: Sampling | None = None, **fields: Any) -> Reply:
    client = client_of(protocol, protocol.base_url(server), **fields)
    try:
        reply: Reply = await asyncio.wait_for(client.complete(DIALOG, sampling or Sampling(), CALL), 30)
        return reply
    finally:
        await client.close()


FULL = Usage(input_tokens=11, output_tokens=7, reasoning_tokens=3, cached_tokens=4)


@pytest.mark.thinned
@pytest.mark.parametrize("streaming", [True, False])
async def test_normal(protocol: Protocol, server: ModelServer, streaming: bool) -> None:
    server.play(ok(protocol))
    reply = await ask(protocol, server, stream=streaming)
    assert reply.text == "hello wörld"  # and nothing of the reasoning
    assert reply.usage == FULL
    assert (reply.model, reply.finish_reason) == ("m-2", "stop")
    assert reply.seconds > 0
    assert server.requests[0]["stream"] is streaming
    sent = server.headers[0]
    assert CANARY in (sent.get("Authorization", ""), sent.get("X-Api-Key", "")) or f"Bearer {CANARY}" in sent.values()


async def test_length_is_told(protocol: Protocol, server: ModelServer) -> None:
    server.play(ok(protocol, finish="length"))
    assert (await ask(protocol, server)).finish_reason == "length"
    server.play(stream(protocol.events([], "length")))
    cut_while_thinking = await ask(protocol, server)
    assert (cut_while_thinking.text, cut_while_thinking.finish_reason) == ("", "length")


async def test_bad_configuration(protocol: Protocol, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="no model chosen"):
        client_of(protocol, "http://localhost", model=None)
    with pytest.raises(ConfigError, match="must start with http"):
        client_of(protocol, "localhost:80")
    with pytest.raises(MissingKey, match="set the environment variable MY_KEY"):
        client_of(protocol, "http://localhost", key_variable="MY_KEY")
    monkeypatch.setenv(protocol.key_variable, f"{CANARY}\nX: y")
    with pytest.raises(ConfigError, match="characters that no API key has") as caught:
        client_of(protocol, "http://localhost")
    assert CANARY not in str(caught.value)
    monkeypatch.delenv(protocol.key_variable)
    with pytest.raises(MissingKey, match=protocol.key_variable):
        client_of(protocol, "x", base_url=None)


async def test_a_local_endpoint_needs_no_key(
    protocol: Protocol, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(protocol.key_variable)
    server.play(ok(protocol))
    assert (await ask(protocol, server)).text == "hello wörld"


async def test_a_key_that_is_a_word_changes_no_reply(
    protocol: Protocol, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(protocol.key_variable, "EMPTY")
    server.play(ok(protocol, "x = EMPTY"))
    assert (await ask(protocol, server)).text == "x = EMPTY"


REFUSALS = [
    (400, Unanswered, "check client.model and the sampling"),
    (401, ClientRefused, "the key in {key_variable} is not accepted"),
    (403, ClientRefused, "the key in {key_variable} may not use model m"),
    (404, ClientRefused, r"check client.base_url and client.model \(m\)"),
    (413, ContextExceeded, "lower attempts.context_tokens"),
    (422, Unanswered, "check client.model and the sampling"),
]


@pytest.mark.parametrize(("code", "kind", "advice"), REFUSALS)
async def test_refusals_are_final(
    protocol: Protocol, server: ModelServer, code: int, kind: type[ClientError], advice: str
) -> None:
    server.play(status(code, protocol.error("not you")))
    words = rf"^{protocol.name} {protocol.base_url(server)}: HTTP {code}: not you; " + advice.format(
        key_variable=protocol.key_variable
    )
    with pytest.raises(kind, match=words) as caught:
        await ask(protocol, server)
    assert len(server.requests) == 1
    assert "\n" not in str(caught.value)


async def test_a_context_that_is_too_long(protocol: Protocol, server: ModelServer) -> None:
    server.play(status(400, protocol.error("This model's maximum context length is 10 tokens")))
    with pytest.raises(ContextExceeded):
        await ask(protocol, server)
    server.play(status(400, protocol.error("prompt is too long: 11 tokens > 10 maximum")))
    with pytest.raises(ContextExceeded):
        await ask(protocol, server)


@pytest.mark.parametrize(
    ("code", "kind", "message", "identity", "words"),
    [
        (400, Unanswered, "The response was filtered", "content_filter", "the provider's filter"),
        (403, Unanswered, "Your input was flagged by moderation", "x", "the provider's filter"),
        (400, ClientRefused, "Your credit balance is too low to access the API", "x", "the account's quota"),
        (403, ClientRefused, "no", "insufficient_quota", "the account's quota"),
    ],
)
async def test_what_a_refusal_says_decides_whom_it_concerns(
    protocol: Protocol, server: ModelServer, code: int, kind: type, message: str, identity: str, words: str
) -> None:
    server.play(status(code, protocol.error(message, identity)))
    with pytest.raises(ClientError, match=words) as caught:
        await ask(protocol, server)
    assert type(caught.value) is kind
    assert len(server.requests) == 1


async def test_answers_that_stay_malformed_are_a_matter_of_the_dialog(protocol: Protocol, server: ModelServer) -> None:
    for play in (status(200, b"{broken"), status(200, b"{}"), ok(protocol, " ")):
        server.play(play)
        with pytest.raises(Unanswered, match="no usable answer after 2 tries"):
            await ask(protocol, server, retries=1, stream=False)


async def test_a_used_up_quota_is_final(protocol: Protocol, server: ModelServer) -> None:
    server.play(status(429, protocol.error("pay", "insufficient_quota")))
    with pytest.raises(ClientRefused, match="quota is used up"):
        await ask(protocol, server)
    assert len(server.requests) == 1


@pytest.mark.parametrize("code", [408, 409, 429, 500, 502, 503, 504, 529])
async def test_passing_faults_are_retried(
    protocol: Protocol, server: ModelServer, code: int, caplog: pytest.LogCaptureFixture
) -> None:
    server.play(*[status(code, protocol.error("later"))] * 3, ok(protocol))
    with caplog.at_level(logging.WARNING, "bringup.clients"):
        assert (await ask(protocol, server)).text == "hello wörld"
    assert len(server.requests) == 4
    assert len(caplog.records) == 3
    assert f"HTTP {code}: later; try 2 of 7 in " in caplog.records[0].getMessage()


async def test_retry_after_is_honoured_by_all_calls(protocol: Protocol, server: ModelServer) -> None:
    storm = status(429, protocol.error("slow down"), retry_after="0.4")
    server.play(storm, storm, storm, ok(protocol))
    client = client_of(protocol, protocol.base_url(server))
    first = [client.complete(DIALOG, Sampling(), CALL) for _ in range(3)]
    waiting = [asyncio.ensure_future(coroutine) for coroutine in first]
    await asyncio.sleep(0.2)
    assert len(server.requests) == 3
    late = asyncio.ensure_future(client.complete(DIALOG, Sampling(), CALL))  # was told nothing itself
    replies = await asyncio.wait_for(asyncio.gather(*waiting, late), 10)
    assert [reply.text for reply in replies] == ["hello wörld"] * 4
    assert server.times[3] - server.times[0] >= 0.4
    await client.close()


async def test_retry_after_as_milliseconds_and_as_a_date(protocol: Protocol, server: ModelServer) -> None:
    server.play(status(429, protocol.error("x"), retry_after_ms="250"), ok(protocol))
    await ask(protocol, server)
    assert server.times[1] - server.times[0] >= 0.25
    server.requests.clear()
    date = int(time.time()) + 3  # a date has whole seconds
    server.play(status(503, b"", retry_after=formatdate(date, usegmt=True)), ok(protocol))
    await ask(protocol, server)
    assert time.time() >= date
    for nonsense in ("soon", "-5", "nan", "Mon, 99 Foo"):
        server.requests.clear()
        server.play(status(429, protocol.error("x"), retry_after=nonsense), ok(protocol))
        assert (await ask(protocol, server)).text


async def test_a_fault_for_ever_ends_after_all_tries(protocol: Protocol, server: ModelServer) -> None:
    server.play(status(503, b"<html>down for maintenance</html>", "text/html"))
    with pytest.raises(ClientError, match=r"no usable answer after 4 tries in 0 s: HTTP 503") as caught:
        await ask(protocol, server, retries=3)
    assert not isinstance(caught.value, ClientRefused)
    assert len(server.requests) == 4
    server.requests.clear()
    with pytest.raises(ClientError, match="after 1 try: HTTP 503"):
        await ask(protocol, server, retries=0)


async def test_broken_streams_are_retried(protocol: Protocol, server: ModelServer) -> None:
    whole = protocol.events(["hello ", "world"])
    server.play(
        hang_up,
        stream(whole[:-4], broken=True),  # the connection breaks
        stream(protocol.events(["hello"], finish=None)),  # it ends well, the reply does not
        stream([]),
        stream([*whole[:3], b"data: {not json\n\n"]),
        stream([*whole[:3], b"data: [1, 2]\n\n"]),
        stream([*whole[:3], protocol.stream_error("overloaded")]),
        ok(protocol),
    )
    assert (await ask(protocol, server, retries=9)).text == "hello wörld"
    assert len(server.requests) == 8


async def test_broken_bodies_are_retried(protocol: Protocol, server: ModelServer) -> None:
    server.play(
        status(200, b"{broken"),
        status(200, b"[]"),
        status(200, b"{}"),
        status(200, b"<html>a proxy</html>", "text/html"),
        status(200, protocol.error("inside a 200")),
        ok(protocol),
    )
    assert (await ask(protocol, server, retries=9, stream=False)).text == "hello wörld"
    assert len(server.requests) == 6


async def test_a_server_that_does_not_stream(protocol: Protocol, server: ModelServer) -> None:
    server.play(status(200, protocol.whole("all at once")))
    reply = await ask(protocol, server, stream=True)
    assert (reply.text, reply.usage) == ("all at once", FULL)


async def test_events_cut_anywhere(protocol: Protocol, server: ModelServer) -> None:
    data = b": comment\r\n\r\n" + b"".join(protocol.events(["héllo ", "wörld\n\n"])).replace(b"\n", b"\r\n")
    server.play(stream([data[i : i + 7] for i in range(0, len(data), 7)]))
    assert (await ask(protocol, server)).text == "héllo wörld\n\n"


async def test_empty_replies_are_retried_and_counted(protocol: Protocol, server: ModelServer) -> None:
    server.play(ok(protocol, " \n"), ok(protocol, " "), ok(protocol))
    client = client_of(protocol, protocol.base_url(server))
    reply = await client.complete(DIALOG, Sampling(), CALL)
    await client.close()
    assert reply.text == "hello wörld"
    assert reply.usage == FULL  # of this reply alone; what the others cost is known too
    assert client.endpoint.discarded == Usage(
        input_tokens=22, output_tokens=14, reasoning_tokens=6, cached_tokens=8, estimated=False
    )
    server.play(ok(protocol, ""))
    with pytest.raises(ClientError, match=r"an empty reply \(finish reason stop\)"):
        await ask(protocol, server, retries=1)


@pytest.mark.parametrize("streaming", [True, False])
async def test_large_replies(protocol: Protocol, server: ModelServer, streaming: bool) -> None:
    text = "é" * 600_000  # 1.2 MB, and six bytes of JSON for every two of it
    server.play(ok(protocol, text))
    reply = await ask(protocol, server, stream=streaming)
    assert reply.text == text
    assert reply.finish_reason == "stop"
    cut = await ask(protocol, server, stream=streaming, options={"reply_bytes": 100_001})
    assert cut.text == "é" * 50_000
    assert cut.finish_reason == "length"
    assert cut.usage.estimated


async def test_endless_events_and_bodies_end(
    protocol: Protocol, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bringup.clients._http.EVENT_FLOOR", 65_536)
    limit = {"reply_bytes": 1000}
    server.play(stream([b"data: " + b"x" * 100_000]))
    with pytest.raises(ClientError, match="an event of more than"):
        await ask(protocol, server, retries=0, options=limit)
    server.play(stream([b"data: " + b"x" * 30_000 + b"\n"] * 4))
    with pytest.raises(ClientError, match="an event of more than"):
        await ask(protocol, server, retries=0, options=limit)
    server.play(status(200, b"[" + b"1," * 100_000))
    with pytest.raises(ClientError, match="a body of more than"):
        await ask(protocol, server, retries=0, stream=False, options=limit)


async def test_usage_is_estimated_when_absent(protocol: Protocol, server: ModelServer) -> None:
    server.play(ok(protocol, "12345678", usage=False))
    reply = await ask(protocol, server)
    assert reply.usage == Usage(input_tokens=3 + 3 + 1 + 2, output_tokens=2, estimated=True)


async def test_time_out(protocol: Protocol, server: ModelServer) -> None:
    server.play(slow(0.5, ok(protocol)), ok(protocol))
    assert (await ask(protocol, server, timeout_seconds=0.2)).text == "hello wörld"
    server.play(slow(0.5, ok(protocol)))
    with pytest.raises(
        ClientError, match=r"after 2 tries .*(no whole reply within 0\.1 s|timed out); raise client\.time"
    ):
        await ask(protocol, server, timeout_seconds=0.1, retries=1)


async def test_a_stream_that_trickles_times_out(protocol: Protocol, server: ModelServer) -> None:
    def trickle(handler: Any, body: Any) -> None:
        handler.start_stream()
        for _ in range(40):
            handler.chunk(b": still here\n\n")
            time.sleep(0.02)

    server.play(trickle)
    with pytest.raises(ClientError, match=r"no whole reply within 0\.2 s"):
        await ask(protocol, server, timeout_seconds=0.2, retries=0)


async def test_endpoint_down(protocol: Protocol) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    client = client_of(protocol, f"http://127.0.0.1:{port}", retries=2)
    with pytest.raises(
        ClientRefused, match=r"3 tries .*no connection .*is the server running\? check client\.base_url"
    ):
        await client.complete(DIALOG, Sampling(), CALL)
    await client.close()


async def test_concurrency_is_limited(protocol: Protocol, server: ModelServer) -> None:
    server.play(slow(0.02, ok(protocol)))
    client = client_of(protocol, protocol.base_url(server), concurrency=3)
    await asyncio.gather(*(client.complete(DIALOG, Sampling(), CALL) for _ in range(12)))
    await client.close()
    assert server.peak == 3


async def test_waiting_can_be_cancelled(protocol: Protocol, server: ModelServer) -> None:
    server.play(status(429, protocol.error("x"), retry_after="300"))
    client = client_of(protocol, protocol.base_url(server), concurrency=1)
    tasks = [asyncio.ensure_future(client.complete(DIALOG, Sampling(), CALL)) for _ in range(3)]
    await asyncio.sleep(0.2)
    started = time.monotonic()
    for task in tasks:
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(result, asyncio.CancelledError) for result in results)
    await client.close()
    assert time.monotonic() - started < 2


async def test_lone_surrogates_do_not_reach_the_store(protocol: Protocol, server: ModelServer) -> None:
    data = b"".join(protocol.events(["@@"])).replace(b"@@", rb"a\ud800b")
    server.play(stream([data]))
    assert (await ask(protocol, server)).text == "a?b"


# -- what is sent


async def test_openai_request(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    protocol = OpenAIProtocol()
    server.play(ok(protocol))
    await ask(protocol, server, Sampling(temperature=0.5, top_p=0.9, max_tokens=100, reasoning_effort="high"))
    assert server.requests[0] == {
        "model": "m",
        "messages": [m.model_dump() for m in DIALOG],
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 100,
        "reasoning_effort": "high",
    }
    extra = {"extra_body": {"top_k": 5}}
    await ask(protocol, server, Sampling(temperature=None), stream=False, options=extra)
    assert server.requests[1] == {
        "model": "m",
        "messages": [m.model_dump() for m in DIALOG],
        "stream": False,
        "top_k": 5,
    }


async def test_openai_fields_that_a_server_refuses(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    protocol = OpenAIProtocol()

    def picky(handler: Any, body: dict[str, Any]) -> None:
        if "stream_options" in body:
            handler.send(400, protocol.error("Unrecognized request argument: stream_options"))
        elif "max_tokens" in body:
            handler.send(400, protocol.error("Unsupported parameter; use 'max_completion_tokens' instead"))
        else:
            ok(protocol, usage=False)(handler, body)

    server.play(picky)
    client = client_of(protocol, protocol.base_url(server), retries=1)
    for _ in range(2):
        reply = await client.complete(DIALOG, Sampling(max_tokens=9), CALL)
        assert reply.usage.estimated
    await client.close()
    assert server.requests[-1]["max_completion_tokens"] == 9
    assert len(server.requests) <= 5  # it was learnt once


async def test_anthropic_request(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)
    protocol = AnthropicProtocol()
    server.play(ok(protocol))
    turns = [m.model_dump() for m in DIALOG[1:]]
    await ask(protocol, server, options={"cache": False})
    assert server.requests[0] == {
        "model": "m",
        "max_tokens": 16_384,
        "system": "Be exact.",
        "messages": turns,
        "stream": True,
    }
    await ask(protocol, server, Sampling(temperature=0.5, max_tokens=100, reasoning_effort="low"))
    sent = server.requests[1]
    assert (sent["temperature"], sent["max_tokens"]) == (0.5, 4196)
    assert sent["thinking"] == {"type": "enabled", "budget_tokens": 4096}
    await ask(protocol, server, Sampling(reasoning_effort="high"), options={"thinking": "adaptive"})
    sent = server.requests[2]
    assert (sent["thinking"], sent["output_config"]) == ({"type": "adaptive"}, {"effort": "high"})
    with pytest.raises(ConfigError, match="unknown way 'deep'"):
        client_of(protocol, server.url, options={"thinking": "deep"})


async def test_anthropic_marks_what_the_cache_may_keep(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)
    protocol = AnthropicProtocol()
    server.play(ok(protocol))
    client = client_of(protocol, server.url)
    common = "".join(f"rule {n}: as for all operators\n" for n in range(200))
    keep = {"cache_control": {"type": "ephemeral"}}

    async def ask_for(operator: str, *later: Message) -> list[dict[str, Any]]:
        first = Message(role="user", content=f"{common}The operator: {operator}")
        await client.complete([first, *later], Sampling(), CALL)
        return list(server.requests[-1]["messages"])

    try:
        (alone,) = await ask_for("exp")
        assert alone["content"] == [
            {"type": "text", "text": f"{common}The operator: exp", **keep}
        ]  # nothing to compare
        split = [
            {"type": "text", "text": common, **keep},
            {"type": "text", "text": "The operator: expm1"},
        ]
        (second,) = await ask_for("expm1")
        assert second["content"] == [split[0], {**split[1], **keep}]
        repair = [Message(role="assistant", content="module"), Message(role="user", content="It failed.")]
        first, reply, report = await ask_for("expm1", *repair)
        assert first["content"] == split  # in the same pieces as before, or the cache would not serve it
        assert reply == {"role": "assistant", "content": "module"}
        assert report["content"] == [{"type": "text", "text": "It failed.", **keep}]
        (again,) = await ask_for("exp")
        assert again == alone  # decided once
        server.play(ok(protocol))
        await client.complete([Message(role="user", content="rule 0: another task")], Sampling(), CALL)
        assert len(server.requests[-1]["messages"][0]["content"]) == 1  # too little in common to be kept
    finally:
        await client.close()


# -- secrets


def leaky(handler: Any, body: Any) -> None:
    """Quote the key as servers do: whole, escaped, half masked, in headers and in plain text."""
    headers = dict(handler.headers)
    message = f"Incorrect API key: {CANARY} sk-canary****cretSECRET {CANARY[:14]}… {headers}"
    handler.send(handler.server.code, OpenAIProtocol().error(message), x_echo=CANARY)


@pytest.mark.parametrize("code", [400, 401, 403, 404, 413, 422, 429, 500, 503])
async def test_no_key_in_any_refusal(
    protocol: Protocol, server: ModelServer, code: int, caplog: pytest.LogCaptureFixture
) -> None:
    server.code = code  # type: ignore[attr-defined]
    server.play(leaky)
    await _assert_no_key(protocol, protocol.base_url(server), caplog)


@pytest.mark.parametrize(
    "case", ["hang_up", "empty", "broken", "text", "stream_error", "in_events", "slow", "redirect", "in_reply"]
)
async def test_no_key_in_any_fault(
    protocol: Protocol, server: ModelServer, case: str, caplog: pytest.LogCaptureFixture
) -> None:
    plays: dict[str, Any] = {
        "hang_up": hang_up,
        "empty": ok(protocol, ""),
        "broken": stream(protocol.events([CANARY])[:-4], broken=True),
        "text": status(200, CANARY.encode(), "text/plain"),
        "stream_error": stream([protocol.stream_error(f"your key {CANARY}")]),
        "in_events": stream([event(CANARY)]),
        "slow": slow(0.3, ok(protocol)),
        "redirect": status(307, b"", location=f"http://user:{CANARY}@127.0.0.1:1/?key={CANARY}"),
        "in_reply": ok(protocol, f"echo {CANARY}"),
    }
    server.play(plays[case])
    await _assert_no_key(protocol, protocol.base_url(server), caplog)


async def test_no_key_when_the_endpoint_is_down(protocol: Protocol, caplog: pytest.LogCaptureFixture) -> None:
    await _assert_no_key(protocol, "http://127.0.0.1:9/v1", caplog)
    await _assert_no_key(protocol, f"http://127.0.0.1:9/{CANARY}?id={CANARY}", caplog)


@pytest.mark.parametrize(
    "url", ["http://user:%s@host/v1", "http://host/v1?api_key=%s", "http://host:x%s/v1", "http://[%s"]
)
def test_no_key_in_the_url(protocol: Protocol, url: str) -> None:
    with pytest.raises(ConfigError, match=r"client\.base_url: ") as caught:
        client_of(protocol, url % CANARY)
    assert CANARY not in str(caught.value)


async def _assert_no_key(protocol: Protocol, url: str, caplog: pytest.LogCaptureFixture) -> None:
    for name in ("openai", "anthropic"):
        logging.getLogger(name).setLevel(logging.DEBUG)
    told = ""
    with caplog.at_level(logging.DEBUG):
        client = client_of(protocol, url, retries=1, timeout_seconds=0.2 if "127" in url else 2.0)
        (result,) = await asyncio.gather(client.complete(DIALOG, Sampling(), CALL), return_exceptions=True)
        await client.close()
    if isinstance(result, Reply):
        told = result.model_dump_json()
    else:
        assert isinstance(result, ClientError)
        assert (result.__cause__, result.__context__) == (None, None)
        shown = traceback.TracebackException.from_exception(result, capture_locals=True)
        told = f"{result} {result!r} {result.__dict__} {''.join(shown.format())}"
    assert told
    logged = [str(vars(record)) + record.getMessage() for record in caplog.records if record.name != "asyncio"]
    assert logged
    told += "\n".join(logged) + caplog.text
    told += f"{client!r} {client}"
    for part in (CANARY, CANARY[:14], CANARY[-10:], CANARY[8:20]):
        assert part not in told
    with pytest.raises(TypeError, match="stays in its process"):
        pickle.dumps(client)
