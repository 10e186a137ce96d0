"""The nodes and edges that files and layers (named groups of nodes and edges) own."""

from __future__ import annotations

from contextive.knowledge.graph import Edge, Layer, Node
from contextive.store.protocol import Store

from .samples import entry, parsed, put, remove


def replace_layer(store: Store, name: str, nodes: list[Node], edges: list[Edge] | None = None) -> bool:
    with store.transaction() as writer:
        return writer.put_layer(name, Layer(tuple(nodes), tuple(edges or ())))


def notes(*keys: str) -> list[Node]:
    return [Node("Note", key) for key in keys]


def link(source: str, target: str) -> Edge:
    return Edge(f"Note:{source}", "LINKS_TO", f"Note:{target}")


def test_a_layer_replaces_the_previous_one_and_returns_whether_it_changed(store: Store) -> None:
    assert replace_layer(store, "@a", notes("x", "y"), [link("x", "y")])
    assert not replace_layer(store, "@a", notes("y", "x"), [link("x", "y")])
    before = store.generation()
    assert not replace_layer(store, "@a", notes("x", "y"), [link("x", "y")])
    assert store.generation() == before
    assert replace_layer(store, "@a", notes("x"))
    assert store.graph.node("Note:y") is None
    assert store.graph.expand(["Note:x"], [], "both", 10) == ()
    assert not replace_layer(store, "@never", [])


##= docs/spec/knowledge.md#nodes-and-edges
##% A node MUST be kept as long as at least one source defines it, and no longer.
def test_nodes_and_edges_exist_until_their_last_owner_is_gone(store: Store) -> None:
    replace_layer(store, "@a", notes("x", "y"), [link("x", "y")])
    replace_layer(store, "@b", notes("x", "y"), [link("x", "y")])
    replace_layer(store, "@a", [])
    assert store.graph.expand(["Note:x"], [], "outgoing", 10) == (link("x", "y"),)
    assert store.graph.degree("Note:x") == {"LINKS_TO": 1}
    replace_layer(store, "@b", [])
    assert store.graph.node("Note:x") is None
    assert list(store.verify()) == []


def test_the_first_owner_sets_each_property_and_files_come_before_layers(store: Store) -> None:
    with store.transaction() as writer:
        writer.put_layer("@b", Layer((Node("Subsystem", "s", {"x": "b", "y": "b", "only": [1, True]}),)))
        writer.put_layer("@a", Layer((Node("Subsystem", "s", {"x": "a", "z": None}),)))
    node = store.graph.node("Subsystem:s")
    assert node is not None
    assert node.properties == {"x": "a", "y": "b", "z": None, "only": [1, True]}
    file = parsed("zzz")
    with store.transaction() as writer:
        writer.put_artifact(file, entry("zzz"), Layer((Node("Subsystem", "s", {"x": "file"}),)))
    node = store.graph.node("Subsystem:s")
    assert node is not None
    assert node.properties["x"] == "file"
    remove(store, "zzz")
    replace_layer(store, "@a", [])
    node = store.graph.node("Subsystem:s")
    assert node is not None
    assert node.properties == {"x": "b", "y": "b", "only": [1, True]}


def test_when_the_winning_owner_is_gone_the_next_one_wins(store: Store) -> None:
    for name, value in (("@a", 1), ("@b", 2), ("@c", 1)):
        replace_layer(store, name, [Node("Note", "n", {"p": value})])
    replace_layer(store, "@a", [])
    node = store.graph.node("Note:n")
    assert node is not None
    assert node.properties == {"p": 2}


def test_an_edge_is_hidden_until_both_its_ends_exist(store: Store) -> None:
    replace_layer(store, "links:a", [], [link("x", "y")])
    replace_layer(store, "@x", notes("x"))
    assert store.graph.expand(["Note:x"], [], "both", 10) == ()
    assert [item.subject for item in store.verify()] == ["edge"]
    replace_layer(store, "@y", notes("y"))
    assert store.graph.expand(["Note:y"], [], "incoming", 10) == (link("x", "y"),)
    replace_layer(store, "@y", [])
    assert store.graph.degree("Note:x") == {}
    replace_layer(store, "@y", notes("y"))
    assert store.graph.degree("Note:x") == {"LINKS_TO": 1}
    assert list(store.verify()) == []


def test_removing_a_file_removes_its_links(store: Store) -> None:
    put(store, parsed("a"), parsed("b"))
    edge = Edge("SourceFile:a", "IMPORTS", "SourceFile:b")
    replace_layer(store, "links:a", [], [edge])
    assert store.graph.expand(["SourceFile:b"], ["IMPORTS"], "incoming", 5) == (edge,)
    remove(store, "a")
    put(store, parsed("a"))
    assert store.graph.expand(["SourceFile:b"], ["IMPORTS"], "incoming", 5) == ()


