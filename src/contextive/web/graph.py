"""The neighbourhood of a node of the graph, as a drawing and as a list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from contextive.errors import ContextiveError
from contextive.knowledge.graph import EDGE_TYPES, Edge, Node
from contextive.search.graph import GraphService, RelatedNode
from contextive.search.index import Index
from contextive.trace.ranking import STATUS_WORDS
from contextive.trace.requirement import Status
from contextive.web.addresses import file_address, note_address, specification_address, with_query
from contextive.web.page import Page, Parameters
from contextive.web.project import SiteProject

MAX_NODES: Final = 1_500
DEPTHS: Final = (1, 2, 3, 4)
COLLAPSING: Final = ("directory", "subsystem")
_PATH_DEPTH: Final = 5
_USUAL_NODES: Final = 250
_FOUND: Final = 40
_LONGEST_NAME: Final = 60
_KINDS: Final = {
    "SourceFile": "code", "TestCase": "test", "DesignDoc": "document", "ConfigFile": "config", "Artifact": "file",
    "Symbol": "symbol", "Requirement": "requirement", "Specification": "specification", "Section": "section",
    "Note": "note", "Subsystem": "subsystem",
}  # fmt: skip
_FILES: Final = frozenset({"SourceFile", "TestCase", "DesignDoc", "ConfigFile", "Artifact"})
_TYPES: Final = tuple(kind for kind in EDGE_TYPES if kind not in ("HAS_CHUNK", "EMITS", "DECLARES"))


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A node of the drawing. A collapsed group stands for several nodes."""

    id: str
    kind: str
    name: str
    title: str
    address: str
    """The page of what the node is; empty if there is none."""
    here: str
    """This view with the node in the middle."""
    hops: int
    status: str
    number: int


@dataclass(frozen=True, slots=True)
class GraphEdge:
    source: str
    target: str
    type: str
    number: int


@dataclass(frozen=True, slots=True)
class GraphChoice:
    text: str
    address: str
    is_chosen: bool
    number: int


@dataclass(frozen=True, slots=True)
class Graph:
    query: str
    root: GraphNode | None
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    path: tuple[str, ...]
    """The ids of the nodes between two nodes, if they were asked for."""
    to: str
    depths: tuple[GraphChoice, ...]
    types: tuple[GraphChoice, ...]
    collapsing: tuple[GraphChoice, ...]
    found: tuple[GraphNode, ...]
    """Nodes to begin with."""
    message: str
    more: str
    """This view with more nodes, if some were left out."""


def graph(project: SiteProject, given: Parameters) -> Page:
    """The nodes around one node, or nodes to choose from."""
    query = given.get("q", "").strip()[:200]
    if not given.get("node"):
        found, message = _starting_points(project, query)
        content = Graph(query, None, (), (), (), "", (), (), (), found, message, "")
        return Page("graph.html", "Graph", content, "graph")
    drawing = _drawing(project.index(), given)
    return Page("graph.html", f"Graph around {drawing.root.name if drawing.root else ''}", drawing, "graph")


def _starting_points(project: SiteProject, query: str) -> tuple[tuple[GraphNode, ...], str]:
    """Nodes whose name contains the query; without a query, the subsystems and specifications."""
    try:
        service, store = project.index().graph, project.index().store
        if query:
            nodes = [found.node for found in service.search(query, _FOUND)]
        else:
            nodes = [
                n for label in ("Subsystem", "Specification") for n in store.graph.nodes_labelled(label, None, _FOUND)
            ]
    except ContextiveError as error:
        return (), error.full_message()
    return tuple(
        _node(node, 0) for node in nodes
    ), "" if nodes else "Nothing has this name. Try a part of a path or a title."


def _drawing(index: Index, given: Parameters) -> Graph:
    service = index.graph
    root = service.resolve(given["node"][:4096])
    depth = min(max(_number(given.get("depth", ""), 1), 1), DEPTHS[-1])
    most = min(max(_number(given.get("most", ""), _USUAL_NODES), 1), MAX_NODES)
    chosen = tuple(kind for kind in given.get("types", "").split(",") if kind in _TYPES)
    collapse = given.get("collapse", "") if given.get("collapse") in COLLAPSING else ""
    target = given.get("to", "").strip()[:4096]
    with index.store.snapshot():
        walked, _ = service.walk(root.id, _PATH_DEPTH) if target else ([], False)
        path, message = _path(service, walked, target)
        shown, total = service.nearest(root.id, depth, most - 1, chosen)
        known = {found.target.id: (found.target, found.hops) for found in shown}
        known |= {found.target.id: (found.target, found.hops) for found in walked if found.target.id in path}
        known[root.id] = (root, 0)
        edges = index.store.graph.expand(sorted(known), chosen or _TYPES, "outgoing", MAX_NODES * 6)
    inside = [edge for edge in edges if edge.source in known and edge.target in known]
    nodes = {key: _node(node, hops) for key, (node, hops) in known.items()}
    query = {
        "node": root.id,
        "depth": depth,
        "types": ",".join(chosen),
        "collapse": collapse,
        "to": target,
        "most": given.get("most", ""),
    }
    drawn, lines = _collapsed(nodes, known, inside, collapse, keep=(root.id, *path))
    left_out = total - len(shown)
    if left_out and not message:
        message = f"{left_out:,} nodes that are farther away are not shown."
    return Graph(
        query="",
        root=nodes[root.id],
        nodes=tuple(sorted(drawn, key=lambda node: (node.hops, node.kind, node.title))),
        edges=lines,
        path=path,
        to=target,
        depths=tuple(GraphChoice(str(d), with_query("/graph", {**query, "depth": d}), d == depth, 0) for d in DEPTHS),
        types=tuple(_type_choices(query, chosen, Counter(edge.type for edge in inside))),
        collapsing=tuple(
            GraphChoice(
                name, with_query("/graph", {**query, "collapse": "" if name == collapse else name}), name == collapse, 0
            )
            for name in COLLAPSING
        ),
        found=(),
        message=message,
        more=with_query("/graph", {**query, "most": MAX_NODES}) if left_out and most < MAX_NODES else "",
    )


