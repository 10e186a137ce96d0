"""Identifiers, URIs, cursors, completion and filters."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.errors import InvalidCursor, InvalidRequest, ResourceNotFound, TooLarge
from contextive.registry.uri import UriTemplate
from contextive.trace.catalog import assign_ids
from contextive.trace.specification import Format
from contextive.trace.target import Target
from tests.ingest.projects import BOIL, BREW, MILK, TEA, WARM, cite
from tests.packs.duvet_host import BREWING, PROFILE, DuvetHost

# Found by brute force: the identifiers of these two start with the same eight digits.
TWINS = ("Cup 73669 MUST be clean.", "Cup 95203 MUST be clean.")


@pytest.fixture
def duvet_host(tmp_path: Path) -> DuvetHost:
    return DuvetHost(tmp_path)


@pytest.fixture
def twins(duvet_host: DuvetHost) -> DuvetHost:
    duvet_host.project.write("specs/tea.md", TEA + "\n" + " ".join(TWINS) + "\n")
    return duvet_host


# -- identifiers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [8, 9, 16, 63, 64])
def test_an_identifier_may_be_shortened_to_eight_digits(length: int, duvet_host: DuvetHost) -> None:
    identifier = duvet_host.identifier(BREW)
    assert duvet_host.call("get_requirement_status", req_identifier=identifier[:length])["status"] == "done"
    assert (
        duvet_host.call("get_requirement_status", req_identifier=f" {identifier[:length].upper()} ")["status"] == "done"
    )
    section = duvet_host.path(BREW).rpartition("/")[0]
    assert duvet_host.read(f"{section}/{identifier[:length]}")["identifier"] == identifier


@pytest.mark.parametrize("length", [1, 7])
def test_fewer_digits_are_refused_with_a_message(length: int, duvet_host: DuvetHost) -> None:
    answer = duvet_host.call("get_requirement_status", req_identifier=duvet_host.identifier(BREW)[:length])
    assert "give more digits" in answer["error"]


def test_an_ambiguous_short_identifier_is_refused_until_it_is_unique(twins: DuvetHost) -> None:
    first, second = (twins.identifier(text) for text in TWINS)
    assert first[:8] == second[:8]
    assert "2 identifiers start with this" in twins.call("get_requirement_status", req_identifier=first[:8])["error"]
    assert "2 identifiers start with this" in twins.call("explain_requirement", req_identifier=first[:8])["error"]
    assert twins.first_text("search_requirements", query=first[:8]) == []
    common = next(length for length in range(8, 64) if first[:length] != second[:length])
    assert twins.call("explain_requirement", req_identifier=first[:common])["text"] == TWINS[0]
    section = twins.path(TWINS[0]).rpartition("/")[0]
    with pytest.raises(ResourceNotFound):
        twins.read(f"{section}/{first[:8]}")


@pytest.mark.parametrize("identifier", ["x", "zzzzzzzzzz", "-1", "../../etc", "\0", "g" * 64, "0" * 200])
def test_invalid_identifiers_are_not_found(identifier: str, duvet_host: DuvetHost) -> None:
    for tool in ("get_requirement_status", "explain_requirement"):
        assert duvet_host.call(tool, req_identifier=identifier) == {"error": "Requirement not found"}


def test_a_text_in_several_sections_has_a_path_for_each(duvet_host: DuvetHost) -> None:
    duvet_host.project.write("specs/tea.md", f"# Tea\n\n## One\n\n{BREW}\n\n## Two\n\n{BREW}\n")
    places = duvet_host.call("get_requirement_status", req_identifier=duvet_host.identifier(BREW))
    assert places["status"] == "not started"
    assert {place["status"] for place in places["requirements"]} == {"done", "not started"}
    for place in places["requirements"]:
        assert duvet_host.read(place["full_path"])["status"] == place["status"]
    assert len(duvet_host.first_text("search_requirements", query=duvet_host.identifier(BREW))) == 3


# -- URIs --------------------------------------------------------------------------------------------------------------

ODD_NAMES = [
    "src/co:lon:7.rs",
    "src/per%cent.rs",
    "src/%2e%2e.rs",
    "src/quest?ion.rs",
    "src/ha#sh.rs",
    "src/sp ace.rs",
    "src/line\nbreak.rs",
    "src/ünï/çode.rs",
    "src/deep/down/x.rs",
    "src/plus+and&.rs",
    "src/not-utf8-\udcff.rs",
    "src/\N{RIGHT-TO-LEFT OVERRIDE}evil.rs",
    "src/citations/x.rs",
]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_citation_in_a_file_of_any_name_can_be_read_by_its_path(name: str, duvet_host: DuvetHost) -> None:
    duvet_host.project.write(name, "\n" + cite("specs/coffee.md#serving", MILK))
    (entry,) = [e for e in duvet_host.read("/citations") if "serving" in e["full_path"]]
    printable_name = name.replace("\udcff", "\N{REPLACEMENT CHARACTER}")
    assert entry["id"] == f"{printable_name}:2"
    assert entry["full_path"].isascii()
    for address in (entry["full_path"], f"duvet://{entry['full_path']}"):
        assert duvet_host.read(address)["file_path"] == printable_name
    context = duvet_host.call("get_citation_context", citation_id=entry["id"], context_lines=0)
    assert context["context"] == ["//= specs/coffee.md#serving"]


def test_slashes_and_colons_of_a_citation_id_may_be_encoded_or_not(duvet_host: DuvetHost) -> None:
    base = f"{duvet_host.path(BREW)}/citations"
    plain = duvet_host.read(f"{base}/src/coffee.rs:1")
    assert plain == duvet_host.read(f"{base}/{quote('src/coffee.rs:1', safe='')}")
    assert plain["line_number"] == 1


@pytest.mark.parametrize("title", ["A/B?", "Ümläute", "100% #1", "a b", "../..", "{#custom/id%20} x"])
def test_a_section_of_any_title_can_be_read(title: str, duvet_host: DuvetHost) -> None:
    duvet_host.project.write("specs/tea.md", f"# {title} {{#x/y%20?z}}\n\n{BOIL}\n\n## {title}\n\n{MILK}\n")
    paths = [entry["full_path"] for entry in duvet_host.read("/requirements") if "specs-tea" in entry["full_path"]]
    assert len(paths) == 2
    for path in paths:
        assert duvet_host.read(path)["text"] in (BOIL, MILK)
        assert duvet_host.read(path.partition("/requirements/")[0])["content"]


@pytest.mark.parametrize(
    "uri",
    [
        "/specifications/none",
        "/specifications/specs-coffee/sections/none",
        "/specifications/specs-coffee/sections/brewing/requirements/" + "0" * 64,
        "/specifications/../specifications",
        "/specifications/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/specifications/specs-coffee/sections/brewing/citations/../../../../etc/passwd:1",
        "/specifications//sections",
        "/specifications/",
        "//specifications",
        "file:///etc/passwd",
        "duvet://host/specifications",
        "duvet:///etc/passwd",
        "/requirements/x",
        "",
        "x" * 10_000,
    ],
)
def test_a_missing_resource_is_not_found_and_reveals_nothing(uri: str, duvet_host: DuvetHost) -> None:
    with pytest.raises(ResourceNotFound) as caught:
        duvet_host.read(uri)
    assert str(duvet_host.project.root) not in caught.value.full_message()
    assert len(caught.value.full_message()) < 1000


def test_every_listed_resource_is_readable_and_listed_once(duvet_host: DuvetHost) -> None:
    uris = duvet_host.all_uris()
    assert len(uris) == len(set(uris)) > 20
    for uri in uris:
        duvet_host.read(uri)


@pytest.mark.parametrize(
    ("query", "first", "last"),
    [
        ("offset=0&limit=2", 0, 2),
        ("limit=2", 0, 2),
        ("offset=2", 2, None),
        ("offset=99999999999999", 99, None),
        ("limit=99999999999999", 0, None),
        ("limit=", 0, None),
        ("a=b", 0, None),
    ],
)
def test_query_parameters_select_a_part(query: str, first: int, last: int | None, duvet_host: DuvetHost) -> None:
    assert duvet_host.read(f"/requirements?{query}") == duvet_host.read("/requirements")[first:last]


def test_a_list_that_is_too_large_can_be_read_in_parts(duvet_host: DuvetHost) -> None:
    body = "".join(
        f"Cup number {number} of this very large kitchen MUST be clean at all times. " for number in range(6000)
    )
    duvet_host.project.write("specs/tea.md", f"# Tea\n\n{body}\n")
    with pytest.raises(TooLarge) as caught:
        duvet_host.read("/requirements")
    assert caught.value.hint == "Read it in parts: duvet:///requirements?offset=0&limit=100."
    assert len(duvet_host.read("/requirements?offset=3000&limit=100")) == 100
    assert len(duvet_host.call("get_prioritized_requirements", limit=1000)["result"]) == 1000


_paths = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)
_addresses = st.one_of(
    _paths, _paths.map(lambda path: f"https://example.org/{path}"), st.sampled_from(["a.md", "a!.md", "A.md", "a-md"])
)


@given(st.lists(st.builds(Target, _addresses, st.sampled_from(Format)), max_size=12, unique=True))
def test_every_specification_has_a_unique_id(targets: Sequence[Target]) -> None:
    ids = assign_ids(targets)
    assert set(ids) == set(targets)
    assert len(set(ids.values())) == len(targets)
    assert all(ids.values())


def test_conflicting_names_get_stable_ids() -> None:
    clashing = [Target("a!.md"), Target("a?.md")]
    before = assign_ids(clashing)
    poisoned = assign_ids([*clashing, Target("a-md-1.md"), Target("a-md-2.md"), Target("a.md")])
    assert {target: poisoned[target] for target in clashing} == before


# -- cursors -----------------------------------------------------------------------------------------------------------


def test_pages_of_any_size_contain_every_entry_once(duvet_host: DuvetHost) -> None:
    whole = duvet_host.call("get_prioritized_requirements", limit=1000)["result"]
    for limit in (1, 2, 3, 4, 5):
        found: list[Any] = []
        cursor: dict[str, str] = {}
        while True:
            page = duvet_host.call("get_prioritized_requirements", limit=limit, **cursor)
            assert len(page["result"]) <= limit
            found += page["result"]
            if "next_cursor" not in page:
                break
            cursor = {"cursor": page["next_cursor"]}
        assert found == whole


def test_a_cursor_of_another_list_or_an_invented_one_is_refused(duvet_host: DuvetHost) -> None:
    given_out = duvet_host.call("get_prioritized_requirements", limit=1)["next_cursor"]
    with pytest.raises(InvalidCursor):
        duvet_host.call("list_uncited_requirements", cursor=given_out)
    for forged in ("", "x", given_out[:-1], given_out + "A", "é", "MTIz", "A" * 5000):
        with pytest.raises(InvalidRequest):
            duvet_host.call("get_prioritized_requirements", cursor=forged)


def test_a_cursor_remains_valid_after_an_edit(duvet_host: DuvetHost) -> None:
    cursor = duvet_host.call("get_prioritized_requirements", limit=3)["next_cursor"]
    duvet_host.project.write("specs/tea.md", "# Tea\n")
    duvet_host.project.write("specs/coffee.md", "# Coffee\n")
    assert duvet_host.call("get_prioritized_requirements", limit=3, cursor=cursor)["result"] == []


# -- completion --------------------------------------------------------------------------------------------------------


def completed(duvet_host: DuvetHost, name: str, prefix: str, **others: str) -> list[str]:
    context = duvet_host.host.context(duvet_host.host.owner, door="test", profile=PROFILE, request_id="c")
    template = next(r for r in duvet_host.surface.resources if name in UriTemplate(r.uri).names)
    found = asyncio.run(
        duvet_host.host.dispatcher.complete("trace", template.code.complete[name], prefix, others, context)
    )
    return list(found)


def test_every_variable_of_every_template_can_be_completed(duvet_host: DuvetHost) -> None:
    templates = [resource for resource in duvet_host.surface.resources if resource.is_template]
    assert len(templates) >= 7
    for template in templates:
        assert set(UriTemplate(template.uri).names) <= set(template.code.complete), template.uri
    assert completed(duvet_host, "spec_id", "") == ["specs-coffee", "specs-tea"]
    assert completed(duvet_host, "spec_id", "specs-t") == ["specs-tea"]
    assert completed(duvet_host, "section_id", "") == ["coffee", "brewing", "serving", "tea", "steeping"]
    assert completed(duvet_host, "section_id", "s", spec_id="specs-coffee") == ["serving"]
    identifier = duvet_host.identifier(BREW)
    assert completed(duvet_host, "req_identifier", identifier[:5]) == [identifier]
    assert set(completed(duvet_host, "req_identifier", "", section_id="brewing")) == {
        identifier,
        duvet_host.identifier(WARM),
    }
    assert completed(duvet_host, "req_identifier", "", spec_id="specs-tea") == [duvet_host.identifier(BOIL)]
    assert completed(duvet_host, "citation_id", "src/c") == ["src/coffee.rs:1"]
    assert completed(duvet_host, "citation_id", "", req_identifier=identifier) == [
        "src/coffee.rs:1",
        "tests/coffee.rs:1",
    ]
    assert completed(duvet_host, "citation_id", "nothing") == []


def test_completed_values_give_a_readable_uri(duvet_host: DuvetHost) -> None:
    values: dict[str, str] = {}
    template = next(r for r in duvet_host.surface.resources if r.name == "citation")
    for name in UriTemplate(template.uri).names:
        proposed = completed(duvet_host, name, "", **values)
        values[name] = "brewing" if name == "section_id" else proposed[0]
        assert values[name] in proposed
    assert duvet_host.read(UriTemplate(template.uri).fill(values))["line_number"] == 1


def test_invalid_variable_values_have_no_completions(duvet_host: DuvetHost) -> None:
    assert completed(duvet_host, "req_identifier", "", spec_id="none") == []
    assert completed(duvet_host, "citation_id", "", req_identifier="none") == []


# -- filters -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", ["specs-coffee", "specs/coffee.md", "./specs/coffee.md", "file://specs/coffee.md"])
def test_a_filter_accepts_a_specification_in_any_spelling(spec: str, duvet_host: DuvetHost) -> None:
    page = duvet_host.call("get_prioritized_requirements", spec=spec)
    assert [item["text"] for item in page["result"]] == [BREW, WARM, MILK]


@pytest.mark.parametrize(
    "given_filter", [{"spec": "none"}, {"section": "none"}, {"spec": "specs-tea", "section": "brewing"}]
)
def test_a_filter_with_an_unknown_value_is_an_error(given_filter: dict[str, str], duvet_host: DuvetHost) -> None:
    with pytest.raises(InvalidRequest):
        duvet_host.call("get_prioritized_requirements", **given_filter)


def test_answers_contain_no_path_of_this_machine(duvet_host: DuvetHost) -> None:
    duvet_host.project.write("src/bad.rs", cite("specs/none.md#x", "Y.") + cite(BREWING, "Nothing."))
    answers = [
        duvet_host.read("/citations"),
        duvet_host.read("/specifications"),
        duvet_host.call("list_invalid_citations"),
    ]
    answers += [
        duvet_host.call("explain_requirement", req_identifier=duvet_host.identifier(BREW)),
        duvet_host.call("next_requirement"),
    ]
    assert str(duvet_host.project.root.parent) not in json.dumps(answers)


def test_a_specification_above_the_project_has_a_relative_path(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "package").mkdir()
    duvet_host = DuvetHost(tmp_path / "package")
    (tmp_path / "shared.md").write_text(f"# Shared\n\n{MILK}\n", encoding="utf-8")
    duvet_host.project.write("src/shared.rs", cite("shared.md#shared", MILK))
    assert duvet_host.call("list_invalid_citations")["result"] == []
    assert duvet_host.call("validate_citation", citation=cite("shared.md#shared", MILK))["valid"] is True
    urls = [entry["url"] for entry in duvet_host.read("/specifications")]
    assert urls == ["../shared.md", "specs/coffee.md", "specs/tea.md"]
