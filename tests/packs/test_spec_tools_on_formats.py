"""The trace tools on specifications in the formats of Kiro, spec-kit and OpenSpec."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextive.errors import InvalidRequest
from contextive.registry.budget import estimated_tokens
from tests.ingest.projects import cite
from tests.packs.spec_project import AUDIT, REQUIREMENTS, SpecHost, spec_project

CONFIG = "contextive.config.json"


@pytest.fixture
def spec_host(tmp_path: Path) -> SpecHost:
    return SpecHost(spec_project(tmp_path))


##= docs/spec/trace.md#spec-driven-formats
##% Specifications in the formats of Kiro, spec-kit and OpenSpec MUST be found without configuration; the setting
##% `trace.formats` names the formats to read, and an empty list means none.
def test_all_formats_are_found_without_configuration_and_switched_off_by_a_setting(tmp_path: Path) -> None:
    project = spec_project(tmp_path)
    assert set(SpecHost(project).status()) == {"kiro:user-auth", "speckit:004-events", "openspec:audit"}
    project.write(CONFIG, '{"trace": {"formats": ["kiro"]}}')
    assert [spec for spec in SpecHost(project).status() if ":" in spec] == ["kiro:user-auth"]
    project.write(CONFIG, '{"trace": {"formats": []}}')
    assert [spec for spec in SpecHost(project).status() if ":" in spec] == []


##= docs/spec/trace.md#spec-driven-formats
##% The profile `duvet` MUST show these specifications only if `trace.formats` is set, and the `duvet` commands never.
def test_the_profile_duvet_shows_formats_only_if_the_setting_names_them(tmp_path: Path) -> None:
    project = spec_project(tmp_path)
    assert not any("kiro" in spec for spec in SpecHost(project, "duvet").status())
    assert "kiro:user-auth" in SpecHost(project, "spexus").status()
    project.write(CONFIG, '{"trace": {"formats": ["kiro"]}}')
    assert "kiro:user-auth" in SpecHost(project, "duvet").status()


##= docs/spec/trace.md#spec-driven-formats
##% The tool `spec_status` MUST count, for each specification, the requirements that have a task, are ticked, named,
##% quoted or tested, and the references that are dangling or ambiguous.
def test_the_table_says_what_is_planned_ticked_in_the_code_and_tested(spec_host: SpecHost) -> None:
    assert spec_host.status()["kiro:user-auth"] == {
        "spec": "kiro:user-auth",
        "requirements": 3,
        "with_task": 2,
        "ticked": 2,
        "named": 1,
        "quoted": 1,
        "tested": 1,
        "dangling": 2,
        "ambiguous": 0,
        "not_understood": 0,
    }
    totals = spec_host.call("spec_status")["totals"]
    assert (totals["requirements"], totals["named"], totals["quoted"]) == (6, 2, 2)


def test_the_rows_of_one_specification_begin_with_what_is_ticked_and_not_in_the_code(spec_host: SpecHost) -> None:
    rows = spec_host.status("kiro:user-auth")
    assert list(rows) == ["kiro:user-auth/1.2", "kiro:user-auth/1.3", "kiro:user-auth/1.1"]
    assert rows["kiro:user-auth/1.2"]["tasks"] == ["2 done"]
    assert rows["kiro:user-auth/1.1"]["code"] == ["src/login.py:1 named"]
    assert rows["kiro:user-auth/1.1"]["tests"] == ["tests/test_login.py:2 named"]
    assert rows["kiro:user-auth/1.3"]["code"] == ["src/login.py:9 quoted"]


@pytest.mark.parametrize("name", ["user-auth", "kiro:user-auth", ".kiro/specs/user-auth/requirements.md"])
def test_a_specification_is_found_by_id_key_or_path(name: str, spec_host: SpecHost) -> None:
    assert len(spec_host.status(name)) == 3


def test_an_unknown_specification_is_an_error_that_names_the_known_ones(spec_host: SpecHost) -> None:
    with pytest.raises(InvalidRequest) as error:
        spec_host.status("kiro:nothing")
    assert "kiro:user-auth" in (error.value.hint or "")


def test_a_specification_of_duvet_is_in_the_same_table(spec_host: SpecHost) -> None:
    spec_host.project.write("docs/spec/tea.md", "# Tea\n\n## Pot\n\nA pot MUST be warm. A cup MUST be clean.\n")
    spec_host.project.write("src/pot.py", cite("docs/spec/tea.md#pot", "A pot MUST be warm.", style=("#=", "#%")))
    row = spec_host.status()["docs-spec-tea"]
    assert (row["requirements"], row["quoted"], row["tested"]) == (2, 1, 0)
    assert [row.get("code") for row in spec_host.status("docs-spec-tea").values()] == [None, ["src/pot.py:1 quoted"]]


##= docs/spec/trace.md#spec-driven-formats
##% An answer of `spec_status` MUST have at most 2000 tokens.
def test_the_table_comes_in_pages_that_fit_into_its_budget(spec_host: SpecHost) -> None:
    for number in range(120):
        spec_host.project.write(f".kiro/specs/feature-{number:03}/requirements.md", REQUIREMENTS)
    seen, cursor = [], None
    while True:
        answer = spec_host.call("spec_status", **({"cursor": cursor} if cursor else {}))
        assert estimated_tokens(answer) <= 2000
        seen += [row["spec"] for row in answer["result"]]
        cursor = answer.get("next_cursor")
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == 123


##= docs/spec/trace.md#spec-driven-formats
##% A requirement in such a format MUST have a handle, such as `kiro:user-auth/3.2`, which every tool accepts in place
##% of the identifier.
@pytest.mark.parametrize(
    "handle",
    [
        "kiro:user-auth/1.1",
        " kiro:user-auth/1.1 ",
        "kiro:User-Auth/1.1",
        "openspec:audit/Keep Entries",
        "openspec:audit/Keep%20Entries",
        "openspec:audit/keep-entries",
        "speckit:004-events/FR-002",
        "speckit:004-events/fr-002",
    ],
)
def test_tools_accept_a_handle_in_any_spelling(handle: str, spec_host: SpecHost) -> None:
    assert spec_host.call("explain_requirement", req_identifier=handle)["handle"].lower() in (
        handle.strip().lower(),
        "openspec:audit/keep entries",
    )
    assert "status" in spec_host.call("get_requirement_status", req_identifier=handle)


def test_an_unknown_handle_is_not_found(spec_host: SpecHost) -> None:
    answer = spec_host.call("explain_requirement", req_identifier="kiro:user-auth/9.9")
    assert answer["error"] == "Requirement not found"


def test_every_list_of_requirements_has_handles(spec_host: SpecHost) -> None:
    for tool, arguments in (
        ("search_requirements", {"query": "log every attempt"}),
        ("list_uncited_requirements", {}),
        ("get_prioritized_requirements", {}),
    ):
        found = spec_host.call(tool, **arguments)["result"]
        assert found, tool
        assert all(item["handle"] for item in found), tool
    assert spec_host.call("next_requirement")["handle"] == "kiro:user-auth/1.2"


def test_the_text_of_a_requirement_keeps_its_identifier(spec_host: SpecHost) -> None:
    answer = spec_host.call("explain_requirement", req_identifier="kiro:user-auth/1.1")
    again = spec_host.call("explain_requirement", req_identifier=answer["identifier"])
    assert again["handle"] == "kiro:user-auth/1.1"
    assert answer["level"] == "MUST"


##= docs/spec/trace.md#spec-driven-formats
##% A comment or docstring that names a requirement by its key MUST count as a reference to it, weaker than a quote.
##= docs/spec/trace.md#spec-driven-formats
##% An explanation MUST say how the specification of each such reference was found.
def test_an_explanation_says_how_each_reference_was_resolved(spec_host: SpecHost) -> None:
    answer = spec_host.call("explain_requirement", req_identifier="kiro:user-auth/1.1")
    assert [(c["id"], c["type"], c["strength"], c["resolved"]) for c in answer["citations"]] == [
        (
            "src/login.py:1",
            "implementation",
            "named",
            "no other specification of the project has this key",
        ),
        ("tests/test_login.py:2", "test", "named", "the comment names the feature"),
    ]
    assert answer["status"] == "done"
    quoted = spec_host.call("explain_requirement", req_identifier="kiro:user-auth/1.3")
    assert "strength" not in quoted["citations"][0]


##= docs/spec/trace.md#spec-driven-formats
##% A reference that can mean several specifications MUST be shown with all of them and count for none.
def test_an_ambiguous_reference_is_shown_and_counts_for_none(spec_host: SpecHost) -> None:
    spec_host.project.write(".kiro/specs/billing/requirements.md", REQUIREMENTS)
    spec_host.project.write("src/other.py", "# Requirement 1.2\n")
    answer = spec_host.call("spec_status", spec="kiro:billing")
    assert {
        "place": "src/other.py:1",
        "key": "1.2",
        "candidates": ["kiro:billing/1.2", "kiro:user-auth/1.2"],
    } in answer["ambiguous"]
    assert all("src/other.py" not in str(row.get("code")) for row in answer["result"])
    assert spec_host.status()["kiro:billing"]["ambiguous"] == 1


##= docs/spec/trace.md#spec-driven-formats
##% A line that a reader did not understand MUST be listed with its file, its number and the reason.
def test_what_was_not_understood_is_listed(spec_host: SpecHost) -> None:
    spec_host.project.write("openspec/specs/audit/spec.md", AUDIT + "\n### Something else\n")
    answer = spec_host.call("spec_status", spec="openspec:audit")
    assert answer["not_understood"] == [
        {"place": "openspec/specs/audit/spec.md:12", "reason": "not `### Requirement: Name`"}
    ]


##= docs/spec/trace.md#spec-driven-formats
##% A citation MUST be accepted whose target is a handle and that quotes the text of that requirement.
@pytest.mark.parametrize(
    "target",
    [
        "kiro:user-auth/1.2",
        ".kiro/specs/user-auth/requirements.md#requirement-1-login",
        ".kiro/specs/user-auth/requirements.md#acceptance-criteria",
        ".kiro/specs/user-auth/requirements.md#1.2",
    ],
)
def test_a_quote_is_valid_with_a_handle_or_a_path_as_target(target: str, spec_host: SpecHost) -> None:
    quote = "WHEN five logins fail THE SYSTEM SHALL lock the account"
    comment = cite(target, quote, style=("#=", "#%"))
    assert spec_host.call("validate_citation", citation=comment)["valid"]
    spec_host.project.write("src/lock.py", comment + "def lock(): ...\n")
    row = spec_host.status("kiro:user-auth")["kiro:user-auth/1.2"]
    assert row["code"] == ["src/lock.py:1 quoted"]


def test_the_comment_that_an_explanation_suggests_is_valid(spec_host: SpecHost) -> None:
    for handle in ("kiro:user-auth/1.2", "openspec:audit/keep-entries", "speckit:004-events/FR-002"):
        missing = spec_host.call("explain_requirement", req_identifier=handle)["missing"]
        assert spec_host.call("validate_citation", citation=missing[-1]["citation"])["valid"], missing


def test_a_wrong_quote_of_a_handle_is_corrected(spec_host: SpecHost) -> None:
    comment = cite("kiro:user-auth/1.2", "THE SYSTEM SHALL log every attempt", style=("#=", "#%"))
    answer = spec_host.call("validate_citation", citation=comment)
    assert (answer["valid"], answer["part"]) == (False, "quote")
    assert spec_host.call("validate_citation", citation=answer["suggestion"])["valid"]
    spec_host.project.write("src/wrong.py", comment)
    (invalid,) = spec_host.call("list_invalid_citations")["result"]
    assert invalid["error"] == "could not find text in kiro:user-auth/1.2"


def test_a_handle_without_a_quote_names_the_requirement(spec_host: SpecHost) -> None:
    spec_host.project.write("tests/lock.py", cite("kiro:user-auth/1.2", "", "type=test", style=("#=", "#%")))
    row = spec_host.status("kiro:user-auth")["kiro:user-auth/1.2"]
    assert row["tests"] == ["tests/lock.py:1 named"]


def test_filters_accept_the_id_of_a_specification(spec_host: SpecHost) -> None:
    found = spec_host.call("get_prioritized_requirements", spec="kiro:user-auth")["result"]
    assert len(found) == 3
    assert len(spec_host.call("list_uncited_requirements", spec="openspec:audit")["result"]) == 0


def test_a_project_with_a_duvet_configuration_shows_both(spec_host: SpecHost) -> None:
    spec_host.project.write(
        ".duvet/config.toml",
        "'$schema' = \"https://awslabs.github.io/duvet/config/v0.4.0.json\"\n"
        '[[source]]\npattern = "src/**/*.py"\ncomment-style = { meta = "#=", content = "#%" }\n'
        '[[specification]]\nsource = "tea.md"\n',
    )
    spec_host.project.write("tea.md", "# Tea\n\n## Pot\n\nA pot MUST be warm.\n")
    assert set(spec_host.status()) == {"tea", "kiro:user-auth", "speckit:004-events", "openspec:audit"}
    assert spec_host.status()["kiro:user-auth"]["tested"] == 1


def test_an_edit_of_a_file_is_in_the_next_answer(spec_host: SpecHost) -> None:
    assert spec_host.status()["kiro:user-auth"]["ticked"] == 2
    tasks = spec_host.project.root / ".kiro/specs/user-auth/tasks.md"
    tasks.write_text(tasks.read_text(encoding="utf-8").replace("- [x] 2", "- [ ] 2"), encoding="utf-8")
    assert spec_host.status()["kiro:user-auth"]["ticked"] == 1
    spec_host.project.write("src/lock.py", "# Requirement 1.2 of user-auth\n")
    assert spec_host.status()["kiro:user-auth"]["named"] == 2
