"""Ask ahead what searches will ask about replies that are written already: one visit to a device then answers it all.

    python benchmarks/ahead.py RUNS REPLIES

For each search under RUNS that asks through files (`--set judge.executor=file:FOLDER`, a folder each) and for whose
operator there is a REPLIES/OPERATOR.md, one more job file comes into FOLDER: the times and the gate of that reply, and
the gate of the start whose times the search waits for. `bringup jobs run` judges them with the others. When the search
then comes to ask, the answers are there: a job is known by what it asks. Nothing is answered here, and the reply is
given in the mailbox as ever. Only replies that are whole modules can be asked ahead.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from bringup.candidate import Candidate, parse_reply
from bringup.config import RunConfig
from bringup.judge._by_file import Exchange
from bringup.judge.job_file import judge_job, read_jobs
from bringup.search.problem import make_problem
from bringup.store import list_runs, open_run
from bringup.suites import get_suite


def ask(folder: Path, replies: Path) -> str:
    """Put the jobs of a search into its folder; return in words what was done."""
    with open_run(folder) as run:
        config = RunConfig.model_validate(run.config())
    kind, _, where = config.judge.executor.partition(":")
    if config.search is None or kind != "file":
        return "no search that asks through files"
    operator = get_suite(config.suite_spec).operator(config.ops[0])
    path = replies / f"{operator.name}.md"
    if not path.exists():
        return f"no {path}"
    reply = parse_reply(path.read_text(encoding="utf-8"))
    if not isinstance(reply, Candidate):
        return f"{path}: {reply.explanation.partition(chr(10))[0]}"
    exchange = Exchange(Path(where).expanduser())
    asked = [job for file in exchange.files() for job in read_jobs(file)]
    if not asked:
        return "has not asked anything yet"
    problem, start = make_problem(config, operator), judge_job(asked[0]).candidate

    added = exchange.add([problem.measuring(reply, start.source), problem.gate(reply), problem.gate(start)])
    return f"asked ahead in {added}" if added else "all was asked before"


def main() -> None:
    """Go through the searches."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, help="folder of runs")
    parser.add_argument("replies", type=Path, help="folder with OPERATOR.md, a reply each")
    options = parser.parse_args()
    for folder in list_runs(options.runs):
        print(f"{folder.name}: {ask(folder, options.replies)}")


if __name__ == "__main__":
    main()
