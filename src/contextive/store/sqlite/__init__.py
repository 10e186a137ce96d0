"""The embedded store: SQLite is the truth, two sidecars beside it make search quick."""
