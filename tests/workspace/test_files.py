from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from contextive.workspace import files as files_module
from contextive.workspace.files import FileText, Fingerprint, ProjectFiles, Unreadable, ancestors
from tests.processes import open_descriptors


@pytest.fixture
def root(tmp_path: Path) -> Path:
    project = tmp_path.resolve() / "project"
    project.mkdir()
    return project


@pytest.fixture
def files(root: Path) -> ProjectFiles:
    return ProjectFiles(root, root)


def text_of(content: FileText | Unreadable) -> str:
    assert isinstance(content, FileText), content
    return content.text


def reason_of(content: FileText | Unreadable) -> str:
    assert isinstance(content, Unreadable), content
    return content.reason


def without_settling_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat every change as if it happened long ago."""
    monkeypatch.setattr(files_module, "_SETTLING_NS", -1)
    monkeypatch.setattr(files_module, "_COARSE_SETTLING_NS", -1)


def record_reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    reads: list[str] = []
    original = ProjectFiles._read

    def recorded(self: ProjectFiles, path: str) -> FileText | Unreadable:
        reads.append(path)
        return original(self, path)

    monkeypatch.setattr(ProjectFiles, "_read", recorded)
    return reads


# -- only changed files are read again ---------------------------------------------------------------------------------


def test_an_unchanged_file_is_read_once_and_stays_the_same_object(
    files: ProjectFiles, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_settling_time(monkeypatch)
    reads = record_reads(monkeypatch)
    (root / "a.md").write_text("one", encoding="utf-8")
    first = files.read("a.md")
    assert files.read("a.md") is first
    assert reads == ["a.md"]


@pytest.mark.parametrize("name", ["gone.md", "folder", "pipe", "latin", "closed.md"])
def test_the_result_for_an_unreadable_file_stays_the_same_object(
    name: str, files: ProjectFiles, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_settling_time(monkeypatch)
    (root / "folder").mkdir()
    os.mkfifo(root / "pipe")
    (root / "latin").write_bytes(b"\xe9")
    (root / "closed.md").write_bytes(b"\xff")
    (root / "closed.md").chmod(0)
    first = files.read(name)
    assert isinstance(first, Unreadable)
    assert files.read(name) is first


@pytest.mark.parametrize(
    "change",
    [
        lambda path: path.write_text("two", encoding="utf-8"),
        lambda path: path.write_text("longer", encoding="utf-8"),
        lambda path: _replace(path, "two"),
        lambda path: _keeping_times(path, "two"),
    ],
    ids=["in place", "other size", "by renaming", "with its old time restored"],
)
def test_every_way_to_save_a_file_is_noticed(change: Callable[[Path], None], files: ProjectFiles, root: Path) -> None:
    path = root / "a.md"
    path.write_text("one", encoding="utf-8")
    assert text_of(files.read("a.md")) == "one"
    change(path)
    assert text_of(files.read("a.md")) == path.read_text(encoding="utf-8") != "one"


def _replace(path: Path, text: str) -> None:
    other = path.with_suffix(".new")
    other.write_text(text, encoding="utf-8")
    other.replace(path)


def _keeping_times(path: Path, text: str) -> None:
    before = path.stat()
    path.write_text(text, encoding="utf-8")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_two_saves_of_equal_size_within_one_clock_tick_are_distinguished(
    files: ProjectFiles, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On file systems with whole seconds both states have the same fingerprint."""
    monkeypatch.setattr(Fingerprint, "of", staticmethod(_coarse))
    path = root / "a.md"
    path.write_text("one", encoding="utf-8")
    first = files.read("a.md")
    path.write_text("two", encoding="utf-8")
    second = files.read("a.md")
    assert (text_of(first), text_of(second)) == ("one", "two")
    assert files.read("a.md") is second


