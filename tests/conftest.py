"""Settings of all tests."""

from __future__ import annotations

from hypothesis import settings

# No deadline for examples of property tests: on a busy machine any example may be slow.
settings.register_profile("no-deadline", parent=settings.default, deadline=None)
settings.load_profile("no-deadline")
