"""`python -m contextive` is the command `contextive-mcp`."""

from contextive.cli import main

main()
