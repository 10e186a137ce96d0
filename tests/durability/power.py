"""A disk that loses its power: what is left of the files after any of the changes that `power.c` wrote down.

A file has two contents, the one that processes see and the one that was synced; a directory has two lists of names. When the
power fails, what was synced is there. Of the rest a disk may have kept nothing, or any part:

- `least`: nothing is kept that was not synced, name by name and file by file.
- `apart`: every file and every directory keeps all of it or nothing, each by its own luck.
- `torn`: names are kept in their order up to some change, as a journal keeps them; of the bytes any page may be missing.
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
_FORGOTTEN = ("-shm",)
"""Endings of files that are made anew at every start, and are written where nobody can see it."""


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
    """Put a word into the record."""
    ctypes.CDLL(None).power_mark(os.fsencode(word))


def read_record(file: Path) -> Iterator[Change]:
    with file.open("rb") as stream:
        while head := stream.read(_HEAD.size):
            inode, number, length, first, second, kind = _HEAD.unpack(head)
            one, other = (os.fsdecode(stream.read(size)) for size in (first, second))
            yield Change(kind.decode(), inode, number, one, other, stream.read(length))


@dataclass(slots=True)
class File:
    """A file with the bytes that processes see, those that were synced, and the writes between the two."""

    content: bytearray
    synced: bytes
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)
    """Offset and bytes of a write; None for a truncation to that length."""

    def write(self, at: int, data: bytes | None) -> None:
        _apply(self.content, at, data)
        self.pending.append((at, data))

    def sync(self) -> None:
        self.synced = bytes(self.content)
        self.pending.clear()

    def left(self, policy: str, chance: random.Random) -> bytes:
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
    """A directory with the names that processes see, and those that were synced."""

    names: dict[str, Node] = field(default_factory=dict)
    synced: dict[str, Node] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Link:
    """A symbolic link. None is made by the jobs, so it is there from the beginning."""

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
    """The files below a directory, which were all synced when it was looked at."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._nodes: dict[int, Node] = {}
        """By inode. A number is used again once its file is gone."""
        self._folders: list[Folder] = []
        self._names: list[tuple[Folder, str, Node | None]] = []
        """Changes of names in their order; None where a name went."""
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

    # Following

    def follow(self, change: Change) -> None:
        """Do once more what the record says was done."""
        match change.kind:
            case "!":
                pass
            case "c":
                made = self._nodes[change.inode] = File(bytearray(), b"")
                self._name(change.path, made)
            case "d":
                self._name(change.path, self._new_folder(change.inode))
            case "w":
                self._file(change.inode).write(change.number, change.data)
            case "t":
                self._file(change.inode).write(change.number, None)
            case "s":
                self._file(change.inode).sync()
            case "D":
                self._sync_folder(change)
            case "u":
                self._name(change.path, None)
            case "r":
                node = self._find(change.path)
                self._name(change.other, node)
                self._name(change.path, None)
            case "l":
                self._name(change.other, self._find(change.path))
            case kind:
                raise AssertionError(f"a change of an unknown kind: {kind}")

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

    def _home(self, path: str) -> tuple[Folder, str]:
        steps = path.removeprefix(self._root).strip("/").split("/")
        folder = self.top
        for step in steps[:-1]:
            below = folder.names[step]
            assert isinstance(below, Folder)
            folder = below
        return folder, steps[-1]

    def _find(self, path: str) -> Node:
        folder, name = self._home(path)
        return folder.names[name]

    def _name(self, path: str, node: Node | None) -> None:
        folder, name = self._home(path)
        if node is None:
            folder.names.pop(name, None)
        else:
            folder.names[name] = node
        self._names.append((folder, name, node))

    # After the power came back

    def write_to(self, target: Path, policy: str, seed: int) -> None:
        """What is left, as files below another directory."""
        chance = random.Random(seed)
        kept = self._kept_names(policy, chance)
        self._write(self.top, target, policy, chance, kept)

    def _kept_names(self, policy: str, chance: random.Random) -> dict[int, dict[str, Node]]:
        """The names of each directory that are left, by the identity of the directory."""
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
            place = target / name
            match node:
                case Link(target=leads_to):
                    place.symlink_to(leads_to)
                case Folder():
                    self._write(node, place, policy, chance, kept)
                case File() if not name.endswith(_FORGOTTEN):
                    place.write_bytes(node.left(policy, chance))

    def differences(self, path: Path | None = None, folder: Folder | None = None) -> Iterator[str]:
        """Where the record does not explain what stands on the real disk: it has to explain everything."""
        path, folder = path or Path(self._root), folder or self.top
        there = {entry.name for entry in path.iterdir() if not entry.name.endswith(_FORGOTTEN)}
        known = {name for name in folder.names if not name.endswith(_FORGOTTEN)}
        yield from (f"{path / name} is on one side only" for name in there ^ known)
        for name in there & known:
            match folder.names[name]:
                case Folder() as below:
                    yield from self.differences(path / name, below)
                case File(content=content) if (path / name).read_bytes() != content:
                    yield f"{path / name} has another content"
