"""Remote mode: a pack whose tools call a gateway.

The declarations stay the same, with names, schemas, scopes and checks; only the handlers differ.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel

from contextive.registry import Context, Pack, Reply, Tool
from contextive.registry.event_stream import ProgressEvent
from contextive.registry.gateway_client import GatewayClient, printable
from contextive.registry.threads import run_in_thread

Rewrite = Callable[[Mapping[str, Any], Context], tuple[str, dict[str, Any]] | None]
"""Returns the name and the arguments of another tool to call instead, or None to call the same one."""
_MARGIN_SECONDS = 5.0
_PROGRESS_POLL_SECONDS = 0.2
_HEARTBEAT_SECONDS = 5.0
_MAX_PROGRESS_EVENTS = 100


##= docs/spec/gateway.md#remote-mode
##% The names, arguments and scopes of the tools MUST be the same as without a gateway.
def remote_pack(
    pack: Pack,
    gateway: GatewayClient,
    local_tools: Collection[str],
    rewrites: Mapping[str, Rewrite] = MappingProxyType({}),
) -> Pack:
    """The same pack with handlers that call the gateway, except for its local tools.

    `rewrites` turns calls of some tools into calls of others.
    """
    remote = Pack(pack.name, title=pack.title, description=pack.description)
    tools = {tool.name: tool for tool in pack.tools}
    remote.tools = [
        tool if tool.name in local_tools else _forwarding_tool(tool, gateway, rewrites.get(tool.name), tools)
        for tool in pack.tools
    ]
    return remote


def _forwarding_tool(
    declared: Tool, gateway: GatewayClient, rewrite: Rewrite | None, tools: Mapping[str, Tool]
) -> Tool:
    async def forward(given: BaseModel, ctx: Context) -> Reply:
        tool, arguments = declared, given.model_dump(mode="json", exclude_unset=True, by_alias=True)
        instead = await run_in_thread(lambda: rewrite(arguments, ctx)) if rewrite is not None else None
        if instead is not None:
            tool, arguments = tools[instead[0]], instead[1]
        events: deque[ProgressEvent] = deque(maxlen=_MAX_PROGRESS_EVENTS)
        stop = threading.Event()
        work = run_in_thread(lambda: gateway.call(tool, arguments, ctx.request_id, events.append, stop))
        try:
            return await _forward_progress(asyncio.ensure_future(work), events, ctx)
        finally:
            stop.set()

    return replace(
        declared,
        load=lambda: replace(declared.code, handler=forward),
        timeout_seconds=gateway.seconds_for(declared) + _MARGIN_SECONDS,
        annotations=replace(declared.annotations, open_world=True),
    )


async def _forward_progress(work: asyncio.Future[Reply], events: deque[ProgressEvent], ctx: Context) -> Reply:
    """The answer. Until then, the client gets the progress of the gateway, and a sign of life every few seconds."""
    number, last = 0.0, time.monotonic()
    while True:
        done, _ = await asyncio.wait({work}, timeout=_PROGRESS_POLL_SECONDS)
        while events:
            event = events.popleft()
            number, last = max(event.done, number + 0.001), time.monotonic()  # progress must increase
            await ctx.client.progress(number, event.total, printable(event.message) or None)
        if done:
            return work.result()
        if time.monotonic() - last >= _HEARTBEAT_SECONDS:
            number, last = number + 0.001, time.monotonic()
            await ctx.client.progress(number, None, "The gateway is working.")
