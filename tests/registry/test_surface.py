from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import pytest

from contextive.errors import Forbidden, PromptNotFound, ResourceNotFound, ToolNotFound, Unavailable
from contextive.registry import (
    Annotations,
    Context,
    NoInput,
    Pack,
    PackRules,
    PromptMessage,
    Registry,
    Reply,
    Scope,
    Services,
)
from contextive.registry.registry import conflicts, safe_repr


def make_pack(
    name: str, *, tools: tuple[str, ...] = (), uris: tuple[str, ...] = (), prompts: tuple[str, ...] = ()
) -> Pack:
    pack = Pack(name, title=name, description=name)

    async def handler(_given: NoInput, _ctx: Context) -> Reply:
        return Reply(data={})

    async def read(_variables: Mapping[str, str], _ctx: Context) -> str:
        return "body"

    async def render(_arguments: Mapping[str, str], _ctx: Context) -> list[PromptMessage]:
        return []

    for tool in tools:
        scope = Scope.MAINTAINER if "admin" in tool else Scope.READER
        writes = Annotations(read_only="write" not in tool)
        pack.tool(tool, title=tool, description=tool, scope=scope, annotations=writes)(handler)
    for uri in uris:
        scope = Scope.MAINTAINER if "admin" in uri else Scope.READER
        pack.resource(uri, name=uri, title=uri, description=uri, scope=scope)(read)
    for prompt in prompts:
        scope = Scope.MAINTAINER if "admin" in prompt else Scope.READER
        pack.prompt(prompt, title=prompt, description=prompt, scope=scope)(render)
    return pack


FIRST = make_pack(
    "first",
    tools=("look", "write_it", "admin_it", "admin_write"),
    uris=("one:///a", "one:///{id}", "one:///deep/{+path}", "one:///admin", "other://host/a"),
    prompts=("ask", "admin_ask"),
)
SECOND = make_pack("second", tools=("second_look",), uris=("two:///a", "two:///b"))


def test_a_surface_contains_what_the_scope_covers() -> None:
    registry = Registry([FIRST, SECOND])
    reader = registry.surface(["first", "second"], Scope.READER)
    maintainer = registry.surface(["first", "second"], Scope.MAINTAINER)
    assert list(reader.tools) == ["look", "write_it", "second_look"]
    assert list(maintainer.tools) == ["look", "write_it", "admin_it", "admin_write", "second_look"]
    assert list(reader.prompts) == ["ask"]
    assert "one:///admin" not in [resource.uri for resource in reader.resources]
    assert "one:///admin" in [resource.uri for resource in maintainer.resources]


def test_packs_keep_the_requested_order_and_unknown_ones_are_ignored() -> None:
    surface = Registry([FIRST, SECOND]).surface(["second", "absent", "first"], Scope.READER)
    assert next(iter(surface.tools)) == "second_look"
    assert Registry([FIRST]).surface(["second"], Scope.READER).tools == {}


##= docs/spec/host.md#discovery
##% A tool in `blockedTools` MUST NOT be offered.
##= docs/spec/host.md#discovery
##% If `allowedTools` is set, a tool that it does not name MUST NOT be offered.
##= docs/spec/host.md#discovery
##% In a read-only pack, a tool that changes something MUST NOT be offered.
@pytest.mark.parametrize(
    ("rules", "names"),
    [
        (PackRules(), ["look", "write_it", "admin_it", "admin_write"]),
        (PackRules(writes=False), ["look", "admin_it"]),
        (PackRules(allowed=frozenset({"look"})), ["look"]),
        (PackRules(allowed=frozenset()), []),
        (PackRules(blocked=frozenset({"look"})), ["write_it", "admin_it", "admin_write"]),
        (PackRules(allowed=frozenset({"look"}), blocked=frozenset({"look"})), []),
        (PackRules(writes=False, allowed=frozenset({"write_it"})), []),
    ],
)
def test_the_configured_rules_apply_to_every_scope(rules: PackRules, names: list[str]) -> None:
    registry = Registry([FIRST], {"first": rules})
    assert list(registry.surface(["first"], Scope.MAINTAINER).tools) == names
    assert set(registry.surface(["first"], Scope.READER).tools) <= set(names)


