"""The embedded store: the SQLite database is the source of truth, and two sidecar indexes make search fast."""
