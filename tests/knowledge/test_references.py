"""The names that files use: imports, calls, mentions and links."""

from __future__ import annotations

import pytest

from contextive.knowledge.artifact import ArtifactType
from contextive.knowledge.extraction import MAX_REFERENCES, extract_names
from contextive.knowledge.languages import language_of


def reference_names(path: str, text: str, kind: str, artifact_type: ArtifactType = "code") -> list[str]:
    names = extract_names(path, text, language_of(path), artifact_type)
    return [reference.name for reference in names.references if reference.kind == kind]


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("p/a.py", "import os, a.b as c\n", ["os", "a.b"]),
        ("p/a.py", "from x.y import (f, # g\n  h as i)\n", ["x.y", "x.y.f", "x.y.h"]),
        ("p/a.py", "from x import *\n", ["x"]),
        ("s/p/a.py", "from .m import f\nfrom .. import q\n", ["s/p/m", "s/p/m/f", "s", "s/q"]),
        ("a.py", "from ... import q\n", []),
        (
            "a.ts",
            "import {a} from './a';\nexport * from \"../b.js\";\nconst c = require('c'); import('d');",
            ["./a", "../b.js", "c", "d"],
        ),
        ("a.go", 'package p\nimport (\n"fmt"\nm "x.org/a/b"\n)\n', ["fmt", "x.org/a/b"]),
        (
            "a.rs",
            "use crate::a::{b, c::{self, d as e}};\nmod foo;\n",
            ["crate", "crate.a", "crate.a.b", "crate.a.c", "crate.a.c.d", "self.foo"],
        ),
        ("A.java", "import c.d.E; import static c.F.g; import c.*;", ["c.d.E", "c.F.g", "c.F", "c.*"]),
        ("a.c", '#include "a/b.h"\n#include <stdio.h>\n', ["a/b.h", "stdio.h"]),
    ],
)
def test_imports_are_extracted(path: str, text: str, expected: list[str]) -> None:
    assert reference_names(path, text, "import") == expected


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.py", "f(1)\na.b.c()\ng()().last()\nx[0]()\nsuper().m()\n", ["f", "a.b.c", "last", "g", "m"]),
        ("a.ts", "f?.(1); a.b<T>(x); new Foo(1); this.m()", ["f", "a.b", "Foo", "this.m"]),
        ("a.tsx", "const x = <Foo><Bar.Baz/><div/></Foo>", ["Foo", "Bar.Baz"]),
        ("a.go", "package p\nfunc f() { fmt.Println(s.q.r()) }", ["fmt.Println", "s.q.r"]),
        ("a.rs", "fn f() { Foo::new(1); self.x.y::<u8>(); }", ["Foo.new", "self.x.y"]),
        (
            "A.java",
            "class A { void f() { this.x(); a.b.c(new Q<>(1)).d(); g(); } }",
            ["this.x", "d", "a.b.c", "Q", "g"],
        ),
        ("a.c", "int f() { return g(p->h(x)); }", ["g", "p.h"]),
        ("a.cpp", "int f() { std::move<int>(x); new Foo(1); }", ["std.move", "Foo"]),
    ],
)
def test_calls_are_extracted(path: str, text: str, expected: list[str]) -> None:
    assert sorted(reference_names(path, text, "call")) == sorted(expected)


def test_a_call_has_its_enclosing_symbol_and_is_listed_once() -> None:
    names = extract_names("a.py", "class A:\n    def m(self):\n        f()\n        f()\nf()\n", "python", "code")
    assert [(call.name, call.line, call.source) for call in names.references] == [("f", 3, "a.py::A.m"), ("f", 5, None)]


def test_the_number_of_references_is_limited() -> None:
    text = "".join(f"f{number}()\n" for number in range(5_000))
    assert len(extract_names("a.py", text, "python", "code").references) == MAX_REFERENCES


def test_mentions_are_names_in_code_but_not_in_strings_or_comments() -> None:
    text = "x = Shop.buy(item, 'Quoted(')\nassert app.store.load() == 1  # Remark(\nnaked\nid(ab)\n"
    mentions = reference_names("tests/test_a.py", text, "mention", "test")
    assert {"Shop", "Shop.buy", "item", "app", "app.store", "app.store.load"} <= set(mentions)
    assert not {"Quoted", "Remark", "naked", "id", "ab", "assert"} & set(mentions)


def test_only_tests_have_mentions() -> None:
    assert reference_names("a.py", "Shop.buy(1)\n", "mention") == []


def test_mentions_are_dotted_in_every_language() -> None:
    assert "Shop.buy" in reference_names("a_test.rs", "fn t() { Shop::buy(1); }", "mention", "test")
    assert "shop.buy" in reference_names("t.cpp", "int t() { return shop->buy(1); }", "mention", "test")


def test_links_are_paths_from_the_root() -> None:
    text = (
        "[x](../src/a.py#L3) ![i](i.png) [u](https://x.org) [m](mailto:a@b) [h](#here) [o](../../../out.md)\n"
        '[t](b.md "title") [s](<with space.md>) [p](with%20code.md) [r](/docs/root.md)\n'
        "```\n[no](no.md)\n```\n`[no](no2.md)`\n[![badge](b.png)](badge.md)\n\n[ref]: ../q.md\n"
    )
    assert reference_names("docs/a/d.md", text, "link", "doc") == [
        "docs/src/a.py",
        "docs/a/b.md",
        "docs/a/with code.md",
        "docs/a/with space.md",
        "docs/root.md",
        "docs/a/badge.md",
        "docs/q.md",
    ]


def test_code_spans_that_name_files_or_symbols_are_mentions() -> None:
    text = "`src/a.py` `src/b.py:12` `Example.method()` `a::b` `word` `x = 1` ``two.words`` `./c.sh` `src/lib/`\n"
    assert reference_names("d.md", text, "mention", "doc") == [
        "Example.method",
        "a.b",
        "c.sh",
        "src/a.py",
        "src/b.py",
        "src/lib/",
        "two.words",
    ]


@pytest.mark.parametrize(
    "text", ["[a" * 50_000, "[x](" * 50_000, "`a" * 50_000, "[" * 50_000 + "]" * 50_000, "```\n" * 30_000]
)
def test_unusual_markdown_is_not_slow(text: str) -> None:
    assert extract_names("d.md", text, None, "doc").symbols == ()
