"""Keeping keys out of messages and logs, whoever writes them."""

from __future__ import annotations

import logging
import re
import traceback
from urllib.parse import parse_qsl, quote, urlsplit

from bringup.errors import ConfigError

HIDDEN = "[key]"
# Whose debug logs hold URLs, headers and server messages. Their loggers exist once a client of theirs was made.
_LIBRARIES = ("openai", "anthropic", "httpx", "httpx2", "httpcore", "httpcore2", "hpack", "h2")
_PART = 8  # so many characters of a key in a row give it away
_REAL = 16  # shorter keys are words such as EMPTY or test for a server that does not look at them


def hide_exactly(text: str, secrets: tuple[str, ...]) -> str:
    """Replace every occurrence of a secret in `text`, also in the form that URLs have."""
    for secret in secrets:
        for form in {secret, quote(secret, safe=""), quote(secret)}:
            text = text.replace(form, HIDDEN)
    return text


def hide(text: str, secrets: tuple[str, ...]) -> str:
    """Replace secrets, and what looks like one or a part of one: servers like to quote the key, half masked."""
    text = hide_exactly(text, secrets)
    text = re.sub(r"\b(sk|pk)[-_][\w*.…-]{6,}", HIDDEN, text)
    text = re.sub(r"\b(Bearer|Basic)\s+[\w.~+/*…=-]{12,}", rf"\1 {HIDDEN}", text, flags=re.IGNORECASE)
    parts = {secret[i : i + _PART] for secret in secrets for i in range(len(secret) - _PART + 1)}
    return re.sub(r"[^\s'\",;:()]+", lambda m: HIDDEN if any(part in m[0] for part in parts) else m[0], text)


def hide_in_reply(text: str, secrets: tuple[str, ...]) -> str:
    """Replace secrets in a model's reply, if they cannot be words that a reply may well have."""
    return hide_exactly(text, tuple(secret for secret in secrets if len(secret) >= _REAL))


def without_credentials(url: str) -> str:
    """Return `url` without user, password, query and fragment."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return "(malformed URL)"
    return f"{parts.scheme}://{host}{parts.path}".rstrip("/")


def checked_url(url: str) -> str:
    """Return `url`; raises ConfigError when it is no HTTP URL, or holds a secret: a run keeps its configuration."""
    advice = "such as http://localhost:8000/v1"
    if not url.startswith(("http://", "https://")):
        raise ConfigError("client.base_url", "must start with http:// or https://", advice)
    try:
        parts = urlsplit(url)
        named = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
        usable = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable, named = False, []
    if not usable:
        raise ConfigError("client.base_url", "is not a usable URL", advice)
    if "@" in parts.netloc or any(re.search("key|token|secret|password|sig", name, re.IGNORECASE) for name in named):
        raise ConfigError(
            "client.base_url", "must not hold a key or password", "put it into the environment; see client.key_variable"
        )
    return url


class _Redactor(logging.Filter):
    """Rewrites records that would show a secret."""

    def __init__(self, secrets: tuple[str, ...]) -> None:
        super().__init__()
        self.secrets = secrets

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        if (clean := hide_exactly(message, self.secrets)) != message:
            record.msg, record.args = clean, ()
        if record.exc_info and record.exc_info[1] is not None:
            record.exc_text = hide_exactly(
                "".join(traceback.format_exception(record.exc_info[1])).rstrip(), self.secrets
            )
            record.exc_info = None
        # what a handler for structured logs might take besides the message
        for name, value in list(vars(record).items()):
            if name not in ("msg", "exc_text") and any(secret in str(value) for secret in self.secrets):
                setattr(record, name, () if name == "args" else HIDDEN)
        return True


def guard_logs(secrets: tuple[str, ...]) -> None:
    """See to it that the HTTP libraries log no secret, at any level. A filter counts for its own logger only."""
    if not secrets:
        return
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in _LIBRARIES:
            logger = logging.getLogger(name)
            if not any(isinstance(f, _Redactor) and f.secrets == secrets for f in logger.filters):
                logger.addFilter(_Redactor(secrets))