def test_a_file_and_a_layer_with_the_same_name_are_two_owners(store: Store) -> None:
    put(store, parsed("@types"))
    replace_layer(store, "@types", notes("x"))
    remove(store, "@types")
    assert store.graph.node("Note:x") is not None


def test_expand_filters_edges_by_type_and_direction_and_limits_them_per_node(store: Store) -> None:
    nodes = notes("hub", "other", *(f"n{number:02}" for number in range(20)))
    edges = [link("hub", f"n{number:02}") for number in range(20)]
    edges += [Edge("Note:hub", "PART_OF", "Note:other"), link("n03", "hub"), link("hub", "hub")]
    replace_layer(store, "@a", nodes, edges)
    outgoing = store.graph.expand(["Note:hub"], [], "outgoing", 4)
    assert outgoing == (link("hub", "hub"), link("hub", "n00"), link("hub", "n01"), link("hub", "n02"))
    assert store.graph.expand(["Note:hub"], ["PART_OF"], "outgoing", 4) == (Edge("Note:hub", "PART_OF", "Note:other"),)
    assert store.graph.expand(["Note:hub"], ["CITES"], "both", 4) == ()
    assert store.graph.expand(["Note:hub"], [], "incoming", 9) == (link("hub", "hub"), link("n03", "hub"))
    assert len(store.graph.expand(["Note:hub", "Note:n03", "Note:none", "Odd"], [], "both", 100)) == 23
    assert store.graph.expand([], [], "both", 5) == ()
    assert store.graph.expand(["Note:hub"], [], "both", 0) == ()
    assert store.graph.degree("Note:hub") == {"LINKS_TO": 22, "PART_OF": 1}
    assert store.graph.degree("Note:hub", "outgoing") == {"LINKS_TO": 21, "PART_OF": 1}
    assert store.graph.degree("Note:hub", "incoming") == {"LINKS_TO": 2}
    assert store.graph.degree("Note:none") == {}


def test_nodes_are_listed_in_key_order_in_pages(store: Store) -> None:
    replace_layer(store, "@a", [*notes("b", "B", "a", "é", "c"), Node("Section", "a")])
    first = store.graph.nodes_labelled("Note", None, 2)
    assert [node.key for node in first] == ["B", "a"]
    assert [node.key for node in store.graph.nodes_labelled("Note", "a", 10)] == ["b", "c", "é"]
    assert store.graph.nodes_labelled("Nothing", None, 10) == ()


def test_keys_are_found_ignoring_case(store: Store) -> None:
    replace_layer(store, "@a", [*notes("Straße", "STRASSE", "other"), Node("Section", "strasse")])
    assert {node.key for node in store.graph.nodes_keyed("Note", "strasse")} == {"Straße", "STRASSE"}
    assert store.graph.nodes_keyed("Note", "street") == ()


def found(store: Store, term: str, labels: list[str], limit: int = 10, offset: int = 0) -> list[str]:
    return [hit.node.key for hit in store.graph.find_nodes(term, labels, limit, offset)]


def test_nodes_are_found_by_part_of_their_key_or_name_in_the_order_of_the_given_labels(store: Store) -> None:
    nodes = [
        Node("Note", "zeta-Graph"),
        Node("Note", "alpha", {"name": "The GRAPH"}),
        Node("Section", "graph/1"),
        Node("Requirement", "Überblick"),
        Node("Note", "100%"),
    ]
    replace_layer(store, "@a", nodes)
    assert found(store, "gRaPh", ["Section", "Note"]) == ["graph/1", "alpha", "zeta-Graph"]
    assert found(store, "graph", ["Note", "Section"], 2) == ["alpha", "zeta-Graph"]
    assert found(store, "ÜBER", ["Requirement"]) == ["Überblick"]
    assert found(store, "0%", ["Note"]) == ["100%"]
    assert store.graph.find_nodes("_", ["Note"], 5) == ()
    replace_layer(store, "@a", [Node("Note", "alpha", {"name": "Renamed"})])
    assert store.graph.find_nodes("graph", ["Note"], 5) == ()


