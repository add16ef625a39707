"""A real OpenAI-compatible server: `transformers serve` with a tiny, randomly initialised model made on the spot.

Everything happens on this machine: the tokenizer is trained on Python's own sources, the weights are random numbers
from a fixed seed, nothing is downloaded. The server's packages (the dependency group `serve-test`) may live in another
environment: the variable BRINGUP_SERVE_PYTHON names its interpreter.

    python real_server.py make FOLDER      make the model
    python real_server.py run FOLDER PORT  make it if need be, and serve it until Ctrl-C
"""

import argparse
import contextlib
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

NEEDED = ("transformers", "tokenizers", "fastapi", "uvicorn", "torch")
SPECIAL = ["<s>", "</s>", "<|system|>", "<|user|>", "<|assistant|>"]
TEMPLATE = (
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}{% if m['role'] == 'assistant' %}</s>{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


@dataclass(frozen=True)
class Server:
    """A running server."""

    base_url: str
    model: str
    log: Path


def serve_python() -> str:
    """Return the interpreter that has the server's packages."""
    return os.environ.get("BRINGUP_SERVE_PYTHON") or sys.executable


def missing() -> str | None:
    """Return why no server can be started here, or None."""
    program = f"import importlib.util as u; print(*[m for m in {NEEDED!r} if u.find_spec(m) is None])"
    try:
        done = subprocess.run([serve_python(), "-c", program], capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        return f"{serve_python()} does not run: {error}"
    absent = done.stdout.split()
    return f"{serve_python()} lacks {', '.join(absent)} (dependency group serve-test)" if absent else None


def make_model(folder: Path) -> None:
    """Make a Llama of one layer and 64 dimensions, and a byte-level BPE tokenizer of 2,000 tokens for it."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=2000,
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train([argparse.__file__, subprocess.__file__, socket.__file__], trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="</s>")
    fast.chat_template = TEMPLATE
    fast.save_pretrained(folder)

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(fast),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=131_072,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=1,
    )
    model = LlamaForCausalLM(config)
    # A random model may stop at once or say nothing but special tokens; an empty reply is a fault of its own kind.
    model.generation_config.begin_suppress_tokens = [1]
    model.generation_config.suppress_tokens = [0, 2, 3, 4]
    model.generation_config.do_sample = True
    model.save_pretrained(folder)


@contextlib.contextmanager
def running_server(folder: Path, port: int = 0, timeout_seconds: float = 120.0) -> Iterator[Server]:
    """Make the model in `folder` unless it is there, serve it on loopback, and stop the server at the end."""
    model = folder / "tiny-random-llama"
    environment = os.environ | {
        "HF_HUB_OFFLINE": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "HF_HOME": str(folder / "hf"),
        "CUDA_VISIBLE_DEVICES": "",
        "TOKENIZERS_PARALLELISM": "false",
    }
    if not (model / "config.json").exists():
        program = [serve_python(), __file__, "make", str(model)]
        subprocess.run(program, env=environment, check=True, stdout=subprocess.DEVNULL, timeout=300)
    port = port or _free_port()
    program = [serve_python(), "-c", "from transformers.cli.transformers import main; main()"]
    options = ["serve", "--host", "127.0.0.1", "--port", str(port), "--device", "cpu", str(model)]
    log = folder / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen([*program, *options], env=environment, stdout=output, stderr=subprocess.STDOUT)
        try:
            _wait_until_up(process, port, log, timeout_seconds)
            yield Server(f"http://127.0.0.1:{port}/v1", str(model), log)
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_until_up(process: "subprocess.Popen[bytes]", port: int, log: Path, timeout_seconds: float) -> None:
    end = time.monotonic() + timeout_seconds
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as response:
                if response.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    state = f"ended with code {process.returncode}" if process.poll() is not None else "does not answer"
    raise RuntimeError(f"the server {state}; its last words:\n{log.read_text(errors='replace')[-2000:]}")


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("make", help="make the model")
    make.add_argument("folder", type=Path)
    run = commands.add_parser("run", help="serve it until Ctrl-C")
    run.add_argument("folder", type=Path)
    run.add_argument("port", type=int)
    arguments = parser.parse_args()
    if arguments.command == "make":
        make_model(arguments.folder)
        return
    arguments.folder.mkdir(parents=True, exist_ok=True)
    with running_server(arguments.folder.resolve(), arguments.port) as server, contextlib.suppress(KeyboardInterrupt):
        print(f"base URL {server.base_url}, model {server.model}", flush=True)
        while True:
            time.sleep(3600)


if __name__ == "__main__":
    _main()
