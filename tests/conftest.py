"""What holds for every test."""

from __future__ import annotations

from hypothesis import settings

# A law says nothing about time: on a busy machine any example may take long. Everything else stays as it is here or in CI.
settings.register_profile("unhurried", parent=settings.default, deadline=None)
settings.load_profile("unhurried")
