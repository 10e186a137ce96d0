"""A pack for Contextive: the releases of a project, from its changelog."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import Field

from contextive.errors import NotFound, ResourceNotFound, Unavailable
from contextive.registry import (
    Context,
    Pack,
    PromptArgument,
    PromptMessage,
    ResourceEntry,
    Text,
    ToolInput,
    ToolOutput,
)
from release_notes_pack.changelog import Release, parse_changelog

pack = Pack("release-notes", title="Release notes", description="The releases of this project, from its changelog.")


class ReleaseNotesInput(ToolInput):
    """Which release."""

    version: str | None = Field(
        None, description="Version as the changelog spells it; the newest release when left out"
    )


class ReleaseNotes(ToolOutput):
    """One release."""

    version: str
    date: str | None = Field(description="Release date, YYYY-MM-DD")
    changes: dict[str, list[str]] = Field(description="Changes by kind: Added, Fixed, …")
    other_versions: list[str]


def read_releases(ctx: Context) -> list[Release]:
    """All releases. The file is read on every call, because it is small and may have changed."""
    path = Path(str(ctx.settings.get("changelog", "CHANGELOG.md")))
    try:
        return parse_changelog(path.read_text(encoding="utf-8"))
    except OSError:
        raise Unavailable(
            f"The changelog {path.name} cannot be read.", hint="Set toolPacks.release-notes.settings.changelog."
        ) from None


# Plain functions, not coroutines: they read a file, so the server runs them in a thread.
@pack.tool(
    "release_notes",
    title="Release notes",
    description="What changed in a release of this project. Call it before you state what a version added or fixed.",
    labels=("releases",),
    invocation_hints="when asked what is new, or since when something works",
)
def release_notes(given: ReleaseNotesInput, ctx: Context) -> ReleaseNotes:
    releases = read_releases(ctx)
    wanted = [release for release in releases if given.version in (None, release.version)]
    if not wanted:
        raise NotFound(
            "The changelog has no such release.",
            hint=f"Releases: {', '.join(release.version for release in releases[:10]) or 'none'}.",
        )
    found = wanted[0]
    others = [release.version for release in releases if release is not found]
    return ReleaseNotes(version=found.version, date=found.date, changes=found.changes, other_versions=others)


def _list_releases(offset: int, limit: int, ctx: Context) -> list[ResourceEntry]:
    return [
        ResourceEntry(f"release-notes:///{release.version}", release.version, mime_type="text/markdown")
        for release in read_releases(ctx)[offset : offset + limit]
    ]


def _complete_version(prefix: str, _others: Mapping[str, str], ctx: Context) -> list[str]:
    return [release.version for release in read_releases(ctx) if release.version.startswith(prefix)]


@pack.resource(
    "release-notes:///{version}",
    name="release",
    title="One release",
    description="The changelog's text for one release.",
    mime_type="text/markdown",
    list_entries=_list_releases,
    complete={"version": _complete_version},
)
def read_release(variables: Mapping[str, str], ctx: Context) -> str:
    for release in read_releases(ctx):
        if release.version == variables["version"]:
            return release.text
    raise ResourceNotFound("The changelog has no such release.")


@pack.prompt(
    "announce_release",
    title="Announce a release",
    description="Write a short announcement from what a release really changed.",
    arguments=(PromptArgument("version", "Which release", required=True, complete=_complete_version),),
)
def announce_release(arguments: Mapping[str, str], ctx: Context) -> list[PromptMessage]:
    for release in read_releases(ctx):
        if release.version == arguments["version"]:
            quoted = "\n".join(f"> {line}" for line in release.text.splitlines())
            request = (
                f"Announce release {release.version} in at most five sentences. Claim nothing that is not in this text:"
            )
            return [PromptMessage("user", Text(f"{request}\n\n{quoted}"))]
    raise NotFound("The changelog has no such release.")
