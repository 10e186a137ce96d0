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
            "a.rs",
            "fn f() { assert_eq!(x.get(p::q(1)).last(), vec![T::new()], if (y) { z } else { w[0] }, g (2)); }",
            ["x.get", "p.q", "last", "T.new"],
        ),
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


def test_single_words_in_code_spans_are_mentions_if_they_look_like_the_name_of_a_class_or_function() -> None:
    text = "`Router` `parse_url` `parseUrl` `start()` `word` `TODO` `a_` `run()`\n"
    assert reference_names("d.md", text, "mention", "doc") == ["Router", "parseUrl", "parse_url", "start"]


def test_of_many_single_words_only_those_that_appear_twice_are_mentions() -> None:
    text = "".join(f"`Name{number}X` " for number in range(8)) + "`Name3X` `Shop.buy`\n"
    assert reference_names("d.md", text, "mention", "doc") == ["Name3X", "Shop.buy"]


def test_a_link_without_suffix_may_lead_to_a_page() -> None:
    assert reference_names("docs/a.md", "[x](guide)\n", "link", "doc") == [
        "docs/guide", "docs/guide.md", "docs/guide.mdx", "docs/guide/README.md", "docs/guide/index.md",
    ]  # fmt: skip


def test_the_table_of_contents_of_restructured_text_consists_of_links() -> None:
    text = (
        "Shop\n====\n\n.. toctree::\n   :maxdepth: 2\n\n   guide\n   The API <api/index.rst>\n   parts/*\n"
        "\nText `x <y.rst>`_ ends it.\n"
    )
    links = reference_names("docs/index.rst", text, "link", "doc")
    assert {"docs/guide.rst", "docs/guide.md", "docs/api/index.rst", "docs/parts/*", "docs/y.rst"} <= set(links)
    assert not any("maxdepth" in link or "ends" in link for link in links)


def test_directives_roles_and_literals_of_restructured_text_are_references() -> None:
    text = (
        ".. autoclass:: shop.cart.Cart\n.. literalinclude:: ../src/shop.py\n\n:meth:`~shop.cart.Cart.add` :doc:`guide` "
        ":issue:`12` ``Cart.total()`` ``word``\n"
    )
    mentions = reference_names("docs/a.rst", text, "mention", "doc")
    assert sorted(mentions) == ["Cart.total", "shop.cart.Cart", "shop.cart.Cart.add"]
    assert {"src/shop.py", "docs/guide.rst"} <= set(reference_names("docs/a.rst", text, "link", "doc"))


def test_links_and_spans_of_asciidoc_are_references() -> None:
    text = "xref:guide.adoc#x[Guide] link:../src/a.py[code] include::part.adoc[] https://x.org[x] `Cart.add`\n"
    assert reference_names("docs/a.adoc", text, "link", "doc") == ["docs/guide.adoc", "docs/part.adoc", "src/a.py"]
    assert reference_names("docs/a.adoc", text, "mention", "doc") == ["Cart.add"]


def test_settings_and_code_link_to_the_documents_that_they_name() -> None:
    navigation = 'docs_dir: pages\nnav:\n  - Home: "index.md"\n  - API: api/cart.md\n'
    assert reference_names("mkdocs.yml", navigation, "link", "config") == ["pages/index.md", "pages/api/cart.md"]
    assert reference_names("crates/a/Cargo.toml", 'readme = "README.md"\n', "link", "config") == [
        "README.md", "crates/a/README.md",
    ]  # fmt: skip
    assert "docs/plan.md" in reference_names("src/a.py", "# The plan is in docs/plan.md.\nf()\n", "link")


@pytest.mark.parametrize("suffix", ["rst", "adoc", "yml"])
@pytest.mark.parametrize(
    "text",
    [
        ".. toctree::\n" * 20_000, "`" * 100_000, ":a:`" * 30_000, ".. a::" * 30_000, "`<" * 50_000, "a.md" * 30_000,
        "a/" * 60_000, "<" * 90_000, "xref:" * 30_000,
    ],
)  # fmt: skip
def test_unusual_documents_are_not_slow(suffix: str, text: str) -> None:
    assert extract_names(f"d.{suffix}", text, None, "doc").symbols == ()


@pytest.mark.parametrize(
    "text", ["[a" * 50_000, "[x](" * 50_000, "`a" * 50_000, "[" * 50_000 + "]" * 50_000, "```\n" * 30_000]
)
def test_unusual_markdown_is_not_slow(text: str) -> None:
    assert extract_names("d.md", text, None, "doc").symbols == ()
