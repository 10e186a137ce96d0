"""Notes, their slugs and links, and search in them. Text in, values out."""
