"""Find and read files with size limits, never outside the given roots."""

from contextive.workspace.files import FileText, Fingerprint, ProjectFiles, Unreadable
from contextive.workspace.globs import Glob

__all__ = ["FileText", "Fingerprint", "Glob", "ProjectFiles", "Unreadable"]
