"""The built-in tuner as a policy: no model; it searches what a kernel's own source leaves open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from bringup.search.graph import Graph, Node
from bringup.search.parameters import Choice, Freedom, Space, Trial, apply, freedom_of, space
from bringup.search.parameters import Tuner as Optimiser
from bringup.search.policies._base import Done, Parameters, PolicyDefaults, Step, View, Wait
from bringup.targets import get_target


class TunerParameters(Parameters):
    """Parameters of `parameters`."""

    base: Literal["start", "best"] = Field(
        default="start",
        description="Whose source is varied: of the kernels that the search began with the fittest, or the fittest of "
        "all nodes that a model wrote, for a graph that another policy has grown.",
    )
    loose: bool = Field(
        default=False,
        description="Whether fp32 products may be taken in tf32 (relative 1e-3); the gate decides in any case.",
    )
    trials: int = Field(
        default=0,
        ge=0,
        description="Choices of one source after which the next best kernel's source is varied; 0: no limit (its space "
        "of choices is finite).",
    )


class Tuner(PolicyDefaults):
    """One node a choice. The optimiser's trials are the graph's nodes, so that nothing else has to be kept."""

    name = "parameters"
    asks_model = False
    Options = TunerParameters

    def next(self, view: View) -> Step | Wait | Done:
        """Ask the optimiser for the next choice of the first base that still has one."""
        bases = self._bases(view.graph)
        if not bases:
            if view.graph.open:
                return Wait()
            return Done("no kernel to start from works: tune its parameters after one passes")
        freedom = freedom_of(get_target(view.target), loose=self.options.loose, facts=view.facts)
        for base in bases:
            step = self._of(base, view, freedom)
            if step is not None:
                return step
        return Done(f"every choice that {self._words(bases)} left open has been tried")

    def _bases(self, graph: Graph) -> list[Node]:
        written = [node for node in graph.valid if "base" not in node.notes]  # not the tuner's own variants
        if self.options.base == "start":
            written = [node for node in written if node.phase == "start"]
        distinct: dict[str | None, Node] = {}
        for node in sorted(written, key=lambda n: (-n.fitness, n.number)):
            distinct.setdefault(node.candidate, node)
        return list(distinct.values())

    def _of(self, base: Node, view: View, freedom: Freedom) -> Step | None:
        source = view.source(base)
        open_ = space(source, freedom)
        mine = [node for node in view.graph if node.notes.get("base") == base.id]
        if self.options.trials and len(mine) >= self.options.trials:
            return None
        known = [node for node in mine if not node.open]
        trials = [Trial(choice=Choice(), value=base.fitness)]
        trials += [Trial(choice=_choice(node.started.choice), value=node.fitness) for node in known]
        pending = [_choice(node.started.choice) for node in mine if node.open]
        # several choices may make the same text (a launch that is never made, a block that is never used)
        texts = {node.started.source for node in view.graph}
        while (choice := Optimiser(open_, view.seed, trials).ask(pending)) is not None:
            text = apply(source, choice)
            if not _same_text(text, texts):
                return Step(
                    parents=(base.id,),
                    source=text,
                    choice=choice.values,
                    asked=_asked(choice, open_),
                    notes={"base": base.id},
                )
            trials.append(Trial(choice=choice, value=base.fitness))
        return None

    def _words(self, bases: list[Node]) -> str:
        return "the kernel's source" if len(bases) == 1 else f"the sources of {len(bases)} kernels"


def _choice(values: Mapping[str, object]) -> Choice:
    return Choice.model_validate({"values": dict(values)})


def _asked(choice: Choice, open_: Space) -> str:
    changes = []
    for name, value in choice.values.items():
        parameter = open_.parameter(name)
        present = f" (was {parameter.present})" if parameter is not None else ""
        changes.append(f"{name} = {value}{present}")
    return ", ".join(changes)


def _same_text(text: str, texts: set[str | None]) -> bool:
    from bringup.candidate import digest

    return digest(text) in texts
