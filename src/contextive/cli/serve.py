"""`serve`, and `duvet mcp`."""

from __future__ import annotations

import argparse
import gc

from contextive.cli.load_project import config_loader, token_key_path
from contextive.cli.parser import add_project_options, add_write_option
from contextive.errors import UsageError


##= docs/spec/host.md#commands
##% The command `contextive-mcp serve --stdio` MUST serve one client over standard input and standard output.
def configure_serve(parser: argparse.ArgumentParser) -> None:
    transport = parser.add_mutually_exclusive_group()
    transport.add_argument(
        "--stdio",
        dest="mode",
        action="store_const",
        const="stdio",
        help="serve one client on standard input and output",
    )
    transport.add_argument(
        "--http", dest="mode", action="store_const", const="http", help="serve many clients over HTTP"
    )
    add_project_options(parser)
    add_write_option(parser)
    parser.add_argument("--host", metavar="H", help="address to listen on, for HTTP")
    parser.add_argument("--port", type=_port, metavar="N", help="port to listen on, for HTTP; 0 chooses a free port")
    parser.set_defaults(run=run_serve)


##= docs/spec/host.md#commands
##% The command `duvet mcp` MUST serve the profile `duvet` over stdio.
def configure_mcp(parser: argparse.ArgumentParser) -> None:
    add_project_options(parser, profile=False)
    parser.set_defaults(run=run_serve, mode="stdio", profile="duvet", host=None, port=None, allow_writes=False)


##= docs/spec/host.md#commands
##% Without a transport flag, the setting `server.mode` MUST decide which transport is served.
def run_serve(options: argparse.Namespace) -> int:
    # Imports create hundreds of thousands of objects that all stay; collecting among them takes a tenth of the start.
    gc.disable()
    from contextive.server.host import Host
    from contextive.server.pipes import claim_stdio
    from contextive.server.serve import serve

    reload = config_loader(options)
    loaded = reload()
    settings = loaded.config.server
    mode = options.mode or settings.mode
    ##= docs/spec/host.md#permissions
    ##% A server that is started with `--http` MUST refuse `--allow-writes`.
    if mode == "http" and options.allow_writes:
        raise UsageError(
            "--allow-writes is only for stdio, where the caller is you. Over HTTP the token of a caller decides.",
            hint="Create one that may write: contextive-mcp token create NAME --scope maintainer",
        )
    pipe = claim_stdio() if mode == "stdio" else None  # before any plugin is loaded that could write to it
    serve(
        Host(loaded, mode=mode, token_key=token_key_path()),
        reload=reload,
        bind_host=options.host or settings.host,
        port=settings.port if options.port is None else options.port,
        pipe=pipe,
    )
    return 0


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text[:20]!r} is not a port from 0 to 65535")
    return int(text)
