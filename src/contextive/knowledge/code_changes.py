"""Tell changes of code that mean something from changes of its layout, type annotations and copyright notices."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

_TOKEN = re.compile(r"\w+|[<>=!+\-*/%&^~?@]+")
_NOTICE = re.compile(r"copyright|spdx|licen[cs]e", re.IGNORECASE)
_ANNOTATIONS_TEXT = """
typing Any Optional Union List Dict Tuple Set FrozenSet Type Sequence Mapping MutableMapping Iterable Iterator
AsyncIterable AsyncIterator Generator AsyncGenerator Awaitable Coroutine Callable Literal ClassVar Final Annotated
ContextManager AsyncContextManager AbstractContextManager TypeVar ParamSpec NamedTuple TypedDict None dict list tuple set
type str int float bool bytes object noqa nocover pragma ignore
"""
_ANNOTATIONS = frozenset(_ANNOTATIONS_TEXT.split())


def is_significant(changes: Iterable[tuple[str, str]]) -> bool:
    """Whether any code is new, gone or different after some changes, each from a removed to an added text.

    Code that was only moved, wrapped or annotated is the same: it consists of the same words and operators.
    """
    difference: Counter[str] = Counter()
    for removed, added in changes:
        difference.update(_tokens(added))
        difference.subtract(_tokens(removed))
    return any(difference.values())


def _tokens(text: str) -> Iterable[str]:
    for line in text.split("\n"):
        if not _NOTICE.search(line):
            yield from (token for token in _TOKEN.findall(line) if token not in _ANNOTATIONS)
