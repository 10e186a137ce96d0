"""The graph tools over a real repository."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from contextive.errors import InvalidCursor, InvalidIdentifier, InvalidRequest, NotFound
from contextive.search import graph

from .conftest import Call

SIREN = "src/tidewatch/alerts/siren.py"


def connections(answer: dict[str, Any]) -> set[tuple[str, str, str]]:
    return {(r["type"], r["direction"], r["target"]["id"]) for r in answer["relationships"]}


##= docs/spec/knowledge.md#km-graph-node
##% The tool `km-graph-node` MUST take `node_id` and return the node, its relationships and their number.
def test_a_node_lists_its_relationships(call: Call) -> None:
    answer = call("km-graph-node", node_id=f"SourceFile:{SIREN}", relationships="all", detail="full")
    assert answer["status"] == "success"
    assert answer["node"]["id"] == f"SourceFile:{SIREN}"
    assert answer["node"]["labels"] == ["SourceFile"]
    assert answer["node"]["properties"]["subsystem"] == "Alerts"
    found = connections(answer)
    assert ("BELONGS_TO", "OUT", "Subsystem:Alerts") in found
    assert ("DECLARES", "OUT", "IntegrationMessage:HighWaterMessage") in found
    assert ("DECLARES_SYMBOL", "OUT", f"Symbol:{SIREN}::Siren.sound_alarm") in found
    assert ("IMPORTS", "IN", "SourceFile:src/tidewatch/gauge/reader.py") in found
    assert any(kind == "CITES" and target.startswith("Requirement:") for kind, _, target in found)


##= docs/spec/knowledge.md#km-graph-node
##% A concise answer MUST count the chunks and the declared symbols of a file and not list them.
def test_a_concise_answer_counts_the_parts_of_a_file(call: Call) -> None:
    asked = {"node_id": f"SourceFile:{SIREN}", "relationships": "all"}
    concise, full = call("km-graph-node", **asked), call("km-graph-node", **asked, detail="full")
    parts = [r for r in full["relationships"] if r["type"] in ("HAS_CHUNK", "DECLARES_SYMBOL")]
    assert concise["structural"] == Counter(part["type"] for part in parts)
    assert connections(concise) == connections(full) - connections({"relationships": parts})
    assert concise["total"] == full["total"] - len(parts) == len(concise["relationships"])
    assert "git_commit" not in concise["node"]["properties"]


def test_a_part_of_a_file_still_shows_its_file(call: Call) -> None:
    symbol = call("km-graph-node", node_id=f"Symbol:{SIREN}::Siren", relationships="incoming")
    assert ("DECLARES_SYMBOL", "IN", f"SourceFile:{SIREN}") in connections(symbol)


##= docs/spec/knowledge.md#km-graph-node
##% Relationships MUST be paged with `cursor`, each returned exactly once.
@pytest.mark.parametrize("detail", ["concise", "full"])
def test_pages_of_a_node_contain_each_relationship_once(call: Call, detail: str) -> None:
    asked = {"node_id": f"SourceFile:{SIREN}", "relationships": "all", "detail": detail}
    whole, found, cursor = call("km-graph-node", **asked), [], None
    while True:
        page = call("km-graph-node", **asked, limit=2, cursor=cursor)
        found += page["relationships"]
        cursor = page.get("cursor")
        if cursor is None:
            break
    assert found == whole["relationships"]
    assert len(found) == whole["total"]


def test_relationships_beyond_the_limit_are_counted(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    ways: tuple[str, ...] = ("all", "outgoing", "incoming")
    node = f"SourceFile:{SIREN}"
    whole = {way: call("km-graph-node", node_id=node, relationships=way)["total"] for way in ways}
    monkeypatch.setattr(graph, "MAX_NEIGHBOURS", 1)
    for way in ways:
        assert call("km-graph-node", node_id=node, relationships=way)["total"] == whole[way]
    assert whole["outgoing"] > 1


def test_one_hop_leads_from_a_document_to_a_requirement_cited_by_code(call: Call) -> None:
    document = call("km-graph-node", node_id="Doc:docs/spec/levels.md", relationships="incoming")
    requirements = {
        target for kind, _, target in connections(document) if kind == "PART_OF" and target.startswith("Requirement:")
    }
    code = call("km-graph-node", node_id=f"Code:{SIREN}")
    assert requirements & {target for kind, _, target in connections(code) if kind == "CITES"}


def test_tests_notes_links_and_calls_are_edges(call: Call) -> None:
    test = connections(call("km-graph-node", node_id="Test:tests/gauge/test_reader.py"))
    assert ("EXERCISES", "OUT", "Symbol:src/tidewatch/gauge/reader.py::calibrate_sensor") in test
    assert any(kind == "TESTS" for kind, _, _ in test)
    note = connections(call("km-graph-node", node_id="Note:first-storm"))
    assert note == {("LINKS_TO", "OUT", "Note:siren-test"), ("LINKS_TO", "OUT", "DesignDoc:docs/alerts.md")}
    document = connections(call("km-graph-node", node_id="DesignDoc:docs/gauge.md"))
    assert ("LINKS_TO", "OUT", "SourceFile:src/tidewatch/gauge/reader.py") in document
    method = connections(call("km-graph-node", node_id="Symbol:src/tidewatch/gauge/reader.py::LevelReader.read_level"))
    assert ("CALLS", "OUT", "Symbol:src/tidewatch/gauge/reader.py::median_of") in method


##= docs/spec/knowledge.md#km-graph-node
##% Labels MUST be case-insensitive, and `Code`, `Doc`, `Test`, `Config` and `File` are accepted for files.
@pytest.mark.parametrize("alias", ["Code", "File", "code", "SOURCEFILE"])
def test_labels_are_accepted_as_aliases_and_in_any_case(call: Call, alias: str) -> None:
    assert call("km-graph-node", node_id=f"{alias}:{SIREN}")["node"]["id"] == f"SourceFile:{SIREN}"


def test_a_key_in_another_case_is_accepted_if_it_is_unique(call: Call) -> None:
    assert call("km-graph-node", node_id=f"Code:{SIREN.upper()}")["node"]["id"] == f"SourceFile:{SIREN}"
    assert call("km-graph-subsystem", name="aLeRtS")["subsystem"]["id"] == "Subsystem:Alerts"


##= docs/spec/knowledge.md#km-graph-node
##% A text that is not a node id MUST be refused with `invalid_identifier`.
@pytest.mark.parametrize("wrong", ["no-colon", "Novel:x", "Code:", ":x", "Code:a\0b"])
def test_an_invalid_id_is_refused(call: Call, wrong: str) -> None:
    with pytest.raises(InvalidIdentifier) as raised:
        call("km-graph-node", node_id=wrong)
    assert raised.value.code == "invalid_identifier"


##= docs/spec/knowledge.md#km-graph-node
##% An unknown node MUST be refused with `not_found` and a hint that names similar ones.
def test_a_missing_node_is_not_found_and_similar_ones_are_suggested(call: Call) -> None:
    with pytest.raises(NotFound) as raised:
        call("km-graph-node", node_id="Code:src/siren.py")
    assert raised.value.code == "not_found"
    assert SIREN in (raised.value.hint or "")


##= docs/spec/knowledge.md#km-graph-node
##% The argument `relationships` MUST select `outgoing`, `incoming`, `all` or `none`.
def test_relationships_can_be_filtered_and_limited(call: Call) -> None:
    assert call("km-graph-node", node_id=f"Code:{SIREN}", relationships="none")["relationships"] == []
    for relationships, direction in (("outgoing", "OUT"), ("incoming", "IN")):
        answer = call("km-graph-node", node_id=f"Code:{SIREN}", relationships=relationships)
        assert {r["direction"] for r in answer["relationships"]} == {direction}
    cut = call("km-graph-node", node_id=f"Code:{SIREN}", relationships="all", limit=2)
    assert (len(cut["relationships"]), cut["total"] > 2) == (2, True)


##= docs/spec/knowledge.md#km-graph-node
##% The limit of relationships MUST default to 50 and be at most 200.
@pytest.mark.parametrize("limit", [0, 201])
def test_a_limit_out_of_range_is_refused(call: Call, limit: int) -> None:
    with pytest.raises(InvalidRequest):
        call("km-graph-node", node_id=f"Code:{SIREN}", limit=limit)


##= docs/spec/knowledge.md#nodes-and-edges
##% The graph MUST contain files, chunks, symbols, subsystems, specifications, sections, requirements, notes, messages
##% and channels.
def test_every_label_in_the_graph_can_be_queried(call: Call) -> None:
    seen, waiting = set(), ["Subsystem:Alerts", "Subsystem:Gauge", "Note:first-storm", "Config:config/station.yaml"]
    labels = set()
    while waiting:
        node_id = waiting.pop()
        if node_id in seen:
            continue
        seen.add(node_id)
        answer = call("km-graph-node", node_id=node_id, relationships="all", limit=200, detail="full")
        labels.add(answer["node"]["labels"][0])
        waiting += [target for _, _, target in connections(answer)]
    assert labels >= {
        "Subsystem", "SourceFile", "DesignDoc", "TestCase", "ConfigFile", "Chunk", "Symbol", "IntegrationMessage",
        "TelemetryChannel", "Specification", "Section", "Requirement", "Note",
    }  # fmt: skip


##= docs/spec/knowledge.md#km-graph-subsystem
##% The tool `km-graph-subsystem` MUST take `name` and return the subsystem, related nodes and artifacts.
##= docs/spec/knowledge.md#km-graph-subsystem
##% Each related node MUST include its number of hops and a shortest path to it.
def test_a_subsystem_lists_related_nodes_with_their_paths(call: Call) -> None:
    near = call("km-graph-subsystem", name="Gauge", detail="full")
    assert near["subsystem"]["properties"]["criticality"] == "high"
    assert {node["hops"] for node in near["related"]["nodes"]} == {1}
    assert [node["properties"]["path"] for node in near["artifacts"]] == sorted(
        node["properties"]["path"] for node in near["artifacts"]
    )
    assert "src/tidewatch/gauge/reader.py" in {node["properties"]["path"] for node in near["artifacts"]}
    far = call("km-graph-subsystem", name="Gauge", depth=3, limit=100, detail="full")
    assert far["related"]["total"] > near["related"]["total"]
    for item in far["related"]["nodes"]:
        assert item["hops"] == len(item["path"]) <= 3
        assert item["path"][0]["source"] == "Subsystem:Gauge"
        assert item["path"][-1]["target"] == item["target"]["id"]
        assert (item["relationship"], item["direction"]) == (item["path"][0]["type"], item["path"][0]["direction"])


##= docs/spec/knowledge.md#km-graph-subsystem
##% Related nodes MUST be paged with `cursor`, each returned exactly once, and counted in `total`.
##= docs/spec/knowledge.md#km-graph-subsystem
##% Artifacts MUST be omitted if `include_artifacts` is false.
def test_pages_of_a_subsystem_contain_each_node_once(call: Call) -> None:
    seen: list[str] = []
    hops: list[int] = []
    cursor = None
    for _ in range(100):
        page = call("km-graph-subsystem", name="Alerts", depth=3, limit=3, cursor=cursor, include_artifacts=False)
        assert page["artifacts"] == []
        seen += [node["target"]["id"] for node in page["related"]["nodes"]]
        hops += [node["hops"] for node in page["related"]["nodes"]]
        cursor = page["related"]["cursor"]
        if cursor is None:
            break
    assert hops == sorted(hops), "the nearest come first"
    assert set(hops) == {1, 2, 3}
    assert len(seen) == len(set(seen)) == page["related"]["total"]


def test_a_concise_subsystem_counts_symbols_that_are_only_declared(call: Call) -> None:
    concise = call("km-graph-subsystem", name="Alerts", depth=2, limit=100)
    full = call("km-graph-subsystem", name="Alerts", depth=2, limit=100, detail="full")
    shown = {node["target"]["id"]: node for node in concise["related"]["nodes"]}
    everything = {node["target"]["id"]: node for node in full["related"]["nodes"]}
    missing = everything.keys() - shown.keys()
    assert concise["structural"] == {"DECLARES_SYMBOL": len(missing)}
    assert all(everything[name]["path"][-1]["type"] == "DECLARES_SYMBOL" for name in missing)
    for name, node in shown.items():
        steps = everything[name]["path"]
        assert [(s["type"], s["direction"]) for s in node["path"]] == [(s["type"], s["direction"]) for s in steps]
        assert [s["target"] for s in node["path"][:-1]] == [s["target"] for s in steps[:-1]]


@pytest.mark.parametrize("tool", ["km-graph-subsystem", "km-graph-node", "km-graph-tests-of"])
def test_a_cursor_of_another_list_is_refused(call: Call, tool: str) -> None:
    asked = {
        "km-graph-subsystem": {"name": "Alerts"},
        "km-graph-node": {"node_id": f"Code:{SIREN}"},
        "km-graph-tests-of": {"symbol_id": f"{SIREN}::Siren"},
    }[tool]
    other = call("km-graph-subsystem", name="Gauge", limit=1)["related"]["cursor"]
    for cursor in ("%%%", "-1", other):
        with pytest.raises(InvalidCursor):
            call(tool, **asked, cursor=cursor)


def test_depth_zero_counts_as_one(call: Call) -> None:
    assert (
        call("km-graph-subsystem", name="Alerts", depth=0)["related"]
        == call("km-graph-subsystem", name="Alerts")["related"]
    )


##= docs/spec/knowledge.md#km-graph-subsystem
##% An unknown subsystem MUST be refused with `not_found`.
def test_an_unknown_subsystem_is_not_found(call: Call) -> None:
    with pytest.raises(NotFound):
        call("km-graph-subsystem", name="Submarine")


##= docs/spec/knowledge.md#km-graph-search
##% The tool `km-graph-search` MUST take `term` and list the nodes whose key or name contains it, with `id`, `label`,
##% `score` and `snippet`.
def test_a_term_finds_nodes_subsystems_first(call: Call) -> None:
    results = call("km-graph-search", term="GAUGE", limit=50)["results"]
    assert results[0] | {"snippet": ""} == {
        "id": "Subsystem:Gauge",
        "label": "Subsystem",
        "score": 0.995,
        "snippet": "",
    }
    assert results[0]["snippet"] == "Reads the water level."
    assert {"DesignDoc:docs/gauge.md", "SourceFile:src/tidewatch/gauge/reader.py"} <= {r["id"] for r in results}
    scores = [r["score"] for r in results]
    assert scores == sorted(scores, reverse=True)


##= docs/spec/knowledge.md#km-graph-search
##% Nodes with exactly that name MUST come first, then nodes whose name starts with the term, then all others.
def test_the_symbol_with_the_name_comes_first(call: Call) -> None:
    assert call("km-graph-search", term="levelreader")["results"][0]["id"].endswith("::LevelReader")
    assert call("km-graph-search", term="reader.py")["results"][0]["id"].endswith("/reader.py")


##= docs/spec/knowledge.md#km-graph-search
##% With `label`, only nodes of these labels MUST be listed, and `cursor` continues a list.
def test_labels_limit_the_nodes_and_a_cursor_continues_the_list(call: Call) -> None:
    every = call("km-graph-search", term="e", limit=50)
    for label in ("Symbol", ["symbol"], ["Code", "Doc"]):
        found = call("km-graph-search", term="e", limit=50, label=label)["results"]
        assert {hit["label"] for hit in found} <= ({"Symbol"} if "ymbol" in str(label) else {"SourceFile", "DesignDoc"})
        assert found
    with pytest.raises(InvalidRequest, match="There is no label 'Planet'"):
        call("km-graph-search", term="e", label="Planet")
    pages: list[str] = []
    cursor = None
    while True:
        page = call("km-graph-search", term="e", limit=7, **({"cursor": cursor} if cursor else {}))
        pages += [hit["id"] for hit in page["results"]]
        cursor = page.get("cursor")
        if cursor is None or len(pages) > 200:
            break
    assert pages[: len(every["results"])] == [hit["id"] for hit in every["results"]]
    assert len(pages) == len(set(pages))
    with pytest.raises(InvalidCursor):
        call("km-graph-search", term="other", cursor=page.get("cursor") or "zzz")


def test_a_blank_term_is_refused(call: Call) -> None:
    with pytest.raises(InvalidRequest, match="The term is blank"):
        call("km-graph-search", term="  ")


##= docs/spec/knowledge.md#km-graph-search
##% A term MUST be treated as plain text, whatever characters it contains.
@pytest.mark.parametrize("term", ["%", "_", "'", '"', "\\", "siren' OR 1=1 --", "🦀"])
def test_special_characters_in_a_term_have_no_effect(call: Call, term: str) -> None:
    assert all(term.lower() in r["id"].lower() for r in call("km-graph-search", term=term)["results"])
