"""`open`: start the site of a project, or show the one that is running."""

from __future__ import annotations

import json
import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from contextive.server.running_site import running_site
from tests.processes import clean_environment
from tests.raw_clients import PROGRAM

URL = re.compile(r"http://127\.0\.0\.1:(\d+)/")


@contextmanager
def opened(project: Path, **env: str) -> Iterator[int]:
    """`open` in a project; yields the port of the site."""
    command = [*PROGRAM, "open", "--no-browser", "--project", str(project)]
    environment = {**clean_environment(), **env, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment, cwd=project
    ) as process:
        assert process.stdout is not None
        try:
            found = URL.search(process.stdout.readline())
            assert found is not None
            yield int(found[1])
        finally:
            process.terminate()


##= docs/spec/site.md#opening
##% The command `contextive-mcp open` MUST show the site of the project in a browser, and start a server on a free port if none
##% is running.
def test_a_busy_port_is_not_used_and_a_running_server_is_found_again(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        taken = busy.getsockname()[1]
        with opened(tmp_path, CONTEXTIVE_SERVER__PORT=str(taken)) as port:
            assert port != taken
            with opened(tmp_path) as again:
                assert again == port
    assert running_site(tmp_path / ".contextive") is None


##= docs/spec/site.md#opening
##% The command `contextive-mcp open` MUST use a running server only if it serves the same project, and never put a token
##% into an address.
def test_another_server_at_the_announced_port_is_not_used(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    ours.mkdir()
    theirs.mkdir()
    with opened(theirs) as port:
        folder = ours / ".contextive" / "site"
        folder.mkdir(parents=True)
        (folder / "site.json").write_text(json.dumps({"port": port, "instance": "0" * 32}), encoding="utf-8")
        assert running_site(ours / ".contextive") is None
        assert running_site(theirs / ".contextive") == f"http://127.0.0.1:{port}/"
        for wrong in ('{"port": "80", "instance": "a"}', '{"port": 80}', "[", '{"port": 99999, "instance": "a"}'):
            (folder / "site.json").write_text(wrong, encoding="utf-8")
            assert running_site(ours / ".contextive") is None
