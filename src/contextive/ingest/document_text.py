"""Composes the document for a stored text: front matter, a blank line, the body."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from contextive.errors import InvalidRequest
from contextive.notes.front_matter import parse_front_matter

_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_OWN_KEYS = frozenset({"title", "subsystem", "tags"})
_PLAIN = re.compile(r"[A-Za-z](?:[\w ./()+&'-]*[\w.)])?", re.ASCII)
_NOT_PLAIN = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
_MAX_FRONT_MATTER = 16_384


@dataclass(frozen=True, slots=True)
class Draft:
    """A text to store, and its metadata."""

    content: str
    title: str | None = None
    subsystem: str | None = None
    tags: Sequence[str] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def has_front_matter(self) -> bool:
        return bool(self.title or self.subsystem or self.tags or self.metadata)


##= docs/spec/gateway.md#km-storetext
##% The tool `km-storetext` MUST write `content` as a document that ends with a newline.
##= docs/spec/gateway.md#km-storetext
##% The title, the subsystem, the tags and the metadata MUST appear in the front matter in this order.
def compose_document(draft: Draft) -> str:
    """The document: front matter with title, subsystem, tags and metadata, then the text with a final newline."""
    body = draft.content if draft.content.endswith("\n") else f"{draft.content}\n"
    if not draft.has_front_matter:
        return body
    if parse_front_matter(draft.content).length:
        raise InvalidRequest(
            "The content already has front matter.", hint="Remove it, or leave out title, subsystem, tags and metadata."
        )
    values = _values(draft)
    if not values:
        return body
    head = "---\n" + "".join(f"{key}: {_to_yaml(value)}\n" for key, value in values.items()) + "---\n\n"
    if len(head) > _MAX_FRONT_MATTER:
        raise InvalidRequest(f"Title, tags and metadata are longer than {_MAX_FRONT_MATTER} characters.")
    read = parse_front_matter(head)
    if read.problem or dict(read.values) != values:
        raise InvalidRequest("The metadata has a value that front matter cannot represent.", hint="Use plain values.")
    return head + body


def _values(draft: Draft) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if title := to_one_line(draft.title or ""):
        values["title"] = title
    if subsystem := to_one_line(draft.subsystem or ""):
        values["subsystem"] = subsystem
    if tags := list(dict.fromkeys(filter(None, map(to_one_line, draft.tags)))):
        values["tags"] = tags
    for key, value in draft.metadata.items():
        if not _KEY.fullmatch(key) or key.lower() in _OWN_KEYS:
            raise InvalidRequest(
                f"The metadata key {key[:40]!r} is not a plain word, or is one of title, subsystem and tags.",
                hint="Use letters, digits, `_` and `-`; title, subsystem and tags have their own arguments.",
            )
        values[key] = value
    return values


def to_one_line(text: str) -> str:
    """A text as one line without unprintable characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _to_yaml(value: Any) -> str:
    match value:
        case str() if _PLAIN.fullmatch(value) and value.lower() not in _NOT_PLAIN:
            return value
        case list() if value and all(isinstance(item, str) for item in value):
            return f"[{', '.join(_to_yaml(item) for item in value)}]"
        case _:
            return json.dumps(value, ensure_ascii=False)
