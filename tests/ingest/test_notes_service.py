"""Notes as the files are at each question."""

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
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8", newline="")
    return place


def listed(service: NotesService) -> list[str]:
    return [note.slug for note in service.view().catalog.newest_first]


@pytest.fixture(params=["told by the kernel", "looked at each time"])
def service(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NotesService:
    if request.param == "looked at each time":
        monkeypatch.setattr(notes_service, "_FULL_SCAN_SECONDS", 0.0)
    return NotesService(tmp_path)


def test_a_project_without_notes_has_none(service: NotesService) -> None:
    assert listed(service) == []
    with pytest.raises(NotFound, match="Page 'x' not found"):
        service.page("x")


##= docs/spec/notes.md#note-files
##% An answer MUST reflect every note saved before the call.
def test_what_was_saved_before_a_question_is_in_its_answer(service: NotesService) -> None:
    root = service.root
    assert listed(service) == []
    write(root, "notes/a.md", "one")
    assert listed(service) == ["a"]
    write(root, "notes/deep/er/b.md", "[[a]]")
    assert service.view().catalog.backlinks(service.page("a")[1]) == ["b"]
    for number in range(5):  # same size, same second
        write(root, "notes/a.md", f"t{number}")
        assert service.page("a")[1].content == f"t{number}"
    (root / "notes/a.md").rename(root / "notes/c.md")
    assert sorted(listed(service)) == ["b", "c"]
    write(root, "notes/.tmp-1", "new c")
    (root / "notes/.tmp-1").replace(root / "notes/c.md")
    assert service.page("c")[1].content == "new c"
    (root / "notes/deep").rename(root / "elsewhere")
    assert listed(service) == ["c"]
    (root / "notes").rename(root / "notes2")
    assert listed(service) == []
    (root / "notes2").rename(root / "notes")
    assert listed(service) == ["c"]
    (root / "notes/c.md").unlink()
    assert listed(service) == []


def test_the_kernel_is_believed_on_a_local_file_system(tmp_path: Path) -> None:
    feed = InotifyWatcher()
    if not feed.watch([str(tmp_path)]):
        pytest.skip("this file system is not watched")
    assert feed.changes().files == frozenset()
    write(tmp_path, "x.md", "1")
    assert feed.changes().files == {f"{tmp_path}/x.md"}
    (tmp_path / "sub").mkdir()
    assert feed.changes().folders == {f"{tmp_path}/sub"}
    assert not feed.watch([str(tmp_path)])
    assert feed.watch([str(tmp_path), str(tmp_path / "sub")])
    (tmp_path / "sub").rmdir()
    assert feed.changes().is_unknown
    assert InotifyWatcher().changes().is_unknown


def test_a_user_without_watches_gets_back_those_that_the_feed_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed = InotifyWatcher()
    if not feed.watch([str(tmp_path)]):
        pytest.skip("this file system is not watched")
    held = len(list(Path("/proc/self/fd").iterdir()))

    class Exhausted:
        def inotify_add_watch(self, *_: object) -> int:
            ctypes.set_errno(errno.ENOSPC)
            return -1

    monkeypatch.setattr("contextive.ingest.inotify._library", Exhausted)
    (tmp_path / "more").mkdir()
    assert not feed.watch([str(tmp_path), str(tmp_path / "more")])
    assert feed.changes().is_unknown
    assert len(list(Path("/proc/self/fd").iterdir())) == held - 1
    assert not feed.watch([str(tmp_path)])
    assert feed.changes().is_unknown


def test_nothing_changed_means_the_same_view(service: NotesService) -> None:
    write(service.root, "notes/a.md", "one")
    first = service.view()
    write(service.root, "other.txt", "x")
    write(service.root, "notes/image.png", "x")
    assert service.view() is first


##= docs/spec/notes.md#list-pages
##% The creation time MUST be the one given in the note, or else that of the first commit with its file, or else that
##% of the file.
def test_created_order_is_what_a_note_says_then_its_first_commit_then_its_file(tmp_path: Path) -> None:
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
    assert listed(service) == ["future", "file", "committed", "old"]
    assert service.page("committed")[1].created == 1588291200.0
    subprocess.run([*git, "add", "."], check=True)
    when = {"GIT_COMMITTER_DATE": "2020-04-01T00:00:00Z", "GIT_AUTHOR_DATE": "2020-04-01T00:00:00Z"}
    subprocess.run([*git, "commit", "-q", "-m", "two"], check=True, env={**os.environ, **when})
    assert listed(service) == ["future", "committed", "file", "old"]


##= docs/spec/notes.md#note-files
##% A hidden file, a link or a file outside the project MUST NOT count as a note.
def test_links_pipes_and_hidden_files_are_no_notes(tmp_path: Path) -> None:
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
    assert listed(NotesService(tmp_path)) == ["ok"]


##= docs/spec/notes.md#note-files
##% A file that cannot be read MUST be reported as a problem, and other notes are not affected.
def test_a_file_that_cannot_be_read_is_a_problem_and_the_rest_is_served(service: NotesService) -> None:
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
    assert sorted(listed(service)) == ["a", "b"]
    write(tmp_path, "docs/d.md", "x")
    assert sorted(listed(service)) == ["a", "b", "d"]
    write(tmp_path, "one/exact.md", "x")
    assert sorted(listed(service)) == ["a", "b", "d", "exact"]


def test_a_folder_outside_of_the_project_is_not_entered(tmp_path: Path) -> None:
    write(tmp_path, "outside/a.md", "x")
    (tmp_path / "project").mkdir()
    assert listed(NotesService(tmp_path / "project", paths=("../outside/*.md",))) == []


def test_a_link_that_takes_the_place_of_a_note_is_not_followed(service: NotesService) -> None:
    secret = write(service.root, "secret.txt", "secret")
    note = write(service.root, "notes/a.md", "mine")
    assert listed(service) == ["a"]
    note.unlink()
    note.symlink_to(secret)
    assert listed(service) == []


def test_folders_of_any_name_hold_notes(service: NotesService) -> None:
    write(service.root, "notes/build/a.md", "x")
    write(service.root, "notes/target/coverage/b.md", "x")
    assert sorted(listed(service)) == ["a", "b"]
