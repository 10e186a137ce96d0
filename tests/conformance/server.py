"""An HTTP server with the conformance suite's fixtures as a pack, for tests only: `python -m tests.conformance.server`."""

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

    async def announce(changed_list: str) -> None:
        await host.mcp_handlers("contextive").hub.announce(
            SurfaceChange(tools=changed_list == "tools", prompts=changed_list == "prompts")
        )

    host = Host(load(), mode="http", extra_packs=[conformance_pack(announce)])
    serve(host, reload=load, bind_host="127.0.0.1", port=int(sys.argv[1]))


if __name__ == "__main__":
    main()
