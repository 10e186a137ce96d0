"""Find out what an expression is: a module, a class, an instance of one, or a function of the project.

The result depends only on the symbols, hints and paths that are looked up on the way. All of these lookups are by
name, and the names are recorded: as long as nothing of these names changes in the project, neither does the result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from typing import TypeVar

from contextive.knowledge.languages import family_of, language_of
from contextive.knowledge.project_names import DeclaredSymbol, ProjectNames, SameName
from contextive.knowledge.receivers.members import MemberLookup
from contextive.knowledge.receivers.modules import ModuleLookup
from contextive.knowledge.receivers.scopes import ScopeLookup
from contextive.knowledge.receivers.values import (
    EXTERNAL,
    MAX_DEPTH,
    UNKNOWN,
    Class,
    Collection,
    Function,
    Guessed,
    Instance,
    Module,
    Opaque,
    Returning,
    Super,
    Value,
    Wrapped,
    guessed,
)
from contextive.knowledge.rust_modules import parent_module

_HEAD = re.compile(r"<[^<>]*>|[#^]?[A-Za-z_$@][\w$]*|[?!*]")
_OPERATOR = re.compile(r"\.([\w$#~]+)|(\(\))|(\[\])|(@)|~([\w$.]+)")

Found = TypeVar("Found")


class TypeResolver:
    """Evaluates the expressions of one file."""

    def __init__(self, path: str, project: ProjectNames) -> None:
        self.names: set[str] = set()
        """The names that were looked up in the project."""
        self.family = family_of(language_of(path) or "")
        self.path = path
        self.project = project
        self.members = MemberLookup(self)
        self.scopes = ScopeLookup(self)
        self.modules = ModuleLookup(self)
        self.is_shared = False
        """Whether the current lookup is remembered for other files, with the names that it depends on."""
        self._values: dict[tuple[str, str, str, int], Value] = {}

    def shared(self, key: Hashable, find: Callable[[], Found]) -> Found:
        """The result of a lookup that is the same from every file. The project remembers it.

        Inside such a lookup, results that only this file remembers are not used: their names are not remembered.
        """
        known = self.project.lookups.get(key)
        if known is None:
            around, was_shared = self.names, self.is_shared
            self.names, self.is_shared = set(), True
            value = find()
            known = (value, frozenset(self.names))
            self.names, self.is_shared = around, was_shared
            self.project.remember(key, known)
        self.names |= known[1]
        found: Found = known[0]
        return found

    def depends_on(self, name: str) -> None:
        """Record that the results depend on everything with this name."""
        self.names.add(name)

    def value(self, expression: str, owner: str) -> Value:
        """The value of an expression in the code of `owner`, the qualified name of a symbol of the file."""
        if expression == "?":  # most often, nothing is known about a receiver
            return UNKNOWN
        return self.evaluate(expression, self.path, owner, 0)

    def name(self, name: str, owner: str) -> Value:
        """The value of a bare name in the code of `owner`."""
        return self.scopes.find(name, self.path, owner, 0)

    def member(self, value: Value, name: str) -> Value:
        """The member of a value."""
        return self.members.member(value, name, 0)

    def fixture(self, name: str) -> DeclaredSymbol | None:
        """A pytest fixture that the file can use: its own, or the one in the nearest conftest.py above it."""
        return self.scopes.fixture(name, self.path)

    def visible(self, name: str) -> list[DeclaredSymbol]:
        """The symbols with this name that the file could use."""
        return self.scopes.visible(name, self.path)

    def named(self, name: str) -> SameName:
        """All symbols of the project with this name."""
        self.names.add(name)
        return self.project.symbols[name]

    def evaluate(self, expression: str, path: str, owner: str, depth: int) -> Value:
        """The value of an expression in any file. `depth` counts the hints that led to it."""
        if depth > MAX_DEPTH:
            return UNKNOWN
        key = (expression, path, owner, depth)
        found = None if self.is_shared else self._values.get(key)
        if found is None:
            found = UNKNOWN
            for alternative in expression.split("|"):
                value = self._chain(alternative, path, owner, depth)
                if not _is_weak(value):
                    found = value
                    break
                if found is UNKNOWN or not isinstance(value, Opaque):
                    found = value
            if not self.is_shared:
                self._values[key] = found
        return found

    def first(self, expressions: tuple[str, ...], path: str, owner: str, depth: int) -> Value:
        """The value of the first of the expressions that is known."""
        return self.evaluate("|".join(expressions), path, owner, depth) if expressions else UNKNOWN

    def _chain(self, expression: str, path: str, owner: str, depth: int) -> Value:
        head = _HEAD.match(expression)
        if head is None:
            return UNKNOWN
        value = self._head(head.group(), path, owner, depth)
        for operator in _OPERATOR.finditer(expression, head.end()):
            if isinstance(value, Opaque):
                if operator.group(5) is None:
                    return value
                continue
            value = self._apply(operator, value, path, owner, depth)
        return value

    def _apply(self, operator: re.Match[str], value: Value, path: str, owner: str, depth: int) -> Value:
        match operator.lastindex:
            case 1:
                return self.members.member(value, operator.group(1), depth)
            case 2:
                return self._call(value, depth)
            case 3:
                return self._element(value, depth)
            case 4:
                return Collection(value)
            case _:
                outer = self._chain(operator.group(5), path, owner, depth)
                if isinstance(outer, Class):
                    return Wrapped(outer, value)
                return value if family_of(language_of(path) or "") == "rust" else UNKNOWN

    def _head(self, head: str, path: str, owner: str, depth: int) -> Value:
        match head:
            case "?":
                return UNKNOWN
            case "!":
                return EXTERNAL
            case "*":
                return Collection(UNKNOWN)
            case "self" | "this":
                around = self.scopes.class_around(path, owner, depth)
                if around is None and language_of(path) == "rust":
                    return Module((path,), "self", path)
                return Instance(around) if around else UNKNOWN
            case "Self" | "cls":
                return self.scopes.class_around(path, owner, depth) or UNKNOWN
            case "super":
                if language_of(path) == "rust":
                    return self.modules.module_at(parent_module(path, self.project.known), "super", path)
                around = self.scopes.class_around(path, owner, depth)
                return Super(around) if around else UNKNOWN
        if head[0] == "<":
            return self.modules.origin(head[1:-1], path, depth)
        if head[0] == "^":
            return self.scopes.class_called(head[1:], path)
        if head[0] == "#":
            return self.scopes.fixture_value(head[1:], path, depth)
        return self.scopes.find(head, path, owner, depth)

    def _call(self, value: Value, depth: int) -> Value:
        match value:
            case Class():
                return Instance(value)
            case Returning():
                return value.value
            case Function():
                return self.result(value, depth)
            case Super():
                return value  # `super()` in Python
            case Instance():
                found = self.members.class_member(value.cls, "__call__", depth + 1)
                return self.result(found, depth + 1) if isinstance(found, Function) else UNKNOWN
            case Guessed():
                return guessed(self._call(value.value, depth))
            case _:
                return UNKNOWN

    def result(self, function: Function, depth: int) -> Value:
        """The value that a call of a function returns."""
        symbol = function.symbol
        results = self.project.hints(function.path).results.get(symbol.qualified_name, ())
        self.depends_on(symbol.name)
        if function.receiver is not None:
            for expression in results:
                if expression == "self":
                    return Instance(function.receiver)
        return self.first(results, function.path, symbol.qualified_name, depth + 1)

    def _element(self, value: Value, depth: int) -> Value:
        match value:
            case Collection():
                return value.element
            case Function():
                return self._element(self.result(value, depth), depth)
            case Instance() | Super():
                for method in ("__iter__", "__getitem__", "__aiter__"):
                    found = self.members.class_member(value.cls, method, depth + 1)
                    if isinstance(found, Function):
                        result = self.result(found, depth + 1)
                        return result.element if isinstance(result, Collection) else result
                return UNKNOWN
            case Wrapped():
                return self._element(value.inner, depth)
            case Guessed():
                return guessed(self._element(value.value, depth))
            case _:
                return UNKNOWN


def _is_weak(value: Value) -> bool:
    """Whether a further alternative may say more."""
    return isinstance(value, (Opaque, Guessed)) or (isinstance(value, Collection) and isinstance(value.element, Opaque))
