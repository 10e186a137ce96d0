"""What the HTML report carries inside itself. Python strings, because this room reads no files."""
