"""`ingest`: search by words is ready at once, and the embeddings are left to a server."""

from __future__ import annotations

import json

from .conftest import InProcessCli

DUMMY = {"CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL": "dummy"}


##= docs/spec/knowledge.md#index-updates
##% The command `ingest` MUST make search by words ready and, unless `--wait` is given, leave embeddings to a server.
def test_ingest_says_who_computes_the_embeddings_and_wait_computes_them(in_process_cli: InProcessCli) -> None:
    (in_process_cli.folder / "tide.md").write_text("# Tide\n\nThe tide turns at noon.\n", encoding="utf-8")
    printed = in_process_cli.run("ingest", env=DUMMY).stdout
    assert (
        "Search by words is ready. 1 of the chunks have no embedding yet: a server computes them in the background"
        in printed
    )
    found = json.loads(in_process_cli.run("search", "tide", "--json", env=DUMMY).stdout)["results"]
    assert found[0]["chunk"]["artifact_path"] == "tide.md"
    waited = json.loads(in_process_cli.run("ingest", "--wait", "--json", env=DUMMY).stdout)
    assert (waited["vectors"], waited["vectors_to_make"]) == (1, 0)
    assert "no embedding" not in in_process_cli.run("ingest", env=DUMMY).stdout
    (in_process_cli.folder / "tide.md").write_text("# Tide\n\nThe tide turns at one.\n", encoding="utf-8")
    assert json.loads(in_process_cli.run("ingest", "--json", env=DUMMY).stdout)["vectors_to_make"] == 1
