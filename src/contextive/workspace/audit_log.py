"""Audit logs in the state directory of the project: one line of JSON for each event."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

logger = logging.getLogger(__name__)

_MAX_LINE_BYTES = 64 * 1024
_MAX_FILE_BYTES = 5 * 1024 * 1024


def make_state_folder(state: Path, name: str) -> Path:
    """A folder in the state directory. Both are created if they are missing; git ignores the state directory."""
    if not state.exists():
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        (state / ".gitignore").write_text("*\n", encoding="utf-8")
    folder = state / name
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


@dataclass(frozen=True, slots=True)
class AuditLog:
    """Appends to `audit/<name>.log`. If the log cannot be written, a warning is logged and the work continues."""

    state: Path
    name: str

    def append(self, line: Mapping[str, Any]) -> None:
        """Append one line with a single write, so that lines of two processes do not mix."""
        text = json.dumps(line, ensure_ascii=False, default=str)
        if len(text.encode("utf-8", "replace")) > _MAX_LINE_BYTES:
            kept = {key: value for key, value in line.items() if key not in ("outputs", "captures")}
            text = json.dumps({**kept, "left_out": ["outputs", "captures"]}, ensure_ascii=False, default=str)
        try:
            self._write(f"{text}\n".encode("utf-8", "replace"))
        except OSError as failure:
            logger.warning("the audit log of %s cannot be written: %s", self.name, failure.strerror or "unknown error")

    def _write(self, line: bytes) -> None:
        folder = make_state_folder(self.state, "audit")
        path = folder / f"{self.name}.log"
        if path.exists() and path.stat().st_size > _MAX_FILE_BYTES:
            path.replace(folder / f"{self.name}.log.1")
        handle = os.open(
            path,
            os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0),
            0o600,
        )
        try:
            os.write(handle, line)
        finally:
            os.close(handle)
