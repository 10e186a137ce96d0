"""Finds out what the expressions in the code of a project are, such as the receivers of calls."""

from contextive.knowledge.receivers.resolver import TypeResolver
from contextive.knowledge.receivers.values import UNKNOWN, Class, Function, Guessed

__all__ = ["UNKNOWN", "Class", "Function", "Guessed", "TypeResolver"]
