"""Drawn examples are the same in every run, so that a failure is of the change at hand.

`HYPOTHESIS_PROFILE=search` draws others: run it now and then, and before a release.
"""

from __future__ import annotations

import os

from hypothesis import settings
from kept_servers import kept_servers
from store_servers import postgres, postgres_server, s3, s3_server, shared_url

# What kernels compute does not depend on the seal, and takes a tenth of the time without; test_sealed*.py are about it.
os.environ.setdefault("BRINGUP_SEALED", "0")

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

__all__ = ["kept_servers", "postgres", "postgres_server", "s3", "s3_server", "shared_url"]
