from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.knowledge.packages import Packages
from contextive.knowledge.subsystems import (
    NO_CATALOG,
    Subsystem,
    assign_subsystem,
    parse_catalog,
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


PACKAGES = Packages(
    {
        "src/pkg": "pkg",
        "src/pkg/ingest": "pkg.ingest",
        "src/pkg/kasmina": "pkg.kasmina",
        "src/pkg/kasmina/deep": "pkg.kasmina.deep",
        "src/pkg/MixedCase": "pkg.MixedCase",
    }
)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src/pkg/ingest/a.py", "pkg.ingest"),
        ("src/pkg/ingest/data/a.py", "pkg.ingest"),
        ("src/pkg/cli.py", "pkg"),
        ("src/pkg/kasmina/a.py", "Kasmina"),
        ("src/pkg/kasmina/deep/a.py", "Kasmina"),
        ("src/pkg/KASMINA/a.js", "Kasmina"),
        ("src/pkg/MixedCase/a.py", "pkg.MixedCase"),
        ("src/pkg/tests/test_a.py", "pkg"),
        ("src/pkg/ingest/tests/test_a.py", "pkg.ingest"),
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
    assert assign_subsystem(path, CATALOG, PACKAGES) == expected


##= docs/spec/knowledge.md#file-metadata
##% The subsystem of a file MUST be the one that the file names, or else one from the catalog, or else its package.
def test_the_subsystem_named_in_a_file_takes_precedence() -> None:
    assert assign_subsystem("src/pkg/ingest/README.md", CATALOG, PACKAGES, "leyline") == "Leyline"
    assert assign_subsystem("docs/a.md", NO_CATALOG, Packages(), "deployment") == "deployment"
