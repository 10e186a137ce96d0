"""Resolve the imports, calls and mentions of a file to files and symbols."""

from __future__ import annotations

from collections import defaultdict

import pytest

from contextive.knowledge.calls import resolve_calls
from contextive.knowledge.classification import artifact_type_of
from contextive.knowledge.exercised_symbols import resolve_mentions
from contextive.knowledge.extraction import extract_names
from contextive.knowledge.file_hints import FileHints
from contextive.knowledge.imports import import_keys, resolve_imports
from contextive.knowledge.known_paths import KnownPaths
from contextive.knowledge.languages import language_of
from contextive.knowledge.manifests import packages_of
from contextive.knowledge.project_names import ProjectNames, SameName
from contextive.knowledge.receivers import TypeResolver
from contextive.knowledge.symbol import Reference, Symbol


def imported_files(path: str, text: str, *known: str) -> tuple[str, ...]:
    names = extract_names(path, text, language_of(path), "code")
    found = resolve_imports(path, names.references, KnownPaths.of([path, *known]))
    last_parts = {reference.name.replace("/", ".").rpartition(".")[2] for reference in names.references}
    assert all(import_keys(target) & last_parts for target in found), "this import would not be resolved again"
    return found


def resolver_of(files: dict[str, str], path: str) -> tuple[TypeResolver, tuple[Reference, ...]]:
    """The resolver of one file in a project, and the references of the file."""
    parsed = {
        name: extract_names(name, text, language_of(name), artifact_type_of(name)) for name, text in files.items()
    }
    by_name: dict[str, list[tuple[str, Symbol]]] = {}
    for name, names in parsed.items():
        for symbol in names.symbols:
            by_name.setdefault(symbol.name, []).append((name, symbol))
    project = ProjectNames(
        KnownPaths.of(files),
        defaultdict(SameName, {name: SameName.of(declared) for name, declared in by_name.items()}),
        lambda name: FileHints.of(parsed[name].hints),
        lambda name: parsed[name].references,
        packages_of(hint for names in parsed.values() for hint in names.hints),
    )
    return TypeResolver(path, project), parsed[path].references


def resolved_calls(files: dict[str, str], path: str) -> set[tuple[str | None, str]]:
    resolver, references = resolver_of(files, path)
    return {(call.source, call.target) for call in resolve_calls(references, resolver)}


##= docs/spec/knowledge.md#nodes-and-edges
##% A name MUST be resolved only if it is unambiguous.
@pytest.mark.parametrize(
    ("path", "text", "known", "expected"),
    [
        ("src/p/a.py", "from .m import f\n", ["src/p/m.py", "src/q/m.py"], ["src/p/m.py"]),
        ("src/p/a.py", "from . import m\n", ["src/p/m.py", "src/p/__init__.py"], ["src/p/__init__.py", "src/p/m.py"]),
        (
            "tests/t.py",
            "import p.m\nfrom p import n\n",
            ["src/p/m.py", "src/p/n/__init__.py"],
            ["src/p/m.py", "src/p/n/__init__.py"],
        ),
        ("src/p/a.py", "import json\n", ["src/q/json.py"], []),
        ("scripts/a.py", "import common\n", ["scripts/common.py", "other/common.py"], ["scripts/common.py"]),
        ("x/a.py", "import p.m\n", ["one/p/m.py", "two/p/m.py"], []),
        ("one/a.py", "import p.m\n", ["one/p/m.py", "two/p/m.py"], ["one/p/m.py"]),
        (
            "src/a.ts",
            "import './b'; import './c.js'; import './d'; import 'react'",
            ["src/b.tsx", "src/c.ts", "src/d/index.ts"],
            ["src/b.tsx", "src/c.ts", "src/d/index.ts"],
        ),
        ("src/x/a.ts", "import '..'", ["src/index.ts"], ["src/index.ts"]),
        ("src/x/a.ts", "import '@/lib/b'", ["src/lib/b.ts"], ["src/lib/b.ts"]),
        ("a.ts", "import '../../b'", ["b.ts"], []),
        (
            "cmd/m.go",
            'package m\nimport ("net/http"; "x.org/me/app/internal/store"; "github.com/pkg/errors")',
            ["internal/store/a.go", "internal/store/a_test.go", "http/h.go", "errors/e.go"],
            ["internal/store/a.go"],
        ),
        ("src/lib.rs", "mod a; mod b;", ["src/a.rs", "src/b/mod.rs"], ["src/a.rs", "src/b/mod.rs"]),
        (
            "src/b/x.rs",
            "use crate::a::Thing; use super::y::f; use crate::Root;",
            ["src/a.rs", "src/b/y.rs", "src/lib.rs", "src/b/mod.rs"],
            ["src/a.rs", "src/b/y.rs"],
        ),
        ("src/b/x.rs", "use crate::Root;", ["src/lib.rs"], ["src/lib.rs"]),
        (
            "one/src/lib.rs",
            "use other_crate::a::B;",
            ["other-crate/src/a.rs", "other-crate/src/lib.rs"],
            ["other-crate/src/a.rs"],
        ),
        (
            "j/a/A.java",
            "import c.d.E; import static c.F.g; import x.y.Z;",
            ["j/c/d/E.java", "j/c/F.java"],
            ["j/c/F.java", "j/c/d/E.java"],
        ),
        (
            "j/a/A.java",
            "import c.d.*;",
            ["j/c/d/E.java", "j/c/d/F.java", "j/d/G.java"],
            ["j/c/d/E.java", "j/c/d/F.java"],
        ),
        (
            "src/a.c",
            '#include "b.h"\n#include <lib/c.h>\n#include "twice.h"\n',
            ["src/b.h", "include/lib/c.h", "x/twice.h", "y/twice.h"],
            ["include/lib/c.h", "src/b.h"],
        ),
        ("a.md", "[x](b.md)", ["b.md"], []),
    ],
)
def test_unambiguous_imports_resolve_to_files(path: str, text: str, known: list[str], expected: list[str]) -> None:
    assert list(imported_files(path, text, *known)) == expected


