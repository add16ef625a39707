"""A model endpoint on loopback that misbehaves on order, in the OpenAI and the Anthropic protocol."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Play = Callable[["Handler", dict[str, Any]], None]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "ModelServer"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with self.server.lock:
            self.server.requests.append(body)
            self.server.headers.append(dict(self.headers))
            self.server.times.append(time.monotonic())
            self.server.active += 1
            self.server.peak = max(self.server.peak, self.server.active)
            plays = self.server.plays
            play = plays[min(len(self.server.requests), len(plays)) - 1]
        try:
            play(self, body)
        except (BrokenPipeError, ConnectionResetError):
            pass
        finally:
            with self.server.lock:
                self.server.active -= 1

    def send(self, status: int, data: bytes, kind: str = "application/json", **headers: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def start_stream(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def break_off(self) -> None:
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *arguments: Any) -> None:
        pass


class ModelServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.times: list[float] = []
        self.active = self.peak = 0
        self.plays: list[Play] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def play(self, *plays: Play) -> None:
        """Answer the n-th request with the n-th play; the last one goes on for ever."""
        self.plays = list(plays)

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass


@contextmanager
def model_server() -> Iterator[ModelServer]:
    server = ModelServer()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def event(content: Any) -> bytes:
    kind = f"event: {content['type']}\n" if isinstance(content, dict) and "type" in content else ""
    data = content if isinstance(content, str) else json.dumps(content)
    return f"{kind}data: {data}\n\n".encode()


class OpenAIProtocol:
    name = "openai"
    key_variable = "OPENAI_API_KEY"

    def base_url(self, server: ModelServer) -> str:
        return f"{server.url}/v1"

    def events(self, pieces: list[str], finish: str | None = "stop", usage: bool = True) -> list[bytes]:
        def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
            choices = [{"index": 0, "delta": delta, "finish_reason": reason}]
            return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m-2", "choices": choices}

        found = [chunk({"role": "assistant", "content": "", "reasoning_content": "thinking…"})]
        found += [chunk({"content": piece}) for piece in pieces]
        if finish:
            found.append(chunk({}, finish))
        if usage:
            found.append({**chunk({}), "choices": [], "usage": self._usage()})
        return [event(content) for content in found] + [event("[DONE]")]

    def whole(self, text: str, finish: str = "stop") -> bytes:
        message = {"role": "assistant", "content": text, "reasoning": "thinking…"}
        choices = [{"index": 0, "message": message, "finish_reason": finish}]
        return json.dumps({"id": "x", "model": "m-2", "choices": choices, "usage": self._usage()}).encode()

    def error(self, message: str, code: str = "x") -> bytes:
        return json.dumps({"error": {"message": message, "type": code, "code": code}}).encode()

    def stream_error(self, message: str) -> bytes:
        return event({"error": {"message": message}})

    def _usage(self) -> dict[str, Any]:
        details = {"completion_tokens_details": {"reasoning_tokens": 3}, "prompt_tokens_details": {"cached_tokens": 4}}
        return {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18, **details}


class AnthropicProtocol:
    name = "anthropic"
    key_variable = "ANTHROPIC_API_KEY"

    def base_url(self, server: ModelServer) -> str:
        return server.url

    def events(self, pieces: list[str], finish: str | None = "stop", usage: bool = True) -> list[bytes]:
        sent = {"input_tokens": 5, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 2, "output_tokens": 1}
        message = {
            "id": "x",
            "type": "message",
            "role": "assistant",
            "model": "m-2",
            "content": [],
            "stop_reason": None,
        }
        found: list[dict[str, Any]] = [
            {"type": "message_start", "message": {**message, **({"usage": sent} if usage else {})}},
            {"type": "ping"},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "thinking…"}},
            {"type": "content_block_stop", "index": 0},
            {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        ]
        for piece in pieces:
            delta = {"type": "text_delta", "text": piece}
            found.append({"type": "content_block_delta", "index": 1, "delta": delta})
        if finish:
            reason = {"stop": "end_turn", "length": "max_tokens"}[finish]
            last: dict[str, Any] = {"type": "message_delta", "delta": {"stop_reason": reason}}
            if usage:
                last["usage"] = {"output_tokens": 7, "output_tokens_details": {"thinking_tokens": 3}}
            found += [{"type": "content_block_stop", "index": 1}, last, {"type": "message_stop"}]
        return [event(content) for content in found]

    def whole(self, text: str, finish: str = "stop") -> bytes:
        content = [{"type": "thinking", "thinking": "thinking…"}, {"type": "text", "text": text}]
        usage = {"input_tokens": 5, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 2, "output_tokens": 7}
        usage["output_tokens_details"] = {"thinking_tokens": 3}  # type: ignore[assignment]
        reason = {"stop": "end_turn", "length": "max_tokens"}[finish]
        fields = {"id": "x", "type": "message", "role": "assistant", "model": "m-2", "stop_reason": reason}
        return json.dumps({**fields, "content": content, "usage": usage}).encode()

    def error(self, message: str, code: str = "x") -> bytes:
        return json.dumps({"type": "error", "error": {"type": code, "message": message}}).encode()

    def stream_error(self, message: str) -> bytes:
        return event({"type": "error", "error": {"type": "overloaded_error", "message": message}})


Protocol = OpenAIProtocol | AnthropicProtocol


def ok(protocol: Protocol, text: str = "hello wörld", finish: str = "stop", usage: bool = True) -> Play:
    def play(handler: Handler, body: dict[str, Any]) -> None:
        if not body.get("stream"):
            handler.send(200, protocol.whole(text, finish))
            return
        handler.start_stream()
        third = max(1, len(text) // 3)
        pieces = [text[i : i + third] for i in range(0, len(text), third)]
        for data in protocol.events(pieces, finish, usage):
            handler.chunk(data)
        handler.chunk(b"")

    return play


def status(code: int, data: bytes, kind: str = "application/json", **headers: str) -> Play:
    return lambda handler, body: handler.send(code, data, kind, **headers)


def stream(data: list[bytes], broken: bool = False) -> Play:
    def play(handler: Handler, body: dict[str, Any]) -> None:
        handler.start_stream()
        for piece in data:
            handler.chunk(piece)
        if broken:
            handler.break_off()
        else:
            handler.chunk(b"")

    return play


def slow(seconds: float, then: Play) -> Play:
    def play(handler: Handler, body: dict[str, Any]) -> None:
        time.sleep(seconds)
        then(handler, body)

    return play


def hang_up(handler: Handler, body: dict[str, Any]) -> None:
    handler.break_off()
