"""What of a dialog is sent again: its task and its latest modules whole, older ones in a line each."""

from __future__ import annotations

from collections.abc import Sequence

from bringup.candidate import Candidate, is_patch, parse_reply

LINE = 300  # characters of an older report that stay

Turn = tuple[str, str]  # role and text


def shortened(dialog: Sequence[Turn], whole: int) -> list[Turn]:
    """Return a dialog with all but its latest `whole` replies, and the reports on them, cut to one line.

    Args:
        dialog: the task, then replies and reports in turn: user, assistant, user, ...; the last one is a reply.
        whole: replies that stay as they are, counted from the end; and before these whatever edits among them are of.
    """
    replies = [place for place, (role, _) in enumerate(dialog) if role == "assistant"]
    first = max(0, len(replies) - whole)
    # Without edits nothing before is needed: parsing each reply is then saved.
    if any(is_patch(dialog[place][1]) for place in replies[first:]):
        while first and not _module_before_edits(dialog, replies[first:]):
            first -= 1
    old = set(replies[:first])
    turns: list[Turn] = []
    for place, (role, text) in enumerate(dialog):
        if place in old:
            turns.append((role, f"(Module {replies.index(place) + 1} of this dialog, left out. What became of it:)"))
        elif place - 1 in old:
            turns.append((role, _line(text)))
        else:
            turns.append((role, text))
    return turns


def _module_before_edits(dialog: Sequence[Turn], replies: Sequence[int]) -> bool:
    """Whether the first reply that counts is a module; one that is neither a module nor edits does not count."""
    for place in replies:
        if is_patch(dialog[place][1]):
            return False
        if isinstance(parse_reply(dialog[place][1]), Candidate):
            return True
    return True


def _line(text: str) -> str:
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return first if len(first) <= LINE else f"{first[:LINE].rstrip()} [...]"
