"""Files are written completely or not at all, by path or in an open directory."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from contextive import file_writing
from contextive.errors import TimedOut
from contextive.file_writing import (
    NotRegular,
    is_temporary,
    lock,
    new_file,
    remove_leftovers,
    write_file,
    write_file_in,
)
from contextive.locks import unlock
from tests.processes import clean_environment, full_disk

BARE = Path(__file__).parent / "portability" / "bare"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def permissions(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@contextmanager
def opened(path: Path) -> Iterator[int]:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield handle
    finally:
        os.close(handle)


def by_path(folder: Path, data: bytes, overwrite: bool = True) -> None:
    write_file(folder / "file", data, overwrite=overwrite)


def by_handle(folder: Path, data: bytes, overwrite: bool = True) -> None:
    with opened(folder) as handle:
        write_file_in(handle, "file", data, overwrite=overwrite)


Write = Callable[..., None]
both_forms = pytest.mark.parametrize("write", [by_path, by_handle])


@both_forms
def test_a_new_file_has_its_content_and_permissions_by_the_umask(write: Write, tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write(tmp_path, b"new")
    finally:
        os.umask(before)
    assert contents(tmp_path) == {"file": b"new"}
    assert permissions(tmp_path / "file") == 0o640


@both_forms
def test_a_write_that_fails_leaves_the_old_file_and_no_temporary_one(write: Write, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    with full_disk(), pytest.raises(OSError, match="File too large"):
        write(tmp_path, b"x" * 100_000)
    assert contents(tmp_path) == {"file": b"old"}


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_a_caller_that_fails_before_publishing_leaves_nothing(kind: type[BaseException], tmp_path: Path) -> None:
    def fail() -> None:
        with new_file(tmp_path) as new:
            new.stream.write(b"half")
            raise kind

    with pytest.raises(kind):
        fail()
    assert contents(tmp_path) == {}


@both_forms
def test_an_existing_file_is_not_replaced_without_overwrite(write: Write, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(FileExistsError):
        write(tmp_path, b"new", overwrite=False)
    assert contents(tmp_path) == {"file": b"old"}


@both_forms
def test_only_one_of_many_writers_of_a_new_name_succeeds(write: Write, tmp_path: Path) -> None:
    written: list[bytes] = []
    start = threading.Barrier(8)

    def compete(data: bytes) -> None:
        start.wait(30)
        try:
            write(tmp_path, data, overwrite=False)
        except FileExistsError:
            return
        written.append(data)

    threads = [threading.Thread(target=compete, args=(bytes([65 + number]) * 5000,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(written) == 1
    assert contents(tmp_path) == {"file": written[0]}


@both_forms
@pytest.mark.parametrize("is_taken", [False, True])
def test_a_file_system_without_hard_links_claims_the_name_first(
    write: Write, is_taken: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    if is_taken:
        (tmp_path / "file").write_bytes(b"old")
        with pytest.raises(FileExistsError):
            write(tmp_path, b"new", overwrite=False)
    else:
        write(tmp_path, b"new", overwrite=False)
    assert contents(tmp_path) == {"file": b"old" if is_taken else b"new"}


def test_an_open_directory_keeps_the_permissions_of_a_file_that_is_replaced(tmp_path: Path) -> None:
    with opened(tmp_path) as folder:
        assert not write_file_in(folder, "file", b"old", overwrite=True, mode=0o600)
        assert permissions(tmp_path / "file") == 0o600
        (tmp_path / "file").chmod(0o664)
        assert write_file_in(folder, "file", b"new", overwrite=True, mode=0o600)
    assert (contents(tmp_path), permissions(tmp_path / "file")) == ({"file": b"new"}, 0o664)


def test_the_permissions_are_set_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"private")
    (tmp_path / "file").chmod(0o600)
    with new_file(tmp_path, like="file") as new:
        (temporary,) = (path for path in tmp_path.iterdir() if is_temporary(path.name))
        assert (permissions(temporary), temporary.stat().st_size) == (0o600, 0)
        new.publish("file")


def test_a_private_file_stays_private_if_it_replaces_a_public_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "file").chmod(0o666)
    write_file(tmp_path / "file", b"secret", mode=0o600)
    assert permissions(tmp_path / "file") == 0o600


def test_a_path_replaces_a_link_and_never_writes_through_it(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_bytes(b"untouched")
    (tmp_path / "file").symlink_to(target)
    write_file(tmp_path / "file", b"new")
    assert (target.read_bytes(), (tmp_path / "file").is_symlink()) == (b"untouched", False)


@pytest.mark.parametrize("kind", ["link", "pipe", "directory"])
def test_an_open_directory_replaces_regular_files_only(kind: str, tmp_path: Path) -> None:
    target, name = tmp_path / "target", tmp_path / "file"
    target.write_bytes(b"untouched")
    match kind:
        case "link":
            name.symlink_to(target)
        case "pipe":
            os.mkfifo(name)
        case _:
            name.mkdir()
    with opened(tmp_path) as folder, pytest.raises(NotRegular):
        write_file_in(folder, "file", b"new", overwrite=True)
    assert target.read_bytes() == b"untouched"
    assert {path.name for path in tmp_path.iterdir()} == {"target", "file"}


@pytest.mark.parametrize("overwrite", [False, True])
def test_an_open_directory_does_not_follow_a_link_that_replaced_it(overwrite: bool, tmp_path: Path) -> None:
    folder, moved, outside = tmp_path / "folder", tmp_path / "moved", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (outside / "file").write_bytes(b"untouched")
    with opened(folder) as handle:
        folder.rename(moved)
        folder.symlink_to(outside, target_is_directory=True)
        write_file_in(handle, "file", b"new", overwrite=overwrite)
    assert (contents(outside), contents(moved)) == ({"file": b"untouched"}, {"file": b"new"})


@pytest.mark.parametrize("durable", [True, False])
def test_a_durable_file_is_synced_before_the_rename_and_its_directory_afterwards(
    durable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[str, bool]] = []
    sync = os.fsync

    def watch(handle: int) -> None:
        kind = "directory" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file"
        synced.append((kind, (tmp_path / "file").exists()))
        sync(handle)

    monkeypatch.setattr(os, "fsync", watch)
    write_file(tmp_path / "file", b"text", durable=durable)
    assert synced == ([("file", False), ("directory", True)] if durable else [])


def test_a_file_being_written_by_path_is_not_removed_as_a_leftover(tmp_path: Path) -> None:
    with new_file(tmp_path) as new, opened(tmp_path) as folder:
        new.stream.write(b"half")
        remove_leftovers(folder)
        new.stream.write(b" and half")
        new.publish("file")
    assert contents(tmp_path) == {"file": b"half and half"}


def test_leftovers_of_a_killed_writer_are_removed_in_an_open_directory_only(tmp_path: Path) -> None:
    left = tmp_path / ".0123456789abcdef.tmp"
    left.write_bytes(b"half")
    by_path(tmp_path, b"new")
    assert left.exists()
    by_handle(tmp_path, b"new")
    assert contents(tmp_path) == {"file": b"new"}


def test_a_writer_gives_up_if_another_one_keeps_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_writing, "LOCK_SECONDS", 0.05)
    with opened(tmp_path) as folder:
        assert lock(folder, exclusive=True)
        with pytest.raises(TimedOut):
            by_path(tmp_path, b"new")
        unlock(folder)
    assert contents(tmp_path) == {}


def test_a_file_is_written_into_a_directory_that_cannot_be_listed(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    folder.chmod(0o300)
    write_file(folder / "file", b"new")
    folder.chmod(0o700)
    assert contents(folder) == {"file": b"new"}


def test_a_path_is_written_on_a_system_without_directory_handles(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from contextive.file_writing import write_file\n"
        "path = Path(sys.argv[1])\n"
        "write_file(path, b'old', overwrite=False); write_file(path, b'new')\n"
        "try: write_file(path, b'newer', overwrite=False)\n"
        "except FileExistsError: print('refused')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "file")],
        env=clean_environment({"PYTHONPATH": str(BARE)}),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stdout, done.stderr) == ("refused\n", "")
    assert contents(tmp_path) == {"file": b"new"}
