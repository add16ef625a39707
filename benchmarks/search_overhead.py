"""What a search costs beside judging: seconds a node with a judge that answers at once; two workers against one.

    python benchmarks/search_overhead.py [--nodes 60] [--judging 0.5] [--folder DIR]

First: nodes whose candidates are judged at once and written at once; all that is left is the store, the graph, the
policy, the prompt and the repair loop. Then: the same with judging that takes `--judging` seconds (waiting, not
computing, as for a device elsewhere), with one worker, two workers, and two processes on one graph.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import statistics
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "search"))

from search_doubles import Bench, FakeJudge, config, graph_of, reply

from bringup.errors import StoreError
from bringup.store import list_runs


def bench(root: Path, judging: float) -> Bench:
    """A bench whose candidates get a little faster from node to node."""
    return Bench(root, lambda m, s, call: reply(0.99 ** int(call.node), note=call.node), FakeJudge(delay=judging / 2))


async def overhead(policy: str, nodes: int) -> tuple[float, list[float]]:
    """Return the seconds of a search without judging, and of each of its nodes."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        result = await bench(Path(folder), 0.0).start(config(policy=policy, nodes=nodes, restart=None))
        each = [(n.ended_at or n.begun_at) - n.begun_at for n in result.graph if n.phase != "start"]
        return time.monotonic() - began, each


async def workers(count: int, nodes: int, judging: float) -> float:
    """Return the seconds of a search with so many workers in one process."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        await bench(Path(folder), judging).start(config(policy="mcts", nodes=nodes, workers=count, restart=None))
        return time.monotonic() - began


def second(root: Path, judging: float) -> None:
    """Join the search under `root` as soon as its first node is there."""
    while True:
        with suppress(StoreError):  # its tables are not made yet
            if any(len(graph_of(folder)) for folder in list_runs(root)):
                break
        time.sleep(0.01)
    asyncio.run(bench(root, judging).resume(list_runs(root)[0]))


def processes(nodes: int, judging: float) -> tuple[float, int]:
    """Return the seconds of a search of two processes, and how many of its nodes the second one made."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        began = time.monotonic()
        other = multiprocessing.get_context("fork").Process(target=second, args=(root, judging))
        other.start()
        asyncio.run(bench(root, judging).start(config(policy="mcts", nodes=nodes, restart=None)))
        other.join()
        took = time.monotonic() - began
        graph = graph_of(list_runs(root)[0])
        first = graph["0"].worker
        return took, sum(node.worker != first for node in graph)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=60)
    parser.add_argument("--judging", type=float, default=0.5)
    options = parser.parse_args()
    asyncio.run(overhead("one-shot", 2))  # imports
    for policy in ("one-shot", "greedy", "mcts", "islands"):
        total, each = asyncio.run(overhead(policy, options.nodes))
        print(
            f"{policy:9} {options.nodes} nodes without judging: {total:.1f} s, {1000 * total / options.nodes:.0f} ms a "
            f"node; inside the nodes {1000 * statistics.median(each):.0f} ms (median)",
            flush=True,
        )
    one = asyncio.run(workers(1, options.nodes, options.judging))
    two = asyncio.run(workers(2, options.nodes, options.judging))
    both, made = processes(options.nodes, options.judging)
    print(
        f"judging of {options.judging:g} s a node: one worker {one:.1f} s; two workers {two:.1f} s ({one / two:.2f}x)"
    )
    print(f"two processes {both:.1f} s ({one / both:.2f}x); the second made {made} of {options.nodes} nodes")


if __name__ == "__main__":
    main()