@pytest.mark.parametrize(
    ("uri", "declared", "variables"),
    [
        ("one:///a", "one:///a", {}),
        ("/a", "one:///a", {}),
        ("one:///x", "one:///{id}", {"id": "x"}),
        ("/b", "one:///{id}", {"id": "b"}),
        ("two:///b", "two:///b", {}),
        ("one:///deep/x/y", "one:///deep/{+path}", {"path": "x/y"}),
        ("other://host/a", "other://host/a", {}),
    ],
)
def test_an_exact_uri_wins_over_a_template(uri: str, declared: str, variables: dict[str, str]) -> None:
    surface = Registry([FIRST, SECOND]).surface(["first", "second"], Scope.READER)
    resource, full, found = surface.find_resource(uri)
    assert resource.uri == declared
    assert found == variables
    assert ":" in full


@pytest.mark.parametrize("uri", ["", "one:", "one:///", "three:///a", "//host/a", "a", "one:///a/b", "ONE:///a", "/"])
def test_an_unknown_uri_is_not_found(uri: str) -> None:
    surface = Registry([FIRST, SECOND]).surface(["first", "second"], Scope.READER)
    with pytest.raises(ResourceNotFound):
        surface.find_resource(uri)


def test_tools_above_the_scope_are_forbidden_and_unknown_tools_are_not_found() -> None:
    surface = Registry([make_pack("p", tools=("admin_x",), uris=("a:///admin",), prompts=("admin_p",))]).surface(
        ["p"], Scope.READER
    )
    with pytest.raises(Forbidden, match="admin_x needs the maintainer scope"):
        surface.tool("admin_x")
    with pytest.raises(PromptNotFound):
        surface.prompt("admin_p")
    with pytest.raises(ResourceNotFound):
        surface.find_resource("a:///admin")


def test_a_misspelt_name_gets_a_suggestion() -> None:
    surface = Registry([FIRST]).surface(["first"], Scope.READER)
    with pytest.raises(ToolNotFound) as caught:
        surface.tool("loook")
    assert caught.value.hint == "Did you mean look?"
    with pytest.raises(ToolNotFound) as caught:
        surface.tool("x" * 100_000)
    assert len(caught.value.message) < 200


##= docs/spec/host.md#declaration
##% Two packs MUST NOT declare the same tool, prompt or resource.
def test_two_packs_cannot_declare_the_same_name() -> None:
    rival = make_pack("rival", tools=("look", "fresh"), uris=("one:///a",), prompts=("ask",))
    assert conflicts(rival, [FIRST]) == ["tool look", "prompt ask", "resource one:///a"]
    assert conflicts(make_pack("first"), [FIRST]) == ["pack first"]
    assert conflicts(make_pack("fresh", tools=("fresh",)), [FIRST, SECOND]) == []
    with pytest.raises(ValueError, match="tool look"):
        Registry([FIRST, rival])


@pytest.mark.parametrize(
    ("text", "expected"),
    [("plain", "'plain'"), ("a\nb", r"'a\u000ab'"), ("\u202e", r"'\u202e'"), ("\ud800", r"'\ud800'")],
)
def test_a_callers_text_is_escaped_in_messages(text: str, expected: str) -> None:
    assert safe_repr(text) == expected
    assert len(safe_repr("x" * 10_000)) < 130


def test_a_service_is_found_by_type_and_a_missing_one_is_named() -> None:
    class Clock: ...

    class Other: ...

    clock = Clock()
    services = Services(clock)
    assert services.get(Clock) is clock
    with pytest.raises(Unavailable, match="Other"):
        services.get(Other)
    replacement = Clock()
    services.add(replacement)
    assert services.get(Clock) is replacement


def test_a_service_provided_by_type_name_is_built_once_on_first_use() -> None:
    built = []
    services = Services()
    services.provide("fractions:Fraction", lambda: built.append(1) or Fraction(1, 2))  # type: ignore[func-returns-value]
    assert built == []
    assert services.get(Fraction) is services.get(Fraction)
    assert built == [1]


##= docs/spec/gateway.md#tool-scopes
##% A maintainer MUST be able to do what a reader can.
def test_a_maintainer_may_do_what_a_reader_may_but_not_the_reverse() -> None:
    assert Scope.MAINTAINER.covers(Scope.READER)
    assert Scope.MAINTAINER.covers(Scope.MAINTAINER)
    assert Scope.READER.covers(Scope.READER)
    assert not Scope.READER.covers(Scope.MAINTAINER)
