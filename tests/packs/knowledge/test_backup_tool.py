"""`km-backup-trigger`."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextive.cli.call import call_tool
from contextive.errors import Forbidden, InvalidRequest
from contextive.ingest.settings import IngestRequest
from contextive.search.index import Index
from contextive.store.archive import check_archive

from .conftest import OpenHost

TOKEN = "keeper-9d20e6c1f7"


##= docs/spec/gateway.md#creating-a-backup
##% The tool `km-backup-trigger` MUST create an archive and return its path and details.
def test_a_backup_returns_its_archive_in_the_state_directory(repository: Path, open_host: OpenHost) -> None:
    host = open_host(repository, KM_ADMIN_TOKEN=TOKEN)
    index = host.services.get(Index)
    index.ingest(IngestRequest())
    call_tool(host, "km-search", {"query": "siren"})
    answer = call_tool(host, "km-backup-trigger", {"destination": None})
    archive = repository / ".contextive" / answer["archive"]
    assert answer["status"] == "success"
    assert answer["archive"].startswith("backups/archives/km-backup-")
    assert answer["size_bytes"] == archive.stat().st_size
    assert answer["pruned"] == []
    manifest = check_archive(archive)
    assert manifest.content_files == len(index.store.files.ledger()) == answer["content_files"]
    assert manifest.counts["event"] == len(index.store.records.events()) > 0
    assert index.store.records.audit(1)[0].body["sha256"] == answer["sha256"]


##= docs/spec/gateway.md#creating-a-backup
##% A destination MUST be below the backup directory.
def test_a_backup_outside_the_backup_directory_is_refused(repository: Path, open_host: OpenHost) -> None:
    host = open_host(repository, KM_ADMIN_TOKEN=TOKEN)
    for destination in ("../x", "/etc", "docs/../..", str(repository / "docs")):
        with pytest.raises((InvalidRequest, Forbidden)):
            call_tool(host, "km-backup-trigger", {"destination": destination})
    assert not list(repository.rglob("*.tgz"))


def test_a_reader_cannot_create_a_backup(repository: Path, open_host: OpenHost) -> None:
    with pytest.raises(Forbidden):
        call_tool(open_host(repository), "km-backup-trigger", {})
