"""The introspect pack: server info, server health, and how to use each tool."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import Field

from contextive.errors import ResourceNotFound
from contextive.registry import Context, NoInput, Pack, ResourceEntry, Surface, Tool, ToolOutput

pack = Pack(
    "introspect",
    title="Introspection",
    description="Server info, server health, and how to use the tools.",
    default_tools=(),
)


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """The health of one part of the server."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""
    """What to do if the check fails; shown after the detail."""

    @property
    def reason(self) -> str:
        """The detail, followed by the remedy if the check fails."""
        return self.detail if self.ok or not self.remedy else f"{self.detail} {self.remedy}"


@dataclass(frozen=True, slots=True)
class Identity:
    """Name, version and packs that one caller sees; they depend on the profile."""

    name: str
    version: str
    packs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """Facts about the running server, provided by the host. Replaced as a whole when the configuration changes."""

    mode: Literal["stdio", "http", "in-process"]
    provider_count: int
    identity_of: Callable[[Context], Identity]
    checks: Callable[[], Sequence[HealthCheck]]
    surface_of: Callable[[Context], Surface]


class ServerInfo(ToolOutput):
    """The answer of `contextive_server_info`."""

    name: str
    version: str
    mode: Literal["stdio", "http", "in-process"]
    profile: str
    scope: Literal["reader", "writer", "maintainer"] = Field(description="What this caller may do")
    enabledToolPacks: list[str]  # noqa: N815 - a wire name
    providerCount: int  # noqa: N815 - a wire name


class Check(ToolOutput):
    """One check of a health report."""

    name: str
    ok: bool
    detail: str


class Health(ToolOutput):
    """The answer of `contextive_health`."""

    status: Literal["healthy", "degraded", "unhealthy"]
    timestamp: str
    checks: list[Check]


##= docs/spec/host.md#resources-and-prompts
##% The content of a resource SHOULD also be available through a tool.
@pack.tool(
    "contextive_server_info",
    title="Server info",
    description="Name, version, transport, enabled packs and your scope on this server. Shows what you may do.",
    labels=("introspection",),
    invocation_hints="when unsure what this server offers or why a tool is missing",
)
async def server_info(_input: NoInput, ctx: Context) -> ServerInfo:
    facts = ctx.service(ServerFacts)
    identity = facts.identity_of(ctx)
    return ServerInfo(
        name=identity.name,
        version=identity.version,
        mode=facts.mode,
        profile=ctx.profile,
        scope=ctx.caller.scope.value,
        enabledToolPacks=list(identity.packs),
        providerCount=facts.provider_count,
    )


@pack.tool(
    "contextive_health",
    title="Server health",
    description="Whether the server is healthy, degraded or unhealthy, and why.",
    labels=("introspection",),
    invocation_hints="when answers look wrong or a tool fails",
)
def health(_input: NoInput, ctx: Context) -> Health:
    return health_report(ctx.service(ServerFacts).checks())


@pack.resource(
    "contextive:///server",
    name="server",
    title="This server",
    description="Name, version, packs and tools of this server.",
    members=("contextive:///tools/{name}",),
)
async def read_server(_variables: Mapping[str, str], ctx: Context) -> dict[str, Any]:
    facts = ctx.service(ServerFacts)
    identity, surface = facts.identity_of(ctx), facts.surface_of(ctx)
    return {
        "name": identity.name,
        "version": identity.version,
        "mode": facts.mode,
        "packs": list(identity.packs),
        "tools": {tool.name: tool.title for tool in surface.tools.values()},
        "prompts": {prompt.name: prompt.title for prompt in surface.prompts.values()},
    }


async def _list_tools(offset: int, limit: int, ctx: Context) -> list[ResourceEntry]:
    tools = list(_tools(ctx).values())[offset : offset + limit]
    return [
        ResourceEntry(f"contextive:///tools/{t.name}", t.name, t.title, f"How to use {t.name}.", "application/json")
        for t in tools
    ]


async def _complete_tool(prefix: str, _others: Mapping[str, str], ctx: Context) -> list[str]:
    return [name for name in _tools(ctx) if name.startswith(prefix)]


@pack.resource(
    "contextive:///tools/{name}",
    name="tool",
    title="How to use a tool",
    description="One tool: purpose, arguments, result, scope, safety notes.",
    list_entries=_list_tools,
    complete={"name": _complete_tool},
    listed=False,
)
async def read_tool(variables: Mapping[str, str], ctx: Context) -> dict[str, Any]:
    tool = _tools(ctx).get(variables["name"])
    if tool is None:
        raise ResourceNotFound("No tool of this name is available to you.", hint="Call tools/list to see your tools.")
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "scope": tool.scope.value,
        "labels": list(tool.labels),
        "safety_notes": tool.safety_notes,
        "invocation_hints": tool.invocation_hints,
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
    }


##= docs/spec/host.md#health
##% The server MUST report whether it is healthy, degraded or unhealthy, and why.
def health_report(checks: Sequence[HealthCheck]) -> Health:
    """The health report: healthy if no check fails, unhealthy if all fail, otherwise degraded."""
    failing = [check for check in checks if not check.ok]
    status: Literal["healthy", "degraded", "unhealthy"] = "healthy"
    if failing:
        status = "unhealthy" if len(failing) == len(checks) else "degraded"
    return Health(
        status=status,
        timestamp=datetime.now(UTC).isoformat(timespec="milliseconds"),
        checks=[Check(name=check.name, ok=check.ok, detail=check.reason) for check in checks],
    )


def _tools(ctx: Context) -> Mapping[str, Tool]:
    return ctx.service(ServerFacts).surface_of(ctx).tools
