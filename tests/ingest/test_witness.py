from __future__ import annotations

import os
from pathlib import Path

import pytest

from contextive.ingest import witness
from contextive.ingest.change_feed import ChangeFeed
from contextive.ingest.witness import NOTHING, Witness
from contextive.workspace.files import ProjectFiles
from tests.ingest.projects import BREW, cite, configured, statuses


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    feed = ChangeFeed()
    feed.watch([str(tmp_path)])
    if not feed.works:
        pytest.skip("this file system is not watched")
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.rs").write_text("a", encoding="utf-8")
    (tmp_path / "src/b.rs").write_text("b", encoding="utf-8")
    return tmp_path


def attentive(folder: Path, *more: str) -> Witness:
    """A witness that knows a project with some files, one directory, and what else is named."""
    known = Witness(str(folder))
    paths, places = {"src/a.rs", "src/b.rs", *more}, {f"{folder}/src/"}
    known.unchanged()
    assert known.attend(paths, places), "nothing was watched yet"
    known.unchanged()
    assert not known.attend(paths, places)
    return known


def test_what_nothing_was_said_about_is_unchanged(folder: Path) -> None:
    found = attentive(folder).unchanged()
    assert found.files == {"src/a.rs", "src/b.rs"}
    assert found.folders == {str(folder), f"{folder}/src"}


def test_a_file_that_was_saved_and_its_directory_are_doubtful(folder: Path) -> None:
    known = attentive(folder)
    (folder / "src/a.rs").write_text("other", encoding="utf-8")
    found = known.unchanged()
    assert found.files == {"src/b.rs"}
    assert found.folders == {str(folder)}


@pytest.mark.parametrize("change", ["make", "move", "remove"])
def test_a_change_of_directories_makes_all_doubtful(folder: Path, change: str) -> None:
    known = attentive(folder)
    match change:
        case "make":
            (folder / "src/deep").mkdir()
        case "move":
            (folder / "src").rename(folder / "other")
        case _:
            for file in (folder / "src").iterdir():
                file.unlink()
            (folder / "src").rmdir()
    assert known.unchanged() == NOTHING


def test_a_look_that_was_not_finished_is_worth_nothing(folder: Path) -> None:
    known = attentive(folder)
    known.unchanged()  # and whoever looked then failed
    assert known.unchanged() == NOTHING


def test_links_and_second_names_of_a_file_are_never_answered_for(folder: Path) -> None:
    (folder / "src/link.rs").symlink_to(folder / "src/a.rs")
    os.link(folder / "src/a.rs", folder / "src/twice.rs")
    (folder / "way").symlink_to(folder / "src")
    found = attentive(folder, "src/link.rs", "src/twice.rs", "way/b.rs", "../outside.rs", "/etc/hosts", "gone.rs")
    assert found.unchanged().files == {"src/b.rs"}


def test_the_word_of_the_kernel_is_taken_for_some_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(witness, "TRUSTED_SECONDS", 0.0)
    assert attentive(folder).unchanged() == NOTHING


def test_without_the_kernel_every_file_is_looked_at(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contextive.ingest.change_feed._is_local", lambda _folder: False)
    blind = Witness(str(folder))
    for _ in range(3):
        assert blind.unchanged() == NOTHING
        assert not blind.attend({"src/a.rs"}, {f"{folder}/src/"})


##= docs/spec/trace.md#fresh-answers
##% A file that did not change SHOULD NOT be parsed or matched again.
def test_the_system_is_asked_about_changed_files_alone(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = configured(tmp_path_factory.mktemp("watched"))
    service = project.service()
    service.view()
    asked: list[str] = []
    is_still = ProjectFiles._is_still

    def counted(self: ProjectFiles, path: str, before: object) -> bool:
        asked.append(path)
        return is_still(self, path, before)  # type: ignore[arg-type]

    monkeypatch.setattr(ProjectFiles, "_is_still", counted)
    service.view()
    assert asked == []
    project.write("src/coffee.rs", cite("specs/coffee.md#brewing", BREW) + "// more\n")
    assert statuses(service.view())[BREW]
    assert asked == ["src/coffee.rs"]
