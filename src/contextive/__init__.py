"""Contextive: requirements traceability, code and document search, and Markdown notes for coding agents, through MCP."""

__version__ = "0.2.0"
