"""What comes over the wall, drawn for minutes: the examples of `tests/device/test_wall_fuzz.py` under fresh seeds.

    python benchmarks/fuzz.py [--minutes 10] [--seed N]

The tests draw a fixed few hundred examples, the same in every run. This runs them in rounds, each with a seed of its
own, and prints how many examples of each ran. What fails is shrunk and printed with its seed, as pytest does; then the
command ends with 1. `--seed` is the first round's; the next ones count on from it.
"""

from __future__ import annotations

import argparse
import os
import re
import secrets
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests" / "device" / "test_wall_fuzz.py"
NAMES = {
    "test_any_bytes": "stream: any bytes",
    "test_mutated_commands": "stream: commands with changed bytes, words, lengths",
    "test_any_descriptor": "stream: any tensor described",
    "test_any_request_for_a_kernel": "kernels: any request",
    "test_mutated_texts": "kernels: TTIR with changed tokens",
}
ROUND = 240.0  # seconds that a round should take: so much is lost where the command is stopped
NAMED = re.compile(r"^\S+::(test_\w+):$")
COUNTED = re.compile(
    r"- (\d+) passing(?: examples)?, (\d+) failing\b"
)  # as older and newer versions of hypothesis have it


def examples(text: str) -> tuple[Counter[str], Counter[str]]:
    """Read hypothesis's statistics: how many examples of each test passed, and how many failed."""
    passed: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    name = ""
    for line in text.splitlines():
        if (named := NAMED.match(line)) is not None:
            name = named.group(1)
        elif (counted := COUNTED.search(line)) is not None:
            passed[name] += int(counted.group(1))
            failed[name] += int(counted.group(2))
    return passed, failed


def run_round(seed: int, times: int) -> subprocess.CompletedProcess[str]:
    """Run the tests once, with so many times their examples."""
    command = [
        sys.executable, "-m", "pytest", str(TESTS), "-q", "-p", "no:cacheprovider", "--hypothesis-show-statistics",
        f"--hypothesis-seed={seed}", "-k", " or ".join(NAMES),
    ]  # fmt: skip
    environment = {**os.environ, "HYPOTHESIS_PROFILE": "search", "BRINGUP_FUZZ_TIMES": str(times)}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def main() -> int:
    """Run rounds until the time is over, or something fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=None, help="of the first round; drawn by default")
    options = parser.parse_args()
    seed = secrets.randbelow(1 << 31) if options.seed is None else options.seed
    console, began, end = Console(), time.monotonic(), time.monotonic() + 60 * options.minutes
    passed: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    times, rounds, broken = 1, 0, False
    while not broken and (rounds == 0 or time.monotonic() < end):
        started = time.monotonic()
        done = run_round(seed + rounds, times)
        one, other = examples(done.stdout)
        passed, failed, rounds = passed + one, failed + other, rounds + 1
        broken = done.returncode != 0 or not one.total() + other.total()
        console.print(f"round {rounds}, seed {seed + rounds - 1}: {one.total()} examples, {other.total()} failed")
        if broken:
            print(done.stdout, done.stderr, sep="\n")
        taken = (time.monotonic() - started) / times  # a little more than more examples will take
        times = max(1, int(min(ROUND, end - time.monotonic()) / taken))
    table = Table("what is drawn", "examples", "failed")
    for name, words in NAMES.items():
        table.add_row(words, f"{passed[name] + failed[name]:,}", str(failed[name]))
    table.add_row("all", f"{passed.total() + failed.total():,}", str(failed.total()))
    console.print(table, f"{rounds} rounds, {time.monotonic() - began:.0f} s", sep="\n")
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
