"""The shared store: a PostgreSQL database is the source of truth for many machines."""
