"""The archive of a backup: a gzipped tar of a manifest and the files that it lists, in its order and with its hashes.

Archives are untrusted input. Only files that the manifest lists are unpacked; names cannot lead out of the directory;
links, devices and extended headers are refused; and no more is read than the manifest says and than is plausible for
the size of the archive.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import stat
import tarfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from contextive.errors import InvalidRequest, TooLarge, Unavailable

FORMAT = 1
MANIFEST = "manifest.json"
DATABASE = "index.db"
CONTENT = "content.jsonl"
_EVIDENCE = "evidence.json"
_KEPT = re.compile(r"audit/[a-z][a-z0-9._-]{0,63}|evidence\.json")
_MAX_MEMBERS = 64
_MAX_MANIFEST_BYTES = 1_048_576
_MAX_KEPT_BYTES = 32 * 1024 * 1024
_MAX_RATIO = 200
_SMALL_BYTES = 64 * 1024 * 1024
_BLOCK = tarfile.BLOCKSIZE
_PIECE = 1024 * 1024
_COMPRESSION = 5


class BadArchive(InvalidRequest):
    """The archive is truncated, modified, or was not created by this product."""


@dataclass(frozen=True, slots=True)
class Member:
    """A file of an archive."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The contents of an archive, and where they came from."""

    created_at: str
    version: str
    origin: str
    """A hash of the path of the state directory that was backed up."""
    schema_version: int
    generation: int
    counts: Mapping[str, int]
    content_files: int
    """The number of indexed files that `content.jsonl` lists."""
    files: tuple[Member, ...]

    def as_json(self) -> bytes:
        return (json.dumps({"format": FORMAT, **asdict(self)}, indent=1, sort_keys=True) + "\n").encode()


def digest_of(path: Path) -> tuple[int, str]:
    """Size and SHA-256 of a file."""
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
            size += len(piece)
    return size, digest.hexdigest()


def write_archive(output: IO[bytes], manifest: Manifest, folder: Path, mtime: float) -> None:
    """Write the manifest and its files, which are in `folder`."""
    with (
        gzip.GzipFile(fileobj=output, mode="wb", compresslevel=_COMPRESSION, mtime=mtime, filename="") as packed,
        tarfile.open(fileobj=packed, mode="w:", format=tarfile.GNU_FORMAT) as tar,
    ):
        text = manifest.as_json()
        _add(tar, MANIFEST, len(text), mtime, None, text)
        for member in manifest.files:
            with (folder / member.name).open("rb") as file:
                _add(tar, member.name, member.size, mtime, file, b"")


