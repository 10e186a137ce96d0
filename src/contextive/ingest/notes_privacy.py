"""Decides which notes may be sent to a model: not those that are ignored, nor those named like a secret."""

from __future__ import annotations

import os
from pathlib import Path

from contextive.workspace.discovery import OWN_IGNORE_FILE
from contextive.workspace.ignore import IgnoreRules
from contextive.workspace.repository import is_ignored, outer_rules, read_rules, repository_root
from contextive.workspace.secrets import is_secret_name


##= docs/spec/notes.md#data-sent-to-models
##% A note that git or `.contextiveignore` ignores MUST NOT be sent to a model.
def may_send_to_model(root: Path, path: str) -> bool:
    """Whether the text of a note may be sent to a remote model."""
    *folders, name = path.split("/")
    if is_secret_name(name):
        return False
    repository = repository_root(root)
    before = "" if repository in (None, root) else f"{root.relative_to(repository or root).as_posix()}/"
    git: list[IgnoreRules] = outer_rules(root)
    own: list[IgnoreRules] = []
    base = ""
    for part, is_directory in [*((folder, True) for folder in folders), (name, False)]:
        for rules, file in ((git, ".gitignore"), (own, OWN_IGNORE_FILE)):
            if found := read_rules(f"{root}/{base}{file}", before + base):
                rules.append(found)
        full_path = os.fsencode(before + base + part)
        ignored = is_ignored(own, full_path, os.fsencode(part), is_directory)
        if is_ignored(git, full_path, os.fsencode(part), is_directory) if ignored is None else ignored:
            return False
        base += f"{part}/"
    return True
