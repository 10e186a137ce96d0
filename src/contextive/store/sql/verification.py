"""Checks that the rows of a database are consistent.

Readers never see an edge without both ends, because such loose edges are stored separately. They are reported here
too: after a complete ingest there should be none.
"""

from __future__ import annotations

from collections.abc import Iterator

from contextive.store.sql.database import SqlConnection
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


def verify_rows(connection: SqlConnection) -> Iterator[Discrepancy]:
    """Orphaned rows and wrong counts."""
    for subject, message, sql in _CHECKS:
        (count,) = connection.execute(sql).fetchone()
        if count:
            yield Discrepancy(subject, message.format(n=count))
