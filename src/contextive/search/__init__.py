"""Retrieval and ranking over whatever store there is."""
