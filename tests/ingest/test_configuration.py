"""The duvet configuration of a project can change while a server runs, and is optional."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextive.errors import ConfigError, ProjectMissing
from tests.ingest.projects import (
    BOIL,
    BREW,
    COFFEE,
    CONFIG,
    MILK,
    TEA,
    Project,
    citations_of,
    cite,
    record_work,
    statuses,
    view_to_dict,
)

SCHEMA = "'$schema' = \"https://awslabs.github.io/duvet/config/v0.4.0.json\"\n"
HASHES, LONG_HASHES = ("#=", "#%"), ("##=", "##%")


# -- while a server runs -----------------------------------------------------------------------------------------------


def test_a_new_configuration_takes_effect(bare: Project) -> None:
    bare.write("specs/coffee.md", COFFEE)
    bare.write("other/tea.md", TEA)
    service = bare.service()
    assert list(statuses(service.view())) == [BREW, "The pot SHOULD keep it warm.", MILK]
    bare.write(".duvet/config.toml", SCHEMA + '[[specification]]\nsource = "other/tea.md"\n')
    assert list(statuses(service.view())) == [BOIL]
    bare.remove(".duvet/config.toml")
    assert BREW in statuses(service.view())


##= docs/spec/trace.md#freshness
##% A change to `.duvet/config.toml` MUST take effect without a restart.
def test_a_changed_configuration_takes_effect_without_parsing_all_again(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = project.service()
    service.view()
    work = record_work(monkeypatch)
    project.write(".duvet/config.toml", CONFIG.partition('[[specification]]\nsource = "specs/tea.md"')[0])
    view = service.view()
    assert list(view.catalog.specifications) == ["specs-coffee", "specs-tea"]
    assert BOIL not in statuses(view)
    assert work.since().sources == []
    assert view_to_dict(view) == view_to_dict(project.service().view())


@pytest.mark.parametrize(
    "broken",
    [
        "not toml at all [",
        "x = 1",
        SCHEMA + "unknown = 1",
        SCHEMA + '[[source]]\npattern = "src/[a"',
        SCHEMA + '[[source]]\npattern = "src/**x"',
        SCHEMA + '[[specification]]\nsource = "https://[bad"',
        b"\xff\xfe",
        "",
    ],
)
def test_a_broken_configuration_is_a_clear_error_until_it_is_fixed(broken: str | bytes, project: Project) -> None:
    service = project.service()
    before = view_to_dict(service.view())
    project.write(".duvet/config.toml", broken)
    for _ in range(2):
        with pytest.raises(ConfigError) as caught:
            service.view()
        assert str(project.root) not in caught.value.full_message()
    project.write(".duvet/config.toml", CONFIG)
    assert view_to_dict(service.view()) == before


def test_a_server_that_starts_with_a_broken_configuration_recovers(project: Project) -> None:
    project.write(".duvet/config.toml", "[")
    service = project.service()
    with pytest.raises(ConfigError):
        service.view()
    project.write(".duvet/config.toml", CONFIG)
    assert BREW in statuses(service.view())


@pytest.mark.parametrize("kind", ["directory", "link out", "link loop"])
def test_a_configuration_that_is_not_a_file_of_the_project_is_an_error(kind: str, bare: Project) -> None:
    path = bare.root / ".duvet" / "config.toml"
    if kind == "directory":
        path.mkdir(parents=True)
    else:
        path.parent.mkdir()
        path.symlink_to("/etc/passwd" if kind == "link out" else path)
    service = bare.service()
    if kind == "link loop":
        assert service.view().catalog.requirements == ()
    else:
        with pytest.raises(ConfigError) as caught:
            service.view()
        assert "root:" not in caught.value.full_message()


def test_patterns_that_lead_outside_are_reported_and_not_searched(project: Project) -> None:
    outside = project.root.parent / "outside"
    outside.mkdir(exist_ok=True)
    (outside / "x.rs").write_text(cite("specs/coffee.md#serving", MILK), encoding="utf-8")
    patterns = ["/**/*.rs", "../outside/*.rs", f"{outside}/*.rs"]
    (project.root / "linked").symlink_to(outside)
    patterns += ["linked/*.rs", "*/x.rs"]
    project.write(".duvet/config.toml", CONFIG + "".join(f'[[source]]\npattern = "{p}"\n' for p in patterns))
    view = project.service().view()
    assert statuses(view)[MILK] == "not_started"
    assert [problem.code for problem in view.state.problems] == ["outside_project"] * 4
    assert BREW in statuses(view)


@pytest.mark.parametrize("url", ["https://[bad", "https://127.0.0.1/x.md", "http://example.org/x", "https://0/x"])
def test_a_url_that_may_not_be_fetched_is_reported_as_a_problem(url: str, project: Project) -> None:
    project.write(".duvet/config.toml", CONFIG + f'[[specification]]\nsource = "{url}"\n')
    service = project.service(fetch=True)
    if "[" in url:
        with pytest.raises(ConfigError):
            service.view()
    else:
        assert BREW in statuses(service.view())
        assert [problem.code for problem in service.view().state.problems] == ["specification_not_found"]
    assert not (project.root / ".duvet/specifications").exists()


def test_one_specification_with_two_formats_gives_a_stable_view(project: Project) -> None:
    project.write(".duvet/config.toml", CONFIG + '[[specification]]\nsource = "specs/tea.md"\nformat = "ietf"\n')
    service = project.service()
    assert service.view() is service.view()


# -- without any configuration -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "specs/coffee.md",
        "specs/deep/coffee.md",
        "spec/coffee.md",
        "docs/spec/coffee.md",
        "docs/specs/a/coffee.md",
        "coffee.requirements.md",
        "packages/one/coffee.requirements.md",
    ],
)
def test_specifications_are_found_at_the_usual_paths(path: str, bare: Project) -> None:
    bare.write(path, COFFEE)
    assert BREW in statuses(bare.service().view())


@pytest.mark.parametrize(
    "path", ["README.md", "docs/coffee.md", "node_modules/p/x.requirements.md", "vendor/specs/x.requirements.md"]
)
def test_other_texts_are_not_specifications(path: str, bare: Project) -> None:
    bare.write(path, COFFEE)
    assert statuses(bare.service().view()) == {}


POT = "1. Pots\n\n   A pot MUST NOT hold tea.  A pot MAY whistle.\n"
POT_URL = "https://www.rfc-editor.org/rfc/rfc2324"


##= docs/spec/trace.md#defaults
##% Downloaded specifications, and the requirement files that older versions of duvet keep below `specs`, MUST be
##% supported.
def test_texts_below_a_host_directory_are_those_of_its_urls(bare: Project) -> None:
    bare.write("specs/www.rfc-editor.org/rfc/rfc2324.txt", POT)
    bare.write("specs/example.org/drafts/draft-pots-02.txt", POT.replace("tea", "soup"))
    bare.write("specs/coffee.md", COFFEE)
    bare.write("src/a.rs", cite(f"{POT_URL}#section-1", "A pot MUST NOT hold tea."))
    bare.write("src/b.rs", cite("https://example.org/drafts/draft-pots-02.txt#section-1", "A pot MUST NOT hold soup."))
    bare.write("src/c.rs", cite("specs/www.rfc-editor.org/rfc/rfc2324.txt#section-1", "A pot MAY whistle."))
    service = bare.service()
    view = service.view()
    assert view.state.problems == ()
    assert [(e.id, e.url) for e in view.catalog.specifications.values()] == [
        ("draft-pots-02", "https://example.org/drafts/draft-pots-02"),
        ("rfc2324", POT_URL),
        ("specs-coffee", "specs/coffee.md"),
    ]
    assert citations_of(view, "A pot MUST NOT hold tea.") == ["src/a.rs:1"]
    assert citations_of(view, "A pot MUST NOT hold soup.") == ["src/b.rs:1"]
    assert {"src/c.rs:1"} == {*citations_of(view, "A pot MAY whistle.")}
    assert service.view() is view


def test_only_requirements_extracted_below_specs_count_if_there_are_any(bare: Project) -> None:
    bare.write("specs/www.rfc-editor.org/rfc/rfc2324.txt", POT)
    bare.write("specs/www.rfc-editor.org/rfc/rfc7168.txt", POT.replace("tea", "soup"))
    extracted = f'target = "{POT_URL}#section-1"\n\n[[spec]]\nlevel = "MUST"\nquote = "A pot MUST NOT hold tea."\n'
    bare.write("specs/www.rfc-editor.org/rfc/rfc2324/section-1.toml", extracted)
    exception = (
        f'target = "{POT_URL}#section-1"\n\n[[exception]]\nquote = "A pot MUST NOT hold tea."\nreason = "Why not?"\n'
    )
    bare.write("specs/exceptions/tea.toml", exception)
    bare.write("src/a.rs", cite("https://www.rfc-editor.org/rfc/rfc7168#section-1", "A pot MUST NOT hold soup."))
    view = bare.service().view()
    assert view.state.problems == ()
    assert statuses(view) == {"A pot MUST NOT hold tea.": "exception"}
    assert list(view.catalog.specifications) == ["rfc2324", "rfc7168"]


def test_a_specification_added_later_is_found(bare: Project) -> None:
    service = bare.service()
    first = service.view()
    assert statuses(first) == {}
    assert service.view() is first
    bare.write("specs/coffee.md", COFFEE)
    assert BREW in statuses(service.view())
    bare.write("specs/tea.md", TEA)
    assert BOIL in statuses(service.view())
    bare.remove("specs/coffee.md")
    assert list(statuses(service.view())) == [BOIL]
    assert service.view() is service.view()
    assert view_to_dict(service.view()) == view_to_dict(bare.service().view())


@pytest.mark.parametrize(
    ("path", "style"),
    [
        ("src/a.rs", ("//=", "//#")),
        ("a.go", ("//=", "//#")),
        ("deep/down/a.ts", ("//=", "//#")),
        ("a.c", ("*=", "*#")),
        ("a.c", ("//=", "//#")),
        ("A.java", ("*=", "*#")),
        ("a.py", HASHES),
        ("a.py", LONG_HASHES),
        ("a.rb", LONG_HASHES),
        (".github.yml", HASHES),
        ("a.sh", HASHES),
        ("a.lua", ("--=", "--#")),
        ("a.sql", ("--=", "--#")),
    ],
)
def test_code_is_parsed_in_the_comment_styles_of_its_language(path: str, style: tuple[str, str], bare: Project) -> None:
    bare.write("specs/coffee.md", COFFEE)
    bare.write(path, cite("specs/coffee.md#brewing", BREW, style=style))
    assert statuses(bare.service().view())[BREW] == "missing_test"


def test_both_python_styles_in_one_file_are_parsed_once_each(bare: Project) -> None:
    bare.write("specs/coffee.md", COFFEE)
    bare.write(
        "a.py",
        cite("specs/coffee.md#brewing", BREW, style=HASHES)
        + "\n"
        + cite("specs/coffee.md#brewing", BREW, "type=test", style=LONG_HASHES),
    )
    view = bare.service().view()
    assert statuses(view)[BREW] == "complete"
    assert [entry.citation.id for entry in view.catalog.citations] == ["a.py:1", "a.py:4"]


@pytest.mark.parametrize(
    "folder", ["node_modules", "target", "vendor", "venv", ".venv", "build", "a/dist", "third_party"]
)
def test_vendored_and_generated_code_is_left_out(folder: str, bare: Project) -> None:
    bare.write("specs/coffee.md", COFFEE)
    bare.write(f"{folder}/a.rs", cite("specs/coffee.md#brewing", BREW) + cite("nowhere.md#x", "Nothing."))
    view = bare.service().view()
    assert statuses(view)[BREW] == "not_started"
    assert view.state.problems == ()


def test_the_trace_settings_choose_specifications_and_sources(bare: Project) -> None:
    bare.write("texts/coffee.md", COFFEE)
    bare.write("lib/a.py", cite("texts/coffee.md#brewing", BREW, style=HASHES))
    bare.write("other/b.py", cite("texts/coffee.md#serving", MILK, style=HASHES))
    view = bare.service(specifications=("texts/*.md",), sources=("lib/**/*.py",)).view()
    assert (statuses(view)[BREW], statuses(view)[MILK]) == ("missing_test", "not_started")


def test_the_trace_settings_may_name_a_url_but_not_leave_the_project(bare: Project) -> None:
    (bare.root.parent / "outside.md").write_text(COFFEE, encoding="utf-8")
    bare.write(".duvet/specifications/example.org/tea.txt", TEA)
    service = bare.service(specifications=("https://example.org/tea", "../*.md", "/**/*.md"))
    assert list(statuses(service.view())) == [BOIL]


def test_an_empty_directory_is_a_project(bare: Project) -> None:
    view = bare.service().view()
    assert (view.catalog.requirements, view.catalog.citations, view.state.problems) == ((), (), ())


def test_a_missing_project_directory_is_reported(tmp_path: Path) -> None:
    project = Project(tmp_path / "here")
    project.write("specs/coffee.md", COFFEE)
    service = project.service()
    assert BREW in statuses(service.view())
    (tmp_path / "here").rename(tmp_path / "away")
    with pytest.raises(ProjectMissing):
        service.view()


# -- one document under several names ----------------------------------------------------------------------------------

RFC = """\
Network Working Group                                            A. Author

   Hyper Text Coffee Pot Control Protocol