def _add(tar: tarfile.TarFile, name: str, size: int, mtime: float, file: IO[bytes] | None, text: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mtime, entry.mode = size, int(mtime), 0o600
    tar.addfile(entry, file or io.BytesIO(text))


@contextmanager
def _open_archive(path: Path) -> Iterator[tuple[gzip.GzipFile, int]]:
    """The uncompressed stream of an archive, and how large it may get. A broken stream is raised as `BadArchive`."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        raise InvalidRequest("The archive cannot be opened.", hint="Check its name and its permissions.") from None
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        raise InvalidRequest("The archive is not a regular file.")
    with os.fdopen(handle, "rb") as file:
        try:
            with gzip.GzipFile(fileobj=file, mode="rb") as stream:
                yield stream, status.st_size * _MAX_RATIO + _SMALL_BYTES
        except (EOFError, zlib.error, gzip.BadGzipFile, tarfile.HeaderError):
            raise BadArchive("The archive is truncated or damaged.") from None


def read_manifest(path: Path) -> Manifest:
    """The manifest of an archive, its first file; the rest is not read."""
    with _open_archive(path) as (stream, _limit):
        return _read_manifest(stream)


def check_archive(path: Path) -> Manifest:
    """Read the whole archive and compare it with its manifest."""
    return _unpack(path, None)


##= docs/spec/gateway.md#restoring-a-backup
##% A restore MUST check every byte of an archive before it changes anything.
def unpack_archive(path: Path, folder: Path) -> Manifest:
    """Unpack an archive into an empty directory, and check it at the same time."""
    return _unpack(path, folder)


def _unpack(path: Path, folder: Path | None) -> Manifest:
    with _open_archive(path) as (stream, limit):
        manifest = _read_manifest(stream)
        total = sum(member.size for member in manifest.files)
        if total > limit:
            raise TooLarge("The archive claims to unpack to far more than is plausible for its size.")
        if folder is not None and total > _free_bytes(folder):
            raise Unavailable("There is not enough disk space to unpack the archive.", hint="Free some space.")
        for member in manifest.files:
            name, size = _read_header(stream)
            if (name, size) != (member.name, member.size):
                raise BadArchive("The archive contains other files than its manifest says.")
            if folder is None:
                _copy(stream, member, lambda _piece: None)
            else:
                _write(stream, member, folder)
            _skip_padding(stream, size)
        _expect_end(stream)
        return manifest


def _read_manifest(stream: gzip.GzipFile) -> Manifest:
    name, size = _read_header(stream)
    if name != MANIFEST or size > _MAX_MANIFEST_BYTES:
        raise BadArchive("The archive is not a backup: its first file is not a manifest.")
    text = _read_exactly(stream, size)
    _skip_padding(stream, size)
    try:
        manifest = _parse_manifest(json.loads(text))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BadArchive("The manifest of the archive cannot be read.") from None
    names = [member.name for member in manifest.files]
    if len(names) > _MAX_MEMBERS or len(set(names)) != len(names) or DATABASE not in names:
        raise BadArchive("The manifest lists no index, a file twice, or too many files.")
    if not all(name in (DATABASE, CONTENT) or _KEPT.fullmatch(name) for name in names):
        raise BadArchive("The manifest lists a file that does not belong in a backup.")
    if any(member.size > _MAX_KEPT_BYTES for member in manifest.files if _KEPT.fullmatch(member.name)):
        raise TooLarge("The archive contains a log file that is too large.")
    return manifest


def _parse_manifest(values: Any) -> Manifest:
    if values["format"] != FORMAT:
        raise BadArchive(f"The archive has format {str(values['format'])[:20]}; this version reads {FORMAT}.")
    files = tuple(_parse_member(each) for each in values["files"])
    counts = {str(name): _number(count) for name, count in values["counts"].items()}
    return Manifest(
        created_at=str(values["created_at"])[:40],
        version=str(values["version"])[:40],
        origin=str(values["origin"])[:64],
        schema_version=_number(values["schema_version"]),
        generation=_number(values["generation"]),
        counts=counts,
        content_files=_number(values["content_files"]),
        files=files,
    )


def _parse_member(values: Any) -> Member:
    name, digest = values["name"], values["sha256"]
    if not isinstance(name, str) or not isinstance(digest, str):
        raise TypeError
    return Member(name, _number(values["size"]), digest)


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError
    return value


##= docs/spec/gateway.md#restoring-a-backup
##% An archive that was modified, contains links, becomes too large or was not created by this product MUST be
##% refused.
def _read_header(stream: gzip.GzipFile) -> tuple[str, int]:
    """Name and size of the next file. Anything that is not a regular file is refused before its content is read."""
    entry = tarfile.TarInfo.frombuf(_read_exactly(stream, _BLOCK), "utf-8", "surrogateescape")
    if entry.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or entry.linkname or entry.size < 0:
        raise BadArchive("The archive contains something other than regular files.")
    return entry.name, entry.size


def _copy(stream: gzip.GzipFile, member: Member, write: Callable[[bytes], object]) -> None:
    digest, remaining = hashlib.sha256(), member.size
    while remaining:
        piece = stream.read(min(remaining, _PIECE))
        if not piece:
            raise EOFError
        digest.update(piece)
        write(piece)
        remaining -= len(piece)
    if digest.hexdigest() != member.sha256:
        raise BadArchive(f"The file {member.name} in the archive does not match its hash in the manifest.")


def _write(stream: gzip.GzipFile, member: Member, folder: Path) -> None:
    target = folder / member.name
    target.parent.mkdir(mode=0o700, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        with os.fdopen(os.open(target, flags, 0o600), "wb") as file:
            _copy(stream, member, file.write)
    except OSError as failure:
        if isinstance(failure, gzip.BadGzipFile):
            raise
        reason = failure.strerror or "the operating system refused it"
        raise Unavailable(f"The archive cannot be unpacked: {reason}.") from None


def _read_exactly(stream: gzip.GzipFile, size: int) -> bytes:
    data = stream.read(size)
    if len(data) != size:
        raise EOFError
    return data


def _skip_padding(stream: gzip.GzipFile, size: int) -> None:
    _read_exactly(stream, -size % _BLOCK)


def _expect_end(stream: gzip.GzipFile) -> None:
    """After the last file there are only zeros, up to the end of the tar record."""
    rest = stream.read(tarfile.RECORDSIZE + 2 * _BLOCK + 1)
    if len(rest) < 2 * _BLOCK or len(rest) > tarfile.RECORDSIZE + 2 * _BLOCK or rest.strip(b"\0"):
        raise BadArchive("The archive has data after its end, or ends too early.")


def _free_bytes(folder: Path) -> int:
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize


def kept_files(state_dir: Path) -> Sequence[str]:
    """Files of a state directory, besides the database, that exist nowhere else: results of tests, and logs of recipe runs."""
    folder = state_dir / "audit"
    logs = sorted(folder.iterdir()) if folder.is_dir() and not folder.is_symlink() else []
    found = [state_dir / _EVIDENCE, *logs]
    names = [entry.relative_to(state_dir).as_posix() for entry in found if entry.is_file() and not entry.is_symlink()]
    return [name for name in names if _KEPT.fullmatch(name)][: _MAX_MEMBERS - 2]
