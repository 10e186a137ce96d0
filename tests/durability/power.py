"""Simulates a disk that loses its power: what is left of the files after any of the changes that `power.c` recorded.

A file has two contents, the one that processes see and the one that was synced; a directory has two lists of names.
When the power fails, everything that was synced survives. Of the rest a disk may have kept any part. There are three
policies:

- `least`: only synced names and contents are kept.
- `apart`: every file and every directory keeps either all of its changes or none, at random.
- `torn`: names are kept in order up to a random change, as in a journal; any page of the contents may be missing.
"""

from __future__ import annotations

import ctypes
import os
import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

POLICIES = ("least", "apart", "torn")
WORD, SYNCS = "!", ("s", "D")
_HEAD = struct.Struct("=QQQIIc7x")
_PAGE = 4096
_IGNORED = ("-shm",)
"""Suffixes of files that are created again at every start, and are written through a memory map, which is not
recorded."""


@dataclass(frozen=True, slots=True)
class Change:
    """One entry of the record."""

    kind: str
    inode: int
    number: int
    path: str
    other: str
    data: bytes


def start_recording(root: Path, file: Path) -> None:
    ctypes.CDLL(None).power_record(os.fsencode(root), os.fsencode(file))


def mark(word: str) -> None:
    """Write a word to the record."""
    ctypes.CDLL(None).power_mark(os.fsencode(word))


def read_record(file: Path) -> Iterator[Change]:
    with file.open("rb") as stream:
        while head := stream.read(_HEAD.size):
            inode, number, length, first, second, kind = _HEAD.unpack(head)
            path, other = (os.fsdecode(stream.read(size)) for size in (first, second))
            yield Change(kind.decode(), inode, number, path, other, stream.read(length))


@dataclass(slots=True)
class File:
    """A file: the content that processes see, the synced content, and the writes in between."""

    content: bytearray
    synced: bytes
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)
    """Offset and bytes of each write; None instead of bytes for a truncation to that length."""

    def write(self, at: int, data: bytes | None) -> None:
        _apply(self.content, at, data)
        self.pending.append((at, data))

    def sync(self) -> None:
        self.synced = bytes(self.content)
        self.pending.clear()

    def remaining(self, policy: str, chance: random.Random) -> bytes:
        if policy == "least" or not self.pending:
            return self.synced
        if policy == "apart":
            return bytes(self.content) if chance.random() < 0.5 else self.synced
        torn = bytearray(self.synced)
        for at, data in self.pending:
            if data is None:
                _apply(torn, at, data)
                continue
            for start in range(0, len(data), _PAGE):
                if chance.random() < 0.5:
                    _apply(torn, at + start, data[start : start + _PAGE])
        return bytes(torn)


@dataclass(slots=True)
class Folder:
    """A directory: the names that processes see, and the synced names."""

    names: dict[str, Node] = field(default_factory=dict)
    synced: dict[str, Node] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Link:
    """A symbolic link. The jobs create none, so it existed from the start."""

    target: str


Node = File | Folder | Link


def _apply(content: bytearray, at: int, data: bytes | None) -> None:
    if data is None:
        del content[at:]
        content.extend(bytes(at - len(content)))
        return
    if at > len(content):
        content.extend(bytes(at - len(content)))
    content[at : at + len(data)] = data


