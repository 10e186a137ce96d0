"""Notes, their slugs, the links between them, and what can be asked of them. Text in, values out."""
