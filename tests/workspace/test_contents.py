from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from contextive.workspace.contents import Contents, Skipped, decode_text, read_bytes
from contextive.workspace.files import Fingerprint
from tests.workspace.repositories import write


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "root"
    write(folder, {"a/b.txt": "hello"})
    return folder


def test_bytes_are_returned_with_their_fingerprint(root: Path) -> None:
    assert read_bytes(root, "a/b.txt", 100) == Contents(b"hello", Fingerprint.of((root / "a/b.txt").stat()))


@pytest.mark.parametrize(
    "path", ["../outside", "/etc/passwd", "a/../a/b.txt", "", ".", "a//b.txt", "./a/b.txt", "a\0b"]
)
def test_a_path_that_is_not_clearly_below_the_root_is_refused(root: Path, path: str) -> None:
    assert read_bytes(root, path, 100) == Skipped("bad_name")


def test_links_are_refused_anywhere_in_the_path(root: Path) -> None:
    write(root.parent, {"outside/c.txt": "secret"})
    (root / "link").symlink_to(root.parent / "outside" / "c.txt")
    (root / "folder").symlink_to(root.parent / "outside")
    (root / "inner").symlink_to("a")
    for path in ("link", "folder/c.txt", "inner/b.txt"):
        outcome = read_bytes(root, path, 100)
        assert isinstance(outcome, Skipped)
        assert outcome.reason == "symlink"


def test_the_root_may_be_a_link(root: Path) -> None:
    alias = root.parent / "alias"
    alias.symlink_to(root)
    found = read_bytes(alias, "a/b.txt", 100)
    assert isinstance(found, Contents)
    assert found.data == b"hello"


def test_a_file_over_the_limit_is_too_large(root: Path) -> None:
    assert isinstance(read_bytes(root, "a/b.txt", 5), Contents)
    outcome = read_bytes(root, "a/b.txt", 4)
    assert isinstance(outcome, Skipped)
    assert outcome.reason == "too_large"


def test_a_pipe_does_not_block_the_reader(root: Path) -> None:
    os.mkfifo(root / "pipe")
    outcome = read_bytes(root, "pipe", 100)
    assert isinstance(outcome, Skipped)
    assert outcome.reason == "special"


def test_directories_and_missing_files_have_different_reasons(root: Path) -> None:
    directory, missing = read_bytes(root, "a", 100), read_bytes(root, "gone", 100)
    assert isinstance(directory, Skipped)
    assert directory.reason == "special"
    assert missing == Skipped("unreadable")


def test_swapping_a_directory_for_a_link_never_leads_outside(root: Path) -> None:
    write(root.parent, {"outside/b.txt": "secret"})
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            (root / "a").rename(root / "kept")
            (root / "a").symlink_to(root.parent / "outside")
            (root / "a").unlink()
            (root / "kept").rename(root / "a")

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(3000):
            outcome = read_bytes(root, "a/b.txt", 100)
            assert not (isinstance(outcome, Contents) and outcome.data == b"secret")
    finally:
        stop.set()
        thread.join(10)


def test_text_is_utf_8_without_its_byte_order_mark() -> None:
    assert decode_text("grüße".encode()) == "grüße"
    assert decode_text(b"\xef\xbb\xbf# Title") == "# Title"
    assert decode_text(b"") == ""


@pytest.mark.parametrize("data", [b"a\0b", b"\xff\xfe", "é".encode("latin-1"), b"x" * 5000 + b"\0"])
def test_bytes_that_are_not_text_are_binary(data: bytes) -> None:
    assert decode_text(data) == Skipped("binary")


##= docs/spec/knowledge.md#indexed-files
##% A file whose name or content shows that it holds a secret MUST NOT be indexed.
def test_a_text_with_a_secret_is_not_returned() -> None:
    assert decode_text(("token = gh" + "p_" + "a" * 36).encode()) == Skipped("secret")
