"""The numbered SQL files of a database, each of which migrates its tables to one version."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib import resources


@dataclass(frozen=True, slots=True)
class Migration:
    """A script that migrates the tables to one version."""

    version: int
    name: str
    script: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.script.encode()).hexdigest()


def read_migrations(package: str) -> tuple[Migration, ...]:
    """All migrations in the folder `migrations` of a package, oldest first."""
    folder = resources.files(package) / "migrations"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda file: file.name)
    return tuple(
        Migration(int(file.name[:4]), file.name.removesuffix(".sql"), file.read_text(encoding="utf-8"))
        for file in files
    )
