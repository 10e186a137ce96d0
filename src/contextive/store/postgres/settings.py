"""Where a shared store is, and how it is reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from contextive.errors import ConfigError

_FROM_ENVIRONMENT = "env:"


@dataclass(frozen=True, slots=True)
class PostgresSettings:
    """The connection of one project to its schema."""

    dsn: str = field(repr=False)
    project: str = "contextive"
    """The schema of the project."""
    password_file: Path | None = None
    insecure: bool = False
    """Whether other hosts may be reached without TLS."""
    connections: int = 16
    """Most connections of this process."""
    wait_seconds: float = 10.0
    """How long a call waits for the database before it fails."""
    statement_seconds: float = 60.0
    migrate: bool = True
    """Whether opening the store may create and migrate its tables."""


def resolve_dsn(dsn: str, environ: Mapping[str, str]) -> str:
    """The connection string; of `env:NAME`, the value of that variable."""
    if not dsn.startswith(_FROM_ENVIRONMENT):
        return dsn
    name = dsn.removeprefix(_FROM_ENVIRONMENT)
    if value := environ.get(name, "").strip():
        return value
    raise ConfigError(
        f"store.dsn is taken from the variable {name}, which is not set.", hint=f"Set {name}, or remove store.dsn."
    )
