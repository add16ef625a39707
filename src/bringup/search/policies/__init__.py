"""Policies: what a search expands next, one class each behind one protocol. Plug-ins enter by `bringup.policies`."""

from bringup.search.policies._base import (
    Done,
    Parameters,
    Policy,
    PolicyDefaults,
    Step,
    View,
    Wait,
    make_policy,
    policies,
)

__all__ = ["Done", "Parameters", "Policy", "PolicyDefaults", "Step", "View", "Wait", "make_policy", "policies"]
