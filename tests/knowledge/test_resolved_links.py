from __future__ import annotations

import pytest

from contextive.knowledge.known_paths import KnownPaths
from contextive.knowledge.resolved_links import resolve_links
from contextive.knowledge.symbol import Reference, ReferenceKind, Symbol, SymbolKind

PATHS = KnownPaths.of(
    [
        "docs/guide.md", "docs/parts/a.md", "docs/parts/b.md", "src/shop/cart.py", "src/shop/other.py", "crates/a/src/lib.rs",
        "crates/b/src/lib.rs", "tests/test_cart.py", "examples/cart.py",
    ]
)  # fmt: skip


def declared(path: str, name: str, kind: SymbolKind = "class") -> tuple[str, Symbol]:
    return path, Symbol(f"{path}::{name}", name.rpartition(".")[2], name, kind, "python", 1, 2)


SYMBOLS = [
    declared("src/shop/cart.py", "Cart"), declared("tests/test_cart.py", "Cart"), declared("examples/cart.py", "Cart"),
    declared("src/shop/cart.py", "Cart.add", "method"), declared("src/shop/cart.py", "Item"),
    declared("src/shop/other.py", "Item"),
    declared("src/shop/other.py", "total", "function"), declared("src/shop/other.py", "Shop"),
]  # fmt: skip
BY_NAME: dict[str, list[tuple[str, Symbol]]] = {}
for item in SYMBOLS:
    BY_NAME.setdefault(item[1].name, []).append(item)


def resolve(kind: ReferenceKind, name: str, path: str = "docs/guide.md") -> list[str]:
    return list(resolve_links(path, [Reference(kind, name, 1)], PATHS, lambda bare: BY_NAME.get(bare, ())))


##= docs/spec/knowledge.md#nodes-and-edges
##% A name MUST be resolved only if it is unambiguous.
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Cart", ["src/shop/cart.py::Cart"]),
        ("Cart.add", ["src/shop/cart.py::Cart.add"]),
        ("shop.cart.Cart", ["src/shop/cart.py::Cart"]),
        ("shop.cart.Cart.add", ["src/shop/cart.py::Cart.add"]),
        ("other.cart.Cart", []),
        ("Item", []),
        ("shop.other.Item", ["src/shop/other.py::Item"]),
        ("total", ["src/shop/other.py::total"]),
        ("Total", []),
        ("Shop", []),
        ("src/shop/cart.py", ["src/shop/cart.py"]),
        ("shop/cart.py", ["src/shop/cart.py"]),
        ("other.py", ["src/shop/other.py"]),
        ("src/lib.rs", []),
    ],
)
def test_a_mention_is_resolved_if_it_can_mean_only_one_thing(name: str, expected: list[str]) -> None:
    assert resolve("mention", name) == expected


def test_code_near_the_document_takes_precedence() -> None:
    assert resolve("mention", "src/lib.rs", "crates/a/README.md") == ["crates/a/src/lib.rs"]
    assert resolve("mention", "Cart", "examples/README.md") == ["examples/cart.py::Cart"]


def test_a_link_leads_to_a_file_or_to_all_files_of_a_folder() -> None:
    assert resolve("link", "docs/guide.md", "a.md") == ["docs/guide.md"]
    assert resolve("link", "guide.md", "a.md") == []
    assert resolve("link", "docs/parts/*") == ["docs/parts/a.md", "docs/parts/b.md"]
