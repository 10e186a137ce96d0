"""Tags of a text: integration messages, telemetry channels, and tags assigned by people."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from contextive.knowledge.subsystems import Subsystem

MAX_NAMES: Final = 500
_MESSAGE: Final = re.compile(r"\b[A-Z][A-Za-z0-9_]{0,100}Message\b", re.ASCII)
_TELEMETRY: Final = re.compile(r"\bTelemetry[A-Za-z0-9_]{1,100}\b", re.ASCII)


def find_messages(text: str) -> tuple[str, ...]:
    """The names of integration messages, such as FooMessage, sorted."""
    return _names(_MESSAGE, text) if "Message" in text else ()


def find_telemetry(text: str) -> tuple[str, ...]:
    """The names of telemetry channels, such as TelemetryFoo, sorted."""
    return _names(_TELEMETRY, text) if "Telemetry" in text else ()


def tags_of(text: str, given: Iterable[str] = (), subsystem: Subsystem | None = None) -> tuple[str, ...]:
    """The sorted tags of a text: names found in it, the given tags of its file, and those of its subsystem."""
    found = {*find_messages(text), *find_telemetry(text), *given}
    if subsystem is not None:
        found.update(subsystem.tags, subsystem.labels)
    return tuple(sorted(found))


def _names(pattern: re.Pattern[str], text: str) -> tuple[str, ...]:
    return tuple(sorted(dict.fromkeys(pattern.findall(text)))[:MAX_NAMES])
