"""Members of values: methods, fields, nested classes, and what their base classes declare."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from contextive.knowledge.project_names import SameName
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
    value_of,
)
from contextive.knowledge.receivers.wrapper_methods import ELEMENT, SAME_COLLECTION, SAME_VALUE

if TYPE_CHECKING:
    from contextive.knowledge.receivers.resolver import TypeResolver

_MAX_BASES = 8


class MemberLookup:
    """Finds members for a resolver."""

    def __init__(self, resolver: TypeResolver) -> None:
        self._resolver = resolver

    def member(self, value: Value, name: str, depth: int) -> Value:
        """The member of any value."""
        if depth > MAX_DEPTH:
            return UNKNOWN
        if isinstance(value, Opaque):
            return value
        match value:
            case Module():
                return self._resolver.modules.member(value, name, depth)
            case Class() | Instance():
                return self._member_or_same(value, name, depth)
            case Super():
                return self.inherited(value.cls, name, depth + 1) or EXTERNAL
            case Collection():
                if name in SAME_COLLECTION:
                    return Returning(value)
                return Returning(value.element) if name in ELEMENT else EXTERNAL
            case Function():
                return self.member(self._resolver.result(value, depth), name, depth + 1)  # a property
            case Wrapped():
                found = self.class_member(value.outer, name, depth)
                return found or self.member(value.inner, name, depth)
            case Guessed():
                return guessed(self.member(value.value, name, depth))
            case _:
                return UNKNOWN

    def _member_or_same(self, value: Class | Instance, name: str, depth: int) -> Value:
        cls = value.cls if isinstance(value, Instance) else value
        found = self.class_member(cls, name, depth)
        if found is not None:
            return found
        if cls.symbol.language == "rust":
            if isinstance(value, Class) and cls.symbol.kind == "type" and name[:1].isupper():
                return cls  # a variant of an enum
            if name in SAME_VALUE:
                return Returning(value)
        elif cls.symbol.language == "java" and name in SAME_VALUE:
            return Returning(value)
        return EXTERNAL

    def class_member(self, cls: Class, name: str, depth: int) -> Value | None:
        """A method, nested class or field of a class or its base classes."""
        if depth > MAX_DEPTH:
            return None
        key = ("class", name, cls.path, cls.symbol.qualified_name, depth)
        return self._resolver.shared(key, lambda: self._class_member(cls, name, depth))

    def _class_member(self, cls: Class, name: str, depth: int) -> Value | None:
        member = self._own_member(cls, name, depth)
        if member is None or (isinstance(member, Opaque) and not member.is_external):
            member = self.inherited(cls, name, depth + 1) or member
        return member

    def _own_member(self, cls: Class, name: str, depth: int) -> Value | None:
        qualified = f"{cls.symbol.qualified_name}.{name}"
        same_name = self._resolver.named(name)
        symbol = same_name.places.get((cls.path, qualified))
        if symbol is not None:
            return value_of(cls.path, symbol, cls)
        values = self._resolver.project.hints(cls.path).values.get((cls.symbol.qualified_name, name), ())
        if values:
            return self._resolver.first(values, cls.path, cls.symbol.qualified_name, depth + 1)
        return self._declared_elsewhere(cls, name, same_name, depth)

    def _declared_elsewhere(self, cls: Class, name: str, same_name: SameName, depth: int) -> Value | None:
        """A method that is declared in another file than its class: in Go, Rust and C++."""
        if cls.symbol.language not in ("go", "rust", "cpp", "c"):
            return None
        tail = f"{cls.symbol.name}.{name}"
        found: dict[str, Value] = {}
        for path, symbol in same_name.declared:
            if path == cls.path or not (symbol.qualified_name == tail or symbol.qualified_name.endswith(f".{tail}")):
                continue
            if cls.symbol.language == "go":
                is_same = posixpath.dirname(path) == posixpath.dirname(cls.path)
            elif cls.symbol.language == "rust":
                is_same = self._resolver.scopes.find(cls.symbol.name, path, "", depth + 1) == cls
            else:
                is_same = symbol.language in ("cpp", "c")
            if is_same:
                found.setdefault(path, value_of(path, symbol, cls))
        return next(iter(found.values())) if len(found) == 1 else None

    def inherited(self, cls: Class, name: str, depth: int) -> Value | None:
        """A member that one of the base classes declares."""
        bases = self._resolver.project.hints(cls.path).bases.get(cls.symbol.qualified_name, ())
        self._resolver.depends_on(cls.symbol.name)
        if depth > MAX_DEPTH:
            return None
        around = cls.symbol.qualified_name.rpartition(".")[0]
        for expression in bases[:_MAX_BASES]:
            base = self._resolver.evaluate(expression, cls.path, around, depth)
            if isinstance(base, Wrapped):
                base = base.outer
            if isinstance(base, (Class, Instance)):
                base_class = base if isinstance(base, Class) else base.cls
                if base_class != cls and (found := self.class_member(base_class, name, depth)) is not None:
                    if isinstance(found, Function):
                        return Function(found.path, found.symbol, cls)
                    return found
        return None
