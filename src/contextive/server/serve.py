"""Runs a host on a transport: signals, reload, and a clean shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import signal
import sys
from collections.abc import Callable

from contextive.config import LoadedConfig
from contextive.config.discovery import FILE_NAMES
from contextive.errors import ContextiveError
from contextive.server.host import Host
from contextive.server.logs import LogPipeline
from contextive.server.tracing import enable_tracing

logger = logging.getLogger(__name__)

_POLL_SECONDS = 0.5


def serve(
    host: Host,
    *,
    reload: Callable[[], LoadedConfig],
    bind_host: str,
    port: int,
    pipe: tuple[int, int] | None = None,
    on_ready: Callable[[str], None] | None = None,
) -> None:
    """Serve until the client disconnects or a signal arrives, then flush the logs. Blocks.

    `on_ready` is called with the address of the site when an HTTP server listens.

    `pipe` has the descriptors from `claim_stdio`, which must be called before packs are loaded.
    """
    end_tracing = enable_tracing(host.config.server.tracing)
    logs = LogPipeline(host.config.server.log_level, secrets=secrets_of(host))

    def apply_logging() -> None:
        logs.set_level(host.config.server.log_level)
        logs.redact(secrets_of(host))

    host.on_config_change(apply_logging)
    for ignored in host.loaded.ignored:
        logger.warning("ignored %s: %s", ignored.key, ignored.reason)
    host.log_plugin_problems()
    try:
        asyncio.run(_serve(host, reload, bind_host, port, pipe, on_ready))
    finally:
        end_tracing()
        logs.close()


def _enable_gc() -> None:
    """Exclude the objects created at startup from garbage collection, and enable it."""
    gc.freeze()
    gc.enable()


async def _serve(
    host: Host,
    reload: Callable[[], LoadedConfig],
    bind_host: str,
    port: int,
    pipe: tuple[int, int] | None,
    on_ready: Callable[[str], None] | None,
) -> None:
    stop = asyncio.Event()
    changed = asyncio.Event()
    _on_signals(stop, changed)
    background = [asyncio.create_task(_reload_on(changed, host, reload))]
    if pipe is None or host.profile.uses_index:
        background.append(asyncio.create_task(_start_watching(host)))
    background.append(asyncio.create_task(_watch_resources(host)))
    background.append(asyncio.create_task(_run_scheduler(host)))
    if host.config.server.reload:
        background.append(asyncio.create_task(_watch_config(host, changed, reload)))
    try:
        if pipe is None:
            from contextive.server.http import serve_http

            host.load_packs()  # shared by many clients: an import must not delay the calls of others
            _enable_gc()
            await serve_http(host, stop, bind_host=bind_host, port=port, on_ready=on_ready)
        else:
            from contextive.server.stdio import serve_stdio

            handlers = host.mcp_handlers(host.profile.name)
            _enable_gc()
            await serve_stdio(handlers, stop, pipe, host.config.limits.max_body_bytes)
    finally:
        for task in background:
            task.cancel()
        await asyncio.gather(*background, return_exceptions=True)
        await asyncio.to_thread(host.close)


async def _start_watching(host: Host) -> None:
    """Start watching the files, after the first response."""
    if "knowledge" in host.assembly.registry.packs:
        await asyncio.sleep(_POLL_SECONDS)
        await asyncio.to_thread(host.start_watching)


async def _run_scheduler(host: Host) -> None:
    """Run scheduled jobs, after the first response."""
    await asyncio.sleep(_POLL_SECONDS)
    from contextive.server.scheduler import Scheduler

    await Scheduler(host).run()


##= docs/spec/host.md#shutdown
##% On SIGINT and on SIGTERM, the server MUST exit with code 0.
##= docs/spec/host.md#reload
##% On SIGHUP, the server MUST read its configuration again.
def _on_signals(stop: asyncio.Event, changed: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    if sys.platform == "win32":
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop.set))
        return
    loop.add_signal_handler(signal.SIGINT, stop.set)
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_signal_handler(signal.SIGHUP, changed.set)


##= docs/spec/host.md#reload
##% When a changed configuration is invalid, the server MUST refuse it and keep the old one.
async def _reload_on(changed: asyncio.Event, host: Host, reload: Callable[[], LoadedConfig]) -> None:
    """Reload the configuration whenever it may have changed. An invalid one is refused and the old one stays."""
    while True:
        await changed.wait()
        changed.clear()
        try:
            loaded = await asyncio.to_thread(reload)
            await host.apply_config(loaded)
        except ContextiveError as error:
            host.refused_config = error
            logger.error("the new configuration was refused, the old one stays: %s", error.full_message())


async def _watch_resources(host: Host) -> None:
    """Announce changed resources to subscribers. Errors are ignored; a client sees them when it reads the resource."""
    while True:
        await asyncio.sleep(_POLL_SECONDS)
        with contextlib.suppress(ContextiveError):
            await host.announce_changed_resources()
            await host.announce_changed_list()
        with contextlib.suppress(ContextiveError):
            await host.announce_new_packs()


##= docs/spec/host.md#reload
##% When the configuration file changes, the server MUST apply the change without a restart, unless `server.reload` is
##% false.
async def _watch_config(host: Host, changed: asyncio.Event, reload: Callable[[], LoadedConfig]) -> None:
    """Notice when a configuration file is written, replaced, added or removed.

    Polls twice a second: a few stat calls, which work on every file system and miss no change between load and watch.
    """
    await asyncio.sleep(_POLL_SECONDS)  # do not delay the first response
    seen = _signature(host.loaded)
    try:
        # The file may have changed between loading it and the first signature.
        has_changed = (await asyncio.to_thread(reload)).config != host.config
    except ContextiveError:
        has_changed = True  # the reload logs the error
    if has_changed:
        changed.set()
    while True:
        await asyncio.sleep(_POLL_SECONDS)
        now = _signature(host.loaded)
        if now != seen:
            seen = now
            changed.set()


def _signature(loaded: LoadedConfig) -> list[tuple[int, int, int] | None]:
    named = loaded.source in ("explicit", "environment")
    paths = [loaded.path] if loaded.path and named else [loaded.project / name for name in FILE_NAMES]
    found: list[tuple[int, int, int] | None] = []
    for path in paths:
        try:
            stat = path.stat()
        except OSError:
            found.append(None)
        else:
            found.append((stat.st_mtime_ns, stat.st_size, stat.st_ino))
    return found


##= docs/spec/host.md#logs
##% A secret from the configuration MUST NOT be logged.
def secrets_of(host: Host) -> list[str]:
    """Every secret value of the configuration, to be redacted in logs."""
    config = host.config
    values = [config.auth.reader_token, config.auth.admin_token, config.knowledge.embedding_key]
    values += [provider.api_key for provider in config.providers.values()]
    return [value for value in values if value]
