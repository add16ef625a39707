"""A run against a real model server: `transformers serve` with a tiny, randomly initialised model.

    python benchmarks/real_server/run.py [--ops GLOB ...] [--attempts N] [--calls N] [--max-tokens N]

Makes the model and its tokenizer, starts the server on loopback, and runs `bringup run --client openai` against it.
Such a model writes nonsense, so every operator must go through all its calls and end exhausted, not broken. Exit code
0 when that is so. Needs the dependency group `serve-test` (or an interpreter that has it in BRINGUP_SERVE_PYTHON).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "clients"))

from real_server import Server, missing, running_server

BRINGUP = [sys.executable, "-m", "bringup.cli.main"]


def main() -> int:
    """Run and print what happened."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--ops", nargs="+", default=["exp", "argmax", "diag", "nn.functional.softplus", "special.erfcx"]
    )
    parser.add_argument("--attempts", type=int, default=3)
    parser.add_argument("--calls", type=int, default=15)
    parser.add_argument("--max-tokens", type=int, default=48)
    arguments = parser.parse_args()
    if reason := missing():
        print(f"cannot run: {reason}", file=sys.stderr)
        return 3
    with tempfile.TemporaryDirectory(prefix="bringup-real-server-") as name:
        folder = Path(name)
        started = time.monotonic()
        with running_server(folder) as server:
            print(f"{time.monotonic() - started:6.1f} s until the model is made and {server.base_url} answers")
            started = time.monotonic()
            code = run(server, folder, arguments)
            seconds = time.monotonic() - started
        return report(folder, code, seconds, arguments.attempts * arguments.calls)


def run(server: Server, folder: Path, arguments: argparse.Namespace) -> int:
    """Run bringup against the server and return its exit code."""
    fields = {
        "client.name": "openai",
        "client.model": server.model,
        "client.base_url": server.base_url,
        "client.max_tokens": arguments.max_tokens,
        "client.concurrency": 4,
        "attempts.attempts": arguments.attempts,
        "attempts.calls": arguments.calls,
    }
    options = [item for field, value in fields.items() for item in ("--set", f"{field}={value}")]
    options += [item for op in arguments.ops for item in ("--ops", op)]
    command = [*BRINGUP, "run", *options, "--quiet", "--runs-dir", str(folder / "runs")]
    environment = {name: value for name, value in os.environ.items() if name != "OPENAI_API_KEY"}
    return subprocess.run(command, env=environment, check=False).returncode


def report(folder: Path, code: int, seconds: float, calls: int) -> int:
    """Print the figures; return 0 when every operator made all its calls and ended exhausted."""
    command = [*BRINGUP, "status", "latest", "--json", "--runs-dir", str(folder / "runs")]
    status: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    operators = status["operators"]
    made = sum(summary["calls"] for summary in operators)
    tokens = sum(summary["usage"]["input_tokens"] + summary["usage"]["output_tokens"] for summary in operators)
    estimated = any(summary["usage"]["estimated"] for summary in operators)
    print(
        f"{seconds:6.1f} s for {made} calls and {tokens:,} tokens ({'estimated' if estimated else 'as counted there'})"
    )
    print(f"exit code {code} (1: not all covered); states {status['states']}")
    wrong = [s["operator"] for s in operators if s["outcome"] != "exhausted" or s["calls"] != calls]
    for name in wrong:
        print(f"not exhausted after {calls} calls: {name}", file=sys.stderr)
    return 0 if operators and not wrong and code == 1 and not estimated else 1


if __name__ == "__main__":
    sys.exit(main())
