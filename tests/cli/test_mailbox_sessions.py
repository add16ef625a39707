"""`bringup mailbox list` says how the sessions stand that prompts belong to."""

from __future__ import annotations

import pytest

from bringup.cli.mailbox import _session


@pytest.mark.parametrize(
    ("key", "state"),
    [
        ("20261122-draw.norm.a1.t01.generate", "covered"),
        ("20261122-draw.nn.functional.norm.a2.t11.summarise", "open"),
        ("20261122-draw.add.out.a1.t01.generate", "exhausted"),
        ("20261122-draw.add.a1.t01.generate", ""),
        ("another", ""),
    ],
)
def test_a_prompt_belongs_to_the_session_that_its_key_names(key: str, state: str) -> None:
    sessions = {"norm": "covered", "nn.functional.norm": "open", "add.out": "exhausted"}
    assert _session(key, sessions) == state