1.  Introduction

   A pot MUST answer.

2.  Errors

   A teapot MUST refuse coffee.
"""
RFC_NAMES = [
    "https://www.rfc-editor.org/rfc/rfc2324",
    "http://www.rfc-editor.org/rfc/rfc2324.txt",
    "https://www.rfc-editor.org/rfc/rfc2324.html",
    "https://tools.ietf.org/rfc/rfc2324.txt",
    "https://datatracker.ietf.org/doc/html/rfc2324",
    "https://datatracker.ietf.org/doc/html/rfc2324/",
    "HTTPS://Datatracker.IETF.org/doc/html/rfc2324",
]


@pytest.mark.parametrize("name", RFC_NAMES)
def test_all_names_of_an_rfc_are_one_document(name: str, bare: Project) -> None:
    bare.write(
        ".duvet/config.toml", SCHEMA + f'[[source]]\npattern = "*.rs"\n[[specification]]\nsource = "{RFC_NAMES[0]}"\n'
    )
    bare.write(".duvet/specifications/www.rfc-editor.org/rfc/rfc2324.txt", RFC)
    bare.write("a.rs", cite(f"{RFC_NAMES[0]}#section-1", "A pot MUST answer."))
    bare.write("b.rs", cite(f"{name}#section-1", "A pot MUST answer.", "type=test"))
    view = bare.service().view()
    assert view.state.problems == ()
    assert list(view.catalog.specifications) == ["rfc2324"]
    assert statuses(view)["A pot MUST answer."] == "complete"
    assert view.catalog.resolve(name) is view.catalog.specifications["rfc2324"]


##= docs/spec/trace.md#targets
##% The MCP tools MUST treat two spellings of the same document as one specification.
def test_two_spellings_of_a_path_are_one_document(project: Project) -> None:
    project.write("tests/a.rs", cite("./specs/../specs/coffee.md#brewing", BREW))
    view = project.service().view()
    assert statuses(view)[BREW] == "complete"
    assert list(view.catalog.specifications) == ["specs-coffee", "specs-tea"]


def test_an_explicit_format_does_not_make_another_document(project: Project) -> None:
    project.write("tests/a.rs", cite("specs/coffee.md#brewing", BREW, "format=markdown"))
    view = project.service().view()
    assert statuses(view)[BREW] == "complete"
    assert list(view.catalog.specifications) == ["specs-coffee", "specs-tea"]


def test_a_file_that_claims_to_be_another_document_does_not_replace_it(project: Project) -> None:
    """The identity of a document is its path or URL, never its content."""
    project.write("specs/evil.md", "# Coffee\n\n[//]: # (specs/coffee.md)\n\n## Brewing\n\nThe pot MUST run away.\n")
    project.write(".duvet/config.toml", CONFIG + '[[specification]]\nsource = "specs/evil.md"\n')
    catalog = project.service().view().catalog
    assert sorted(catalog.specifications) == ["specs-coffee", "specs-evil", "specs-tea"]
    assert [r.text for r in catalog.by_section[("specs-coffee", "brewing")]] == [BREW, "The pot SHOULD keep it warm."]


# -- the proposed comment style ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "meta"),
    [
        (["lib/a.py", "lib/b.py", "main.go"], "##="),
        (["lib/a.py", "main.go", "more.go"], "//="),
        (["schema.sql"], "--="),
        ([], "//="),
    ],
)
def test_the_style_of_most_sources_is_proposed(files: list[str], meta: str, bare: Project) -> None:
    bare.write("specs/coffee.md", COFFEE)
    for path in files:
        bare.write(path, "")
    service = bare.service()
    assert service.style_for(service.view()).meta == meta


def test_the_style_of_existing_citations_comes_first(bare: Project) -> None:
    bare.write("specs/coffee.md", COFFEE)
    for path in ("a.go", "b.go", "c.go"):
        bare.write(path, "")
    bare.write("d.py", cite("specs/coffee.md#brewing", BREW, style=HASHES))
    service = bare.service()
    assert service.style_for(service.view()).meta == "#="
