"""`find_usages` on small projects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from contextive.cli.call import call_tool
from contextive.errors import InvalidCursor, InvalidRequest, NotFound
from contextive.registry.budget import estimated_tokens

from .conftest import OpenHost
from .repository import write_repository

FILES: Mapping[str, str] = {
    "src/shop/__init__.py": "",
    "src/shop/cart.py": (
        "class Cart:\n    def add(self, item: str) -> None:\n        self.check(item)\n\n    def check(self, item):\n"
        "        pass\n\n\ndef fill(cart: Cart) -> None:\n    cart.add('tea')\n\n\nfill(Cart())\n"
    ),
    "src/shop/list.py": "class List:\n    def add(self, item: str) -> None:\n        pass\n\n\ndef weigh_parcel():\n    pass\n",
    "src/shop/post.py": "def send(parcel):\n    parcel.stamp_it()\n\n\nclass Parcel:\n    def stamp_it(self):\n        pass\n",
    "tests/test_cart.py": (
        "from shop.cart import Cart\n\n\nclass List:\n    pass\n\n\ndef test_add():\n    cart = Cart()\n    cart.add('x')\n"
    ),
    "src/names.rs": "pub struct Name;\nimpl Name {\n    pub fn parse() {}\n}\npub fn all() { Name::parse() }\n",
}  # fmt: skip
Find = Callable[..., dict[str, Any]]


@pytest.fixture
def find(tmp_path: Path, open_host: OpenHost) -> Find:
    host = open_host(write_repository(tmp_path / "shop", FILES, git=False))
    return lambda **arguments: call_tool(host, "find_usages", arguments)


def rows(answer: dict[str, Any]) -> list[tuple[str, str | None, str, str]]:
    return [(row["at"], row.get("symbol"), row["kind"], row["match"]) for row in answer["usages"]]


##= docs/spec/knowledge.md#find-usages
##% The tool `find_usages` MUST take `name` or `id` and return the definitions, calls and tests of a symbol, each with
##% its path and line, and marked `exact` or `by_name`.
@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"name": "Cart.add"}, "exact"), ({"name": "Cart::add"}, "exact"), ({"name": "Cart.add()"}, "exact"),
        ({"id": "src/shop/cart.py::Cart.add"}, "exact"), ({"name": "src/shop/cart.py::Cart.add"}, "exact"),
        ({"id": "Symbol:src/shop/cart.py::Cart.add"}, "exact"), ({"name": "shop.cart.Cart.add"}, "by_name"),
        ({"name": "add", "path": "src/shop/cart.py"}, "by_name"), ({"name": "add", "path": "cart.py"}, "by_name"),
    ],
)  # fmt: skip
def test_a_symbol_is_found_by_its_names_and_by_its_id(find: Find, arguments: dict[str, str], match: str) -> None:
    answer = find(**arguments)
    assert answer["definitions"] == [
        {
            "at": "src/shop/cart.py:2",
            "symbol": "Cart.add",
            "kind": "method",
            "id": "src/shop/cart.py::Cart.add",
            "match": match,
        }
    ]
    assert rows(answer) == [
        ("src/shop/cart.py:10", "fill", "call", "exact"),
        ("tests/test_cart.py:10", "test_add", "test", "exact"),
    ]
    assert (answer["calls"], answer["tests"]) == (1, 1)


def test_a_call_that_was_resolved_by_a_unique_name_says_so(find: Find) -> None:
    assert rows(find(name="stamp_it")) == [("src/shop/post.py:2", "send", "call", "by_name")]


def test_calls_outside_of_functions_and_of_other_languages_are_found(find: Find) -> None:
    assert rows(find(name="fill")) == [("src/shop/cart.py:13", None, "call", "exact")]
    assert rows(find(name="Name::parse")) == [("src/names.rs:5", "all", "call", "exact")]


def test_a_symbol_that_nobody_uses_has_no_usages(find: Find) -> None:
    answer = find(name="weigh_parcel")
    assert (answer["usages"], answer["calls"], answer["tests"]) == ([], 0, 0)
    assert "candidates" not in answer


##= docs/spec/knowledge.md#find-usages
##% A name that several symbols have MUST be answered with these candidates, unless only one of them is product code.
def test_an_ambiguous_name_is_answered_with_its_candidates(find: Find) -> None:
    answer = find(name="add")
    assert (answer["definitions"], answer["usages"], answer["total"]) == ([], [], 2)
    assert answer["candidates"] == [
        {"at": "src/shop/cart.py:2", "kind": "method", "id": "src/shop/cart.py::Cart.add", "calls": 1, "tests": 1},
        {"at": "src/shop/list.py:2", "kind": "method", "id": "src/shop/list.py::List.add", "calls": 0, "tests": 0},
    ]
    product = find(name="List")
    assert [row["id"] for row in product["definitions"]] == ["src/shop/list.py::List"]
    assert [row["id"] for row in product["candidates"]] == ["tests/test_cart.py::List"]


@pytest.mark.parametrize("name", ["cart.add", "ADD", "nowhere", "src/shop/cart.py::gone", "::", "."])
def test_an_unknown_name_is_refused_with_similar_ones(find: Find, name: str) -> None:
    with pytest.raises(NotFound) as raised:
        find(name=name)
    assert raised.value.hint


@pytest.mark.parametrize("arguments", [{}, {"name": "a", "id": "b"}, {"name": " "}, {"name": "add", "extra": 1}])
def test_exactly_one_name_is_needed(find: Find, arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        find(**arguments)


HELPERS = """\
== shop/till.py
class Till:
    def count(self): pass
    def lock_it(self): pass
    def open_it(self): pass
