"""The page to sign in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SignIn:
    next: str
    problem: str = ""
