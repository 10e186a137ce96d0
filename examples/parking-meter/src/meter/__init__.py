"""A parking meter."""
