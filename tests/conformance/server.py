"""An HTTP server with the suite's fixtures as an extra pack, for tests only: `python -m tests.conformance.server`."""

from __future__ import annotations

import sys
from pathlib import Path

from contextive.config import ConfigRequest, LoadedConfig, load_config
from contextive.server.host import Host
from contextive.server.notifications import SurfaceChange
from contextive.server.serve import serve
from tests.conformance.fixtures import conformance_pack


def main() -> None:
    def load() -> LoadedConfig:
        return load_config(ConfigRequest(project=Path.cwd(), environ={"CONTEXTIVE_LIMITS__RATE_REQUESTS": "0"}))

    async def announce(what: str) -> None:
        await host.mcp_handlers("contextive").hub.announce(
            SurfaceChange(tools=what == "tools", prompts=what == "prompts")
        )

    host = Host(load(), mode="http", extra_packs=[conformance_pack(announce)])
    serve(host, reload=load, bind_host="127.0.0.1", port=int(sys.argv[1]))


if __name__ == "__main__":
    main()
