"""The notes are those of the files at each call."""

from __future__ import annotations

import ctypes
import errno
import os
import subprocess
from pathlib import Path

import pytest

from contextive.errors import NotFound
from contextive.ingest import notes_service
from contextive.ingest.inotify import InotifyWatcher
from contextive.ingest.notes_service import NotesService


def write(root: Path, path: str, text: str) -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8", newline="")
    return file


def slugs(service: NotesService) -> list[str]:
    return [note.slug for note in service.view().catalog.newest_first]


@pytest.fixture(params=["inotify", "full scan"])
def service(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NotesService:
    if request.param == "full scan":
        monkeypatch.setattr(notes_service, "_FULL_SCAN_SECONDS", 0.0)
    return NotesService(tmp_path)


def test_a_project_without_notes_has_none(service: NotesService) -> None:
    assert slugs(service) == []
    with pytest.raises(NotFound, match="Page 'x' not found"):
        service.page("x")


##= docs/spec/notes.md#note-files
##% An answer MUST reflect every note saved before the call.
def test_an_answer_reflects_every_earlier_save(service: NotesService) -> None:
    root = service.root
    assert slugs(service) == []
    write(root, "notes/a.md", "one")
    assert slugs(service) == ["a"]
    write(root, "notes/deep/er/b.md", "[[a]]")
    assert service.view().catalog.backlinks(service.page("a")[1]) == ["b"]
    for number in range(5):  # same size, same second
        write(root, "notes/a.md", f"t{number}")
        assert service.page("a")[1].content == f"t{number}"
    (root / "notes/a.md").rename(root / "notes/c.md")
    assert sorted(slugs(service)) == ["b", "c"]
    write(root, "notes/.tmp-1", "new c")
    (root / "notes/.tmp-1").replace(root / "notes/c.md")
    assert service.page("c")[1].content == "new c"
    (root / "notes/deep").rename(root / "elsewhere")
    assert slugs(service) == ["c"]
    (root / "notes").rename(root / "notes2")
    assert slugs(service) == []
    (root / "notes2").rename(root / "notes")
    assert slugs(service) == ["c"]
    (root / "notes/c.md").unlink()
    assert slugs(service) == []


def test_inotify_reports_changes_on_a_local_file_system(tmp_path: Path) -> None:
    watcher = InotifyWatcher()
    if not watcher.watch([str(tmp_path)]):
        pytest.skip("this file system is not watched")
    assert watcher.changes().files == frozenset()
    write(tmp_path, "x.md", "1")
    assert watcher.changes().files == {f"{tmp_path}/x.md"}
    (tmp_path / "sub").mkdir()
    assert watcher.changes().folders == {f"{tmp_path}/sub"}
    assert not watcher.watch([str(tmp_path)])
    assert watcher.watch([str(tmp_path), str(tmp_path / "sub")])
    (tmp_path / "sub").rmdir()
    assert watcher.changes().is_unknown
    assert InotifyWatcher().changes().is_unknown


def test_the_watcher_releases_its_watches_when_the_user_has_none_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watcher = InotifyWatcher()
    if not watcher.watch([str(tmp_path)]):
        pytest.skip("this file system is not watched")
    open_files = len(list(Path("/proc/self/fd").iterdir()))

    class Exhausted:
        def inotify_add_watch(self, *_: object) -> int:
            ctypes.set_errno(errno.ENOSPC)
            return -1

    monkeypatch.setattr("contextive.ingest.inotify._library", Exhausted)
    (tmp_path / "more").mkdir()
    assert not watcher.watch([str(tmp_path), str(tmp_path / "more")])
    assert watcher.changes().is_unknown
    assert len(list(Path("/proc/self/fd").iterdir())) == open_files - 1
    assert not watcher.watch([str(tmp_path)])
    assert watcher.changes().is_unknown


def test_without_changes_the_view_is_the_same_object(service: NotesService) -> None:
    write(service.root, "notes/a.md", "one")
    first = service.view()
    write(service.root, "other.txt", "x")
    write(service.root, "notes/image.png", "x")
    assert service.view() is first


##= docs/spec/notes.md#list-pages
##% The creation time MUST be the one given in the note, or else that of the first commit with its file, or else that
##% of the file.
def test_the_creation_time_is_from_the_note_or_its_first_commit_or_its_file(tmp_path: Path) -> None:
    write(tmp_path, "notes/committed.md", "x")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=n", "-c", "user.email=e@x", "-c", "commit.gpgsign=false"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    when = {"GIT_COMMITTER_DATE": "2020-05-01T00:00:00Z", "GIT_AUTHOR_DATE": "2020-05-01T00:00:00Z"}
    subprocess.run([*git, "commit", "-q", "-m", "one"], check=True, env={**os.environ, **when})
    write(tmp_path, "notes/committed.md", "changed since")
    write(tmp_path, "notes/old.md", "---\ncreated_at: 2019-01-01\n---\n")
    write(tmp_path, "notes/future.md", "---\ncreated_at: 2999-01-01\n---\n")
    write(tmp_path, "notes/file.md", "x")
    service = NotesService(tmp_path)
    assert slugs(service) == ["future", "file", "committed", "old"]
    assert service.page("committed")[1].created == 1588291200.0
    subprocess.run([*git, "add", "."], check=True)
    when = {"GIT_COMMITTER_DATE": "2020-04-01T00:00:00Z", "GIT_AUTHOR_DATE": "2020-04-01T00:00:00Z"}
    subprocess.run([*git, "commit", "-q", "-m", "two"], check=True, env={**os.environ, **when})
    assert slugs(service) == ["future", "committed", "file", "old"]


##= docs/spec/notes.md#note-files
##% A hidden file, a symbolic link or a file outside the project MUST NOT count as a note.
def test_links_pipes_and_hidden_files_are_not_notes(tmp_path: Path) -> None:
    secret = write(tmp_path, "secret.txt", "secret")
    outside = write(tmp_path.parent, f"{tmp_path.name}-outside.md", "outside")
    write(tmp_path, "notes/.hidden.md", "x")
    write(tmp_path, "notes/.obsidian/x.md", "x")
    write(tmp_path, "notes/ok.md", "x")
    (tmp_path / "notes/link.md").symlink_to(secret)
    (tmp_path / "notes/out.md").symlink_to(outside)
    (tmp_path / "notes/loop.md").symlink_to("loop.md")
    (tmp_path / "notes/folder").symlink_to(tmp_path.parent)
    os.mkfifo(tmp_path / "notes/pipe.md")
    assert slugs(NotesService(tmp_path)) == ["ok"]


##= docs/spec/notes.md#note-files
##% A file that cannot be read MUST be reported as a problem, and other notes are not affected.
def test_an_unreadable_file_is_a_problem_and_other_notes_are_listed(service: NotesService) -> None:
    write(service.root, "notes/ok.md", "x")
    (service.root / "notes/bad.md").write_bytes(b"\xff\xfe")
    view = service.view()
    assert [note.slug for note in view.catalog.notes] == ["ok"]
    assert [(p.path, p.message) for p in view.problems] == [
        ("notes/bad.md", "it is left out: it is not UTF-8 (byte 0)")
    ]
    write(service.root, "notes/bad.md", "good")
    assert service.view().problems == ()


##= docs/spec/notes.md#note-files
##% The notes of a project MUST be the files that match the patterns in `notes.paths`.
def test_other_patterns_find_other_files(tmp_path: Path) -> None:
    write(tmp_path, "docs/a.md", "x")
    write(tmp_path, "wiki/deep/b.markdown", "x")
    write(tmp_path, "notes/c.md", "x")
    service = NotesService(tmp_path, paths=("docs/?.md", "wiki/**/*.markdown", "one/exact.md"))
    assert sorted(slugs(service)) == ["a", "b"]
    write(tmp_path, "docs/d.md", "x")
    assert sorted(slugs(service)) == ["a", "b", "d"]
    write(tmp_path, "one/exact.md", "x")
    assert sorted(slugs(service)) == ["a", "b", "d", "exact"]


def test_a_folder_outside_of_the_project_is_not_entered(tmp_path: Path) -> None:
    write(tmp_path, "outside/a.md", "x")
    (tmp_path / "project").mkdir()
    assert slugs(NotesService(tmp_path / "project", paths=("../outside/*.md",))) == []


def test_a_link_that_replaces_a_note_is_not_followed(service: NotesService) -> None:
    secret = write(service.root, "secret.txt", "secret")
    note = write(service.root, "notes/a.md", "mine")
    assert slugs(service) == ["a"]
    note.unlink()
    note.symlink_to(secret)
    assert slugs(service) == []


def test_folders_with_any_name_can_have_notes(service: NotesService) -> None:
    write(service.root, "notes/build/a.md", "x")
    write(service.root, "notes/target/coverage/b.md", "x")
    assert sorted(slugs(service)) == ["a", "b"]