class Disk:
    """The files below a directory. All of them count as synced at the start."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._nodes: dict[int, Node] = {}
        """By inode. The number of a removed file is used again."""
        self._folders: list[Folder] = []
        self._names: list[tuple[Folder, str, Node | None]] = []
        """Changes of names in order; None for a removed name."""
        self.top = self._scan(root)

    def _scan(self, path: Path) -> Folder:
        folder = self._new_folder(path.stat().st_ino)
        for entry in os.scandir(path):
            node: Node
            if entry.is_symlink():
                node = Link(str(Path(entry.path).readlink()))
            elif entry.is_dir():
                node = self._scan(Path(entry.path))
            else:
                data = Path(entry.path).read_bytes()
                node = File(bytearray(data), data)
            self._nodes[entry.inode()] = node
            folder.names[entry.name] = folder.synced[entry.name] = node
        return folder

    def _new_folder(self, inode: int) -> Folder:
        folder = self._nodes[inode] = Folder()
        self._folders.append(folder)
        return folder

    # Replaying changes

    def replay(self, change: Change) -> None:
        """Apply a change of the record."""
        match change.kind:
            case "!":
                pass
            case "c":
                file = self._nodes[change.inode] = File(bytearray(), b"")
                self._set_name(change.path, file)
            case "d":
                self._set_name(change.path, self._new_folder(change.inode))
            case "w":
                self._file(change.inode).write(change.number, change.data)
            case "t":
                self._file(change.inode).write(change.number, None)
            case "s":
                self._file(change.inode).sync()
            case "D":
                self._sync_folder(change)
            case "u":
                self._set_name(change.path, None)
            case "r":
                node = self._find(change.path)
                self._set_name(change.other, node)
                self._set_name(change.path, None)
            case "l":
                self._set_name(change.other, self._find(change.path))
            case kind:
                raise AssertionError(f"unknown kind of change: {kind}")

    def _sync_folder(self, change: Change) -> None:
        folder = self._nodes[change.inode]
        assert isinstance(folder, Folder)
        found = {}
        for entry in change.data.split(b"\0")[:-1]:
            inode, _, name = entry.partition(b" ")
            if name not in (b".", b".."):
                found[os.fsdecode(name)] = self._nodes[int(inode)]
        folder.names, folder.synced = found, dict(found)
        self._names = [step for step in self._names if step[0] is not folder]

    def _file(self, inode: int) -> File:
        node = self._nodes[inode]
        assert isinstance(node, File)
        return node

    def _parent_of(self, path: str) -> tuple[Folder, str]:
        steps = path.removeprefix(self._root).strip("/").split("/")
        folder = self.top
        for step in steps[:-1]:
            below = folder.names[step]
            assert isinstance(below, Folder)
            folder = below
        return folder, steps[-1]

    def _find(self, path: str) -> Node:
        folder, name = self._parent_of(path)
        return folder.names[name]

    def _set_name(self, path: str, node: Node | None) -> None:
        folder, name = self._parent_of(path)
        if node is None:
            folder.names.pop(name, None)
        else:
            folder.names[name] = node
        self._names.append((folder, name, node))

    # After the power cut

    def write_to(self, target: Path, policy: str, seed: int) -> None:
        """Write what is left of the files to another directory."""
        chance = random.Random(seed)
        kept = self._kept_names(policy, chance)
        self._write(self.top, target, policy, chance, kept)

    def _kept_names(self, policy: str, chance: random.Random) -> dict[int, dict[str, Node]]:
        """The names that are left in each directory, by the `id` of the directory."""
        kept = {id(folder): dict(folder.synced) for folder in self._folders}
        if policy == "apart":
            for folder in self._folders:
                if chance.random() < 0.5:
                    kept[id(folder)] = dict(folder.names)
        if policy == "torn":
            for folder, name, node in self._names[: chance.randint(0, len(self._names))]:
                if node is None:
                    kept[id(folder)].pop(name, None)
                else:
                    kept[id(folder)][name] = node
        return kept

    def _write(
        self, folder: Folder, target: Path, policy: str, chance: random.Random, kept: dict[int, dict[str, Node]]
    ) -> None:
        target.mkdir()
        for name, node in sorted(kept[id(folder)].items()):
            path_on_disk = target / name
            match node:
                case Link(target=link_target):
                    path_on_disk.symlink_to(link_target)
                case Folder():
                    self._write(node, path_on_disk, policy, chance, kept)
                case File() if not name.endswith(_IGNORED):
                    path_on_disk.write_bytes(node.remaining(policy, chance))

    def differences(self, path: Path | None = None, folder: Folder | None = None) -> Iterator[str]:
        """Differences between the replayed record and the real disk. There must be none."""
        path, folder = path or Path(self._root), folder or self.top
        on_disk = {entry.name for entry in path.iterdir() if not entry.name.endswith(_IGNORED)}
        known = {name for name in folder.names if not name.endswith(_IGNORED)}
        yield from (f"{path / name} is only on one side" for name in on_disk ^ known)
        for name in on_disk & known:
            match folder.names[name]:
                case Folder() as below:
                    yield from self.differences(path / name, below)
                case File(content=content) if (path / name).read_bytes() != content:
                    yield f"{path / name} has a different content"