def _coarse(found: os.stat_result) -> Fingerprint:
    second = 1_000_000_000
    return Fingerprint(found.st_mtime_ns // second * second, found.st_ctime_ns // second * second, found.st_size, 1)


def test_a_recent_file_is_read_again_but_equal_text_stays_the_same_object(
    files: ProjectFiles, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files_module, "_SETTLING_NS", 10**12)
    reads = record_reads(monkeypatch)
    (root / "a.md").write_text("one", encoding="utf-8")
    assert files.read("a.md") is files.read("a.md")
    assert len(reads) == 2


def test_created_deleted_and_recreated_files_are_noticed(files: ProjectFiles, root: Path) -> None:
    path = root / "a.md"
    assert files.read("a.md").fingerprint is None
    path.write_text("one", encoding="utf-8")
    assert text_of(files.read("a.md")) == "one"
    path.unlink()
    assert reason_of(files.read("a.md")) == "the file cannot be opened"
    path.write_text("one", encoding="utf-8")
    assert text_of(files.read("a.md")) == "one"


def test_keep_only_drops_all_other_files(files: ProjectFiles, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_settling_time(monkeypatch)
    for name in ("a", "b"):
        (root / name).write_text(name, encoding="utf-8")
    kept, dropped = files.read("a"), files.read("b")
    files.keep_only({"a"})
    assert files.read("a") is kept
    assert files.read("b") is not dropped


def test_a_file_that_is_replaced_while_it_is_read_is_read_again(
    files: ProjectFiles, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fingerprint is taken from the opened file, so it never matches a later state."""
    without_settling_time(monkeypatch)
    path = root / "a.md"
    path.write_text("one", encoding="utf-8")
    original = ProjectFiles._is_inside

    def replacing(self: ProjectFiles, name: str, handle: int) -> bool:
        _replace(path, "two")
        monkeypatch.setattr(ProjectFiles, "_is_inside", original)
        return original(self, name, handle)

    monkeypatch.setattr(ProjectFiles, "_is_inside", replacing)
    assert text_of(files.read("a.md")) == "one"
    assert text_of(files.read("a.md")) == "two"


def test_a_file_that_grows_past_the_limit_while_it_is_read_is_refused(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = ProjectFiles(root, root, max_bytes=10)
    path = root / "a.md"
    path.write_bytes(b"x" * 10)
    assert text_of(files.read("a.md")) == "x" * 10
    original = ProjectFiles._is_inside

    def growing(self: ProjectFiles, name: str, handle: int) -> bool:
        path.write_bytes(b"x" * 11)
        return original(self, name, handle)

    monkeypatch.setattr(ProjectFiles, "_is_inside", growing)
    path.write_bytes(b"y" * 10)
    assert "larger" in reason_of(files.read("a.md"))


# -- the boundary ------------------------------------------------------------------------------------------------------


@pytest.fixture
def outside(root: Path) -> Path:
    folder = root.parent / "outside"
    folder.mkdir()
    (folder / "secret.md").write_text("secret", encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    "path",
    [
        "../outside/secret.md",
        "src/../../outside/secret.md",
        "./../outside/secret.md",
        "link.md",
        "linked/secret.md",
        "chain.md",
        "{outside}/secret.md",
        "../project_evil/x.md",
    ],
)
def test_nothing_outside_the_boundary_is_read(path: str, files: ProjectFiles, root: Path, outside: Path) -> None:
    (root / "src").mkdir()
    (root / "link.md").symlink_to(outside / "secret.md")
    (root / "linked").symlink_to(outside)
    (root / "chain.md").symlink_to("chain2.md")
    (root / "chain2.md").symlink_to("chain3.md")
    (root / "chain3.md").symlink_to(outside / "secret.md")
    (root.parent / "project_evil").mkdir()
    (root.parent / "project_evil/x.md").write_text("secret", encoding="utf-8")
    named = path.format(outside=outside)
    assert reason_of(files.read(named)) == "it is outside the project"
    assert not files.is_file(named)
    assert not files.allows(named)


@pytest.mark.parametrize(
    "path", ["a.md", "./a.md", "src/../a.md", "link.md", "linked/a.md", "{root}/a.md", "../project/a.md"]
)
def test_everything_inside_the_boundary_is_read(path: str, files: ProjectFiles, root: Path) -> None:
    (root / "src").mkdir()
    (root / "a.md").write_text("inside", encoding="utf-8")
    (root / "link.md").symlink_to("a.md")
    (root / "linked").symlink_to(".")
    named = path.format(root=root)
    assert text_of(files.read(named)) == "inside"
    assert files.is_file(named)


def test_the_boundary_of_a_project_is_its_repository(root: Path, outside: Path) -> None:
    (root / ".git").mkdir()
    package = root / "packages" / "one"
    package.mkdir(parents=True)
    (root / "shared.md").write_text("shared", encoding="utf-8")
    files = ProjectFiles.bounded(package)
    assert text_of(files.read("../../shared.md")) == "shared"
    assert "outside" in reason_of(files.read("../../../outside/secret.md"))


def test_a_root_that_is_a_link_is_followed(root: Path) -> None:
    (root / "a.md").write_text("inside", encoding="utf-8")
    link = root.parent / "link"
    link.symlink_to(root)
    assert text_of(ProjectFiles.bounded(link).read("a.md")) == "inside"


def test_a_project_at_the_file_system_root_contains_everything(root: Path) -> None:
    (root / "a.md").write_text("inside", encoding="utf-8")
    files = ProjectFiles(Path("/"), Path("/"))
    assert text_of(files.read(f"{root}/a.md".removeprefix("/"))) == "inside"
    assert files.allows(str(root))


def test_without_a_boundary_everything_is_read(root: Path, outside: Path) -> None:
    assert text_of(ProjectFiles(root).read("../outside/secret.md")) == "secret"


def test_a_directory_replaced_by_a_link_after_the_check_is_refused(
    files: ProjectFiles, root: Path, outside: Path
) -> None:
    (root / "real").mkdir()
    (root / "real/secret.md").write_text("inside", encoding="utf-8")
    (root / "place").symlink_to("real")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            for target in (outside, root / "real"):
                (root / "new").symlink_to(target)
                (root / "new").replace(root / "place")

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        seen = {content.text for _ in range(3000) if isinstance(content := files.read("place/secret.md"), FileText)}
    finally:
        stop.set()
        thread.join()
    assert seen <= {"inside"}


def test_without_proc_the_path_is_checked_instead(
    files: ProjectFiles, root: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_readlink = os.readlink

    def unknown(path: str) -> str:
        if path.startswith("/proc/"):
            raise FileNotFoundError
        return real_readlink(path)

    (root / "a.md").write_text("inside", encoding="utf-8")
    (root / "link.md").symlink_to(outside / "secret.md")
    monkeypatch.setattr(os, "readlink", unknown)
    assert text_of(files.read("a.md")) == "inside"
    assert "outside" in reason_of(files.read("link.md"))


# -- files that are not text -------------------------------------------------------------------------------------------


def test_a_file_of_exactly_the_limit_is_read_but_one_byte_more_is_refused(root: Path) -> None:
    files = ProjectFiles(root, root, max_bytes=1024 * 1024)
    (root / "a").write_bytes(b"x" * 1024 * 1024)
    (root / "b").write_bytes(b"x" * (1024 * 1024 + 1))
    assert len(text_of(files.read("a"))) == 1024 * 1024
    assert reason_of(files.read("b")) == "it is larger than 1 MiB"


def test_a_huge_file_is_refused_without_reading_it(files: ProjectFiles, root: Path) -> None:
    with (root / "huge").open("wb") as huge:
        huge.truncate(2 * 1024**3)
    assert reason_of(files.read("huge")) == "it is larger than 16 MiB"


@pytest.mark.parametrize(
    ("data", "byte"), [(b"\xff", 0), (b"abc\x80", 3), (b"\xed\xa0\x80", 0), ("é".encode("utf-16"), 0), (b"a\xc3", 1)]
)
def test_the_first_byte_that_is_not_utf8_is_named(data: bytes, byte: int, files: ProjectFiles, root: Path) -> None:
    (root / "a").write_bytes(data)
    assert reason_of(files.read("a")) == f"it is not UTF-8 (byte {byte})"


def test_line_ends_and_byte_order_marks_are_not_changed(files: ProjectFiles, root: Path) -> None:
    text = "\N{BYTE ORDER MARK}one\r\ntwo\rthree\n\0"
    (root / "a").write_bytes(text.encode())
    assert text_of(files.read("a")) == text


@pytest.mark.parametrize(
    "path", ["a\0b", "x" * 300, "/".join(["x"] * 3000), "loop", "loop/x", "gone/x", "file/x", "", ".", "\udcff"]
)
def test_impossible_names_are_unreadable(path: str, files: ProjectFiles, root: Path) -> None:
    (root / "loop").symlink_to("loop")
    (root / "file").write_bytes(b"")
    assert isinstance(files.read(path), Unreadable)
    assert not files.is_file(path)


@pytest.mark.parametrize("name", ["folder", "pipe", "device"])
def test_only_regular_files_are_opened(
    name: str, files: ProjectFiles, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "folder").mkdir()
    os.mkfifo(root / "pipe")
    (root / "device").symlink_to("/dev/zero")
    monkeypatch.setattr(os, "open", lambda *_: pytest.fail("it must not be opened"))
    assert reason_of(files.read(name)) == "it is not a regular file"


def test_a_pipe_that_replaces_a_file_does_not_block_the_reader(
    files: ProjectFiles, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_bytes(b"x")
    real_open = os.open

    def replace_then_open(path: str, flags: int) -> int:
        (root / "a").unlink()
        os.mkfifo(root / "a")
        return real_open(path, flags)

    monkeypatch.setattr(os, "open", replace_then_open)
    assert reason_of(files.read("a")) == "it is not a regular file"


def test_a_read_error_is_reported_as_a_reason(files: ProjectFiles, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "a").write_bytes(b"x")
    write_only = os.open(root / "a", os.O_WRONLY)
    monkeypatch.setattr(os, "open", lambda *_: write_only)
    assert reason_of(files.read("a")) == "the file cannot be read"


def test_a_reason_contains_no_path(files: ProjectFiles, root: Path) -> None:
    (root / "latin").write_bytes(b"\xff")
    for path in ("latin", "gone", "/etc/passwd", "../x"):
        assert str(root) not in reason_of(files.read(path))


def test_no_file_descriptor_stays_open(files: ProjectFiles, root: Path) -> None:
    (root / "folder").mkdir()
    (root / "latin").write_bytes(b"\xff")
    before = open_descriptors(os.getpid())
    for path in ("folder", "latin", "gone", "/etc/passwd"):
        files.read(path)
    assert open_descriptors(os.getpid()) == before


def test_ancestors_end_with_the_project() -> None:
    assert list(ancestors("a/b/c.toml")) == ["a/b/c.toml", "a/b", "a", ""]
    assert list(ancestors("")) == [""]
