"""Compares two states of a project by what concerns its requirements. Pure: texts and analyses in, findings out."""
