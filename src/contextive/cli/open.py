"""`open`: the site of this project in the browser."""

from __future__ import annotations

import argparse
import contextlib
import gc
import threading
import webbrowser

from contextive.cli.load_project import config_loader, token_key_path
from contextive.cli.parser import add_project_options
from contextive.cli.printing import print_line


def configure_open(parser: argparse.ArgumentParser) -> None:
    add_project_options(parser)
    parser.add_argument("--no-browser", action="store_true", help="print the address and open no browser")
    parser.set_defaults(run=run_open)


##= docs/spec/site.md#opening
##% The command `contextive-mcp open` MUST show the site of the project in a browser, and start a server on a free port if none
##% is running.
def run_open(options: argparse.Namespace) -> int:
    from contextive.server.running_site import is_free, running_site

    reload = config_loader(options)
    loaded = reload()
    address = running_site(loaded.project / loaded.config.store.state_path)
    if address is not None:
        _show(address, options)
        return 0
    gc.disable()  # as in `serve`
    from contextive.server.host import Host
    from contextive.server.serve import serve

    settings = loaded.config.server
    serve(
        Host(loaded, mode="http", token_key=token_key_path()),
        reload=reload,
        bind_host=settings.host,
        port=settings.port if is_free(settings.host, settings.port) else 0,
        on_ready=lambda url: _show(url, options),
    )
    return 0


def _show(address: str, options: argparse.Namespace) -> None:
    print_line(f"The site is at {address}")
    if not options.no_browser:
        # A browser may take seconds to start, or never return.
        threading.Thread(target=_open_browser, args=(address,), daemon=True).start()


def _open_browser(address: str) -> None:
    with contextlib.suppress(webbrowser.Error):
        webbrowser.open(address)
