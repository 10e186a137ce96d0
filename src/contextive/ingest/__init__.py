"""Reads the files of a project into values and rows. Unchanged files are not parsed again."""
