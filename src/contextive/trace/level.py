"""How binding a requirement is, and what a citation says about the text that it quotes."""

from __future__ import annotations

from enum import IntEnum, StrEnum


class Level(IntEnum):
    """RFC 2119 levels, in rising order. `AUTO` means that no level is given."""

    AUTO = 0
    MAY = 1
    SHOULD = 2
    MUST = 3


##= docs/spec/trace.md#citation-comments
##% A citation MUST have the type implementation, test, implication, exception, todo or spec; the default is the type
##% of its source pattern.
class CitationType(StrEnum):
    """What a citation claims. `SPEC` declares a requirement; `TODO` covers nothing."""

    SPEC = "spec"
    TEST = "test"
    CITATION = "citation"
    EXCEPTION = "exception"
    TODO = "todo"
    IMPLICATION = "implication"

    @staticmethod
    def parse(name: str) -> CitationType | None:
        return _TYPES_BY_NAME.get(name)


_TYPES_BY_NAME = {kind.value: kind for kind in CitationType} | {kind.value.upper(): kind for kind in CitationType}
_TYPES_BY_NAME |= {"implementation": CitationType.CITATION, "IMPLEMENTATION": CitationType.CITATION}

TYPE_ORDER = {kind: index for index, kind in enumerate(CitationType)}
"""The order in which duvet sorts types; ids in its reports depend on it."""
