"""The running server: composition root, protocol, transports, doors. Import the module that you need; nothing loads here."""
