"""Files on disk: found, read under limits, and never outside the roots that were given."""

from contextive.workspace.files import FileText, Fingerprint, ProjectFiles, Unreadable
from contextive.workspace.globs import Glob

__all__ = ["FileText", "Fingerprint", "Glob", "ProjectFiles", "Unreadable"]
