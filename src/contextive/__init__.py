"""Contextive: one MCP server for what a project promised, keeps and knows."""

__version__ = "0.1.0"
