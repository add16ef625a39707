"""What searches came to, one operator a row: the kernel they began with and the best, over eager and torch.compile.

    python benchmarks/searched.py RUNS --keep OUT.jsonl     # of the searches in a folder of runs
    python benchmarks/searched.py OUT.jsonl [--markdown]    # the table of what was kept

Every search is read from its store, so whoever has the runs has the table; `OUT.jsonl` has a line a search with all
its nodes and times, without sources. A number is the geometric mean over the timed calls. A kernel that is wrong, or
fails its operator's whole gate, has none.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from bringup.judge import COMPILE, EAGER
from bringup.search.export import search_data
from bringup.search.graph import Graph, Node
from bringup.search.prompting import change_of
from bringup.store import Run, list_runs, open_run


def searches(root: Path) -> list[dict[str, Any]]:
    """Return the data of each search under a folder of runs, by operator."""
    found = []
    for folder in list_runs(root):
        with open_run(folder) as run:
            config = run.config()
            if config.get("search"):

                def change(node: Node, run: Run = run) -> str:
                    return change_of(run.blob(node.reply)) if node.reply is not None else ""

                found.append(search_data(Graph.of(run.events()), folder.name, config, change))
    return sorted(found, key=lambda one: str(one["operator"]))


def over(node: Mapping[str, Any] | None, name: str) -> float | None:
    """Return a baseline's time over the node's; None where it has none."""
    if node is None or not node["gate"]:
        return None
    times = node["baselines"]
    ratios = [times[case][name] / own for case, own in node["seconds_by_case"].items() if name in times.get(case, {})]
    return geometric_mean(ratios) if ratios else None


def row(search: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a search came to."""
    nodes = search["nodes"]
    start = next((node for node in nodes if node["phase"] == "start"), None)
    made = [node for node in nodes if node["phase"] != "start"]
    best = next((node for node in nodes if node["node"] == search["best"]), None)
    return {
        "operator": search["operator"],
        "before": over(start, EAGER),
        "why": "" if start is None or start["gate"] else start["summary"],
        "after": over(best, EAGER),
        "compile": over(best, COMPILE),
        "nodes": len(made),
        "calls": sum(node["calls"] for node in made),
        "change": best["change"] if best is not None and best["phase"] != "start" else "",
    }


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def report(rows: Iterable[Mapping[str, Any]], *, markdown: bool) -> None:
    """Print the table and what it comes to."""
    rows = sorted(rows, key=lambda one: str(one["operator"]))
    if markdown:
        print(
            "| operator | before | after | over compile | nodes | change |\n| --- | ---: | ---: | ---: | ---: | --- |"
        )
    for one in rows:
        before, after, compiled = (_number(one[name]) for name in ("before", "after", "compile"))
        change = one["change"] or ("" if one["before"] is not None else f"the start: {one['why'][:70]}")
        if markdown:
            print(f"| `{one['operator']}` | {before} | {after} | {compiled} | {one['nodes']} | {change} |")
        else:
            print(f"{one['operator']:36} {before:>7} {after:>7} {compiled:>7} {one['nodes']:>3}  {change[:90]}")
    both = [one for one in rows if one["before"] is not None and one["after"] is not None]
    right = [one for one in rows if one["after"] is not None]
    print(f"\n{len(rows)} searches, {len(right)} with a kernel that passes its whole gate")
    if both:
        first, last = (geometric_mean([one[name] for one in both]) for name in ("before", "after"))
        print(f"{len(both)} whose start passes: {first:.2f} of eager before, {last:.2f} after")
    if right:
        compiled = [one["compile"] for one in right if one["compile"] is not None]
        print(
            f"all {len(right)}: {geometric_mean([one['after'] for one in right]):.2f} of eager"
            + (f", {geometric_mean(compiled):.2f} of torch.compile" if compiled else "")
            + f"; at least 0.5: {sum(one['after'] >= 0.5 for one in right)}, at least 1: "
            f"{sum(one['after'] >= 1 for one in right)}"
        )


def main() -> None:
    """Read searches, keep them if asked to, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", type=Path, help="folder of runs, or a file that --keep has written")
    parser.add_argument("--keep", type=Path, help="write the searches of the folder, one a line")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    if options.what.is_dir():
        found = searches(options.what)
    else:
        try:
            found = [json.loads(line) for line in options.what.read_text(encoding="utf-8").splitlines()]
        except (OSError, ValueError) as error:
            parser.error(f"{options.what}: neither a folder of runs nor a file of searches: {error}")
    if options.keep is not None:
        options.keep.write_text("".join(json.dumps(one) + "\n" for one in found), encoding="utf-8")
    report((row(one) for one in found), markdown=options.markdown)


if __name__ == "__main__":
    main()
