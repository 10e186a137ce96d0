"""The packs of a server, and the part of them that one caller sees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeVar
from urllib.parse import parse_qsl

from contextive.errors import ContextiveError, Forbidden, PromptNotFound, ResourceNotFound, ToolNotFound
from contextive.registry.declaration import Pack, Prompt, Resource, Tool
from contextive.registry.scopes import Scope
from contextive.registry.uri import UriTemplate, bare_path_candidates

Declared = TypeVar("Declared", Tool, Resource, Prompt)


@dataclass(frozen=True, slots=True)
class PackRules:
    """The configuration of one pack."""

    writes: bool = True
    allowed: frozenset[str] | None = None
    blocked: frozenset[str] = frozenset()
    settings: Mapping[str, object] = field(default_factory=dict)
    listed: Literal["default", "all"] | frozenset[str] = "default"
    """The tools that the default profile lists."""

    ##= docs/spec/host.md#listing
    ##% The setting `toolPacks.<name>.tools` MUST choose which tools of a pack are listed: all, the default ones, or those
    ##% named.
    def lists(self, tool: Tool, present: AbstractSet[str]) -> bool:
        """Whether the default profile lists this tool, in a project that has what is `present`."""
        match self.listed:
            case "default":
                return tool.listed and _is_useful(tool, present)
            case "all":
                return True
            case names:
                return tool.name in names

    def admits(self, tool: Tool) -> bool:
        ##= docs/spec/host.md#discovery
        ##% A tool in `blockedTools` MUST NOT be offered.
        if tool.name in self.blocked:
            return False
        ##= docs/spec/host.md#discovery
        ##% If `allowedTools` is set, a tool that it does not name MUST NOT be offered.
        if self.allowed is not None and tool.name not in self.allowed:
            return False
        ##= docs/spec/host.md#discovery
        ##% In a read-only pack, a tool that changes something MUST NOT be offered.
        return self.writes or tool.annotations.read_only


@dataclass(frozen=True)
class Surface:
    """The tools, resources and prompts that one caller sees: the same on every transport, in a fixed order."""

    tools: Mapping[str, Tool]
    resources: tuple[Resource, ...]
    prompts: Mapping[str, Prompt]
    withheld: Mapping[str, Scope] = field(default_factory=dict)
    """The tools that exist but that this caller may not use, and the scope that each needs."""
    only: frozenset[str] | None = None
    """The tools that the caller's token is limited to, if it is limited."""

    ##= docs/spec/host.md#permissions
    ##% A tool that requires the maintainer scope MUST NOT be callable by a reader through any transport.
    ##= docs/spec/host.md#listing
    ##% A tool that is enabled and permitted but not listed MUST be callable by name on every transport.
    def tool(self, name: str) -> Tool:
        found = self.tools.get(name)
        if found is None:
            raise self.refusal(name)
        return found

    ##= docs/spec/host.md#permissions
    ##% A call to a tool that other callers may use but this caller may not MUST fail with the code `forbidden`.
    ##= docs/spec/host.md#permissions
    ##% A refusal MUST name the setting or the token that allows the call.
    def refusal(self, name: str) -> ContextiveError:
        """The error for a tool that is not in the surface: forbidden for this caller, or unknown."""
        if name not in self.withheld:
            return ToolNotFound(f"Unknown tool: {safe_repr(name)}.", hint=_nearest(name, self.tools))
        if self.only is not None and name not in self.only:
            return Forbidden(f"This token does not allow {name}.", hint=f"It allows: {', '.join(sorted(self.only))}.")
        if self.withheld[name] is Scope.WRITER:
            hint = "Over stdio, start the server with --allow-writes; over HTTP, use a maintainer token."
            return Forbidden(f"{name} writes, and this caller may only read.", hint=hint)
        hint = "Use a maintainer token; for a stdio server, set KM_ADMIN_TOKEN to at least 16 characters."
        return Forbidden(f"{name} needs the maintainer scope.", hint=hint)

    ##= docs/spec/gateway.md#issued-tokens
    ##% A caller whose token has a list of tools MUST be offered these tools and nothing else.
    def limited_to(self, names: frozenset[str]) -> Surface:
        """Only the tools of these names. Resources and prompts are removed: they return the same data as the removed tools."""
        kept = {name: tool for name, tool in self.tools.items() if name in names}
        removed = {name: tool.scope for name, tool in self.tools.items() if name not in names}
        return Surface(kept, (), {}, {**self.withheld, **removed}, names)

    def prompt(self, name: str) -> Prompt:
        found = self.prompts.get(name)
        if found is None:
            raise PromptNotFound(f"Unknown prompt: {safe_repr(name)}.", hint=_nearest(name, self.prompts))
        return found

    def find_resource(self, uri: str) -> tuple[Resource, str, dict[str, str]]:
        """The resource for `uri`, its full URI, and the variables of the template and query."""
        uri, _, query = uri.partition("?")
        parameters = dict(parse_qsl(query[:1000]))
        for candidate in bare_path_candidates(uri, self._path_schemes):
            for resource in self.resources:
                if not resource.is_template and resource.uri == candidate:
                    return resource, candidate, parameters
            for resource in self.resources:
                if resource.is_template and (variables := UriTemplate(resource.uri).match(candidate)) is not None:
                    return resource, candidate, {**parameters, **variables}
        raise ResourceNotFound(
            f"No resource at {safe_repr(uri)}.",
            hint="See resources/list and resources/templates/list.",
        )

    def below(self, resource: Resource) -> list[Resource]:
        """The resources directly below a resource."""
        if resource.members:
            return [r for r in self.resources if r.uri in resource.members]
        prefix = f"{resource.uri}/"
        return [r for r in self.resources if r.uri.startswith(prefix) and "/" not in r.uri.removeprefix(prefix)]

    def find_template(self, uri_template: str) -> Resource:
        """The resource with exactly this URI or template."""
        for resource in self.resources:
            if resource.uri == uri_template:
                return resource
        raise ResourceNotFound(f"No resource template {safe_repr(uri_template)}.", hint="See resources/templates/list.")

    @cached_property
    def _path_schemes(self) -> tuple[str, ...]:
        """Schemes without authority, whose resources can be addressed by path alone."""
        return tuple(dict.fromkeys(r.uri.split(":", 1)[0] for r in self.resources if ":///" in r.uri))


