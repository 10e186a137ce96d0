"""Reads nodes and edges."""

# ruff: noqa: S608
# Only names of our own tables and columns are put into statements; values are always bound.

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from operator import itemgetter
from typing import Any, Literal, cast

from contextive.knowledge.graph import Direction, Edge, EdgeType, Label, Node
from contextive.store.sql.database import ALL_ROWS, Row, SqlConnection, SqlDatabase, handles_errors
from contextive.store.sql.graph_writer import SEARCH_SEPARATOR
from contextive.store.sql.rows import encode_json, name_hash
from contextive.store.values import NamedNode, NumberedEdges

_MANY_EDGES = 50_000
"""Above this number of rows, edges are read node by node, each with its limit."""
_MANY_TYPES = 4
_NamedEdge = tuple[str, str, str, int, int]
"""The near end of an edge, its type and far end by name, whether it is by name, and its line."""
_ENDS: dict[Direction, tuple[tuple[str, str], ...]] = {
    "outgoing": (("source", "target"),),
    "incoming": (("target", "source"),),
    "both": (("source", "target"), ("target", "source")),
}
"""The columns of the near and the far end of an edge, by direction."""
_NODES_GIVEN = "FROM json_each(?) g CROSS JOIN node n ON n.number = CAST(g.value AS BIGINT)"
_MATCHES: tuple[Literal["whole"], Literal["start"], Literal["part"]] = ("whole", "start", "part")
# The name of a symbol is what follows the path in its key; of anything else, the last part of its key and its name.
# A name starts at the beginning, and at each part of a qualified name.
_FIND_NODES = """
WITH wanted(label, position) AS (SELECT CAST(value AS BIGINT), key FROM json_each(?1)),
candidate AS (
  SELECT n.number, n.label, w.position, n.key,
    CASE WHEN n.search IS NULL THEN lower(n.key) ELSE n.search END AS text
  FROM wanted w CROSS JOIN node n ON n.label = w.label
  WHERE CASE WHEN n.search IS NULL THEN instr(lower(n.key), ?2) ELSE instr(n.search, ?2) END > 0
),
named AS (
  SELECT number, position, key, label = ?3 AS is_symbol, char(31) || CASE label
    WHEN ?3 THEN substr(text, instr(text, '::') + 2)
    ELSE substr(text, length(rtrim(text, replace(text, '/', ''))) + 1) END || char(31) AS name
  FROM candidate
),
ranked AS (
  SELECT number, position, key, CASE
    WHEN instr(name, char(31) || ?2 || char(31)) > 0 OR instr(name, '#' || ?2 || char(31)) > 0
      OR (is_symbol AND instr(name, '.' || ?2 || char(31)) > 0) THEN 0
    WHEN instr(name, char(31) || ?2) > 0 OR instr(name, '#' || ?2) > 0
      OR (is_symbol AND instr(name, '.' || ?2) > 0) THEN 1
    ELSE 2 END AS rank
  FROM named ORDER BY rank, position, length(key), key LIMIT ?4 OFFSET ?5
)
SELECT n.label, n.key, n.properties, r.rank FROM ranked r JOIN node n ON n.number = r.number
ORDER BY r.rank, r.position, length(r.key), r.key
"""