def _path(service: GraphService, walked: Sequence[RelatedNode], target: str) -> tuple[tuple[str, ...], str]:
    """The nodes on a shortest path to another node, and why there is none."""
    if not target:
        return (), ""
    wanted = service.resolve(target)
    found = next((one for one in walked if one.target.id == wanted.id), None)
    if found is None:
        return (), f"There is no path of at most {_PATH_DEPTH} steps."
    return tuple(dict.fromkeys(end for step in found.path for end in (step.source, step.target))), ""


def _type_choices(query: Mapping[str, object], chosen: Sequence[str], counts: Counter[str]) -> Iterator[GraphChoice]:
    for kind in _TYPES:
        if counts[kind] or kind in chosen:
            wanted = [one for one in chosen if one != kind] if kind in chosen else [*chosen, kind]
            address = with_query("/graph", {**query, "types": ",".join(wanted)})
            yield GraphChoice(kind, address, kind in chosen, counts[kind])


def _collapsed(
    nodes: Mapping[str, GraphNode],
    known: Mapping[str, tuple[Node, int]],
    edges: Iterable[Edge],
    collapse: str,
    keep: Iterable[str],
) -> tuple[list[GraphNode], tuple[GraphEdge, ...]]:
    """The nodes and edges of the drawing, with files and symbols in one node for each directory or subsystem."""
    kept = frozenset(keep)
    group_of = {key: "" if key in kept else _group(node, collapse) for key, (node, _) in known.items()}
    drawn: dict[str, GraphNode] = {}
    for key, node in nodes.items():
        group = group_of[key]
        if not group:
            drawn[key] = node
        elif group in drawn:
            drawn[group] = replace(drawn[group], number=drawn[group].number + 1, hops=min(drawn[group].hops, node.hops))
        else:
            name = group.partition(":")[2] or "."
            address = file_address(name) if collapse == "directory" else ""
            drawn[group] = GraphNode(group, collapse, _shortened(name), name, address, "", node.hops, "", 1)
    counted = Counter(
        (group_of[edge.source] or edge.source, group_of[edge.target] or edge.target, edge.type) for edge in edges
    )
    lines = (GraphEdge(*ends, number) for ends, number in sorted(counted.items()) if ends[0] != ends[1])
    return list(drawn.values()), tuple(lines)


def _group(node: Node, collapse: str) -> str:
    """The group of a file or a symbol; empty if it stays alone."""
    if not collapse or (node.label not in _FILES and node.label != "Symbol"):
        return ""
    if collapse == "subsystem":
        name = node.properties.get("subsystem")
        return f"subsystem:{name}" if name else ""
    return f"directory:{node.key.partition('::')[0].rpartition('/')[0]}"


def _node(node: Node, hops: int) -> GraphNode:
    properties = node.properties
    names = (properties.get(name) for name in ("text", "qualified_name", "title", "name"))
    title = str(next(filter(None, names), node.key))
    status = properties.get("status")
    return GraphNode(
        id=node.id,
        kind=_KINDS.get(node.label, node.label.lower()),
        name=_shortened(title),
        title=title if node.label == "Requirement" else node.key,
        address=_address(node),
        here=with_query("/graph", {"node": node.id}),
        hops=hops,
        status=STATUS_WORDS[Status(status)] if status in {one.value for one in Status} else "",
        number=1,
    )


def _address(node: Node) -> str:
    match node.label:
        case "Requirement":
            return f"/requirements/{node.key[:16]}"
        case "Specification":
            return specification_address(node.key)
        case "Section":
            spec_id, _, section = node.key.partition("#")
            return with_query(specification_address(spec_id), {"section": section})
        case "Note":
            return note_address(node.key)
        case "Symbol":
            line = node.properties.get("line_start")
            return file_address(node.key.partition("::")[0], line if isinstance(line, int) else 0)
        case "Subsystem":
            return ""
        case _:
            return file_address(node.key)


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 1].rstrip()}…"


def _number(text: str, usual: int) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else usual
