"""What a question to the notes may use."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AskRules:
    """Whether the connected client's own model may write answers."""

    client_model: bool = False
