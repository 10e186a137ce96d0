"""How many calls the graph knows, and how many of those are right, compared with the language server of each language."""
