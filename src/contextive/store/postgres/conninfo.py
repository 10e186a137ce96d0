"""The parameters of a connection, from the settings of a store."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from typing import Any

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from contextive.errors import ConfigError
from contextive.store.postgres.settings import PostgresSettings

_ENCRYPTED = ("require", "verify-ca", "verify-full")
_PASSWORD_BYTES = 10_000


def connection_parameters(settings: PostgresSettings) -> dict[str, Any]:
    """What psycopg connects with. Raises ConfigError if the server would be reached without TLS."""
    try:
        parameters: dict[str, Any] = dict(conninfo_to_dict(settings.dsn))
    except ProgrammingError:
        raise ConfigError(
            "store.dsn is not a connection string of PostgreSQL.",
            hint="Write postgresql://user@host/database, or env:NAME for the value of a variable.",
        ) from None
    if settings.password_file is not None:
        parameters["password"] = _read_password(settings)
    _require_encryption(parameters, settings)
    return {
        # A host that disappeared is noticed within seconds, and not after the hours that TCP waits.
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "keepalives_count": 3,
        "tcp_user_timeout": 10_000,
        "connect_timeout": 5,
        "application_name": f"contextive {settings.project}",
        **parameters,
        "client_encoding": "utf8",
    }


def _read_password(settings: PostgresSettings) -> str:
    assert settings.password_file is not None
    try:
        with settings.password_file.open(encoding="utf-8") as file:
            return file.read(_PASSWORD_BYTES).rstrip("\r\n")
    except (OSError, UnicodeDecodeError):
        raise ConfigError(
            "store.passwordFile cannot be read.", hint="Check that it exists and that the server may read it."
        ) from None


##= docs/spec/knowledge.md#shared-store
##% Another host MUST be reached with TLS, unless `store.insecure` is set.
def _require_encryption(parameters: dict[str, Any], settings: PostgresSettings) -> None:
    if settings.insecure or not _leaves_this_host(parameters):
        return
    mode = parameters.get("sslmode") or os.environ.get("PGSSLMODE") or "require"
    if mode not in _ENCRYPTED:
        raise ConfigError(
            "store.dsn has an sslmode that allows connections to another host without TLS.",
            hint="Set sslmode=require or verify-full, or set store.insecure if the network is trusted.",
        )
    parameters["sslmode"] = mode


def _leaves_this_host(parameters: Mapping[str, Any]) -> bool:
    """Whether a server may be on another machine. A service file may name one, so its content counts as one."""
    if parameters.get("service") or os.environ.get("PGSERVICE"):
        return True
    hosts = [str(parameters.get(key) or os.environ.get(key_in_environment) or "")
             for key, key_in_environment in (("host", "PGHOST"), ("hostaddr", "PGHOSTADDR"))]  # fmt: skip
    return any(not _is_local(host) for names in hosts for host in names.split(","))


def _is_local(host: str) -> bool:
    if not host or host.startswith(("/", "@")) or host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
