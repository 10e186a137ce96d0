"""What a project's files hold: artifacts, chunks, symbols, and a graph of them. Text in, values out."""
