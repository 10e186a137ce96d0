"""Retrieval and ranking on top of the store."""
