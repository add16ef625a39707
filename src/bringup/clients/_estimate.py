"""Token counts when the provider sends none."""

from __future__ import annotations

from collections.abc import Sequence

from bringup.clients._base import Message, Usage

CHARACTERS_PER_TOKEN = 4


def estimate_tokens(text: str) -> int:
    """Return the estimated number of tokens of `text`, rounded up."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def estimate_usage(messages: Sequence[Message], text: str) -> Usage:
    """Return the estimated usage of a call, flagged as such."""
    sent = sum(estimate_tokens(message.content) for message in messages)
    return Usage(input_tokens=sent, output_tokens=estimate_tokens(text), estimated=True)
