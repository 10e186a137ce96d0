"""The faces of the one server: an identity, a choice of packs and, where a face needs it, a pinned protocol version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from contextive import __version__


@dataclass(frozen=True, slots=True)
class Profile:
    """One face: who it says it is and which packs it shows."""

    name: str
    server_name: str
    title: str
    version: str
    purpose: str
    packs: tuple[str, ...]
    pinned_version: str | None = None
    """The only protocol version that `initialize` answers with; None negotiates."""
    with_plugins: bool = False

    ##= docs/spec/knowledge.md#index-updates
    ##% A stdio server whose profile includes neither notes nor knowledge MUST NOT index.
    @property
    def uses_index(self) -> bool:
        """Whether a client of this profile alone has any use for the index."""
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
            purpose="Contextive shows what this project promised (specifications and requirements), where the code keeps it "
            "(citations), and what its people know (notes, documents, and how they connect).",
            packs=("introspect", "trace", "notes", "knowledge", "workflows"),
            with_plugins=True,
        ),
        Profile(
            name="duvet",
            server_name="duvet",
            title="Duvet requirements traceability",
            version=__version__,
            purpose="Duvet links specifications and requirements to the code that implements and tests them.",
            packs=("trace",),
        ),
        Profile(
            name="spexus",
            server_name="spexus mcp",
            ##= docs/spec/spexus.md#server-info
            ##% The title in `serverInfo` MUST be `MCP server for requirements management system`.
            title="MCP server for requirements management system",
            version="1.0.0",
            purpose="spexus manages requirements: it helps to write, review, break down and trace them.",
            packs=("introspect", "spexus", "trace"),
            pinned_version="2025-03-26",
        ),
        Profile(
            name="nexus",
            server_name="nexus-mcp",
            title="NEXUS knowledge base",
            version="1.0.0",
            purpose="NEXUS is a base of linked notes: list, read, search and ask them, and follow their connections.",
            packs=("notes",),
        ),
        Profile(
            name="duskmantle",
            server_name="duskmantle-km",
            title="Duskmantle knowledge gateway",
            version=__version__,
            purpose="Duskmantle searches this project's documents, code and graph, and keeps its index fresh.",
            packs=("knowledge",),
        ),
    )
}
