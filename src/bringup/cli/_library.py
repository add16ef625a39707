"""What the library commands share: where the library is, and where kernels to add come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from bringup.judge.evidence import Bundle
    from bringup.library import Library, When
    from bringup.store import Run

LibraryOption = Annotated[
    Path | None,
    typer.Option(
        "--library", "-l", help="Folder of the library (default: $BRINGUP_LIBRARY, else kernels here, else what ships)."
    ),
]
ChangedLibraryOption = Annotated[
    Path | None,
    typer.Option("--library", "-l", help="Folder of the library (default: $BRINGUP_LIBRARY, else kernels)."),
]


@dataclass(frozen=True)
class Source:
    """A kernel on its way into a library: judged already (`bundle`), or still to be judged (`source`)."""

    operator: str
    origin: str
    source: str
    bundle: Bundle | None = None
    variants: tuple[tuple[str, When], ...] | None = None  # of a search: the calls where it won; None: for all calls


def chosen(given: Path | None) -> Path:
    """Return the folder of the library that a command changes: never the one that ships, unless it is named."""
    import os

    return given if given is not None else Path(os.environ.get("BRINGUP_LIBRARY") or "kernels")


def open_library(given: Path | None) -> Library:
    """Open the library that a command reads, the one that ships where there is no other; raises LibraryError."""
    from bringup.library import Library
    from bringup.library.enabling import library_of_command

    return Library.open((given if given is not None else library_of_command()) or chosen(None))


def open_changed(given: Path | None) -> Library:
    """Open the library that a command changes; raises LibraryError."""
    from bringup.library import Library

    return Library.open(chosen(given))


def collect(
    what: str, op: str | None, ops: Sequence[str], runs_dir: Path | None, *, best_alone: bool = False
) -> tuple[list[Source], str | None]:
    """Find the kernels of a run, a set of recordings, an evidence file or a Python file, and the target's name there.

    Of a search these are the kernels that are the fastest in some kind of call; with `best_alone` the fittest one.

    Raises FormatError and what opening a run or a set raises.
    """
    from bringup.clients.recording import RecordingSet, shipped_sets
    from bringup.errors import FormatError, UnknownName
    from bringup.judge.evidence import read_evidence

    path = Path(what).expanduser()
    target: str | None = None
    if path.suffix == ".json" and path.is_file():
        bundle = read_evidence(path)
        return [Source(bundle.evidence.operator, str(path), bundle.source, bundle)], bundle.evidence.target
    if path.suffix in {".json", ".py"} and not path.is_file():
        raise FormatError(f"{what}: no such file")
    if path.suffix == ".py":
        return [Source(_named(op, what), str(path), _text(path))], None
    if what in shipped_sets() or any(path.glob("*.jsonl")) or path.name.endswith((".jsonl", ".zip", ".tar.gz")):
        recordings = RecordingSet(shipped_sets().get(what, path))
        target = recordings.manifest.target if recordings.manifest else None
        found = [Source(n, f"recordings {what}", c.source) for n, c in recordings.candidates().items()]
    else:
        found, target = _of_run(what, runs_dir, best_alone)
    names = [source.operator for source in found]
    for name in ops:
        if name not in names:
            raise UnknownName("operator", name, names, what)
    return [source for source in found if not ops or source.operator in ops], target


def _named(op: str | None, what: str) -> str:
    from bringup.errors import ConfigError

    if op is None:
        raise ConfigError(what, "which overload does it serve?", "say it with --op, such as --op add.out")
    return op


def _text(path: Path) -> str:
    from bringup.cli._judging import read_candidate
    from bringup.library.folder import MARK, source_of

    text = read_candidate(path).source
    return source_of(text) if f"{MARK}\n" in text else text


def _of_run(what: str, runs_dir: Path | None, best_alone: bool) -> tuple[list[Source], str | None]:
    from bringup.candidate import Candidate
    from bringup.cli._runs import open_named
    from bringup.judge.evidence import Bundle, evidence_of
    from bringup.store import Judged

    with open_named(what, runs_dir) as run:
        config = run.started.config
        suite, target = str(config.get("suite", "opinfo")), str(config.get("target", ""))
        if config.get("search"):
            return _of_search(run, suite, best_alone), target or None
        last: dict[str, Judged] = {}
        for stored in run.events():
            if isinstance(stored.event, Judged) and stored.operator and stored.event.result == "passed":
                last[stored.operator] = stored.event
        found = []
        for name, judged in last.items():
            candidate = Candidate(source=run.blob(judged.candidate))
            evidence = evidence_of(run.verdict(judged), candidate, name, suite)
            bundle = Bundle(evidence=evidence, source=candidate.source)
            found.append(Source(name, f"run {run.id}", candidate.source, bundle))
        return found, target or None


def _of_search(run: Run, suite: str, best_alone: bool) -> list[Source]:
    """Return a search's kernels with the verdicts of the whole gate, each for the calls where it is the fastest."""
    from bringup.candidate import Candidate
    from bringup.judge.evidence import Bundle, evidence_of
    from bringup.search.result import result_of

    found = result_of(run)
    operator = run.started.operators[0].name
    sources = []
    for part in [found.best] if best_alone or not found.parts else found.parts:
        evidence = evidence_of(run.verdict(part.judged), Candidate(source=part.source), operator, suite)
        origin = f"search {run.id}, node {part.node.id}, {part.node.fitness:.3g}x"
        bundle = Bundle(evidence=evidence, source=part.source)
        sources.append(Source(operator, origin, part.source, bundle, variants=part.variants))
    return sources


async def judge(
    sources: Sequence[tuple[str, str]],
    suite: str,
    target: str,
    jobs: int,
    shows: bool,
    take: Callable[[int, Bundle], None] | None = None,
) -> list[Bundle]:
    """Lint and judge operators' sources on their whole gates; every verdict comes back, passed or not.

    `take` gets each as it comes, with its place among the sources.
    """
    import asyncio

    from bringup.candidate import Candidate
    from bringup.cli._progress import make_progress
    from bringup.judge import JobTemplate, open_judge
    from bringup.judge.evidence import Bundle, Evidence, evidence_of
    from bringup.linter import lint
    from bringup.suites import get_suite
    from bringup.targets import get_target

    bundles: dict[int, Bundle] = {}
    dialect, operators = get_target(target).dialect(), get_suite(suite)
    with make_progress(shows=shows) as bar:
        task = bar.add_task("judging", total=len(sources))
        template = JobTemplate(target)
        async with open_judge(target, jobs=jobs) as pool:

            async def one(number: int) -> None:
                name, source = sources[number]
                operator, candidate = operators.operator(name), Candidate(source=source)
                if lint(candidate, dialect, operator):
                    evidence = Evidence(
                        candidate=candidate.digest, operator=name, suite=suite, target=target, kind="lint"
                    )  # fmt: skip
                else:
                    verdict = await pool.judge(template.job(candidate, operator))
                    evidence = evidence_of(verdict, candidate, name, suite)
                bundles[number] = Bundle(evidence=evidence, source=source)
                if take is not None:
                    take(number, bundles[number])
                bar.update(task, advance=1, description=name)

            await asyncio.gather(*(one(number) for number in range(len(sources))))
    return [bundles[number] for number in range(len(sources))]
