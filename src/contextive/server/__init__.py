"""The running server: composition root, MCP handlers, transports. Import the module you need; nothing loads here."""
