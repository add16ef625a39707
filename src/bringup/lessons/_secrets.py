"""Keeping keys and the user's folder out of texts that leave the machine."""

from __future__ import annotations

import os
import re
from pathlib import Path

HIDDEN = "[hidden]"
_NAMED = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_SHORTEST = 12  # shorter values of such variables are words that a text may well have
# Forms of well-known keys; none of them can be Python's.
_FORMS = re.compile(
    r"\bsk-[A-Za-z0-9_-]{20,}|\bAKIA[0-9A-Z]{16}\b|\bgh[opsu]_[A-Za-z0-9]{30,}|\bgithub_pat_[A-Za-z0-9_]{40,}"
    r"|\bhf_[A-Za-z0-9]{30,}|\bxox[abp]-[A-Za-z0-9-]{20,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
)


class Redactor:
    """Call it with a text: keys are hidden, the home folder becomes `~`. `hidden` counts what was replaced."""

    def __init__(self) -> None:
        """Take the secrets of the environment, longest first: one may hold another."""
        values = {value for name, value in os.environ.items() if _NAMED.search(name) and len(value) >= _SHORTEST}
        values = {value for value in values if not Path(value).exists()}  # a file's name is none, it says where one is
        self._secrets = sorted(values, key=len, reverse=True)
        home = str(Path.home())
        self._home = re.compile(re.escape(home) + r"(?=/|\b)") if len(home) > 1 else None
        self.hidden = 0

    def __call__(self, text: str) -> str:
        """Return the text without secrets."""
        for secret in self._secrets:
            self.hidden += text.count(secret)
            text = text.replace(secret, HIDDEN)
        text, count = _FORMS.subn(HIDDEN, text)
        self.hidden += count
        return self._home.sub("~", text) if self._home else text
