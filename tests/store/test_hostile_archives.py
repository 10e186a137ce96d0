"""Untrusted archives: modified or truncated ones, decompression bombs, and foreign databases."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import sqlite3
import tarfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contextive.errors import ContextiveError, InvalidRequest, TooLarge
from contextive.store.archive import BadArchive, check_archive, read_manifest
from contextive.store.restore import restore_backup

from .backup_project import BackupProject


def rewrite_archive(
    source: Path, target: Path, change: Callable[[list[tuple[tarfile.TarInfo, bytes]]], object]
) -> Path:
    """A copy of an archive with changed members, in a valid gzip and tar."""
    with tarfile.open(source) as tar:
        members = []
        for entry in tar.getmembers():
            file = tar.extractfile(entry)
            members.append((entry, file.read() if file else b""))
    change(members)
    with tarfile.open(target, "w:gz", format=tarfile.GNU_FORMAT) as tar:
        for entry, data in members:
            entry.size = len(data) if entry.isreg() else 0
            tar.addfile(entry, io.BytesIO(data) if entry.isreg() else None)
    return target


def with_manifest(change: Callable[[dict[str, Any]], None]) -> Callable[[list[tuple[tarfile.TarInfo, bytes]]], None]:
    def apply(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
        manifest = json.loads(members[0][1])
        change(manifest)
        members[0] = (members[0][0], json.dumps(manifest).encode())

    return apply


def entry_of(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, link
    return entry


def with_extra_file(name: str) -> Callable[[dict[str, Any]], None]:
    """Adds a file with the text `evil` to the manifest."""
    digest = hashlib.sha256(b"evil").hexdigest()
    return lambda manifest: manifest["files"].append({"name": name, "size": 4, "sha256": digest})


def smuggle(name: str) -> Callable[[list[tuple[tarfile.TarInfo, bytes]]], None]:
    def apply(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
        with_manifest(with_extra_file(name))(members)
        members.append((entry_of(name), b"evil"))

    return apply


def replace_database(content: bytes) -> Callable[[list[tuple[tarfile.TarInfo, bytes]]], None]:
    def apply(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
        members[1] = (members[1][0], content)
        facts = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        with_manifest(lambda manifest: manifest["files"][0].update(facts))(members)

    return apply


HOSTILE: dict[str, Callable[[list[tuple[tarfile.TarInfo, bytes]]], object]] = {
    "up": smuggle("../evil"),
    "absolute": smuggle("/tmp/evil"),
    "up inside": smuggle("audit/../../evil"),
    "hidden": smuggle("audit/.evil"),
    "another file": smuggle("tokens.json"),
    "a sidecar": smuggle("lexical/meta.json"),
    "backslash": smuggle("audit\\..\\evil"),
    "twice": smuggle("index.db"),
    "unnamed": lambda members: members.append((entry_of("audit/evil.log"), b"evil")),
    "missing": lambda members: members.pop(),
    "link": lambda members: members.insert(1, (entry_of("audit/x", tarfile.SYMTYPE, "/etc"), b"")),
    "hard link": lambda members: members.insert(1, (entry_of("audit/x", tarfile.LNKTYPE, "index.db"), b"")),
    "device": lambda members: members.insert(1, (entry_of("audit/x", tarfile.CHRTYPE), b"")),
    "pipe": lambda members: members.insert(1, (entry_of("audit/x", tarfile.FIFOTYPE), b"")),
    "directory": lambda members: members.insert(1, (entry_of("audit", tarfile.DIRTYPE), b"")),
    "extended header": lambda members: members.insert(1, (entry_of("x", tarfile.XHDTYPE), b"")),
    "changed": lambda members: members.__setitem__(1, (members[1][0], members[1][1][:-1] + b"!")),
    "shorter": lambda members: members.__setitem__(1, (members[1][0], members[1][1][:-4096])),
    "no manifest": lambda members: members.pop(0),
    "manifest later": lambda members: members.append(members.pop(0)),
    "manifest is not an object": lambda members: members.__setitem__(0, (members[0][0], b"[1]")),
    "manifest is deep": lambda members: members.__setitem__(0, (members[0][0], b"[" * 100_000)),
    "another format": with_manifest(lambda manifest: manifest.update(format=2)),
    "negative size": with_manifest(lambda manifest: manifest["files"][0].update(size=-1)),
    "true as size": with_manifest(lambda manifest: manifest["files"][0].update(size=True)),
    "no database": with_manifest(lambda manifest: manifest["files"].pop(0)),
    "too many": with_manifest(lambda manifest: manifest["files"].extend(manifest["files"] * 100)),
    "declared size of a bomb": with_manifest(lambda manifest: manifest["files"][0].update(size=1 << 50)),
    "a huge log": with_manifest(
        lambda manifest: manifest["files"].append({"name": "audit/x", "size": 1 << 26, "sha256": ""})
    ),
}


##= docs/spec/gateway.md#restoring-a-backup
##% An archive that was modified, contains links, becomes too large or was not created by this product MUST be
##% refused.
@pytest.mark.parametrize("kind", HOSTILE)
def test_a_modified_archive_is_refused_and_changes_nothing(
    backup_project: BackupProject, tmp_path: Path, kind: str
) -> None:
    good = backup_project.backups.create()
    bad = rewrite_archive(good.path, tmp_path / "bad.tgz", HOSTILE[kind])
    before = (
        backup_project.store().generation(),
        backup_project.store().files.ledger(),
        sorted(p.name for p in tmp_path.iterdir()),
    )
    with pytest.raises((BadArchive, TooLarge)):
        check_archive(bad)
    with pytest.raises((BadArchive, TooLarge)):
        restore_backup(bad, backup_project.backups, force=True)
    assert (
        backup_project.store().generation(),
        backup_project.store().files.ledger(),
        sorted(p.name for p in tmp_path.iterdir()),
    ) == before
    assert [path.name for path in (backup_project.state / "backups").iterdir()] == ["archives"]


@pytest.mark.parametrize("part", [0, 1, 10, 100, 0.3, 0.9, -1, -8, -20])
def test_a_truncated_archive_is_detected(backup_project: BackupProject, tmp_path: Path, part: float) -> None:
    data = backup_project.backups.create().path.read_bytes()
    cut = tmp_path / "cut.tgz"
    cut.write_bytes(data[: int(len(data) * part) if isinstance(part, float) else part])
    with pytest.raises(BadArchive):
        check_archive(cut)


##= docs/spec/gateway.md#restoring-a-backup
##% A restore MUST check every byte of an archive before it changes anything.
def test_every_flipped_byte_is_detected(backup_project: BackupProject, tmp_path: Path) -> None:
    data = bytearray(backup_project.backups.create().path.read_bytes())
    damaged = tmp_path / "damaged.tgz"
    for position in range(10, len(data), max(1, len(data) // 60)):
        damaged.write_bytes(data[:position] + bytes([data[position] ^ 0xFF]) + data[position + 1 :])
        with pytest.raises((BadArchive, TooLarge)):
            check_archive(damaged)


def test_a_bomb_of_zeros_is_refused_before_it_is_unpacked(backup_project: BackupProject, tmp_path: Path) -> None:
    """The manifest declares 4 GiB of zeros: more than any index in an archive of this size can have."""
    good = read_manifest(backup_project.backups.create().path)
    huge = 1 << 32
    manifest = replace(good, files=(replace(good.files[0], size=huge),))
    bomb = tmp_path / "bomb.tgz"
    with gzip.open(bomb, "wb", compresslevel=1) as packed:
        text = manifest.as_json()
        head = tarfile.TarInfo("manifest.json")
        head.size = len(text)
        packed.write(head.tobuf(tarfile.GNU_FORMAT) + text + b"\0" * (-len(text) % 512))
        body = tarfile.TarInfo("index.db")
        body.size = huge
        packed.write(body.tobuf(tarfile.GNU_FORMAT) + b"\0" * (1 << 24))
    started = time.process_time()
    with pytest.raises(TooLarge):
        check_archive(bomb)
    assert time.process_time() - started < 5


def test_a_file_that_is_not_an_archive_is_refused(backup_project: BackupProject, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.tgz")
    (tmp_path / "text.tgz").write_text("hello", encoding="utf-8")
    with gzip.open(tmp_path / "zeros.tgz", "wb") as packed:
        packed.write(b"\0" * 100_000)
    for name in ("pipe.tgz", "text.tgz", "zeros.tgz", "missing.tgz", "."):
        with pytest.raises(InvalidRequest):
            check_archive(tmp_path / name)


def database_with(backup_project: BackupProject, tmp_path: Path, *statements: str) -> bytes:
    """The database of a backup after some foreign statements were run on it."""
    with tarfile.open(backup_project.backups.create().path) as tar:
        tar.extract("index.db", tmp_path / "work", filter="data")
    path = tmp_path / "work" / "index.db"
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    return path.read_bytes()


##= docs/spec/gateway.md#restoring-a-backup
##% A database with unknown tables, views or triggers MUST NOT be restored.
@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER evil AFTER INSERT ON audit BEGIN DELETE FROM vote; END",
        "CREATE VIEW evil AS SELECT * FROM vote",
        "CREATE TABLE evil (x)",
        "DROP TABLE vote",
        "DELETE FROM progress",
        "PRAGMA user_version = 0",
        "PRAGMA user_version = 9999",
    ],
)
def test_a_database_that_is_not_ours_is_not_restored(
    backup_project: BackupProject, tmp_path: Path, statement: str
) -> None:
    content = database_with(backup_project, tmp_path, statement)
    bad = rewrite_archive(backup_project.backups.create().path, tmp_path / "bad.tgz", replace_database(content))
    check_archive(bad)
    with pytest.raises(ContextiveError):
        restore_backup(bad, backup_project.backups, force=True)
    assert len(backup_project.store().records.votes()) == 1


def test_a_file_that_is_not_a_database_is_not_restored(backup_project: BackupProject, tmp_path: Path) -> None:
    bad = rewrite_archive(backup_project.backups.create().path, tmp_path / "bad.tgz", replace_database(b"x" * 10_000))
    with pytest.raises(InvalidRequest):
        restore_backup(bad, backup_project.backups, force=True)
    assert len(backup_project.store().records.votes()) == 1
