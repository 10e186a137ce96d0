"""Counts how often each tool was called in a project. The counts stay on this machine, in `calls.json`."""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from contextive.errors import ContextiveError
from contextive.registry import CallRecord

logger = logging.getLogger(__name__)

_FILE: Final = "calls.json"
_LOCK_SECONDS: Final = 1.0
_MAX_BYTES: Final = 65_536
_MAX_TOOLS: Final = 300
_MAX_NAME: Final = 128


@dataclass(frozen=True, slots=True)
class CallCounts:
    """The calls of each tool, the most frequent first, since a date."""

    since: str = ""
    by_tool: Mapping[str, int] = field(default_factory=dict)


class CallCounter:
    """Counts calls in this process; `save` adds them to the counts of the project."""

    def __init__(self) -> None:
        self._new: Counter[str] = Counter()

    def __call__(self, record: CallRecord) -> None:
        if record.known:
            self._new[record.tool] += 1

    ##= docs/spec/commands.md#status
    ##% A server MUST add its calls to the counts when it ends, without losing those of other servers.
    def save(self, state: Path) -> None:
        """Add the new calls to the file. Nothing is written in a project without a state directory."""
        if not self._new or not state.is_dir():
            return
        from contextive.file_writing import write_file  # only needed at the end
        from contextive.store.sql.locks import FileLock

        new, self._new = self._new, Counter()
        lock = FileLock((state / _FILE).with_suffix(".lock"))
        try:
            if not lock.acquire(_LOCK_SECONDS):
                return
            before = read_call_counts(state)
            counts = (Counter(before.by_tool) + new).most_common(_MAX_TOOLS)
            body = {"since": before.since or time.strftime("%Y-%m-%d"), "calls": dict(counts)}
            write_file(state / _FILE, json.dumps(body, indent=1).encode() + b"\n", mode=0o600, durable=False)
        except (OSError, ContextiveError) as failure:
            logger.warning("the counts of calls cannot be written: %s", failure)
        finally:
            lock.release()


def read_call_counts(state: Path) -> CallCounts:
    """The counts of a project; none if the file is missing or damaged."""
    try:
        with (state / _FILE).open("rb") as file:
            body = json.loads(file.read(_MAX_BYTES))
        counts = Counter({name: count for name, count in body["calls"].items() if _is_count(name, count)})
        return CallCounts(str(body["since"])[:10], dict(counts.most_common(_MAX_TOOLS)))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return CallCounts()


def _is_count(name: str, count: Any) -> bool:
    return len(name) <= _MAX_NAME and type(count) is int and 0 < count < 2**53
