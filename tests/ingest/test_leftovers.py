"""Temporary files: never indexed, removed if their writer was killed, and kept while they are being written."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from contextive.file_writing import is_temporary
from contextive.workspace.directory_handles import remove_leftovers_below
from contextive.workspace.discovery import discover
from tests.processes import clean_environment
from tests.raw_clients import PROGRAM

PAUSED = """
import os, sys
from pathlib import Path

fsync = os.fsync

def paused(handle):
    if os.readlink(f"/proc/self/fd/{handle}").endswith(".tmp"):
        print("writing", flush=True)
        sys.stdin.readline()
    fsync(handle)

os.fsync = paused
root, state = Path(sys.argv[1]), Path(sys.argv[1]) / ".contextive"
"""
"""A process that writes with the real code, and pauses in the middle until it gets a line on stdin."""
DOCUMENT = """
from contextive.ingest.documents import Documents, DocumentSettings, Requester
from contextive.ingest.document_text import Draft
from contextive.store import open_store

store = open_store(state)
Documents(DocumentSettings(root, state), lambda: store).store_text(
    Draft("half of a document"), "docs/made.md", None, Requester("test"))
"""
NOTE = """
from contextive.ingest.notes_editor import NotesEditor
from contextive.ingest.notes_service import NotesService

NotesEditor(NotesService(root)).create_page("Made", "half of a note")
"""
NOTE_IN_A_FOLDER = """
from contextive.ingest.notes_editor import NotesEditor
from contextive.ingest.notes_service import NotesService

service = NotesService(root)
NotesEditor(service).update_page("deep", service.page("deep")[1].version, content=f"half of a note, by {os.getpid()}")
"""
BACKUP = """
from contextive.store.backup import Backups, BackupSettings
from contextive.store import open_store

store = open_store(state)
Backups(BackupSettings(root, state), lambda: store).create()
"""


@contextmanager
def writer(root: Path, code: str) -> Iterator[subprocess.Popen[str]]:
    """A process in the middle of a write."""
    process = subprocess.Popen(
        [sys.executable, "-c", PAUSED + code, str(root)],
        env=clean_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdin, process.stdout:
        try:
            assert process.stdout.readline() == "writing\n"
            yield process
        finally:
            process.kill()
            process.wait(30)


def finish(process: subprocess.Popen[str]) -> None:
    process.communicate("\n", timeout=60)
    assert process.returncode == 0


def run(root: Path, *arguments: str) -> dict[str, object]:
    ended = subprocess.run(
        [*PROGRAM, *arguments, "--json", "--project", str(root)],
        env=clean_environment(), capture_output=True, encoding="utf-8", timeout=60, check=True,
    )  # fmt: skip
    result: dict[str, object] = json.loads(ended.stdout)
    return result


def temporary(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in folder.rglob(".*.tmp")]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("docs/a.md", "notes/b.md", "notes/deep/deep.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("# Something\n\nA text.\n", encoding="utf-8")
    return tmp_path


##= docs/spec/knowledge.md#indexed-files
##% A temporary file of this server, `.<16 hex digits>.tmp`, MUST NOT be indexed.
def test_a_temporary_file_is_never_found(root: Path) -> None:
    names = [".0123456789abcdef.tmp", ".0123456789ABCDEF.tmp", ".0123456789abcde.tmp", "0123456789abcdef.tmp", ".x.tmp"]
    for name in names:
        (root / "docs" / name).write_text("text\n", encoding="utf-8")
    found = discover(root)
    assert {file.path for file in found.files} >= {f"docs/{name}" for name in names[1:]}
    assert (found.skipped, found.folders_with_temporary_files) == ({"temporary": 1}, {"docs"})


##= docs/spec/knowledge.md#indexed-files
##% The next run MUST remove temporary files whose writer was killed, but never one that is still being written.
@pytest.mark.parametrize(
    ("code", "made"), [(DOCUMENT, "docs/made.md"), (NOTE, "notes/made.md"), (NOTE_IN_A_FOLDER, "")]
)
def test_a_run_keeps_files_being_written_and_removes_those_of_killed_writers(root: Path, code: str, made: str) -> None:
    with writer(root, code) as process:
        (left,) = temporary(root)
        # Not by a run, because a document in progress blocks the whole run.
        remove_leftovers_below(root, discover(root).folders_with_temporary_files)
        assert temporary(root) == [left], "a file that is being written was removed"
        finish(process)
    assert temporary(root) == []
    if made:
        (root / made).unlink()
    with writer(root, code) as process:
        process.send_signal(signal.SIGKILL)
        process.wait(30)
        (left,) = temporary(root)
        assert is_temporary(left.rpartition("/")[2])
    run(root, "ingest", "--no-vectors")
    assert temporary(root) == []
    assert run(root, "status")["files"] == 3


def test_a_dry_run_removes_nothing(root: Path) -> None:
    left = root / "docs" / ".0123456789abcdef.tmp"
    left.write_text("half\n", encoding="utf-8")
    run(root, "ingest", "--no-vectors", "--dry-run")
    assert left.exists()
    run(root, "ingest", "--no-vectors")
    assert not left.exists()


##= docs/spec/gateway.md#creating-a-backup
##% A backup MUST remove the leftovers of a killed backup.
def test_a_backup_removes_the_leftovers_of_a_killed_one(root: Path) -> None:
    run(root, "ingest", "--no-vectors")
    archives = root / ".contextive" / "backups" / "archives"
    with writer(root, BACKUP) as process:
        process.send_signal(signal.SIGKILL)
        process.wait(30)
    assert len(temporary(archives)) == 1
    run(root, "backup")
    assert temporary(archives) == []
    assert [path.suffix for path in archives.iterdir()] == [".tgz"]
