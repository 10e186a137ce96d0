from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.knowledge.artifact import ARTIFACT_TYPES
from contextive.knowledge.classification import artifact_type_of, classify, first_heading, namespace_of

names = st.text(st.characters(exclude_characters="/\0", codec="utf-8"), min_size=1, max_size=12)
paths = st.lists(names, min_size=1, max_size=5).map("/".join)


##= docs/spec/knowledge.md#file-metadata
##% Each file MUST have one of the types `doc`, `code`, `test`, `proto`, `config` and `other`, chosen by its path.
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("docs/guide.md", "doc"), ("docs/subsystems.json", "doc"), ("docs/spec/trace.md", "doc"), ("doc/x.rst", "doc"),
        ("README.md", "doc"), ("LICENSE", "doc"), ("src/pkg/README.md", "doc"), ("notes/a.adoc", "doc"), ("spec/rfc.md", "doc"),
        ("tests/test_a.py", "test"), ("tests/data/a.json", "test"), ("tests/README.md", "test"), ("src/pkg/tests/a.py", "test"),
        ("test_a.py", "test"), ("pkg/a_test.go", "test"), ("src/a.test.ts", "test"), ("web/a.spec.tsx", "test"),
        ("src/x/FooTest.java", "test"), ("spec/a_spec.rb", "test"), ("src/__tests__/a.js", "test"), ("conftest.py", "test"),
        ("lib/foo_unittest.cc", "test"), ("src/codec/tests.rs", "test"), ("src/main/java/TestRunner.java", "test"),
        ("api/a.proto", "proto"), ("src/pkg/_generated/a.py", "proto"), ("tests/a.proto", "proto"),
        ("src/pkg/a.py", "code"), ("src/pkg/data.json", "code"), ("gateway/mcp/server.py", "code"), ("main.go", "code"),
        ("lib/a.rs", "code"), ("scripts/run.sh", "code"), ("schema.sql", "code"), ("contest.py", "code"), ("latest.py", "code"),
        ("pyproject.toml", "config"), ("config/app.yaml", "config"), ("package.json", "config"), ("Dockerfile", "config"),
        ("Dockerfile.dev", "config"), ("Makefile", "config"), ("requirements.txt", "config"), ("dev-requirements.txt", "config"),
        ("CMakeLists.txt", "config"), (".eslintrc", "config"), ("setup.cfg", "config"), (".gitignore", "config"),
        ("data/table.csv", "other"), ("bin/tool", "other"),
    ],
)  # fmt: skip
def test_the_type_of_a_file_is_chosen_by_its_path(path: str, expected: str) -> None:
    assert artifact_type_of(path) == expected


@given(paths)
def test_every_path_has_a_type_and_a_namespace_from_its_parts(path: str) -> None:
    assert artifact_type_of(path) in ARTIFACT_TYPES
    assert namespace_of(path) in path.split("/")[:2]


@given(names, paths)
def test_the_namespace_is_the_first_part_or_the_one_below_src(first: str, rest: str) -> None:
    if first != "src":
        assert namespace_of(f"{first}/{rest}") == first
    assert namespace_of(f"src/{first}/{rest}") == first


def test_the_namespace_of_a_file_directly_in_src_or_the_root_is_its_first_part() -> None:
    assert namespace_of("src/main.rs") == "src"
    assert namespace_of("README.md") == "README.md"


##= docs/spec/knowledge.md#file-metadata
##% The title, subsystem and tags in a document's front matter MUST take precedence over those derived from its path.
def test_front_matter_takes_precedence() -> None:
    text = "---\ntitle: Release notes\nsubsystem: Deployment\ntags: [release, notes]\n---\n\n# Other title\n"
    found = classify("docs/a.md", text)
    assert (found.title, found.subsystem, found.tags) == ("Release notes", "Deployment", ("release", "notes"))


def test_toml_front_matter_takes_precedence() -> None:
    text = '+++\ntitle = "Release notes"\nsubsystem = "Deployment"\ntags = ["release", "notes"]\n+++\n\n# Other title\n'
    found = classify("docs/a.md", text)
    assert (found.title, found.subsystem, found.tags) == ("Release notes", "Deployment", ("release", "notes"))


def test_the_title_is_the_first_heading_or_the_file_name() -> None:
    assert classify("docs/a.md", "intro\n\n## The `plan` of [us](x.md) ##\n\n# Later\n").title == "The plan of us"
    assert classify("docs/a.md", "no heading\n").title == "a.md"
    assert classify("src/a.py", "# a comment\n").title == "a.py"


@pytest.mark.parametrize(
    "front_matter",
    [
        "a: &x [1]\nb: *x\n",
        "!!python/object:os.system {}\n",
        "title: [\n",
        "- a list\n",
        "x: {" * 500 + "\n",
        "title: a\ntitle: b\n",
    ],
)
def test_invalid_front_matter_is_ignored(front_matter: str) -> None:
    found = classify("docs/a.md", f"---\n{front_matter}---\n# Title\n")
    assert (found.title, found.subsystem, found.tags) == ("Title", None, ())


def test_a_yaml_file_has_no_front_matter() -> None:
    assert classify("deploy.yaml", "---\nsubsystem: X\n---\na: 1\n").subsystem is None


@pytest.mark.parametrize(
    ("text", "heading"),
    [
        ("# One\n", "One"),
        ("One\n===\n", "One"),
        ("===\nOne\n===\n", "One"),
        ("One\n---\ntext\n", "One"),
        ("= One\n", "One"),
        ("```\n# no\n```\n# Yes\n", "Yes"),
        ("two lines\nof text\n---\n", None),
        ("- item\n---\n", None),
        ("#no space\n", None),
        ("#\n# Second\n", "Second"),
        ("", None),
    ],
)
def test_headings_are_found_in_markdown_restructured_text_and_asciidoc(text: str, heading: str | None) -> None:
    assert first_heading(text) == heading


@given(st.text())
def test_any_text_has_a_short_title_on_one_line(text: str) -> None:
    title = classify("docs/a.md", text).title
    assert 0 < len(title) <= 200
    assert "\n" not in title
