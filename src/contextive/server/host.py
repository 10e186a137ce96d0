"""The composition root: builds every part from the configuration, and rebuilds them when it changes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from contextive.config import Config, LoadedConfig
from contextive.errors import ContextiveError, Unavailable
from contextive.registry import (
    OWNER_AS_MAINTAINER,
    OWNER_AS_READER,
    OWNER_AS_WRITER,
    Caller,
    Client,
    Context,
    Dispatcher,
    Freshness,
    Limits,
    NoClient,
    Pack,
    Prompt,
    Resource,
    Scope,
    Services,
    Surface,
    Tool,
)
from contextive.registry.threads import run_in_thread
from contextive.server.assembly import Assembly, assemble, limits_of
from contextive.server.auth import Authenticator
from contextive.server.call_counts import CallCounter
from contextive.server.presence import Presence
from contextive.server.profiles import PROFILES, Profile
from contextive.server.services import (
    ANSWERER,
    ASK_RULES,
    DOCUMENTS_AND_BACKUPS,
    EVIDENCE,
    FACTS,
    INDEX,
    NOTES,
    RECIPES,
    REVIEW,
    ROUTER,
    SCHEDULE,
    TRACE,
    provide_services,
)
from contextive.server.telemetry import Metrics, log_call

if TYPE_CHECKING:
    from contextive.ingest.trace_service import TraceService
    from contextive.models.request import ModelUse
    from contextive.packs.introspect import HealthCheck
    from contextive.search.events import IndexEvent
    from contextive.search.index import Index
    from contextive.server.protocol import McpHandlers
    from contextive.server.tokens import TokenFile

logger = logging.getLogger(__name__)

Mode = Literal["stdio", "http", "in-process"]
_LIST_CHECK_PAUSE, _LONGEST_LIST_PAUSE = 50, 3.0
"""The list of resources is checked for changes again after this many times the seconds that the last check took, or
after 3 seconds."""
_INDEX_SECTIONS = ("knowledge", "search", "store", "trace", "notes")


class Host:
    """One running server: its configuration, registry, dispatcher, services and MCP handlers."""

    def __init__(
        self, loaded: LoadedConfig, *, mode: Mode, extra_packs: Sequence[Pack] = (), token_key: Path | None = None
    ) -> None:
        """`token_key` is the path of the key that seals issued tokens; without it there are no issued tokens."""
        self.loaded = loaded
        self._token_key = token_key
        self._token_file: TokenFile | None = None
        self.mode: Mode = mode
        self.state_key = os.urandom(32)
        self.generation = 1
        self.refused_config: ContextiveError | None = None
        """Why the newest configuration was refused; None if it was accepted."""
        self.metrics: Metrics | None = None
        self._extra_packs = tuple(extra_packs)
        self._mcp_handlers: dict[str, McpHandlers] = {}
        self._pack_names: dict[str, tuple[str, ...]] = {}
        self._config_listeners: list[Callable[[], None]] = []
        self.services = Services()
        self._calls = CallCounter()
        self.assembly = assemble(loaded.config, self._extra_packs)
        self.dispatcher = Dispatcher(
            self.assembly.registry,
            limits=limits_of(loaded.config),
            observers=[log_call, self._calls],
            freshness=lambda: Freshness.now(self.generation),
        )
        self._index: Index | None = None
        self._is_watching = False
        self.presence = Presence(self)
        self._next_list_check = 0.0
        provide_services(self)
        self.services.add(self.dispatcher)

    @property
    def config(self) -> Config:
        return self.loaded.config

    @property
    def is_remote(self) -> bool:
        """Whether calls to the knowledge pack go to a gateway, so this process has no index."""
        return self.config.knowledge.gateway_url is not None

    @property
    def holder(self) -> str:
        """The name of this process as holder of leases."""
        return f"{socket.gethostname()}:{os.getpid()}"

    def profile_with(self, pack: str) -> Profile:
        """The profile of this server if it includes `pack`, else the first profile that does."""
        with_pack = (p for p in (self.profile, *PROFILES.values()) if pack in p.packs)
        return next(with_pack, self.profile)

    @property
    def state_dir(self) -> Path:
        return self.loaded.project / self.config.store.state_path

    def authenticator(self) -> Authenticator:
        """The tokens accepted over HTTP: those of the configuration and the issued ones."""
        from contextive.server.tokens import TokenFile

        if self._token_key is None:
            return Authenticator.of(self.config)
        if self._token_file is None or self._token_file.folder != self.state_dir:
            self._token_file = TokenFile(self.state_dir, self._token_key)
        return Authenticator.of(self.config, self._token_file)

    @property
    def limits(self) -> Limits:
        return self.dispatcher.limits

    @property
    def profile(self) -> Profile:
        return PROFILES[self.config.server.profile]

    ##= docs/spec/host.md#permissions
    ##% The caller on a pipe or a terminal MUST be a reader unless `auth.adminToken` or `server.allowWrites` is set.
    @property
    def owner(self) -> Caller:
        """The caller over stdio and on the command line."""
        if self.config.auth.admin_token:
            return OWNER_AS_MAINTAINER
        return OWNER_AS_WRITER if self.config.server.allow_writes else OWNER_AS_READER

    ##= docs/spec/host.md#lists-and-pagination
    ##% The list of tools MUST depend only on the version, the profile, the scope, the configuration and which packs have
    ##% something to work on, never on a text of the project.
    def surface(self, profile: Profile, scope: Scope) -> Surface:
        return self.assembly.registry.surface(self.pack_names(profile), scope)

    def surface_for(self, profile: Profile, caller: Caller) -> Surface:
        """What one caller is offered: what its scope allows, limited to the tools of its token."""
        surface = self.surface(profile, caller.scope)
        return surface if caller.tools is None else surface.limited_to(caller.tools)

    def listed_surface(self, profile: Profile, caller: Caller) -> Surface:
        """The part of a caller's surface that lists show. The rest can be called by name."""
        surface = self.surface_for(profile, caller)
        if profile.lists_everything:
            return surface
        ##= docs/spec/host.md#listing
        ##% The tools of notes MUST be listed when there are notes or the caller may write.
        writable = frozenset({"notes"} if caller.scope.covers(Scope.WRITER) else ())
        return self.assembly.registry.listed_part(surface, self.presence.found | writable)

    def widest_surface(self, profile: Profile) -> Surface:
        return self.surface(profile, Scope.MAINTAINER)

    def pack_names(self, profile: Profile) -> tuple[str, ...]:
        """The packs of a profile. Plugins and test fixtures are added to the default profile only."""
        cache = self._pack_names  # read before the assembly: a reload replaces both, this one last
        names = cache.get(profile.name)
        if names is None:
            extra = (*self.assembly.plugins, *(pack.name for pack in self._extra_packs)) if profile.with_plugins else ()
            names = tuple(name for name in (*profile.packs, *extra) if name in self.assembly.registry.packs)
            cache[profile.name] = names
        return names

    def context(
        self, caller: Caller, *, door: str, profile: Profile, request_id: str, client: Client | None = None
    ) -> Context:
        return Context(
            caller=caller,
            services=self.services,
            request_id=request_id,
            door=door,
            profile=profile.name,
            client=client or NoClient(),
        )

    def mcp_handlers(self, profile_name: str) -> McpHandlers:
        """The MCP handlers of a profile, created on first use."""
        if profile_name not in self._mcp_handlers:
            from contextive.server.protocol import McpHandlers

            self._mcp_handlers[profile_name] = McpHandlers(self, PROFILES[profile_name])
        return self._mcp_handlers[profile_name]

    def load_packs(self) -> None:
        """Import the code of every pack now instead of on first use."""
        for pack in self.assembly.registry.packs.values():
            declared: list[Tool | Resource | Prompt] = [*pack.tools, *pack.resources, *pack.prompts]
            for declaration in declared:
                _ = declaration.code

    def enable_metrics(self) -> Metrics:
        """Count calls from now on. Called only where something can scrape the metrics, to save the import."""
        if self.metrics is None:
            self.metrics = Metrics(self._all_tool_names())
            self.dispatcher.observers.append(self.metrics)
        return self.metrics

    def render_metrics(self) -> bytes:
        """All current metrics, including what other processes did to the index."""
        metrics = self.enable_metrics()
        metrics.index.set_health({check.name: check.ok for check in self.checks()})
        if self._index is not None:
            with contextlib.suppress(ContextiveError):  # /readyz reports an unreadable index
                metrics.index.refresh(self._index.store)
                metrics.index.set_progress(self._index.as_of())
        return metrics.render()

    def on_config_change(self, callback: Callable[[], None]) -> None:
        """Run `callback` after each change of the configuration."""
        self._config_listeners.append(callback)

    ##= docs/spec/host.md#reload
    ##% When a reload changes a list that clients see, the server MUST notify every client whose list changed.
    async def apply_config(self, loaded: LoadedConfig) -> None:
        """Switch to a new configuration: replace the packs, and notify clients whose lists changed."""
        before = {name: self._cacheable_lists(PROFILES[name]) for name in self._mcp_handlers}
        # In a thread: a plugin that is slow to load must not block running calls.
        assembly = await asyncio.to_thread(assemble, loaded.config, self._extra_packs)
        old_config = self.loaded.config
        old_assembly, self.loaded, self.assembly, self._pack_names = self.assembly, loaded, assembly, {}
        self.refused_config = None
        if old_assembly.gateway is not None:
            old_assembly.gateway.close()
        self.dispatcher.registry, self.dispatcher.limits = assembly.registry, limits_of(loaded.config)
        self.generation += 1
        provide_services(self, FACTS, SCHEDULE, DOCUMENTS_AND_BACKUPS)
        if loaded.config.trace != old_config.trace:
            provide_services(self, TRACE, REVIEW, EVIDENCE)
        if loaded.config.notes != old_config.notes:
            provide_services(self, NOTES, ASK_RULES)
        if any(getattr(loaded.config, k) != getattr(old_config, k) for k in ("providers", "routing", "notes", "store")):
            provide_services(self, ROUTER, ANSWERER, RECIPES)
        if any(getattr(loaded.config, k) != getattr(old_config, k) for k in _INDEX_SECTIONS):
            await asyncio.to_thread(self._reopen_index)
        self.log_plugin_problems()
        if self.metrics is not None:
            self.metrics.add_tools(self._all_tool_names())
        for callback in self._config_listeners:
            callback()
        from contextive.server.notifications import SurfaceChange

        for name, handlers in list(self._mcp_handlers.items()):
            old, new = before[name], self._cacheable_lists(PROFILES[name])
            await handlers.hub.announce(
                SurfaceChange(tools=old[0] != new[0], resources=old[1] != new[1], prompts=old[2] != new[2])
            )
            await handlers.hub.announce_resource("contextive:///server")
        logger.info("configuration adopted", extra={"contextive_fields": {"generation": self.generation}})

    ##= docs/spec/knowledge.md#index-updates
    ##% A server MUST index automatically after it starts and after each file change, unless `knowledge.autoIngest` is
    ##% false.
    def start_watching(self) -> None:
        """Keep the index up to date with the files in the background, until `close`."""
        self._is_watching = True
        if self.config.knowledge.auto_ingest and not self.is_remote:
            self.index().start_watching()

    ##= docs/spec/host.md#shutdown
    ##% Before it exits, the server MUST close its open connections and streams.
    def close(self) -> None:
        """Stop background work, close the index, and save how often each tool was called."""
        if self.mode != "in-process":
            self._calls.save(self.state_dir)
        index, self._index = self._index, None
        if index is not None:
            index.close()
        if self.assembly.gateway is not None:
            self.assembly.gateway.close()

    def index(self) -> Index:
        """The index of the project, opened on first use."""
        from contextive.search.index import Index

        return self.services.get(Index)

    def open_index(self) -> Index:
        """Open a new index, which `close` closes."""
        from contextive.server.build_index import open_index

        if self.is_remote:
            raise Unavailable(
                "There is no local index: this server uses the index of a gateway.",
                hint="Use the gateway, or unset KM_GATEWAY_URL.",
            )
        self._index = open_index(
            self.loaded,
            self.services,
            is_served=self.mode != "in-process",
            holder=self.holder,
            observer=self.count_event,
        )
        return self._index

    def _reopen_index(self) -> None:
        self.close()
        provide_services(self, INDEX)
        if self._is_watching:
            self.start_watching()

    ##= docs/spec/host.md#broken-plugins
    ##% A plugin that is left out MUST be reported in the log, by `check` and in the health of the server.
    def log_plugin_problems(self) -> None:
        """Log which plugins could not be loaded."""
        for problem in self.assembly.problems:
            logger.warning("the plugin %s was not loaded: it %s", problem.name, problem.reason)

    ##= docs/spec/host.md#listing
    ##% When a pack begins to be listed, the server MUST notify the clients of the profile.
    async def announce_new_packs(self) -> None:
        """Notify clients when the project got something that another pack works on."""
        handlers = [h for h in self._mcp_handlers.values() if not h.profile.lists_everything]
        if not handlers or self.presence.is_complete or not await run_in_thread(self.presence.refresh):
            return
        from contextive.server.notifications import SurfaceChange

        for handler in handlers:
            await handler.hub.announce(SurfaceChange(tools=True, resources=True, prompts=True))

    async def prepare_subscription(self, uris: Iterable[str]) -> None:
        """Called before a client is subscribed: changes from now on will be announced."""
        if any(map(_is_trace_uri, uris)):
            await run_in_thread(lambda: self._trace().remember_statuses())

    def guide_for(self, profile: Profile, surface: Surface) -> str:
        """The guide of the pack that a profile consists of, if the caller is offered all of its tools for readers."""
        names = self.pack_names(profile)
        pack = self.assembly.registry.packs[names[0]] if len(names) == 1 else None
        if pack is None or any(t.name not in surface.tools for t in pack.tools if t.scope is Scope.READER):
            return ""
        return pack.guide

    async def watch_list(self, handlers: McpHandlers) -> None:
        """Called when a client asks for the list of resources: changes from now on will be announced."""
        if handlers.list_version is None and "trace" in self.pack_names(handlers.profile):
            with contextlib.suppress(ContextiveError):
                handlers.list_version = await run_in_thread(lambda: self._trace().list_version())

    ##= docs/spec/spexus.md#capabilities
    ##% When files change the list of resources, a client that has asked for it MUST be notified.
    async def announce_changed_list(self) -> None:
        """Notify clients if the list of resources that they know has changed."""
        watching = [handlers for handlers in self._mcp_handlers.values() if handlers.list_version is not None]
        if not watching or time.monotonic() < self._next_list_check:
            return
        started = time.monotonic()
        version = await run_in_thread(lambda: self._trace().list_version())
        now = time.monotonic()
        self._next_list_check = now + min((now - started) * _LIST_CHECK_PAUSE, _LONGEST_LIST_PAUSE)
        from contextive.server.notifications import SurfaceChange

        for handlers in watching:
            if handlers.list_version != version:
                handlers.list_version = version
                await handlers.hub.announce(SurfaceChange(resources=True))

    ##= docs/spec/trace.md#freshness
    ##% A client that has subscribed to a requirement MUST be notified when its status changes.
    async def announce_changed_resources(self) -> None:
        """Notify subscribers of requirements whose status changed. Without subscribers, the project is not read."""
        subscribed = [
            handlers for handlers in self._mcp_handlers.values() if any(map(_is_trace_uri, handlers.hub.watched))
        ]
        if not subscribed:
            return
        for uri in await run_in_thread(lambda: self._trace().changed_resources()):
            for handlers in subscribed:
                await handlers.hub.announce_resource(uri)

    def checks(self) -> list[HealthCheck]:
        """The checks for every health report: `/healthz`, `/readyz`, the health tools, `doctor` and `status`."""
        from contextive.packs.introspect import HealthCheck

        problems, refused = self.assembly.problems, self.refused_config
        return [
            HealthCheck(
                "config",
                refused is None,
                refused.message if refused else f"{self.loaded.source}, generation {self.generation}",
                (refused and refused.hint) or "Run contextive-mcp check.",
            ),
            HealthCheck(
                "plugins",
                not problems,
                "; ".join(f"{p.name} {p.reason}" for p in problems) or f"{len(self.assembly.plugins)} loaded",
            ),
            *self._index_checks(),
        ]

    def _index_checks(self) -> list[HealthCheck]:
        """The checks of the index. A server whose profile does not use the index does not open it for this."""
        if self.is_remote or "knowledge" not in self.assembly.registry.packs:
            return []
        if self._index is None and self.mode != "http" and not self.profile.uses_index:
            return []
        from contextive.ingest.schedule import SchedulePlan
        from contextive.packs.knowledge.health import index_checks, no_index_yet

        indexes_itself = self.config.knowledge.auto_ingest
        if self.mode == "in-process" and self.config.store.dsn is None and not (self.state_dir / "index.db").exists():
            return [no_index_yet(indexes_itself)]
        index = self.index()
        is_watched = index.is_watched or (indexes_itself and self.mode != "in-process")
        return index_checks(index, self.services.get(SchedulePlan), is_watched=is_watched)

    def _cacheable_lists(self, profile: Profile) -> tuple[object, object, object]:
        """The lists of tools, resources and prompts that clients of a profile may have cached, for each scope."""
        surfaces = [self.listed_surface(profile, Caller("any", scope)) for scope in Scope]
        return (
            [[(t.name, t.description, t.input_schema) for t in s.tools.values()] for s in surfaces],
            [[r.uri for r in s.resources] + list(s.tools) for s in surfaces],
            [[(p.name, p.arguments) for p in s.prompts.values()] for s in surfaces],
        )

    def count_event(self, event: IndexEvent) -> None:
        """Count an event of the index, if metrics are enabled."""
        if self.metrics is not None:
            self.metrics.index.count(event)

    def count_model_use(self, use: ModelUse) -> None:
        """Count a request to a model, if metrics are enabled."""
        if self.metrics is not None:
            self.metrics.count_use(use)

    def _trace(self) -> TraceService:
        from contextive.ingest.trace_service import TraceService

        return self.services.get(TraceService).for_profile(self.profile.name)

    def _all_tool_names(self) -> list[str]:
        return [tool.name for pack in self.assembly.registry.packs.values() for tool in pack.tools]


def _is_trace_uri(uri: str) -> bool:
    """Whether a URI, in either spelling, belongs to the trace pack."""
    return uri.startswith(("duvet:", "/specifications", "/requirements", "/citations"))


__all__ = ["Assembly", "Host", "Mode", "assemble", "limits_of"]
