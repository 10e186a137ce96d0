"""Writes the nodes and edges that each owner states.

An owner is a file (by its path) or a layer (by its name). A node or an edge exists as long as at least one owner
states it. Properties are merged one by one; if owners disagree, the first of them wins: files before layers, then by
name. So the graph does not depend on the order in which files were read. The merged properties are stored with the
node, and a statement with exactly these properties stores none. Properties are merged again only when owners of a
node disagree, which is rare.

An edge is loose while one of its ends is not stated. Loose edges are stored in a separate table, and readers do not
see them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from contextive.knowledge.graph import EDGE_TYPES, LABELS, Edge, Layer
from contextive.store.sql.database import SqlConnection
from contextive.store.sql.rows import encode_json, name_hash

FILE_OWNER, LAYER_OWNER = 0, 1
SEARCH_SEPARATOR = "\x1f"
_NUMBER_OF_NODE = "SELECT number FROM node WHERE label = ? AND key = ?"

IdEdge = tuple[str, int, str, bool, int]
"""An edge: source id, number of its type, target id, whether it is by name, line."""


def add_words(connection: SqlConnection) -> dict[str, int]:
    """The number of every label and edge type; those that do not have one yet get one."""
    select = "SELECT text, number FROM word"
    numbers: dict[str, int] = dict(connection.execute(select).fetchall())
    missing = [(word,) for word in (*LABELS, *EDGE_TYPES) if word not in numbers]
    if missing:
        connection.executemany("INSERT INTO word (text) VALUES (?) ON CONFLICT DO NOTHING", missing)
        numbers = dict(connection.execute(select).fetchall())
    return numbers


class GraphWriter:
    """Writes the statements of owners in one transaction."""

    def __init__(self, connection: SqlConnection) -> None:
        self._connection = connection
        self._numbers: dict[str, int] = {}
        self._has_loose: bool | None = None

    @cached_property
    def _words(self) -> Mapping[str, int]:
        return add_words(self._connection)

    @cached_property
    def _labels(self) -> Mapping[int, str]:
        return {number: text for text, number in self._words.items()}

    def replace(self, kind: int, name: str, layer: Layer) -> bool:
        """Replace everything that an owner states; returns whether anything changed."""
        owner, is_new = self._owner(kind, name, create=bool(layer.nodes or layer.edges))
        if owner is None:
            return False
        stated = _merge_duplicates(layer)
        before = {} if is_new else self._stated_nodes(owner)
        removed = [node_id for node_id in before if node_id not in stated]
        changed = self._put_nodes(owner, stated, before)
        edges = self._without_duplicates(layer.edges)
        changed |= self._put_edges(owner, edges, is_new=is_new)
        self._drop_nodes(owner, {node_id: before[node_id][0] for node_id in removed})
        if not layer.nodes and not layer.edges:
            self._connection.execute("DELETE FROM owner WHERE number = ?", (owner,))
        return changed or bool(removed)

    def update_properties(self, path: str, properties: Mapping[str, Any]) -> None:
        """Update properties of the nodes that a file states under its own path, if they have these properties."""
        owner, _ = self._owner(FILE_OWNER, path, create=False)
        rows = self._connection.execute(
            "SELECT n.number, coalesce(s.properties, n.properties) FROM statement s JOIN node n ON n.number = s.node"
            " WHERE s.owner = ? AND n.key = ?",
            (owner, path),
        ).fetchall()
        for number, text in rows:
            stated = json.loads(text)
            if owner is not None and properties.keys() <= stated.keys():
                self._change_statement(number, owner, encode_json({**stated, **properties}))

    def _owner(self, kind: int, name: str, *, create: bool) -> tuple[int | None, bool]:
        """The number of an owner, and whether it was just created."""
        found = self._connection.execute(
            "SELECT number FROM owner WHERE kind = ? AND name = ?", (kind, name)
        ).fetchone()
        if found:
            return int(found[0]), False
        if not create:
            return None, False
        (number,) = self._connection.execute(
            "INSERT INTO owner (kind, name) VALUES (?, ?) RETURNING number", (kind, name)
        ).fetchone()
        return int(number), True

    # Nodes

    def _stated_nodes(self, owner: int) -> dict[str, tuple[int, str]]:
        rows = self._connection.execute(
            "SELECT n.label, n.key, n.number, coalesce(s.properties, n.properties)"
            " FROM statement s JOIN node n ON n.number = s.node WHERE s.owner = ?",
            (owner,),
        )
        return {f"{self._labels[label]}:{key}": (number, text) for label, key, number, text in rows}

    def _put_nodes(
        self, owner: int, stated: Mapping[str, tuple[str, str, dict[str, Any]]], before: Mapping[str, tuple[int, str]]
    ) -> bool:
        created: list[tuple[str, int]] = []
        changed = False
        for node_id, (label, key, properties) in stated.items():
            text = encode_json(properties)
            known = before.get(node_id)
            if known is not None:
                self._numbers[node_id] = known[0]
                if known[1] != text:
                    self._change_statement(known[0], owner, text)
                    changed = True
                continue
            changed = True
            number = self._numbers.get(node_id) or self._create(node_id, label, key, properties, text)
            if number is not None and node_id not in self._numbers:
                self._numbers[node_id] = number
                created.append((node_id, number))
            else:
                number = self._number(node_id)
                assert number is not None
                self._add_statement(number, owner, text, properties)
        self._connection.executemany(
            "INSERT INTO statement (node, owner) VALUES (?, ?)", [(number, owner) for _, number in created]
        )
        if created and self._any_loose():
            self._connect_loose_edges([node_id for node_id, _ in created])
        return changed

    def _create(self, node_id: str, label: str, key: str, properties: Mapping[str, Any], text: str) -> int | None:
        """The number of a new node; None if the node exists already."""
        found = self._connection.execute(
            "INSERT INTO node (label, hash, key, search, properties, disputed) VALUES (?, ?, ?, ?, ?, 0)"
            " ON CONFLICT DO NOTHING RETURNING number",
            (self._words[label], name_hash(key), key, search_text(key, properties), text),
        ).fetchone()
        return None if found is None else int(found[0])

    def _number(self, node_id: str) -> int | None:
        number = self._numbers.get(node_id)
        if number is None:
            label, _, key = node_id.partition(":")
            found = self._connection.execute(_NUMBER_OF_NODE, (self._words.get(label), key)).fetchone()
            if found is None:
                return None
            number = int(found[0])
            self._numbers[node_id] = number
        return number

    def _add_statement(self, number: int, owner: int, text: str, properties: Mapping[str, Any]) -> None:
        merged_text, disputed = self._connection.execute(
            "SELECT properties, disputed FROM node WHERE number = ?", (number,)
        ).fetchone()
        self._connection.execute(
            "INSERT INTO statement (node, owner, properties) VALUES (?, ?, ?)",
            (number, owner, None if text == merged_text else text),
        )
        if text == merged_text:
            return
        merged = json.loads(merged_text)
        if any(name in merged and not _same(merged[name], value) for name, value in properties.items()) or (
            disputed and not properties.keys() <= merged.keys()
        ):
            self._merge(number)
        elif not properties.keys() <= merged.keys():
            self._set_merged(number, merged_text, {**merged, **properties}, disputed=False)

    def _change_statement(self, number: int, owner: int, text: str) -> None:
        self._connection.execute(
            "UPDATE statement SET properties = ? WHERE node = ? AND owner = ?", (text, number, owner)
        )
        self._merge(number)

    def _drop_statement(self, number: int, owner: int) -> bool:
        """Remove a statement; returns whether other owners still state the node."""
        (text,) = self._connection.execute(
            "DELETE FROM statement WHERE node = ? AND owner = ? RETURNING properties", (number, owner)
        ).fetchone()
        left = self._connection.execute("SELECT 1 FROM statement WHERE node = ? LIMIT 1", (number,)).fetchone()
        if left is None:
            return False
        (disputed,) = self._connection.execute("SELECT disputed FROM node WHERE number = ?", (number,)).fetchone()
        twin = self._connection.execute(
            "SELECT 1 FROM statement WHERE node = ?1"
            " AND (properties = ?2 OR (properties IS NULL AND CAST(?2 AS TEXT) IS NULL)) LIMIT 1",
            (number, text),
        ).fetchone()
        if disputed or twin is None:
            self._merge(number)
        return True

    def _merge(self, number: int) -> None:
        """Merge the properties that all owners state for a node."""
        (before,) = self._connection.execute("SELECT properties FROM node WHERE number = ?", (number,)).fetchone()
        rows = self._connection.execute(
            "SELECT s.properties FROM statement s JOIN owner o ON o.number = s.owner WHERE s.node = ?"
            " ORDER BY o.kind, o.name",
            (number,),
        )
        merged: dict[str, Any] = {}
        disputed = False
        for text in dict.fromkeys(before if text is None else text for (text,) in rows):
            for name, value in json.loads(text).items():
                disputed |= not _same(merged.setdefault(name, value), value)
        self._set_merged(number, before, merged, disputed=disputed)

    def _set_merged(self, number: int, before: str, merged: Mapping[str, Any], *, disputed: bool) -> None:
        after = encode_json(merged)
        if after != before:
            self._connection.execute(
                "UPDATE statement SET properties = ? WHERE node = ? AND properties IS NULL", (before, number)
            )
        (key,) = self._connection.execute("SELECT key FROM node WHERE number = ?", (number,)).fetchone()
        self._connection.execute(
            "UPDATE node SET properties = ?, disputed = ?, search = ? WHERE number = ?",
            (after, disputed, search_text(key, merged), number),
        )
        self._connection.execute(
            "UPDATE statement SET properties = NULL WHERE node = ? AND properties = ?", (number, after)
        )

    def _drop_nodes(self, owner: int, removed: Mapping[str, int]) -> None:
        for node_id, number in removed.items():
            if not self._drop_statement(number, owner):
                self._disconnect_edges(number)
                self._connection.execute("DELETE FROM node WHERE number = ?", (number,))
                self._numbers.pop(node_id, None)

    # Edges

    def _without_duplicates(self, edges: Iterable[Edge]) -> set[IdEdge]:
        """The edges of an owner. If it states one twice, the smaller one counts: exact before by name."""
        first: dict[tuple[str, int, str], IdEdge] = {}
        for edge in edges:
            ends = (edge.source, self._words[edge.type], edge.target)
            stated = (*ends, edge.by_name, edge.line)
            if first.setdefault(ends, stated) > stated:
                first[ends] = stated
        return set(first.values())

    def _put_edges(self, owner: int, edges: set[IdEdge], *, is_new: bool) -> bool:
        before: set[IdEdge] = set()
        loose: set[IdEdge] = set()
        if not is_new:
            before.update(self._stated_edges(owner))
            select = "SELECT source, type, target, by_name, line FROM loose_edge WHERE owner = ?"
            loose.update(self._connection.execute(select, (owner,)))
        for source, kind, target, _, _ in before - edges:
            ends = (self._number(source), kind, self._number(target), owner)
            self._connection.execute(
                "DELETE FROM edge WHERE source = ? AND type = ? AND target = ? AND owner = ?", ends
            )
        self._connection.executemany(
            "DELETE FROM loose_edge WHERE owner = ? AND source = ? AND type = ? AND target = ?",
            [(owner, *edge[:3]) for edge in loose - edges],
        )
        connected = []
        for edge in edges - before - loose:
            source, kind, target, by_name, line = edge
            first, second = self._number(source), self._number(target)
            if first is None or second is None:
                self._put_loose([(owner, *edge)])
            else:
                connected.append((first, kind, second, owner, by_name, line))
        self._connection.executemany("INSERT INTO edge VALUES (?, ?, ?, ?, ?, ?)", connected)
        return (before | loose) != edges

    def _stated_edges(self, owner: int) -> Iterator[IdEdge]:
        rows = self._connection.execute(
            "SELECT a.label, a.key, e.type, b.label, b.key, e.by_name, e.line FROM edge e"
            " JOIN node a ON a.number = e.source JOIN node b ON b.number = e.target WHERE e.owner = ?",
            (owner,),
        )
        for label, key, kind, other_label, other_key, by_name, line in rows:
            yield f"{self._labels[label]}:{key}", kind, f"{self._labels[other_label]}:{other_key}", by_name, line

    def _any_loose(self) -> bool:
        if self._has_loose is None:
            self._has_loose = self._connection.execute("SELECT 1 FROM loose_edge LIMIT 1").fetchone() is not None
        return self._has_loose

    def _put_loose(self, edges: Iterable[tuple[int, str, int, str, bool, int]]) -> None:
        values = list(edges)
        if values:
            self._has_loose = True
            self._connection.executemany(
                "INSERT INTO loose_edge VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", values
            )

    def _connect_loose_edges(self, node_ids: Sequence[str]) -> None:
        """Turn loose edges of these nodes into edges if both ends exist now."""
        rows = self._connection.execute(
            "SELECT e.* FROM json_each(?1) g CROSS JOIN loose_edge e ON e.source = g.value"
            " UNION SELECT e.* FROM json_each(?1) g CROSS JOIN loose_edge e ON e.target = g.value",
            (encode_json(node_ids),),
        ).fetchall()
        for owner, source, kind, target, by_name, line in rows:
            first, second = self._number(source), self._number(target)
            if first is None or second is None:
                continue
            self._connection.execute(
                "INSERT INTO edge VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (first, kind, second, owner, by_name, line),
            )
            self._connection.execute(
                "DELETE FROM loose_edge WHERE owner = ? AND source = ? AND type = ? AND target = ?",
                (owner, source, kind, target),
            )

    def _disconnect_edges(self, number: int) -> None:
        """Turn the edges of a node that is about to be deleted into loose edges."""
        rows = self._connection.execute(
            "SELECT e.owner, a.label, a.key, e.type, b.label, b.key, e.by_name, e.line, e.source, e.target FROM ("
            " SELECT * FROM edge WHERE source = ?1 UNION SELECT * FROM edge WHERE target = ?1) e"
            " JOIN node a ON a.number = e.source JOIN node b ON b.number = e.target",
            (number,),
        ).fetchall()
        if not rows:
            return
        self._put_loose(
            (owner, f"{self._labels[label]}:{key}", kind, f"{self._labels[other]}:{other_key}", by_name, line)
            for owner, label, key, kind, other, other_key, by_name, line, _, _ in rows
        )
        self._connection.executemany(
            "DELETE FROM edge WHERE source = ? AND type = ? AND target = ? AND owner = ?",
            [(source, kind, target, owner) for owner, _, _, kind, _, _, _, _, source, target in rows],
        )


def _merge_duplicates(layer: Layer) -> dict[str, tuple[str, str, dict[str, Any]]]:
    """The nodes of a layer by id. If a node is stated twice, the first value of each property counts."""
    merged: dict[str, tuple[str, str, dict[str, Any]]] = {}
    for node in layer.nodes:
        known = merged.get(node.id)
        if known is None:
            merged[node.id] = (node.label, node.key, dict(node.properties))
        else:
            merged[node.id] = (*known[:2], {**node.properties, **known[2]})
    return merged


def search_text(key: str, properties: Mapping[str, Any]) -> str | None:
    """The text in which `find_nodes` searches; None when the lower-case key is enough."""
    name = properties.get("name")
    folded = name.casefold() if isinstance(name, str) else ""
    if key.isascii() and folded in key.lower():
        return None
    return f"{key.casefold()}{SEARCH_SEPARATOR}{folded}"


def _same(first: Any, second: Any) -> bool:
    """Whether two values have the same JSON: in Python, `1` and `True` are equal."""
    return bool(first == second) and encode_json(first) == encode_json(second)
