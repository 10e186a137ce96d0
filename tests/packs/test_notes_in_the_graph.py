"""Notes are in the index and in the graph, tested over real MCP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.ingest.test_notes_service import write
from tests.raw_clients import StdioClient


##= docs/spec/notes.md#links
##% A link whose target is prefixed with `req:`, `file:` or `symbol:` MUST lead to a requirement, a file or a symbol
##% of the project.
def test_backlinks_of_a_requirement_a_file_and_a_symbol_include_notes(tmp_path: Path) -> None:
    write(tmp_path, "docs/spec/pump.md", "# Pump\n\n## Stop\n\nThe pump MUST stop within a second.\n")
    write(tmp_path, "src/pump.py", "def stop() -> None:\n    return None\n")
    settings = {
        "CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL": "none",
        "CONTEXTIVE_KNOWLEDGE__AUTO_INGEST": "false",
        "KM_ADMIN_TOKEN": "admin-token-fedcba9876543210",
    }
    with StdioClient("serve", "--stdio", cwd=tmp_path, env=settings) as pipe:
        pipe.initialize()

        def call(tool: str, **arguments: Any) -> dict[str, Any]:
            result: dict[str, Any] = pipe.result("tools/call", {"name": tool, "arguments": arguments})[
                "structuredContent"
            ]
            return result

        identifier = call("search_requirements", query="pump")["result"][0]["identifier"]
        links = f"[[req:{identifier[:8]}]] [[file:src/pump.py]] [[symbol:src/pump.py::stop]]"
        call("create_page", title="Why it stops", content=links)
        assert call("explain_requirement", req_identifier=identifier[:12])["notes"] == [
            {"slug": "why-it-stops", "title": "Why it stops", "path": "notes/why-it-stops.md"}
        ]
        call("km-ingest-trigger")
        for node in (f"Requirement:{identifier}", "SourceFile:src/pump.py", "Symbol:src/pump.py::stop"):
            node_answer = call("km-graph-node", node_id=node, relationships="incoming")
            assert ("LINKS_TO", "Note:why-it-stops") in {
                (edge["type"], edge["target"]["id"]) for edge in node_answer["relationships"]
            }
        found = call("km-search", query="why it stops")["results"]
        assert "notes/why-it-stops.md" in [result["chunk"]["artifact_path"] for result in found]
