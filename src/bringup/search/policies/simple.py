"""Policies without a choice: independent samples, and a chain. The two simplest of KernelEvolve's five shapes."""

from __future__ import annotations

from bringup.search.policies._base import Done, PolicyDefaults, Step, View, Wait, from_root


class OneShot(PolicyDefaults):
    """Every node is an independent sample from the start: a graph of depth 1."""

    name = "one-shot"

    def next(self, view: View) -> Step | Wait | Done:
        """Return one more sample."""
        return Step(parents=from_root(view.graph), memory="none", asked="an independent sample")


class Linear(PolicyDefaults):
    """A chain: each node comes from the latest one that works, whether it is better or not."""

    name = "linear"

    def next(self, view: View) -> Step | Wait | Done:
        """Return the next link, once the one before has ended."""
        if view.graph.open:
            return Wait()
        valid = view.graph.valid
        # the start is where the chain begins; kernels of earlier searches that joined it are only measured
        links = [node for node in valid if node.phase != "start"]
        if links:
            return Step(parents=(links[-1].id,), asked="go on from the latest kernel that works")
        return Step(parents=from_root(view.graph), asked="go on from the start")
