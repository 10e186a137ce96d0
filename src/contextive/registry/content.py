"""What tools, resources and prompts return, independent of the wire format."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class Text:
    """Plain text, read by people and models."""

    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """An image with its media type."""

    data: bytes
    mime_type: str


@dataclass(frozen=True, slots=True)
class Audio:
    """Audio with its media type."""

    data: bytes
    mime_type: str


@dataclass(frozen=True, slots=True)
class ResourceBody:
    """The body of one resource: text or bytes."""

    uri: str
    body: str | bytes
    mime_type: str


@dataclass(frozen=True, slots=True)
class ResourceLink:
    """A link to a resource that the caller can read."""

    uri: str
    name: str
    mime_type: str | None = None
    description: str | None = None


Content: TypeAlias = Text | Image | Audio | ResourceBody | ResourceLink


@dataclass(frozen=True, slots=True)
class Reply:
    """A tool's answer when data alone is not enough: data, content blocks, or both.

    `data` must match the tool's output model. Without `content`, transports send `data` as JSON text.
    """

    data: Any = None
    content: Sequence[Content] = ()
    is_error: bool = False
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """One message of a prompt."""

    role: Literal["user", "assistant"]
    content: Content


# Control, zero-width, bidirectional and tag characters. Joiners are allowed: letters and emoji need them.
_HIDDEN = re.compile(
    "[\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)


def escape_hidden_characters(text: str) -> str:
    """The same JSON with invisible characters escaped.

    A file could hide instructions for a model in tag characters, or reverse the reading order.
    """
    return text if text.isascii() else _HIDDEN.sub(lambda found: json.dumps(found.group())[1:-1], text)
