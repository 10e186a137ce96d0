"""Print how large the answers of the tools are on a project: `python -m tests.answers DIR`.

The index is built without embeddings in a temporary directory, and only tools that leave the project alone are called.
Settings such as CONTEXTIVE_NOTES__PATHS='["**/*.md"]' apply.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from contextive.config import ConfigRequest, load_config
from contextive.ingest.settings import IngestRequest
from contextive.packs import BUILTIN
from contextive.server.host import Host

from .calls import Sampler, measure, reading_calls, table


def open_project(project: Path, state: Path, config: Path | None = None) -> Host:
    """A server in this process without embeddings, whose index is in `state`."""
    given = {
        **os.environ,
        "CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL": "none",
        "CONTEXTIVE_KNOWLEDGE__AUTO_INGEST": "false",
        "KM_STATE_PATH": str(state),
        "KM_ADMIN_TOKEN": "0123456789abcdef" * 2,
    }
    request = ConfigRequest(project=project, explicit=config, builtin_packs=frozenset(BUILTIN), environ=given)
    host = Host(load_config(request), mode="in-process")
    host.index().ingest(IngestRequest(profile="answers"))
    return host


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        print(__doc__, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as state:
        host = open_project(Path(arguments[0]).resolve(), Path(state))
        try:
            sizes = [measure(host, call) for call in reading_calls(Sampler(host))]
        finally:
            host.close()
    print(table(sizes))
    return 1 if any(size.tokens > size.call.budget for size in sizes) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
