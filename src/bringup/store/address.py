"""Where the events and texts of a run are: in its folder, or where the folder's `store.json` says."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from bringup.errors import StoreError
from bringup.store import schema

DATABASE = "run.db"
ELSEWHERE = "store.json"  # says where the events and texts are, when not both in the folder
URL_VARIABLE = "BRINGUP_STORE_URL"
_given_urls: dict[Path, str] = {}  # of runs that this process made: with their passwords, which the disk never sees


@dataclass(frozen=True)
class Address:
    """Where a run is stored; `url` holds the password."""

    run: str
    url: str
    blobs: str
    shared: bool  # several processes may work on the run: by leases, not by a lock of the folder


def is_run(folder: Path) -> bool:
    """Tell whether `folder` is a run directory."""
    return (folder / DATABASE).is_file() or (folder / ELSEWHERE).is_file()


def locate(folder: Path) -> Address:
    """Return the address of the run in `folder`; raises StoreError."""
    standard = own_address(folder)
    elsewhere = folder / ELSEWHERE
    if not elsewhere.is_file():
        return standard
    try:
        data = json.loads(elsewhere.read_text(encoding="utf-8"))
        if data.get("several"):
            return replace(standard, run=str(data["run"]), shared=True)
        run, url, blobs = str(data["run"]), str(data["url"]), str(data["blobs"])
    except (OSError, ValueError, KeyError) as error:
        raise StoreError(f"run {folder}: {ELSEWHERE} cannot be read: {error}") from error
    if "***" in url:  # passwords are not stored
        given = _given_urls.get(folder.resolve()) or os.environ.get(URL_VARIABLE)
        if not given:
            raise StoreError(f"run {folder}: its events are in {url}; set {URL_VARIABLE} with the password")
        url = given
    return Address(run, url, blobs, shared=url != standard.url)


def give_url(folder: Path, url: str) -> None:
    """Use `url` for the run in `folder` from now on in this process, where the folder does not know the password."""
    _given_urls[folder.resolve()] = url


def own_address(folder: Path) -> Address:
    """Return the address of a run that has everything in its folder."""
    whole = folder.resolve()
    return Address(folder.name, f"sqlite:///{whole / DATABASE}", str(whole / "blobs"), shared=False)


def write_address(folder: Path, address: Address) -> None:
    """Write `store.json`, without the password; raises OSError."""
    shown = schema.database_url(address.url).render_as_string(hide_password=True)
    _given_urls[folder.resolve()] = address.url
    data = {"run": address.run, "url": shown, "blobs": address.blobs}
    (folder / ELSEWHERE).write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")


def open_to_several(folder: Path) -> None:
    """Say in `store.json` that several processes may work on the run in its own folder; raises OSError."""
    (folder / ELSEWHERE).write_text(json.dumps({"run": folder.name, "several": True}) + "\n", encoding="utf-8")


def settled_url(url: str) -> str:
    """Return a database URL that means the same from every directory; raises StoreError."""
    made = schema.database_url(url)
    if made.get_backend_name() == "sqlite" and made.database and not made.database.startswith((":", "file:")):
        made = made.set(database=str(Path(made.database).expanduser().resolve()))
    return made.render_as_string(hide_password=False)


def settled_blobs(blobs: str) -> str:
    """Return where texts go: a URL as it is, a path made absolute; raises StoreError for a URL with a password."""
    if "://" not in blobs:
        return str(Path(blobs).expanduser().resolve())
    if urlsplit(blobs).password:
        raise StoreError("store: the texts' URL holds a password; give it as the service's own tools take it")
    return blobs


def new_address(folder: Path, url: str | None, blobs: str | None) -> Address:
    """Return the address of a run that is about to begin in `folder`; raises StoreError for a URL of no use."""
    address = own_address(folder)
    if url:
        address = replace(address, url=settled_url(url), shared=True)
    if blobs:
        address = replace(address, blobs=settled_blobs(blobs))
    return address
