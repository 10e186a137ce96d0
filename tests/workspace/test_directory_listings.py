"""Directories are listed again on every refresh, and results for unchanged ones are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextive.workspace.directory_listings import DirectoryListings, Entry
from contextive.workspace.files import ProjectFiles
from contextive.workspace.globs import Glob, walk_by_ending


def test_entries_are_sorted_and_have_their_type(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "a").write_bytes(b"")
    (tmp_path / "c").symlink_to("b")
    (tmp_path / "d").symlink_to("d")
    assert DirectoryListings().listing(str(tmp_path)).entries == [
        Entry("a", is_file=True, is_dir=False, is_link=False),
        Entry("b", is_file=False, is_dir=True, is_link=False),
        Entry("c", is_file=False, is_dir=True, is_link=True),
        Entry("d", is_file=False, is_dir=False, is_link=True),
    ]


@pytest.mark.parametrize("name", ["gone", "file", "a\0b"])
def test_a_path_that_is_not_a_directory_has_no_entries(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert DirectoryListings().listing(str(tmp_path / name)).entries == []


def test_a_directory_is_listed_once_per_refresh(tmp_path: Path) -> None:
    folders = DirectoryListings()
    assert folders.listing(str(tmp_path)).entries == []
    (tmp_path / "new").write_bytes(b"")
    assert folders.listing(str(tmp_path)).entries == []
    assert [entry.name for entry in folders.refreshed().listing(str(tmp_path)).entries] == ["new"]


def test_an_unchanged_directory_keeps_its_listing_and_results(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    folders = DirectoryListings()
    counted = folders.listing(str(tmp_path)).get_or_compute("count", len)
    refreshed = folders.refreshed()
    assert refreshed.listing(str(tmp_path)) is folders.listing(str(tmp_path))
    assert refreshed.listing(str(tmp_path)).get_or_compute("count", lambda _: -1) == counted == 1


def test_a_changed_link_target_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"")
    (tmp_path / "a.rs").symlink_to("target")
    folders = DirectoryListings()
    assert list(Glob("*.rs").walk(str(tmp_path), folders=folders)) == ["a.rs"]
    (tmp_path / "target").unlink()  # only the target changed, not `a.rs` itself
    assert list(Glob("*.rs").walk(str(tmp_path), folders=folders.refreshed())) == []
    (tmp_path / "target").mkdir()
    assert list(walk_by_ending(str(tmp_path), {"rs"}, folders.refreshed().refreshed())) == []


def test_unused_listings_are_dropped(tmp_path: Path) -> None:
    folders = DirectoryListings()
    folders.listing(str(tmp_path))
    assert folders.refreshed().refreshed()._before == {}


@pytest.mark.parametrize("pattern", ["**/*.rs", "a/*/x.rs", "**"])
def test_a_walk_with_cached_listings_equals_a_fresh_one(pattern: str, tmp_path: Path) -> None:
    folders = DirectoryListings()
    for name in ("a/b/x.rs", "a/y.rs", "a/c/x.rs", "z.rs"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
        folders = folders.refreshed()
        found = list(Glob(pattern).walk(str(tmp_path), folders=folders))
        assert found == list(Glob(pattern).walk(str(tmp_path)))


def test_listings_give_the_same_result_for_files_and_links(tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / "specs").mkdir(parents=True)
    (root / "specs/a.md").write_bytes(b"")
    (root / "specs/inside.md").symlink_to("a.md")
    (tmp_path / "outside.md").write_bytes(b"")
    (root / "specs/outside.md").symlink_to(tmp_path / "outside.md")
    (root / "linked").symlink_to("specs")
    files = ProjectFiles.bounded(root)
    for path in ("specs/a.md", "specs/inside.md", "specs/outside.md", "linked/a.md", "specs", "./specs/a.md", "x/a.md"):
        assert files.is_file(path, DirectoryListings()) == files.is_file(path)
    assert files.is_file("specs/a.md", DirectoryListings())
    assert not files.is_file("specs/outside.md", DirectoryListings())
