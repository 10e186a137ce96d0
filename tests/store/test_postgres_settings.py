"""How a shared store is reached, and how the shared statements are translated. Needs no server."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("psycopg")

from contextive.errors import ConfigError, UpstreamError
from contextive.store import open_store, store_condition
from contextive.store.postgres.conninfo import connection_parameters
from contextive.store.postgres.settings import PostgresSettings, resolve_dsn
from contextive.store.postgres.statements import bind, translate

NOWHERE = "postgresql://me:hunter22@127.0.0.1:1/secret_name"


##= docs/spec/knowledge.md#shared-store
##% Another host MUST be reached with TLS, unless `store.insecure` is set.
@pytest.mark.parametrize("host", ["db.example.org", "192.0.2.7", "127.0.0.1,db.example.org"])
def test_another_host_is_reached_with_tls_only(host: str) -> None:
    assert connection_parameters(PostgresSettings(f"host={host}"))["sslmode"] == "require"
    assert connection_parameters(PostgresSettings(f"host={host} sslmode=verify-full"))["sslmode"] == "verify-full"
    with pytest.raises(ConfigError, match="without TLS"):
        connection_parameters(PostgresSettings(f"host={host} sslmode=prefer"))
    assert connection_parameters(PostgresSettings(f"host={host} sslmode=prefer", insecure=True))["sslmode"] == "prefer"


@pytest.mark.parametrize("dsn", ["postgresql:///x", "host=localhost", "postgresql://[::1]/x", "host=/run/postgresql"])
def test_a_server_on_this_host_needs_no_tls(dsn: str) -> None:
    assert "sslmode" not in connection_parameters(PostgresSettings(dsn))


def test_a_host_from_the_environment_needs_tls_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", "db.example.org")
    assert connection_parameters(PostgresSettings("dbname=x"))["sslmode"] == "require"
    monkeypatch.setenv("PGSSLMODE", "disable")
    with pytest.raises(ConfigError):
        connection_parameters(PostgresSettings("dbname=x"))


def test_the_password_is_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("hunter2\n", encoding="utf-8")
    settings = PostgresSettings("dbname=x", password_file=tmp_path / "password")
    assert connection_parameters(settings)["password"] == "hunter2"
    with pytest.raises(ConfigError) as caught:
        connection_parameters(PostgresSettings("dbname=x", password_file=tmp_path / "missing"))
    assert str(tmp_path) not in caught.value.full_message()


def test_the_dsn_can_be_the_value_of_a_variable() -> None:
    assert resolve_dsn("env:DATABASE_URL", {"DATABASE_URL": "postgresql:///x"}) == "postgresql:///x"
    with pytest.raises(ConfigError, match="DATABASE_URL"):
        resolve_dsn("env:DATABASE_URL", {})


##= docs/spec/knowledge.md#shared-store
##% An error of a shared store MUST NOT show its address or a secret.
def test_an_error_shows_neither_the_address_nor_the_password(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    settings = PostgresSettings(NOWHERE, wait_seconds=0.2)
    with pytest.raises(UpstreamError) as caught:
        open_store(tmp_path, postgres=settings)
    condition = store_condition(tmp_path, settings)
    assert condition.reason_code == "unreachable"
    for text in (caught.value.full_message(), condition.message, condition.hint, caplog.text, repr(settings)):
        assert not any(secret in text for secret in ("hunter22", "127.0.0.1", "secret_name"))


def test_a_statement_is_qualified_and_keeps_the_order_of_given_values() -> None:
    given = translate("SELECT n.key FROM json_each(?) g CROSS JOIN node n ON n.label = ? AND n.key = g.value", "p")
    assert given.sql == (
        'SELECT n.key FROM "p".each_value($1) g JOIN "p".node n ON n.label = $2 AND n.key = g.value ORDER BY g.key'
    )
    assert translate("DELETE FROM edge WHERE source = ?1 OR target = ?1", "p").sql == (
        'DELETE FROM "p".edge WHERE source = $1 OR target = $1'
    )


def test_a_text_with_the_character_nul_can_be_looked_up() -> None:
    statement = translate("SELECT 1 FROM json_each(?) g JOIN node n ON n.key = g.value WHERE n.key = ?", "p")
    assert bind(statement, ['["a\\u0000", "\\ud800", "\\\\u0000"]', "b\x00"]) == [
        '["a\ufffd", "?", "\\\\u0000"]',
        "b\ufffd",
    ]
