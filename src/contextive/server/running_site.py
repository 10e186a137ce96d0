"""Finds the server that already shows a project's site on this machine.

A server writes its port and a random name into `site.json` in the state directory and answers with that name at `/instance`.
The file may come from somebody else, like everything in a project: only a port on this machine is read from it, and the server
at that port has to know the name.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import logging
import secrets
import socket
from collections.abc import Iterator
from pathlib import Path

from contextive.file_writing import write_file
from contextive.workspace.audit_log import make_state_folder

logger = logging.getLogger(__name__)

_FILE = "site.json"
_FOLDER = "site"
_SECONDS = 2.0
_LONGEST = 4_096


def new_instance() -> str:
    """A random name for a running server."""
    return secrets.token_hex(16)


@contextlib.contextmanager
def announced(state: Path, port: int, instance: str) -> Iterator[None]:
    """Say in the state directory where this server is, until the block ends."""
    path = state / _FOLDER / _FILE
    try:
        make_state_folder(state, _FOLDER)
        write_file(path, json.dumps({"port": port, "instance": instance}).encode(), mode=0o600)
    except OSError as failure:
        logger.info("the address of the site could not be written: %s", failure.strerror)
    try:
        yield
    finally:
        if _read(path) == (port, instance):
            with contextlib.suppress(OSError):
                path.unlink()


##= docs/spec/site.md#opening
##% The command `contextive-mcp open` MUST use a running server only if it serves the same project, and never put a token
##% into an address.
def running_site(state: Path) -> str | None:
    """The address of the server that shows this project; None if there is none."""
    known = _read(state / _FOLDER / _FILE)
    if known is None:
        return None
    port, instance = known
    return f"http://127.0.0.1:{port}/" if _instance_at(port) == instance else None


def _read(path: Path) -> tuple[int, str] | None:
    try:
        with path.open("rb") as file:
            found = json.loads(file.read(_LONGEST))
    except (OSError, ValueError):
        return None
    match found:
        case {"port": int(port), "instance": str(instance)} if 0 < port < 65_536 and instance:
            return port, instance
        case _:
            return None


def _instance_at(port: int) -> str | None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_SECONDS)
    try:
        connection.request("GET", "/instance")
        response = connection.getresponse()
        found = json.loads(response.read(_LONGEST)) if response.status == 200 else None
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()
    return found.get("instance") if isinstance(found, dict) and isinstance(found.get("instance"), str) else None


def is_free(host: str, port: int) -> bool:
    """Whether a server can listen on a port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host.strip("[]"), port))
        except OSError:
            return False
    return True
