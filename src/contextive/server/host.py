"""The composition root: builds every part from the configuration, and builds them anew when it changes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from contextive.config import Config, LoadedConfig
from contextive.errors import ContextiveError, Unavailable
from contextive.registry import (
    OWNER_AS_MAINTAINER,
    OWNER_AS_READER,
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
from contextive.server.profiles import PROFILES, Profile
from contextive.server.services import (
    ANSWERER,
    ASK_RULES,
    DOCUMENTS_AND_BACKUPS,
    FACTS,
    INDEX,
    NOTES,
    RECIPES,
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
_INDEX_SECTIONS = ("knowledge", "search", "store", "trace", "notes")


class Host:
    """One running server: its configuration, its registry, its dispatcher, and the doors that were opened on it."""

    def __init__(
        self, loaded: LoadedConfig, *, mode: Mode, extra_packs: Sequence[Pack] = (), token_key: Path | None = None
    ) -> None:
        """`token_key` is the user's key that seals issued tokens; without it there are none."""
        self.loaded = loaded
        self._token_key = token_key
        self._token_file: TokenFile | None = None
        self.mode: Mode = mode
        self.state_key = os.urandom(32)
        self.generation = 1
        self.refused_config: ContextiveError | None = None
        """Why the newest configuration was refused; None while it is in force."""
        self.metrics: Metrics | None = None
        self._extra_packs = tuple(extra_packs)
        self._mcp_handlers: dict[str, McpHandlers] = {}
        self._pack_names: dict[str, tuple[str, ...]] = {}
        self._config_listeners: list[Callable[[], None]] = []
        self.services = Services()
        self.assembly = assemble(loaded.config, self._extra_packs)
        self.dispatcher = Dispatcher(
            self.assembly.registry,
            limits=limits_of(loaded.config),
            observers=[log_call],
            freshness=lambda: Freshness.now(self.generation),
        )
        self._index: Index | None = None
        self._is_watching = False
        provide_services(self)
        self.services.add(self.dispatcher)

    @property
    def config(self) -> Config:
        return self.loaded.config

    @property
    def is_remote(self) -> bool:
        """Whether a gateway answers for the knowledge pack, so that this process has no index."""
        return self.config.knowledge.gateway_url is not None

    @property
    def holder(self) -> str:
        """The name under which this process holds leases."""
        return f"{socket.gethostname()}:{os.getpid()}"

    def profile_with(self, pack: str) -> Profile:
        """The profile of this server, or the first one that shows a pack which it does not."""
        shows = (p for p in (self.profile, *PROFILES.values()) if pack in p.packs)
        return next(shows, self.profile)

    @property
    def state_dir(self) -> Path:
        return self.loaded.project / self.config.store.state_path

    def authenticator(self) -> Authenticator:
        """Who may call over HTTP, by the configuration and by the tokens that were issued."""
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
    ##% The caller on a pipe or a terminal MUST be a reader unless `auth.adminToken` is set.
    @property
    def owner(self) -> Caller:
        """Who sits at the other end of a pipe or a terminal."""
        return OWNER_AS_MAINTAINER if self.config.auth.admin_token else OWNER_AS_READER

    ##= docs/spec/host.md#lists-and-pagination
    ##% The list of tools MUST NOT depend on the content of the project.
    def surface(self, profile: Profile, scope: Scope) -> Surface:
        return self.assembly.registry.surface(self.pack_names(profile), scope)

    def surface_for(self, profile: Profile, caller: Caller) -> Surface:
        """What one caller is offered: what its scope allows, and no more than its token names."""
        surface = self.surface(profile, caller.scope)
        return surface if caller.tools is None else surface.limited_to(caller.tools)

    def widest_surface(self, profile: Profile) -> Surface:
        return self.surface(profile, Scope.MAINTAINER)

    def pack_names(self, profile: Profile) -> tuple[str, ...]:
        """The packs that a profile shows; plugins and test fixtures join the default face only."""
        known = self._pack_names  # taken before the assembly is looked at: a reload exchanges both, this one last
        names = known.get(profile.name)
        if names is None:
            extra = (*self.assembly.plugins, *(pack.name for pack in self._extra_packs)) if profile.with_plugins else ()
            names = tuple(name for name in (*profile.packs, *extra) if name in self.assembly.registry.packs)
            known[profile.name] = names
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
        """The MCP door of a profile, opened when it is first asked for."""
        if profile_name not in self._mcp_handlers:
            from contextive.server.protocol import McpHandlers

            self._mcp_handlers[profile_name] = McpHandlers(self, PROFILES[profile_name])
        return self._mcp_handlers[profile_name]

    def load_packs(self) -> None:
        """Load the code of every pack now, and not when something of it runs for the first time."""
        for pack in self.assembly.registry.packs.values():
            declared: list[Tool | Resource | Prompt] = [*pack.tools, *pack.resources, *pack.prompts]
            for one in declared:
                _ = one.code

    def enable_metrics(self) -> Metrics:
        """Count calls from now on. Only worth its import where something can scrape it."""
        if self.metrics is None:
            self.metrics = Metrics(self._all_tool_names())
            self.dispatcher.observers.append(self.metrics)
        return self.metrics

    def render_metrics(self) -> bytes:
        """All metrics as they are now, with what other processes did to the index."""
        metrics = self.enable_metrics()
        metrics.index.set_health({check.name: check.ok for check in self.checks()})
        if self._index is not None:
            with contextlib.suppress(ContextiveError):  # an index that cannot be read is told by /readyz
                metrics.index.refresh(self._index.store)
        return metrics.render()

    def on_config_change(self, callback: Callable[[], None]) -> None:
        """Have `callback` run after each change of the configuration."""
        self._config_listeners.append(callback)

    ##= docs/spec/host.md#reload
    ##% When a reload changes a list that clients see, the server MUST notify every client whose list changed.
    async def apply_config(self, loaded: LoadedConfig) -> None:
        """Go on with a new configuration: packs come and go, and every client that cares is told."""
        before = {name: self._cacheable_lists(PROFILES[name]) for name in self._mcp_handlers}
        # In a thread: a plugin that takes long to load must not hold up the calls that are being served.
        assembly = await asyncio.to_thread(assemble, loaded.config, self._extra_packs)
        before_config = self.loaded.config
        former, self.loaded, self.assembly, self._pack_names = self.assembly, loaded, assembly, {}
        self.refused_config = None
        if former.gateway is not None:
            former.gateway.close()
        self.dispatcher.registry, self.dispatcher.limits = assembly.registry, limits_of(loaded.config)
        self.generation += 1
        provide_services(self, FACTS, SCHEDULE, DOCUMENTS_AND_BACKUPS)
        if loaded.config.trace != before_config.trace:
            provide_services(self, TRACE)
        if loaded.config.notes != before_config.notes:
            provide_services(self, NOTES, ASK_RULES)
        if any(
            getattr(loaded.config, k) != getattr(before_config, k) for k in ("providers", "routing", "notes", "store")
        ):
            provide_services(self, ROUTER, ANSWERER, RECIPES)
        if any(getattr(loaded.config, k) != getattr(before_config, k) for k in _INDEX_SECTIONS):
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
        """Have the index follow the files in the background, from now until `close`."""
        self._is_watching = True
        if self.config.knowledge.auto_ingest and not self.is_remote:
            self.index().start_watching()

    ##= docs/spec/host.md#shutdown
    ##% Before it exits, the server MUST close its open connections and streams.
    def close(self) -> None:
        """End what runs in the background, and close the index."""
        index, self._index = self._index, None
        if index is not None:
            index.close()
        if self.assembly.gateway is not None:
            self.assembly.gateway.close()

    def index(self) -> Index:
        """The index of the project, opened when it is first asked for."""
        from contextive.search.index import Index

        return self.services.get(Index)

    def open_index(self) -> Index:
        """A new index, which this host closes in the end."""
        from contextive.server.build_index import open_index

        if self.is_remote:
            raise Unavailable(
                "There is no local index here: a gateway answers for it.",
                hint="Ask the gateway, or unset KM_GATEWAY_URL.",
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
        """Say in the log which plugins were left out."""
        for problem in self.assembly.problems:
            logger.warning("the plugin %s was left out: it %s", problem.name, problem.reason)

    async def prepare_subscription(self, uris: Iterable[str]) -> None:
        """Called before somebody is subscribed: what changes from this moment on will be told."""
        if any(map(_is_trace_uri, uris)):
            await run_in_thread(lambda: self._trace().remember_statuses())

    ##= docs/spec/trace.md#freshness
    ##% A client that has subscribed to a requirement MUST be notified when its status changes.
    async def announce_changed_resources(self) -> None:
        """Tell subscribers of requirements whose status changed. Looks at the project only where somebody subscribed."""
        watching = [
            handlers for handlers in self._mcp_handlers.values() if any(map(_is_trace_uri, handlers.hub.watched))
        ]
        if not watching:
            return
        for uri in await run_in_thread(lambda: self._trace().changed_resources()):
            for handlers in watching:
                await handlers.hub.announce_resource(uri)

    def checks(self) -> list[HealthCheck]:
        """What every report of health says: `/healthz`, `/readyz`, the health tools, `doctor` and `status`."""
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
        """Those of the index. A server whose clients have no use for the index does not open it for them."""
        if self.is_remote or "knowledge" not in self.assembly.registry.packs:
            return []
        if self._index is None and self.mode != "http" and not self.profile.uses_index:
            return []
        from contextive.ingest.schedule import SchedulePlan
        from contextive.packs.knowledge.health import index_checks, no_index_yet

        indexes_itself = self.config.knowledge.auto_ingest
        if self.mode == "in-process" and not (self.state_dir / "index.db").exists():
            return [no_index_yet(indexes_itself)]
        index = self.index()
        is_watched = index.is_watched or (indexes_itself and self.mode != "in-process")
        return index_checks(index, self.services.get(SchedulePlan), is_watched=is_watched)

    def _cacheable_lists(self, profile: Profile) -> tuple[object, object, object]:
        """What clients of a profile may have cached, per scope."""
        surfaces = [self.surface(profile, scope) for scope in Scope]
        return (
            [[(t.name, t.description, t.input_schema) for t in s.tools.values()] for s in surfaces],
            [[r.uri for r in s.resources] + list(s.tools) for s in surfaces],
            [[(p.name, p.arguments) for p in s.prompts.values()] for s in surfaces],
        )

    def count_event(self, happening: IndexEvent) -> None:
        """Count what happened to the index, where somebody can scrape it."""
        if self.metrics is not None:
            self.metrics.index.count(happening)

    def count_model_use(self, use: ModelUse) -> None:
        """Count a request to a model, where somebody can scrape it."""
        if self.metrics is not None:
            self.metrics.count_use(use)

    def _trace(self) -> TraceService:
        from contextive.ingest.trace_service import TraceService

        return self.services.get(TraceService)

    def _all_tool_names(self) -> list[str]:
        return [tool.name for pack in self.assembly.registry.packs.values() for tool in pack.tools]


def _is_trace_uri(uri: str) -> bool:
    """Whether a URI, in either spelling, is one of the trace pack's."""
    return uri.startswith(("duvet:", "/specifications", "/requirements", "/citations"))


__all__ = ["Assembly", "Host", "Mode", "assemble", "limits_of"]