class Registry:
    """The enabled packs and their configuration. Immutable."""

    def __init__(self, packs: Iterable[Pack], rules: Mapping[str, PackRules] | None = None) -> None:
        self.packs: Mapping[str, Pack] = {pack.name: pack for pack in packs}
        self.rules: Mapping[str, PackRules] = dict(rules or {})
        self._surfaces: dict[tuple[tuple[str, ...], Scope], Surface] = {}
        _reject_duplicates(self.packs.values())

    ##= docs/spec/host.md#lists-and-pagination
    ##% A list MUST be in the same order for the same configuration and caller.
    ##= docs/spec/host.md#permissions
    ##% A tool that requires the maintainer scope MUST NOT be listed for a reader.
    def surface(self, pack_names: Sequence[str], scope: Scope) -> Surface:
        """What a caller with `scope` sees of these packs. Packs that are not enabled are ignored."""
        key = (tuple(pack_names), scope)
        if key not in self._surfaces:
            packs = [self.packs[name] for name in pack_names if name in self.packs]
            tools = [tool for pack in packs for tool in pack.tools if self._rules(pack).admits(tool)]
            self._surfaces[key] = Surface(
                tools={tool.name: tool for tool in tools if scope.covers(tool.scope)},
                withheld={tool.name: tool.scope for tool in tools if not scope.covers(tool.scope)},
                resources=tuple(r for p in packs for r in p.resources if scope.covers(r.scope)),
                prompts={m.name: m for p in packs for m in p.prompts if scope.covers(m.scope)},
            )
        return self._surfaces[key]

    ##= docs/spec/host.md#listing
    ##% The profile `contextive` MUST list the default tools of each pack that has something to work on.
    def listed_part(self, surface: Surface, present: AbstractSet[str]) -> Surface:
        """What the default profile lists of a surface, in a project that has what is `present`."""
        if surface.only is not None:
            return surface
        rules = {name: self._rules(pack) for name, pack in self.packs.items()}
        return replace(
            surface,
            tools={name: tool for name, tool in surface.tools.items() if rules[tool.pack].lists(tool, present)},
            resources=tuple(resource for resource in surface.resources if _is_useful(resource, present)),
            prompts={name: prompt for name, prompt in surface.prompts.items() if _is_useful(prompt, present)},
        )

    def settings_of(self, pack: str) -> Mapping[str, object]:
        return self.rules[pack].settings if pack in self.rules else {}

    def _rules(self, pack: Pack) -> PackRules:
        return self.rules.get(pack.name, PackRules())


def _is_useful(declared: Tool | Resource | Prompt, present: AbstractSet[str]) -> bool:
    return not declared.needs or declared.needs in present


def conflicts(pack: Pack, others: Iterable[Pack]) -> list[str]:
    """The names in `pack` that another pack already declares, such as `tool search`."""
    others = list(others)
    taken = [f"pack {pack.name}"] if any(other.name == pack.name for other in others) else []
    groups: tuple[tuple[str, Callable[[Pack], set[str]]], ...] = (
        ("tool", lambda p: {tool.name for tool in p.tools}),
        ("prompt", lambda p: {prompt.name for prompt in p.prompts}),
        ("resource", lambda p: {resource.uri for resource in p.resources}),
    )
    for word, names_of in groups:
        known = set().union(*(names_of(other) for other in others)) if others else set()
        taken += [f"{word} {name}" for name in sorted(names_of(pack) & known)]
    return taken


##= docs/spec/host.md#declaration
##% Two packs MUST NOT declare the same tool, prompt or resource.
def _reject_duplicates(packs: Iterable[Pack]) -> None:
    seen: list[Pack] = []
    for pack in packs:
        if taken := conflicts(pack, seen):
            raise ValueError(f"pack {pack.name!r} declares names that are already in use: {', '.join(taken)}")
        seen.append(pack)


def safe_repr(text: str, limit: int = 120) -> str:
    """A caller's text for an error message: quoted, shortened, with unprintable characters escaped."""
    printable = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text[: limit + 1])
    return repr(printable[:limit] + "…") if len(printable) > limit else f"'{printable}'"


def _nearest(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name[:128], list(known), n=1)
    return f"Did you mean {close[0]}?" if close else "List the available ones first."
