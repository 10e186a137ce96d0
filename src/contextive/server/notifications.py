"""Notifies clients of changed lists and resources: handshake clients directly, stateless clients by subscription."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)

logger = logging.getLogger(__name__)

_SEND_SECONDS = 5.0
_MAX_SUBSCRIPTIONS = 1024


@dataclass(frozen=True, slots=True)
class SurfaceChange:
    """Which of the three lists changed."""

    tools: bool = False
    resources: bool = False
    prompts: bool = False

    def __bool__(self) -> bool:
        return self.tools or self.resources or self.prompts


@dataclass(eq=False)
class _Peer:
    connection: Connection
    subscriptions: dict[str, str] = field(default_factory=dict)
    """Full URI → the URI as the client wrote it, which notifications use."""


class NotificationHub:
    """Sends changes to every client of one profile, in both protocol eras."""

    def __init__(self) -> None:
        self.bus = InMemorySubscriptionBus()
        self._listen = ListenHandler(self.bus, max_subscriptions=_MAX_SUBSCRIPTIONS)
        self._listened: dict[int, frozenset[str]] = {}
        self._peers: dict[int, _Peer] = {}

    ##= docs/spec/host.md#capabilities
    ##% A stateless client MUST be able to receive change notifications through `subscriptions/listen`.
    async def listen(
        self, ctx: ServerRequestContext[Any, Any], params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Serve one `subscriptions/listen` stream, and remember its resources while it is open."""
        self._listened[id(ctx)] = frozenset(params.notifications.resource_subscriptions or ())
        try:
            return await self._listen(ctx, params)
        finally:
            del self._listened[id(ctx)]

    @property
    def watched(self) -> set[str]:
        """Every subscribed URI, as clients wrote it or in full."""
        named = {uri for peer in self._peers.values() for uri in peer.subscriptions}
        return named.union(*self._listened.values())

    def join(self, connection: Connection) -> None:
        """Remember a handshake connection until it closes."""
        if id(connection) not in self._peers:
            self._peers[id(connection)] = _Peer(connection)
            connection.exit_stack.callback(self._peers.pop, id(connection), None)

    def subscribe(self, connection: Connection, uri: str, spelling: str) -> None:
        self.join(connection)
        peer = self._peers[id(connection)]
        if uri in peer.subscriptions or len(peer.subscriptions) < _MAX_SUBSCRIPTIONS:
            peer.subscriptions[uri] = spelling

    def unsubscribe(self, connection: Connection, uri: str) -> None:
        if peer := self._peers.get(id(connection)):
            peer.subscriptions.pop(uri, None)

    async def announce(self, change: SurfaceChange) -> None:
        """Notify every client of changed lists."""
        candidates: list[tuple[bool, ServerEvent, Callable[[Connection], Awaitable[None]]]] = [
            (change.tools, ToolsListChanged(), lambda c: c.send_tool_list_changed()),
            (change.resources, ResourcesListChanged(), lambda c: c.send_resource_list_changed()),
            (change.prompts, PromptsListChanged(), lambda c: c.send_prompt_list_changed()),
        ]
        for changed, event, send in candidates:
            if changed:
                await self.bus.publish(event)
                await _send_to(send, [peer.connection for peer in self._peers.values()])

    ##= docs/spec/host.md#capabilities
    ##% A handshake client that has subscribed to a resource MUST be notified when that resource changes.
    async def announce_resource(self, uri: str) -> None:
        """Notify the subscribers of `uri` that its content changed, each with the URI as it wrote it."""
        await self.bus.publish(ResourceUpdated(uri))
        if ":///" in uri:
            await self.bus.publish(ResourceUpdated("/" + uri.split(":///", 1)[1]))
        subscribed = [(p.connection, p.subscriptions[uri]) for p in self._peers.values() if uri in p.subscriptions]
        for connection, spelling in subscribed:
            await _send_to(lambda c, s=spelling: c.send_resource_updated(s), [connection])  # type: ignore[misc]

    ##= docs/spec/host.md#shutdown
    ##% At shutdown, the server MUST end every open event stream with its final frame.
    def close(self) -> None:
        """End every open listen stream with its final frame."""
        self._listen.close()


async def _send_to(send: Callable[[Connection], Awaitable[None]], connections: Iterable[Connection]) -> None:
    """Send with a time limit and without raising: one client that does not read must not delay the others."""

    async def send_one(connection: Connection) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_SEND_SECONDS):
                await send(connection)

    results = await asyncio.gather(*(send_one(c) for c in connections if c.initialize_accepted), return_exceptions=True)
    for result in results:
        if isinstance(result, Exception):
            logger.warning("a client could not be notified (%s)", type(result).__name__)