def test_a_call_resolves_to_the_same_file_first() -> None:
    files = {
        "a.py": (
            "def helper(): pass\ndef run():\n    helper()\n"
            "class A:\n    def m(self):\n        self.n()\n    def n(self): pass\n"
        ),
        "b.py": "def helper(): pass\nclass B:\n    def n(self): pass\n",
    }
    assert resolved_calls(files, "a.py") == {("a.py::run", "a.py::helper"), ("a.py::A.m", "a.py::A.n")}


def test_a_call_resolves_to_an_imported_file() -> None:
    files = {
        "p/a.py": "from p.b import helper\nfrom p import c\nhelper()\nc.load()\n",
        "p/b.py": "def helper(): pass\n",
        "p/c.py": "def load(): pass\n",
        "p/d.py": "def helper(): pass\ndef load(): pass\n",
    }
    assert resolved_calls(files, "p/a.py") == {(None, "p/b.py::helper"), (None, "p/c.py::load")}


def test_a_call_resolves_to_another_file_only_if_the_name_is_unique() -> None:
    files = {
        "a.py": "single()\ndouble()\n",
        "b.py": "def single(): pass\ndef double(): pass\n",
        "c.py": "def double(): pass\n",
    }
    assert resolved_calls(files, "a.py") == {(None, "b.py::single")}


def test_common_method_names_do_not_resolve_to_the_project() -> None:
    files = {
        "a.py": "items.append(1)\nos.path.join(a)\nthing.recompute()\n",
        "b.py": "class Buffer:\n    def append(self): pass\n    def recompute(self): pass\ndef join(): pass\n",
    }
    assert resolved_calls(files, "a.py") == {(None, "b.py::Buffer.recompute")}


def test_files_of_one_go_package_can_call_each_other() -> None:
    files = {
        "p/a.go": "package p\nfunc A() { b() }",
        "p/b.go": "package p\nfunc b() {}",
        "q/b.go": "package q\nfunc b() {}",
    }
    assert resolved_calls(files, "p/a.go") == {("p/a.go::A", "p/b.go::b")}


def test_a_call_does_not_resolve_to_another_language() -> None:
    assert resolved_calls({"a.py": "helper()\n", "b.ts": "function helper() {}\n"}, "a.py") == set()
    assert resolved_calls({"a.tsx": "helper()\n", "b.ts": "function helper() {}\n"}, "a.tsx") == {
        (None, "b.ts::helper")
    }


def mentioned_symbols(test_path: str, test: str, source_path: str, source: str) -> tuple[str, ...]:
    mentions = extract_names(test_path, test, language_of(test_path), "test").references
    symbols = extract_names(source_path, source, language_of(source_path), "code").symbols
    return resolve_mentions(test_path, mentions, [(source_path, symbol) for symbol in symbols])


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("buy(1)\n", ["buy"]),
        ("Shop.close()\n", ["Shop", "Shop.close"]),
        ("shop.close()\n", ["Shop.close"]),
        ("x = 'buy(1)'  # buy(2)\n", []),
        ("go(1)\n", []),
    ],
)
def test_a_test_exercises_the_symbols_it_mentions(test: str, expected: list[str]) -> None:
    source = "def buy(): pass\ndef go(): pass\nclass Shop:\n    def close(self): pass\n"
    found = mentioned_symbols("tests/test_market.py", test, "src/app/market.py", source)
    assert list(found) == [f"src/app/market.py::{name}" for name in expected]


def test_a_bare_name_counts_only_if_both_paths_share_a_word() -> None:
    source = "def buy(): pass\nclass Shop:\n    def close(self): pass\n"
    assert mentioned_symbols("tests/test_other.py", "buy(1)\nclose()\n", "src/app/market.py", source) == ()


@pytest.mark.parametrize("test", ["app.market.buy(1)\n", "market.buy(1)\n", "src.app.market.buy(1)\n"])
def test_a_name_after_its_module_always_counts(test: str) -> None:
    assert mentioned_symbols("tests/test_other.py", test, "src/app/market.py", "def buy(): pass\n") == (
        "src/app/market.py::buy",
    )


def test_tests_in_other_languages_exercise_symbols() -> None:
    assert mentioned_symbols(
        "src/market.test.ts", "test('x', () => { buy(1) })", "src/market.ts", "export function buy() {}"
    ) == ("src/market.ts::buy",)
    assert mentioned_symbols(
        "p/market_test.go", "package p\nfunc TestX() { Buy(1) }", "p/market.go", "package p\nfunc Buy() {}"
    ) == ("p/market.go::Buy",)