== tests/helpers.py
from shop.till import Till

def counted():
    till = Till()
    till.count()
    deeper(till)

def deeper(till: Till):
    till.lock_it()
== tests/conftest.py
import pytest
from shop.till import Till

@pytest.fixture
def till():
    till = Till()
    till.open_it()
    yield till
== tests/test_count.py
from tests.helpers import counted

def test_count():
    counted()
== tests/test_open.py
def test_open(till):
    till.count()
"""


def test_a_test_uses_what_its_helpers_and_fixtures_call(tmp_path: Path, open_host: OpenHost) -> None:
    files = dict(part.split("\n", 1) for part in HELPERS.removeprefix("== ").split("\n== "))
    host = open_host(write_repository(tmp_path / "shop", files, git=False))

    def tests_of(name: str) -> set[str]:
        usages = call_tool(host, "find_usages", {"name": name})["usages"]
        return {row["at"].partition(":")[0] for row in usages if row["kind"] == "test"}

    assert tests_of("Till.count") == {"tests/helpers.py", "tests/test_count.py", "tests/test_open.py"}
    assert tests_of("Till.open_it") == {"tests/conftest.py", "tests/test_open.py"}
    assert tests_of("Till.lock_it") == {"tests/helpers.py"}, "only one level of helpers counts"


##= docs/spec/knowledge.md#find-usages
##% An answer MUST NOT exceed 2,000 tokens, and more usages follow with `cursor`.
@pytest.mark.parametrize("name", ["popular_function", "same_name"])
def test_many_usages_are_returned_in_pages(tmp_path: Path, open_host: OpenHost, name: str) -> None:
    callers = "".join(f"\n\ndef caller_with_a_long_name_{number}():\n    popular_function()\n" for number in range(200))
    same = "".join(f"\n\nclass C{number}:\n    def same_name(self):\n        pass\n" for number in range(200))
    root = write_repository(
        tmp_path / "big", {"a.py": f"def popular_function():\n    pass\n{callers}{same}"}, git=False
    )
    host = open_host(root)
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        answer = call_tool(host, "find_usages", {"name": name, **cursor})
        assert estimated_tokens(answer) <= 2_000
        seen += [row["at"] for row in answer["usages"] or answer["candidates"]]
        if "cursor" not in answer:
            break
        cursor = {"cursor": answer["cursor"]}
    assert len(seen) == len(set(seen)) == 200
    with pytest.raises(InvalidCursor):
        call_tool(host, "find_usages", {"name": "C1", "cursor": cursor["cursor"]})
