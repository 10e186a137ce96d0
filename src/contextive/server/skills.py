"""The skills extension (SEP-2640): lists the skills that a caller is offered, and describes one.

Their files are ordinary resources.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from contextive.errors import InvalidRequest
from contextive.registry.paging import page_of
from contextive.server.extensions import extensions_of

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from contextive.packs.skills.catalog import Skill
    from contextive.registry import Surface
    from contextive.server.protocol import McpHandlers

_CACHE: Final = {"ttlMs": 60_000, "cacheScope": "private"}
"""A list may get longer when the project gets its first specification or note."""


class SkillParams(types.RequestParams):
    """The parameters of `skills/get`."""

    uri: str


def add_skill_methods(handlers: McpHandlers) -> None:
    """Serve `skills/list` and `skills/get` in both eras. Callers without skills are told that there is no such method."""
    host, profile = handlers.host, handlers.profile

    async def answer_list(ctx: ServerRequestContext[Any, Any], params: types.PaginatedRequestParams) -> dict[str, Any]:
        await handlers.refresh_presence()
        listed = host.listed_surface(profile, handlers.caller_of(ctx))
        return list_skills(listed, params.cursor, host.limits.page_size, ctx.protocol_version)

    async def answer_get(ctx: ServerRequestContext[Any, Any], params: SkillParams) -> dict[str, Any]:
        return get_skill(handlers.surface(handlers.caller_of(ctx)), params.uri, ctx.protocol_version)

    handlers.server.add_request_handler("skills/list", types.PaginatedRequestParams, answer_list)
    handlers.server.add_request_handler("skills/get", SkillParams, answer_get)


##= docs/spec/host.md#skills
##% The methods `skills/list` and `skills/get` MUST return the front matter of a skill, and the URI, digest and size of its
##% files.
def list_skills(listed: Surface, cursor: str | None, page_size: int, version: str) -> dict[str, Any]:
    """The result of `skills/list`."""
    page = page_of("skills", _skills_in(listed), cursor, page_size)
    result: dict[str, Any] = {"skills": [_skill_to_wire(skill) for skill in page.items]}
    if page.next_cursor is not None:
        result["nextCursor"] = page.next_cursor
    return result | _cache_fields(version)


def get_skill(surface: Surface, uri: str, version: str) -> dict[str, Any]:
    """The result of `skills/get`. Skills that are not listed are found, too."""
    found = next((skill for skill in _skills_in(surface) if skill.uri == uri), None)
    if found is None:
        raise InvalidRequest("No skill has this URI.", hint="Call skills/list.")
    return {"skill": _skill_to_wire(found), **_cache_fields(version)}


def _skills_in(surface: Surface) -> list[Skill]:
    if not extensions_of(surface):
        raise MCPError(types.METHOD_NOT_FOUND, "Method not found")
    from contextive.packs.skills.catalog import all_skills

    offered = {resource.uri for resource in surface.resources}
    return [skill for skill in all_skills() if skill.uri in offered]


def _skill_to_wire(skill: Skill) -> dict[str, Any]:
    return {
        "uri": skill.uri,
        "frontmatter": dict(skill.front_matter),
        "resources": [{"uri": skill.uri, "digest": skill.digest, "size": len(skill.content)}],
    }


def _cache_fields(version: str) -> dict[str, Any]:
    return _CACHE if version in MODERN_PROTOCOL_VERSIONS else {}