class SqlGraph:
    """Reads the graph that is merged from the statements of all owners; see `graph_writer`."""

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database
        self._words: dict[str, int] = {}
        self._texts: dict[int, str] = {}
        self._loaded_from: Hashable = None

    def _word_numbers(self) -> Mapping[str, int]:
        """The numbers of labels and edge types."""
        if not self._words or self._loaded_from != self._database.identity:
            self._load_words()
        return self._words

    def _load_words(self) -> None:
        found = self._database.read("SELECT number, text FROM word")
        self._loaded_from = self._database.identity
        self._words = {text: number for number, text in found}
        self._texts = dict(found)

    def _text(self, number: int) -> str:
        if number not in self._texts or self._loaded_from != self._database.identity:
            self._load_words()
        return self._texts[number]

    def _id(self, label: int, key: str) -> str:
        return f"{self._text(label)}:{key}"

    # Nodes

    def node(self, node_id: str) -> Node | None:
        return self.nodes([node_id]).get(node_id)

    @handles_errors
    def nodes(self, node_ids: Iterable[str]) -> dict[str, Node]:
        found: dict[str, Node] = {}
        for label, keys in _by_label(node_ids).items():
            for key, properties in self._database.read(
                "SELECT n.key, n.properties FROM json_each(?) g CROSS JOIN node n ON n.label = ? AND n.key = g.value",
                (encode_json(keys), self._word_numbers().get(label)),
            ):
                found[f"{label}:{key}"] = Node(cast("Label", label), key, json.loads(properties))
        return found

    @handles_errors
    def nodes_with_edges(
        self, node_ids: Iterable[str], types: Sequence[str], limit: int
    ) -> tuple[dict[str, Node], tuple[Edge, ...]]:
        nodes: dict[str, Node] = {}
        numbers: dict[int, str] = {}
        with self._database.snapshot() as connection:
            for label, keys in _by_label(node_ids).items():
                for number, key, properties in connection.execute(
                    "SELECT n.number, n.key, n.properties"
                    " FROM json_each(?) g CROSS JOIN node n ON n.label = ? AND n.key = g.value",
                    (encode_json(keys), self._word_numbers().get(label)),
                ):
                    numbers[number] = node_id = f"{label}:{key}"
                    nodes[node_id] = Node(cast("Label", label), key, json.loads(properties))
            return nodes, self._edges_at(connection, numbers, types, "both", limit)

    @handles_errors
    def nodes_labelled(self, label: str, after: str | None, limit: int) -> tuple[Node, ...]:
        return self._page(
            "n.label = ?1 AND (CAST(?2 AS TEXT) IS NULL OR n.key > ?2)", (self._word_numbers().get(label), after), limit
        )

    @handles_errors
    def nodes_keyed(self, label: str, key: str) -> tuple[Node, ...]:
        found = self._page("n.hash = ? AND n.label = ?", (name_hash(key), self._word_numbers().get(label)), ALL_ROWS)
        return tuple(node for node in found if node.key.casefold() == key.casefold())

    ##= docs/spec/knowledge.md#km-graph-search
    ##% A term MUST be treated as plain text, whatever characters it contains.
    @handles_errors
    def find_nodes(self, term: str, labels: Sequence[str], limit: int, offset: int = 0) -> tuple[NamedNode, ...]:
        folded = term.casefold()
        if SEARCH_SEPARATOR in folded:
            return ()
        numbers = [number for label in dict.fromkeys(labels) if (number := self._word_numbers().get(label)) is not None]
        found = self._database.read(
            _FIND_NODES, (encode_json(numbers), folded, self._word_numbers().get("Symbol", -1), limit, offset)
        )
        return tuple(NamedNode(self._decode_node(row[:3]), _MATCHES[row[3]]) for row in found)

    @handles_errors
    def unconnected(self, label: str, types: Sequence[str], after: str | None, limit: int) -> tuple[Node, ...]:
        type_condition = self._type_condition(types)
        condition = (
            "n.label = ?1 AND (CAST(?2 AS TEXT) IS NULL OR n.key > ?2)"
            f" AND NOT EXISTS (SELECT 1 FROM edge e WHERE e.source = n.number {type_condition})"
            f" AND NOT EXISTS (SELECT 1 FROM edge e WHERE e.target = n.number {type_condition})"
        )
        return self._page(condition, (self._word_numbers().get(label), after), limit)

    def _page(self, condition: str, values: Sequence[Any], limit: int) -> tuple[Node, ...]:
        found = self._database.read(
            f"SELECT n.label, n.key, n.properties FROM node n WHERE {condition} ORDER BY n.key LIMIT {int(limit)}",
            values,
        )
        return tuple(map(self._decode_node, found))

    def _decode_node(self, row: Row) -> Node:
        label, key, properties = row
        return Node(cast("Label", self._text(label)), key, json.loads(properties))

    # Edges

    @handles_errors
    def expand(
        self, frontier: Sequence[str], types: Sequence[str], direction: Direction, limit: int
    ) -> tuple[Edge, ...]:
        if limit <= 0:
            return ()
        with self._database.snapshot() as connection:
            return self._edges_at(connection, self._numbers(connection, frontier), types, direction, limit)

    def _numbers(self, connection: SqlConnection, frontier: Iterable[str]) -> dict[int, str]:
        """The nodes of the frontier by number."""
        numbers: dict[int, str] = {}
        for label, keys in _by_label(frontier).items():
            if label in self._word_numbers():
                found = connection.execute(
                    "SELECT n.number, n.key FROM json_each(?) g CROSS JOIN node n ON n.label = ? AND n.key = g.value",
                    (encode_json(keys), self._word_numbers()[label]),
                ).fetchall()
                numbers.update([(number, f"{label}:{key}") for number, key in found])
        return numbers

    @handles_errors
    def node_number(self, node_id: str) -> int | None:
        with self._database.snapshot() as connection:
            return next(iter(self._numbers(connection, [node_id])), None)

    @handles_errors
    def nodes_numbered(self, numbers: Iterable[int]) -> dict[int, Node]:
        found = self._database.read(
            f"SELECT n.number, n.label, n.key, n.properties {_NODES_GIVEN}",
            (json.dumps(list(numbers)),),
        )
        # One call decodes all properties: for small ones the call itself costs the most.
        properties = json.loads(f"[{','.join([row[3] for row in found])}]")
        return {
            number: Node(cast("Label", self._text(label)), key, node_properties)
            for (number, label, key, _), node_properties in zip(found, properties, strict=True)
        }

    @handles_errors
    def numbered_edges(self, frontier: Sequence[int], types: Sequence[str], limit: int) -> NumberedEdges:
        wanted, type_condition = json.dumps(list(frontier)), self._type_condition(types)
        found: list[list[Row]] = []
        with self._database.snapshot() as connection:
            for near, far in _ENDS["both"]:
                rows = connection.execute(
                    f"SELECT e.{near}, e.type, e.{far} FROM json_each(?) g CROSS JOIN edge e"
                    f" ON e.{near} = CAST(g.value AS BIGINT) {type_condition} LIMIT ?",
                    (wanted, _MANY_EDGES + 1),
                ).fetchall()
                if len(rows) > limit:
                    counts = Counter(map(itemgetter(0), rows))
                    crowded = {number for number, count in counts.items() if count > limit}
                    cut = set(frontier) if len(rows) > _MANY_EDGES else crowded
                    rows = [row for row in rows if row[0] not in cut] if cut else rows
                    for number in cut:
                        first = self._first_edges(connection, number, types, limit, near, far)
                        rows += [(number, kind, other) for *_, kind, other in first]
                found.append(rows)
        outgoing, incoming = found
        return NumberedEdges(outgoing, incoming, {**self._types_of(outgoing), **self._types_of(incoming)})

    def _edges_at(
        self,
        connection: SqlConnection,
        numbers: Mapping[int, str],
        types: Sequence[str],
        direction: Direction,
        limit: int,
    ) -> tuple[Edge, ...]:
        """The edges of each node: in each direction the first `limit`, sorted by type and other node."""
        wanted, type_condition = json.dumps(list(numbers)), self._type_condition(types)
        found: dict[str, list[Row]] = {}
        named: dict[str, Iterable[_NamedEdge]] = {}
        for near, far in _ENDS[direction]:
            found[near] = connection.execute(
                f"SELECT e.{near}, e.type, e.{far}, e.by_name, e.line FROM json_each(?) g CROSS JOIN edge e"
                f" ON e.{near} = CAST(g.value AS BIGINT) {type_condition} LIMIT ?",
                (wanted, _MANY_EDGES + 1),
            ).fetchall()
            if len(found[near]) > _MANY_EDGES:
                del found[near]
                named[near] = [
                    (numbers[number], kind, other, by_name, line)
                    for number in numbers
                    for kind, other, by_name, line, _, _ in self._first_edges(
                        connection, number, types, limit, near, far
                    )
                ]
        others = self._ids(connection, {row[2] for rows in found.values() for row in rows}, numbers)
        for near, rows in found.items():
            texts = self._types_of(rows)
            edges = [
                (numbers[number], texts[kind], others[other], by_name, line)
                for number, kind, other, by_name, line in rows
            ]
            named[near] = edges if len(edges) <= limit else _first_of_each(edges, limit)
        all_edges = set(named.get("source", ()))
        all_edges.update(
            (other, kind, node_id, by_name, line) for node_id, kind, other, by_name, line in named.get("target", ())
        )
        return tuple(_as_edges(sorted(all_edges)))

    def _ids(self, connection: SqlConnection, wanted: AbstractSet[int], known: Mapping[int, str]) -> Mapping[int, str]:
        """The ids of nodes by number. Each node is read only once, even if many edges lead to it."""
        missing = wanted - known.keys()
        if not missing:
            return known
        found = connection.execute(
            f"SELECT n.number, n.label, n.key {_NODES_GIVEN}",
            (json.dumps(list(missing)),),
        ).fetchall()
        labels = {label: self._text(label) for label in {row[1] for row in found}}
        ids = {number: f"{labels[label]}:{key}" for number, label, key in found}
        return {**known, **ids} if len(missing) < len(wanted) else ids

    def _types_of(self, found: Iterable[Row]) -> dict[int, str]:
        return {kind: self._text(kind) for kind in {row[1] for row in found}}

    def _first_edges(
        self, connection: SqlConnection, number: int, types: Sequence[str], limit: int, near: str, far: str
    ) -> Iterator[tuple[str, str, int, int, int, int]]:
        """The first edges of a node: names of type and other node, by_name and line, numbers of type and other node."""
        # Sorted by name and not by number: which edges are cut off must not depend on the history of the index.
        found = connection.execute(
            f"SELECT k.text, l.text || ':' || n.key, min(e.by_name << 32 | e.line), e.type, e.{far} FROM edge e"
            f" JOIN node n ON n.number = e.{far} JOIN word k ON k.number = e.type JOIN word l ON l.number = n.label"
            f" WHERE e.{near} = ? {self._type_condition(types)} GROUP BY k.text, l.text, n.key, e.type, e.{far}"
            " ORDER BY 1, 2 LIMIT ?",
            (number, limit),
        )
        for kind, other, site, kind_number, other_number in found:
            yield kind, other, site >> 32, site & 0xFFFFFFFF, kind_number, other_number

    @handles_errors
    def degree(self, node_id: str, direction: Direction = "both") -> dict[str, int]:
        outgoing, incoming = (
            "SELECT source, type, target FROM edge WHERE " + end for end in ("source = ?1", "target = ?1")
        )
        # UNION counts an edge from a node to itself only once.
        edges = {"outgoing": outgoing, "incoming": incoming, "both": f"{outgoing} UNION {incoming}"}[direction]
        with self._database.snapshot() as connection:
            degrees: dict[str, int] = defaultdict(int)
            for number in self._numbers(connection, [node_id]):
                for kind, count in connection.execute(
                    f"SELECT type, count(*) FROM ({edges}) e GROUP BY type", (number,)
                ):
                    degrees[self._text(kind)] += count
        return dict(sorted(degrees.items()))

    def _type_condition(self, types: Sequence[str]) -> str:
        if not types:
            return ""
        known = [str(self._word_numbers()[name]) for name in types if name in self._word_numbers()]
        # With many types, one pass over the edges of a node is faster (+ disables the index); with few, the index is.
        column = "+e.type" if len(known) > _MANY_TYPES else "e.type"
        return f"AND {column} IN ({', '.join(known) or 'NULL'})"


def _by_label(node_ids: Iterable[str]) -> dict[str, list[str]]:
    """Keys by label, without duplicates."""
    found: dict[str, list[str]] = defaultdict(list)
    for node_id in dict.fromkeys(node_ids):
        label, _, key = node_id.partition(":")
        found[label].append(key)
    return found


def _first_of_each(edges: Iterable[_NamedEdge], limit: int) -> Iterator[_NamedEdge]:
    """The first `limit` edges of each node, sorted."""
    at_node: str | None = None
    before: tuple[str, ...] = ()
    count = 0
    for edge in sorted(set(edges)):
        count = 0 if edge[0] != at_node else count
        at_node = edge[0]
        count += edge[:3] != before
        before = edge[:3]
        if count <= limit:
            yield edge


def _as_edges(found: Iterable[_NamedEdge]) -> Iterator[Edge]:
    """Sorted edges as values. Of an edge that several owners state, the first one counts."""
    before: tuple[str, ...] = ()
    for source, kind, target, by_name, line in found:
        if (source, kind, target) != before:
            before = (source, kind, target)
            yield Edge(source, cast("EdgeType", kind), target, bool(by_name), line)
