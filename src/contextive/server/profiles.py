"""The profiles of the server: a name, a choice of packs and, if needed, a pinned protocol version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from contextive import __version__


@dataclass(frozen=True, slots=True)
class Profile:
    """The identity that the server reports and the packs that it offers."""

    name: str
    server_name: str
    title: str
    version: str
    purpose: str
    packs: tuple[str, ...]
    pinned_version: str | None = None
    """The only protocol version that `initialize` returns; None to negotiate."""
    with_plugins: bool = False
    lists_everything: bool = True
    """Whether all tools are listed, or the default ones of packs that have something to work on."""
    shows_formats: bool = True
    """Whether specifications in spec-driven formats are shown although the configuration does not name the formats."""

    ##= docs/spec/knowledge.md#index-updates
    ##% A stdio server whose profile includes neither notes nor knowledge MUST NOT index.
    @property
    def uses_index(self) -> bool:
        """Whether a pack of this profile uses the index."""
        return not {"notes", "knowledge"}.isdisjoint(self.packs)


##= docs/spec/spexus.md#server-info
##% The result MUST have a `serverInfo` with the name `spexus mcp`.
##= docs/spec/spexus.md#server-info
##% The version in `serverInfo` MUST be 1.0.0.
PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile(
            name="contextive",
            server_name="contextive-mcp",
            title="Contextive",
            version=__version__,
            purpose="Contextive traces this project's requirements to the code and tests that cite them, searches its "
            "code, documents and notes, and shows how they are connected.",
            packs=("orient", "introspect", "trace", "notes", "knowledge", "workflows", "skills"),
            with_plugins=True,
            lists_everything=False,
        ),
        Profile(
            name="duvet",
            server_name="duvet",
            title="Duvet requirements traceability",
            version=__version__,
            purpose="Duvet links specifications and requirements to the code that implements and tests them.",
            packs=("trace",),
            shows_formats=False,
        ),
        Profile(
            name="spexus",
            server_name="spexus mcp",
            ##= docs/spec/spexus.md#server-info
            ##% The title in `serverInfo` MUST be `MCP server for requirements management system`.
            title="MCP server for requirements management system",
            version="1.0.0",
            purpose="spexus manages requirements: write, review, break down and trace them.",
            packs=("introspect", "spexus", "trace"),
            pinned_version="2025-03-26",
        ),
        Profile(
            name="nexus",
            server_name="nexus-mcp",
            title="NEXUS knowledge base",
            version="1.0.0",
            purpose="NEXUS is a base of linked notes: list, read and search them, ask questions, and follow links.",
            packs=("notes",),
        ),
        Profile(
            name="duskmantle",
            server_name="duskmantle-km",
            title="Duskmantle knowledge gateway",
            version=__version__,
            purpose="Duskmantle searches this project's documents, code and graph, and keeps its index up to date.",
            packs=("knowledge",),
        ),
    )
}
