"""Artifacts, chunks and symbols of a project's files, and the graph of them. Text in, values out."""
