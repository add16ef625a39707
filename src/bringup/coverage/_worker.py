"""The process that measures: asked for one operator after the other, it says before each case which one comes.

What kills it, or keeps it busy for ever, is then known by its last words. `python -m bringup.coverage._worker FD
SCRATCH`: one JSON object a line comes on standard input, and one a line goes to file descriptor FD.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO


class Worker:
    """Serves requests until standard input ends."""

    def __init__(self, answers: TextIO, setting: dict[str, Any], scratch: Path) -> None:
        """Put kernels behind the device. Raises what `open_serving` raises."""
        import torch

        from bringup.coverage._serving import open_serving
        from bringup.judge._case_limits import arithmetic_of
        from bringup.suites._opinfo_source import OpInfoSource
        from bringup.targets import get_target

        torch.set_num_threads(1)
        warnings.simplefilter("ignore")
        self.answers = answers
        library = Path(setting["library"]) if setting["library"] else None
        self.serving = open_serving(
            setting["target"], library, setting["enable"], unjudged=setting["unjudged"], scratch=scratch
        )
        self.gradients = bool(setting["gradients"])
        self.arithmetic = arithmetic_of(get_target(setting["target"]))
        self.source = OpInfoSource()

    def say(self, **words: Any) -> None:
        """Tell the main process something."""
        self.answers.write(json.dumps(words) + "\n")
        self.answers.flush()

    def cases(self, operator: str) -> Iterator[tuple[list[Any], Any]]:
        """Yield each case of an operator that may be: its identity, and what makes it."""
        from bringup.suites.opinfo_forms import forms_of

        for dtype, count in self.source.operator(operator).own_counts.items():
            if count:
                for maker in forms_of(self.source, operator, dtype, gradients=self.gradients):
                    yield [dtype, maker.index, maker.form], maker

    def measure(self, operator: str, skip: set[str]) -> None:
        """Measure all cases of an operator but those that are done."""
        from bringup.coverage._measure import CannotCompare, measure
        from bringup.suites.opinfo_forms import NoCase

        for identity, maker in self.cases(operator):
            if json.dumps(identity) in skip:
                continue
            self.say(begin=identity)
            try:
                outcome = measure(maker(), self.serving, arithmetic=self.arithmetic)
            except (NoCase, CannotCompare) as error:
                self.say(end=identity, kind="none", message=str(error))
                continue
            self.say(
                end=identity,
                kind=outcome.kind,
                message=outcome.message,
                lacks=outcome.lacks,
                kernels=outcome.kernels,
                composed=outcome.composed,
                builtins=outcome.builtins,
                over=outcome.over,
            )
            if outcome.over:
                sys.exit(0)  # another process goes on
        self.say(done=operator, observes=self.serving.observes)

    def survey(self, operator: str, wanted: set[str]) -> None:
        """Run cases again with something else behind what is missing, and say all that is."""
        from bringup.coverage._measure import run_quietly
        from bringup.library import NotEnabled

        try:
            with self.serving.surveyed() as found:
                for identity, maker in self.cases(operator):
                    if json.dumps(identity) in wanted:
                        self.say(begin=identity)
                        found.clear()
                        run_quietly(maker(), self.serving)
                        self.say(lacks={name: sorted(parts) for name, parts in found.items()})
        except NotEnabled:
            pass  # nothing else is at hand: what was missing first is all that is known
        self.say(done=operator)

    def serve(self) -> None:
        """Answer requests."""
        self.say(ready=True, pid=os.getpid())
        for line in sys.stdin:
            request = json.loads(line)
            if request["do"] == "measure":
                self.measure(request["operator"], set(request["skip"]))
            else:
                self.survey(request["operator"], set(request["cases"]))


def main() -> None:
    """Serve."""
    from bringup.errors import BringupError

    answers = os.fdopen(int(sys.argv[1]), "w", encoding="utf-8")
    try:
        worker = Worker(answers, json.loads(sys.stdin.readline()), Path(sys.argv[2]))
    except BringupError as error:
        answers.write(json.dumps({"refused": str(error), "code": error.exit_code}) + "\n")
        answers.flush()
        return
    except Exception:
        answers.write(json.dumps({"refused": traceback.format_exc(), "code": 3}) + "\n")
        answers.flush()
        return
    worker.serve()


if __name__ == "__main__":
    main()
