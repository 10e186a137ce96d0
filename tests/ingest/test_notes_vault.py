"""Vaults: imports keep folders, links and aliases and cannot write outside; exports are deterministic."""

from __future__ import annotations

import io
import os
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from contextive.errors import ContextiveError, NotFound
from contextive.ingest.notes_service import NotesService
from contextive.ingest.notes_vault import export_vault, import_vault
from tests.ingest.test_notes_editor import texts
from tests.ingest.test_notes_service import write

VAULT = {
    "Home.md": "---\naliases: [Start]\n---\nSee [[Deep Note#Part|there]] and ![[Deep Note]] and ![[pic.png]].",
    "area/Deep Note.md": "# Part\nBack to [[Start]].",
}


def zipped(path: Path, files: Mapping[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


##= docs/spec/notes.md#vaults
##% The command `notes import` MUST import the Markdown files of a directory or a zip file with their folders and
##% content.
@pytest.mark.parametrize("kind", ["directory", "zip"])
def test_a_vault_keeps_its_folders_texts_and_links(tmp_path: Path, kind: str) -> None:
    files = {**VAULT, "pic.png": "x", ".obsidian/app.md": "{}"}
    if kind == "zip":
        source = zipped(tmp_path / "vault.zip", files)
    else:
        source = tmp_path / "vault"
        for name, text in files.items():
            write(source, name, text)
        (source / "link.md").symlink_to("/etc/hostname")
    (tmp_path / "project").mkdir()
    service = NotesService(tmp_path / "project")
    report = import_vault(service, source)
    assert sorted(report.imported) == ["notes/Home.md", "notes/area/Deep Note.md"]
    assert report.errors == ()
    assert texts(service.root) == {f"notes/{name}": text for name, text in VAULT.items()}
    view, home = service.page("home")
    assert view.catalog.outlinks(home) == ["deep-note", "pic.png"]
    assert view.catalog.backlinks(home) == ["deep-note"]


##= docs/spec/notes.md#vaults
##% An import MUST NOT replace a note, and it names the files that it did not import.
def test_an_import_never_overwrites_a_note(tmp_path: Path) -> None:
    root = tmp_path / "project"
    write(root, "notes/Home.md", "mine")
    write(root, "notes/other.md", "---\ntitle: Deep Note\n---\n")
    write(root, "notes/area/third.md", "---\ntitle: Else\n---\n")
    service = NotesService(root)
    before = texts(root)
    files: dict[str, str | bytes] = {**VAULT, "area/third.md": "x", "bad.md": b"\xff", "con.md": "x"}
    report = import_vault(service, zipped(tmp_path / "v.zip", files))
    assert report.imported == ()
    assert {refused.filename: refused.error for refused in report.errors} == {
        "Home.md": "Its slug 'home' is already used by notes/Home.md.",
        "area/Deep Note.md": "Its slug 'deep-note' is already used by notes/other.md.",
        "area/third.md": "The file notes/area/third.md already exists.",
        "bad.md": "It is not UTF-8.",
        "con.md": "Some systems do not allow its name.",
    }
    assert texts(root) == before


##= docs/spec/notes.md#vaults
##% An archive with paths that lead outside it, with links, or with a disproportionate unpacked size MUST be refused
##% as a whole.
@pytest.mark.parametrize("name", ["../x.md", "a/../../x.md", "/etc/x.md", "C:x.md", "..\\x.md", "a//b.md", "./x.md"])
def test_an_archive_with_paths_outside_it_is_refused_as_a_whole(tmp_path: Path, name: str) -> None:
    source = zipped(tmp_path / "v.zip", {"good.md": "x", name: "x"})
    (tmp_path / "project").mkdir()
    with pytest.raises(ContextiveError):
        import_vault(NotesService(tmp_path / "project"), source)
    assert texts(tmp_path / "project") == {}


def test_links_bombs_and_broken_archives_are_refused(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    service = NotesService(tmp_path / "project")
    link = zipfile.ZipInfo("l.md")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "link.zip", "w") as archive:
        archive.writestr(link, "/etc/passwd")
    zipped(tmp_path / "bomb.zip", {"b.md": b"\0" * 50_000_000})
    (tmp_path / "broken.zip").write_bytes(b"PK\3\4 nonsense")
    whole = zipped(tmp_path / "cut.zip", {"a.md": os.urandom(5000).hex()}).read_bytes()
    (tmp_path / "cut.zip").write_bytes(whole[:100] + b"\xff" * 50 + whole[150:])
    with zipfile.ZipFile(tmp_path / "twice.zip", "w") as archive:
        archive.writestr("a.md", "1")
        archive.writestr("A.md", "2")
    for name in ("link.zip", "bomb.zip", "broken.zip", "cut.zip", "twice.zip"):
        with pytest.raises(ContextiveError):
            import_vault(service, tmp_path / name)
    with pytest.raises(NotFound):
        import_vault(service, tmp_path / "missing.zip")
    assert texts(service.root) == {}


##= docs/spec/notes.md#vaults
##% The command `notes export` MUST write all notes as a zip file that can be imported again.
def test_an_export_is_deterministic_and_can_be_imported_again(tmp_path: Path) -> None:
    root = tmp_path / "one"
    for name, text in VAULT.items():
        write(root, f"notes/{name}", text)
    exported = export_vault(NotesService(root))
    os.utime(root / "notes/Home.md", (1, 1))
    assert export_vault(NotesService(root)) == exported
    with zipfile.ZipFile(io.BytesIO(exported)) as archive:
        assert archive.namelist() == sorted(VAULT)
    (tmp_path / "v.zip").write_bytes(exported)
    (tmp_path / "two").mkdir()
    import_vault(NotesService(tmp_path / "two"), tmp_path / "v.zip")
    assert texts(tmp_path / "two") == texts(root)
