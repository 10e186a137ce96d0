"""Collect what a source file says about the types of its names: fields, base classes, results and imports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal

from contextive.knowledge.expressions import EXTERNAL, UNKNOWN, expression_of
from contextive.knowledge.grammars.grammar import Role
from contextive.knowledge.local_names import LocalNames
from contextive.knowledge.symbol import HintKind, TypeHint
from contextive.knowledge.type_expressions import type_expression

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_HINTS = 3_000
"""The limit of hints per file; the first ones are kept."""
MAX_VALUES = 4
"""The limit of values that one name of a file can have."""
_SIGNS = {"fixture": "#", "class": "^", "unknown": ""}
"""The sign before the name of a parameter without a type, which says what the name may refer to."""
_MIN_PARAMETER = 3
"""Shorter names of parameters say nothing about a class."""
_MAX_TYPE = 240
_OWN_PREFIXES = ("self.", "this.", "cls.")
_ITSELF = frozenset({"self", "this"})


class HintCollector:
    """Collects the hints of a file, and keeps track of its local names."""

    def __init__(self, text_of: Callable[[int, int], str], parameters: Literal["fixture", "class", "unknown"]) -> None:
        self.names = LocalNames()
        self._text_of = text_of
        self._sign = _SIGNS[parameters]
        self.fixtures: list[tuple[str, int]] = []
        """The parameters that may be pytest fixtures, with their positions."""
        self._hints: dict[TypeHint, None] = {}
        self._values: dict[tuple[str, str, str], int] = {}

    @property
    def hints(self) -> tuple[TypeHint, ...]:
        return tuple(self._hints)[:MAX_HINTS]

    def collect(self, role: Role, start: int, captures: Mapping[str, list[Node]]) -> None:
        """Take a match of any role that is not a declaration, a call or an import."""
        _HANDLERS[role](self, start, captures)

    def add_import(self, name: str, origin: str) -> None:
        self._add("import", "", name, origin)

    def expression(self, node: Node) -> str:
        return expression_of(node, self._text_of)

    # Scopes

    def _closure(self, _start: int, captures: Mapping[str, list[Node]]) -> None:
        end = captures["d"][0].end_byte
        around = self.names.frames[-1]
        # The function in `const f = () => …` is the declaration itself.
        if around.kind != "function" or around.names or end < around.end - 2:
            self.names.enter(end, "closure", around.owner)

    def _class(self) -> str | None:
        """The qualified name of the class around the position."""
        for frame in reversed(self.names.frames):
            if frame.kind == "class":
                return frame.owner
        return None

    # Values

    def _value(self, start: int, captures: Mapping[str, list[Node]]) -> None:
        expression = self._type_or_value(captures)
        given = captures["v"][0].parent if not expression and "v" in captures else None
        if given is not None and given.type == "default_parameter":  # `name=None`
            expression = self._untyped(self._node_text(captures["n"][0]))
        self._bind(start, captures, expression)

    def _element(self, start: int, captures: Mapping[str, list[Node]]) -> None:
        stated = self._type(captures)
        if stated in ("", UNKNOWN):
            values = self.names.inline(self.expression(captures["v"][0]))
            stated = (
                "|".join(f"{part}[]" if part[0] not in "?!" else part for part in values.split("|"))
                if values
                else UNKNOWN
            )
        self._bind(start, captures, stated)

    def _part(self, start: int, captures: Mapping[str, list[Node]]) -> None:
        value = self.names.inline(self.expression(captures["v"][0]))
        for name in captures["n"]:
            member = self._node_text(name)
            parts = (
                [f"{part}.{member}" if part[0] not in "?!" else part for part in value.split("|")]
                if value
                else [UNKNOWN]
            )
            self._bind_name(member, "|".join(parts), name.end_byte)

    def _parameter(self, _start: int, captures: Mapping[str, list[Node]]) -> None:
        for node in captures["n"]:
            name = self._node_text(node)
            if name == "cls":
                self._bind_name(name, "Self", node.end_byte)
            elif name not in _ITSELF:
                self._bind_name(name, self._untyped(name), node.end_byte)
                if self._sign == _SIGNS["fixture"] and self.names.frames[-1].kind == "function":
                    self.fixtures.append((name, node.start_byte))

    def _untyped(self, parameter: str) -> str:
        """The expression for a parameter without a type."""
        return f"{self._sign}{parameter}" if self._sign and len(parameter) >= _MIN_PARAMETER else UNKNOWN

    def _unknown(self, start: int, captures: Mapping[str, list[Node]]) -> None:
        self._bind(start, captures, UNKNOWN)

    def _typevar(self, _start: int, captures: Mapping[str, list[Node]]) -> None:
        bound = self._type(captures).removesuffix("()")
        self.names.frames[-1].names[self._node_text(captures["n"][0])] = bound or UNKNOWN

    def _bind(self, start: int, captures: Mapping[str, list[Node]], expression: str) -> None:
        scopes = captures.get("s")
        if scopes:
            self.names.enter(scopes[0].end_byte, "closure", self.names.frames[-1].owner)
        values = captures.get("v")
        for node in captures["n"]:
            end = max(node.end_byte, values[0].end_byte) if values else node.end_byte
            self._bind_name(self._node_text(node), expression, start if scopes else end)

    def _bind_name(self, name: str, expression: str, effective_at: int) -> None:
        """Give a local name a value, or record the value of a field or of a name of the file."""
        frame = self.names.frames[-1]
        if not name.isidentifier():
            if name.startswith(_OWN_PREFIXES) and name.count(".") == 1 and (owner := self._class()) is not None:
                self._add("value", owner, name.partition(".")[2], expression)
        elif frame.kind in ("file", "class"):
            self._add("value", frame.owner, name, expression)
        elif name not in _ITSELF and (expression or self.names.find(name) is None):
            self.names.bind(name, expression or UNKNOWN, effective_at)

    # Members of classes and functions

    def _field(self, _start: int, captures: Mapping[str, list[Node]]) -> None:
        owner = self._class()
        if owner is not None:
            value = self._type_or_value(captures)
            for node in captures["n"]:
                self._add("value", owner, self._node_text(node), value)

    def _first_field(self, _start: int, captures: Mapping[str, list[Node]]) -> None:
        owner = self._class()
        if owner is not None:
            self._add("value", owner, "0", self.names.inline(self._type(captures)))

    def _base(self, _start: int, captures: Mapping[str, list[Node]]) -> None:
        owner = self._class()
        base = self.names.inline(self._type(captures)).removesuffix("()")
        if owner is not None and base:
            self._add("base", owner, "", base)

    def _result(self, _start: int, captures: Mapping[str, list[Node]]) -> None:
        frame = self.names.frames[-1]
        if frame.kind == "function":
            self._add("result", frame.owner, "", self.names.inline(self._type(captures)))

    def _return(self, _start: int, captures: Mapping[str, list[Node]]) -> None:
        frame = self.names.frames[-1]
        if frame.kind == "function":
            expression = self.names.inline(self.expression(captures["v"][0]))
            if expression[:1] not in ("", UNKNOWN):
                self._add("result", frame.owner, "", expression)

    def _exported(self, _start: int, captures: Mapping[str, list[Node]]) -> None:
        if self.names.frames[-1].kind != "closure":
            self._add("value", "", "default", self.expression(captures["v"][0]))

    # Texts

    def _type_or_value(self, captures: Mapping[str, list[Node]]) -> str:
        stated = self._type(captures)
        if stated not in ("", UNKNOWN):
            return self.names.inline(stated)
        values = captures.get("v")
        return self.names.inline(self.expression(values[0])) if values else UNKNOWN if "t" in captures else ""

    def _type(self, captures: Mapping[str, list[Node]]) -> str:
        nodes = captures.get("t")
        if not nodes:
            return ""
        return type_expression(
            self._text_of(nodes[0].start_byte, min(nodes[0].end_byte, nodes[0].start_byte + _MAX_TYPE))
        )

    def _node_text(self, node: Node) -> str:
        return self._text_of(node.start_byte, min(node.end_byte, node.start_byte + _MAX_TYPE))

    def _add(self, kind: HintKind, owner: str, name: str, value: str) -> None:
        if not value or value == UNKNOWN or (value == EXTERNAL and kind == "base"):
            return
        key = (kind, owner, name)
        count = self._values.get(key, 0)
        if count < MAX_VALUES or kind in ("import", "base"):
            self._values[key] = count + 1
            self._hints[TypeHint(kind, owner, name, value)] = None


_HANDLERS: Mapping[Role, Callable[[HintCollector, int, Mapping[str, list[Node]]], None]] = {
    "closure": HintCollector._closure,
    "value": HintCollector._value,
    "parameter": HintCollector._parameter,
    "element": HintCollector._element,
    "part": HintCollector._part,
    "unknown": HintCollector._unknown,
    "field": HintCollector._field,
    "first_field": HintCollector._first_field,
    "base": HintCollector._base,
    "result": HintCollector._result,
    "return": HintCollector._return,
    "exported": HintCollector._exported,
    "typevar": HintCollector._typevar,
}
"""Functions and not bound methods: with a reference to itself, a collector and all its hints would live until the next
garbage collection."""