def test_whole_names_are_found_before_their_starts_and_parts(store: Store) -> None:
    nodes = [
        Node("Symbol", "src/name.rs::Name"),
        Node("Symbol", "src/name.rs::Name.name_of"),
        Node("Symbol", "src/other.rs::Renamed"),
        Node("Symbol", "src/rename/x.rs::Other"),
        Node("Symbol", "src/x.rs::Outer.Name"),
        Node("SourceFile", "src/name.rs"),
        Node("SourceFile", "name/other.rs"),
        Node("DesignDoc", "docs/a.md", {"name": "Name"}),
        Node("Section", "docs/a.md#name"),
    ]
    replace_layer(store, "@a", nodes)
    labels = ["DesignDoc", "SourceFile", "Symbol", "Section"]
    ranked = store.graph.find_nodes("NAME", labels, 20)
    assert [(hit.match, hit.node.key) for hit in ranked] == [
        ("whole", "docs/a.md"),
        ("whole", "src/name.rs::Name"),
        ("whole", "src/x.rs::Outer.Name"),
        ("whole", "docs/a.md#name"),
        ("start", "src/name.rs"),
        ("start", "src/name.rs::Name.name_of"),
        ("part", "name/other.rs"),
        ("part", "src/other.rs::Renamed"),
        ("part", "src/rename/x.rs::Other"),
    ]
    pages = [key for offset in range(0, 12, 2) for key in found(store, "name", labels, 2, offset)]
    assert pages == [hit.node.key for hit in ranked]
    assert found(store, "name.rs", labels)[0] == "src/name.rs"
    assert found(store, "rs", ["Symbol"]) != [], "a path is searched, too"


def test_unconnected_nodes_are_those_without_edges_of_the_given_types(store: Store) -> None:
    replace_layer(store, "@a", notes("a", "b", "c", "d"), [link("a", "b"), Edge("Note:c", "PART_OF", "Note:d")])
    assert [node.key for node in store.graph.unconnected("Note", ["LINKS_TO"], None, 10)] == ["c", "d"]
    assert [node.key for node in store.graph.unconnected("Note", ["LINKS_TO"], "c", 10)] == ["d"]
    assert [node.key for node in store.graph.unconnected("Note", ["PART_OF"], None, 1)] == ["a"]
    assert store.graph.unconnected("Note", [], None, 5) == ()


def test_many_nodes_are_read_at_once(store: Store) -> None:
    replace_layer(store, "@a", notes(*(f"n{number}" for number in range(300))))
    wanted = [f"Note:n{number}" for number in range(0, 600, 2)]
    found = store.graph.nodes([*wanted, "without label", "Note:"])
    assert set(found) == {node_id for node_id in wanted if int(node_id[6:]) < 300}


def test_nodes_with_edges_returns_the_same_edges_as_expand(store: Store) -> None:
    keys = [f"n{number:02}" for number in range(12)]
    edges = [link(source, target) for source in keys[:6] for target in keys if source != target]
    replace_layer(store, "@a", [Node("Note", key, {"title": key.upper()}) for key in keys], edges)
    node_ids = ["Note:n00", "Note:n07", "Note:none", "Symbol:none"]
    for limit in (3, 100):
        nodes, found = store.graph.nodes_with_edges(node_ids, ["LINKS_TO"], limit)
        assert nodes == store.graph.nodes(node_ids)
        assert found == store.graph.expand(node_ids, ["LINKS_TO"], "both", limit)


def test_numbered_edges_returns_the_same_edges_as_expand(store: Store) -> None:
    keys = [f"n{number:02}" for number in range(12)]
    edges = [link(source, target) for source in keys[:6] for target in keys if source != target]
    replace_layer(store, "@a", notes(*keys), edges)
    replace_layer(store, "@b", notes(*keys), edges[::2])
    with store.snapshot():
        numbers = {f"Note:{key}": store.graph.node_number(f"Note:{key}") for key in keys}
        nodes = store.graph.nodes_numbered(number for number in numbers.values() if number is not None)
        ids = {number: node.id for number, node in nodes.items()}
        assert ids == {number: node_id for node_id, number in numbers.items()}
        for limit in (3, 100):
            for frontier in (["Note:n00"], ["Note:n01", "Note:n09"]):
                frontier_numbers = [number for node_id in frontier if (number := numbers[node_id]) is not None]
                numbered = store.graph.numbered_edges(frontier_numbers, ["LINKS_TO"], limit)
                found = {(ids[near], numbered.types[kind], ids[far]) for near, kind, far in numbered.outgoing}
                found |= {(ids[far], numbered.types[kind], ids[near]) for near, kind, far in numbered.incoming}
                expanded = store.graph.expand(frontier, ["LINKS_TO"], "both", limit)
                assert found == {(edge.source, edge.type, edge.target) for edge in expanded}
        assert store.graph.node_number("Note:none") is None
