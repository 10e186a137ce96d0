from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.knowledge.subsystems import (
    NO_CATALOG,
    Subsystem,
    assign_subsystem,
    infer_subsystem,
    parse_catalog,
    source_prefixes,
)

plain_data = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
CATALOG = parse_catalog(
    json.dumps(
        {
            "Kasmina": {
                "description": "Blends",
                "criticality": "High",
                "owners": ["ann", "bob"],
                "domain": "core",
                "tags": ["Integration"],
                "labels": ["tier1"],
                "paths": ["docs/kasmina", "tests/kasmina/"],
                "depends_on": ["Leyline"],
            },
            "Leyline": {
                "criticality": 0.5,
                "owner": "eve",
                "includes": ["docs/*/leyline*.md"],
                "dependencies": "Kasmina",
            },
        }
    ),
    "docs/subsystems.json",
)


def test_all_fields_of_a_catalog_are_read() -> None:
    assert CATALOG.warnings == ()
    assert CATALOG.subsystems[0] == Subsystem(
        "Kasmina", "Blends", "high", "ann, bob", "core", ("Integration",), ("tier1",), ("docs/kasmina", "tests/kasmina/"),
        ("Leyline",),
    )  # fmt: skip
    leyline = CATALOG.find("LEYLINE")
    assert leyline is not None
    assert (leyline.criticality, leyline.owner, leyline.depends_on) == (0.5, "eve", ("Kasmina",))


##= docs/spec/knowledge.md#file-metadata
##% A catalog that cannot be read MUST cause a warning, not a failure.
@pytest.mark.parametrize(
    ("text", "warnings"),
    [
        ("{", 1),
        ("[]", 1),
        ("[" * 100_000, 1),
        ('{"A": 3}', 1),
        ('{"A": {"tags": [1]}}', 1),
        ('{"A": {"criticality": true}}', 1),
        ('{"A": {"description": []}}', 1),
        ('{"A": {}, "a": {}}', 1),
        ('{"": {}}', 1),
        ("{}", 0),
    ],
)
def test_an_invalid_catalog_causes_a_warning_not_an_error(text: str, warnings: int) -> None:
    assert len(parse_catalog(text, "docs/subsystems.json").warnings) == warnings


@given(plain_data)
def test_any_json_can_be_parsed_as_a_catalog(data: object) -> None:
    parse_catalog(json.dumps(data), "x.json")
    parse_catalog(json.dumps({"A": data, "B": {"paths": data, "tags": data, "criticality": data}}), "x.json")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src/pkg/ingest/a.py", "Ingest"),
        ("src/pkg/ingest/deep/a.py", "Ingest"),
        ("src/pkg/cli.py", "Pkg"),
        ("src/pkg/kasmina/a.py", "Kasmina"),
        ("src/pkg/KASMINA/a.py", "Kasmina"),
        ("src/pkg/MixedCase/a.py", "MixedCase"),
        ("src/pkg/tests/test_a.py", "Pkg"),
        ("src/pkg/ingest/tests/test_a.py", "Ingest"),
        ("docs/kasmina/a.md", "Kasmina"),
        ("docs/kasmina-plan.md", "Kasmina"),
        ("docs/kasminas.md", None),
        ("docs/x/leyline-2.md", "Leyline"),
        ("docs/guide.md", None),
        ("tests/kasmina/test_a.py", "Kasmina"),
        ("tests/test_a.py", None),
        ("README.md", None),
    ],
)
def test_the_subsystem_of_a_file_depends_on_its_path(path: str, expected: str | None) -> None:
    assert assign_subsystem(path, CATALOG, ("src/pkg",)) == expected


##= docs/spec/knowledge.md#file-metadata
##% The subsystem of a file MUST be the one that the file names, or else one from the catalog, or else one inferred
##% from its path.
def test_the_subsystem_named_in_a_file_takes_precedence() -> None:
    assert assign_subsystem("src/pkg/ingest/README.md", CATALOG, ("src/pkg",), "leyline") == "Leyline"
    assert assign_subsystem("docs/a.md", NO_CATALOG, (), "deployment") == "deployment"


def test_the_longest_prefix_is_used() -> None:
    assert infer_subsystem("src/a/b/c/d.py", ("src/a", "src/a/b")) == "c"
    assert infer_subsystem("src/ab/x.py", ("src/a",)) is None


def test_prefixes_are_the_directories_below_src() -> None:
    paths = ["src/pkg/a.py", "src/other/b.py", "src/top.py", "src/pkg.egg-info/x", "lib/c.py", "tests/t.py"]
    assert source_prefixes(paths) == ("src/other", "src/pkg")


def test_without_src_the_directories_with_code_are_prefixes() -> None:
    code = ["gateway/__init__.py", "gateway/mcp/server.py", "cmd/x/main.go"]
    paths = [*code, "docs/a.md", "tests/t.py", "scripts/x.sh", "data/a.csv"]
    prefixes = source_prefixes(paths)
    assert prefixes == ("cmd", "gateway")
    assert assign_subsystem("gateway/mcp/server.py", NO_CATALOG, prefixes) == "Mcp"
    assert assign_subsystem("gateway/app.py", NO_CATALOG, prefixes) == "Gateway"


@pytest.mark.parametrize(
    "pyproject",
    [
        '[tool.poetry]\npackages = [{include = "gateway"}]',
        '[tool.setuptools]\npackages = ["gateway"]',
        '[tool.hatch.build.targets.wheel]\npackages = ["./gateway/"]',
        '[tool.flit.module]\nname = "gateway"',
    ],
)
def test_packages_named_in_pyproject_are_the_only_prefixes(pyproject: str) -> None:
    assert source_prefixes(["gateway/a.py", "plugins/b.py"], pyproject) == ("gateway",)


def test_packages_are_found_in_the_package_directory_of_pyproject() -> None:
    text = '[tool.setuptools]\npackages = ["acme.app"]\n[tool.setuptools.package-dir]\n"" = "lib"\n'
    assert source_prefixes(["lib/acme/app/core/x.py"], text) == ("lib/acme/app",)


@pytest.mark.parametrize("pyproject", ["[", "[tool.poetry]\npackages = 3", "[tool]\nsetuptools = 1", ""])
def test_a_pyproject_without_packages_is_ignored(pyproject: str) -> None:
    assert source_prefixes(["gateway/a.py"], pyproject) == ("gateway",)
