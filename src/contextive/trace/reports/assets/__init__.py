"""The style and script of the HTML report, as Python strings because this package does not read files."""
