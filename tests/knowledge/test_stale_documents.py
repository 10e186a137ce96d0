from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.knowledge.artifact import Artifact, ArtifactType, LastCommit
from contextive.knowledge.code_changes import is_significant
from contextive.knowledge.graph import Edge
from contextive.knowledge.stale_documents import CodePlace, StaleDocument, stale_documents
from contextive.knowledge.symbol import Symbol, SymbolKind

DAY = 86_400.0
NOW = 1000 * DAY
texts = st.text("ab(x,) \n=+", max_size=40)


def file(path: str, kind: ArtifactType, age: float | None, subsystem: str | None = None) -> Artifact:
    git = None if age is None else LastCommit("c", NOW - age * DAY)
    return Artifact(path, kind, "d", 1, path, "n", subsystem, git=git)


def symbol(name: str, start: int, end: int, kind: SymbolKind = "function") -> Symbol:
    return Symbol(f"src/a.py::{name}", name.rpartition(".")[2], name, kind, "python", start, end)


def links(document: str, *targets: str) -> list[Edge]:
    return [Edge(f"DesignDoc:{document}", "LINKS_TO", target) for target in targets]


def stale(
    artifacts: Sequence[Artifact],
    edges: Sequence[Edge],
    symbols: Mapping[str, Sequence[Symbol]] | None = None,
    changed: tuple[int, int] = (1, 1),
) -> dict[str, list[str]]:
    """The stale documents and the names of the changed code, if these lines of every newer file changed."""

    def changed_places(_commit: str, places: Sequence[CodePlace]) -> list[CodePlace]:
        return [place for place in places if place.contains(*changed)]

    found: tuple[StaleDocument, ...] = stale_documents(artifacts, edges, symbols or {}, NOW, 30, changed_places)
    return {document.artifact.path: [place.name for place in document.changed] for document in found}


##= docs/spec/gateway.md#km-lifecycle-report
##% A document MUST be reported as stale only if its last commit is older than `knowledge.staleDays` and code that it
##% describes or links to changed after it.
@pytest.mark.parametrize(
    ("document_age", "code_age", "expected"),
    [
        (40, 20, True),
        (40, 35, True),
        (40, 40, False),
        (40, 50, False),
        (20, 10, False),
        (None, 10, False),
        (40, None, False),
    ],
)
def test_a_document_is_stale_if_it_is_old_and_its_code_is_newer(
    document_age: float | None, code_age: float | None, expected: bool
) -> None:
    artifacts = [file("docs/a.md", "doc", document_age), file("src/a.py", "code", code_age)]
    found = stale(artifacts, links("docs/a.md", "SourceFile:src/a.py"))
    assert found == ({"docs/a.md": ["src/a.py"]} if expected else {})


def test_only_the_lines_of_a_linked_symbol_count() -> None:
    artifacts = [file("docs/a.md", "doc", 40), file("src/a.py", "code", 10)]
    symbols = {"src/a.py": [symbol("f", 1, 5), symbol("g", 7, 9)]}
    edges = links("docs/a.md", "Symbol:src/a.py::f", "Symbol:src/a.py::g", "Symbol:src/a.py::gone")
    assert stale(artifacts, edges, symbols, (8, 8)) == {"docs/a.md": ["src/a.py::g"]}
    assert stale(artifacts, edges, symbols, (6, 6)) == {}


def test_of_a_large_class_only_the_lines_outside_of_its_methods_count() -> None:
    artifacts = [file("docs/a.md", "doc", 40), file("src/a.py", "code", 10)]
    members = [symbol("Big.m", 10, 50, "method"), symbol("Big.n", 60, 180, "method")]
    symbols = {"src/a.py": [symbol("Big", 1, 200, "class"), *members]}
    edges = links("docs/a.md", "Symbol:src/a.py::Big")
    assert [bool(stale(artifacts, edges, symbols, (at, at))) for at in (5, 10, 30, 55, 100, 190)] == [
        True, True, False, True, False, True,
    ]  # fmt: skip


def test_a_document_describes_the_subsystem_that_it_names_from_elsewhere() -> None:
    code = file("src/pay/a.py", "code", 10, "pay")
    assert stale([file("docs/pay.md", "doc", 40, "pay"), code], []) == {"docs/pay.md": ["src/pay/a.py"]}
    assert stale([file("src/pay/notes.md", "doc", 40, "pay"), code], []) == {}


@pytest.mark.parametrize(
    "path",
    [
        "LICENSE",
        "CHANGELOG.md",
        "docs/upgrade-2.0.md",
        "docs/adr/0001-x.md",
        "docs/conf.cfg",
        "docs/CODE_OF_CONDUCT.md",
    ],
)
def test_records_and_files_that_are_not_documents_are_never_stale(path: str) -> None:
    artifacts = [file(path, "doc", 40), file("src/a.py", "code", 10)]
    assert stale(artifacts, links(path, "SourceFile:src/a.py")) == {}


def test_tests_settings_and_version_files_do_not_make_a_document_stale() -> None:
    artifacts = [
        file("docs/a.md", "doc", 40), file("tests/test_a.py", "test", 10), file("a.toml", "config", 10),
        file("src/__version__.py", "code", 10),
    ]  # fmt: skip
    targets = ["TestCase:tests/test_a.py", "ConfigFile:a.toml", "SourceFile:src/__version__.py"]
    assert stale(artifacts, links("docs/a.md", *targets)) == {}


def test_stale_documents_are_listed_oldest_first() -> None:
    artifacts = [file("docs/b.md", "doc", 40), file("docs/a.md", "doc", 50), file("src/a.py", "code", 10)]
    edges = [*links("docs/a.md", "SourceFile:src/a.py"), *links("docs/b.md", "SourceFile:src/a.py")]
    assert list(stale(artifacts, edges)) == ["docs/a.md", "docs/b.md"]


@pytest.mark.parametrize(
    ("removed", "added", "expected"),
    [
        ("x = 1", "x = 2", True), ("a < b", "a <= b", True), ("", "return None or x", True), ("f(a,\n  b)", "f(a, b)", False),
        ("def f(x: typing.Optional[int]): ...", "def f(x: int | None): ...", False),
        ("# Copyright 2024", "# Copyright 2026", False),
        ("", "# note", True), ("x = 'a'", 'x = "a"', False),
    ],
)  # fmt: skip
def test_layout_and_annotations_are_not_changes_of_code(removed: str, added: str, expected: bool) -> None:
    assert is_significant([(removed, added)]) is expected


def test_moved_code_is_not_a_change() -> None:
    assert not is_significant([("def f():\n    return 1", ""), ("", "def f():\n    return 1")])


@given(st.lists(texts, max_size=5), st.randoms())
def test_reordered_lines_are_never_a_change(lines: list[str], random: object) -> None:
    moved = list(reversed(lines))
    assert not is_significant([("\n".join(lines), "\n".join(moved))])
