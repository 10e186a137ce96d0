"""Which files are not indexed, as text."""

from __future__ import annotations

from collections.abc import Mapping


def skipped_text(skipped: Mapping[str, int]) -> str:
    """How many files were skipped for which reason. The state directory is not listed."""
    parts = (f"{reason.replace('_', ' ')} {count}" for reason, count in skipped.items() if reason != "state_directory")
    return ", ".join(parts)
