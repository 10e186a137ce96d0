"""Checks that the rows of the database are consistent.

Readers never see an edge without both ends, because such loose edges are stored separately. They are reported here
too: after a complete ingest there should be none.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from contextive.store.sqlite import schema
from contextive.store.sqlite.connection import Database
from contextive.store.values import Discrepancy

_IDLE_OWNERS = (
    "SELECT count(*) FROM owner WHERE number NOT IN"
    " (SELECT owner FROM statement UNION SELECT owner FROM edge UNION SELECT owner FROM loose_edge)"
)
_CHECKS: tuple[tuple[str, str, str], ...] = (
    ("artifact", "{n} files are not in the ledger.",
     "SELECT count(*) FROM artifact WHERE number NOT IN (SELECT artifact FROM ledger)"),
    ("chunk", "{n} chunks have no file.", "SELECT count(*) FROM chunk WHERE artifact NOT IN (SELECT number FROM artifact)"),
    ("symbol", "{n} symbols have no file.", "SELECT count(*) FROM symbol WHERE artifact NOT IN (SELECT number FROM artifact)"),
    ("node", "{n} nodes have no owner.", "SELECT count(*) FROM node WHERE number NOT IN (SELECT node FROM statement)"),
    ("node", "{n} statements have no node.",
     "SELECT count(*) FROM statement WHERE node NOT IN (SELECT number FROM node)"),
    ("node", "{n} statements have no owner.",
     "SELECT count(*) FROM statement WHERE owner NOT IN (SELECT number FROM owner)"),
    ("edge", "{n} edges have no owner.", "SELECT count(*) FROM edge WHERE owner NOT IN (SELECT number FROM owner)"),
    ("edge", "{n} edges have an end that does not exist.",
     "SELECT count(*) FROM edge WHERE source NOT IN (SELECT number FROM node) OR target NOT IN (SELECT number FROM node)"),
    ("edge", "{n} edges are loose: one of their ends does not exist.", "SELECT count(*) FROM loose_edge"),
    ("graph", "{n} files own nodes but are not indexed.",
     "SELECT count(*) FROM owner WHERE kind = 0 AND name NOT IN (SELECT path FROM artifact)"),
    ("graph", "{n} owners have no node and no edge.",
     _IDLE_OWNERS),
    ("vector", "{n} vectors have the wrong size for their model.",
     "SELECT count(*) FROM vector v JOIN vector_model m ON m.number = v.model WHERE length(v.data) <> 2 * m.dimensions"),
    ("vector", "{n} vectors have no chunk.", "SELECT count(*) FROM vector WHERE chunk NOT IN (SELECT number FROM chunk)"),
)  # fmt: skip


def verify_rows(database: Database) -> Iterator[Discrepancy]:
    """Damaged pages and values, broken foreign keys, orphaned rows."""
    if database.is_damaged():
        database.mark_damaged()
        yield Discrepancy("database", "It is damaged; it is renamed and rebuilt on the next use.")
        return
    with database.snapshot() as connection:
        found = list(_verify_keys(connection))
    yield from found


def _verify_keys(connection: sqlite3.Connection) -> Iterator[Discrepancy]:
    for name in schema.altered_migrations(connection):
        yield Discrepancy("schema", f"The migration {name} was applied with different statements.")
    broken = {row[0] for row in connection.execute("PRAGMA foreign_key_check")}
    for table in sorted(broken):
        yield Discrepancy(table, "Rows refer to rows that do not exist.")
    for subject, message, sql in _CHECKS:
        (count,) = connection.execute(sql).fetchone()
        if count:
            yield Discrepancy(subject, message.format(n=count))
